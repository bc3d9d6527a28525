"""A quadruped that tracks a commanded velocity."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ... import gym
from ...model import models
from ...scene.scene import Scene
from ...scene.shapes import HeightField, Plane
from ...simulation.posture import start_posture
from ...simulation.simulator import Simulator
from .. import terms
from ..term import term
from ..world import World

#: Height of the trunk when it stands [m]; bumps of the rough ground [m], over an edge of cells [m] and its extent.
_HEIGHT, _BUMPS, _CELL, _EXTENT = 0.33, 0.05, 0.25, 40.0
_TROT = (0.0, 0.5, 0.5, 0.0)  # of the feet: diagonal ones together


@term
def planar_velocity(world: World, part: str) -> gym.Array:
    """Velocity of a free base forward and to the left [m/s], and about its z axis [rad/s], (n, 3)."""
    start = world.names.base(part).v_slice.start
    return world.v[:, [start, start + 1, start + 5]]


def quadruped(ground: Literal["flat", "rough"] = "flat", *, trot: float = 0.5) -> gym.Task:
    """Track a commanded velocity, forward, sideways and turning, at a trot.

    ground: "flat", or "rough": bumps of up to 5 cm. trot: period of the trot [s].
    Observed: velocities and tilt of the trunk, joints, the last action, the command and a clock; on rough ground also
    the height of the trunk above the ground around it. Actions are targets of the servos. An episode ends when the
    robot falls.

    >>> fw.gym.VectorEnv(fw.gym.tasks.quadruped("rough"), num_envs=2).observation_space.shape
    (2, 68)
    """
    if ground not in ("flat", "rough"):
        raise ValueError(f'quadruped: ground must be "flat" or "rough", got {ground!r}')
    rough = ground == "rough"
    robot = models.quadruped()
    scene = Scene(ground=_bumps() if rough else Plane(friction=0.8))
    handle = scene.add(robot, name="robot", pose=(0.0, 0.0, _HEIGHT + _BUMPS * rough), q=start_posture(robot),
                       self_collision=False)  # fmt: skip
    scene.servo(handle, kp=40.0, kd=1.0)
    scan = {"ground": 2.0 * terms.ground_scan("robot", (-0.4, -0.2, 0.0, 0.2, 0.4, 0.6), (-0.25, 0.0, 0.25))}
    far = 0.25 * _EXTENT if rough else 0.0
    return gym.Task(
        Simulator(scene, dt=5e-3, integrator="implicit"),
        decimation=4,
        episode_length=20.0,
        actions={"legs": gym.Targets("robot", scale=(0.2, 0.4, 0.4) * 4)},
        observations={
            "velocity": terms.base_velocity("robot").noisy(0.05),
            "spin": 0.25 * terms.base_spin("robot").noisy(0.1),
            "up": terms.up("robot").noisy(0.02),
            "command": terms.command("velocity"),
            "positions": terms.joint_positions("robot").noisy(0.01),
            "velocities": 0.05 * terms.joint_velocities("robot").noisy(0.5),
            "action": terms.action(),
            "clock": terms.phase(trot),
        }
        | (scan if rough else {}),
        rewards={
            "velocity": 2.0 * terms.tracking(planar_velocity("robot"), "velocity", 0.5),
            "trot": 0.5 * terms.gait("robot/*_foot", trot, _TROT),
            "bounce": -0.5 * terms.drift(_vertical_velocity("robot")),
            "wobble": -0.05 * terms.drift(_rocking("robot")),
            "tilt": -1.0 * terms.drift(_level("robot")),
            "effort": -2e-5 * terms.effort("robot"),
            "jerk": -0.01 * terms.action_rate(),
        },
        terminations={"fell": terms.fell_over("robot", 0.8), "low": terms.below("robot", 0.15)},
        resets={
            "place": terms.move_base("robot", (-far, -far, 0.0), (far, far, 0.0), yaw=np.pi),
            "posture": terms.scatter_joints("robot", position=0.1, velocity=0.1),
        },
        commands={"velocity": gym.Repeated(terms.draw((-0.5, -0.3, -0.6), (1.0, 0.3, 0.6), still=0.1), every=5.0)},
        events={"push": gym.Repeated(terms.kick("robot", linear=0.3), every=4.0)},
        randomisation={"friction": terms.uniform(0.6, 1.25), "gains": terms.uniform(0.9, 1.1)},
    )


def _bumps() -> HeightField:
    n = int(_EXTENT / _CELL) + 1
    return HeightField(np.random.default_rng(0).uniform(0.0, _BUMPS, (n, n)), (_EXTENT, _EXTENT), friction=0.8)


@term
def _vertical_velocity(world: World, part: str) -> gym.Array:
    return world.v[:, world.names.base(part).v_slice.start + 2]


@term
def _rocking(world: World, part: str) -> gym.Array:
    """About the axes forward and to the left."""
    start = world.names.base(part).v_slice.start
    return world.v[:, start + 3 : start + 5]


@term
def _level(world: World, part: str) -> gym.Array:
    return terms.up(part)(world)[:, :2]  # type: ignore[no-any-return]
