"""How the work of Delassus matrices grows: operations counted, exponents of the last doubling."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import featherweight as fw
from benchmarks.constrained_growth import Problem, anchored_chain, broom
from benchmarks.growth import total_flops
from featherweight import ModelBuilder, _testing


def star(limbs: int, depth: int) -> Problem:
    """A free body that carries ``limbs`` of ``depth`` joints, the end of each anchored."""
    builder = ModelBuilder(f"star_{limbs}_{depth}")
    builder.solid("body", "box", (0.4, 0.4, 0.1), mass=10.0)
    for k in range(limbs):
        parent = "body"
        for i in range(depth):
            link = f"limb_{k}_{i}"
            at = fw.pose((0.0, 0.0, -0.2), rpy=(0.0 if i else 6.0 * k / limbs, 0.0, 0.0))
            builder.solid(link, "capsule", (0.02, 0.2), mass=0.5, placement=(0.0, 0.0, -0.1))
            builder.joint(f"{link}_joint", "revolute", parent, link, placement=at, axis="xyz"[i % 3])
            parent = link
    model = builder.build(floating_base=True)
    return model, [fw.FrameConstraint(f"limb_{k}_{depth - 1}") for k in range(limbs)]


@cache
def compiled(family: Callable[..., Problem], *sizes: int) -> tuple[fw.Model, fw.ConstraintSet]:
    model, constraints = family(*sizes)
    return model, fw.ConstraintSet(model, constraints)


@cache
def operations(kernel: str, family: Callable[..., Problem], *sizes: int) -> int:
    model, constraints = compiled(family, *sizes)
    damping = np.full(constraints.n_rows, 1e3)  # of the inverse: enough for all rows to be springs
    return total_flops(_testing.operation_counts(model, kernel, constraints=constraints, targets=damping))


def per_trunk_joint(kernel: str, limbs: int, trunk: int = 16) -> float:
    """What one more joint costs that carries the rows of all limbs."""
    return (operations(kernel, broom, 2 * trunk, limbs) - operations(kernel, broom, trunk, limbs)) / trunk


def per_limb_joints(kernel: str, limbs: int, depth: int = 4) -> float:
    """What one more joint in every limb costs."""
    return (operations(kernel, star, limbs, 2 * depth) - operations(kernel, star, limbs, depth)) / depth


def doubled(cost: Callable[[int], float], size: int) -> float:
    return float(np.log2(cost(2 * size) / cost(size)))


# How each family is grown, and by which power the cost is then said to grow. Every limb ends with six rows.
FAMILIES: dict[str, Callable[[str], float]] = {
    "chain over n": lambda kernel: doubled(lambda n: operations(kernel, anchored_chain, n), 128),
    "trunk joint over m": lambda kernel: doubled(lambda limbs: per_trunk_joint(kernel, limbs), 32),
    "trunk joint over d": lambda kernel: doubled(lambda d: per_trunk_joint(kernel, 4, d), 32),
    "limb joints over m": lambda kernel: doubled(lambda limbs: per_limb_joints(kernel, limbs), 32),
    "limb joints over d": lambda kernel: doubled(lambda d: per_limb_joints(kernel, 4, d), 16),
}

# Linear in n, and a joint costs the same wherever it is; over m it costs the power of the rows it carries.
RECURSIVE: dict[str, float] = {"chain over n": 1, "trunk joint over d": 0, "limb joints over d": 0}
EXPONENTS: dict[str, dict[str, float]] = {
    # O(n d^2 + m d^2 + m^2 d): a joint costs more the deeper it is, at these sizes for the rows that it carries
    "ltl_osim": {"chain over n": 3, "trunk joint over d": 1, "limb joints over m": 1, "limb joints over d": 1},
    # O(n + m^2 d), d counted beyond the link where two paths meet: all limbs cross the joints of a limb, pair by pair
    "kjr": {**RECURSIVE, "trunk joint over m": 0, "limb joints over m": 2},
    # O(n + m d + m^2): each row crosses each of its joints on its own
    "efpa": {**RECURSIVE, "trunk joint over m": 1, "limb joints over m": 1},
    # O(n + m^2 d): all rows of a joint meet there
    "pv_osim": {**RECURSIVE, "trunk joint over m": 2, "limb joints over m": 1},
    # O(n + m^2): whatever a joint of the trunk carries, six rows cross it
    "pv_osimr": {**RECURSIVE, "trunk joint over m": 0, "limb joints over m": 1},
    # O(n + m^2), the inverse: the same on stiffened links
    "caba_osim": {**RECURSIVE, "trunk joint over m": 0, "limb joints over m": 1},
}

CLAIMS = [(kernel, family, power) for kernel, claims in EXPONENTS.items() for family, power in claims.items()]


@pytest.mark.parametrize(("kernel", "family", "power"), CLAIMS)
def test_cost_grows_as_claimed(kernel: str, family: str, power: float) -> None:
    """Lower powers are still felt at these sizes, hence the tolerance."""
    assert FAMILIES[family](kernel) == pytest.approx(power, abs=0.35 if power == 3 else 0.25)


def test_a_row_costs_a_joint_no_more_than_counted() -> None:
    """On its way in and out again: the constant behind the linear growth, at the time of writing."""
    assert (per_trunk_joint("efpa", 64) - per_trunk_joint("efpa", 32)) / (6 * 32) <= 78
