"""Edges that meet: what is symmetric falls symmetrically, and edges push along the mean of the faces beside them."""

import math
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from physics.motion import position, velocity


def leaning(angle: float, side: int, height: float, thickness: float) -> np.ndarray:
    """Pose of a card on its lower edge that leans by ``angle`` [rad] against x = 0, from the left (-1) or right (1)."""
    c, s = math.cos(angle), -side * math.sin(angle)
    X = np.eye(4)
    X[:3, :3] = np.array(((c, 0.0, s), (0.0, 1.0, 0.0), (-s, 0.0, c)))
    corners = np.array([(x, 0.0, z) for x in (-0.5, 0.5) for z in (-0.5, 0.5)]) * (thickness, 0.0, height) @ X[:3, :3].T
    X[:3, 3] = (side * np.max(-side * corners[:, 0]), 0.0, -np.min(corners[:, 2]))
    return X


@pytest.mark.parametrize("angle", [0.35, 0.8])
@pytest.mark.parametrize("swapped", [False, True])
def test_cards_that_lean_against_each_other_fall_symmetrically(angle: float, swapped: bool) -> None:
    """Edge to edge, whichever of the two was added first; until sharp edges slip off each other, where rounding grows
    by as much as 2.3 a step."""
    scene = fw.Scene(ground=fw.Plane(friction=0.0))
    height, thickness = 0.09, 0.002
    cards: list[tuple[str, int]] = [("left", -1), ("right", 1)]
    for name, side in reversed(cards) if swapped else cards:
        card: Any = fw.box((thickness, 0.06, height), friction=0.0, mass=0.01)
        scene.add(card, name=name, pose=leaning(angle, side, height, thickness))
    sim = fw.Simulator(scene, dt=1e-3)
    motion = sim.rollout(sim.state(), n_steps=8)
    left, right = position(motion, "left"), position(motion, "right")
    mirrored = np.array((-1.0, 1.0, 1.0))
    np.testing.assert_allclose(left, right * mirrored, atol=1e-9)
    np.testing.assert_allclose(velocity(motion, "left"), velocity(motion, "right") * mirrored, atol=1e-6)
    assert left[0, 2] - left[-1, 2] > 1e-6  # they do fall
