"""Ground given by heights: what is steep and near, but beside the path, must not be felt."""

from __future__ import annotations

import math

import numpy as np

from featherweight import HeightField, Scene
from featherweight.arrays import Array
from physics.motion import position, run
from physics.passing import BODIES, EDGE

NODES = 201  # along each side of a field
UPRIGHT = {kind: EDGE / 2 + (EDGE / 2 if kind == "capsule" else 0.0) for kind in BODIES}  # [m] height of their centres


def _speeds(heights: Array, cell: float, kind: str, speed: float, aside: float, dt: float) -> Array:
    """Speeds [m/s] of a body that slides over the field along x without friction, ``aside`` [m] of its middle."""
    span = cell * (NODES - 1)
    scene = Scene()
    scene.add(HeightField(heights, (span, span), friction=0.0), name="field")
    start = -0.4 * span + 0.0137
    scene.add(BODIES[kind](0.0), name="body", pose=(start, aside, UPRIGHT[kind]))
    n = min(math.ceil(0.75 * span / speed / dt), 1500)
    motion = run(scene, dt, n * dt, v={"body": (speed, 0.0, 0.0, 0.0, 0.0, 0.0)}, record=True)
    path = np.concatenate(([(start, aside, UPRIGHT[kind])], position(motion, "body")))
    return np.asarray(np.diff(path, axis=0) / dt)


def past_a_spike(kind: str, speed: float, *, cell: float = 0.05, gap: float = 1e-3, dt: float = 2e-3) -> float:
    """Largest change of velocity [m/s] of a body that slides on flat cells, ``gap`` [m] beside one raised by 1 m."""
    heights = np.zeros((NODES, NODES))
    heights[NODES // 2, NODES // 2] = 1.0
    moved = _speeds(heights, cell, kind, speed, cell + EDGE / 2 + gap, dt)
    return float(np.abs(moved - (speed, 0.0, 0.0)).max())


def along_a_canyon(kind: str, speed: float, *, gap: float = 5e-3, dt: float = 2e-3) -> float:
    """The same between two walls, nearly upright, ``gap`` [m] beside it at its foot."""
    cell = (EDGE / 2 + gap) / 2
    across = np.abs(np.arange(NODES) - NODES // 2) > 2
    moved = _speeds(np.tile(np.where(across, 1.0, 0.0), (NODES, 1)), cell, kind, speed, 0.0, dt)
    return float(np.abs(moved - (speed, 0.0, 0.0)).max())
