"""Balls that bounce and collide.

The law is simultaneous (Moreau) with Newton's restitution: all contacts of a step are one problem, in which a contact
that closes at u leaves at -e u or faster, 0 <= lambda _|_ u+ + e u- >= 0. A row of touching balls therefore moves on
together; balls with gaps between them collide one after the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from featherweight import Inertia, Plane, Scene, Simulator, box, capsule, pose, sphere
from featherweight.arrays import Array
from physics.motion import GRAVITY, position, run, spin, steps, velocity


@dataclass(frozen=True)
class Rest:
    """A ball dropped until it rests."""

    time: float  # [s]
    exact: float  # sqrt(2 h / g) (1 + e) / (1 - e)
    speed: float  # at the end [m/s]
    height: float  # of its lowest point, at the end [m]


def time_to_rest(height: float, restitution: float, *, dt: float = 1e-3) -> Rest:
    """A ball whose lowest point falls from ``height`` [m]; it rests from when it no longer moves by more than g dt."""
    radius = 0.1
    exact = math.sqrt(2.0 * height / GRAVITY) * (1.0 + restitution) / (1.0 - restitution)
    scene = Scene(ground=Plane())
    scene.add(sphere(radius, restitution=restitution, friction=0.0), name="ball", pose=(0.0, 0.0, radius + height))
    n = steps(dt * math.ceil(1.2 * exact / dt), dt)
    motion = run(scene, dt, n * dt, record=True)
    speeds = np.abs(velocity(motion, "ball")[:, 2])
    moving = int(np.flatnonzero(speeds > GRAVITY * dt)[-1])
    after = position(motion, "ball")[-1, 2] - radius
    return Rest(dt * (moving + 1), exact, float(speeds[-1]), float(after))


@dataclass(frozen=True)
class Bouncing:
    """Energy of balls that bounce without loss. Squared errors as published for the bouncing grid."""

    energy: float  # exact [J]
    squared_error: float  # mean over time of the square of (energy - exact) [J^2]
    worst: float  # largest error [J]
    drift: float  # of the mean error, second half of the run over the first [J]
    invariant: float  # largest change of what the steps keep, 1/2 m v^2 + m g z - 1/2 m g v dt, relative


def bouncing_grid(
    *,
    side: int = 7,
    height: float = 5.0,
    mass: float = 10.0,
    radius: float = 0.1,
    dt: float = 1e-3,
    seconds: float = 20.0,
) -> Bouncing:
    """``side`` x ``side`` balls whose centres fall from ``height`` [m] on a plane, e = 1, no friction.

    A step moves by the velocity at its end, so its velocity is that of the middle of the step and the energy read from
    both is off by m g v dt / 2, back and forth; nothing accumulates, impacts included.
    """
    scene = Scene(ground=Plane())
    for i in range(side):
        for j in range(side):
            ball = sphere(radius, mass=mass, restitution=1.0, friction=0.0)
            scene.add(ball, name=f"ball_{i}_{j}", pose=(4.0 * radius * i, 4.0 * radius * j, height))
    simulator = Simulator(scene, dt)
    z = np.array([part.q.start + 2 for part in simulator.scene.parts.values() if part.q.stop > part.q.start])
    v = np.array([part.v.start + 2 for part in simulator.scene.parts.values() if part.v.stop > part.v.start])
    exact = side * side * mass * GRAVITY * height
    errors, kept = [], []
    state = simulator.state()
    remaining = steps(seconds, dt)
    while remaining:  # in pieces, to bound what is recorded
        n = min(remaining, 2000)
        motion = simulator.rollout(state, n_steps=n)
        state, remaining = motion.final, remaining - n
        heights, speeds = motion.q[:, z], motion.v[:, v]
        energy = (mass * (0.5 * speeds**2 + GRAVITY * heights)).sum(axis=1)
        errors.append(energy - exact)
        kept.append(energy - 0.5 * mass * GRAVITY * dt * speeds.sum(axis=1) - exact)
    error = np.concatenate(errors)
    half = len(error) // 2
    return Bouncing(
        exact,
        float(np.mean(error**2)),
        float(np.abs(error).max()),
        float(error[half:].mean() - error[:half].mean()),
        float(np.abs(np.concatenate(kept)).max() / exact),
    )


def cradle(gap: float, *, balls: int = 3, restitution: float = 1.0, dt: float = 1e-3) -> Array:
    """Velocities of a row of equal balls [m/s], (balls,), after the first has hit the second at 1 m/s.

    gap: between all of them [m]. Weightless, so that nothing else touches.
    """
    radius = 0.05
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    for k in range(balls):
        scene.add(
            sphere(radius, restitution=restitution, friction=0.0), name=f"ball_{k}", pose=((2 * radius + gap) * k, 0, 0)
        )
    seconds = dt * math.ceil((2.0 * balls * gap + 0.02) / dt)
    final = run(scene, dt, seconds, v={"ball_0": (1, 0, 0, 0, 0, 0)}).final
    return np.array([velocity(final, f"ball_{k}")[0] for k in range(balls)])


#: A rod that lands on one end, sliding and turning: Newton's restitution alone would bring energy. Half length, radius,
#: angle from the upright, mass; velocity of its middle and rate of turning. The ball and the box start as high as this.
ROD = (0.5, 0.02, 0.9, 1.0)
ROD_VELOCITY, ROD_RATE, HEIGHT = (3.0, -4.0), -8.0, 5e-4


@dataclass(frozen=True)
class FarBounce:
    """What happens within one step at places far from each other."""

    rebound: float  # of a ball that falls at 2 m/s, e = 0.9 [m/s]
    kept: float  # energy of the rod after its impact over that before; 0 if it is not there
    rod: Array  # (6,) its velocity


def far_bounce(*, rod: bool = True, ball: bool = True, soft: bool = False, dt: float = 1e-3) -> FarBounce:
    """A ball, a rod and a box that lands softly, 50 m apart, all of which strike the ground in the same step.

    Weightless, so that the energy before and after is kinetic.
    """
    scene = Scene(ground=Plane(friction=0.6, restitution=0.9), gravity=(0.0, 0.0, 0.0))
    v: dict[str, tuple[float, ...]] = {}
    half, radius, angle, mass = ROD
    if rod:
        z = half * math.cos(angle) + radius + HEIGHT
        scene.add(capsule(radius, 2 * half, mass=mass), name="rod", pose=pose((0, 0, z), rpy=(0, angle, 0)))
        x, up = ROD_VELOCITY  # in its own axes
        along = (x * math.cos(angle) - up * math.sin(angle), 0.0, x * math.sin(angle) + up * math.cos(angle))
        v["rod"] = (*along, 0.0, ROD_RATE, 0.0)
    if ball:
        scene.add(sphere(0.1), name="ball", pose=(50.0, 0, 0.1 + HEIGHT))
        v["ball"] = (0, 0, -2.0, 0, 0, 0)
    if soft:
        scene.add(box((1, 1, 1), mass=50.0), name="box", pose=(-50.0, 0, 0.5 + HEIGHT))
        scene.pair("box", "ground", restitution=0.0, friction=0.5)
        v["box"] = (0, 0, -3.0, 0, 0, 0)
    final = run(scene, dt, dt, v=v).final
    rebound = float(velocity(final, "ball")[2]) if ball else 0.0
    if not rod:
        return FarBounce(rebound, 0.0, np.zeros(6))
    after = np.asarray(final.v[final.simulator.model.joint("rod").v_slice])  # in body axes
    before, alone = np.array(v["rod"]), capsule(radius, 2 * half, mass=mass).inertia
    assert alone is not None
    kept = _energy(alone, after) / _energy(alone, before)
    return FarBounce(rebound, kept, np.concatenate([velocity(final, "rod"), spin(final, "rod")]))


def _energy(inertia: Inertia, v: Array) -> float:
    return float(0.5 * inertia.mass * v[:3] @ v[:3] + 0.5 * v[3:] @ inertia.matrix @ v[3:])
