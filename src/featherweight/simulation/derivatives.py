"""Derivatives of a step and of a rollout, in the modes that contacts have: matrices, and products without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array, real_numbers
from ..records import Record
from .activation_slopes import ActivationSlopes
from .differences import Differences
from .parameters import Parameters
from .state import State
from .struts import are_plain

if TYPE_CHECKING:
    from .simulator import Simulator

#: What a step may be differentiated by, beside the state and what drives it.
PARAMETERS = ("friction", "gains", "gravity", "masses", "heights", "restitution")
INPUTS = ("q", "v", "tau", "control", "f_ext", "activation")

#: What gradients of a step are by, beside parameters.
_STATE_AND_DRIVE = ("q", "v", "tau", "control", "activation")

#: Joint forces (batch or 1, nv), controls of the core's actuators and forces on links, of one step.
Drive = tuple[Array | None, Array | None, Array | None]


@dataclass(frozen=True, eq=False)
class StepDerivatives(Record):
    """A step and its derivatives in tangent spaces; arrays start with the batch, unless there is only one.

    >>> sim = fw.Simulator(fw.models.pendulum(), dt=0.01)
    >>> d = sim.step_derivatives(sim.state())
    >>> d.A.shape, d.dv["q"].round(4)
    ((2, 2), array([[-0.0981]]))
    """

    state: State  # after the step, bit for bit that of ``sim.step``
    dq: Mapping[str, Array]  # by name, ([batch,] nv, k): of the new coordinates, in the tangent space there
    dv: Mapping[str, Array]  # by name, ([batch,] nv, k): of the new velocities
    dactivation: Mapping[str, Array]  # by name, ([batch,] na, k): of the new activations
    #: by name, ([batch,] k): columns along which the modes of contacts must change at once. They have no derivative;
    #: what dq and dv hold is that of least squares.
    infeasible: Mapping[str, NDArray[np.bool_]]
    unique: Any  # ([batch]) whether laws of contact leave one new velocity: if not, what is known is that of the solver

    @property
    def A(self) -> Array:
        """Of (q, v) by (q, v), ([batch,] 2 nv, 2 nv); where there are activations, they come last in both."""
        return self._stacked("q", "v", *self._activation)

    @property
    def B(self) -> Array:
        """Of the same by control, ([batch,] 2 nv [+ na], nu)."""
        return self._stacked("control")

    @property
    def _activation(self) -> tuple[str, ...]:
        return ("activation",) if self.state.simulator.na else ()

    def _stacked(self, *names: str) -> Array:
        for name in names:
            if name not in self.dq:
                raise ValueError(f"the step was not differentiated by {name!r}: name it in wrt")
        rows = (self.dq, self.dv, self.dactivation)
        return np.concatenate([np.concatenate([x[name] for x in rows], axis=-2) for name in names], axis=-1)

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
    activation: Array  # ([batch,] na)


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
    activation0: Array  # ([batch,] na)


@dataclass(frozen=True, eq=False)
class Linearisation(Record):
    """All steps of a rollout, linearised: x' = A x + B u for small changes of (q, v) and control.

    Where there are activations, x is (q, v, activation).

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

    def stretches(self) -> list[tuple[int, int, _core.Environments]]:
        """First and last + 1 of steps from one state that is held to the next, and that state."""
        lasts = [first for first, _ in self.starts[1:]] + [self.steps]
        return [(first, last, start) for (first, start), last in zip(self.starts, lasts, strict=False)]

    def drive(self, step: int) -> Drive:
        """Of one step."""
        tau, control, f_ext = (None if x is None else x[:, 0 if x.shape[1] == 1 else step] for x in self.inputs)
        return tau, control, f_ext

    def free(self, step: int) -> NDArray[np.bool_] | None:
        """Controls within their range, (batch or 1, nu); None: all."""
        if self.clipped is None:
            return None
        return ~self.clipped[:, 0 if self.clipped.shape[1] == 1 else step]


@dataclass(frozen=True, eq=False)
class Taken:
    """A step that was taken, with all that its derivatives need."""

    after: _core.Environments
    kept: _core.KeptSolutions
    drive: Drive
    slopes: ActivationSlopes | None
    differences: Differences | None  # where the core knows no derivative

    def product(self, sim: Simulator, columns: Columns, reading: str, x: Array | None) -> Any:
        """What the core returns: see ``_core.differentiate_step``."""
        if self.differences is None:
            return differentiate(sim, self.after, self.kept, self.drive, columns, reading, x)
        matrix, infeasible, unique = self.differences.matrix(columns.wrt)
        if reading == "jacobian":
            return matrix, infeasible, unique
        assert x is not None
        return (matrix @ x[:, :, None])[:, :, 0] if reading == "forward" else (x[:, None, :] @ matrix)[:, 0]


def taken(
    sim: Simulator,
    before: _core.Environments,
    after: _core.Environments,
    parameters: Parameters,
    kept: _core.KeptSolutions,
    drive: Drive,
) -> Taken:
    """A step that ``drive`` drove."""
    has_form = sim.integrator != "verlet" and are_plain(sim.model)
    differences = None if has_form else Differences(sim, before, parameters, drive)
    return Taken(after, kept, *driven(sim, before, after, drive), differences)


class Columns:
    """Columns of derivatives, as the core has them and as the caller does: actuators may share a law."""

    def __init__(
        self,
        sim: Simulator,
        wrt: Sequence[str],
        free: NDArray[np.bool_] | None = None,
        slopes: ActivationSlopes | None = None,
    ) -> None:
        known = INPUTS + PARAMETERS
        for name in wrt:
            if name not in known:
                raise ValueError(f"wrt: unknown {name!r}; there are {', '.join(known)}")
        if len(set(wrt)) != len(wrt):
            raise ValueError(f"wrt: {tuple(wrt)} names something twice")
        self.names = tuple(wrt)
        #: As the core is asked: activations drive laws, as controls do.
        self.wrt = tuple(name for name in wrt if name != "activation")
        if "activation" in wrt and "control" not in wrt:
            self.wrt += ("control",)
        nv, laws = sim.model.nv, sim._actuation.n_laws
        widths = {"q": nv, "v": nv, "tau": nv, "control": laws, "f_ext": 6 * sim.model.n_links, "friction": 1}
        widths |= {"gains": laws, "gravity": 3, "masses": sim.model.n_links, "restitution": 1}
        widths |= {"heights": len(_core.ground_shapes(sim._core))} if "heights" in wrt else {}
        self.slices: dict[str, slice] = {}
        first = 0
        for name in self.wrt:
            self.slices[name] = slice(first, first + widths[name])
            first += widths[name]
        self.count = first
        self.slopes = slopes
        mixing, sharing = sim._actuation.mixing, sim._actuation.sharing
        self._mixing: dict[str, Array | None] = {"control": mixing, "gains": sharing}
        if slopes is not None:
            self._mixing |= {"control": slopes.laws_by_control, "activation": slopes.laws_by_activation}
        elif "activation" in wrt:
            self._mixing["activation"] = np.zeros((laws, 0))
        self._free = free

    def split(self, values: Array) -> dict[str, Array]:
        """Of (..., columns) of the core, those of each name, as the caller counts them."""
        return {name: self._to_user(name, values[..., self._columns(name)]) for name in self.names}

    def split_flags(self, values: Array) -> dict[str, NDArray[np.bool_]]:
        """The same of flags: a column has one if any that it is made of has."""
        out = {}
        for name in self.names:
            flags, mixing = values[..., self._columns(name)], self._mixing.get(name)
            out[name] = flags > 0 if mixing is None else _mixed(flags, np.abs(mixing)) > 0
        return out

    def joined(self, given: Mapping[str, Array | None], batch: int) -> Array:
        """From (batch, n) of each name to (batch, columns) of the core."""
        out = np.zeros((batch, self.count))
        for name in self.names:
            value = given.get(name)
            if value is None:
                continue
            if name == "control" and self._free is not None:
                value = value * self._free
            mixing = self._mixing.get(name)
            out[:, self._columns(name)] += value if mixing is None else _mixed(value, np.swapaxes(mixing, -1, -2))
        return out

    def activations(self, given: Mapping[str, Array | None]) -> Array | float:
        """Rates of the new activations, (batch, na), for tangents (batch, n) of what the step is given."""
        total: Array | float = 0.0
        if self.slopes is None:
            return total
        if (activation := given.get("activation")) is not None:
            total = total + self.slopes.by_activation * activation
        if (control := given.get("control")) is not None:
            free = control if self._free is None else control * self._free
            total = total + _mixed(free, np.swapaxes(self.slopes.by_control, -1, -2))
        return total

    def pull_activations(self, x: Array, parts: dict[str, Array]) -> None:
        """Cotangents x (batch, na) of the new activations join those of what the step was given."""
        if self.slopes is None:
            return
        if "activation" in parts:
            parts["activation"] = parts["activation"] + x * self.slopes.by_activation
        if "control" in parts:
            control = _mixed(x, self.slopes.by_control)
            parts["control"] = parts["control"] + (control if self._free is None else control * self._free)

    def activation_matrices(self, parts: Mapping[str, Array], na: int) -> dict[str, Array]:
        """Of new activations, by name, (batch, na, k): beside those of the new coordinates."""
        out = {name: np.zeros((x.shape[0], na, x.shape[2])) for name, x in parts.items()}
        if self.slopes is not None and "activation" in out:
            out["activation"][:] = self.slopes.by_activation[:, :, None] * np.eye(na)
        if self.slopes is not None and "control" in out:
            out["control"][:] = self.slopes.by_control
            if self._free is not None:
                out["control"] *= self._free[:, None, :]
        return out

    def _columns(self, name: str) -> slice:
        return self.slices["control" if name == "activation" else name]

    def _to_user(self, name: str, values: Array) -> Array:
        mixing = self._mixing.get(name)
        if mixing is not None:
            values = _mixed(values, mixing)
        if name == "control" and self._free is not None:
            free = self._free if values.ndim == 2 else self._free[:, None, :]
            values = values * free
        return values


def _mixed(values: Array, mixing: Array) -> Array:
    """values (batch, [rows,] n) times mixing, ([batch,] n, k)."""
    if mixing.ndim == 3 and values.ndim == 2:
        return np.asarray(np.einsum("bn,bnk->bk", values, mixing))
    return np.asarray(values @ mixing)


def columns_of(
    sim: Simulator,
    wrt: tuple[str, ...],
    free: NDArray[np.bool_] | None,
    slopes: ActivationSlopes | None = None,
) -> Columns:
    """Made once for each set of names, unless some controls were at the ends of their range or drive activations."""
    if free is not None or slopes is not None:
        return Columns(sim, wrt, free, slopes)
    if wrt not in sim._columns:
        sim._columns[wrt] = Columns(sim, wrt)
    return sim._columns[wrt]


class Stepped:
    """A step that was taken, ready to be differentiated."""

    def __init__(
        self, sim: Simulator, before: State, after: State, kept: _core.KeptSolutions, drive: Drive, free: Any
    ) -> None:
        self.sim, self.after, self.free = sim, after, free
        self._taken = taken(sim, before._core, after._core, before.parameters, kept, drive)
        self.kept, self.drive, self.slopes = self._taken.kept, self._taken.drive, self._taken.slopes

    def product(self, columns: Columns, reading: Literal["jacobian", "forward", "reverse"], x: Array | None) -> Any:
        """What the core returns: see ``_core.differentiate_step``."""
        return self._taken.product(self.sim, columns, reading, x)

    def derivatives(self, wrt: Sequence[str]) -> StepDerivatives:
        """Matrices."""
        if self.sim.na and "activation" not in wrt:
            wrt = (*wrt, "activation")
        columns, nv = Columns(self.sim, wrt, self.free, self.slopes), self.sim.model.nv
        matrix, infeasible, unique = self.product(columns, "jacobian", None)
        single = self.after.single

        def squeeze(x: NDArray[Any]) -> NDArray[Any]:
            return x[0] if single else x

        of_q = columns.split(matrix[:, :nv])
        of_activations = columns.activation_matrices(of_q, self.sim.na)
        return StepDerivatives(
            state=self.after,
            dq={name: squeeze(x) for name, x in of_q.items()},
            dv={name: squeeze(x) for name, x in columns.split(matrix[:, nv:]).items()},
            dactivation={
                name: squeeze(x * ~np.atleast_1d(self.after.failed)[:, None, None])
                for name, x in of_activations.items()
            },
            infeasible={name: squeeze(x) for name, x in columns.split_flags(infeasible).items()},
            unique=bool(unique[0]) if single else unique > 0,
        )


class Pullback:
    """From cotangents of (q, v) after a step to those of all that it was given."""

    def __init__(self, step: Stepped, parameters: Sequence[str]) -> None:
        self._step, self._parameters = step, checked_parameters(parameters)
        self._columns = columns_of(step.sim, (*_STATE_AND_DRIVE, *self._parameters), step.free, step.slopes)

    def __call__(
        self, dq: ArrayLike | None = None, dv: ArrayLike | None = None, dactivation: ArrayLike | None = None
    ) -> Gradient:
        """dq, dv: ([batch,] nv), dactivation: ([batch,] na), zero by default."""
        state = self._step.after
        x = np.hstack([tangent(state, name, value) for name, value in (("dq", dq), ("dv", dv))])
        parts = self._columns.split(self._step.product(self._columns, "reverse", x))
        if dactivation is not None:
            given = tangent(state, "dactivation", dactivation, self._step.sim.na)
            self._columns.pull_activations(given * ~np.atleast_1d(state.failed)[:, None], parts)
        parts = {name: value[0] if state.single else value for name, value in parts.items()}
        return Gradient(
            parts["q"],
            parts["v"],
            parts["tau"],
            parts["control"],
            {name: parts[name] for name in self._parameters},
            state.failed,
            parts["activation"],
        )


class Pushforward:
    """From tangents of what a step is given to those of (q, v) after it."""

    def __init__(self, step: Stepped) -> None:
        self._step = step

    def __call__(self, **given: ArrayLike) -> tuple[Array, Array]:
        """Tangents by name, as in ``wrt`` of ``sim.step_derivatives``, ([batch,] n) each; returns (dq, dv)."""
        state, sim = self._step.after, self._step.sim
        columns, tangents = self._tangents(given)
        out = self._step.product(columns, "forward", columns.joined(tangents, state.batch_size))
        nv = sim.model.nv
        return (out[0, :nv], out[0, nv:]) if state.single else (out[:, :nv], out[:, nv:])

    def activation(self, **given: ArrayLike) -> Array:
        """The same of the activations after the step, ([batch,] na)."""
        state = self._step.after
        columns, tangents = self._tangents(given)
        rates = np.zeros((state.batch_size, self._step.sim.na)) + columns.activations(tangents)
        rates *= ~np.atleast_1d(state.failed)[:, None]
        return rates[0] if state.single else rates

    def _tangents(self, given: Mapping[str, ArrayLike]) -> tuple[Columns, dict[str, Array]]:
        state, sim = self._step.after, self._step.sim
        widths = {name: width_of(sim, name) for name in given}
        tangents = {name: tangent(state, name, value, widths[name]) for name, value in given.items()}
        return columns_of(sim, tuple(given), self._step.free, self._step.slopes), tangents


def width_of(sim: Simulator, name: str) -> int:
    """How many numbers the caller gives for it."""
    if name in ("control", "gains"):
        return sim.nu
    if name == "activation":
        return sim.na
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


def driven(
    sim: Simulator, before: _core.Environments, after: _core.Environments, drive: Drive
) -> tuple[Drive, ActivationSlopes | None]:
    """What drove a step, with controls of laws as activations drive them."""
    if not sim.na:
        return drive, None
    slopes = ActivationSlopes(sim._actuation, np.array(before.activation), np.array(after.activation), drive[1], sim.dt)
    unused = np.zeros((len(slopes.controls), sim.na))  # of activations themselves
    return (drive[0], np.hstack([slopes.controls, unused]), drive[2]), slopes


def require_closed_form(sim: Simulator) -> None:
    """Throws where the core does not know the derivative of a step."""
    if not are_plain(sim.model):
        what = "struts with limits, dry friction, bends, shares or actuators, and sticky links,"
        raise ValueError(f"derivatives: {what} have none in closed form")


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
    require_closed_form(sim)
    x = None if x is None else np.ascontiguousarray(x)
    tau, control, f_ext = (None if each is None else np.ascontiguousarray(each) for each in drive)
    return _core.differentiate_step(after, kept, tau, control, f_ext, columns.wrt, reading, x, sim.num_threads)


def forwards(sim: Simulator, tape: Tape, final: State) -> Iterator[tuple[int, Taken]]:
    """All steps once more, bit for bit; the solution of each is there until the next is asked for."""
    room = [_core.KeptSolutions(sim._core, final.batch_size)]
    for first, last, core in tape.stretches():
        for k in range(first, last):
            (step,) = again(sim, tape, k, k + 1, core, final.parameters, room)
            core = step.after
            yield k, step


def backwards(sim: Simulator, tape: Tape, final: State) -> Iterator[tuple[int, Taken]]:
    """The same from the last to the first. Solutions are those of a stretch at a time, in memory that all share."""
    stretches = tape.stretches()
    longest = max((last - first for first, last, _ in stretches), default=0)
    room = [_core.KeptSolutions(sim._core, final.batch_size) for _ in range(longest)]
    for first, last, start in reversed(stretches):
        yield from reversed(list(enumerate(again(sim, tape, first, last, start, final.parameters, room), start=first)))


def again(
    sim: Simulator,
    tape: Tape,
    first: int,
    last: int,
    start: _core.Environments,
    parameters: Parameters,
    room: Sequence[_core.KeptSolutions],
) -> list[Taken]:
    """Steps [first, last) once more, with their solutions in ``room``."""
    steps, core = [], start
    for k, kept in zip(range(first, last), room, strict=False):
        before, core = core, core.copy()
        sim._run(core, k, 1, tape.inputs, None, kept, read=False)
        steps.append(taken(sim, before, core, parameters, kept, tape.drive(k)))
    return steps


def rollout_vjp(
    sim: Simulator, tape: Tape, final: State, dq: Array, dv: Array, parameters: tuple[str, ...]
) -> RolloutGradient:
    """Backwards through the steps. dq, dv: (batch, steps, nv)."""
    batch, steps, nv = dq.shape
    dq, dv = (x * ~np.atleast_1d(final.failed)[:, None, None] for x in (dq, dv))
    x, activation = np.zeros((batch, 2 * nv)), np.zeros((batch, sim.na))
    tau, control = np.zeros((batch, steps, nv)), np.zeros((batch, steps, sim.nu))
    totals: dict[str, Array] = {}
    for k, step in backwards(sim, tape, final):
        x += np.concatenate([dq[:, k], dv[:, k]], axis=1)
        columns = columns_of(sim, (*_STATE_AND_DRIVE, *parameters), tape.free(k), step.slopes)
        g = columns.split(step.product(sim, columns, "reverse", x))
        columns.pull_activations(activation, g)
        x, activation = np.concatenate([g["q"], g["v"]], axis=1), g["activation"]
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
        squeeze(activation),
    )


def rollout_jvp(sim: Simulator, tape: Tape, final: State, given: Mapping[str, Array]) -> tuple[Array, Array]:
    """Forwards through the steps. given: (batch, n); (batch, steps, n) of "tau" and "control"."""
    batch, nv = final.batch_size, sim.model.nv
    out = np.zeros((batch, tape.steps, 2 * nv))
    x = {name: given.get(name, np.zeros((batch, n))) for name, n in (("q", nv), ("v", nv), ("activation", sim.na))}
    driven_by = [name for name in ("tau", "control") if name in given]
    parameters = [name for name in given if name in PARAMETERS]
    for k, step in forwards(sim, tape, final):
        columns = columns_of(sim, (*x, *driven_by, *parameters), tape.free(k), step.slopes)
        now = {name: given[name][:, k] for name in driven_by} | {name: given[name] for name in parameters}
        tangents = {**x, **now}
        out[:, k] = step.product(sim, columns, "forward", columns.joined(tangents, batch))
        activation = x["activation"] * 0.0 + columns.activations(tangents)
        x = {"q": out[:, k, :nv], "v": out[:, k, nv:], "activation": activation}
    out *= ~np.atleast_1d(final.failed)[:, None, None]
    return (out[0, :, :nv], out[0, :, nv:]) if final.single else (out[..., :nv], out[..., nv:])


def linearise(sim: Simulator, tape: Tape, final: State) -> Linearisation:
    """All steps, one after the other."""
    batch, single = final.batch_size, final.single
    nv, na = sim.model.nv, sim.na
    n = 2 * nv + na
    A, B = np.zeros((batch, tape.steps, n, n)), np.zeros((batch, tape.steps, n, sim.nu))
    unique = np.ones((batch, tape.steps), dtype=bool)
    names = ("q", "v", "control", "activation")[: 4 if na else 3]
    for k, step in forwards(sim, tape, final):
        columns = columns_of(sim, names, tape.free(k), step.slopes)
        matrix, _, one = step.product(sim, columns, "jacobian", None)
        unique[:, k] = one > 0
        A[:, k, : 2 * nv, : 2 * nv] = matrix[:, :, : 2 * nv]
        parts = columns.split(matrix)
        B[:, k, : 2 * nv] = parts["control"]
        if na:
            of_activations = columns.activation_matrices(parts, na)
            A[:, k, : 2 * nv, 2 * nv :] = parts["activation"]
            A[:, k, 2 * nv :, 2 * nv :], B[:, k, 2 * nv :] = (
                of_activations[name] for name in ("activation", "control")
            )
    return Linearisation(A[0], B[0], unique[0]) if single else Linearisation(A, B, unique)
