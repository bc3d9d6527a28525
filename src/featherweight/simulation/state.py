"""The state of a batch of environments, and the contacts in it."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core, files
from ..arrays import Array
from ..checks import frozen
from ..core_tables import ContactTable, StepFigures, StepReports
from ..records import Packed, Record, packed, same_values, unpacked
from . import saved
from .parameters import Parameters

if TYPE_CHECKING:
    from ..viewer.animation import Animation
    from .simulator import Simulator


@dataclass(frozen=True, eq=False)
class Contacts(Record):
    """The n points of contact of the last step, of all environments together, ordered by environment.

    ``frame`` has rows t1, t2, normal; the normal points from shape b to shape a, and forces act on a.
    Contacts pickle, and compare by value.
    """

    environment: NDArray[np.int64]  # (n,)
    shape_a: NDArray[np.int64]  # (n,) index in the scene's shapes
    shape_b: NDArray[np.int64]  # (n,)
    names: tuple[str, ...]  # of the scene's shapes
    position: Array  # (n, 3) [m], world
    frame: Array  # (n, 3, 3), world axes
    gap: Array  # (n,) [m] at the start of the step, negative where they overlap
    impulse: Array  # (n, 6) along t1, t2, normal and about them [N s, N m s]
    dt: float

    @classmethod
    def of(cls, simulator: Simulator, core: _core.Environments, impulse: Array | None = None) -> Contacts:
        """impulse: as it is read, if that is known already."""
        table = ContactTable.of(core)
        counts = table.counts
        return cls(
            environment=np.repeat(np.arange(len(counts)), counts),
            shape_a=table.integers("shape_a"),
            shape_b=table.integers("shape_b"),
            names=tuple(shape.name for shape in simulator.scene.shapes),
            position=table.numbers("position"),
            frame=table.numbers("frame"),
            gap=table.numbers("gap"),
            impulse=core.read_impulses(simulator.num_threads)[0] if impulse is None else impulse,
            dt=simulator.dt,
        )

    @property
    def normal(self) -> Array:
        """(n, 3), world axes, from b to a."""
        return self.frame[:, 2]

    @property
    def force(self) -> Array:
        """On a, (n, 3) [N], along t1, t2 and the normal: the mean over the step."""
        return self.impulse[:, :3] / self.dt

    @property
    def force_world(self) -> Array:
        """On a, (n, 3) [N], world axes."""
        return np.asarray(np.einsum("nij,ni->nj", self.frame, self.force))

    def __len__(self) -> int:
        return len(self.gap)

    def __repr__(self) -> str:
        lines = [f"<Contacts: {len(self)}>"]
        for k in range(min(len(self), 10)):
            a, b = self.names[self.shape_a[k]], self.names[self.shape_b[k]]
            lines.append(f"  [{self.environment[k]}] {a} - {b}: gap {self.gap[k]:.2e} m, {self.force[k, 2]:.3g} N")
        return "\n".join(lines + (["  ..."] if len(self) > 10 else []))


class State:
    """Coordinates, velocities and contacts of a batch of environments, or of a single one.

    Made by ``sim.state()``, ``sim.step()`` and ``sim.rollout()``; arrays are read-only, ``replace`` makes another.
    Arrays are contiguous float64, which other libraries can read without a copy; use ``state.q.copy()`` to write.

    States pickle together with their simulator, and continue bit for bit. Two are equal if their simulators are equal
    and all of their numbers are the same, bit for bit.
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
    ) -> None:
        self.simulator = simulator
        self.time = time
        self.single = single
        self.parameters = Parameters() if parameters is None else parameters  #: what ``randomised`` set
        self._core = core
        self._reports = StepReports.of(core) if reports is None else reports

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
        """What touched in the last step, and with what force."""
        return Contacts.of(self.simulator, self._core, self._read[0])

    @property
    def residual(self) -> Any:
        """How exactly the last step was solved: natural residual relative to its velocities, () or (batch,)."""
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
        """Deepest overlap at the start of the last step [m]."""
        return self._figure(self._last.penetration)

    @property
    def iterations(self) -> dict[str, Any]:
        """Iterations of "gauss_seidel", "newton" (factorisations) and "admm" in the last step."""
        last = self._last
        counts = {"gauss_seidel": last.gauss_seidel, "newton": last.newton, "admm": last.admm}
        return {name: self._figure(values) for name, values in counts.items()}

    @property
    def converged(self) -> Any:
        """Whether the last step met the tolerance, () or (batch,) booleans."""
        return self._figure(self._last.unconverged) == 0.0

    @property
    def failed(self) -> Any:
        """Environments that stopped because their numbers were no longer finite; ``reset`` starts them again."""
        return self._figure(self._reports.failed)

    def animation(self) -> Animation:
        """What the state looks like, contacts and their forces included, for :func:`featherweight.view`."""
        from ..viewer.animation import Animation, ContactArrows
        from ..viewer.world import World

        contacts = self.contacts
        arrows = ContactArrows(contacts.environment, contacts.position, contacts.force_world)
        q = np.array(self.q).reshape(self.batch_size, 1, -1)
        world = World.of(self.simulator.scene)
        return Animation(world, self.simulator.model.name, np.array([self.time]), q, [arrows])

    def replace(self, *, q: ArrayLike | None = None, v: ArrayLike | None = None) -> State:
        """The state with other coordinates or velocities, (n,) or (batch, n)."""
        core = self._core.copy()
        rests = (core.q_start == core.q).all(axis=1) & (core.v_start == core.v).all(axis=1)
        for name, value, target in (("q", q, core.q), ("v", v, core.v)):
            if value is not None:
                target[...] = self._checked(name, value, target.shape[1])
        # what is known about the last step stays; before the first there is none
        core.q_start[rests], core.v_start[rests] = core.q[rests], core.v[rests]
        return self._with(core)

    def randomised(
        self,
        *,
        friction: ArrayLike | None = None,
        gains: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        masses: ArrayLike | None = None,
        heights: Mapping[str, ArrayLike] | None = None,
    ) -> State:
        """The state with parameters of its own for each environment; they stay with it, in ``state.parameters``.

        friction: (batch,) factors on all coefficients of friction; gains: (batch,) or (batch, nu) factors on the forces
        of actuators, their limits aside; gravity: (batch, 3) [m/s^2]; masses: (batch, n_links) positive factors on mass
        and inertia of each link, whose centre of mass stays; heights: of height fields, by the name of the shape,
        (batch, nx, ny) [m], as :class:`HeightField` takes them. Rotors of joints stay as they are.
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
        return self._with(core, parameters=self.parameters.changed_by(given))

    def reset(self, mask: ArrayLike | None = None, *, q: ArrayLike | None = None, v: ArrayLike | None = None) -> State:
        """The state with some environments started again: where the scene put them, or at q and v, without contacts.

        mask: (batch,) booleans, all by default; q and v: (n,) or (batch, n), used where the mask is set.
        """
        chosen = np.ones(self.batch_size, dtype=bool) if mask is None else np.atleast_1d(np.asarray(mask))
        if chosen.dtype != np.bool_ or chosen.shape != (self.batch_size,):
            raise ValueError(f"mask: expected ({self.batch_size},) booleans, got {chosen.dtype} {chosen.shape}")
        core = self._core.copy()
        q = self.simulator.scene.q0 if q is None else q
        v = np.zeros(core.v.shape[1]) if v is None else v
        for name, value, target in (("q", q, core.q), ("v", v, core.v)):
            target[chosen] = np.broadcast_to(self._checked(name, value, target.shape[1]), target.shape)[chosen]
        core.q_start[chosen], core.v_start[chosen] = core.q[chosen], core.v[chosen]
        for never in (core.impulses, core.acceleration, core.applied):
            never[chosen] = 0.0
        for environment in np.flatnonzero(chosen).tolist():
            core.forgive(environment)
        return self._with(core, reports=self._reports.without(chosen))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Everything, bit for bit, as an .npz file that :meth:`load` reads."""
        files.write_arrays(path, {"format": saved.FORMAT, **self._arrays()})

    @classmethod
    def load(cls, simulator: Simulator, path: str | os.PathLike[str]) -> State:
        """The state that was saved, for a simulator of the same scene."""
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
        for name in saved.ROWS:
            getattr(core, name)[...] = good[name]
        ContactTable.from_arrays({name: good[f"contacts/{name}"] for name in ContactTable.names()}).hand_to(core)
        reports = StepReports.from_arrays({name: good[f"report/{name}"] for name in StepReports.names()})
        reports.hand_to(core)
        parameters = Parameters.from_arrays(simulator, core.batch, good)
        parameters.hand_to(core, simulator)
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
    ) -> State:
        """Of the same simulator, with the same parameters and reports unless others are given."""
        return State(
            self.simulator,
            core,
            time=self.time if time is None else time,
            single=self.single,
            parameters=self.parameters if parameters is None else parameters,
            reports=self._reports if reports is None else reports,
        )

    def _view(self, values: Array) -> Array:
        view = values[0] if self.single else values[...]
        view.setflags(write=False)
        return view

    @cached_property
    def _read(self) -> tuple[Array, Array]:
        """Impulses of contacts (n, 6), and of joint rows and rows of constraints (batch, rows)."""
        contacts, rows = self._core.read_impulses(self.simulator.num_threads)
        return frozen(contacts), frozen(rows)

    @cached_property
    def _last(self) -> StepFigures:
        return self._reports.last

    def _figure(self, values: NDArray[Any]) -> Any:
        return values[0] if self.single else values

    def _checked(self, name: str, value: ArrayLike, n: int) -> Array:
        try:
            array = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name}: expected an array of numbers, got {type(value).__name__}") from None
        if array.shape not in ((n,), (self.batch_size, n)):
            raise ValueError(f"{name}: expected shape ({n},) or ({self.batch_size}, {n}), got {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name}: contains numbers that are not finite")
        if name == "q":
            _normalise_quaternions(self.simulator, array)
        return array

    def __repr__(self) -> str:
        what = "single environment" if self.single else f"{self.batch_size} environments"
        return f"<State: {what} at t={self.time:g} s, {len(self.contacts)} contacts>"


def _normalise_quaternions(simulator: Simulator, q: Array) -> None:
    for joint in simulator.model.joints:
        if joint.type in ("free", "spherical"):
            lengths = np.linalg.norm(q[..., joint.q_slice.stop - 4 : joint.q_slice.stop], axis=-1)
            if (np.abs(lengths - 1.0) > 1e-6).any():  # as everywhere: rounding is corrected, nothing else
                wrong = float(np.atleast_1d(lengths)[np.argmax(np.abs(np.atleast_1d(lengths) - 1.0))])
                raise ValueError(f"q: the quaternion of joint {joint.name!r} has length {wrong:g}, expected 1")
            q[..., joint.q_slice.stop - 4 : joint.q_slice.stop] /= lengths[..., None]
