"""The constrained forward dynamics twins against dense linear algebra, on easy, redundant and impossible rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from helpers.compare import ROUNDING, assert_close, relative_error
from helpers.forests import Forest, LinkPlan, State, forests, leg, random_forest
from hypothesis import assume, given

from featherweight import Inertia, ModelDescription, reference
from featherweight.arrays import Array
from featherweight.model.description import Frame, Joint, Link
from featherweight.reference import dense
from featherweight.reference.articulated import articulate, compliances, driving, rigid_bodies
from featherweight.reference.constrained_aba import constrained_aba
from featherweight.reference.constraints import Rows, Solution, frame_rows, point_rows
from featherweight.reference.kkt import equations, kkt
from featherweight.reference.limb_pv import limb_pv
from featherweight.reference.ltl import ltl
from featherweight.reference.prox_pv import prox_pv
from featherweight.reference.pv import carry_to_world, pv
from featherweight.reference.pv_early import pv_early
from featherweight.reference.pv_soft import pv_soft
from featherweight.reference.spatial import motion_transform, pose, rotation

Method = Callable[..., Solution]
DIRECT: list[Method] = [ltl, pv]
EXACT_PROXIMAL: list[Method] = [prox_pv, pv_early, limb_pv]
PROXIMAL: list[Method] = [*EXACT_PROXIMAL, constrained_aba]
EVERY_METHOD: list[Method] = [*DIRECT, *PROXIMAL]


@dataclass(frozen=True, eq=False)
class Problem:
    description: ModelDescription
    state: State
    rows: list[Rows]

    def solve(self, method: Method, **options: float) -> Solution:
        s = self.state
        return method(self.description, s.q, s.v, s.tau, self.rows, s.f_ext, **options)

    @property
    def equations(self) -> tuple[Array, Array, Array, Array]:
        return equations(self.description, self.state.q, self.state.v, self.rows, self.state.f_ext)

    @property
    def condition(self) -> float:
        """Of the Delassus matrix; infinite where the rows depend on each other."""
        H, _, J, _ = self.equations
        singular_values = np.linalg.svd(J @ np.linalg.solve(H, J.T), compute_uv=False)
        return float(singular_values[0] / max(singular_values[-1], 1e-300)) if singular_values[0] > 0 else np.inf


def random_rows(forest: Forest, number: int) -> list[Rows]:
    """Points and frames on links of any tree and on frames, with any of their rows in any order."""
    rng = np.random.default_rng([forest.seed, number, 5])
    s, rows = forest.state(), []
    for _ in range(number):
        make, size = [(point_rows, 3), (frame_rows, 6)][rng.integers(2)]
        axes = rng.permutation(size)[: rng.integers(1, size + 1)].tolist()
        frame = rng.choice([name for name in forest.frame_names if name != "frame_0"])  # which sits on the world
        rows.append(make(forest.description, s.q, s.v, frame, axes=axes, desired=rng.normal(size=len(axes))))
    return rows


def random_problem(seed: int) -> Problem:
    forest = random_forest(seed, n_links=4 + seed % 14)
    return Problem(forest.description, forest.state(), random_rows(forest, 1 + seed % 3))


RANDOM = [random_problem(seed) for seed in range(90)]
REGULAR = [problem for problem in RANDOM if problem.condition <= 1e5]
DEPENDENT = [problem for problem in RANDOM if problem.condition >= 1e13]


def quadruped(seed: int) -> Forest:
    """A free base and four legs of three hinges."""
    hips = [LinkPlan("revolute", up=up, axis="+x", placement="shifted") for up in (0, 3, 3, 3)]
    return Forest((LinkPlan("free"), *(plan for hip in hips for plan in leg(hip))), seed)


def arm(angles: Sequence[float]) -> tuple[ModelDescription, Array]:
    """A planar arm of equal links along x, turning about z, with frame "hand" at its tip; and its configuration."""
    rod = Inertia(1.0, np.array([0.25, 0.0, 0.0]), np.diag([1e-3, 0.02, 0.02]))
    names = [f"rod_{i}" for i in range(len(angles))]
    joints = [
        Joint(
            f"hinge_{i}", "revolute", parent, name, pose(p=np.array([0.5 * (i > 0), 0, 0])), axis=np.array([0, 0, 1.0])
        )
        for i, (parent, name) in enumerate(zip(["world", *names], names, strict=False))
    ]
    hand = Frame("hand", names[-1], pose(p=np.array([0.5, 0.0, 0.0])))
    return ModelDescription("arm", tuple(Link(n, rod) for n in names), tuple(joints), (hand,)), np.array(angles, float)


def at_state(description: ModelDescription, q: Array, rows: Callable[[State], list[Rows]], seed: int = 0) -> Problem:
    """A problem at configuration ``q`` with all else random."""
    rng = np.random.default_rng(seed)
    nv, n = reference.sizes(description)[1], len(description.links)
    v, a, tau = rng.normal(size=(3, nv))
    state = State(q, v, a, tau, rng.normal(size=(n, 6)))
    return Problem(description, state, rows(state))


class TestOracle:
    @given(forests(max_links=5))
    def test_kkt_keeps_newton_and_euler(self, forest: Forest) -> None:
        description, s = forest.description, forest.state()
        rows = random_rows(forest, 2)
        answer = kkt(description, s.q, s.v, s.tau, rows, s.f_ext)
        wrenches = s.f_ext.copy()
        for row, force in zip(rows, answer.forces, strict=True):
            wrenches[row.link] += row.K.T @ force
        H = dense.mass_matrix(description, s.q)
        assert_close(H @ answer.a + dense.bias_forces(description, s.q, s.v, wrenches), s.tau, 1e-10)

    @given(forests(max_links=5))
    def test_kkt_gives_a_point_the_wanted_classical_acceleration(self, forest: Forest) -> None:
        description, s = forest.description, forest.state()
        wanted = np.array([0.3, -0.7])
        rows = [point_rows(description, s.q, s.v, "frame_2", axes=[2, 0], desired=wanted)]
        assume(Problem(description, s, rows).condition <= 1e8)
        a = kkt(description, s.q, s.v, s.tau, rows, s.f_ext).a
        moved = reference.frame_acceleration(description, s.q, s.v, a, "frame_2", classical=True)
        assert_close(moved[[2, 0]], wanted, 1e-9)

    @given(forests(max_links=5))
    def test_kkt_gives_a_frame_the_wanted_spatial_acceleration(self, forest: Forest) -> None:
        description, s = forest.description, forest.state()
        wanted = np.array([0.3, -0.7])
        rows = [frame_rows(description, s.q, s.v, "frame_2", axes=[4, 0], desired=wanted)]
        assume(Problem(description, s, rows).condition <= 1e8)
        a = kkt(description, s.q, s.v, s.tau, rows, s.f_ext).a
        assert_close(reference.frame_acceleration(description, s.q, s.v, a, "frame_2")[[4, 0]], wanted, 1e-9)

    def test_random_problems_hold_easy_and_hard_ones(self) -> None:
        assert len(REGULAR) >= 25
        assert len(DEPENDENT) >= 25


class TestBaumgarte:
    def test_gains_draw_a_point_back(self) -> None:
        forest = quadruped(3)
        description, s = forest.description, forest.state()
        X_WF = reference.frame_placement(description, s.q, "frame_2")
        target = X_WF[:3, 3] - X_WF[:3, :3] @ np.array([0.1, 0.2, 0.3])
        rows = point_rows(description, s.q, s.v, "frame_2", target=target, kp=100.0, kd=20.0)
        a = kkt(description, s.q, s.v, s.tau, [rows]).a
        acceleration = reference.frame_acceleration(description, s.q, s.v, a, "frame_2", classical=True)[:3]
        velocity = reference.frame_velocity(description, s.q, s.v, "frame_2")[:3]
        assert_close(acceleration, -100.0 * np.array([0.1, 0.2, 0.3]) - 20.0 * velocity, 1e-10)

    @pytest.mark.parametrize("angle", [1e-9, 0.5, 3.1, np.pi])
    def test_gains_turn_a_frame_back(self, angle: float) -> None:
        forest = quadruped(4)
        description, s = forest.description, forest.state()
        X_WF = reference.frame_placement(description, s.q, "frame_2")
        axis = np.array([0.6, 0.0, 0.8])
        target = X_WF @ pose(rotation(axis, -angle))
        rows = frame_rows(description, s.q, np.zeros_like(s.v), "frame_2", target=target, kp=1.0)
        turned = rows.k[3:] * np.sign(rows.k[3:] @ -axis)  # half a turn goes either way
        assert np.max(np.abs(turned + angle * axis)) <= 1e-14 * (1 + angle) * 10

    def test_axes_out_of_range_are_refused(self) -> None:
        description, q = arm([0.3, 0.4])
        with pytest.raises(ValueError, match=r"axes of 'hand' are \[0, 3\]"):
            point_rows(description, q, np.zeros(2), "hand", axes=[0, 3])

    def test_unknown_frames_are_refused(self) -> None:
        description, q = arm([0.3, 0.4])
        with pytest.raises(ValueError, match="no_such_frame"):
            frame_rows(description, q, np.zeros(2), "no_such_frame")


class TestIndependentRows:
    @pytest.mark.parametrize("method", [*DIRECT, *EXACT_PROXIMAL])
    def test_accelerations_match_the_dense_solution(self, method: Method) -> None:
        errors = [relative_error(problem.solve(method).a, problem.solve(kkt).a) for problem in REGULAR]
        assert max(errors) <= 1e-10
        assert np.median(errors) <= 1e-13

    @pytest.mark.parametrize("method", EVERY_METHOD)
    def test_forces_match_the_dense_solution(self, method: Method) -> None:
        for problem in REGULAR:
            answer, expected = problem.solve(method), problem.solve(kkt)
            assert [force.size for force in answer.forces] == [row.k.size for row in problem.rows]
            assert_close(np.concatenate(answer.forces), np.concatenate(expected.forces), 1e-6)
            assert answer.converged

    @pytest.mark.parametrize("method", [*DIRECT, *EXACT_PROXIMAL])
    def test_rows_are_met(self, method: Method) -> None:
        for problem in REGULAR:
            answer = problem.solve(method)
            assert answer.residual <= 1e-9 * (1 + np.max(np.abs(answer.a)))

    @pytest.mark.parametrize("method", EVERY_METHOD)
    @pytest.mark.parametrize("seed", range(5))
    def test_standing_quadruped(self, method: Method, seed: int) -> None:
        forest = quadruped(seed)
        s, feet = forest.state(), [f"link_{3 * leg}" for leg in (1, 2, 3, 4)]
        rows = [point_rows(forest.description, s.q, s.v, foot) for foot in feet]
        problem = Problem(forest.description, s, rows)
        tolerance = 1e-8 if method is constrained_aba else 1e-11
        assert_close(problem.solve(method).a, problem.solve(kkt).a, tolerance)

    @pytest.mark.parametrize("method", EVERY_METHOD)
    def test_without_rows_it_is_aba(self, method: Method) -> None:
        forest = random_forest(1)
        problem = Problem(forest.description, forest.state(), [])
        s, answer = problem.state, problem.solve(method)
        assert_close(answer.a, reference.aba(forest.description, s.q, s.v, s.tau, s.f_ext), 1e-12)
        assert answer.converged
        assert (answer.forces, answer.residual) == ([], 0.0)

    @pytest.mark.parametrize("method", EVERY_METHOD)
    def test_welded_base_holds_still(self, method: Method) -> None:
        """The whole robot then hangs on it."""
        forest = quadruped(7)
        s = forest.state()
        rows = [frame_rows(forest.description, s.q, s.v, "link_0")]
        problem = Problem(forest.description, s, rows)
        answer = problem.solve(method)
        assert_close(answer.a[:6], np.zeros(6), 1e-8 if method is constrained_aba else 1e-10)
        assert_close(answer.a, problem.solve(kkt).a, 1e-8 if method is constrained_aba else 1e-11)

    @pytest.mark.parametrize("method", EVERY_METHOD)
    def test_trees_are_held_apart(self, method: Method) -> None:
        """Rows on two trees of one model answer as if each tree were alone."""
        one, two = LinkPlan("free"), LinkPlan("spherical", up=9)
        forest = Forest((one, *leg(LinkPlan("revolute")), two, *leg(LinkPlan("prismatic"))), 2)
        s = forest.state()
        rows = [point_rows(forest.description, s.q, s.v, link) for link in ("link_3", "link_7")]
        together = Problem(forest.description, s, rows).solve(method)
        alone = Problem(forest.description, s, rows[1:]).solve(method)
        assert_close(together.a[9:], alone.a[9:], 1e-8 if method is constrained_aba else 1e-11)
        assert_close(together.forces[1], alone.forces[0], 1e-6)


class TestDependentRows:
    """Redundant, singular and contradictory rows: least squares, smallest forces."""

    @pytest.mark.parametrize("method", EXACT_PROXIMAL)
    def test_accelerations_match_the_least_squares_solution(self, method: Method) -> None:
        for problem in DEPENDENT:
            answer, expected = problem.solve(method), problem.solve(kkt)
            assert_close(answer.a, expected.a, 1e-9)
            assert_close(np.concatenate(answer.forces), np.concatenate(expected.forces), 1e-8)
            assert answer.residual == pytest.approx(expected.residual, abs=1e-8 * (1 + np.max(np.abs(answer.a))))
            assert answer.converged

    @pytest.mark.parametrize("method", PROXIMAL)
    def test_duplicated_welds_share_the_force(self, method: Method) -> None:
        forest = quadruped(1)
        s = forest.state()
        weld = frame_rows(forest.description, s.q, s.v, "link_3", axes=[0, 1, 2])
        once = Problem(forest.description, s, [weld]).solve(kkt)
        twice = Problem(forest.description, s, [weld, weld]).solve(method)
        tolerance = 1e-8 if method is constrained_aba else 1e-10
        assert_close(twice.a, once.a, tolerance)
        for force in twice.forces:
            assert_close(force, once.forces[0] / 2, 1e-6)

    @pytest.mark.parametrize("method", PROXIMAL)
    def test_four_points_on_a_foot_are_a_weld(self, method: Method) -> None:
        """At rest, where all four can stay: a leg of six hinges under a free base."""
        hinges = [LinkPlan("revolute", axis=axis, placement="shifted") for axis in ("+z", "+x", "+y", "+y", "+x", "+y")]
        forest = Forest((LinkPlan("free"), *hinges), 5)
        corners = [pose(p=np.array([x, y, -0.05])) for x in (-0.1, 0.1) for y in (-0.06, 0.06)]
        frames = tuple(Frame(f"corner_{i}", "link_6", X) for i, X in enumerate(corners))
        bare = forest.description
        description = ModelDescription(bare.name, bare.links, bare.joints, frames, bare.gravity)
        s = forest.state()
        still = State(s.q, np.zeros_like(s.v), s.a, s.tau, s.f_ext)
        points = [point_rows(description, s.q, still.v, frame.name) for frame in frames]
        weld = [frame_rows(description, s.q, still.v, "link_6")]
        tolerance = 1e-7 if method is constrained_aba else 1e-10
        assert_close(
            Problem(description, still, points).solve(method).a,
            Problem(description, still, weld).solve(kkt).a,
            tolerance,
        )

    @pytest.mark.parametrize("method", PROXIMAL)
    @pytest.mark.parametrize("angles", [(0.0, 0.0, 0.0), (0.0, np.pi, 0.0)], ids=["straight", "folded"])
    def test_singular_arm(self, method: Method, angles: tuple[float, ...]) -> None:
        """No joint moves the hand along the arm; across it, the row is met."""
        description, q = arm(angles)
        problem = at_state(description, q, lambda s: [point_rows(description, q, s.v, "hand")])
        answer, expected = problem.solve(method), problem.solve(kkt)
        assert_close(answer.a, expected.a, 1e-8 if method is constrained_aba else 1e-11)
        assert_close(answer.forces[0], expected.forces[0], 1e-6)
        assert expected.residual > 0.1

    @pytest.mark.parametrize("method", EXACT_PROXIMAL)
    @pytest.mark.parametrize("bend", [1e-2, 1e-3, 1e-4])
    def test_nearly_singular_arm(self, method: Method, bend: float) -> None:
        """The condition of the rows grows to 1e8 as the elbow straightens."""
        description, q = arm([0.3, bend, bend])
        problem = at_state(description, q, lambda s: [point_rows(description, q, s.v, "hand", axes=[0, 1])])
        assert_close(problem.solve(method).a, problem.solve(kkt).a, 1e-9)

    @pytest.mark.parametrize("method", EXACT_PROXIMAL)
    def test_contradictory_welds_on_one_link(self, method: Method) -> None:
        """Each would have the foot elsewhere: it goes half way."""
        forest = quadruped(6)
        description, s = forest.description, forest.state()
        up, down = (point_rows(description, s.q, s.v, "link_3", desired=x * np.ones(3)) for x in (1.0, -1.0))
        middle = Problem(description, s, [point_rows(description, s.q, s.v, "link_3")])
        answer = Problem(description, s, [up, down]).solve(method)
        assert_close(answer.a, middle.solve(kkt).a, 1e-10)
        assert_close(sum(answer.forces), middle.solve(kkt).forces[0], 1e-6)
        assert answer.residual == pytest.approx(1.0, abs=1e-8)

    @pytest.mark.parametrize("method", EXACT_PROXIMAL)
    def test_more_rows_than_dofs(self, method: Method) -> None:
        description, q = arm([0.3, -0.8, 1.1])
        problem = at_state(
            description,
            q,
            lambda s: [frame_rows(description, q, s.v, frame, desired=s.f_ext[0]) for frame in ("hand", "rod_1")],
        )
        assert_close(problem.solve(method).a, problem.solve(kkt).a, 1e-9)

    @pytest.mark.parametrize("method", PROXIMAL)
    def test_rows_that_nothing_moves_change_nothing(self, method: Method) -> None:
        """On the world, and on a link that is fixed to it."""
        forest = Forest((LinkPlan("fixed"), *leg(LinkPlan("revolute"))), 4)
        s = forest.state()
        held = point_rows(forest.description, s.q, s.v, "link_3")
        moved = [frame_rows(forest.description, s.q, s.v, frame, desired=np.ones(6)) for frame in ("frame_0", "link_0")]
        answer = Problem(forest.description, s, [held, *moved]).solve(method)
        assert_close(answer.a, Problem(forest.description, s, [held]).solve(kkt).a, 1e-7)
        assert_close(np.concatenate(answer.forces[1:]), np.zeros(12), 1e-6)

    @pytest.mark.parametrize("method", DIRECT)
    def test_direct_methods_refuse_them(self, method: Method) -> None:
        forest = quadruped(1)
        s = forest.state()
        weld = point_rows(forest.description, s.q, s.v, "link_3")
        with pytest.raises(ValueError, match="redundant"):
            Problem(forest.description, s, [weld, weld]).solve(method)

    @pytest.mark.parametrize("method", PROXIMAL)
    def test_out_of_iterations_is_reported(self, method: Method) -> None:
        description, q = arm([0.3, 0.2, 0.2])
        problem = at_state(description, q, lambda s: [point_rows(description, q, s.v, "hand", axes=[0, 1])])
        answer = problem.solve(method, max_iterations=1, eps=1.0)
        assert not answer.converged
        assert np.isfinite(answer.a).all()

    @pytest.mark.parametrize("method", EXACT_PROXIMAL)
    def test_rows_that_give_in_too_slowly_are_reported(self, method: Method) -> None:
        """Reachable, but only at a mobility far below the regularisation: neither met nor called unreachable."""
        description, q = arm([0.3, 1e-3, 1e-3])
        problem = at_state(description, q, lambda s: [point_rows(description, q, s.v, "hand", axes=[0, 1])])
        answer = problem.solve(method, eps=3e-5)
        assert not answer.converged
        assert np.isfinite(answer.a).all()


@pytest.mark.parametrize("seed", range(20))
def test_soft_rows_match_the_dense_compliant_system(seed: int) -> None:
    problem = RANDOM[seed]
    s, rng = problem.state, np.random.default_rng(seed)
    factors = [rng.normal(size=(row.k.size, row.k.size)) for row in problem.rows]
    compliance = [A @ A.T + 0.1 * np.eye(len(A)) for A in factors]
    answer = pv_soft(problem.description, s.q, s.v, s.tau, problem.rows, compliance, s.f_ext)
    H, h, J, b = problem.equations
    R, at = np.zeros((b.size, b.size)), 0
    for block in compliance:
        R[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    expected = np.linalg.solve(np.block([[H, -J.T], [J, R]]), np.concatenate([s.tau - h, b]))
    assert_close(np.concatenate([answer.a, *answer.forces]), expected, 1e-11)


def test_stiff_soft_rows_come_near_to_hard_ones() -> None:
    forest = quadruped(2)
    s = forest.state()
    rows = [point_rows(forest.description, s.q, s.v, "link_3")]
    hard = Problem(forest.description, s, rows).solve(kkt)
    for stiffness in (1e2, 1e4, 1e6):
        soft = pv_soft(forest.description, s.q, s.v, s.tau, rows, [np.eye(3) / stiffness], s.f_ext)
        assert relative_error(soft.a, hard.a) <= 100 / stiffness


@pytest.mark.parametrize("seed", range(10))
def test_rows_at_the_world_are_coupled_by_the_delassus_matrix(seed: int) -> None:
    problem = RANDOM[seed]
    s = problem.state
    bodies = rigid_bodies(problem.description, s.q, s.v, s.f_ext)
    world = carry_to_world(bodies, driving(bodies, s.tau), problem.rows)
    H, h, J, b = problem.equations
    assert_close(world.L, J @ np.linalg.solve(H, J.T), 1e-11)
    assert_close(world.k, b - J @ np.linalg.solve(H, s.tau - h), 1e-11)


def test_compliance_of_a_link_is_its_mobility() -> None:
    forest = random_forest(3)
    s = forest.state()
    bodies = rigid_bodies(forest.description, s.q, s.v)
    mobility = compliances(bodies.links, articulate(bodies.links, bodies.inertia))
    H_inverse = np.linalg.inv(reference.crba(forest.description, s.q))
    for i, link in enumerate(forest.description.links):
        J = reference.jacobian(forest.description, s.q, link.name)
        assert_close(mobility[i], J @ H_inverse @ J.T, 1e-11)


def test_force_on_the_link_is_along_the_rows() -> None:
    """A weld carries a hanging weight: the force up equals the weight, whatever the frame's axes."""
    stone = Link("stone", Inertia(2.0, np.zeros(3), 0.1 * np.eye(3)))
    eye = Frame("eye", "stone", pose(rotation(np.array([0.0, 1.0, 0.0]), 0.7), np.array([0.0, 0.0, 0.3])))
    description = ModelDescription("weight", (stone,), (Joint("flight", "free", "world", "stone"),), (eye,))
    q, v = reference.neutral(description), np.zeros(6)
    answer = pv(description, q, v, np.zeros(6), [frame_rows(description, q, v, "eye")])
    X_WF = motion_transform(pose(reference.frame_placement(description, q, "eye")[:3, :3]))
    assert_close(X_WF @ answer.forces[0], [0, 0, 2.0 * 9.81, 0, 0, 0], ROUNDING)
    assert_close(answer.a, np.zeros(6), ROUNDING)
