"""Delassus matrices by every method: against dense algebra and the twins, on all joint types, in batches, masked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, get_args

import numpy as np
import pytest
from helpers.compare import assert_same_bits, solve_tolerance
from helpers.constraints import free_frames
from helpers.delassus import dense_delassus, error, random_rows, twin_constraints
from helpers.forests import Forest, LinkPlan, forests, leg, random_forest
from helpers.instruction_sets import AVAILABLE, PLAINEST
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

import featherweight as fw
from featherweight import _testing, delassus, reference
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import Constraint
from featherweight.constraints.delassus import DelassusMethod

METHODS: tuple[DelassusMethod, ...] = get_args(DelassusMethod)

every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Whatever instruction set a test switched to, the next one starts from the default."""
    default = fw.build_info()["isa"]
    yield
    _testing.use_isa(default)


@dataclass(frozen=True, eq=False)
class Problem:
    model: fw.Model
    q: Array
    constraints: list[Constraint]

    @cached_property
    def expected(self) -> Array:
        return dense_delassus(self.model, self.q, self.constraints)

    @cached_property
    def tolerance(self) -> float:
        return solve_tolerance(fw.crba(self.model, self.q))

    def error(self, method: DelassusMethod) -> float:
        return error(delassus(self.model, self.q, self.constraints, method=method), self.expected)


def random_tree_problem(seed: int) -> Problem:
    """A tree of any joints, fixed or floating, with rotors or without, and one to six constraints on it."""
    rng = np.random.default_rng([seed, 1])
    model = fw.models.random_tree(seed, int(rng.integers(2, 25)), floating=bool(seed % 2), armature=bool(seed // 2 % 2))
    names = [*model.link_names, *model.frame_names]
    return Problem(model, model.random(rng), random_rows(model, names, int(rng.integers(1, 7)), rng))


def forest_problem(seed: int) -> Problem:
    """Several trees, massless links and every way to place a joint."""
    forest, rng = random_forest(seed, n_links=14), np.random.default_rng([seed, 2])
    model = fw.Model(forest.description)
    frames = free_frames(forest, model)
    return Problem(model, forest.state().q, random_rows(model, frames, int(rng.integers(1, 7)), rng))


def robot(model: fw.Model, held: list[Constraint], seed: int = 0) -> Problem:
    return Problem(model, model.random(np.random.default_rng(seed)), held)


FEET = [fw.PointConstraint(f"{end}_{side}_foot") for end in ("front", "hind") for side in ("left", "right")]
ALL_KINDS = Forest(
    (
        LinkPlan("free", armature=True),
        *leg(LinkPlan("helical", placement="general", armature=True)),
        LinkPlan("spherical", up=2, armature=True, placement="general"),
        LinkPlan("free", armature=True, placement="shifted"),
        LinkPlan("prismatic", up=2, axis="tilted", placement="general"),
        LinkPlan("spherical", up=9, placement="general"),
        *leg(LinkPlan("universal")),
        LinkPlan("planar", up=1, placement="general"),
    ),
    seed=5,
)


def all_kinds() -> Problem:
    """Two trees: every joint type with rotors, rows on nested links, twice on one, and between trees."""
    model = fw.Model(ALL_KINDS.description)
    frames = [link.name for link in ALL_KINDS.description.links]
    held: list[Constraint] = [fw.FrameConstraint(frame) for frame in frames]
    held += [
        fw.PointConstraint("link_3", to="link_9"),
        fw.FrameConstraint("link_4", to="link_0"),
        fw.PointConstraint("link_3"),
    ]
    return Problem(model, ALL_KINDS.state().q, held)


def built_in() -> dict[str, Problem]:
    soles: list[Constraint] = [fw.FrameConstraint(f"{side}_sole") for side in ("left", "right")]
    palms: list[Constraint] = [fw.PointConstraint("left_palm", to="right_palm"), fw.FrameConstraint("torso")]
    cross: list[Constraint] = [fw.PointConstraint("front_left_foot", to="hind_right_foot", rows=("z", "x"))]
    bars = fw.PointConstraint("coupler_end", to="rocker_end")
    return {
        "arm": robot(fw.models.arm(), [fw.FrameConstraint("flange"), fw.PointConstraint("link_4")]),
        "quadruped": robot(fw.models.quadruped(), [*FEET, *cross]),
        "standing quadruped": robot(fw.models.quadruped(floating=False), [*FEET, *cross]),
        "humanoid": robot(fw.models.humanoid(), [*soles, *palms]),
        "four-bar": robot(fw.models.four_bar(), [bars]),
        "chain of 30": robot(fw.models.chain(30), [fw.FrameConstraint("tip"), fw.PointConstraint("link_12")]),
        "straight chain of 30": Problem(fw.models.chain(30), np.zeros(30), [fw.FrameConstraint("tip")]),
        "floating chain of 30": robot(
            fw.models.chain(30, floating=True), [fw.FrameConstraint("tip", to="link_0"), fw.FrameConstraint("link_0")]
        ),
    }


def postures(model: fw.Model, number: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return np.stack([model.random(rng) for _ in range(number)])


@cache
def problems() -> dict[str, Problem]:
    trees = {f"tree {seed}": random_tree_problem(seed) for seed in range(40)}
    several = {f"forest {seed}": forest_problem(seed) for seed in range(40)}
    return {**trees, **several, **built_in(), "all kinds": all_kinds()}


class TestValues:
    @every_method
    def test_dense_algebra(self, method: DelassusMethod) -> None:
        off = {name: problem.error(method) for name, problem in problems().items()}
        for name, problem in problems().items():
            assert off[name] <= problem.tolerance, f"{name}: {off[name]:.1e}, tolerance {problem.tolerance:.1e}"

    def test_tolerances_are_sharp(self) -> None:
        """A hundred times what is allowed would be one part in a hundred million at worst, and far less as a rule."""
        tolerances = [problem.tolerance for problem in problems().values()]
        assert max(tolerances) < 1e-9
        assert np.median(tolerances) < 5e-12

    @given(forests(max_links=6), st.integers(1, 4))
    def test_any_forest(self, forest: Forest, number: int) -> None:
        """To what dense algebra may lose."""
        model, q = fw.Model(forest.description), forest.state().q
        held = random_rows(model, free_frames(forest, model), number, np.random.default_rng(forest.seed))
        problem = Problem(model, q, held)
        for method in METHODS:
            assert problem.error(method) <= problem.tolerance

    @every_method
    def test_twins(self, method: DelassusMethod) -> None:
        """Each against the twin of its own name: the same algorithm in other frames."""
        twin = getattr(
            reference, {"auto": "pv_osimr", "ltl": "ltl_osim", "pv_osim_base": "pv_osim"}.get(method, method)
        )
        for seed in range(8):
            forest = random_forest(seed, n_links=9)
            model, q = fw.Model(forest.description), forest.state().q
            constraints = random_rows(model, free_frames(forest, model), 4, np.random.default_rng(seed), offsets=False)
            expected = twin(forest.description, q, twin_constraints(forest.description, q, constraints))
            assert error(delassus(model, q, constraints, method=method), expected) <= 1e-12

    @every_method
    def test_matrices_are_symmetric_to_the_bit_and_positive(self, method: DelassusMethod) -> None:
        for problem in (problems()["all kinds"], problems()["humanoid"]):
            found = delassus(problem.model, problem.q, problem.constraints, method=method)
            assert_same_bits(found, found.T, method)
            assert np.min(np.linalg.eigvalsh(found)) >= -1e-13 * np.max(found)

    @every_method
    def test_order_of_constraints_is_the_order_of_rows(self, method: DelassusMethod) -> None:
        problem = problems()["all kinds"]
        compiled = fw.ConstraintSet(problem.model, problem.constraints)
        order = np.random.default_rng(3).permutation(compiled.n_constraints)
        rows = np.concatenate([np.arange(compiled.n_rows)[compiled.slices[k]] for k in order])
        found = delassus(problem.model, problem.q, [problem.constraints[k] for k in order], method=method)
        expected = delassus(problem.model, problem.q, compiled, method=method)[np.ix_(rows, rows)]
        assert error(found, expected) <= 1e-14

    @every_method
    def test_rows_relative_to_the_world_are_rows_on_one_link(self, method: DelassusMethod) -> None:
        """frame_0 of a forest is in the world."""
        model, q = fw.Model(ALL_KINDS.description), ALL_KINDS.state().q
        to_world: list[Constraint] = [
            fw.PointConstraint("link_3", to="frame_0", to_offset=(1.0, 2.0, 3.0)),
            fw.FrameConstraint("link_8", to="frame_0"),
        ]
        alone: list[Constraint] = [fw.PointConstraint("link_3"), fw.FrameConstraint("link_8")]
        assert_same_bits(delassus(model, q, to_world, method=method), delassus(model, q, alone, method=method), method)

    @every_method
    def test_trees_do_not_feel_each_other(self, method: DelassusMethod) -> None:
        model, q = fw.Model(ALL_KINDS.description), ALL_KINDS.state().q
        found = delassus(model, q, [fw.FrameConstraint("link_9"), fw.FrameConstraint("link_3")], method=method)
        assert not found[:6, 6:].any()


class TestActive:
    @every_method
    def test_inactive_constraints_are_not_there(self, method: DelassusMethod) -> None:
        problem = problems()["all kinds"]
        compiled = fw.ConstraintSet(problem.model, problem.constraints)
        rng = np.random.default_rng(7)
        masks = rng.random((5, compiled.n_constraints)) < 0.5
        masks[3], masks[4] = True, False
        found = delassus(problem.model, problem.q, compiled, method=method, active=masks)
        for mask, matrix in zip(masks, found, strict=True):
            of_row = np.concatenate(
                [np.full(s.stop - s.start, on) for s, on in zip(compiled.slices, mask, strict=True)]
            )
            assert not matrix[~of_row].any() and not matrix[:, ~of_row].any()
            if of_row.any():
                left = [c for c, on in zip(problem.constraints, mask, strict=True) if on]
                alone = delassus(problem.model, problem.q, left, method=method)
                assert error(matrix[np.ix_(of_row, of_row)], alone) <= 1e-14

    @every_method
    def test_mask_of_a_batch_is_that_of_its_samples(self, method: DelassusMethod) -> None:
        problem = problems()["quadruped"]
        q = postures(problem.model, 11)
        masks = np.random.default_rng(8).random((11, len(problem.constraints))) < 0.5
        found = delassus(problem.model, q, problem.constraints, method=method, active=masks)
        singles = [
            delassus(problem.model, one, problem.constraints, method=method, active=mask)
            for one, mask in zip(q, masks, strict=True)
        ]
        assert_same_bits(found, np.stack(singles), method)
        all_active = delassus(problem.model, q, problem.constraints, method=method, active=np.full_like(masks, True))
        assert_same_bits(all_active, delassus(problem.model, q, problem.constraints, method=method), method)


class TestBatches:
    @every_method
    @pytest.mark.parametrize("isa", AVAILABLE)
    @pytest.mark.parametrize("name", ["all kinds", "quadruped"])
    def test_instruction_sets_agree_and_a_batch_is_its_samples(
        self, method: DelassusMethod, isa: str, name: str
    ) -> None:
        model, constraints = problems()[name].model, problems()[name].constraints
        compiled = fw.ConstraintSet(model, constraints)
        q = postures(model, 13)
        _testing.use_isa(PLAINEST)
        expected = delassus(model, q, compiled, method=method)
        _testing.use_isa(isa)
        found = delassus(model, q, compiled, method=method)
        assert_same_bits(found, np.stack([delassus(model, one, compiled, method=method) for one in q]), isa)
        assert max(map(error, found, expected)) <= 1e-12

    @every_method
    def test_threads_and_repetition_change_nothing(self, method: DelassusMethod) -> None:
        problem = problems()["humanoid"]
        compiled = fw.ConstraintSet(problem.model, problem.constraints)
        q = postures(problem.model, 300)
        found = delassus(problem.model, q, compiled, method=method, num_threads=1)
        assert found.shape == (300, compiled.n_rows, compiled.n_rows)
        for threads in (1, 2, 5, None):
            again = delassus(problem.model, q, compiled, method=method, num_threads=threads)
            assert_same_bits(again, found, f"{threads} threads")


QUADRUPED = fw.models.quadruped()
STANDING = QUADRUPED.neutral()


def refuse(message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


class TestBadInput:
    def test_unknown_method(self) -> None:
        refuse(
            "method: unknown 'cholesky', expected one of auto, ltl",
            lambda: delassus(QUADRUPED, STANDING, FEET, method="cholesky"),  # type: ignore[arg-type]
        )

    def test_kernel_names_are_not_method_names(self) -> None:
        for name in ("ltl_osim", "pv"):
            refuse(
                f"method: unknown '{name}'",
                lambda name=name: delassus(QUADRUPED, STANDING, FEET, method=name),  # type: ignore[misc]
            )

    def test_both_frames_on_one_link(self) -> None:
        loop = fw.PointConstraint("front_left_foot", to="front_left_calf")
        refuse("'front_left_calf' is on the same link", lambda: delassus(QUADRUPED, STANDING, [loop]))

    def test_first_frame_held_by_the_world(self) -> None:
        model = fw.models.quadruped(floating=False)
        held = fw.PointConstraint("trunk", to="front_left_foot")
        refuse("constraint 0 on 'trunk': the world holds that frame", lambda: delassus(model, model.neutral(), [held]))

    def test_unknown_second_frame(self) -> None:
        refuse("tail", lambda: delassus(QUADRUPED, STANDING, [fw.PointConstraint("trunk", to="tail")]))

    @pytest.mark.parametrize("method", METHODS)
    def test_no_constraints(self, method: DelassusMethod) -> None:
        refuse("constraints: expected at least one", lambda: delassus(QUADRUPED, STANDING, [], method=method))

    @pytest.mark.parametrize(
        ("active", "message"),
        [
            (np.ones(3, bool), "active"),
            (np.ones((2, 5), bool), "active"),
            (np.ones(4), "active: expected an array of bool, got dtype float64"),
            (np.ones(4, int), "active: expected an array of bool"),
            (["yes"] * 4, "active: expected an array of bool"),
        ],
        ids=["length", "batch", "floats", "integers", "words"],
    )
    def test_wrong_mask(self, active: ArrayLike, message: str) -> None:
        refuse(message, lambda: delassus(QUADRUPED, STANDING, FEET, active=active))

    def test_mask_of_another_batch(self) -> None:
        q = np.tile(STANDING, (3, 1))
        refuse("active", lambda: delassus(QUADRUPED, q, FEET, active=np.ones((4, 4), bool)))

    @every_method
    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_numbers_that_are_none(self, method: DelassusMethod, value: float) -> None:
        q = np.tile(STANDING, (6, 1))
        q[4, 9] = value
        refuse("q: entry 9 of sample 4", lambda: delassus(QUADRUPED, q, FEET, method=method))
        refuse("q: entry 9 (joint 'front_left_calf_joint')", lambda: delassus(QUADRUPED, q[4], FEET, method=method))

    @pytest.mark.parametrize(
        "q", [STANDING[1:], STANDING[None, None], 2 * (STANDING + 0.1)], ids=["short", "3-d", "far"]
    )
    def test_configurations_that_are_none(self, q: Array) -> None:
        """The last has a quaternion that is not of unit length."""
        refuse("q: ", lambda: delassus(QUADRUPED, q, FEET))

    def test_constraints_of_another_model(self) -> None:
        others = fw.ConstraintSet(fw.models.quadruped(), FEET)
        refuse("constraints: compiled for another model", lambda: delassus(QUADRUPED, STANDING, others))
