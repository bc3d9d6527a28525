"""Terms for observations."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..columns import Columns
from ..term import term
from ..world import World
from .ground import ground_height


@term
def joint_positions(world: World, joints: str = "*") -> Columns:
    """Positions of joints with one degree of freedom, relative to their initial ones, (n, joints) [rad, m].

    >>> fw.gym.terms.joint_positions("robot/*_knee").noisy(0.01)
    joint_positions('robot/*_knee').noisy(0.01)
    """
    columns = world.names.coordinates(joints)
    return Columns("q", columns, world.simulator.scene.q0[columns])


@term
def joint_velocities(world: World, joints: str = "*") -> Columns:
    """Velocities of joints with one degree of freedom, (n, joints) [rad/s, m/s].

    >>> 0.1 * fw.gym.terms.joint_velocities("robot")
    0.1 * joint_velocities('robot')
    """
    return Columns("v", world.names.dofs(joints))


@term
def base_velocity(world: World, part: str) -> Columns:
    """Linear velocity of a free base in its own axes, (n, 3) [m/s].

    >>> fw.gym.terms.base_velocity("robot")
    base_velocity('robot')
    """
    start = world.names.base(part).v_slice.start
    return Columns("v", np.arange(start, start + 3))


@term
def base_spin(world: World, part: str) -> Columns:
    """Angular velocity of a free base in its own axes, (n, 3) [rad/s]: what a gyroscope measures.

    >>> 0.25 * fw.gym.terms.base_spin("robot").noisy(0.1)
    0.25 * base_spin('robot').noisy(0.1)
    """
    start = world.names.base(part).v_slice.start
    return Columns("v", np.arange(start + 3, start + 6))


@term
def up(world: World, part: str) -> Array:
    """The z axis of the world in the axes of a free base, (n, 3): the tilt, as an accelerometer at rest measures it.

    >>> fw.gym.terms.up("robot")
    up('robot')
    """
    return up_of(world, part)


def up_of(world: World, part: str) -> Array:
    """(n, 3), the last row of the rotation matrix."""
    start = world.names.base(part).q_slice.start + 3
    x, y, z, w = world.q[:, start : start + 4].T
    return np.stack([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)], axis=1)


@term
def base_height(world: World, part: str) -> Array:
    """Height of a free base above the ground, (n,) [m].

    >>> fw.gym.terms.base_height("robot")
    base_height('robot')
    """
    return height_of(world, part)


def height_of(world: World, part: str) -> Array:
    """(n,)."""
    start = world.names.base(part).q_slice.start
    x, y, z = world.q[:, start : start + 3].T
    return np.asarray(z - ground_height(world, x, y))


@term
def ground_scan(world: World, part: str, xs: tuple[float, ...], ys: tuple[float, ...]) -> Array:
    """Height of a free base above the ground around it, (n, len(xs) len(ys)) [m].

    xs and ys: distances forward and to the left of the base [m], turning with its heading.

    >>> fw.gym.terms.ground_scan("robot", xs=(-0.2, 0.0, 0.2), ys=(0.0,))
    ground_scan('robot', xs=(-0.2, 0.0, 0.2), ys=(0.0,))
    """
    start = world.names.base(part).q_slice.start
    x, y, z = world.q[:, start : start + 3].T
    c, s = heading_of(world, part)
    ahead, aside = (grid.ravel() for grid in np.meshgrid(xs, ys, indexing="ij"))
    at_x = x[:, None] + c[:, None] * ahead - s[:, None] * aside
    at_y = y[:, None] + s[:, None] * ahead + c[:, None] * aside
    return np.asarray(z[:, None] - ground_height(world, at_x, at_y))


def heading_of(world: World, part: str) -> tuple[Array, Array]:
    """Cosine and sine (n,) of the heading of a free base."""
    start = world.names.base(part).q_slice.start + 3
    x, y, z, w = world.q[:, start : start + 4].T
    c, s = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)
    length = np.maximum(np.hypot(c, s), 1e-12)
    return c / length, s / length


@term
def frame_position(world: World, frame: str) -> Array:
    """Position of a frame in the world, (n, 3) [m].

    >>> fw.gym.terms.frame_position("robot/hand")
    frame_position('robot/hand')
    """
    return np.asarray(world.placement(frame)[:, :3, 3])


@term
def frame_offset(world: World, frame: str, to: str) -> Array:
    """Vector from a frame to another one, or to the command of that name, (n, 3) [m], world axes.

    >>> fw.gym.terms.frame_offset("robot/hand", to="goal")
    frame_offset('robot/hand', to='goal')
    """
    return offset(world, frame, to)


def offset(world: World, frame: str, to: str) -> Array:
    """(n, 3)."""
    is_frame = to in world.model.frame_names
    goal = world.placement(to)[:, :3, 3] if is_frame else world.command(to)
    return np.asarray(goal - world.placement(frame)[:, :3, 3])


@term
def touching(world: World, links: str) -> Array:
    """1 for each link that a contact pushed in the last simulation step, else 0, (n, links).

    >>> fw.gym.terms.touching("robot/*_foot")
    touching('robot/*_foot')
    """
    return world.pushed(world.names.links(links)).astype(np.float64)


@term
def action(world: World) -> Columns:
    """The last action, (n, actions).

    >>> fw.gym.terms.action()
    action()
    """
    return Columns("action")


@term
def command(world: World, name: str) -> Columns:
    """The current command of that name, (n, k).

    >>> fw.gym.terms.command("velocity")
    command('velocity')
    """
    world.command(name)  # or it says that there is none
    return Columns(f"command {name}")


@term
def phase(world: World, period: float) -> Array:
    """Sine and cosine of a clock that starts with the episode, (n, 2). period: [s].

    >>> fw.gym.terms.phase(period=0.5)
    phase(period=0.5)
    """
    angle = 2.0 * np.pi * world.time / period
    return np.stack([np.sin(angle), np.cos(angle)], axis=1)
