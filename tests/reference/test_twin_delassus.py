"""The Delassus twins against dense linear algebra: rows on one link and between two, on trees of all kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from helpers.compare import EPS, assert_close
from helpers.forests import Forest, LinkPlan, forests, leg, random_forest
from hypothesis import given

from featherweight import ModelDescription, reference
from featherweight.arrays import Array
from featherweight.model.description import JointType
from featherweight.reference import DelassusOperator, caba_osim, efpa, kjr, ltl_osim, pv_osim, pv_osim_base, pv_osimr
from featherweight.reference.constraints import Rows
from featherweight.reference.delassus.ends import Constraint
from featherweight.reference.kinematics import Reference
from featherweight.reference.spatial import inverse, motion_transform

Method = Callable[[ModelDescription, Array, Sequence[Constraint]], Array]
METHODS: list[Method] = [ltl_osim, kjr, efpa, pv_osim, pv_osimr]

#: Relative to the largest mobility of a row.
DAMPINGS = [1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 1e2]


@dataclass(frozen=True)
class Held:
    """A constraint by name: ``frame`` against the world, or against ``to``."""

    frame: str
    to: str | None = None
    point: bool = True
    axes: tuple[int, ...] = (0, 1, 2)

    def rows(self, model: ModelDescription, q: Array) -> Constraint:
        if self.to is None:
            make = reference.point_rows if self.point else reference.frame_rows
            return make(model, q, np.zeros(reference.sizes(model)[1]), self.frame, axes=self.axes)
        between = reference.point_rows_between if self.point else reference.frame_rows_between
        return between(model, q, self.frame, self.to, axes=self.axes)

    def jacobian(self, model: ModelDescription, q: Array) -> Array:
        """Of relative velocities in the world, seen from the frame: no rows, no ends."""
        X_WA = reference.frame_placement(model, q, self.frame)
        return np.asarray(motion_transform(inverse(X_WA)) @ self._relative(model, q, "world"))[list(self.axes)]

    def _relative(self, model: ModelDescription, q: Array, axes_of: Reference) -> Array:
        J = reference.jacobian(model, q, self.frame, axes_of)
        return J if self.to is None else J - reference.jacobian(model, q, self.to, axes_of)


@dataclass(frozen=True, eq=False)
class Problem:
    forest: Forest
    held: tuple[Held, ...]

    @property
    def model(self) -> ModelDescription:
        return self.forest.description

    @cached_property
    def q(self) -> Array:
        return self.forest.state().q

    @cached_property
    def constraints(self) -> list[Constraint]:
        return [held.rows(self.model, self.q) for held in self.held]

    @cached_property
    def rows(self) -> list[Rows]:
        return [constraint for constraint in self.constraints if isinstance(constraint, Rows)]

    @cached_property
    def delassus(self) -> Array:
        nv = reference.sizes(self.model)[1]
        J = np.vstack([np.zeros((0, nv)), *(held.jacobian(self.model, self.q) for held in self.held)])
        return np.asarray(J @ np.linalg.solve(reference.crba(self.model, self.q), J.T))

    @property
    def mobility(self) -> float:
        return float(np.max(np.diag(self.delassus)))

    def assert_delassus(self, delassus: Array) -> None:
        """To 1e-12 of the largest entry."""
        error = np.max(np.abs(delassus - self.delassus), initial=0.0)
        assert error <= 1e-12 * np.max(np.abs(self.delassus), initial=0.0)


def random_problem(seed: int, between: bool) -> Problem:
    """Points and frames on any links and frames, the world's too, with any of their rows in any order."""
    forest, rng = random_forest(seed, n_links=4 + seed % 14), np.random.default_rng([seed, 23])

    def held() -> Held:
        point = bool(rng.integers(2))
        axes = rng.permutation(3 if point else 6)[: rng.integers(1, 7)].tolist()
        frame, to = rng.choice(forest.frame_names, 2).tolist()
        return Held(frame, to if between and rng.integers(2) else None, point, tuple(axes))

    return Problem(forest, tuple(held() for _ in range(1 + seed % 5)))


FOOT = LinkPlan("fixed", placement="shifted")


def quadruped(seed: int, base: JointType = "free") -> Forest:
    """A base and four legs of three hinges, each with a foot: links 4, 8, 12 and 16."""
    hips = [LinkPlan("revolute", up=up, axis="+x", placement="shifted") for up in (0, 4, 4, 4)]
    return Forest((LinkPlan(base), *(plan for hip in hips for plan in (*leg(hip), FOOT))), seed)


ON_LINKS = [random_problem(seed, between=False) for seed in range(16)]
BETWEEN = [random_problem(seed, between=True) for seed in range(20, 36)]

WELD = (0, 1, 2, 3, 4, 5)
FEET = tuple(Held(f"link_{4 * k}") for k in (1, 2, 3, 4))
SIX_JOINTS = [LinkPlan("revolute", axis=axis, placement="shifted") for axis in ("+z", "+x", "+y", "+y", "+x", "+y")]
TWO_TREES = Forest(
    (LinkPlan("free"), *leg(LinkPlan("revolute")), FOOT, LinkPlan("spherical", up=9), *leg(LinkPlan("prismatic")), FOOT)
)

STRUCTURES = {
    "feet of a floating base": Problem(quadruped(1), FEET),
    "feet of a fixed base": Problem(quadruped(2, "fixed"), FEET),
    "many rows on one link": Problem(quadruped(3), (FEET[0], Held("link_4", None, False, WELD), FEET[0])),
    "nested links": Problem(quadruped(4), tuple(Held(f"link_{i}") for i in (4, 3, 1, 0))),
    "branching within branches": Problem(
        Forest((*SIX_JOINTS[:2], *SIX_JOINTS[:3], LinkPlan("spherical", up=2), LinkPlan("universal", up=4)), 5),
        tuple(Held(f"link_{i}", None, False, WELD) for i in (4, 5, 6, 0)),
    ),
    "rows on two trees": Problem(TWO_TREES, (Held("link_4"), Held("link_9"))),
    "loop in a tree": Problem(
        quadruped(6), (*FEET[:2], Held("link_4", "link_8"), Held("link_12", "link_0", False, WELD))
    ),
    "rows between two trees": Problem(TWO_TREES, (Held("link_4", "link_9"), Held("link_2"))),
    "rows within one link": Problem(quadruped(7), (Held("link_16", "frame_2"), FEET[0])),
    "rows that nothing moves": Problem(quadruped(8), (Held("frame_0"), Held("link_4", "frame_0"), FEET[1])),
    "no rows": Problem(quadruped(9), ()),
}


def twice(problem: Problem) -> Problem:
    """With its first constraint a second time: singular."""
    return Problem(problem.forest, (*problem.held, problem.held[0]))


MOVED = [problem for problem in [*ON_LINKS[:6], *BETWEEN[:6]] if problem.mobility > 0]
DAMPED = [
    *MOVED,
    *map(twice, MOVED),
    *(twice(STRUCTURES[name]) for name in ("feet of a floating base", "loop in a tree")),
]


class TestRowsBetween:
    def test_rows_to_the_world_are_rows_on_one_link(self) -> None:
        problem = STRUCTURES["feet of a floating base"]
        for point, axes in ((True, (2, 0)), (False, (4, 1, 3))):
            alone = Problem(problem.forest, (Held("link_4", None, point, axes),))
            to_world = Problem(problem.forest, (Held("link_4", "world", point, axes),))
            assert_close(efpa(problem.model, problem.q, to_world.constraints), alone.delassus, 1e-14)

    def test_where_the_second_frame_sits_on_its_link_does_not_matter_to_a_frame(self) -> None:
        """frame_2 is on the last link."""
        problem = STRUCTURES["feet of a floating base"]
        on_link = reference.frame_rows_between(problem.model, problem.q, "link_4", "link_16")
        on_frame = reference.frame_rows_between(problem.model, problem.q, "link_4", "frame_2")
        assert_close(on_frame.second.K, on_link.second.K, 1e-14)

    def test_axes_out_of_range_are_refused(self) -> None:
        problem = STRUCTURES["feet of a floating base"]
        with pytest.raises(ValueError, match="axes of 'link_4'"):
            reference.point_rows_between(problem.model, problem.q, "link_4", "link_8", axes=(0, 3))


class TestDelassus:
    @pytest.mark.parametrize("method", METHODS)
    def test_random_trees(self, method: Method) -> None:
        for problem in [*ON_LINKS, *BETWEEN]:
            problem.assert_delassus(method(problem.model, problem.q, problem.constraints))

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("name", STRUCTURES)
    def test_structures(self, method: Method, name: str) -> None:
        problem = STRUCTURES[name]
        problem.assert_delassus(method(problem.model, problem.q, problem.constraints))

    @given(forests(max_links=5))
    def test_the_methods_agree_on_any_tree(self, forest: Forest) -> None:
        last = f"link_{len(forest.plans) - 1}"
        held = Held("frame_1", None, False, (4, 0)), Held("frame_2"), Held(last, "link_0"), Held("link_0", last, False)
        problem = Problem(forest, held)
        for method in METHODS:
            problem.assert_delassus(method(problem.model, problem.q, problem.constraints))


class TestBase:
    """Limbs that meet at a base."""

    @pytest.mark.parametrize("name", ["feet of a floating base", "feet of a fixed base", "rows on two trees"])
    def test_limbs_are_inverted_one_by_one(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr("featherweight.reference.delassus.pv_osim_base.solve_independent")
        problem = STRUCTURES[name]
        found, delassus = pv_osim_base(problem.model, problem.q, problem.rows)
        problem.assert_delassus(delassus)
        assert_inverse(found, problem.delassus)

    def test_limbs_that_move_all_of_a_weld(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr("featherweight.reference.delassus.pv_osim_base.solve_independent")
        limbs = [LinkPlan("free"), *SIX_JOINTS, LinkPlan("revolute", up=6, axis="+y", placement="shifted"), *SIX_JOINTS]
        problem = Problem(Forest(tuple(limbs), 3), tuple(Held(f"link_{i}", None, False, WELD) for i in (6, 13)))
        assert_inverse(pv_osim_base(problem.model, problem.q, problem.rows)[0], problem.delassus)

    @pytest.mark.parametrize("held", [Held("link_0"), Held("link_8", None, False, WELD)], ids=["base", "weld"])
    def test_rows_that_a_limb_does_not_move_are_inverted_with_all_others(self, held: Held) -> None:
        """On the base itself, and more than the joints of the limb; the base moves them."""
        problem = Problem(quadruped(1), (held, FEET[0]))
        found, delassus = pv_osim_base(problem.model, problem.q, problem.rows)
        problem.assert_delassus(delassus)
        assert_inverse(found, problem.delassus)

    @pytest.mark.parametrize("relative", DAMPINGS)
    def test_damping(self, relative: float) -> None:
        for problem in [problem for problem in DAMPED if len(problem.rows) == len(problem.held)]:
            R = relative * problem.mobility
            found, delassus = pv_osim_base(problem.model, problem.q, problem.rows, R)
            problem.assert_delassus(delassus)
            assert_inverse(found, problem.delassus + R * np.eye(len(delassus)))

    def test_redundant_rows_without_damping_are_refused(self) -> None:
        problem = twice(STRUCTURES["feet of a floating base"])
        with pytest.raises(ValueError, match="redundant"):
            pv_osim_base(problem.model, problem.q, problem.rows)


class TestDampedInverse:
    @pytest.mark.parametrize("relative", DAMPINGS)
    def test_same_damping_for_all_rows(self, relative: float) -> None:
        for problem in DAMPED:
            R = relative * problem.mobility
            found = caba_osim(problem.model, problem.q, problem.constraints, R)
            assert_inverse(found, problem.delassus + R * np.eye(len(found)))

    @pytest.mark.parametrize("seed", range(2))
    def test_another_damping_for_each_row(self, seed: int) -> None:
        for problem in DAMPED:
            R = problem.mobility * 10.0 ** np.random.default_rng(seed).uniform(-10, 2, len(problem.delassus))
            found = caba_osim(problem.model, problem.q, problem.constraints, R)
            assert_inverse(found, problem.delassus + np.diag(R))

    @pytest.mark.parametrize("softness", [0.0, 1e9], ids=["springs", "held"])
    def test_springs_and_held_rows_say_the_same(self, softness: float) -> None:
        for problem in DAMPED:
            R = 0.1 * problem.mobility
            found = caba_osim(problem.model, problem.q, problem.constraints, R, softness=softness)
            assert_inverse(found, problem.delassus + R * np.eye(len(found)))

    def test_no_rows(self) -> None:
        problem = STRUCTURES["no rows"]
        assert caba_osim(problem.model, problem.q, problem.constraints, 1.0).shape == (0, 0)

    def test_no_damping_is_refused(self) -> None:
        problem = STRUCTURES["feet of a floating base"]
        with pytest.raises(ValueError, match="positive"):
            caba_osim(problem.model, problem.q, problem.constraints, 0.0)


class TestOperator:
    @pytest.mark.parametrize("relative", DAMPINGS)
    def test_products_and_solutions(self, relative: float) -> None:
        rng = np.random.default_rng(1)
        for problem in DAMPED:
            A = problem.delassus + relative * problem.mobility * np.eye(len(problem.delassus))
            operator = DelassusOperator(problem.model, problem.q, problem.constraints, relative * problem.mobility)
            x = rng.normal(size=len(A))
            assert_close(operator.apply(x) / problem.mobility, problem.delassus @ x / problem.mobility, 1e-12)
            for b in (x, problem.delassus @ x):
                assert_solution(operator.solve(b), A, b)

    @pytest.mark.parametrize("seed", range(2))
    def test_another_damping_for_each_row(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        for problem in DAMPED:
            R = problem.mobility * 10.0 ** rng.uniform(-10, 2, len(problem.delassus))
            operator, b = DelassusOperator(problem.model, problem.q, problem.constraints, R), rng.normal(size=R.size)
            assert_solution(operator.solve(b), problem.delassus + np.diag(R), b)

    @pytest.mark.parametrize("name", ["feet of a floating base", "no rows"])
    def test_nothing_to_solve(self, name: str) -> None:
        problem = STRUCTURES[name]
        operator = DelassusOperator(problem.model, problem.q, problem.constraints, 1e-3)
        assert not operator.solve(np.zeros(len(problem.delassus))).any()

    def test_out_of_iterations_is_reported(self) -> None:
        problem = twice(STRUCTURES["feet of a floating base"])
        operator = DelassusOperator(problem.model, problem.q, problem.constraints, 1e-8)
        with pytest.raises(RuntimeError, match="after 2 iterations"):
            operator.solve(np.arange(15.0), max_iterations=2)


def assert_inverse(found: Array, A: Array) -> None:
    """A found = 1: to 1e-8 up to a condition of 4e6. The exact inverse, rounded, misses 1 by eps times that."""
    assert np.max(np.abs(A @ found - np.eye(len(A)))) <= 1e-10 + 10 * EPS * np.linalg.cond(A)


def assert_solution(x: Array, A: Array, b: Array) -> None:
    """The exact solution of a system within 1e-13 of A, and as near to that of A as the condition lets it be."""
    scale = np.max(np.abs(x))
    assert np.max(np.abs(A @ x - b)) <= 1e-13 * (np.max(np.abs(b)) + np.linalg.norm(A) * scale)
    error = np.max(np.abs(x - np.linalg.solve(A, b)))
    assert error <= (1e-10 + 10 * EPS * np.linalg.cond(A)) * scale
