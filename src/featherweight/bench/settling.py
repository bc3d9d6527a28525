"""What a contact costs as a heap grows: spheres that settle in a square pit."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

import featherweight as fw
from featherweight.bench.growth import fitted_exponent
from featherweight.bench.motions import DT, GROUND

RADIUS = 0.05  # [m], give or take a fifth
SIZES = (100, 300, 1000)
SETTLING = 300  # steps before the clock starts
TIMED = 20


@dataclass
class Heap:
    """One environment of ``spheres``, after they have settled for a while."""

    spheres: int
    contacts: float  # that carry force, mean over the steps timed
    milliseconds: float  # of a step, the smallest
    residual: float  # worst of any step
    unconverged: float  # share of all steps

    @property
    def per_contact(self) -> float:
        """[us]"""
        return 1e3 * self.milliseconds / max(self.contacts, 1.0)


def heap_scene(count: int, seed: int = 0) -> fw.Scene:
    """Layers of spheres in a pit about as wide as the heap is high, none touching yet."""
    rng = np.random.default_rng(seed)
    side = max(2, round(count ** (1.0 / 3.0)))
    cell = 2.0 * 1.25 * RADIUS
    scene = fw.Scene(ground=fw.Plane(material=GROUND))
    for k in range(4):
        angle = 0.5 * math.pi * k
        normal = (round(math.cos(angle)), round(math.sin(angle)), 0)
        scene.add(fw.Plane(normal=normal, offset=-0.5 * side * cell, material=GROUND), name=f"wall_{k}")
    for k in range(count):
        radius = RADIUS * rng.uniform(0.8, 1.2)
        x, y, z = k % side, k // side % side, k // side**2
        place = np.array((x + 0.5 - 0.5 * side, y + 0.5 - 0.5 * side, z + 0.5)) * cell
        place += rng.uniform(-0.04, 0.04, 3) * RADIUS
        scene.add(fw.sphere(radius, material=GROUND), name=f"sphere_{k}", pose=place)
    return scene


def measure_heap(count: int, settling: int = SETTLING, timed: int = TIMED) -> Heap:
    sim = fw.Simulator(heap_scene(count), dt=DT, num_threads=1)
    before = sim.rollout(sim.state(), n_steps=settling, record=False)
    state, times, contacts, missed, worst = before.final, [], [], float(before.unconverged), float(before.residual)
    for _ in range(timed):
        start = time.perf_counter()
        state = sim.step(state)
        times.append(time.perf_counter() - start)
        contacts.append(int(np.count_nonzero(state.contacts.impulse[:, 2] > 0.0)))
        missed += not state.converged
        worst = max(worst, float(state.residual))
    return Heap(count, float(np.mean(contacts)), 1e3 * min(times), worst, missed / (settling + timed))


def growth_exponent(heaps: list[Heap]) -> float:
    """Of the time of a step over the number of contacts."""
    return fitted_exponent([heap.contacts for heap in heaps], [heap.milliseconds for heap in heaps])
