"""What a contact costs as a pile grows: spheres that settle in a square pit."""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

import featherweight as fw
from benchmarks.motions import DT, GROUND, Motion
from benchmarks.mujoco_twin import mujoco_twin
from benchmarks.race import time_python
from benchmarks.simulation import TOLERANCE
from featherweight import Automatic

RADIUS = 0.05  # [m], give or take a fifth
SIZES = (100, 300, 1000)
SHAPES: dict[str, int | None] = {"as deep as wide": None, "four layers": 4}  # layers of spheres
STEPS = 750
PATIENCE = 120.0  # [s]: what takes longer is cut short
BESIDE_MUJOCO = 300  # spheres at most: it took a second a step for 1000


@dataclass
class Pile:
    """One environment of ``spheres``, from the first touch until they have settled for a while."""

    shape: str  # one of SHAPES
    spheres: int
    steps: int
    contacts: float  # that carry force, mean over all steps
    milliseconds: float  # of a step, mean
    gauss_seidel: float  # iterations of a step, mean
    residual: float  # of a step, median
    worst: float
    unconverged: float  # share of all steps
    mujoco: float | None = None  # milliseconds of a step of MuJoCo, mean over as many; None: not measured

    @property
    def per_contact(self) -> float:
        """[us]"""
        return 1e3 * self.milliseconds / max(self.contacts, 1.0)


def pile_scene(count: int, seed: int = 0, *, layers: int | None = None) -> fw.Scene:
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


def measure_pile(count: int, shape: str = "four layers", *, steps: int = STEPS, patience: float = PATIENCE) -> Pile:
    """Let ``count`` spheres settle, and time every step; ``patience`` [s] is for all of them."""
    scene = pile_scene(count, layers=SHAPES[shape])
    sim = fw.Simulator(scene, dt=DT, solver=Automatic(tolerance=TOLERANCE), num_threads=1)
    state, contacts, missed, iterations = sim.state(), 0, 0, 0.0
    times: list[float] = []
    residuals: list[float] = []
    while len(times) < steps and sum(times) < patience:
        start = time.perf_counter()
        state = sim.step(state)
        times.append(time.perf_counter() - start)
        contacts += int(np.count_nonzero(state.contacts.impulse[:, 2] > 0.0))
        missed += not state.converged
        iterations += float(state.iterations["gauss_seidel"])
        residuals.append(float(state.residual))
    n = len(times)
    middle, worst = float(np.median(residuals)), max(residuals)
    mean = 1e3 * float(np.mean(times))
    mujoco = _mujoco_milliseconds(scene, steps) if count <= BESIDE_MUJOCO and n == steps else None
    return Pile(shape, count, n, contacts / n, mean, iterations / n, middle, worst, missed / n, mujoco)


def _mujoco_milliseconds(scene: fw.Scene, steps: int) -> float | None:
    """Of a step of the same pile in MuJoCo, as :mod:`benchmarks.mujoco_twin` has it."""
    compiled = scene.compile()
    motion = Motion("pile", compiled, 2, compiled.q0[None], np.zeros((1, compiled.model.nv)), None, steps)
    with ExitStack() as stack:
        twin = mujoco_twin(motion, stack)
        return None if twin is None else 1e3 * time_python(twin.run, 1) / steps


def growth_exponent(piles: list[Pile]) -> float:
    """Of the time of a step over the number of contacts."""
    contacts, times = [pile.contacts for pile in piles], [pile.milliseconds for pile in piles]
    return float(np.polyfit(np.log(contacts), np.log(times), 1)[0])
