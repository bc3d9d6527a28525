"""What turns for a long time and loses nothing: a rod about a held end, a crank and rocker, a box that tumbles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherweight import ModelBuilder, PointConstraint, Scene, Simulator, _core, box, capsule, project_velocity
from featherweight.arrays import Array
from featherweight.simulation.core_arguments import Integrator
from physics.motion import steps

ROD_LENGTH = 0.3  # [m]
BOX_EDGES = (0.1, 0.2, 0.3)  # [m]
BOX_AXIS = np.array([0.3, 0.9, 0.2]) / np.linalg.norm(
    [0.3, 0.9, 0.2]
)  # about which it is thrown, nearly the middle one
BARS = {"crank": 0.1, "coupler": 0.3, "rocker": 0.25}  # [m]
GROUND = 0.3  # [m] between the axes of crank and rocker
_WEIGHTLESS = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Kept:
    """Largest changes, relative to the start."""

    energy: float
    momentum: float = 0.0  # angular, where nothing holds it


def _change(values: Array) -> float:
    return float(np.abs(values / values[0] - 1.0).max())


def _energies(sim: Simulator, v: Array, seconds: float) -> tuple[Array, Array]:
    """Kinetic energies, and angular momenta about the centre of mass, of the start and every step."""
    start = sim.state(v=v)
    motion = sim.rollout(start, n_steps=steps(seconds, sim.dt))
    q, v = np.vstack([start.q, motion.q]), np.vstack([start.v, motion.v])
    momenta = np.asarray(_core.centroidal_momentum(sim.model, q, v))[:, 3:]
    return np.asarray(_core.kinetic_energy(sim.model, q, v)), momenta


def whirling_rod(
    speed: float, *, dt: float = 1e-3, seconds: float = 60.0, integrator: Integrator = "semi_implicit"
) -> Kept:
    """A rod held at one of its ends, ``speed`` [rad/s], without weight."""
    scene = Scene(gravity=_WEIGHTLESS)
    scene.add(capsule(0.01, ROD_LENGTH, mass=1.0), name="rod")
    scene.constrain(PointConstraint("rod", offset=(0, 0, ROD_LENGTH / 2)))
    sim = Simulator(scene, dt=dt, integrator=integrator)
    energy, _ = _energies(sim, np.array([-speed * ROD_LENGTH / 2, 0, 0, 0, speed, 0]), seconds)
    return Kept(_change(energy))


def crank_rocker(speed: float, *, dt: float = 1e-3, seconds: float = 60.0, integrator: Integrator = "verlet") -> Kept:
    """Thin bars of 3 kg/m, whose crank begins with ``speed`` [rad/s], without weight."""
    builder = ModelBuilder("bars", gravity=_WEIGHTLESS)
    joints = {"crank": ("world", 0.0), "coupler": ("crank", BARS["crank"]), "rocker": ("world", GROUND)}
    for name, (parent, x) in joints.items():
        length = BARS[name]
        builder.link(name, mass=3 * length, inertia=(1e-5, length**3 / 4, length**3 / 4), com=(length / 2, 0, 0))
        builder.joint(name, "continuous", parent, name, placement=(x, 0, 0), axis="y")
    builder.frame("tip", "coupler", (BARS["coupler"], 0, 0)).frame("end", "rocker", (BARS["rocker"], 0, 0))
    pin = PointConstraint("bars/tip", to="bars/end", rows=("x", "z"))
    scene = Scene(gravity=_WEIGHTLESS)
    scene.add(builder.build(), name="bars", q=assembled(1.0), self_collision=False)
    scene.constrain(pin)
    sim = Simulator(scene, dt=dt, integrator=integrator)
    rates = (assembled(1.0 + 1e-6) - assembled(1.0 - 1e-6)) / 2e-6
    energy, _ = _energies(sim, project_velocity(sim.model, sim.scene.q0, speed * rates, [pin]), seconds)
    return Kept(_change(energy))


def assembled(angle: float) -> Array:
    """Angles of the bars with the crank at ``angle``. About y they lead from x to -z."""
    a, b, c = BARS.values()
    hinge = a * np.exp(-1j * angle)
    across = GROUND - hinge
    r = abs(across)
    direction = across / r * np.exp(1j * np.arccos((r**2 + b**2 - c**2) / (2 * r * b)))
    end = hinge + b * direction
    return np.array([angle, -np.angle(direction) - angle, -np.angle(end - GROUND)])


def tumbling_box(
    speed: float, *, dt: float = 2e-3, seconds: float = 10.0, integrator: Integrator = "semi_implicit"
) -> Kept:
    """A free box of 6 kg, thrown with ``speed`` [rad/s] about an axis that is none of its own."""
    scene = Scene(gravity=_WEIGHTLESS)
    scene.add(box(BOX_EDGES), name="box")
    sim = Simulator(scene, dt=dt, integrator=integrator)
    energy, momenta = _energies(sim, np.concatenate([(0.5, -1.0, 2.0), speed * BOX_AXIS]), seconds)
    change = np.linalg.norm(momenta - momenta[0], axis=1).max() / np.linalg.norm(momenta[0])
    return Kept(_change(energy), float(change))
