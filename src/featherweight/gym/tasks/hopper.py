"""A leg that hops in a plane."""

from __future__ import annotations

from typing import Any

from ... import gym
from ...model.builder import ModelBuilder
from ...model.model import Model
from ...scene.scene import Scene
from ...scene.shapes import Plane
from ...simulation.simulator import Simulator
from .. import terms
from ..term import term
from ..world import World


def hopper_model() -> Model:
    """Torso, thigh, shin and foot in the x-z plane; slides "x", "z" and the hinge "pitch" carry the torso."""
    builder = ModelBuilder("hopper")
    builder.link("carriage").link("lift")
    builder.solid("torso", "capsule", (0.05, 0.4), mass=3.5, placement=(0, 0, 0.2), rgba=(0.25, 0.26, 0.3, 1.0))
    builder.solid("thigh", "capsule", (0.05, 0.45), mass=3.9, placement=(0, 0, -0.225), rgba=(0.2, 0.45, 0.75, 1.0))
    builder.solid("shin", "capsule", (0.04, 0.5), mass=2.7, placement=(0, 0, -0.25), rgba=(0.75, 0.75, 0.78, 1.0))
    builder.solid("foot", "box", (0.36, 0.1, 0.08), mass=3.0, placement=(0.06, 0, 0), rgba=(0.9, 0.5, 0.2, 1.0))
    builder.joint("x", "prismatic", "world", "carriage", axis="x")
    builder.joint("z", "prismatic", "carriage", "lift", axis="z")
    builder.joint("pitch", "continuous", "lift", "torso", axis="y")
    motor: dict[str, Any] = {"axis": "y", "damping": 1.0, "armature": 0.1, "effort_limit": 200.0}
    builder.joint("hip", "revolute", "torso", "thigh", lower=-0.2, upper=2.6, **motor)
    builder.joint("knee", "revolute", "thigh", "shin", placement=(0, 0, -0.45), lower=-2.6, upper=0.2, **motor)
    builder.joint("ankle", "revolute", "shin", "foot", placement=(0, 0, -0.5), lower=-0.8, upper=0.8, **motor)
    return builder.build()


@term
def _forward(world: World) -> gym.Array:
    return world.v[:, world.names.dofs("robot/x")[0]]


def hopper() -> gym.Task:
    """Hop forward as fast as possible without falling.

    The reward is the speed [m/s], plus 1 for every step, minus a small multiple of the squared action.

    Observed: positions of all joints but x, and all velocities.

    >>> fw.gym.VectorEnv(fw.gym.tasks.hopper(), num_envs=2).observation_space.shape
    (2, 11)
    """
    scene = Scene(ground=Plane(friction=0.9))
    robot = scene.add(hopper_model(), name="robot", pose=(0.0, 0.0, 1.0), self_collision=False)
    scene.motor([robot.joint(name) for name in ("hip", "knee", "ankle")], gain=(100.0, 100.0, 50.0))
    return gym.Task(
        Simulator(scene, dt=4e-3),
        decimation=2,
        episode_length=8.0,
        actions={"motors": gym.Targets("robot/*")},
        observations={
            "positions": terms.joint_positions("robot/[!x]*"),
            "velocities": 0.1 * terms.joint_velocities("robot"),
        },
        rewards={
            "speed": _forward(),
            "alive": terms.alive(),
            "action": -1e-3 * terms.drift(terms.action()),
        },
        terminations={
            "height": terms.out_of_range(terms.joint_positions("robot/z"), -0.35, 2.0),
            "pitch": terms.out_of_range(terms.joint_positions("robot/pitch"), -0.6, 0.6),
        },
        resets={"start": terms.scatter_joints("robot/[!x]*", position=0.02, velocity=0.02)},
    )
