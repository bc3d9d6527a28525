"""A four-legged creature with hinges for hips and knees."""

from __future__ import annotations

import math
from typing import Any

from ... import gym
from ...model.builder import ModelBuilder
from ...model.model import Model
from ...model.poses import pose
from ...scene.scene import Scene
from ...scene.shapes import Plane
from ...simulation.simulator import Simulator
from .. import terms


def ant_model() -> Model:
    """A sphere on four legs of two links; joints are "hip_1" about z and "knee_1", and so on."""
    builder = ModelBuilder("ant")
    builder.solid("torso", "sphere", (0.25,), mass=6.0, rgba=(0.25, 0.26, 0.3, 1.0))
    motor: dict[str, Any] = {"damping": 1.0, "armature": 0.05, "effort_limit": 60.0}
    for k in range(1, 5):
        outward = pose(rpy=(0.0, 0.0, 0.5 * math.pi * (k - 0.5)))
        along = pose((0.14, 0.0, 0.0), rpy=(0.0, 0.5 * math.pi, 0.0))
        shank = pose((0.25, 0.0, 0.0), rpy=(0.0, 0.5 * math.pi, 0.0))
        thigh, shin = f"thigh_{k}", f"shin_{k}"
        builder.solid(thigh, "capsule", (0.05, 0.28), mass=0.5, placement=along, rgba=(0.2, 0.45, 0.75, 1.0))
        builder.solid(shin, "capsule", (0.05, 0.5), mass=0.7, placement=shank, rgba=(0.75, 0.75, 0.78, 1.0))
        at = outward @ pose((0.25, 0.0, 0.0))
        builder.joint(f"hip_{k}", "revolute", "torso", thigh, placement=at, axis="z", lower=-0.6, upper=0.6, **motor)
        bent = pose((0.28, 0.0, 0.0), rpy=(0.0, 0.9, 0.0))
        builder.joint(f"knee_{k}", "revolute", thigh, shin, placement=bent, axis="y", lower=-0.6, upper=0.6, **motor)
        builder.exclude("torso", shin)
    return builder.build(floating_base=True)


def ant() -> gym.Task:
    """Walk along x as fast as possible.

    The reward is the speed [m/s], plus 1 for every step, minus a small multiple of the effort.

    Observed: height, tilt and velocities of the torso, positions and velocities of the joints.

    >>> fw.gym.VectorEnv(fw.gym.tasks.ant(), num_envs=2).observation_space.shape
    (2, 26)
    """
    scene = Scene(ground=Plane(friction=0.9))
    scene.add(ant_model(), name="robot", pose=(0.0, 0.0, 0.5), self_collision=False)
    scene.motor("robot", gain=40.0)
    return gym.Task(
        Simulator(scene, dt=5e-3),
        decimation=4,
        episode_length=20.0,
        actions={"motors": gym.Targets("robot")},
        observations={
            "height": terms.base_height("robot"),
            "up": terms.up("robot"),
            "velocity": terms.base_velocity("robot"),
            "spin": 0.25 * terms.base_spin("robot"),
            "positions": terms.joint_positions("robot"),
            "velocities": 0.1 * terms.joint_velocities("robot"),
        },
        rewards={
            "speed": terms.speed("robot"),
            "alive": terms.alive(),
            "action": -0.1 * terms.drift(terms.action()),
        },
        terminations={
            "fell": terms.fell_over("robot", 1.2),
            "high": terms.out_of_range(terms.base_height("robot"), 0.2, 1.5),
        },
        resets={"start": terms.scatter_joints("robot", position=0.1, velocity=0.1), "push": terms.kick("robot", 0.1)},
    )
