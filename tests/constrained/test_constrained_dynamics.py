"""Constrained forward dynamics of the core against a dense solve that shares no code with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from helpers.constraints import dense_rows
from helpers.forests import State, random_forest
from numpy.typing import NDArray

import featherweight as fw
from featherweight.constraints.constraint_set import ROWS, Constraint
from featherweight.constraints.dynamics import Method
from featherweight.reference.constraints import Rows, Solution, frame_rows, point_rows
from featherweight.reference.kkt import equations, kkt

Array = NDArray[np.float64]
EXACT: list[Method] = ["pv", "ltl"]  # for independent rows
ROBUST: list[Method] = ["limb_pv", "prox_pv", "pv_early", "kkt"]  # for any rows
#: Of the rows' residual relative to 1 + what is asked of them, by default; and how many times that an iteration that
#: stops there may leave to all further ones, where rows contradict each other.
TOLERANCE, FURTHER = 1e-10, 10.0
FEET = [f"{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]


def dense(model: fw.Model, q: Array, v: Array, tau: Array, constraints: Sequence[Constraint]) -> tuple[Array, Array]:
    """Least-squares acceleration and least-norm forces by dense algebra."""
    H, h = fw.crba(model, q), fw.bias_forces(model, q, v)
    J, b, R = dense_rows(model, q, v, constraints)
    free = np.linalg.solve(H, tau - h)
    delassus = J @ np.linalg.solve(H, J.T) + R
    forces = np.linalg.pinv(delassus, rcond=1e-11, hermitian=True) @ (b - J @ free)
    return free + np.linalg.solve(H, J.T @ forces), forces


def error(got: Array, wanted: Array) -> float:
    return float(np.abs(got - wanted).max() / (1 + np.abs(wanted).max()))


def random_problem(seed: int) -> tuple[fw.Model, Array, Array, Array, list[Constraint]] | None:
    rng = np.random.default_rng(seed)
    model = fw.models.random_tree(seed, int(rng.integers(3, 30)), floating=bool(rng.integers(2)))
    q, v, tau = model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    constraints: list[Constraint] = []
    for _ in range(int(rng.integers(1, 4))):
        link = model.link_names[int(rng.integers(len(model.link_names)))]
        if rng.integers(2):
            constraints.append(fw.PointConstraint(link, acceleration=rng.standard_normal(3)))
        else:
            rows = [row for row in ROWS if rng.integers(2)] or ["z"]
            constraints.append(fw.FrameConstraint(link, rows=rows))
    try:
        fw.ConstraintSet(model, constraints)
    except ValueError:  # a frame the world holds
        return None
    return model, q, v, tau, constraints


def test_random_trees_agree_with_the_dense_solve() -> None:
    """Where the rows are independent: cond(J H^-1 J^T) <= 1e5."""
    errors: dict[Method, list[float]] = {method: [] for method in [*EXACT, *ROBUST]}
    for seed in range(150):
        if (problem := random_problem(seed)) is None:
            continue
        model, q, v, tau, constraints = problem
        J = np.vstack([fw.jacobian(model, q, c.frame)[[ROWS.index(r) for r in c.rows]] for c in constraints])
        if np.linalg.cond(J @ fw.minverse(model, q) @ J.T) > 1e5:
            continue
        a, forces = dense(model, q, v, tau, constraints)
        for method, found in errors.items():
            solution = fw.constrained_dynamics(model, q, v, tau, constraints, method=method)
            assert solution.converged
            found.append(error(solution.a, a))
            assert error(solution.forces, forces) < 1e-8
    assert len(errors["pv"]) > 30
    for method, found in errors.items():
        assert max(found) < 1e-10, method
        assert np.median(found) < 1e-13, method


@dataclass(frozen=True, eq=False)
class ForestProblem:
    """Constraints on links of any joint type, with armature and external forces, solved by the dense twin."""

    model: fw.Model
    state: State
    constraints: list[Constraint]
    expected: Solution
    condition: float  # of J H^-1 J^T, without the eigenvalues that are zero
    singular: bool

    def solve(self, method: Method) -> fw.ConstrainedSolution:
        s = self.state
        return fw.constrained_dynamics(self.model, s.q, s.v, s.tau, self.constraints, method=method, f_ext=s.f_ext)


def forest_problem(seed: int) -> ForestProblem:
    rng = np.random.default_rng(seed)
    forest = random_forest(seed, 2 + seed % 15)
    description, s, model = forest.description, forest.state(), fw.Model(forest.description)
    moving = [frame for frame in forest.frame_names if fw.jacobian(model, s.q, frame).any()]
    constraints: list[Constraint] = []
    rows: list[Rows] = []
    for frame in rng.choice(moving, rng.integers(1, 4)).tolist():
        axes = rng.permutation(6)[: rng.integers(1, 7)].tolist()
        desired = rng.normal(size=len(axes))
        is_point = max(axes) < 3
        make, make_rows = (fw.PointConstraint, point_rows) if is_point else (fw.FrameConstraint, frame_rows)
        constraints.append(make(frame, rows=[ROWS[axis] for axis in axes], acceleration=desired))
        rows.append(make_rows(description, s.q, s.v, frame, axes=axes, desired=desired))
    H, _, J, _ = equations(description, s.q, s.v, rows, s.f_ext)
    values = np.linalg.eigvalsh(J @ np.linalg.solve(H, J.T))
    regular = values[values > 1e-13 * values[-1]]
    expected = kkt(description, s.q, s.v, s.tau, rows, s.f_ext)
    return ForestProblem(model, s, constraints, expected, values[-1] / regular[0], regular.size < values.size)


@pytest.fixture(scope="module")
def forest_problems() -> list[ForestProblem]:
    seeds = [seed for seed in range(90) if fw.Model(random_forest(seed, 2 + seed % 15).description).nv]
    return [forest_problem(seed) for seed in seeds]


@pytest.mark.parametrize("method", [*EXACT, *ROBUST])
def test_forests_of_every_joint_type_agree_with_the_dense_twin(
    forest_problems: list[ForestProblem], method: Method
) -> None:
    errors = []
    for problem in forest_problems:
        if not problem.singular and problem.condition <= 1e5:
            solution = problem.solve(method)
            assert solution.converged
            assert error(solution.forces, np.concatenate(problem.expected.forces)) < 1e-8
            errors.append(error(solution.a, problem.expected.a))
    assert len(errors) > 20
    assert max(errors) < 1e-10
    assert np.median(errors) < 1e-13


@pytest.mark.parametrize("method", ROBUST)
def test_singular_forests_agree_with_the_dense_twin(forest_problems: list[ForestProblem], method: Method) -> None:
    """Redundant or more rows than degrees of freedom, mostly contradictory."""
    errors = []
    for problem in forest_problems:
        if problem.singular and problem.condition <= 1e8:
            solution = problem.solve(method)
            assert solution.converged
            _, asked, _ = dense_rows(problem.model, problem.state.q, problem.state.v, problem.constraints)
            left = FURTHER * TOLERANCE * (1 + np.abs(asked).max())
            assert abs(solution.residual - problem.expected.residual) <= left
            errors.append(error(solution.a, problem.expected.a))
    assert len(errors) > 20
    assert max(errors) < 1e-9


@pytest.mark.parametrize("method", ROBUST)
def test_singular_redundant_and_contradictory_rows_give_the_least_squares_acceleration(method: Method) -> None:
    hard = 0
    for seed in range(150):
        if (problem := random_problem(seed)) is None:
            continue
        model, q, v, tau, constraints = problem
        doubled: list[Constraint] = [*constraints, constraints[0]]  # redundant at least
        if seed % 2:
            again = constraints[0]
            doubled[-1] = type(again)(again.frame, rows=again.rows, acceleration=1.0)  # and contradictory
        J = np.vstack([fw.jacobian(model, q, c.frame)[[ROWS.index(r) for r in c.rows]] for c in doubled])
        values = np.linalg.eigvalsh(J @ fw.minverse(model, q) @ J.T)
        if ((values > 1e-13 * values[-1]) & (values < 1e-8 * values[-1])).any():
            continue  # neither singular nor regular: the dense oracle itself cannot tell
        a, _ = dense(model, q, v, tau, doubled)
        solution = fw.constrained_dynamics(model, q, v, tau, doubled, method=method)
        assert solution.converged
        assert error(solution.a, a) < 1e-9
        hard += 1
    assert hard > 60


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_nothing_can_follow_change_nothing(seed: int) -> None:
    """Asked to accelerate across the only direction it can move in: along it, J is zero but for rounding."""
    rng = np.random.default_rng(seed)
    axis = rng.standard_normal(3)
    across = np.linalg.qr(np.column_stack([axis, rng.standard_normal((3, 2))]))[0]
    across[:, 0] *= np.linalg.det(across)
    offset = np.eye(4)
    offset[:3, :3] = across
    builder = fw.ModelBuilder("slider")
    builder.link("carriage", mass=1.0, com=rng.standard_normal(3))
    builder.joint("rail", "prismatic", "world", "carriage", axis=axis, placement=fw.pose(rpy=rng.standard_normal(3)))
    model = builder.build()
    wish = [fw.FrameConstraint("carriage", rows=("y", "z"), offset=offset, acceleration=(1.0, 2.0))]
    solution = fw.constrained_dynamics(model, [0.3], [0.2], [1.0], wish)
    assert solution.converged
    np.testing.assert_allclose(solution.residual, 2.0, rtol=1e-9)
    np.testing.assert_allclose(solution.a, fw.aba(model, [0.3], [0.2], [1.0]), rtol=1e-12)


@pytest.fixture(scope="module")
def standing() -> tuple[fw.Model, Array, Array, Array]:
    model = fw.models.quadruped()
    rng = np.random.default_rng(1)
    return model, model.random(rng, batch=97), rng.standard_normal((97, model.nv)), rng.standard_normal((97, model.nv))


@pytest.mark.parametrize("method", [*EXACT, *ROBUST])
def test_every_sample_has_its_own_active_constraints(
    standing: tuple[fw.Model, Array, Array, Array], method: Method
) -> None:
    model, q, v, tau = standing
    feet = [fw.PointConstraint(foot) for foot in FEET]
    active = np.random.default_rng(2).random((97, 4)) > 0.5
    solution = fw.constrained_dynamics(model, q, v, tau, feet, active=active, method=method)
    for k in range(97):
        held = [foot for foot, on in zip(feet, active[k], strict=True) if on]
        a = dense(model, q[k], v[k], tau[k], held)[0] if held else fw.aba(model, q[k], v[k], tau[k])
        assert error(solution.a[k], a) < 1e-11
        for c in range(4):
            assert active[k, c] or not solution.force(c)[k].any()


@pytest.mark.parametrize("method", [*EXACT, *ROBUST])
def test_a_sample_keeps_its_bits_whatever_its_neighbours_do(
    standing: tuple[fw.Model, Array, Array, Array], method: Method
) -> None:
    model, q, v, tau = standing
    feet = fw.ConstraintSet(
        model, [fw.PointConstraint(foot) for foot in FEET] + [fw.PointConstraint(FEET[0], acceleration=1.0)]
    )
    active = np.ones((97, 5), bool)
    active[::2, 4] = False  # every other sample is feasible, its neighbours are not
    together = fw.constrained_dynamics(model, q, v, tau, feet, active=active, method=method)
    for k in (0, 1, 50, 96):
        alone = fw.constrained_dynamics(model, q[k], v[k], tau[k], feet, active=active[k], method=method)
        np.testing.assert_array_equal(alone.a, together.a[k])
        np.testing.assert_array_equal(alone.forces, together.forces[k])
    threaded = fw.constrained_dynamics(model, q, v, tau, feet, active=active, num_threads=1, method=method)
    np.testing.assert_array_equal(threaded.a, together.a)
    assert together.converged[::2].all()
    assert (together.residual[::2] < 1e-9).all()
    if method in EXACT:
        assert not together.converged[1::2].any()
    else:
        assert (together.residual[1::2] > 0.1).all()


@pytest.mark.parametrize("method", EXACT)
def test_exact_methods_say_so_when_rows_are_redundant(
    standing: tuple[fw.Model, Array, Array, Array], method: Method
) -> None:
    model, q, v, tau = standing
    twice = [fw.PointConstraint(FEET[0]), fw.PointConstraint(FEET[0])]
    assert not fw.constrained_dynamics(model, q, v, tau, twice, method=method).converged.any()
    assert fw.constrained_dynamics(model, q, v, tau, twice[:1], method=method).converged.all()


@pytest.mark.parametrize("method", [*EXACT, *ROBUST])
def test_compliance_yields_in_proportion_to_the_force(
    standing: tuple[fw.Model, Array, Array, Array], method: Method
) -> None:
    model, q, v, tau = standing
    soft = [fw.PointConstraint(foot, compliance=(0.1, 0.2, 0.3)) for foot in FEET]
    solution = fw.constrained_dynamics(model, q[0], v[0], tau[0], soft, method=method)
    a, forces = dense(model, q[0], v[0], tau[0], soft)
    assert error(solution.a, a) < 1e-12
    assert error(solution.forces, forces) < 1e-12


def test_a_held_robot_stands_on_its_weight() -> None:
    model = fw.models.quadruped()
    rest = np.zeros(model.nv)
    hold = fw.constrained_dynamics(model, model.neutral(), rest, rest, [fw.FrameConstraint(model.link_names[0])])
    hang = fw.constrained_dynamics(
        model,
        model.neutral(),
        rest,
        fw.gravity_forces(model, model.neutral()) * np.r_[np.zeros(6), np.ones(12)],
        [fw.FrameConstraint(model.link_names[0])],
    )
    np.testing.assert_allclose(hold.a[:6], 0, atol=1e-10)
    np.testing.assert_allclose(hang.forces[2], model.mass * 9.81, rtol=1e-12)  # joints held too: the whole weight


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"constraints": []}, "at least one"),
        ({"constraints": [fw.PointConstraint("nose")]}, "unknown frame 'nose'"),
        ({"constraints": ["front_left_foot"]}, "expected one of PointConstraint"),
        ({"constraints": [fw.PointConstraint(FEET[0], rows=("x", "rx"))]}, "rows must be distinct and among x, y, z"),
        ({"constraints": [fw.PointConstraint(FEET[0], rows=("x", "x"))]}, "rows must be distinct"),
        ({"constraints": [fw.PointConstraint(FEET[0], compliance=-1.0)]}, "compliance must not be negative"),
        ({"constraints": [fw.PointConstraint(FEET[0], acceleration=np.nan)]}, "acceleration must be"),
        ({"constraints": [fw.FrameConstraint(FEET[0], offset=2 * np.eye(4))]}, "rigid motion"),
        ({"method": "magic"}, "method: expected one of"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"active": np.ones(4)}, "active: expected an array of bool"),
        ({"active": np.ones(3, bool)}, r"active: expected shape \(1,\)"),
        ({"q": np.full(19, np.nan)}, "q: entry 0"),
    ],
)
def test_nonsense_is_refused(change: dict[str, object], complaint: str) -> None:
    model = fw.models.quadruped()
    rest = np.zeros(model.nv)
    arguments = {"q": model.neutral(), "v": rest, "tau": rest, "constraints": [fw.PointConstraint(FEET[0])]}
    with pytest.raises(ValueError, match=complaint):
        fw.constrained_dynamics(model, **{**arguments, **change})  # type: ignore[arg-type]


def test_a_set_belongs_to_its_model() -> None:
    one, other = fw.models.quadruped(), fw.models.quadruped()
    feet = fw.ConstraintSet(one, [fw.PointConstraint(FEET[0])])
    rest = np.zeros(one.nv)
    with pytest.raises(ValueError, match="compiled for another model"):
        fw.constrained_dynamics(other, one.neutral(), rest, rest, feet)
