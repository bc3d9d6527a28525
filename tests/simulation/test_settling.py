"""Heaps are solved to the tolerance, not only swept."""

from __future__ import annotations

import numpy as np

import featherweight as fw
from featherweight.bench.motions import DT
from featherweight.bench.settling import heap_scene


def test_a_settling_heap_is_solved_almost_every_step() -> None:
    """Sweeps alone miss more than half of the steps from the time when the spheres touch each other."""
    sim = fw.Simulator(heap_scene(200), dt=DT, num_threads=1)
    state = sim.state()
    missed, large = 0, 0
    for _ in range(300):
        state = sim.step(state)
        large += int(np.count_nonzero(state.contacts.impulse[:, 2] > 0.0)) > 120
        missed += not state.converged
    assert large > 150
    assert missed <= 9
