"""Steps and rollouts averaged over random changes of what they are given, with gradients of the average."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, real_numbers
from ..records import Record
from ..simulation.simulator import Simulator
from ..simulation.state import State
from ..simulation.switches import check_all_off
from ..simulation.trajectory import Trajectory
from .estimators import ORDERS, Estimate, Order, estimate, mean_of, noise

#: What may be changed at random.
INPUTS = ("q", "v", "control")

#: From a batch of rollouts to (batch,) values, or to (values, dq, dv): see :func:`smooth`.
Cost: TypeAlias = Callable[[Trajectory], Any]


@dataclass(frozen=True, eq=False)
class Smoothed(Record):
    """The average of a cost, and its gradient, by name of what was changed: "q", "v" (nv,), "control" as it was given.

    >>> sim = fw.Simulator(fw.models.pendulum(), dt=0.01)
    >>> angle = lambda trajectory: trajectory.q[:, -1, 0]
    >>> fw.smooth(sim, sim.state(), angle, n_steps=5, sigma={"v": 0.1}, order="zeroth").gradient["v"].shape
    (1,)
    """

    value: float
    value_error: float  # standard errors, here and below
    gradient: Mapping[str, Array]
    error: Mapping[str, Array]
    first_share: Mapping[str, Array]  # weight that gradients of samples have, 0 to 1; the rest is that of values
    biased: Mapping[str, NDArray[np.bool_]]  # the two orders disagree by more than three standard errors: a jump
    pairs: int  # of samples that did not fail


@dataclass(frozen=True, eq=False)
class SmoothedStep(Record):
    """The average of a step, and its derivatives.

    >>> sim = fw.Simulator(fw.models.pendulum(), dt=0.01)
    >>> fw.smooth_step(sim, sim.state(), sigma={"v": 0.1}).A.shape
    (2, 2)
    """

    dq: Array  # (nv,) from the q of the step itself to the average, in the tangent space there
    v: Array  # (nv,) the average
    A: Array  # (2 nv, 2 nv) of (q, v) by (q, v)
    B: Array  # (2 nv, nu) by control
    A_error: Array  # standard errors
    B_error: Array
    A_biased: NDArray[np.bool_]
    B_biased: NDArray[np.bool_]
    pairs: int


class _Noise:
    """Random changes of what a rollout is given, in pairs of opposite sign."""

    def __init__(
        self, sim: Simulator, sigma: float | Mapping[str, ArrayLike], control: Array | None, samples: int, seed: int
    ) -> None:
        sizes = {"control": sigma} if isinstance(sigma, int | float) else dict(sigma)
        shapes: dict[str, tuple[int, ...]] = {"q": (sim.model.nv,), "v": (sim.model.nv,)}
        if control is not None:
            shapes["control"] = control.shape
        self.sigma: dict[str, Array] = {}
        for name, size in sizes.items():
            if name not in INPUTS:
                raise ValueError(f"sigma: unknown {name!r}; there are {', '.join(INPUTS)}")
            if name not in shapes:
                raise ValueError("sigma: control is to be changed, but none is given")
            self.sigma[name] = _sizes(name, size, shapes[name])
        if not self.sigma:
            raise ValueError("sigma: names nothing to be changed")
        if isinstance(samples, bool) or not isinstance(samples, int) or samples < 4 or samples % 2:
            raise ValueError(f"samples must be an even number of at least 4, got {samples!r}")
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ValueError(f"seed must be a non-negative integer, got {seed!r}")
        self.pairs = samples // 2
        width = sum(each.size for each in self.sigma.values())
        e = noise(seed, self.pairs, width)
        ends = np.cumsum([each.size for each in self.sigma.values()])[:-1]
        parts = np.split(e, ends, axis=1)
        #: (pairs, ...) by name, standard normal
        self.unit = {
            name: part.reshape(self.pairs, *self.sigma[name].shape)
            for name, part in zip(self.sigma, parts, strict=True)
        }

    def both(self, name: str) -> Array | float:
        """(samples, ...): changes of one sign, then of the other."""
        if name not in self.sigma:
            return 0.0
        change = self.unit[name] * self.sigma[name]
        return np.concatenate([change, -change])

    def scores(self, name: str) -> Array:
        """(pairs, n) e / (2 sigma), and zero where nothing changes."""
        sigma = np.where(self.sigma[name] > 0.0, self.sigma[name], np.inf)
        return (self.unit[name] / (2.0 * sigma)).reshape(self.pairs, -1)


def _sizes(name: str, size: ArrayLike, shape: tuple[int, ...]) -> Array:
    array = np.asarray(real_numbers(f"sigma of {name}", size), dtype=np.float64)
    try:
        array = np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"sigma of {name}: expected a number or shape {shape}, got {array.shape}") from None
    if not (np.isfinite(array).all() and (array >= 0.0).all() and (array > 0.0).any()):
        raise ValueError(f"sigma of {name}: must not be negative, and not all zero")
    return array


def _start(sim: Simulator, state: State, changes: _Noise) -> State:
    """A batch of samples; contacts start without impulses of a step before."""
    if not isinstance(state, State) or not state.single:
        raise ValueError("state: expected that of a single environment; samples are the batch")
    n = 2 * changes.pairs
    q = np.tile(state.q, (n, 1))
    if "q" in changes.sigma:
        q = sim.model.integrate(q, changes.both("q"))
    check_all_off("state", state)
    batch = sim.state(n, q=q, v=np.tile(state.v, (n, 1)) + changes.both("v"))
    own = state.parameters
    given: dict[str, Any] = {name: getattr(own, name) for name in ("friction", "gains", "gravity", "masses")}
    given = {name: np.repeat(x, n, axis=0) for name, x in given.items() if x is not None}
    if own.heights:
        given["heights"] = {name: np.repeat(x, n, axis=0) for name, x in own.heights.items()}
    return batch.randomised(**given) if given else batch


def _control(sim: Simulator, control: ArrayLike | None, n_steps: int | None) -> Array | None:
    if control is None:
        return None
    array = np.asarray(real_numbers("control", control), dtype=np.float64)
    wanted = (sim.nu,) if n_steps is not None else None
    if array.ndim not in (1, 2) or array.shape[-1] != sim.nu or (array.ndim == 1) != (wanted is not None):
        raise ValueError(f"control: expected (steps, {sim.nu}), or ({sim.nu},) with n_steps, got {array.shape}")
    return array


def _order(order: str) -> Order:
    if order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {order!r}")
    return order  # type: ignore[return-value]


def smooth(
    sim: Simulator,
    state: State,
    cost: Cost,
    *,
    sigma: float | Mapping[str, ArrayLike],
    control: ArrayLike | None = None,
    n_steps: int | None = None,
    samples: int = 64,
    order: Order = "mixed",
    seed: int = 0,
) -> Smoothed:
    """The average of a cost over random changes of what a rollout is given, and the gradient of that average.

    Where contacts are made or missed, the gradient of a rollout says nothing about the other side; that of an average
    does. state: of a single environment. control: (steps, nu), or (nu,) for all of ``n_steps``, which then changes as
    one. cost: takes the trajectory of all samples, returns (values, dq, dv): (samples,), and by q in tangent spaces and
    by v, (samples, steps, nv) or None; with order "zeroth" values alone will do. sigma: standard deviations of "q" (in
    the tangent space), "v" and "control", numbers or arrays like them; a number alone is for control. Where it is zero,
    nothing changes, and gradients are averages of those of samples.
    samples: rolled out as one batch, in pairs of opposite changes. order: "zeroth" takes values only, "first" gradients
    only, "mixed" both: docs/smoothing.md says when each is wrong. The same seed gives the same samples.

    A ball that hits a wall would fly over it if thrown a little higher, which its gradient does not say.

    >>> scene = fw.Scene()
    >>> wall = scene.add(fw.box((0.1, 1.0, 2.0), static=True, friction=0.0), pose=(1.0, 0, 0))
    >>> ball = scene.add(fw.sphere(0.1, friction=0.0), pose=(0, 0, 0.5))
    >>> sim = fw.Simulator(scene, dt=0.01)
    >>> state = sim.state(v=[2.0, 0, 3.3, 0, 0, 0])  # too low
    >>> def reach(trajectory: fw.Trajectory) -> tuple[np.ndarray, np.ndarray, None]:
    ...     dq = np.zeros_like(trajectory.v)
    ...     dq[..., -1, 0] = 1.0  # of the last x; it does not turn
    ...     return trajectory.q[..., -1, 0], dq, None
    >>> exact = sim.rollout_vjp(hit := sim.rollout(state, n_steps=100, tape=True), reach(hit)[1]).v0[2]
    >>> average = fw.smooth(sim, state, reach, n_steps=100, sigma={"v": [0, 0, 0.5, 0, 0, 0]})
    >>> bool(abs(exact) < 1e-6), bool(average.gradient["v"][2] > 0.2)
    (True, True)
    """
    order = _order(order)
    given = _control(sim, control, n_steps)
    changes = _Noise(sim, sigma, given, samples, seed)
    start = _start(sim, state, changes)
    controls = None if given is None else given + changes.both("control")
    if controls is not None and controls.ndim == given.ndim:  # type: ignore[union-attr]
        controls = np.tile(controls, (samples, *(1,) * controls.ndim))
    trajectory = sim.rollout(start, control=controls, n_steps=n_steps, tape=order != "zeroth")
    values, dq, dv = _costs(cost(trajectory), samples, order)
    ok = ~np.asarray(trajectory.final.failed)
    good = ok[: changes.pairs] & ok[changes.pairs :]
    gradients = {}
    if order != "zeroth":
        g = sim.rollout_vjp(trajectory, dq, dv)
        by_control = g.control if n_steps is None else g.control.sum(axis=1)
        gradients = {"q": g.q0, "v": g.v0, "control": by_control}
    found = {
        name: _estimate(name, order, values[:, None], gradients.get(name), changes, good) for name in changes.sigma
    }
    value, error = _average(values, good)
    shaped = {name: changes.sigma[name].shape for name in found}
    return Smoothed(
        float(value),
        float(error),
        {name: each.mean.reshape(shaped[name]) for name, each in found.items()},
        {name: each.error.reshape(shaped[name]) for name, each in found.items()},
        {name: each.first_share.reshape(shaped[name]) for name, each in found.items()},
        {name: each.biased.reshape(shaped[name]) for name, each in found.items()},
        int(good.sum()),
    )


def smooth_step(
    sim: Simulator,
    state: State,
    *,
    sigma: float | Mapping[str, ArrayLike],
    control: ArrayLike | None = None,
    samples: int = 64,
    order: Order = "mixed",
    seed: int = 0,
) -> SmoothedStep:
    """A step averaged over random changes of what it is given, with A and B of the average: for LQR and MPC.

    Arguments as in :func:`smooth`; control: (nu,). Columns of what is not changed are averages of derivatives. Tangent
    spaces of samples are taken for those of the state itself, so sigma of what turns should be small.

    A mass above the ground: whether it lands in this step is a matter of chance, and so is how its velocity matters.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> ball = scene.add(fw.sphere(0.1), pose=(0, 0, 0.11))
    >>> sim = fw.Simulator(scene, dt=0.01)
    >>> step = fw.smooth_step(sim, sim.state(v=[0, 0, -0.9019, 0, 0, 0]), sigma={"v": 0.1}, samples=256)
    >>> bool(abs(step.A[8, 8] - 0.5) < 0.1)  # one if it does not land, nothing if it does
    True
    """
    order = _order(order)
    given = _control(sim, control, 1)
    changes = _Noise(sim, sigma, given, samples, seed)
    start = _start(sim, state, changes)
    controls = None if given is None else np.tile(given, (samples, 1)) + changes.both("control")
    nv, nu = sim.model.nv, sim.nu
    d = sim.step_derivatives(start, control=controls)
    middle = sim.step(state, control=given)
    ends = np.concatenate([sim.model.difference(np.tile(middle.q, (samples, 1)), d.state.q), d.state.v], axis=1)
    ok = ~np.asarray(d.state.failed)
    good = ok[: changes.pairs] & ok[changes.pairs :]
    blocks = {"q": d.A[..., :nv], "v": d.A[..., nv:], "control": d.B}
    found: dict[str, Estimate] = {}
    for name, block in blocks.items():
        each: Order = order if name in changes.sigma else "first"
        found[name] = _estimate(name, each, ends, block, changes, good)
    average, _ = _average(ends, good)

    def stacked(field: str) -> Any:
        return np.concatenate([getattr(found[name], field).reshape(2 * nv, nv) for name in ("q", "v")], axis=1)

    def by_control(field: str) -> Any:
        return getattr(found["control"], field).reshape(2 * nv, nu)

    return SmoothedStep(
        average[:nv],
        average[nv:],
        stacked("mean"),
        by_control("mean"),
        stacked("error"),
        by_control("error"),
        stacked("biased"),
        by_control("biased"),
        int(good.sum()),
    )


def _costs(answer: Any, samples: int, order: Order) -> tuple[Array, Any, Any]:
    values, dq, dv = answer if isinstance(answer, tuple) else (answer, None, None)
    values = np.asarray(real_numbers("cost", values), dtype=np.float64)
    if values.shape != (samples,):
        raise ValueError(f"cost: expected values of shape ({samples},), one for each sample, got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("cost: values contain numbers that are not finite")
    if order != "zeroth" and not isinstance(answer, tuple):
        raise ValueError(f'cost: order "{order}" needs (values, dq, dv); values alone will do for "zeroth"')
    return values, dq, dv


def _average(values: Array, good: NDArray[np.bool_]) -> tuple[Array, Array]:
    n = len(good)
    if good.sum() < 2:
        raise ValueError(f"state: {n - int(good.sum())} of {n} pairs of samples failed: sigma may be too large")
    return mean_of(0.5 * (values[:n] + values[n:])[good])


def _estimate(
    name: str, order: Order, values: Array, gradients: Array | None, changes: _Noise, good: NDArray[np.bool_]
) -> Estimate:
    """values: (samples, outputs); gradients: (samples, [outputs,] ...)."""
    n = changes.pairs
    _average(values, good)  # enough of them
    zeroth = first = None
    if order != "first":
        zeroth = ((values[:n] - values[n:])[:, :, None] * changes.scores(name)[:, None, :])[good]
    if order != "zeroth":
        assert gradients is not None
        flat = gradients.reshape(2 * n, values.shape[1], -1)
        first = (0.5 * (flat[:n] + flat[n:]))[good]
    found = estimate(order, zeroth, first)
    if order != "mixed":
        return found
    # values say nothing about what is not changed
    assert first is not None
    changed = np.broadcast_to(changes.sigma[name].reshape(-1) > 0.0, found.mean.shape)
    mean, error = mean_of(first)
    return Estimate(
        np.where(changed, found.mean, mean),
        np.where(changed, found.error, error),
        np.where(changed, found.first_share, 1.0),
        found.biased & changed,
    )
