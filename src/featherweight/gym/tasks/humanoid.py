"""A humanoid that stands or walks."""

from __future__ import annotations

from typing import Literal

from ... import gym
from ...model import models
from ...scene.scene import Scene
from ...scene.shapes import Plane
from ...simulation.posture import holding_gains, lowest_point, start_posture
from ...simulation.simulator import Simulator
from .. import terms
from .quadruped import planar_velocity


def humanoid(goal: Literal["stand", "walk"] = "stand") -> gym.Task:
    """Stand still while pushed, or walk forward at a commanded speed.

    goal: "stand" or "walk". Observed: height, velocities and tilt of the pelvis, joints, the last action, the command
    (x, y, zero to stand), and a clock. Actions are targets of the servos around a posture with bent knees.

    >>> fw.gym.VectorEnv(fw.gym.tasks.humanoid("walk"), num_envs=2).observation_space.shape
    (2, 96)
    """
    if goal not in ("stand", "walk"):
        raise ValueError(f'humanoid: goal must be "stand" or "walk", got {goal!r}')
    walks = goal == "walk"
    robot = models.humanoid()
    q = start_posture(robot)
    alone = Scene()
    alone.add(robot, name="robot", q=q)
    height = -float(lowest_point(alone.compile(), alone.compile().q0))
    scene = Scene(ground=Plane(friction=0.9))
    handle = scene.add(robot, name="robot", pose=(0.0, 0.0, height), q=q, self_collision=False)
    kp, kd = holding_gains(robot, q)
    axes = [joint.v_slice.start for joint in robot.joints if joint.nv == 1]
    scene.servo(handle, kp=kp[axes], kd=kd[axes])
    velocity = planar_velocity("robot")
    return gym.Task(
        Simulator(scene, dt=5e-3, integrator="implicit"),
        decimation=4,
        episode_length=20.0,
        actions={"joints": gym.Targets("robot", scale=0.4)},
        observations={
            "height": terms.base_height("robot"),
            "velocity": terms.base_velocity("robot"),
            "spin": 0.25 * terms.base_spin("robot"),
            "up": terms.up("robot"),
            "command": terms.command("velocity"),
            "positions": terms.joint_positions("robot"),
            "velocities": 0.05 * terms.joint_velocities("robot"),
            "action": terms.action(),
            "clock": terms.phase(0.8),
        },
        rewards={
            "velocity": terms.tracking(velocity, "velocity", 0.4),
            "upright": 0.5 * terms.uprightness("robot"),
            "effort": -2e-6 * terms.effort("robot"),
            "jerk": -0.01 * terms.action_rate(),
        }
        | ({"feet": 0.5 * terms.gait("robot/*_foot", 0.8, (0.0, 0.5), duty=0.6)} if walks else {}),
        terminations={"fell": terms.fell_over("robot", 0.8), "low": terms.below("robot", 0.6 * height)},
        resets={
            "posture": terms.scatter_joints("robot", position=0.05, velocity=0.05),
            "push": terms.kick("robot", 0.1),
        },
        commands={
            "velocity": gym.Repeated(terms.uniform((0.3, 0.0, -0.2), (1.0, 0.0, 0.2)), every=5.0)
            if walks
            else terms.uniform((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        },
        events={"push": gym.Repeated(terms.kick("robot", linear=0.2), every=3.0)},
    )
