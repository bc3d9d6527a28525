"""Piles and stacks: what rests stays at rest, without sinking, whatever lies on what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featherweight import Plane, Scene, box, sphere
from featherweight.arrays import Array
from physics.motion import GRAVITY, position, run, simulated, steps, velocity


@dataclass(frozen=True)
class Stack:
    """A stack of boxes after some time."""

    drift: float  # largest distance of any box from where it began [m]
    speed: float  # largest speed at the end [m/s]
    residual: float  # largest of any step, relative
    missed: int  # steps that missed the tolerance of the solver


def stack(
    masses: Sequence[float], *, edge: float = 0.2, friction: float = 0.6, dt: float = 1e-3, seconds: float = 10.0
) -> Stack:
    """Boxes of ``masses`` [kg] on each other, from bottom to top, exactly touching at the start."""
    scene = Scene(ground=Plane(friction=friction))
    for k, mass in enumerate(masses):
        scene.add(box((edge, edge, edge), mass=mass, friction=friction), name=f"box_{k}", pose=(0, 0, edge * (k + 0.5)))
    motion = run(scene, dt, seconds)
    start, final = motion.simulator.state(), motion.final
    names = [f"box_{k}" for k in range(len(masses))]
    return Stack(
        max(float(np.linalg.norm(position(final, name) - position(start, name))) for name in names),
        max(float(np.linalg.norm(velocity(final, name))) for name in names),
        float(motion.residual),
        int(motion.unconverged),
    )


@dataclass(frozen=True)
class Pile:
    """Balls dropped on each other."""

    penetration: float  # mean over time of the mean overlap of the contacts [m]
    deepest: float  # [m]
    contacts: float  # mean number
    missed: int  # steps that missed the tolerance of the solver
    lowest: float  # of all balls' lowest points at the end [m]


def pile_places(side: int, spacing: float = 0.21) -> Array:
    """Where the balls of a pile begin [m], (side^3, 3)."""
    places = spacing * np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    places[:, 2] += 0.101
    places[:, :2] += 1e-3 * np.random.default_rng(0).uniform(-1.0, 1.0, (side**3, 2))
    return np.asarray(places)


def sphere_pile(
    *,
    side: int = 6,
    radius: float = 0.1,
    mass: float = 10.0,
    spacing: float = 0.21,
    friction: float = 0.8,
    dt: float = 1e-3,
    seconds: float = 2.0,
    every: float = 0.01,
) -> Pile:
    """``side``^3 balls, the lowest with their centres at 0.101 m, shifted by up to 1 mm at random, fall in a pile.

    Looked at once ``every`` so many seconds. The overlap of a contact is zero where there is a gap.
    """
    scene = Scene(ground=Plane(friction=friction))
    for k, place in enumerate(pile_places(side, spacing)):
        scene.add(sphere(radius, mass=mass, friction=friction), name=f"ball_{k}", pose=place)
    simulator = simulated(scene, dt)
    state, overlaps, counts, deepest, missed = simulator.state(), [], [], 0.0, 0
    for _ in range(steps(seconds, every)):
        motion = simulator.rollout(state, n_steps=steps(every, dt), record=False)
        state = motion.final
        gaps = state.contacts.gap
        touching = gaps < 1e-6  # [m]; further contacts are only near
        if touching.any():
            overlaps.append(float(np.maximum(-gaps[touching], 0.0).mean()))
            counts.append(int(touching.sum()))
        deepest = max(deepest, float(motion.penetration))
        missed += int(motion.unconverged)
    heights = state.q[2::7] - radius
    return Pile(float(np.mean(overlaps)), deepest, float(np.mean(counts)), missed, float(heights.min()))


def sag(stiffness: float, *, mass: float = 2.0, dt: float = 1e-3, seconds: float = 3.0) -> tuple[float, float]:
    """How deep a ball sinks into a compliant ground [m], and m g / k."""
    damping = 2.0 * (mass * stiffness) ** 0.5  # critical
    scene = Scene(ground=Plane(stiffness=stiffness, damping=damping))
    scene.add(sphere(0.1, mass=mass), name="ball", pose=(0.0, 0.0, 0.1))
    final = run(scene, dt, seconds).final
    return 0.1 - float(position(final, "ball")[2]), mass * GRAVITY / stiffness
