"""Rows as stiffness of their links, pv_soft and constrained_aba, against dense algebra that shares no code with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits, relative_error
from helpers.constraints import dense_rows
from helpers.forests import Forest, LinkPlan, random_forest

import featherweight as fw
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import ROWS, Constraint

FEET = [f"{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]


def dense(
    model: fw.Model, q: Array, v: Array, tau: Array, constraints: Sequence[Constraint], f_ext: Array | None = None
) -> tuple[Array, Array, Array]:
    """Least-squares acceleration, least-norm forces, and the singular values of what the rows see of the inertia.

    With H = C C^T and Y = J C^-T, the forces solve (Y Y^T + R) f = b; without R that is done by the singular values of
    Y, whose condition is only the root of that of the matrix.
    """
    H, h = fw.crba(model, q), fw.rnea(model, q, v, np.zeros(model.nv), f_ext)
    J, targets, R = dense_rows(model, q, v, constraints)
    C = np.linalg.cholesky(H)
    Y = np.linalg.solve(C, J.T).T
    free = np.linalg.solve(H, tau - h)
    b = targets - J @ free
    values = np.linalg.svd(Y, compute_uv=False)
    if R.any():
        forces = np.linalg.solve(Y @ Y.T + R, b)
    else:
        inverse = np.linalg.pinv(Y, rcond=1e-9)
        forces = inverse.T @ (inverse @ b)
    a = free + np.linalg.solve(C.T, Y.T @ forces)
    return a, np.asarray(forces, np.float64), np.asarray(values, np.float64)


def forest_problems(n: int) -> Iterator[tuple[fw.Model, dict[str, Array], list[Constraint], np.random.Generator]]:
    """Every joint type on the way to rows on links anywhere."""
    for seed in range(n):
        forest, rng = random_forest(seed, 3 + seed % 13), np.random.default_rng([seed, 31])
        model, s = fw.Model(forest.description), forest.state()
        constraints: list[Constraint] = []
        for _ in range(int(rng.integers(1, 4))):
            link = model.link_names[int(rng.integers(model.n_links))]
            if rng.integers(2):
                constraints.append(fw.PointConstraint(link, acceleration=rng.standard_normal(3)))
            else:
                constraints.append(fw.FrameConstraint(link, rows=[row for row in ROWS if rng.integers(2)] or ["z"]))
        try:
            fw.ConstraintSet(model, constraints)
        except ValueError:  # a frame the world holds
            continue
        yield model, {"q": s.q, "v": s.v, "tau": s.tau, "f_ext": s.f_ext}, constraints, rng


def softened(constraints: Sequence[Constraint], rng: np.random.Generator) -> list[Constraint]:
    return [
        type(c)(c.frame, rows=c.rows, acceleration=c.acceleration, compliance=rng.uniform(0.05, 5.0, len(c.rows)))
        for c in constraints
    ]


def test_soft_rows_agree_with_the_dense_system_for_every_joint() -> None:
    errors = []
    for model, state, constraints, rng in forest_problems(150):
        soft = softened(constraints, rng)
        solution = fw.constrained_dynamics(model, constraints=soft, method="pv_soft", **state)  # type: ignore[arg-type]
        a, forces, _ = dense(model, constraints=soft, **state)
        assert solution.converged
        errors.append(max(relative_error(solution.a, a), relative_error(solution.forces, forces)))
    assert len(errors) > 100
    assert max(errors) < 1e-11


def test_rigid_rows_agree_with_the_dense_solve_for_every_joint() -> None:
    """Independent, redundant, singular and contradictory rows as they come; nearly singular ones are left out."""
    errors, regular, iterations = [], 0, []
    for model, state, constraints, _ in forest_problems(200):
        a, forces, values = dense(model, constraints=constraints, **state)
        if ((values > 1e-9 * values[0]) & (values < 1e-3 * values[0])).any():
            continue
        solution = fw.constrained_dynamics(model, constraints=constraints, method="constrained_aba", **state)  # type: ignore[arg-type]
        assert solution.converged
        errors.append(max(relative_error(solution.a, a), relative_error(solution.forces, forces)))
        iterations.append(solution.iterations)
        regular += bool(values[-1] > 1e-3 * values[0])
    assert 30 < regular < len(errors) - 30
    assert max(errors) < 1e-8
    assert np.median(errors) < 1e-10
    assert max(iterations) < 20


def test_stiffness_costs_a_chain_of_spherical_joints_no_more_digits_than_others() -> None:
    forest = Forest(tuple(LinkPlan("spherical", placement="general", child_placement="shifted") for _ in range(6)), 3)
    model, s = fw.Model(forest.description), forest.state()
    hold = [fw.PointConstraint("link_5")]
    solution = fw.constrained_dynamics(model, s.q, s.v, s.tau, hold, method="constrained_aba", tolerance=1e-13)
    assert relative_error(solution.a, dense(model, s.q, s.v, s.tau, hold)[0]) < 1e-9


def test_rigid_and_soft_rows_mix() -> None:
    for model, state, constraints, rng in forest_problems(40):
        first, *others = constraints
        if (dense(model, constraints=[first], **state)[2] < 1e-3).any():
            continue
        mixed = [first, *softened([*others, first], rng)]
        solution = fw.constrained_dynamics(model, constraints=mixed, method="constrained_aba", **state)  # type: ignore[arg-type]
        a, forces, _ = dense(model, constraints=mixed, **state)
        assert solution.converged
        assert relative_error(solution.a, a) < 1e-8
        assert relative_error(solution.forces, forces) < 1e-8


@pytest.fixture(scope="module")
def standing() -> tuple[fw.Model, Array, Array, Array]:
    """A quadruped on bent legs, 97 times."""
    model, rng = fw.models.quadruped(), np.random.default_rng(1)
    q = np.tile(model.neutral(), (97, 1))
    q[:, 7:] += np.tile([0.0, 0.7, -1.4], 4) + rng.uniform(-0.3, 0.3, (97, 12))
    return model, q, rng.standard_normal((97, model.nv)), rng.standard_normal((97, model.nv))


def test_a_standing_robot_needs_few_iterations(standing: tuple[fw.Model, Array, Array, Array]) -> None:
    model, q, v, tau = standing
    feet = [fw.PointConstraint(foot) for foot in FEET]
    solution = fw.constrained_dynamics(model, q, v, tau, feet, method="constrained_aba")
    assert solution.converged.all()
    assert solution.iterations.max() <= 4
    for k in range(97):
        a, forces, _ = dense(model, q[k], v[k], tau[k], feet)
        assert relative_error(solution.a[k], a) < 1e-9
        assert relative_error(solution.forces[k], forces) < 1e-9


@pytest.mark.parametrize("method", ["constrained_aba", "pv_soft"])
def test_every_sample_has_its_own_active_constraints(
    standing: tuple[fw.Model, Array, Array, Array], method: str
) -> None:
    model, q, v, tau = standing
    feet = [fw.PointConstraint(foot, compliance=0.1 if method == "pv_soft" else 0.0) for foot in FEET]
    active = np.random.default_rng(2).random((97, 4)) > 0.5
    solution = fw.constrained_dynamics(model, q, v, tau, feet, active=active, method=method)  # type: ignore[arg-type]
    assert solution.converged.all()
    for k in range(97):
        held = [foot for foot, on in zip(feet, active[k], strict=True) if on]
        a = dense(model, q[k], v[k], tau[k], held)[0] if held else fw.aba(model, q[k], v[k], tau[k])
        assert relative_error(solution.a[k], a) < 1e-9
        for c in range(4):
            assert active[k, c] or not solution.force(c)[k].any()


def test_a_sample_keeps_its_bits_whatever_its_neighbours_do(standing: tuple[fw.Model, Array, Array, Array]) -> None:
    model, q, v, tau = standing
    q, tau = q.copy(), tau.copy()
    q[::3, 7:] = 0.0  # straight legs: singular
    tau[::7] *= 1e4
    impossible = fw.PointConstraint(FEET[0], acceleration=1.0)
    feet = fw.ConstraintSet(model, [*(fw.PointConstraint(foot) for foot in FEET), impossible])
    active = np.ones((97, 5), bool)
    active[::2, 4] = False  # every other sample is feasible, its neighbours are not
    together = fw.constrained_dynamics(model, q, v, tau, feet, active=active, method="constrained_aba")
    assert len(np.unique(together.iterations)) > 2
    for k in range(97):
        alone = fw.constrained_dynamics(model, q[k], v[k], tau[k], feet, active=active[k], method="constrained_aba")
        for name in ("a", "forces", "residual", "iterations", "converged"):
            assert_same_bits(getattr(alone, name), getattr(together, name)[k], f"{name} of sample {k}")


def test_forces_of_redundant_rows_are_shared(standing: tuple[fw.Model, Array, Array, Array]) -> None:
    model, q, v, tau = standing
    once = [fw.PointConstraint(foot) for foot in FEET]
    single = fw.constrained_dynamics(model, q, v, tau, once, method="constrained_aba")
    double = fw.constrained_dynamics(model, q, v, tau, once + once, method="constrained_aba")
    assert double.converged.all()
    assert relative_error(double.a, single.a) < 1e-9
    np.testing.assert_allclose(double.forces[:, :12], double.forces[:, 12:], atol=1e-8)
    np.testing.assert_allclose(2 * double.forces[:, :12], single.forces, rtol=1e-8, atol=1e-8)


def test_contradictory_rows_meet_halfway(standing: tuple[fw.Model, Array, Array, Array]) -> None:
    model, q, v, tau = standing
    up, down = (fw.FrameConstraint(FEET[0], acceleration=sign * np.ones(6)) for sign in (1.0, -1.0))
    rest = [fw.PointConstraint(foot) for foot in FEET[1:]]
    solution = fw.constrained_dynamics(model, q, v, tau, [up, *rest, down], method="constrained_aba")
    assert solution.converged.all()
    for k in range(97):
        a, forces, _ = dense(model, q[k], v[k], tau[k], [up, *rest, down])
        assert relative_error(solution.a[k], a) < 1e-8
        assert relative_error(solution.forces[k], forces) < 1e-7
    assert (solution.residual > 0.99).all()


def test_every_iteration_leaves_less(standing: tuple[fw.Model, Array, Array, Array]) -> None:
    model, q, v, tau = standing
    hold = fw.ConstraintSet(model, [fw.FrameConstraint(foot, rows=("x", "y", "z", "rx")) for foot in FEET[:2]])
    residuals = []
    for n in range(1, 4):
        solution = fw.constrained_dynamics(model, q, v, tau, hold, method="constrained_aba", max_iterations=n)
        assert (solution.iterations == n).all()
        assert not solution.converged.any()
        residuals.append(solution.residual)
    for before, after in pairwise(residuals):
        assert (after <= np.sqrt(8) * before).all()  # their norm cannot grow, so the largest of 8 cannot by more
        assert np.median(after) < 0.1 * np.median(before)


def test_numbers_beyond_all_bounds_end_too(standing: tuple[fw.Model, Array, Array, Array]) -> None:
    model, q, v, tau = standing
    feet = [fw.PointConstraint(foot) for foot in FEET]
    calm = fw.constrained_dynamics(model, q, v, tau, feet, method="constrained_aba")
    v = v.copy()
    v[5] = 1e200
    wild = fw.constrained_dynamics(model, q, v, tau, feet, method="constrained_aba")
    assert not wild.converged[5]
    others = np.arange(97) != 5
    assert_same_bits(wild.a[others], calm.a[others])


def test_pv_soft_says_so_when_rows_are_too_stiff(standing: tuple[fw.Model, Array, Array, Array]) -> None:
    model, q, v, tau = standing
    stiff = [fw.PointConstraint(FEET[0], compliance=(1e-10, 1.0, 1.0)), fw.PointConstraint(FEET[1], compliance=0.1)]
    active = np.ones((97, 2), bool)
    active[::2, 0] = False
    solution = fw.constrained_dynamics(model, q, v, tau, stiff, active=active, method="pv_soft")
    assert (solution.converged == ~active[:, 0]).all()


def test_pv_soft_refuses_rigid_rows() -> None:
    model = fw.models.quadruped()
    rest = np.zeros(model.nv)
    feet = [fw.PointConstraint(FEET[0], compliance=0.1), fw.PointConstraint(FEET[1], compliance=(0.1, 0.1, 0.0))]
    with pytest.raises(ValueError, match="constraint 1 on 'front_right_foot': method 'pv_soft' needs compliance > 0"):
        fw.constrained_dynamics(model, model.neutral(), rest, rest, feet, method="pv_soft")


ROBOTS: dict[str, tuple[str, dict[str, float], list[str], bool]] = {
    "Talos": (
        "talos_data/robots/talos_reduced.urdf",
        {"leg_.*_3_joint": -0.4, "leg_.*_4_joint": 0.8, "leg_.*_5_joint": -0.4},
        ["left_sole_link", "right_sole_link"],
        True,
    ),
    "Solo12": (
        "solo_description/robots/solo12.urdf",
        {".._HFE": 0.8, ".._KFE": -1.6},
        ["FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"],
        False,
    ),
    "ANYmal": (
        "anymal_c_simple_description/urdf/anymal.urdf",
        {".._HFE": 0.4, ".._KFE": -0.8},
        ["LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"],
        False,
    ),
}


@pytest.mark.robots
@pytest.mark.parametrize("name", ROBOTS)
def test_real_robots_on_bent_knees(name: str) -> None:
    model, q, constraints = _standing_robot(name)
    rng = np.random.default_rng(4)
    v, tau = rng.standard_normal((2, len(q), model.nv))
    solution = fw.constrained_dynamics(model, q, v, tau, constraints, method="constrained_aba")
    assert solution.converged.all()
    for k in range(len(q)):
        a, forces, _ = dense(model, q[k], v[k], tau[k], constraints)
        assert relative_error(solution.a[k], a) < 1e-8
        assert relative_error(solution.forces[k], forces) < 1e-8


def _standing_robot(name: str) -> tuple[fw.Model, Array, list[Any]]:
    path, stance, feet, flat = ROBOTS[name]
    try:
        root = Path(str(distribution("example-robot-data").locate_file("")))
    except PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    model = fw.load(root / "cmeel.prefix/share/example-robot-data/robots" / path, floating_base=True)
    rng = np.random.default_rng(3)
    q = np.tile(model.neutral(), (100, 1))
    q[:, 7:] += rng.uniform(-0.3, 0.3, (100, model.nq - 7))
    for joint in model.joint_names:
        for pattern, angle in stance.items():
            if re.fullmatch(pattern, joint):
                q[:, model.joint(joint).q_slice] += angle
    kind = fw.FrameConstraint if flat else fw.PointConstraint
    return model, q, [kind(foot) for foot in feet]
