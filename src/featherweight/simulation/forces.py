"""The forces of a step, by where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..arrays import Array
from ..checks import frozen
from ..records import Record
from ..scene.compiled import CompiledScene
from .contacts import Contacts

if TYPE_CHECKING:
    from .simulator import Simulator


@dataclass(frozen=True, eq=False)
class Closures(Record):
    """The n constraints of a scene: their forces and their remaining errors.

    Forces act on the link of the first frame of each constraint, at the origin of the second: the same place where the
    constraint is met. Those on the second, or on the world, are the opposite. All vectors are in the axes of the first
    frame, and zero where the constraint leaves it free. Rods have one number, the first: along the line from the second
    frame to the first.

    >>> scene = fw.Scene()
    >>> lamp = scene.add(fw.box((0.1, 0.1, 0.1), mass=2.0), name="lamp", pose=(0, 0, 1))
    >>> scene.constrain(fw.FrameConstraint("lamp"))
    >>> sim = fw.Simulator(scene)
    >>> closures = sim.step(sim.state()).closures
    >>> closures.force.round(2) + 0.0
    array([[ 0.  ,  0.  , 19.62]])
    """

    names: tuple[str, ...]  # (n) the frames, "a" or "a - b"
    force: Array  # (..., n, 3) [N] mean over the last step
    moment: Array  # (..., n, 3) [N m]
    apart: Array  # (..., n, 3) [m] from the second frame to the first, at the state
    turned: Array  # (..., n, 3) [rad] rotation vector, likewise

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        lines = [f"<Closures: {len(self)}>"]
        if self.force.ndim == 2:
            for k, name in enumerate(self.names[:10]):
                force, apart = np.linalg.norm(self.force[k]), np.linalg.norm(self.apart[k])
                lines.append(f"  {name}: {force:.3g} N, {np.linalg.norm(self.moment[k]):.3g} N m, {apart:.1e} m apart")
        return "\n".join(lines + (["  ..."] if len(self) > 10 else []))


@dataclass(frozen=True, eq=False)
class Couplings(Record):
    """The n joint couplings of a scene, including mimic joints: their forces and their remaining errors.

    >>> builder = fw.ModelBuilder("gears", gravity=(0.0, 0.0, 0.0))
    >>> for name, at in (("small", 0.0), ("large", 0.3)):
    ...     wheel = builder.link(name, mass=1.0, inertia=0.01 * np.ones(3))
    ...     axle = builder.joint(name, "continuous", "world", name, placement=(at, 0, 0), axis="z")
    >>> model = builder.couple("mesh", "large", "small", [0.0, -0.5]).build()
    >>> sim = fw.Simulator(model)
    >>> state = sim.step(sim.state(), tau=[1.0, 0.0])
    >>> bool(np.isclose(state.v[1], -0.5 * state.v[0]))
    True
    >>> state.couplings.names, state.couplings.force.round(3)
    (('gears/mesh',), array([-0.4]))
    """

    names: tuple[str, ...]  # (n) of couplings; of mimic joints and of the scene's own, the joints
    force: Array  # (..., n) [N or N m] along the first joint, mean over the last step
    apart: Array  # (..., n) [m or rad] by which the first joint is ahead, at the state

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Forces(Record):
    """All forces of the last step, averaged over it. Joint forces are (..., nv) [N] or [N m], positive along v.

    Where rigid bodies leave them open they are the least (docs/simulator.md). H a + h is what ``joints`` do, and
    contacts and closures through their Jacobians, ``f_ext`` and a medium.

    >>> sim = fw.Simulator(fw.models.pendulum())
    >>> sim.step(sim.state(), tau=[0.5]).forces.applied
    array([0.5])
    """

    applied: Array  # (..., nv) tau, actuators, springs and dampers
    limits: Array  # (..., nv) of joint limits: positive at the lower one
    friction: Array  # (..., nv) dry friction
    #: (..., nv) servos of limited effort, where the integrator is "implicit"; of others, which are in ``applied``, what
    #: velocity limits take back
    servos: Array
    contacts: Contacts
    closures: Closures
    couplings: Couplings

    @property
    def joints(self) -> Array:
        """(..., nv) all that acts along joints."""
        return self.applied + self.limits + self.friction + self.servos


@dataclass(frozen=True, eq=False)
class ReadImpulses:
    """The least impulses that do what those of a step did, all environments [N s, N m s]. Arrays are read-only."""

    contacts: Array  # (n, 6)
    limits: Array  # (batch, nv)
    friction: Array  # (batch, nv)
    servos: Array  # (batch, nv)
    closures: Array  # (batch, rows) of closures, then of couplings

    @classmethod
    def of(cls, simulator: Simulator, core: _core.Environments) -> ReadImpulses:
        return cls(*(frozen(values) for values in core.read_impulses(simulator.num_threads)))


def closures_of(scene: CompiledScene, impulses: Array, errors: Array, dt: float) -> Closures:
    """From impulses and errors of all rows, (..., rows) each."""
    n, names, first = len(scene.constraints), [], 0
    wrench, error = np.zeros((*impulses.shape[:-1], n, 6)), np.zeros((*impulses.shape[:-1], n, 6))
    for k, each in enumerate(scene.constraints):
        rows = each.axes
        wrench[..., k, rows] = impulses[..., first : first + len(rows)] / dt
        error[..., k, rows] = errors[..., first : first + len(rows)]
        first += len(rows)
        names.append(each.name)
    parts = (wrench[..., :3], wrench[..., 3:], error[..., :3], error[..., 3:])
    return Closures(tuple(names), *(frozen(np.ascontiguousarray(part)) for part in parts))


def couplings_of(scene: CompiledScene, impulses: Array, errors: Array, dt: float) -> Couplings:
    """From impulses and errors of all rows, (..., rows) each."""
    first = sum(len(each.axes) for each in scene.constraints)
    names = tuple(each.name for each in scene.couplings)
    return Couplings(names, frozen(impulses[..., first:] / dt), frozen(np.array(errors[..., first:])))
