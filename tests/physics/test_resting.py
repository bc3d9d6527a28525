"""Stacks stand, piles do not sink."""

import pytest

from physics.resting import sag, sphere_pile, stack

MASSES = {
    "ten alike": [1.0] * 10,
    "heavy on light": [1.0, 1000.0],
    "light on heavy": [1000.0, 1.0],
    "by turns": [1.0, 1000.0, 1.0, 1000.0],
    "growing": [1.0, 10.0, 100.0, 1000.0],
}


@pytest.mark.parametrize("masses", MASSES.values(), ids=MASSES)
@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_a_stack_stands_for_ten_seconds(masses: list[float], dt: float) -> None:
    """1e-9 of g dt in every step, all in one direction, would be 5e-8 m in 10 s; a micrometre is the promise."""
    standing = stack(masses, dt=dt)
    assert standing.missed == 0
    assert standing.drift < 5e-8


def test_balls_in_a_pile_do_not_overlap() -> None:
    """A contact ends its step with no overlap but that of the tolerance, 1e-9 of the speed times dt."""
    pile = sphere_pile(side=4, seconds=0.6)
    assert pile.missed == 0
    assert pile.penetration < 1e-11
    assert pile.deepest < 1e-9
    assert pile.contacts > 40


@pytest.mark.parametrize("stiffness", [1e4, 1e6])
def test_compliant_ground_gives_by_weight_over_stiffness(stiffness: float) -> None:
    """At rest the implicit spring is the spring; critically damped, e^-wt is below 1e-9 after a second."""
    depth, exact = sag(stiffness)
    assert abs(depth / exact - 1.0) < 1e-8
