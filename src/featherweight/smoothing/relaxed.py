"""Steps and rollouts whose contacts act at a distance: laws relaxed by one parameter, along the central path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array, real_numbers
from ..records import Record
from ..simulation.derivatives import Columns, require_closed_form
from ..simulation.simulator import Simulator
from ..simulation.state import State
from .randomised import _control


@dataclass(frozen=True, eq=False)
class RelaxedStep(Record):
    """A relaxed step and its derivatives in tangent spaces; the batch comes first, unless there is one environment.

    >>> sim = fw.Simulator(fw.models.pendulum(), dt=0.01)
    >>> fw.relaxed_step(sim, sim.state(), kappa=1e-4).A.shape
    (2, 2)
    """

    state: State
    dq: Mapping[str, Array]  # by name, ([batch,] nv, k): of the new coordinates, in the tangent space there
    dv: Mapping[str, Array]  # by name, ([batch,] nv, k): of the new velocities
    converged: Any  # ([batch]) whether impulses are on the central path

    @property
    def A(self) -> Array:
        """Of (q, v) by (q, v), ([batch,] 2 nv, 2 nv)."""
        return np.concatenate([np.concatenate([x["q"], x["v"]], axis=-1) for x in (self.dq, self.dv)], axis=-2)

    @property
    def B(self) -> Array:
        """Of (q, v) by control, ([batch,] 2 nv, nu)."""
        return np.concatenate([self.dq["control"], self.dv["control"]], axis=-2)

    def __repr__(self) -> str:
        return f"<RelaxedStep by {', '.join(self.dq)} of {self.state!r}>"


@dataclass(frozen=True, eq=False)
class RelaxedRollout(Record):
    """States after each of the steps.

    >>> sim = fw.Simulator(fw.models.pendulum(), dt=0.01)
    >>> fw.relaxed(sim, sim.state(), lambda rollout: (0.0, None, None), n_steps=5, kappa=1e-4).rollout.q.shape
    (5, 1)
    """

    q: Array  # (steps, nq)
    v: Array  # (steps, nv)
    final: State


@dataclass(frozen=True, eq=False)
class Relaxed(Record):
    """A cost of a relaxed rollout, and its gradient, by name of what was given: "q", "v" (nv,), "control" as it was.

    >>> sim = fw.Simulator(fw.models.pendulum(), dt=0.01)
    >>> height = lambda rollout: (rollout.q[-1, 0], np.eye(5)[-1:].T, None)
    >>> fw.relaxed(sim, sim.state(), height, n_steps=5, kappa=1e-4).gradient["v"].shape
    (1,)
    """

    value: float
    gradient: Mapping[str, Array]
    converged: bool
    rollout: RelaxedRollout


#: From a rollout to (value, dq, dv): a number, and its gradients in tangent spaces and by v, (steps, nv) or None.
RelaxedCost: TypeAlias = Callable[[RelaxedRollout], tuple[Any, Any, Any]]


def relaxed_step(
    sim: Simulator,
    state: State,
    tau: ArrayLike | None = None,
    *,
    kappa: float,
    reach: float = 0.05,
    control: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
    wrt: Sequence[str] = ("q", "v", "tau", "control"),
) -> RelaxedStep:
    """A step with relaxed laws of contact, and its derivatives: smooth where contacts are made, stick and slide.

    Signorini's law "a gap or an impulse" becomes v_n lambda_n = kappa, Coulomb's cone is left only as fast as kappa
    allows: a contact at distance d pushes with a force of kappa / d. kappa: [J]; with kappa to zero the step of
    ``sim.step`` is left. reach: shapes farther apart do not feel each other [m]; kappa / reach is the force that
    appears there at once. The other arguments are those of ``sim.step_derivatives``. Joints keep to their exact laws,
    in the modes of the exact step; nothing bounces; overlaps are pushed out within the step.

    A ball above the ground feels it coming.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> ball = scene.add(fw.sphere(0.1), pose=(0, 0, 0.12))
    >>> sim = fw.Simulator(scene, dt=0.01)
    >>> exact, relaxed = sim.step_derivatives(sim.state()), fw.relaxed_step(sim, sim.state(), kappa=1e-2)
    >>> bool(exact.A[8, 2] == 0.0), bool(relaxed.A[8, 2] < -1e-3)
    (True, True)
    """
    for name, value in (("kappa", kappa), ("reach", reach)):
        if not (np.ndim(value) == 0 and np.isfinite(value) and value > 0):
            raise ValueError(f"{name}: expected a positive number, got {value!r}")
    require_closed_form(sim)
    stepped = sim._ready(state, tau, control, f_ext)
    columns, nv, after = Columns(sim, tuple(wrt), stepped.free, stepped.slopes), sim.model.nv, stepped.after
    forces, controls, on_links = (None if x is None else np.ascontiguousarray(x) for x in stepped.drive)
    matrix, q, v, converged = _core.relax_step(
        after._core,
        stepped.kept,
        forces,
        controls,
        on_links,
        columns.wrt,
        float(kappa),
        float(reach),
        sim.num_threads,
    )

    def squeeze(x: Array) -> Array:
        return x[0] if after.single else x

    return RelaxedStep(
        state=after.replace(q=squeeze(q), v=squeeze(v)),
        dq={name: squeeze(x) for name, x in columns.split(matrix[:, :nv]).items()},
        dv={name: squeeze(x) for name, x in columns.split(matrix[:, nv:]).items()},
        converged=bool(converged[0]) if after.single else converged > 0,
    )


def relaxed(
    sim: Simulator,
    state: State,
    cost: RelaxedCost,
    *,
    kappa: float,
    reach: float = 0.05,
    control: ArrayLike | None = None,
    n_steps: int | None = None,
) -> Relaxed:
    """A cost of a rollout of relaxed steps, and its exact gradient: see :func:`relaxed_step`.

    state: of a single environment. control: (steps, nu), or (nu,) for all of ``n_steps``. cost: takes the rollout,
    returns (value, dq, dv): a number, and its gradients by q in tangent spaces and by v, (steps, nv) or None.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> ball = scene.add(fw.sphere(0.1), pose=(0, 0, 0.3))
    >>> sim = fw.Simulator(scene, dt=0.01)
    >>> last = np.zeros((40, 6))
    >>> last[-1, 2] = 1.0
    >>> found = fw.relaxed(sim, sim.state(), lambda rollout: (rollout.q[-1, 2], last, None), n_steps=40, kappa=1e-3)
    >>> bool(found.value > 0.1)  # it hovers
    True
    """
    if not isinstance(state, State) or not state.single:
        raise ValueError("state: expected that of a single environment")
    if sim.na:
        raise ValueError("relaxed rollouts do not go through activations; this scene has some")
    given = _control(sim, control, n_steps)
    steps = n_steps if given is None or n_steps is not None else len(given)
    if steps is None or steps < 1:
        raise ValueError("n_steps: expected a positive number, or a control for every step")
    taken, now = [], state
    for k in range(steps):
        drive = given[k] if given is not None and given.ndim == 2 else given
        step = relaxed_step(sim, now, kappa=kappa, reach=reach, control=drive, wrt=("q", "v", "control"))
        taken.append(step)
        now = step.state
    rollout = RelaxedRollout(np.array([s.state.q for s in taken]), np.array([s.state.v for s in taken]), now)
    value, *given_back = cost(rollout)
    nv = sim.model.nv
    dq, dv = (np.zeros((steps, nv)) if x is None else _cotangents(x, steps, nv) for x in given_back)
    x, by_control = np.zeros(2 * nv), np.zeros((steps, sim.nu))
    for k in reversed(range(steps)):
        x = x + np.concatenate([dq[k], dv[k]])
        by_control[k] = x @ taken[k].B
        x = x @ taken[k].A
    gradient = {"q": x[:nv], "v": x[nv:]}
    if given is not None:
        gradient["control"] = by_control if given.ndim == 2 else by_control.sum(axis=0)
    return Relaxed(float(value), gradient, all(s.converged for s in taken), rollout)


def _cotangents(value: ArrayLike, steps: int, nv: int) -> Array:
    array = np.asarray(real_numbers("cost", value), dtype=np.float64)
    if array.shape != (steps, nv) or not np.isfinite(array).all():
        raise ValueError(f"cost: expected finite gradients of shape ({steps}, {nv}), got {array.shape}")
    return array
