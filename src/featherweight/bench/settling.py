"""What a contact costs as a heap grows: spheres that settle in a square pit."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

import featherweight as fw
from featherweight.bench.motions import DT, GROUND
from featherweight.solvers import Automatic, GaussSeidel, Solver

RADIUS = 0.05  # [m], give or take a fifth
SIZES = (100, 300, 1000)
SOLVERS: dict[str, Solver] = {"auto": Automatic(), "400 sweeps": GaussSeidel(max_iterations=400)}
SETTLING, TIMED = 300, 20  # steps before the clock starts, and after
PATIENCE = 60.0  # [s] for either: what takes longer is cut short


@dataclass
class Heap:
    """One environment of ``spheres``, after they have settled for a while."""

    solver: str  # one of SOLVERS
    spheres: int
    steps: int  # simulated in all
    contacts: float  # that carry force, mean over the steps timed
    milliseconds: float  # of a step, the smallest
    residual: float  # worst of any step
    unconverged: float  # share of all steps

    @property
    def per_contact(self) -> float:
        """[us]"""
        return 1e3 * self.milliseconds / max(self.contacts, 1.0)


def heap_scene(count: int, seed: int = 0, *, layers: int | None = None) -> fw.Scene:
    """Layers of spheres in a square pit, none touching yet: as many as the pit is wide, or so many."""
    rng = np.random.default_rng(seed)
    side = max(2, round(count ** (1.0 / 3.0) if layers is None else math.sqrt(count / layers)))
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


def measure_heap(
    count: int, solver: str = "auto", *, settling: int = SETTLING, timed: int = TIMED, patience: float = PATIENCE
) -> Heap:
    """Let ``count`` spheres settle, then time steps one by one; ``patience`` [s] is for each of both."""
    sim = fw.Simulator(heap_scene(count), dt=DT, solver=SOLVERS[solver], num_threads=1)
    state, steps, missed, worst = sim.state(), 0, 0.0, 0.0
    times: list[float] = []
    contacts: list[int] = []
    for limit in (settling, timed):
        end = time.perf_counter() + patience
        times.clear()
        contacts.clear()
        while len(times) < limit and time.perf_counter() < end:
            start = time.perf_counter()
            state = sim.step(state)
            times.append(time.perf_counter() - start)
            contacts.append(int(np.count_nonzero(state.contacts.impulse[:, 2] > 0.0)))
            missed += not state.converged
            worst = max(worst, float(state.residual))
        steps += len(times)
    return Heap(solver, count, steps, float(np.mean(contacts)), 1e3 * min(times), worst, missed / steps)


def growth_exponent(heaps: list[Heap]) -> float:
    """Of the time of a step over the number of contacts."""
    contacts, times = [heap.contacts for heap in heaps], [heap.milliseconds for heap in heaps]
    return float(np.polyfit(np.log(contacts), np.log(times), 1)[0])
