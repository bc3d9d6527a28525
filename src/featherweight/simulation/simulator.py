"""The simulator: a scene, a step, batches of environments.

>>> scene = fw.Scene(ground=fw.Plane(friction=0.8))
>>> ball = scene.add(fw.sphere(0.1), pose=(0, 0, 0.5))
>>> sim = fw.Simulator(scene, dt=2e-3)
>>> state = sim.rollout(sim.state(), n_steps=500).final
>>> bool(abs(state.q[2] - 0.1) < 1e-9)
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array, real_numbers
from ..core_tables import StepReports
from ..model.description import WORLD, Actuator, Keyframe
from ..model.model import Model
from ..records import Packed, Record, packed, unpacked
from ..scene.compiled import CompiledScene
from ..scene.scene import Scene
from . import derivatives, driving
from .actuation import Actuation
from .alarms import Alarms, failures_of, tell_failures
from .core_arguments import Integrator, check_smooth, core_arguments
from .derivatives import Linearisation, Pullback, Pushforward, RolloutGradient, StepDerivatives, Tape
from .inputs import flat_forces
from .rollouts import Policy, roll_out
from .solution import StepSolution
from .solvers import Solver, as_solver
from .state import State
from .trajectory import Trajectory

if TYPE_CHECKING:
    from ..viewer.animation import Animation

#: What a simulator is made of.
_SETTINGS = ("scene", "dt", "solver", "integrator", "num_threads")


class Simulator:
    """Advances a scene in time, in one environment or in thousands.

    scene: a :class:`Scene`, a :class:`CompiledScene`, or a single :class:`Model`, which can then touch only itself.
    dt: length of a step [s].
    solver: "auto", or a :class:`GaussSeidel`, :class:`Newton` or :class:`ADMM` with its settings.
    integrator: "semi_implicit" updates velocities first, then coordinates with the new velocities; joint damping is
    evaluated at the end of the step. "implicit" evaluates joint springs and servo gains there as well, and is stable at
    any stiffness. "verlet" is of second order: half of the forces act before the motion of the step, half after it.
    "rk4" is of fourth order, for scenes without contacts, limits, dry friction and constraints.
    num_threads: threads for a batch, by default all cores that the process may use. Results do not depend on it.

    A simulator is immutable and can be shared between threads; ``step`` returns a new state. Simulators are pickled by
    their compiled scenes and settings, and are equal if those are; a state can be used with any simulator equal to its
    own.

    >>> sim = fw.Simulator(fw.models.pendulum(), dt=1e-3)
    >>> trajectory = sim.rollout(sim.state(q=[0.1]), n_steps=1000)
    >>> trajectory.q.shape
    (1000, 1)
    """

    def __init__(
        self,
        scene: Scene | CompiledScene | Model,
        dt: float = 1e-3,
        *,
        solver: Solver | str = "auto",
        integrator: Integrator = "semi_implicit",
        num_threads: int | None = None,
    ) -> None:
        if isinstance(scene, Model):
            alone = Scene(gravity=scene.gravity, medium=scene.description.medium)
            alone.add(scene, name="model" if scene.name in ("", WORLD) else scene.name)
            scene = alone
        if not isinstance(scene, Scene | CompiledScene):
            raise ValueError(f"scene must be a Scene, a CompiledScene or a Model, got {scene!r}")
        if integrator not in get_args(Integrator):
            raise ValueError(f'integrator must be "semi_implicit", "implicit", "verlet" or "rk4", got {integrator!r}')
        if not (isinstance(dt, int | float) and not isinstance(dt, bool) and 0.0 < dt <= 0.1):
            raise ValueError(f"dt must be a time between 0 and 0.1 s, got {dt!r}")
        if num_threads is not None and (not isinstance(num_threads, int) or num_threads < 1):
            raise ValueError(f"num_threads must be a positive integer or None, got {num_threads!r}")
        self.scene = scene.compile() if isinstance(scene, Scene) else scene
        self.dt = float(dt)
        self.solver = as_solver(solver)
        self.integrator: Integrator = integrator
        self.num_threads = num_threads
        self._prepare()

    def _prepare(self) -> None:
        """All that follows from scene and settings."""
        self.actuators: tuple[Actuator, ...] = self.model.description.actuators
        ranges = [(-np.inf, np.inf) if each.ctrl_range is None else each.ctrl_range for each in self.actuators]
        self._control_range: Array = np.array(ranges, dtype=np.float64).reshape(-1, 2).T
        self._bounded = bool(np.isfinite(self._control_range).any())
        self._actuation = Actuation(self.model, self.dt)
        arguments = core_arguments(self.scene, self._actuation, self.integrator)
        if self.integrator == "rk4":
            check_smooth(self.scene, arguments)
        self._alarms = Alarms()
        self._columns: dict[tuple[str, ...], derivatives.Columns] = {}  # of derivatives, made when asked for
        self._options = _core.SolverOptions(*self.solver.arguments())
        self._core = _core.Simulation(self.model, self.dt, self.integrator, **arguments)
        self._switched: list[int] = arguments["switched"]  # places of constraints

    @property
    def model(self) -> Model:
        """The one model of everything that moves in the scene."""
        return self.scene.model

    @property
    def nu(self) -> int:
        """Number of actuators: the length of ``control``."""
        return len(self.actuators)

    @property
    def switches(self) -> tuple[str, ...]:
        """Names of the constraints that environments switch on and off, see :meth:`Scene.constrain`."""
        return tuple(self.scene.constraints[k].switch for k in self._switched)

    @property
    def na(self) -> int:
        """Number of actuators that have an activation, a state of their own: the length of ``state.activation``."""
        return len(self._actuation.activated)

    def keyframe(self, name: str) -> Keyframe:
        """A keyframe of a model in the scene, as coordinates, velocities and controls of the whole scene.

        name: "part/keyframe", or just the keyframe if only one part has it. Everything else is at its initial place.

        >>> builder = fw.ModelBuilder.from_description(fw.models.pendulum().description)
        >>> scene = fw.Scene()
        >>> clock = scene.add(builder.keyframe("raised", q={"hinge": 1.0}).build(), name="clock")
        >>> fw.Simulator(scene).keyframe("clock/raised").q
        array([1.])
        """
        known = self.model.keyframes
        found = [each for each in known if name in (each, each.partition("/")[2])]
        if len(found) > 1 and name not in known:
            raise ValueError(f"keyframe {name!r} is in several parts: {', '.join(map(repr, found))}")
        return self.model.keyframe(found[0] if found and name not in known else name)

    def state(
        self,
        batch: int | None = None,
        *,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        activation: ArrayLike | None = None,
        keyframe: str | None = None,
    ) -> State:
        """An initial state: everything at its place in the scene and at rest, unless q or v are given.

        batch: None for a single environment, whose arrays are (nq,) and (nv,), or their number, for (batch, nq) and
        (batch, nv). q and v may have either shape, and so may activation, (na,) or (batch, na), zero by default.
        keyframe: start from q, v and activation of that :meth:`keyframe`; pass its control to the steps.
        """
        if keyframe is not None:
            at = self.keyframe(keyframe)
            q, v = at.q if q is None else q, at.v if v is None else v
            activation = at.activation if activation is None else activation
        if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int) or batch < 1):
            raise ValueError(f"batch must be a positive integer or None, got {batch!r}")
        core = self._environments(1 if batch is None else batch)
        state = State(self, core, time=0.0, single=batch is None)
        v = np.zeros(self.model.nv) if v is None else v
        return state.replace(q=self.scene.q0 if q is None else q, v=v, activation=activation)

    def step(
        self,
        state: State,
        tau: ArrayLike | None = None,
        *,
        control: ArrayLike | None = None,
        f_ext: ArrayLike | None = None,
    ) -> State:
        """The state after one step.

        tau: joint forces (nv,) or (batch, nv), in addition to actuators; control: (nu,) or (batch, nu);
        f_ext: forces on links in their axes, (n_links, 6) or (batch, n_links, 6), [N, N m].
        An environment whose velocities exceed 1e9 m/s or rad/s keeps its previous state and is marked in
        ``state.failed``; a :class:`SimulationWarning` names it.

        >>> sim = fw.Simulator(fw.models.pendulum(), dt=1e-3)
        >>> state = sim.step(sim.state(q=[0.1]))
        >>> state.time, bool(state.v < 0.0), bool(state.converged)
        (0.001, True, True)
        """
        return self._stepped(state, tau, control, f_ext, None)

    def step_solution(
        self,
        state: State,
        tau: ArrayLike | None = None,
        *,
        control: ArrayLike | None = None,
        f_ext: ArrayLike | None = None,
    ) -> StepSolution:
        """One step with everything it computed: rows, impulses, slip velocities, modes and factors.

        Arguments as in :meth:`step`; ``solution.state`` is the state that ``step`` returns, bit for bit.

        >>> scene = fw.Scene(ground=fw.Plane(friction=0.5))
        >>> crate = scene.add(fw.box((0.2, 0.2, 0.2)), pose=(0, 0, 0.1))
        >>> sim = fw.Simulator(scene)
        >>> pushed = sim.state(v=[1.0, 0, 0, 0, 0, 0])
        >>> sorted(set(sim.step_solution(pushed).rows.mode.tolist()))
        ['sliding']
        """
        if self.integrator == "rk4":
            raise ValueError('step_solution: integrator "rk4" solves no cone problem')
        kept = _core.KeptSolutions(self._core, state.batch_size, motion=True)
        return StepSolution.of(self._stepped(state, tau, control, f_ext, kept), kept, self._core)

    def step_derivatives(
        self,
        state: State,
        tau: ArrayLike | None = None,
        *,
        control: ArrayLike | None = None,
        f_ext: ArrayLike | None = None,
        wrt: Sequence[str] = ("q", "v", "tau", "control"),
    ) -> StepDerivatives:
        """One step and its derivatives, with contacts that stick, slide or open as they did in it.

        Arguments as in :meth:`step`. wrt: names of what to differentiate by: "q", "v", "tau", "control"; "f_ext", six
        columns per link; "activation"; factors as in :meth:`State.randomised`, "friction" (1), "gains" (nu) and
        "masses" (n_links); "gravity" (3); "heights", one column per shape of the world, in the order of
        ``scene.shapes``; "restitution", what is added to all coefficients (1). An environment that failed has zeros.

        >>> scene = fw.Scene(ground=fw.Plane(friction=0.5))
        >>> ball = scene.add(fw.sphere(0.1), pose=(0, 0, 1.0))
        >>> sim = fw.Simulator(scene, dt=2e-3)
        >>> d = sim.step_derivatives(sim.state())
        >>> d.A.shape, bool(abs(d.dq["v"][2, 2] - 2e-3) < 1e-15)
        ((12, 12), True)
        """
        return self._ready(state, tau, control, f_ext).derivatives(wrt)

    def step_vjp(
        self,
        state: State,
        tau: ArrayLike | None = None,
        *,
        control: ArrayLike | None = None,
        f_ext: ArrayLike | None = None,
        parameters: Sequence[str] = (),
    ) -> tuple[State, Pullback]:
        """One step, and a function from cotangents (dq, dv) of the new state to those of all that it was given.

        parameters: those to differentiate by as well, see :meth:`step_derivatives`.

        >>> scene = fw.Scene(ground=fw.Plane(friction=0.5))
        >>> ball = scene.add(fw.sphere(0.1), pose=(0, 0, 1.0))
        >>> sim = fw.Simulator(scene, dt=2e-3)
        >>> after, pull = sim.step_vjp(sim.state())
        >>> height = np.eye(6)[2]
        >>> bool(abs(pull(dq=height).v[2] - 2e-3) < 1e-15)
        True
        """
        step = self._ready(state, tau, control, f_ext)
        return step.after, Pullback(step, parameters)

    def step_jvp(
        self,
        state: State,
        tau: ArrayLike | None = None,
        *,
        control: ArrayLike | None = None,
        f_ext: ArrayLike | None = None,
    ) -> tuple[State, Pushforward]:
        """One step, and a function from tangents, by name, of what it was given to those (dq, dv) of the new state.

        >>> sim = fw.Simulator(fw.models.pendulum(), dt=1e-3)
        >>> after, push = sim.step_jvp(sim.state(q=[0.1]))
        >>> dq, dv = push(q=[1.0])
        >>> dq.shape, bool(dv < 0.0)
        ((1,), True)
        """
        step = self._ready(state, tau, control, f_ext)
        return step.after, Pushforward(step)

    def rollout_vjp(
        self,
        trajectory: Trajectory,
        dq: ArrayLike | None = None,
        dv: ArrayLike | None = None,
        *,
        parameters: Sequence[str] = (),
    ) -> RolloutGradient:
        """From cotangents of the recorded states to those of all that the rollout was given.

        trajectory: of ``rollout(..., tape=True)``; dq, dv: ([batch,] steps, nv), zero by default; parameters: see
        :meth:`step_derivatives`. Steps between those that the tape holds are taken once more, bit for bit.

        >>> sim = fw.Simulator(fw.models.pendulum(), dt=1e-2)
        >>> trajectory = sim.rollout(sim.state(q=[0.1]), n_steps=20, tape=True)
        >>> cotangents = np.zeros((20, 1))
        >>> cotangents[-1] = 1.0  # of the last coordinate
        >>> gradient = sim.rollout_vjp(trajectory, dq=cotangents)
        >>> gradient.q0.shape, gradient.tau.shape
        ((1,), (20, 1))
        """
        tape, final = self._tape_of(trajectory)
        names = derivatives.checked_parameters(parameters)
        nv = self.model.nv
        cotangents = [derivatives.tangent(final, name, x, nv, tape.steps) for name, x in (("dq", dq), ("dv", dv))]
        return derivatives.rollout_vjp(self, tape, final, cotangents[0], cotangents[1], names)

    def rollout_jvp(self, trajectory: Trajectory, **given: ArrayLike) -> tuple[Array, Array]:
        """From tangents of what a rollout was given to those (dq, dv) of its states, ([batch,] steps, nv) each.

        trajectory: of ``rollout(..., tape=True)``; given, by name: "q" and "v" of the start and parameters as in
        :meth:`step_derivatives`, ([batch,] n), "tau" and "control" of every step, ([batch,] steps, n).

        >>> sim = fw.Simulator(fw.models.pendulum(), dt=1e-3)
        >>> tape = sim.rollout(sim.state(), n_steps=10, tape=True)
        >>> dq, dv = sim.rollout_jvp(tape, v=np.ones(1))
        >>> dq.shape, bool(abs(dq[-1, 0] - 0.01) < 1e-5)
        ((10, 1), True)
        """
        tape, final = self._tape_of(trajectory)
        tangents = {}
        for name, value in given.items():
            steps = tape.steps if name in ("tau", "control") else None
            if name == "f_ext":
                raise ValueError("rollout_jvp: tangents of f_ext are for single steps: see step_jvp")
            tangents[name] = derivatives.tangent(final, name, value, derivatives.width_of(self, name), steps)
        return derivatives.rollout_jvp(self, tape, final, tangents)

    def linearise(self, trajectory: Trajectory) -> Linearisation:
        """A and B of every step of a rollout, for LQR and MPC.

        trajectory: of ``rollout(..., tape=True)``.

        >>> sim = fw.Simulator(fw.models.pendulum(), dt=1e-2)
        >>> lines = sim.linearise(sim.rollout(sim.state(q=[0.1]), n_steps=20, tape=True))
        >>> lines.A.shape
        (20, 2, 2)
        """
        tape, final = self._tape_of(trajectory)
        return derivatives.linearise(self, tape, final)

    def rollout(
        self,
        state: State,
        tau: ArrayLike | None = None,
        *,
        control: ArrayLike | None = None,
        f_ext: ArrayLike | None = None,
        n_steps: int | None = None,
        policy: Policy | None = None,
        record: bool = True,
        record_contacts: bool = False,
        every: int = 1,
        progress: bool = False,
        on_interrupt: Literal["raise", "return"] = "raise",
        tape: bool | Literal["all"] = False,
    ) -> Trajectory:
        """Many steps, starting from ``state``, which is not changed.

        tau: (steps, nv) or (batch, steps, nv); with ``n_steps`` also (nv,) or (batch, nv), the same in every step;
        control and f_ext likewise. Without any of them, ``n_steps`` run without forces.
        policy: called with the state before every step, returns ``tau``, ``(tau, control)`` or ``(tau, control,
        switches)`` for it, the last as :meth:`State.switched` takes them. What it does not keep is stepped in place:
        nothing is copied.
        record: keep q, v and diagnostics of every step; record_contacts: keep its contacts as well.
        every: record only every Nth step, and the last; diagnostics are the worst since the previous record.
        progress: show a progress bar. on_interrupt: whether Ctrl-C raises KeyboardInterrupt, or ends the rollout and
        returns the trajectory so far, marked ``interrupted``.
        tape: keep what :meth:`rollout_vjp` and :meth:`linearise` need: some of the states, or all of them with "all".
        """
        return roll_out(
            self,
            state,
            {"tau": tau, "control": control, "f_ext": f_ext},
            n_steps,
            policy,
            record=record,
            record_contacts=record_contacts,
            every=every,
            progress=progress,
            on_interrupt=on_interrupt,
            tape=tape,
        )

    def overlaps(self, state: State, depth: float = 1e-9) -> list[Overlap]:
        """Pairs of shapes that overlap by more than ``depth`` [m] at the state, the deepest first.

        Steps remove overlaps at up to half a metre per second, without adding velocity.

        >>> scene = fw.Scene(ground=fw.Plane())
        >>> ball = scene.add(fw.sphere(0.1), name="ball", pose=(0.0, 0.0, 0.08))
        >>> sim = fw.Simulator(scene)
        >>> [(overlap.shape_a, overlap.shape_b, round(overlap.depth, 3)) for overlap in sim.overlaps(sim.state())]
        [('ball', 'ground', 0.02)]
        """
        contacts = self.step(state).contacts  # gaps are those at its start
        found: dict[tuple[int, int, int], float] = {}
        for key, gap in zip(
            zip(contacts.environment.tolist(), contacts.shape_a.tolist(), contacts.shape_b.tolist(), strict=True),
            contacts.gap.tolist(),
            strict=True,
        ):
            if -gap > max(depth, found.get(key, 0.0)):
                found[key] = -gap
        names = contacts.names
        pairs = (Overlap(environment, names[a], names[b], found[environment, a, b]) for environment, a, b in found)
        return sorted(pairs, key=lambda overlap: -overlap.depth)

    def gravity_compensation(self, state: State) -> Array:
        """Joint forces (nv,) or (batch, nv) that balance gravity at the state; zero on free joints.

        Gravity and masses are those of each environment.

        >>> sim = fw.Simulator(fw.models.pendulum())
        >>> state = sim.state(q=[1.0])
        >>> still = sim.step(state, tau=sim.gravity_compensation(state))
        >>> bool(abs(still.v) < 1e-12)
        True
        """
        state = self._own(state)
        return driving.gravity_compensation(self.model, state.q, state.parameters)

    def push(self, state: State, link: str, force: ArrayLike, *, point: ArrayLike | None = None) -> Array:
        """A force on a link as ``f_ext``, (n_links, 6) or (batch, n_links, 6), for ``step``; several can be added.

        force: (3,) or (batch, 3) [N], world axes; point: where it acts [m], world, of the same shape; the link's centre
        of mass by default.

        >>> scene = fw.Scene(gravity=(0.0, 0.0, 0.0))
        >>> crate = scene.add(fw.box((0.2, 0.2, 0.2), mass=2.0), name="crate")
        >>> sim = fw.Simulator(scene, dt=1e-3)
        >>> push = sim.push(sim.state(), "crate", (10.0, 0.0, 0.0))
        >>> sim.step(sim.state(), f_ext=push).v[:3].round(6)  # 10 N on 2 kg for 1 ms
        array([0.005, 0.   , 0.   ])
        """
        state = self._own(state)
        return driving.push(self.model, state.q, link, force, point)

    def animation(self) -> Animation:
        """The scene in its initial configuration, for :func:`featherweight.view`."""
        from ..viewer.animation import Animation
        from ..viewer.world import World, title_of

        return Animation(World.of(self.scene), title_of(self.scene), np.zeros(1), self.scene.q0[None, None])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Simulator):
            return NotImplemented
        return self is other or all(getattr(self, name) == getattr(other, name) for name in _SETTINGS)

    def __hash__(self) -> int:
        return hash((self.scene, self.dt, self.integrator))

    def __getstate__(self) -> Packed:
        return packed({name: getattr(self, name) for name in _SETTINGS})

    def __setstate__(self, state: object) -> None:
        self.__dict__.update(unpacked(type(self), state, _SETTINGS))
        self._prepare()

    def __copy__(self) -> Simulator:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Simulator:
        return self

    def __repr__(self) -> str:
        return (
            f"<Simulator: dt={self.dt:g} s, nv={self.model.nv}, {len(self.scene.shapes)} shapes, "
            f"{self.nu} actuators, {self.integrator}>"
        )

    def _environments(self, batch: int) -> _core.Environments:
        return _core.Environments(self._core, batch)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _own(self, state: State) -> State:
        """The state itself, or a copy that belongs to this simulator if it is of another, equal one."""
        if not isinstance(state, State):
            raise ValueError(f"state must come from sim.state(), got {state!r}")
        if state.simulator is self:
            return state
        if state.simulator != self:
            raise ValueError("state belongs to a different simulator: make one with sim.state() of this one")
        return State._from_arrays(self, state._arrays())

    def _inputs(
        self, name: str, value: ArrayLike | None, n: int, state: State, steps: int | None, *, constant: bool = True
    ) -> Array | None:
        """``value`` as (batch or 1, steps or 1, n). constant: (batch, n) has one row per environment, for all steps."""
        if value is None:
            return None
        if type(value) is np.ndarray and value.shape == (n,) and value.dtype == np.float64 and n:
            return self._bounds(name, np.ascontiguousarray(value)).reshape(1, 1, n)  # the usual case of single steps
        if n == 0:
            driven = "actuators" if name == "control" else "degrees of freedom"
            raise ValueError(f"{name}: the scene has no {driven}")
        array = np.atleast_1d(real_numbers(name, value))
        batch = state.batch_size
        shapes: dict[tuple[int, ...], tuple[int, int, int]] = {(n,): (1, 1, n)}
        if not state.single and constant:
            shapes[(batch, n)] = (batch, 1, n)
        if steps is not None:
            shapes.setdefault((steps, n), (1, steps, n))
            shapes[(batch, steps, n)] = (batch, steps, n)
            shapes[(batch, 1, n)] = (batch, 1, n)
        if array.shape not in shapes:
            wanted = " or ".join(str(shape) for shape in shapes)
            raise ValueError(f"{name}: expected shape {wanted}, got {array.shape}")
        return self._bounds(name, array).reshape(shapes[array.shape])

    def _bounds(self, name: str, array: Array) -> Array:
        """Controls (..., nu) within their range; anything else as it is."""
        if not (self._bounded and name.endswith("control")):
            return array
        lower, upper = self._control_range
        return np.asarray(np.minimum(np.maximum(array, lower), upper))

    def _impulses_of(self, constraint: int) -> slice:
        """Columns of ``impulses`` of one of the scene's constraints."""
        rows = [len(each.axes) for each in self.scene.constraints]
        held = sum(rows) + len(self.scene.couplings)
        first = self._environments(1).impulses.shape[1] - held + sum(rows[:constraint])
        return slice(first, first + rows[constraint])

    def _stepped(
        self,
        state: State,
        tau: ArrayLike | None,
        control: ArrayLike | None,
        f_ext: ArrayLike | None,
        keep: _core.KeptSolutions | None,
    ) -> State:
        return self._stepped_with(state, tau, control, f_ext, keep)[0]

    def _stepped_with(
        self,
        state: State,
        tau: ArrayLike | None,
        control: ArrayLike | None,
        f_ext: ArrayLike | None,
        keep: _core.KeptSolutions | None,
        *,
        read: bool = True,
    ) -> tuple[State, derivatives.Drive]:
        """The state after a step, and what drove it, (batch or 1, 1, n) each."""
        state = self._own(state)
        drive = self._inputs("tau", tau, self.model.nv, state, steps=None)
        commands = self._inputs("control", control, self.nu, state, steps=None)
        forces = self._inputs("f_ext", flat_forces(f_ext, self.model.n_links), 6 * self.model.n_links, state, None)
        failed = failures_of(state._core)
        core = state._core.copy()
        inputs = drive, self._actuation.controls(commands), forces
        self._run(core, 0, 1, inputs, None, keep, read=read)
        self._judge(state, failed, core, 0)
        return state._with(core, time=state.time + self.dt, reports=StepReports.of(core)), inputs

    def _ready(
        self, state: State, tau: ArrayLike | None, control: ArrayLike | None, f_ext: ArrayLike | None
    ) -> derivatives.Stepped:
        """A step, taken, with all that its derivatives need."""
        kept = _core.KeptSolutions(self._core, state.batch_size)
        after, drive = self._stepped_with(state, tau, control, f_ext, kept, read=False)
        commands = self._inputs("control", control, self.nu, state, steps=None)
        clipped = self._clipped(control, commands)
        forces, controls, on_links = (None if x is None else x[:, 0] for x in drive)
        free = None if clipped is None else ~clipped[:, 0]
        return derivatives.Stepped(self, state, after, kept, (forces, controls, on_links), free)

    def _clipped(self, control: ArrayLike | None, commands: Array | None) -> NDArray[np.bool_] | None:
        """Which controls were at the ends of their range, like them."""
        if control is None or commands is None or not self._bounded:
            return None
        return np.asarray(commands != np.reshape(control, commands.shape))

    def _tape_of(self, trajectory: Trajectory) -> tuple[Tape, State]:
        if not isinstance(trajectory, Trajectory) or trajectory._tape is None:
            raise ValueError("trajectory: has no tape, roll out with tape=True")
        return trajectory._tape, self._own(trajectory.final)

    def _judge(
        self,
        start: State,
        failed: NDArray[np.bool_] | None,
        core: _core.Environments,
        done: int,
        first_step: Callable[[], _core.Environments] | None = None,
        penetration: Array | None = None,
    ) -> None:
        """Warns of what went wrong: in the first step from a new start, and of environments that failed since.

        failed: those that had before; first_step: environments after one step, and penetration: of it, (batch,), where
        ``core`` is further.
        """
        if done == 0 and start._fresh is not None and not self._alarms.over:
            depth = StepReports.of(core).penetration if penetration is None else penetration
            self._alarms.look(self, start._core.q, start._fresh, depth, first_step or (lambda: core))
        tell_failures(self, failed, core, start.time + done * self.dt)

    def _run(
        self,
        core: _core.Environments,
        first: int,
        n: int,
        inputs: tuple[Array | None, Array | None, Array | None],
        records: _core.StepRecords | None = None,
        keep: _core.KeptSolutions | None = None,
        *,
        read: bool = True,
    ) -> None:
        """Steps ``first`` to ``first + n`` of a rollout. records: of the whole of it; keep: the last step."""
        core.rollout(first, n, *inputs, self._options, self.num_threads, records, keep, read)


@dataclass(frozen=True)
class Overlap(Record):
    """Two shapes that overlap."""

    environment: int
    shape_a: str
    shape_b: str
    depth: float  # [m]
