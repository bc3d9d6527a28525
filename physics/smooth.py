"""Motion without contact, by the fourth-order integrator: periods, conservation laws, orders of convergence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from featherweight import Model, ModelBuilder, Simulator, _core, models
from featherweight.arrays import Array
from featherweight.model.poses import rotation_from_quaternion
from featherweight.simulation.core_arguments import Integrator
from physics.motion import GRAVITY, steps

#: Half a period of the tumbling body below and the period of the pendulum, from elliptic integrals.
TUMBLING_PERIOD = 10.532110248183  # [s]
PENDULUM_PERIOD = 2.367841947576237  # [s]
_NOTHING = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Tumbling:
    """A free body that turns about its middle axis and flips over and over (Dzhanibekov)."""

    crossings: Array  # [s], times at which the middle component of the angular velocity is zero
    exact: Array  # a quarter of the period, three quarters, ...
    momentum: float  # largest change of the angular momentum in the world, relative
    energy: float  # largest change of the kinetic energy, relative


def tumbling(*, dt: float = 1e-3, seconds: float = 10.6, integrator: Integrator = "rk4") -> Tumbling:
    """I = (1, 2, 3) kg m^2, w = (0.01, 5, 0) rad/s."""
    inertia = np.array([1.0, 2.0, 3.0])
    builder = ModelBuilder("body", gravity=_NOTHING).link("body", mass=1.0, inertia=inertia)
    model = builder.joint("ball", "spherical", "world", "body").build()
    q, w = _recorded(model, dt, seconds, integrator, v=(0.01, 5.0, 0.0))
    L = np.einsum("nij,nj->ni", rotation_from_quaternion(q), inertia * w)
    energy = 0.5 * (inertia * w * w).sum(axis=1)
    crossings = zero_crossings(w[:, 1], dt)
    exact = TUMBLING_PERIOD * (0.25 + 0.5 * np.arange(len(crossings)))
    return Tumbling(
        crossings,
        np.asarray(exact, dtype=np.float64),
        float(np.linalg.norm(L - L[0], axis=1).max() / np.linalg.norm(L[0])),
        float(np.abs(energy / energy[0] - 1.0).max()),
    )


def pendulum_period(*, dt: float = 1e-3, integrator: Integrator = "rk4") -> float:
    """Of 1 kg on 1 m, released horizontally [s], over ten swings."""
    model = ModelBuilder("pendulum", gravity=(0.0, 0.0, -GRAVITY)).link("bob", mass=1.0, com=(0.0, 0.0, -1.0))
    pendulum = model.joint("hinge", "revolute", "world", "bob", axis="y").build()
    q, _ = _recorded(pendulum, dt, dt * math.ceil(11.0 * PENDULUM_PERIOD / dt), integrator, q=(0.5 * math.pi,))
    down = zero_crossings(q[:, 0], dt)
    return float(down[20] - down[0]) / 10.0


@dataclass(frozen=True)
class Floating:
    """A robot adrift: the momentum it should keep. Largest changes, relative to the largest size of each."""

    linear: float
    angular: float


def floating_robot(
    model: Model | None = None,
    *,
    dt: float = 1e-3,
    seconds: float = 10.0,
    integrator: Integrator = "rk4",
    seed: int = 0,
) -> Floating:
    """A free robot in zero gravity with all its joints in motion. The built-in humanoid, unless another is given."""
    robot = weightless(models.humanoid() if model is None else model)
    v = np.random.default_rng(seed).uniform(-0.5, 0.5, robot.nv)
    q, v = _recorded(robot, dt, seconds, integrator, v=v)
    h = _core.centroidal_momentum(robot, q, v)
    linear, angular = (
        np.linalg.norm(part - part[0], axis=1).max() / np.linalg.norm(part[0]) for part in (h[:, :3], h[:, 3:])
    )
    return Floating(float(linear), float(angular))


def weightless(model: Model) -> Model:
    """The robot in zero gravity, without joint limits, damping, springs, friction and shapes: nothing but inertia."""
    description = model.description
    builder = ModelBuilder(model.name, gravity=_NOTHING)
    for link in description.links:
        builder.link(link.name, inertia=link.inertia)
    for joint in description.joints:
        builder.joint(
            joint.name, joint.type, joint.parent, joint.child, placement=joint.placement,
            child_placement=joint.child_placement, axis=joint.axis, axis2=joint.axis2, pitch=joint.pitch,
            armature=joint.armature,
        )  # fmt: skip
    return builder.build()


def energy_drift(dt: float, integrator: Integrator, *, seconds: float = 2.0) -> float:
    """Largest relative change of the energy of a swinging chain of four rods."""
    builder = ModelBuilder("chain", gravity=(0.0, 0.0, -GRAVITY))
    parent = "world"
    for k in range(4):
        placement = None if k == 0 else (0.0, 0.0, -0.5)
        builder.link(f"rod_{k}", mass=1.0, com=(0.0, 0.0, -0.25), inertia=(0.02, 0.02, 1e-4))
        builder.joint(f"hinge_{k}", "revolute", parent, f"rod_{k}", axis="xyxy"[k], placement=placement)
        parent = f"rod_{k}"
    model = builder.build()
    q, v = _recorded(model, dt, seconds, integrator, q=(1.0, 0.5, -0.3, 0.4))
    energy = _core.kinetic_energy(model, q, v) + _core.potential_energy(model, q)
    return float(np.abs(energy - energy[0]).max() / abs(energy[0]))


def order(dts: tuple[float, float], errors: tuple[float, float]) -> float:
    """The power of dt with which an error falls."""
    return math.log(errors[0] / errors[1]) / math.log(dts[0] / dts[1])


def zero_crossings(values: Array, dt: float) -> Array:
    """Times [s] at which samples ``dt`` apart change their sign, on cubics through four of them."""
    times = []
    for k in np.flatnonzero(np.signbit(values[1:-2]) != np.signbit(values[2:-1])) + 1:
        near = np.polynomial.Polynomial.fit(
            [-1.0, 0.0, 1.0, 2.0], values[k - 1 : k + 3], 3, domain=[-1, 2], window=[-1, 2]
        )
        roots = near.roots()
        inside = roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real >= -1e-9) & (roots.real <= 1.0 + 1e-9)]
        times.append(dt * (k + float(inside[0])))
    return np.array(times)


def _recorded(model: Model, dt: float, seconds: float, integrator: Integrator, **start: Any) -> tuple[Array, Array]:
    """Coordinates and velocities from the start on, one row a step."""
    simulator = Simulator(model, dt, integrator=integrator)
    state = simulator.state(**start)
    motion = simulator.rollout(state, n_steps=steps(seconds, dt))
    return np.concatenate([state.q[None], motion.q]), np.concatenate([state.v[None], motion.v])
