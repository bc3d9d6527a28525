"""The state of a batch of environments, and the contacts in it."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core, files
from ..arrays import Array, real_numbers
from ..checks import counted, frozen
from ..core_tables import ContactTable, StepFigures, StepReports
from ..records import Packed, packed, same_values, unpacked
from . import saved, selection
from .actuation import tendon_violation
from .alarms import limit_violations
from .contacts import Contacts
from .forces import Closures, Couplings, Forces, ReadImpulses, closures_of, couplings_of
from .parameters import Parameters
from .struts import strut_violation
from .switches import checked_flags, turn

if TYPE_CHECKING:
    from ..viewer.animation import Animation
    from .simulator import Simulator


#: Constraints are met if they are off by no more [m, rad]: far above what steps leave, far below what is seen.
_MET = 1e-6


class State:
    """Coordinates, velocities and contacts of a batch of environments, or of a single one.

    Created by ``sim.state()``, ``sim.step()`` and ``sim.rollout()``; ``replace`` returns a modified copy. Arrays are
    read-only, contiguous float64, which other libraries can read without a copy; use ``state.q.copy()`` to write.

    States are pickled together with their simulators, and continue bit for bit. Two states are equal if their
    simulators are, and all of their numbers, bit for bit.

    >>> sim = fw.Simulator(fw.models.pendulum())
    >>> state = sim.step(sim.state(batch=3))
    >>> state.q.shape, state.time
    ((3, 1), 0.001)
    """

    def __init__(
        self,
        simulator: Simulator,
        core: _core.Environments,
        *,
        time: float,
        single: bool,
        parameters: Parameters | None = None,
        reports: StepReports | None = None,
        fresh: NDArray[np.bool_] | None = None,
    ) -> None:
        self.simulator = simulator
        self.time = time
        self.single = single
        self.parameters = Parameters() if parameters is None else parameters  #: what ``randomised`` set
        self._core = core
        self._reports = StepReports.of(core) if reports is None else reports
        self._fresh = fresh  # environments whose coordinates were given, and not stepped since; None: none

    @property
    def batch_size(self) -> int:
        """Number of environments, 1 for a single one."""
        return int(self._core.batch)

    @property
    def q(self) -> Array:
        """Coordinates, (nq,) or (batch, nq)."""
        return self._view(self._core.q)

    @property
    def v(self) -> Array:
        """Velocities, (nv,) or (batch, nv)."""
        return self._view(self._core.v)

    @property
    def q_start(self) -> Array:
        """Coordinates at the start of the last step, (nq,) or (batch, nq); those of the state before the first."""
        return self._view(self._core.q_start)

    @property
    def activation(self) -> Array:
        """Activations of the actuators that have one, (na,) or (batch, na), in the order of the actuators."""
        return self._view(self._core.activation)

    @property
    def switches(self) -> NDArray[np.bool_]:
        """Which of ``simulator.switches`` are on, (n,) or (batch, n)."""
        on = np.asarray(self._core.switches > 0.0)
        on.setflags(write=False)
        return on[0] if self.single else on

    @property
    def v_start(self) -> Array:
        """Velocities at the start of the last step, (nv,) or (batch, nv)."""
        return self._view(self._core.v_start)

    @property
    def acceleration(self) -> Array:
        """Mean acceleration over the last step, (nv,) or (batch, nv), the a of H a + h at its start."""
        return self._view(self._core.acceleration)

    @property
    def joint_forces(self) -> Array:
        """Joint forces of the last step without dry friction and limits, (nv,) or (batch, nv) [N, N m]."""
        return self._view(self._core.applied)

    @property
    def contacts(self) -> Contacts:
        """The contacts of the last step and their forces."""
        return Contacts.of(self.simulator, self._core, self._read.contacts)

    @property
    def closures(self) -> Closures:
        """The constraints of the scene: their forces in the last step, and their current errors."""
        return closures_of(self.simulator.scene, *self._held(), self.simulator.dt)

    @property
    def couplings(self) -> Couplings:
        """The joint couplings, including mimic joints: their forces in the last step, and their current errors."""
        return couplings_of(self.simulator.scene, *self._held(), self.simulator.dt)

    def _held(self) -> tuple[Array, Array]:
        """Impulses and errors of closures and couplings, ([batch,] rows)."""
        impulses, errors = self._read.closures, self._core.closure_errors()
        return (impulses[0], errors[0]) if self.single else (impulses, errors)

    @property
    def forces(self) -> Forces:
        """All forces of the last step: along joints, of contacts and of constraints.

        >>> scene = fw.Scene()
        >>> arm = scene.add(fw.models.pendulum(), name="arm")
        >>> scene.constrain(fw.PointConstraint("arm/tip", rows="z"))
        >>> sim = fw.Simulator(scene)
        >>> sim.step(sim.state()).forces.closures.force.shape
        (1, 3)
        """
        read, dt = self._read, self.simulator.dt
        along = (read.limits / dt, read.friction / dt, read.servos / dt)
        limits, friction, servos = (frozen(x[0] if self.single else x) for x in along)
        return Forces(self.joint_forces, limits, friction, servos, self.contacts, self.closures, self.couplings)

    @property
    def residual(self) -> Any:
        """Accuracy of the last step: its natural residual, relative to its velocities, () or (batch,)."""
        return self._figure(self._last.residual)

    @property
    def primal(self) -> Any:
        """Largest distance of an impulse from its cone [N s]."""
        return self._figure(self._last.primal)

    @property
    def dual(self) -> Any:
        """Largest distance of a velocity from those its law admits [m/s]."""
        return self._figure(self._last.dual)

    @property
    def complementarity(self) -> Any:
        """Largest product of an impulse and the velocity it should be orthogonal to [J]."""
        return self._figure(self._last.complementarity)

    @property
    def penetration(self) -> Any:
        """Deepest overlap of two shapes at the start of the last step [m]."""
        return self._figure(self._last.penetration)

    @property
    def closure_error(self) -> Any:
        """By how much the worst row of a constraint is missed [m] or [rad], () or (batch,); 0 without constraints.

        Rows that are guided, not held, do not count.
        """
        errors = self._core.closure_errors()[:, self.simulator.scene.held_rows]
        return self._figure(np.abs(errors).max(axis=1, initial=0.0))

    @property
    def limit_violation(self) -> Any:
        """By how much the worst joint, tendon or strut is beyond its limits [rad] or [m], () or (batch,), or 0."""
        beyond = limit_violations(self.simulator.scene.limits, self._core.q).max(axis=1, initial=0.0)
        along = tendon_violation(self.simulator.model, self._core.q)
        return self._figure(np.max([beyond, along, strut_violation(self.simulator, self._core.q)], axis=0))

    @property
    def iterations(self) -> dict[str, Any]:
        """Iterations of "gauss_seidel", "newton" (factorisations) and "admm" in the last step."""
        last = self._last
        counts = {"gauss_seidel": last.gauss_seidel, "newton": last.newton, "admm": last.admm}
        return {name: self._figure(values) for name, values in counts.items()}

    @property
    def converged(self) -> Any:
        """Whether the last step met the tolerance, () or (batch,) booleans.

        False where the environment failed, and where a constraint of the scene cannot be met: ``closure_error`` above
        a micrometre or a microradian.
        """
        met = (self._last.unconverged == 0.0) & ~self._reports.failed
        return (
            self._figure(met) & (self.closure_error <= _MET)
            if self.simulator.scene.constraints or self.simulator.scene.couplings
            else self._figure(met)
        )

    @property
    def failed(self) -> Any:
        """Environments that stopped since velocities exceeded 1e9 m/s or rad/s, or were no numbers any more.

        They stay where they were; ``reset`` starts them again.
        """
        return self._figure(self._reports.failed)

    def animation(self) -> Animation:
        """The state with its contacts and forces, for :func:`featherweight.view`."""
        from ..viewer.animation import Animation, ContactArrows
        from ..viewer.world import World, title_of

        contacts = self.contacts
        arrows = ContactArrows(contacts.environment, contacts.position, contacts.force_world)
        q = np.array(self.q).reshape(self.batch_size, 1, -1)
        world = World.of(self.simulator.scene)
        return Animation(world, title_of(self.simulator.scene), np.array([self.time]), q, [arrows])

    def replace(
        self, *, q: ArrayLike | None = None, v: ArrayLike | None = None, activation: ArrayLike | None = None
    ) -> State:
        """The state with other coordinates, velocities or activations, (n,) or (batch, n).

        >>> sim = fw.Simulator(fw.models.pendulum())
        >>> sim.state().replace(q=[0.3]).q
        array([0.3])
        """
        core = self._core.copy()
        rests = (core.q_start == core.q).all(axis=1) & (core.v_start == core.v).all(axis=1)
        for name, value, target in (("q", q, core.q), ("v", v, core.v), ("activation", activation, core.activation)):
            if value is not None:
                target[...] = self._checked(name, value, target.shape[1])
        # what is known about the last step stays; before the first there is none
        core.q_start[rests], core.v_start[rests] = core.q[rests], core.v[rests]
        return self._with(core, fresh=self._fresh if q is None else np.ones(self.batch_size, dtype=bool))

    def switched(self, switches: Mapping[str, ArrayLike] | None = None, /, **more: ArrayLike) -> State:
        """The state with constraints switched on or off, by the names of their switches (:meth:`Scene.constrain`).

        switches, more: True or False, or (batch,) booleans. What is switched on holds its frames as they are now, so
        that nothing jumps; what is on already holds on. Velocities stay: an impulse of the next step makes them fit.

        >>> scene = fw.Scene(gravity=(0, 0, 0))
        >>> for name, x in (("hand", 0.0), ("cup", 0.3)):
        ...     _ = scene.add(fw.sphere(0.1, mass=1.0), name=name, pose=(x, 0, 0))
        >>> scene.constrain(fw.FrameConstraint("hand", to="cup"), switch="grasp")
        >>> sim = fw.Simulator(scene)
        >>> pulled = sim.state(v=[1.0, *[0.0] * 11])
        >>> sim.step(pulled).v[6], sim.step(pulled.switched(grasp=True)).v[6].round(6)
        (np.float64(0.0), np.float64(0.5))
        """
        wanted = {**({} if switches is None else switches), **more}
        core = self._core.copy()
        turn(core, self.simulator, checked_flags(self.simulator, self.batch_size, wanted))
        return self._with(core, fresh=self._fresh)

    def randomised(
        self,
        *,
        friction: ArrayLike | None = None,
        gains: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        masses: ArrayLike | None = None,
        heights: Mapping[str, ArrayLike] | None = None,
    ) -> State:
        """The state with its own parameters for each environment, which it keeps in ``state.parameters``.

        friction: (batch,) factors on all coefficients of friction; gains: (batch,) or (batch, nu) factors on the forces
        of actuators, but not on their limits; gravity: (batch, 3) [m/s^2]; masses: (batch, n_links) positive factors on
        mass and inertia of each link, whose centre of mass is kept; heights: of height fields, by the name of the
        shape, (batch, nx, ny) [m], as for :class:`HeightField`. Rotors of joints are not changed.

        >>> sim = fw.Simulator(fw.models.pendulum(), dt=1e-2)
        >>> various = sim.state(batch=2).replace(q=[1.0]).randomised(gravity=[(0.0, 0.0, -9.81), (0.0, 0.0, -1.62)])
        >>> sim.rollout(various, n_steps=10).final.v[:, 0].round(2)  # on the Earth and on the Moon
        array([-0.82, -0.14])
        """
        given = Parameters.checked(
            self.simulator,
            self.batch_size,
            friction=friction,
            gains=gains,
            gravity=gravity,
            masses=masses,
            heights=heights,
        )
        core = self._core.copy()
        given.hand_to(core, self.simulator)
        return self._with(core, parameters=self.parameters.changed_by(given), fresh=self._fresh)

    def reset(
        self,
        mask: ArrayLike | None = None,
        *,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        activation: ArrayLike | None = None,
    ) -> State:
        """The state with some environments restarted: at their initial places, or at q and v, without contacts.

        mask: (batch,) booleans, all by default; q, v and activation: (n,) or (batch, n), used where the mask is set.

        >>> sim = fw.Simulator(fw.models.pendulum(), dt=1e-2)
        >>> state = sim.rollout(sim.state(batch=3, q=[1.0]), n_steps=10).final
        >>> state.reset([True, False, True], q=[0.5]).q[:, 0].round(2)
        array([0.5 , 0.95, 0.5 ])
        """
        chosen = np.ones(self.batch_size, dtype=bool) if mask is None else np.atleast_1d(np.asarray(mask))
        if chosen.dtype != np.bool_ or chosen.shape != (self.batch_size,):
            raise ValueError(f"mask: expected ({self.batch_size},) booleans, got {chosen.dtype} {chosen.shape}")
        core = self._core.copy()
        q = self.simulator.scene.q0 if q is None else q
        v = np.zeros(core.v.shape[1]) if v is None else v
        activation = np.zeros(core.activation.shape[1]) if activation is None else activation
        for name, value, target in (("q", q, core.q), ("v", v, core.v), ("activation", activation, core.activation)):
            target[chosen] = np.broadcast_to(self._checked(name, value, target.shape[1]), target.shape)[chosen]
        core.q_start[chosen], core.v_start[chosen] = core.q[chosen], core.v[chosen]
        for never in (core.impulses, core.acceleration, core.applied):
            never[chosen] = 0.0
        turn(core, self.simulator, {k: core.switches[:, k] * ~chosen > 0.0 for k in range(core.switches.shape[1])})
        for environment in np.flatnonzero(chosen).tolist():
            core.forgive(environment)
        fresh = chosen if self._fresh is None else chosen | self._fresh
        return self._with(core, reports=self._reports.without(chosen), fresh=fresh)

    def __getitem__(self, index: Any) -> State:
        """Some of the environments, by an integer, a slice, or (n,) integers or booleans; an integer selects one alone.

        They continue bit for bit as they would have in the batch.

        >>> sim = fw.Simulator(fw.models.pendulum())
        >>> state = sim.state(batch=4)
        >>> state[1].q.shape, state[1:].q.shape, state[[0, 2]].q.shape
        ((1,), (3, 1), (2, 1))
        """
        rows, single = selection.rows_of(self.batch_size, index)
        if not len(rows):
            raise IndexError("a state has at least one environment")
        return self._from_arrays(self.simulator, selection.selected(self._arrays(), rows, single))

    @classmethod
    def join(cls, states: Sequence[State]) -> State:
        """The environments of several states of one simulator, at the same time, as one batch.

        >>> sim = fw.Simulator(fw.models.pendulum())
        >>> fw.State.join([sim.state(q=[0.1]), sim.state(batch=2)]).q.shape
        (3, 1)
        """
        if not states:
            raise ValueError("join: no states")
        simulator = states[0].simulator
        if any(state.simulator != simulator for state in states):
            raise ValueError("join: states of different simulators")
        if any(state.time != states[0].time for state in states):
            raise ValueError(f"join: states at different times, {', '.join(f'{state.time:g}' for state in states)} s")
        return cls._from_arrays(simulator, selection.joined(states))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save everything, bit for bit, as an .npz file that :meth:`load` reads.

        >>> import tempfile
        >>> sim = fw.Simulator(fw.models.pendulum())
        >>> state = sim.step(sim.state(q=[0.3]))
        >>> file = tempfile.mkdtemp() + "/state.npz"
        >>> state.save(file)
        >>> fw.State.load(sim, file) == state
        True
        """
        files.write_arrays(path, {"format": saved.FORMAT, **self._arrays()})

    @classmethod
    def load(cls, simulator: Simulator, path: str | os.PathLike[str]) -> State:
        """Load a saved state, for a simulator of the same scene."""
        arrays = files.read_arrays(path)
        try:
            saved.check_format(arrays)
            return cls._from_arrays(simulator, arrays)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    # -- all that a state is -----------------------------------------------------------------------------------------

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Everything but the simulator, by name: what files, pickles, copies and comparisons use."""
        arrays: dict[str, NDArray[Any]] = {"time": np.array(self.time), "single": np.array(self.single)}
        arrays |= {name: getattr(self._core, name) for name in saved.ROWS}
        arrays |= {f"contacts/{name}": values for name, values in ContactTable.of(self._core).arrays().items()}
        arrays |= {f"report/{name}": values for name, values in self._reports.arrays().items()}
        return arrays | self.parameters.arrays()

    @classmethod
    def _from_arrays(cls, simulator: Simulator, arrays: Mapping[str, NDArray[Any]]) -> State:
        """The state of which :meth:`_arrays` returned ``arrays``; errors name what does not fit the scene."""
        good = saved.checked(simulator, arrays)
        core = simulator._environments(len(good["q"]))
        parameters, reports = put_into(core, simulator, good)
        time, single = float(good["time"]), bool(good["single"])
        return cls(simulator, core, time=time, single=single, parameters=parameters, reports=reports)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        if self is other:
            return True
        return self.simulator == other.simulator and same_values(self._arrays(), other._arrays())

    def __hash__(self) -> int:
        return hash((self.simulator, self.batch_size, self.single, self.time))

    def __getstate__(self) -> Packed:
        return packed({"simulator": self.simulator, "arrays": self._arrays()})

    def __setstate__(self, state: object) -> None:
        values = unpacked(type(self), state, ("simulator", "arrays"))
        try:
            self.__dict__.update(vars(self._from_arrays(values["simulator"], values["arrays"])))
        except ValueError as error:
            raise pickle.UnpicklingError(f"pickle of {type(self).__name__}: {error}") from None

    def __copy__(self) -> State:
        return self._from_arrays(self.simulator, self._arrays())

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self.__copy__()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _with(
        self,
        core: _core.Environments,
        *,
        time: float | None = None,
        parameters: Parameters | None = None,
        reports: StepReports | None = None,
        fresh: NDArray[np.bool_] | None = None,
    ) -> State:
        """Of the same simulator, with the same parameters and reports unless others are given."""
        return State(
            self.simulator,
            core,
            time=self.time if time is None else time,
            single=self.single,
            parameters=self.parameters if parameters is None else parameters,
            reports=self._reports if reports is None else reports,
            fresh=fresh,
        )

    def _view(self, values: Array) -> Array:
        view = values[0] if self.single else values[...]
        view.setflags(write=False)
        return view

    @cached_property
    def _read(self) -> ReadImpulses:
        return ReadImpulses.of(self.simulator, self._core)

    @cached_property
    def _last(self) -> StepFigures:
        return self._reports.last

    @property
    def _n_contacts(self) -> int:
        return int(ContactTable.of(self._core).counts.sum())

    def _figure(self, values: NDArray[Any]) -> Any:
        return values[0] if self.single else values

    def _checked(self, name: str, value: ArrayLike, n: int) -> Array:
        array = np.array(real_numbers(name, value))
        if array.shape not in ((n,), (self.batch_size, n)):
            raise ValueError(f"{name}: expected shape ({n},) or ({self.batch_size}, {n}), got {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name}: contains numbers that are not finite")
        if name == "q":
            normalise_quaternions(self.simulator, array)
        return array

    def __repr__(self) -> str:
        what = "single environment" if self.single else counted(self.batch_size, "environment")
        return f"<State: {what} at t={self.time:g} s, {counted(self._n_contacts, 'contact')}{failures(self.failed)}>"


def put_into(
    core: _core.Environments, simulator: Simulator, good: Mapping[str, Array]
) -> tuple[Parameters, StepReports]:
    """Makes environments what the arrays of a state say, which were checked."""
    for name in saved.ROWS:
        getattr(core, name)[...] = good[name]
    ContactTable.from_arrays({name: good[f"contacts/{name}"] for name in ContactTable.names()}).hand_to(core)
    reports = StepReports.from_arrays({name: good[f"report/{name}"] for name in StepReports.names()})
    reports.hand_to(core)
    parameters = Parameters.from_arrays(simulator, core.batch, good)
    parameters.hand_to(core, simulator)
    return parameters, reports


def normalise_quaternions(simulator: Simulator, q: Array) -> None:
    """In place, where rounding made lengths differ from one; a ValueError where something else did."""
    for joint in simulator.model.joints:
        if joint.type in ("free", "spherical"):
            lengths = np.linalg.norm(q[..., joint.q_slice.stop - 4 : joint.q_slice.stop], axis=-1)
            if (np.abs(lengths - 1.0) > 1e-6).any():  # as everywhere: rounding is corrected, nothing else
                wrong = float(np.atleast_1d(lengths)[np.argmax(np.abs(np.atleast_1d(lengths) - 1.0))])
                raise ValueError(f"q: the quaternion of joint {joint.name!r} has length {wrong:g}, expected 1")
            q[..., joint.q_slice.stop - 4 : joint.q_slice.stop] /= lengths[..., None]


def failures(failed: Any) -> str:
    """What representations say of environments that failed: nothing if none did."""
    n = int(np.count_nonzero(failed))
    return "" if n == 0 else ", FAILED" if np.ndim(failed) == 0 else f", {n} FAILED"
