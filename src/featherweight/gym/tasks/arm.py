"""A seven-axis arm with a gripper that reaches for a place, or carries a cube to it."""

from __future__ import annotations

import numpy as np

from ... import gym
from ...model import models
from ...model.builder import ModelBuilder
from ...model.model import Model
from ...scene.scene import Scene
from ...scene.shapes import Plane, box
from ...simulation.simulator import Simulator
from .. import terms
from ..term import term
from ..world import World

#: A posture with the gripper pointing down [rad], gains by axis, and the edge of the cube [m].
_POSTURE = (0.0, 0.3, 0.0, 1.6, 0.0, 1.2416, 0.0)
_KP = (2000.0, 2000.0, 1200.0, 1200.0, 600.0, 400.0, 150.0)
_OPEN, _EDGE = 0.045, 0.05


def arm_with_gripper() -> Model:
    """``fw.models.arm`` with two fingers that slide, and the frame "grip" between their tips."""
    builder = ModelBuilder.from_description(models.arm().description)
    grey = (0.6, 0.6, 0.63, 1.0)
    builder.solid("hand", "box", (0.06, 0.18, 0.05), mass=0.5, placement=(0.0, 0.0, 0.025), rgba=(0.25, 0.26, 0.3, 1.0))
    builder.joint("wrist", "fixed", "link_7", "hand", placement=(0.0, 0.0, 0.06))
    for name, side in (("left", 1.0), ("right", -1.0)):
        builder.solid(
            f"{name}_finger", "box", (0.03, 0.015, 0.09), mass=0.1, placement=(0.0, 0.0075 * side, 0.045), rgba=grey
        )
        builder.joint(
            f"{name}_slide",
            "prismatic",
            "hand",
            f"{name}_finger",
            placement=(0.0, 0.0, 0.05),
            axis=(0.0, side, 0.0),
            lower=0.0,
            upper=0.06,
            effort_limit=60.0,
            damping=1.0,
        )
        builder.exclude("link_7", f"{name}_finger")
    builder.frame("grip", "hand", (0.0, 0.0, 0.12))
    return builder.build()


def _scene() -> Scene:
    scene = Scene(ground=Plane(friction=0.9))
    scene.add(arm_with_gripper(), name="arm", q=(*_POSTURE, _OPEN, _OPEN), self_collision=False)
    names = [f"arm/joint_{k}" for k in range(1, 8)]
    scene.servo(names, kp=_KP, kd=[0.1 * kp for kp in _KP])
    scene.servo(["arm/left_slide", "arm/right_slide"], kp=3000.0, kd=60.0, effort=40.0)
    return scene


def _joints() -> gym.Increments:
    """Targets of the seven servos, which stay within the joints' limits."""
    limits = [models.arm().joint(f"joint_{k}") for k in range(1, 8)]
    return gym.Increments(
        "arm/joint_*",
        scale=0.06,
        low=tuple(float(joint.lower[0]) for joint in limits),
        high=tuple(float(joint.upper[0]) for joint in limits),
    )


def _observed() -> dict[str, gym.Term]:
    return {
        "positions": terms.joint_positions("arm"),
        "velocities": 0.1 * terms.joint_velocities("arm"),
        "grip": terms.frame_position("arm/grip"),
        "action": terms.action(),
    }


def reach() -> gym.Task:
    """Bring the gripper to a place drawn at random, and hold it there.

    Actions change the targets of the joints by up to 0.06 rad in 20 ms. Observed: joints, gripper, and the vector from
    the gripper to the goal. The reward is exp(-distance / 0.1 m) plus the same with 0.02 m, minus the squared action.

    >>> fw.gym.VectorEnv(fw.gym.tasks.reach(), num_envs=2).observation_space.shape
    (2, 31)
    """
    return gym.Task(
        Simulator(_scene(), dt=5e-3, integrator="implicit"),
        decimation=4,
        episode_length=4.0,
        actions={"joints": _joints()},
        observations=_observed() | {"goal": terms.frame_offset("arm/grip", "goal")},
        rewards={
            "near": terms.closeness("arm/grip", "goal", 0.1),
            "there": terms.closeness("arm/grip", "goal", 0.02),
            "action": -0.01 * terms.drift(terms.action()),
        },
        resets={"posture": terms.scatter_joints("arm/joint_*", position=0.1)},
        commands={"goal": gym.Repeated(terms.uniform((0.3, -0.4, 0.1), (0.6, 0.4, 0.6)), every=2.0)},
    )


@term
def _lifted(world: World, height: float) -> gym.Array:
    """How far the cube is lifted, as a share of ``height``, (n,)."""
    z = world.placement("cube")[:, 2, 3] - 0.5 * _EDGE
    return np.clip(z / height, 0.0, 1.0)


def pick_and_place() -> gym.Task:
    """Grasp a cube of 5 cm from the ground and bring it to a place in the air.

    Actions change the targets of the joints; the last one closes (-1) or opens (1) the gripper. Observed: joints,
    gripper, and the vectors from the gripper to the cube and from the cube to the goal. Rewarded are being near the
    cube, lifting it, and bringing it to the goal.

    >>> fw.gym.VectorEnv(fw.gym.tasks.pick_and_place(), num_envs=2).observation_space.shape
    (2, 38)
    """
    scene = _scene()
    scene.add(box((_EDGE, _EDGE, _EDGE), mass=0.1, friction=1.0), name="cube", pose=(0.5, 0.0, 0.5 * _EDGE))
    return gym.Task(
        Simulator(scene, dt=5e-3, integrator="implicit"),
        decimation=4,
        episode_length=6.0,
        actions={"joints": _joints(), "grip": gym.Grip("arm/*_slide", 0.0, _OPEN)},
        observations=_observed()
        | {
            "cube": terms.frame_offset("arm/grip", "cube"),
            "goal": terms.frame_offset("cube", "goal"),
            "up": terms.up("cube"),
        },
        rewards={
            "near": terms.closeness("arm/grip", "cube", 0.1),
            "lifted": _lifted(0.1),
            "placed": 4.0 * terms.closeness("cube", "goal", 0.1),
            "action": -0.01 * terms.drift(terms.action()),
        },
        terminations={"lost": terms.far_from("arm/base", "cube", 1.5)},
        resets={
            "posture": terms.scatter_joints("arm/joint_*", position=0.05),
            "cube": terms.move_base("cube", (-0.08, -0.15, 0.0), (0.08, 0.15, 0.0), yaw=0.5),
        },
        commands={"goal": terms.uniform((0.4, -0.2, 0.15), (0.6, 0.2, 0.35))},
    )
