"""Thin, tiny and huge bodies lie flat, and come to rest however they are dropped."""

import itertools

import numpy as np
import pytest

import featherweight as fw
from physics.thin import fallen, tumbled

CUBE = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))

PLATES = {
    "phone": ((0.15, 0.07, 0.008), 1.0),
    "tile": ((0.02, 0.02, 0.002), 0.1),
    "plate of 5 mm": ((0.1, 0.1, 5e-3), 0.05),
    "plate of 1 mm": ((0.1, 0.1, 1e-3), 0.05),
    "foil": ((0.1, 0.1, 1e-4), 0.05),
    "grain": ((1e-4, 1e-4, 1e-4), 1e-3),
    "house": ((100.0, 100.0, 100.0), 1.0),
    "floe": ((100.0, 100.0, 0.1), 1.0),
    "rod": ((1.0, 0.005, 0.005), 0.2),
}


@pytest.mark.parametrize(("size", "height"), PLATES.values(), ids=PLATES)
@pytest.mark.parametrize("kind", ["box", "hull"])
@pytest.mark.parametrize("dt", [1e-3, 2e-3])
def test_what_is_dropped_flat_lies_flat(kind: str, size: tuple[float, float, float], height: float, dt: float) -> None:
    """Four corners stop at once: the tolerance of the solver times the speed of the impact is all that is left."""
    body = fw.convex(CUBE * size, friction=0.5) if kind == "hull" else None
    fall = fallen(size, height, body=body, dt=dt, seconds=0.8)
    speed = (2 * 9.81 * height) ** 0.5
    assert fall.missed == 0
    assert fall.depth < 1e-8 * speed * dt + 1e-15 * max(size)
    assert fall.turning < 1e-7 * speed / min(size[:2])
    assert fall.speed < 1e-9 * 9.81 * dt * 10
    assert abs(fall.height) < 1e-8 * speed * dt + 1e-15 * max(size)


DROPPED = {
    "phone": (0.15, 0.07, 0.008),
    "card": (0.085, 0.055, 0.0008),
    "tile": (0.02, 0.02, 0.002),
    "rod": (0.3, 0.004, 0.004),
    "grain": (1e-3, 7e-4, 1e-4),
    "crate": (0.5, 0.4, 0.3),
}


@pytest.mark.parametrize("size", DROPPED.values(), ids=DROPPED)
@pytest.mark.parametrize("kind", ["box", "hull"])
def test_thin_bodies_in_any_attitude_come_to_rest(kind: str, size: tuple[float, float, float]) -> None:
    """No corner goes deeper than arcs explain, no step makes energy, and all of them lie still in the end."""
    body = fw.convex(CUBE * size, density=1000.0, friction=0.5) if kind == "hull" else None
    tumble = tumbled(size, body=body, count=16, seconds=2.0 if max(size) < 0.2 else 4.0)
    assert tumble.missed == 0
    assert tumble.depth < 1.0
    assert tumble.gain < 1e-9
    assert tumble.speed < 1e-6
