"""Derivatives of a step and of a rollout, in the modes that contacts have: matrices, and products without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array, real_numbers
from ..records import Record
from .lifts import lifts
from .state import State

if TYPE_CHECKING:
    from .simulator import Simulator

#: What a step may be differentiated by, beside the state and what drives it.
PARAMETERS = ("friction", "gains", "gravity", "masses", "heights", "restitution")
INPUTS = ("q", "v", "tau", "control", "f_ext")

#: Joint forces (batch or 1, nv), controls of the core's actuators and forces on links, of one step.
Drive = tuple[Array | None, Array | None, Array | None]


@dataclass(frozen=True, eq=False)
class StepDerivatives(Record):
    """A step and its derivatives in tangent spaces; arrays start with the batch, unless there is only one."""

    state: State  # after the step, bit for bit that of ``sim.step``
    dq: Mapping[str, Array]  # by name, ([batch,] nv, k): of the new coordinates, in the tangent space there
    dv: Mapping[str, Array]  # by name, ([batch,] nv, k): of the new velocities
    #: by name, ([batch,] k): columns along which the modes of contacts must change at once. They have no derivative;
    #: what dq and dv hold is that of least squares.
    infeasible: Mapping[str, NDArray[np.bool_]]
    unique: Any  # ([batch]) whether laws of contact leave one new velocity: if not, what is known is that of the solver

    @property
    def A(self) -> Array:
        """Of (q, v) by (q, v), ([batch,] 2 nv, 2 nv)."""
        return self._stacked("q", "v")

    @property
    def B(self) -> Array:
        """Of (q, v) by control, ([batch,] 2 nv, nu)."""
        return self._stacked("control")

    def _stacked(self, *names: str) -> Array:
        for name in names:
            if name not in self.dq:
                raise ValueError(f"the step was not differentiated by {name!r}: name it in wrt")
        blocks = [np.concatenate([self.dq[name], self.dv[name]], axis=-2) for name in names]
        return np.concatenate(blocks, axis=-1)

    def __repr__(self) -> str:
        return f"<StepDerivatives by {', '.join(self.dq)} of {self.state!r}>"


@dataclass(frozen=True, eq=False)
class Gradient(Record):
    """Cotangents of what a step was given, ([batch,] n) each.

    >>> scene = fw.Scene(ground=fw.Plane(friction=0.8))
    >>> body = scene.add(fw.box((0.1, 0.1, 0.1)), name="box", pose=(0, 0, 1))
    >>> sim = fw.Simulator(scene, dt=1e-3)
    >>> after, pull = sim.step_vjp(sim.state())
    >>> gradient = pull(dq=np.eye(6)[2])  # of the height
    >>> gradient.q.shape, bool(abs(gradient.v[2] - 1e-3) < 1e-12)  # a falling box: dt
    ((6,), True)
    """

    q: Array
    v: Array
    tau: Array
    control: Array
    parameters: Mapping[str, Array]
    failed: Any  # ([batch]) environments that failed: all of theirs is zero


@dataclass(frozen=True, eq=False)
class RolloutGradient(Record):
    """Cotangents of what a rollout was given.

    >>> scene = fw.Scene(ground=fw.Plane(friction=0.8))
    >>> body = scene.add(fw.box((0.1, 0.1, 0.1)), name="box", pose=(0, 0, 1))
    >>> sim = fw.Simulator(scene, dt=1e-3)
    >>> tape = sim.rollout(sim.state(), n_steps=10, tape=True)
    >>> height = np.zeros((10, 6))
    >>> height[-1, 2] = 1.0
    >>> gradient = sim.rollout_vjp(tape, dq=height)
    >>> bool(abs(gradient.v0[2] - 0.01) < 1e-12)  # a falling box: ten steps
    True
    """

    q0: Array  # ([batch,] nv)
    v0: Array  # ([batch,] nv)
    tau: Array  # ([batch,] steps, nv)
    control: Array  # ([batch,] steps, nu)
    parameters: Mapping[str, Array]  # ([batch,] n) each, summed over all steps
    failed: Any  # ([batch]) environments that failed on the way: all of theirs is zero


@dataclass(frozen=True, eq=False)
class Linearisation(Record):
    """All steps of a rollout, linearised: x' = A x + B u for small changes of (q, v) and control.

    >>> scene = fw.Scene(ground=fw.Plane(friction=0.8))
    >>> body = scene.add(fw.box((0.1, 0.1, 0.1)), name="box", pose=(0, 0, 1))
    >>> sim = fw.Simulator(scene, dt=1e-3)
    >>> sim.linearise(sim.rollout(sim.state(), n_steps=10, tape=True)).A.shape
    (10, 12, 12)
    """

    A: Array  # ([batch,] steps, 2 nv, 2 nv)
    B: Array  # ([batch,] steps, 2 nv, nu)
    unique: NDArray[np.bool_]  # ([batch,] steps)


@dataclass(frozen=True, eq=False)
class Tape:
    """What it takes to go through a rollout again: some of its states, and what drove it."""

    starts: tuple[tuple[int, _core.Environments], ...]  # step and state, from which the steps up to the next follow
    steps: int
    inputs: Drive  # (batch or 1, steps or 1, n) each
    clipped: NDArray[np.bool_] | None  # controls that were at the ends of their range, like them

    def drive(self, step: int) -> Drive:
        """Of one step."""
        tau, control, f_ext = (None if x is None else x[:, 0 if x.shape[1] == 1 else step] for x in self.inputs)
        return tau, control, f_ext

    def free(self, step: int) -> NDArray[np.bool_] | None:
        """Controls within their range, (batch or 1, nu); None: all."""
        if self.clipped is None:
            return None
        return ~self.clipped[:, 0 if self.clipped.shape[1] == 1 else step]


class Columns:
    """Columns of derivatives, as the core has them and as the caller does: actuators may share a law."""

    def __init__(self, sim: Simulator, wrt: Sequence[str], free: NDArray[np.bool_] | None = None) -> None:
        known = INPUTS + PARAMETERS
        for name in wrt:
            if name not in known:
                raise ValueError(f"wrt: unknown {name!r}; there are {', '.join(known)}")
        if len(set(wrt)) != len(wrt):
            raise ValueError(f"wrt: {tuple(wrt)} names something twice")
        self.wrt = tuple(wrt)
        nv, laws = sim.model.nv, len(sim._actuation.laws)
        widths = {"q": nv, "v": nv, "tau": nv, "control": laws, "f_ext": 6 * sim.model.n_links, "friction": 1}
        widths |= {"gains": laws, "gravity": 3, "masses": sim.model.n_links, "restitution": 1}
        widths |= {"heights": len(_core.ground_shapes(sim._core))} if "heights" in wrt else {}
        self.slices: dict[str, slice] = {}
        first = 0
        for name in self.wrt:
            self.slices[name] = slice(first, first + widths[name])
            first += widths[name]
        self.count = first
        self._mixing = {"control": sim._actuation.mixing, "gains": sim._actuation.sharing}
        self._free = free

    def split(self, values: Array) -> dict[str, Array]:
        """Of (..., columns) of the core, those of each name, as the caller counts them."""
        return {name: self._to_user(name, values[..., columns]) for name, columns in self.slices.items()}

    def split_flags(self, values: Array) -> dict[str, NDArray[np.bool_]]:
        """The same of flags: a column has one if any that it is made of has."""
        out = {}
        for name, columns in self.slices.items():
            flags = values[..., columns]
            mixing = self._mixing.get(name)
            out[name] = flags > 0 if mixing is None else (flags @ np.abs(mixing)) > 0
        return out

    def joined(self, given: Mapping[str, Array | None], batch: int) -> Array:
        """From (batch, n) of each name to (batch, columns) of the core."""
        out = np.zeros((batch, self.count))
        for name, columns in self.slices.items():
            value = given.get(name)
            if value is None:
                continue
            if name == "control" and self._free is not None:
                value = value * self._free
            mixing = self._mixing.get(name)
            out[:, columns] = value if mixing is None else value @ mixing.T
        return out

    def _to_user(self, name: str, values: Array) -> Array:
        mixing = self._mixing.get(name)
        if mixing is not None:
            values = values @ mixing
        if name == "control" and self._free is not None:
            free = self._free if values.ndim == 2 else self._free[:, None, :]
            values = values * free
        return values


def columns_of(sim: Simulator, wrt: tuple[str, ...], free: NDArray[np.bool_] | None) -> Columns:
    """Made once for each set of names, unless some controls were at the ends of their range."""
    if free is not None:
        return Columns(sim, wrt, free)
    if wrt not in sim._columns:
        sim._columns[wrt] = Columns(sim, wrt)
    return sim._columns[wrt]


class Stepped:
    """A step that was taken, ready to be differentiated."""

    def __init__(self, sim: Simulator, after: State, kept: _core.KeptSolutions, drive: Drive, free: Any) -> None:
        self.sim, self.after, self.kept, self.drive, self.free = sim, after, kept, drive, free

    def product(self, columns: Columns, reading: Literal["jacobian", "forward", "reverse"], x: Array | None) -> Any:
        """What the core returns: see ``_core.differentiate_step``."""
        return differentiate(self.sim, self.after._core, self.kept, self.drive, columns, reading, x)

    def derivatives(self, wrt: Sequence[str]) -> StepDerivatives:
        """Matrices."""
        columns, nv = Columns(self.sim, wrt, self.free), self.sim.model.nv
        matrix, infeasible, unique = self.product(columns, "jacobian", None)
        single = self.after.single

        def squeeze(x: NDArray[Any]) -> NDArray[Any]:
            return x[0] if single else x

        return StepDerivatives(
            state=self.after,
            dq={name: squeeze(x) for name, x in columns.split(matrix[:, :nv]).items()},
            dv={name: squeeze(x) for name, x in columns.split(matrix[:, nv:]).items()},
            infeasible={name: squeeze(x) for name, x in columns.split_flags(infeasible).items()},
            unique=bool(unique[0]) if single else unique > 0,
        )


class Pullback:
    """From cotangents of (q, v) after a step to those of all that it was given."""

    def __init__(self, step: Stepped, parameters: Sequence[str]) -> None:
        self._step, self._parameters = step, checked_parameters(parameters)
        self._columns = columns_of(step.sim, ("q", "v", "tau", "control", *self._parameters), step.free)

    def __call__(self, dq: ArrayLike | None = None, dv: ArrayLike | None = None) -> Gradient:
        """dq, dv: ([batch,] nv), zero by default."""
        state = self._step.after
        x = np.hstack([tangent(state, name, value) for name, value in (("dq", dq), ("dv", dv))])
        parts = self._columns.split(self._step.product(self._columns, "reverse", x))
        parts = {name: value[0] if state.single else value for name, value in parts.items()}
        return Gradient(
            parts["q"],
            parts["v"],
            parts["tau"],
            parts["control"],
            {name: parts[name] for name in self._parameters},
            state.failed,
        )


class Pushforward:
    """From tangents of what a step is given to those of (q, v) after it."""

    def __init__(self, step: Stepped) -> None:
        self._step = step

    def __call__(self, **given: ArrayLike) -> tuple[Array, Array]:
        """Tangents by name, as in ``wrt`` of ``sim.step_derivatives``, ([batch,] n) each; returns (dq, dv)."""
        state, sim = self._step.after, self._step.sim
        columns = columns_of(sim, tuple(given), self._step.free)
        widths = {name: width_of(sim, name) for name in given}
        tangents = {name: tangent(state, name, value, widths[name]) for name, value in given.items()}
        out = self._step.product(columns, "forward", columns.joined(tangents, state.batch_size))
        nv = sim.model.nv
        return (out[0, :nv], out[0, nv:]) if state.single else (out[:, :nv], out[:, nv:])


def check_smooth(sim: Simulator) -> None:
    """Raises for steps whose derivative is not known."""
    if sim.integrator == "verlet":
        raise ValueError('derivatives: integrator "verlet" has none yet')
    if sim._actuation.transmissions or sim._actuation.activations:
        raise ValueError("derivatives: actuators on several joints or with activations have none yet")
    if sim.model.description.struts:
        raise ValueError("derivatives: springs and dampers between points (struts) have none yet")
    if any(tendon.range is not None or tendon.friction > 0.0 for tendon in sim.model.description.tendons):
        raise ValueError("derivatives: limits and dry friction of tendons have none yet")
    if lifts(sim.model.description):
        raise ValueError("derivatives: scenes in which weight is carried have none yet")
    guided = [each.name for each in sim.scene.constraints if each.guides]
    guided += [each.name for each in sim.scene.couplings if not each.guide.holds]
    if guided:
        raise ValueError(f"derivatives: {guided[0]!r} is guided, not held, by its constraint; such steps have none yet")


def width_of(sim: Simulator, name: str) -> int:
    """How many numbers the caller gives for it."""
    if name in ("control", "gains"):
        return sim.nu
    return columns_of(sim, (name,), None).count


def tangent(state: State, name: str, value: ArrayLike | None, n: int | None = None, steps: int | None = None) -> Array:
    """(batch, n), or (batch, steps, n), checked; zero if there is none."""
    n = state.simulator.model.nv if n is None else n
    rows = (n,) if steps is None else (steps, n)
    if value is None:
        return np.zeros((state.batch_size, *rows))
    array = np.asarray(real_numbers(name, value), dtype=np.float64)
    shape = rows if state.single else (state.batch_size, *rows)
    if array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: contains numbers that are not finite")
    return array.reshape(state.batch_size, *rows)


def checked_parameters(parameters: Sequence[str]) -> tuple[str, ...]:
    """Names of parameters; a string alone would be taken for its letters."""
    names = (parameters,) if isinstance(parameters, str) else tuple(parameters)
    for name in names:
        if name not in PARAMETERS:
            raise ValueError(f"parameters: unknown {name!r}; there are {', '.join(PARAMETERS)}")
    return names


def differentiate(
    sim: Simulator,
    after: _core.Environments,
    kept: _core.KeptSolutions,
    drive: Drive,
    columns: Columns,
    reading: str,
    x: Array | None,
) -> Any:
    """``_core.differentiate_step`` of a step that ``drive`` drove."""
    x = None if x is None else np.ascontiguousarray(x)
    tau, control, f_ext = (None if each is None else np.ascontiguousarray(each) for each in drive)
    return _core.differentiate_step(after, kept, tau, control, f_ext, columns.wrt, reading, x, sim.num_threads)


def again(
    sim: Simulator, tape: Tape, first: int, last: int, start: _core.Environments
) -> list[tuple[_core.Environments, _core.KeptSolutions]]:
    """Steps [first, last) once more, bit for bit, with their solutions."""
    steps, core = [], start
    for k in range(first, last):
        core, kept = core.copy(), _core.KeptSolutions(sim._core, core.batch)
        sim._run(core, k, 1, tape.inputs, None, kept, read=False)
        steps.append((core, kept))
    return steps


def rollout_vjp(
    sim: Simulator, tape: Tape, final: State, dq: Array, dv: Array, parameters: tuple[str, ...]
) -> RolloutGradient:
    """Backwards through the steps. dq, dv: (batch, steps, nv)."""
    batch, steps, nv = dq.shape
    dq, dv = (x * ~np.atleast_1d(final.failed)[:, None, None] for x in (dq, dv))
    x = np.zeros((batch, 2 * nv))
    tau, control = np.zeros((batch, steps, nv)), np.zeros((batch, steps, sim.nu))
    totals: dict[str, Array] = {}
    ends = [start for start, _ in tape.starts[1:]] + [tape.steps]
    for (first, start), last in reversed(list(zip(tape.starts, ends, strict=True))):
        for k, (after, kept) in reversed(list(enumerate(again(sim, tape, first, last, start), start=first))):
            x += np.concatenate([dq[:, k], dv[:, k]], axis=1)
            columns = columns_of(sim, ("q", "v", "tau", "control", *parameters), tape.free(k))
            g = columns.split(differentiate(sim, after, kept, tape.drive(k), columns, "reverse", x))
            x = np.concatenate([g["q"], g["v"]], axis=1)
            tau[:, k], control[:, k] = g["tau"], g["control"]
            for name in parameters:
                totals[name] = totals.get(name, 0.0) + g[name]

    def squeeze(y: Array) -> Array:
        return y[0] if final.single else y

    return RolloutGradient(
        squeeze(x[:, :nv]),
        squeeze(x[:, nv:]),
        squeeze(tau),
        squeeze(control),
        {name: squeeze(y) for name, y in totals.items()},
        final.failed,
    )


def rollout_jvp(sim: Simulator, tape: Tape, final: State, given: Mapping[str, Array]) -> tuple[Array, Array]:
    """Forwards through the steps. given: (batch, n); (batch, steps, n) of "tau" and "control"."""
    batch, nv = final.batch_size, sim.model.nv
    out = np.zeros((batch, tape.steps, 2 * nv))
    x = {name: given.get(name, np.zeros((batch, nv))) for name in ("q", "v")}
    driven = [name for name in ("tau", "control") if name in given]
    parameters = [name for name in given if name in PARAMETERS]
    ends = [start for start, _ in tape.starts[1:]] + [tape.steps]
    for (first, start), last in zip(tape.starts, ends, strict=True):
        for k, (after, kept) in enumerate(again(sim, tape, first, last, start), start=first):
            columns = columns_of(sim, ("q", "v", *driven, *parameters), tape.free(k))
            now = {name: given[name][:, k] for name in driven} | {name: given[name] for name in parameters}
            tangents = columns.joined({**x, **now}, batch)
            out[:, k] = differentiate(sim, after, kept, tape.drive(k), columns, "forward", tangents)
            x = {"q": out[:, k, :nv], "v": out[:, k, nv:]}
    out *= ~np.atleast_1d(final.failed)[:, None, None]
    return (out[0, :, :nv], out[0, :, nv:]) if final.single else (out[..., :nv], out[..., nv:])


def linearise(sim: Simulator, tape: Tape, single: bool, batch: int) -> Linearisation:
    """All steps, one after the other."""
    nv = sim.model.nv
    A, B = np.empty((batch, tape.steps, 2 * nv, 2 * nv)), np.empty((batch, tape.steps, 2 * nv, sim.nu))
    unique = np.ones((batch, tape.steps), dtype=bool)
    ends = [start for start, _ in tape.starts[1:]] + [tape.steps]
    for (first, start), last in zip(tape.starts, ends, strict=True):
        for k, (after, kept) in enumerate(again(sim, tape, first, last, start), start=first):
            columns = columns_of(sim, ("q", "v", "control"), tape.free(k))
            matrix, _, one = differentiate(sim, after, kept, tape.drive(k), columns, "jacobian", None)
            A[:, k], unique[:, k] = matrix[:, :, : 2 * nv], one > 0
            B[:, k] = columns.split(matrix)["control"]
    return Linearisation(A[0], B[0], unique[0]) if single else Linearisation(A, B, unique)
