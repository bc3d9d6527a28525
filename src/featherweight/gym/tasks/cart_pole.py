"""A pole on a cart, to be balanced by pushing the cart."""

from __future__ import annotations

from ... import gym
from ...model.builder import ModelBuilder
from ...scene.scene import Scene
from ...simulation.simulator import Simulator
from .. import terms


def cart_pole() -> gym.Task:
    """Balance a pole of 1 m on a cart, which is pushed with up to 10 N along 4.8 m of track.

    Observed: position and velocity of the cart and of the pole. The reward is 1 for every step. An episode ends when
    the pole tilts by 12 degrees, or at the end of the track.

    >>> fw.gym.VectorEnv(fw.gym.tasks.cart_pole(), num_envs=2).observation_space.shape
    (2, 4)
    """
    builder = ModelBuilder("cart_pole")
    builder.solid("cart", "box", (0.4, 0.25, 0.15), mass=1.0, rgba=(0.25, 0.26, 0.3, 1.0))
    builder.solid("pole", "capsule", (0.03, 1.0), mass=0.1, placement=(0.0, 0.0, 0.5), rgba=(0.9, 0.5, 0.2, 1.0))
    builder.joint("slide", "prismatic", "world", "cart", axis="x", effort_limit=10.0)
    builder.joint("hinge", "continuous", "cart", "pole", axis="y")
    scene = Scene()
    scene.add(builder.build(), name="robot", self_collision=False)
    scene.motor(["robot/slide"], gain=10.0)
    joints = terms.joint_positions("robot")
    return gym.Task(
        Simulator(scene, dt=1e-2),
        decimation=2,
        episode_length=10.0,
        actions={"push": gym.Targets("robot/slide")},
        observations={"positions": joints, "velocities": terms.joint_velocities("robot")},
        rewards={"alive": terms.alive()},
        terminations={
            "tilted": terms.out_of_range(terms.joint_positions("robot/hinge"), -0.21, 0.21),
            "end of the track": terms.out_of_range(terms.joint_positions("robot/slide"), -2.4, 2.4),
        },
        resets={"start": terms.scatter_joints("robot", position=0.05, velocity=0.05)},
    )
