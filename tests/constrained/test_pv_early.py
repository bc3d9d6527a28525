"""Forces eliminated on the way to the root, against a dense solve that shares no code with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from helpers.compare import EPS, assert_close, assert_same_bits, relative_error
from helpers.forests import AxisKind, Forest, LinkPlan, random_forest
from helpers.instruction_sets import AVAILABLE, instruction_set

import featherweight as fw
from featherweight import ConstrainedSolution
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import ROWS, Constraint
from featherweight.model.description import JointType

#: Of the mobility of a row: what is added to all, and moves no solution.
PROXIMAL = 1e-10
FEET = [f"{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]


def dense(
    model: fw.Model, q: Array, v: Array, tau: Array, constraints: Sequence[Constraint], f_ext: Array | None = None
) -> tuple[Array, Array, float]:
    """Acceleration, forces of least norm, and the condition of the rows (infinite where they depend on each other).

    Gauss' principle with H = C C^T and Y = J C^-T: a = free + C^-T Y^+ (b - J free). No rank is assumed.
    """
    H, free = fw.crba(model, q), fw.aba(model, q, v, tau, f_ext=f_ext)
    J_rows, b_rows = [], []
    for c in constraints:
        rows = [ROWS.index(row) for row in c.rows]
        point = isinstance(c, fw.PointConstraint)
        drift = fw.frame_acceleration(model, q, v, np.zeros(model.nv), c.frame, classical=point)
        J_rows.append(fw.jacobian(model, q, c.frame)[rows])
        b_rows.append(np.broadcast_to(np.asarray(c.acceleration, float), len(rows)) - drift[rows])
    J, b = np.vstack(J_rows), np.concatenate(b_rows)
    C = np.linalg.cholesky(H)
    Y = np.linalg.solve(C, J.T).T
    sizes = np.linalg.svd(Y, compute_uv=False)
    Y_inverse = np.linalg.pinv(Y, rcond=1e-7)
    step = Y_inverse @ (b - J @ free)
    independent = len(b) <= model.nv and sizes[-1] > 1e-7 * sizes[0]
    condition = float(sizes[0] / sizes[-1]) ** 2 if independent else np.inf
    return free + np.linalg.solve(C.T, step), Y_inverse.T @ step, condition


def solve(
    model: fw.Model, q: Array, v: Array, tau: Array, constraints: Sequence[Constraint], **options: object
) -> ConstrainedSolution:
    return fw.constrained_dynamics(model, q, v, tau, constraints, method="pv_early", **options)  # type: ignore[arg-type]


def random_constraints(model: fw.Model, frames: Sequence[str], seed: int) -> list[Constraint]:
    """Up to four, with some of their rows, on frames that can move."""
    rng = np.random.default_rng([seed, 31])
    constraints: list[Constraint] = []
    for _ in range(int(rng.integers(1, 5))):
        frame = frames[int(rng.integers(len(frames)))]
        made: Constraint
        if rng.integers(2):
            rows = [row for row in ROWS[:3] if rng.integers(3)] or ["y"]
            made = fw.PointConstraint(frame, rows=rows, acceleration=rng.standard_normal(len(rows)))
        else:
            rows = [row for row in ROWS if rng.integers(2)] or ["rz"]
            made = fw.FrameConstraint(frame, rows=rows, acceleration=rng.standard_normal(len(rows)))
        try:
            fw.ConstraintSet(model, [made])
        except ValueError:  # the world holds that frame
            continue
        constraints.append(made)
    return constraints


def test_forests_of_all_joints_agree_with_the_dense_solve() -> None:
    regular, dependent = [], []
    for seed in range(200):
        forest = random_forest(seed, n_links=4 + seed % 24)
        model, s = fw.Model(forest.description), forest.state()
        constraints = random_constraints(model, forest.frame_names, seed)
        if not constraints:
            continue
        a, forces, condition = dense(model, s.q, s.v, s.tau, constraints, s.f_ext)
        solution = solve(model, s.q, s.v, s.tau, constraints, f_ext=s.f_ext)
        if condition <= 1e5:
            regular.append(relative_error(solution.a, a))
            assert_close(solution.forces, forces, 1e-9)
            assert solution.residual < 1e-9
        elif condition == np.inf:
            dependent.append(relative_error(solution.a, a))
            assert_close(solution.forces, forces, EPS / PROXIMAL)  # along rows that move nothing
        assert solution.converged
    assert len(regular) > 40
    assert max(regular) < 1e-10
    assert np.median(regular) < 1e-13
    assert len(dependent) > 40
    assert max(dependent) < 1e-9


def comb(seed: int, fingers: int, joints: int = 2, base: JointType = "free") -> Forest:
    """A base with ``fingers`` chains of hinges on it."""
    axes: tuple[AxisKind, ...] = ("+x", "+y", "tilted")
    chain = [
        LinkPlan("revolute", up=0 if k or not finger else joints, axis=axes[(finger + k) % 3], placement="shifted")
        for finger in range(fingers)
        for k in range(joints)
    ]
    return Forest((LinkPlan(base), *chain), seed)


@pytest.mark.parametrize("fingers", [2, 3, 9])
@pytest.mark.parametrize("kind", ["point", "weld"])
def test_many_children_bring_more_rows_than_a_link_can_hold(fingers: int, kind: str) -> None:
    """Chains too short for their rows: what they leave meets on the base, redundant there for three welds and more."""
    forest = comb(fingers, fingers)
    model, s = fw.Model(forest.description), forest.state()
    tips = [f"link_{2 * finger + 2}" for finger in range(fingers)]
    constraints: list[Constraint] = [
        fw.PointConstraint(tip) if kind == "point" else fw.FrameConstraint(tip) for tip in tips
    ]
    a, _, _ = dense(model, s.q, s.v, s.tau, constraints)
    solution = solve(model, s.q, s.v, s.tau, constraints)
    assert_close(solution.a, a, 1e-10)
    assert solution.converged


@pytest.mark.parametrize("count", [2, 3, 7])
def test_one_link_with_many_rows_of_its_own(count: int) -> None:
    """Points on a plate: three of them are a weld, the rest repeats it."""
    forest = comb(5, 2, joints=4)
    model, s = fw.Model(forest.description), forest.state()
    rng = np.random.default_rng(count)
    offsets = rng.uniform(-0.2, 0.2, (count, 3))
    points: list[Constraint] = [fw.PointConstraint("link_4", offset=offset) for offset in offsets]
    still = np.zeros_like(s.v)  # where all points can stay
    solution = solve(model, s.q, still, s.tau, points)
    if count > 2:
        welded, _, _ = dense(model, s.q, still, s.tau, [fw.FrameConstraint("link_4")])
        assert_close(solution.a, welded, 1e-10)
    # the forces explain the motion, together with everything else that acts
    wrench = np.zeros((len(model.link_names), 6))
    for k, offset in enumerate(offsets):
        wrench[4] += np.r_[solution.force(k), np.cross(offset, solution.force(k))]
    assert_close(fw.aba(model, s.q, still, s.tau, f_ext=wrench), solution.a, 1e-9)
    assert solution.residual < 1e-9


def test_rows_on_every_link_of_one_path() -> None:
    for seed in range(20):
        forest = Forest((LinkPlan("free"), *(LinkPlan("revolute", axis="tilted", placement="shifted"),) * 7), seed)
        model, s = fw.Model(forest.description), forest.state()
        constraints = [
            fw.FrameConstraint(f"link_{i}", rows=(ROWS[(i + seed) % 6],), acceleration=0.1 * i) for i in range(8)
        ]
        a, forces, condition = dense(model, s.q, s.v, s.tau, constraints)
        solution = solve(model, s.q, s.v, s.tau, constraints)
        if condition < 1e5:
            assert_close(solution.a, a, 1e-11)
            assert_close(solution.forces, forces, 1e-9)


@pytest.mark.parametrize("base", ["free", "spherical", "prismatic", "planar"])
def test_the_base_itself_is_held(base: JointType) -> None:
    forest = comb(3, 3, base=base)
    model, s = fw.Model(forest.description), forest.state()
    weld: list[Constraint] = [fw.FrameConstraint("link_0")]
    a, forces, _ = dense(model, s.q, s.v, s.tau, weld)
    solution = solve(model, s.q, s.v, s.tau, weld)
    assert_close(solution.a, a, 1e-11)
    assert_close(solution.forces, forces, 1e-9)


def test_trees_do_not_feel_each_other() -> None:
    one, two = LinkPlan("free"), LinkPlan("spherical", up=9)
    hinge = LinkPlan("revolute", axis="tilted", placement="shifted")
    forest = Forest((one, hinge, hinge, two, hinge, hinge), 4)
    model, s = fw.Model(forest.description), forest.state()
    both = solve(model, s.q, s.v, s.tau, [fw.PointConstraint("link_2"), fw.PointConstraint("link_5")])
    alone = solve(model, s.q, s.v, s.tau, [fw.PointConstraint("link_5")])
    assert_close(both.a[8:], alone.a[8:], 1e-12)
    assert_close(both.force(1), alone.force(0), 1e-12)


@pytest.fixture(scope="module")
def standing() -> tuple[fw.Model, Array, Array, Array]:
    model = fw.models.quadruped()
    rng = np.random.default_rng(1)
    return model, model.random(rng, batch=37), rng.standard_normal((37, model.nv)), rng.standard_normal((37, model.nv))


def test_straight_legs_are_singular(standing: tuple[fw.Model, Array, Array, Array]) -> None:
    """At q = 0 no joint moves a foot along its leg; the base does, and all four feet are held."""
    model, _, v, tau = standing
    feet: list[Constraint] = [fw.PointConstraint(foot) for foot in FEET]
    a, forces, _ = dense(model, model.neutral(), v[0], tau[0], feet)
    solution = solve(model, model.neutral(), v[0], tau[0], feet)
    assert_close(solution.a, a, 1e-10)
    assert_close(solution.forces, forces, 1e-8)
    assert solution.converged


@pytest.mark.parametrize("bend", [1e-1, 1e-2, 1e-3, 1e-4])
def test_legs_that_are_nearly_straight(bend: float, standing: tuple[fw.Model, Array, Array, Array]) -> None:
    model, _, v, tau = standing
    q = model.neutral()
    q[9::3] += bend
    feet: list[Constraint] = [fw.PointConstraint(foot) for foot in FEET]
    solution = solve(model, q, v[0], tau[0], feet)
    H, h = fw.crba(model, q), fw.bias_forces(model, q, v[0])
    J = np.vstack([fw.jacobian(model, q, foot)[:3] for foot in FEET])
    assert_close(H @ solution.a + h, tau[0] + J.T @ solution.forces, 1e-9)  # whatever the forces, they explain a
    assert solution.residual < 1e-6


def test_two_welds_on_one_foot_share_its_force(standing: tuple[fw.Model, Array, Array, Array]) -> None:
    model, q, v, tau = standing
    feet: list[Constraint] = [fw.PointConstraint(foot) for foot in FEET]
    once = solve(model, q, v, tau, feet)
    twice = solve(model, q, v, tau, [*feet, feet[0]])
    assert_close(twice.a, once.a, 1e-10)
    assert_close(twice.force(0), once.force(0) / 2, 1e-7)
    assert_close(twice.force(4), once.force(0) / 2, 1e-7)


def test_contradictory_rows_meet_half_way(standing: tuple[fw.Model, Array, Array, Array]) -> None:
    model, q, v, tau = standing
    up, down = (fw.PointConstraint(FEET[0], acceleration=x) for x in (1.0, -1.0))
    solution = solve(model, q, v, tau, [up, down])
    middle = solve(model, q, v, tau, [fw.PointConstraint(FEET[0])])
    assert_close(solution.a, middle.a, 1e-10)
    assert_close(solution.residual, np.ones(37), 1e-9)
    assert solution.converged.all()


def test_every_sample_has_its_own_active_constraints(standing: tuple[fw.Model, Array, Array, Array]) -> None:
    model, q, v, tau = standing
    feet: list[Constraint] = [fw.PointConstraint(foot) for foot in FEET]
    active = np.random.default_rng(2).random((37, 4)) > 0.5
    active[5] = False
    solution = solve(model, q, v, tau, feet, active=active)
    for k in range(37):
        held = [foot for foot, on in zip(feet, active[k], strict=True) if on]
        a = dense(model, q[k], v[k], tau[k], held)[0] if held else fw.aba(model, q[k], v[k], tau[k])
        assert_close(solution.a[k], a, 1e-11)
        for c in range(4):
            assert active[k, c] or not solution.force(c)[k].any()


def test_a_sample_keeps_its_bits_whatever_its_neighbours_do(standing: tuple[fw.Model, Array, Array, Array]) -> None:
    """Beside it: straight legs whose rows go elsewhere, fewer feet, contradictory ones."""
    model, q, v, tau = standing
    q = q.copy()
    q[1::3] = model.neutral()
    feet = fw.ConstraintSet(
        model, [fw.PointConstraint(foot) for foot in FEET] + [fw.PointConstraint(FEET[0], acceleration=1.0)]
    )
    active = np.random.default_rng(3).random((37, 5)) > 0.3
    active[::2, 4] = False
    together = fw.constrained_dynamics(model, q, v, tau, feet, method="pv_early", active=active)
    for k in (0, 1, 2, 20, 36):
        alone = fw.constrained_dynamics(model, q[k], v[k], tau[k], feet, method="pv_early", active=active[k])
        assert_same_bits(alone.a, together.a[k])
        assert_same_bits(alone.forces, together.forces[k])
        assert alone.iterations == together.iterations[k]


def test_compliance_yields_in_proportion_to_the_force(standing: tuple[fw.Model, Array, Array, Array]) -> None:
    model, q, v, tau = standing
    compliance = np.array([0.1, 20.0, 0.3])
    soft = solve(model, q, v, tau, [fw.PointConstraint(foot, compliance=compliance) for foot in FEET])
    for k in range(37):
        for c, foot in enumerate(FEET):
            moved = fw.frame_acceleration(model, q[k], v[k], soft.a[k], foot, classical=True)[:3]
            assert_close(moved, -compliance * soft.force(c)[k], 1e-9)
        J = np.vstack([fw.jacobian(model, q[k], foot)[:3] for foot in FEET])
        explained = fw.aba(model, q[k], v[k], tau[k] + J.T @ soft.forces[k])
        assert_close(soft.a[k], explained, 1e-10)


@pytest.mark.parametrize("isa", AVAILABLE)
def test_instruction_sets_agree(isa: str, standing: tuple[fw.Model, Array, Array, Array]) -> None:
    model, q, v, tau = standing
    feet: list[Constraint] = [fw.PointConstraint(foot) for foot in FEET]
    expected = solve(model, q, v, tau, feet)
    with instruction_set(isa):
        assert_close(solve(model, q, v, tau, feet).a, expected.a, 1e-10)
