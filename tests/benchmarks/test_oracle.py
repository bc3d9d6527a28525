"""The oracle of the benchmarks is right: it agrees with the twins to what doubles can tell."""

from __future__ import annotations

import numpy as np
import pytest

import featherweight as fw
from benchmarks import oracle
from benchmarks.cases import Case, load_cases
from benchmarks.conditioning import bent
from benchmarks.extended import orthonormal_basis, pseudo_inverse
from benchmarks.robots import BUILTIN_ROBOTS, Array, Samples, load_robots
from benchmarks.solvers import softened
from featherweight.constraints.constraint_set import Constraint
from featherweight.reference.constraints import Rows, frame_rows, point_rows
from featherweight.reference.kkt import kkt

CASES = list(load_cases(load_robots(list(BUILTIN_ROBOTS))))
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def twin_rows(model: fw.Model, q: Array, v: Array, constraint: Constraint) -> Rows:
    rows = point_rows if isinstance(constraint, fw.PointConstraint) else frame_rows
    return rows(model.description, q, v, str(constraint.frame))


@every_case
@pytest.mark.parametrize("bend", [1.0, 0.0])
def test_oracle_agrees_with_the_twin(case: Case, bend: float) -> None:
    """In ordinary postures and in singular ones, where both give the least-squares acceleration."""
    model, samples = case.robot.model, bent(case, bend)
    for q, v, tau in list(zip(samples.q, samples.v, samples.x, strict=True))[:3]:
        exact = oracle.solve(model, q, v, tau, case.constraints)
        twin = kkt(model.description, q, v, tau, [twin_rows(model, q, v, c) for c in case.constraints])
        np.testing.assert_allclose(exact.a, twin.a, rtol=1e-9, atol=1e-10 * (1 + np.abs(twin.a).max()))
        forces = np.concatenate(twin.forces)
        np.testing.assert_allclose(exact.forces, forces, rtol=1e-8, atol=1e-9 * (1 + np.abs(forces).max()))


@every_case
def test_soft_rows_give_way_in_proportion(case: Case) -> None:
    model, samples = case.robot.model, Samples.random(case.robot.model, 1)
    state = samples.q[0], samples.v[0], samples.x[0]
    soft = oracle.solve(model, *state, softened(case.constraints, 0.1))
    core = fw.constrained_dynamics(model, *state, softened(case.constraints, 0.1), method="pv")
    np.testing.assert_allclose(core.a, soft.a, rtol=1e-11, atol=1e-12 * np.abs(soft.a).max())


def test_extended_algebra_is_extended() -> None:
    """A matrix with singular values from 1 to 1e-6 and one that vanishes, inverted beyond what doubles could."""
    rng = np.random.default_rng(0)
    left, right = (orthonormal_basis(rng.standard_normal((6, 6)).astype(np.longdouble))[0] for _ in range(2))
    sizes = np.append(np.logspace(0, -6, 5, dtype=np.longdouble), 0)
    inverse = pseudo_inverse(left * sizes @ right.T)
    wanted = right * np.append(1 / sizes[:-1], 0) @ left.T
    digits = np.finfo(np.longdouble).eps
    assert np.abs(inverse - wanted).max() < 1e6 * digits * 1e6 * 100
