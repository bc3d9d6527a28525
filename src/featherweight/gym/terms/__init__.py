"""Terms from which tasks are assembled. Each takes the arguments shown and returns a :class:`featherweight.gym.Term`.

"part" is the name under which something was added to the scene, such as "robot"; joints and links are names or
patterns, such as "robot/*_foot". n is the number of environments.
"""

from .ends import below, far_from, fell_over, out_of_range, touched
from .observations import (
    action,
    base_height,
    base_spin,
    base_velocity,
    command,
    frame_offset,
    frame_position,
    ground_scan,
    joint_positions,
    joint_velocities,
    phase,
    touching,
    up,
)
from .rewards import (
    action_rate,
    alive,
    closeness,
    drift,
    effort,
    gait,
    power,
    speed,
    tracking,
    uprightness,
)
from .starts import draw, kick, move_base, scatter_joints, uniform

__all__ = [
    "action",
    "action_rate",
    "alive",
    "base_height",
    "base_spin",
    "base_velocity",
    "below",
    "closeness",
    "command",
    "draw",
    "drift",
    "effort",
    "far_from",
    "fell_over",
    "frame_offset",
    "frame_position",
    "gait",
    "ground_scan",
    "joint_positions",
    "joint_velocities",
    "kick",
    "move_base",
    "out_of_range",
    "phase",
    "power",
    "scatter_joints",
    "speed",
    "touched",
    "touching",
    "tracking",
    "uniform",
    "up",
    "uprightness",
]
