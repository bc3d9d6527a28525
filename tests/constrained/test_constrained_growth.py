"""How the work of constrained dynamics grows: operations counted in random postures, exponents of the last doubling."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.constrained_growth import Problem, anchored_chain, anchored_tree, broom
from benchmarks.growth import fitted_exponent
from benchmarks.loops import operations as loop_operations
from benchmarks.mechanisms import four_bars_in_a_row
from benchmarks.solvers import Solver
from featherweight.constraints.dynamics import Method


def operations(problem: Problem, method: Method) -> int:
    model, constraints = problem
    # what an iteration costs, not how many there are
    options = {"max_iterations": 3} if method == "constrained_aba" else {}
    return Solver(model, constraints, method).flops(model.random(np.random.default_rng(0)), **options)


def doubled(cost: Callable[[int], float], size: int) -> float:
    return float(np.log2(cost(2 * size) / cost(size)))


def per_trunk_joint(limbs: int, method: Method, trunk: int = 16) -> float:
    """What one more joint costs that carries all rows."""
    return (operations(broom(2 * trunk, limbs), method) - operations(broom(trunk, limbs), method)) / trunk


# How each family is grown, and by which power the cost is then said to grow.
FAMILIES: dict[str, Callable[[Method], float]] = {
    "chain over n": lambda method: doubled(lambda n: operations(anchored_chain(n), method), 128),
    "tree over n": lambda method: doubled(lambda n: operations(anchored_tree(n - 1), method), 256),
    "tree over n, one row": lambda method: doubled(lambda n: operations(anchored_tree(n - 1, leaves=1), method), 256),
    "star over m": lambda method: doubled(lambda limbs: operations(broom(0, limbs, floating=True), method), 32),
    "trunk joint over m": lambda method: doubled(lambda limbs: per_trunk_joint(limbs, method), 32),
    "trunk joint over d": lambda method: doubled(lambda d: per_trunk_joint(4, method, d), 32),
}

# O(n + m^2 d + m^3): linear in n and d; each joint that carries m rows costs m^2; many rows cost m^3 at the root.
CUBIC_ROOT: dict[str, float] = {
    "chain over n": 1,
    "tree over n, one row": 1,
    "star over m": 3,
    "trunk joint over m": 2,
    "trunk joint over d": 0,
}
# O(n + m): a joint costs the same whatever is outboard of it.
LINEAR: dict[str, float] = {
    "chain over n": 1,
    "tree over n": 1,
    "tree over n, one row": 1,
    "star over m": 1,
    "trunk joint over m": 0,
    "trunk joint over d": 0,
}
# O(n d^2 + m d^2 + m^2 d + m^3), with d = log n in a balanced tree.
JOINT_SPACE: dict[str, float] = {
    "chain over n": 3,
    "tree over n, one row": 1.2,
    "star over m": 3,
    "trunk joint over d": 1,
}
EXPONENTS: dict[Method, dict[str, float]] = {
    "pv": CUBIC_ROOT,
    "prox_pv": CUBIC_ROOT,
    "limb_pv": LINEAR,
    # what one joint more costs depends on which rows the posture sends past it
    "pv_early": {family: power for family, power in LINEAR.items() if "joint" not in family},
    "pv_soft": LINEAR,
    "constrained_aba": LINEAR,
    "ltl": JOINT_SPACE,
}

CLAIMS = [(method, family, power) for method, claims in EXPONENTS.items() for family, power in claims.items()]


@pytest.mark.parametrize(("method", "family", "power"), CLAIMS)
def test_cost_grows_as_claimed(method: Method, family: str, power: float) -> None:
    """Lower powers are still felt at these sizes, hence the tolerance."""
    assert FAMILIES[family](method) == pytest.approx(power, abs=0.35 if power == 3 else 0.25)


def test_a_held_end_costs_a_chain_no_more_than_another_aba() -> None:
    """Six rows on every joint: the constant behind the linear growth. Counted at the time of writing."""
    per_joint = (operations(anchored_chain(200), "pv") - operations(anchored_chain(100), "pv")) / 100
    assert per_joint <= 860


@pytest.mark.parametrize("method", ["limb_pv", "constrained_aba"])
def test_loops_in_a_row_cost_their_number(method: Method) -> None:
    """Up to 64 four-bars, each on the coupler of the one before."""
    sizes = (1, 2, 4, 8, 16, 32, 64)
    counts = [loop_operations(four_bars_in_a_row(k), method) for k in sizes]
    assert fitted_exponent(sizes, counts) <= 1.1
    assert counts[-1] / counts[0] <= 64.0
