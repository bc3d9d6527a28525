"""Joints that stop: at their limits, and by dry friction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from featherweight import ModelBuilder, Simulator
from physics.motion import GRAVITY
from physics.rolling import Slowing


@dataclass(frozen=True)
class Stopped:
    """A pendulum that fell against its limit."""

    beyond: float  # farthest it got past the limit [rad]
    at: float  # distance from the limit at the end [rad]
    speed: float  # at the end [rad/s]
    impact: float  # speed just before it hit [rad/s]
    exact_impact: float


def pendulum_at_limit(limit: float = 0.3, *, dt: float = 1e-3, seconds: float = 2.0) -> Stopped:
    """1 kg on 1 m released horizontally, stopped without rebound ``limit`` [rad] before it hangs down."""
    builder = ModelBuilder("pendulum", gravity=(0.0, 0.0, -GRAVITY)).link("bob", mass=1.0, com=(0.0, 0.0, -1.0))
    builder.joint("hinge", "revolute", "world", "bob", axis="y", lower=limit, upper=10.0)
    simulator = Simulator(builder.build(), dt)
    motion = simulator.rollout(simulator.state(q=(0.5 * math.pi,)), n_steps=round(seconds / dt))
    q, v = motion.q[:, 0], motion.v[:, 0]
    return Stopped(
        float(limit - q.min()),
        abs(float(q[-1]) - limit),
        abs(float(v[-1])),
        float(np.abs(v).max()),
        math.sqrt(2.0 * GRAVITY * math.cos(limit)),
    )


def dry_friction(torque: float = 0.4, v0: float = 3.0, *, inertia: float = 0.5, dt: float = 1e-3) -> Slowing:
    """A wheel that dry friction ``torque`` [N m] slows by torque / inertia, and then keeps at rest."""
    builder = ModelBuilder("wheel", gravity=(0.0, 0.0, 0.0)).link("wheel", mass=1.0, inertia=(1.0, 1.0, inertia))
    builder.joint("axle", "revolute", "world", "wheel", axis="z", lower=-1e9, upper=1e9, friction=torque)
    simulator = Simulator(builder.build(), dt)
    exact = torque / inertia
    stop = math.ceil(v0 / exact / dt)
    motion = simulator.rollout(simulator.state(v=(v0,)), n_steps=2 * stop)
    v = motion.v[:, 0]
    moving = stop - 2
    return Slowing((v0 - float(v[moving - 1])) / (moving * dt), exact, float(np.abs(v[stop + 1 :]).max()))
