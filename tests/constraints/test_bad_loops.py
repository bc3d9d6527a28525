"""Loops and couplings that make no sense: refused by name, or solved in the least-squares sense with a report."""

from __future__ import annotations

import numpy as np
import pytest

import featherweight as fw
from featherweight.constraints.constraint_set import AnyConstraint

CIRCLE = [("crank_hinge", "rocker_hinge"), ("rocker_hinge", "coupler_hinge"), ("coupler_hinge", "crank_hinge")]
REFUSED: list[tuple[list[AnyConstraint], str]] = [
    ([fw.PointConstraint("coupler_end", to="coupler")], "'coupler' is on the same link"),
    ([fw.DistanceConstraint("coupler_end", "coupler", length=0.1)], "'coupler' is on the same link"),
    ([fw.PointConstraint("ground", to="ground")], "the world holds that frame"),
    ([fw.PointConstraint("coupler_end", to="roker_end")], "unknown frame 'roker_end'.*closest are 'rocker_end'"),
    ([fw.JointCoupling("crank_hing", to="rocker_hinge")], "unknown joint 'crank_hing' .did you mean 'crank_hinge'"),
    ([fw.JointCoupling("crank_hinge", to="crank_hinge")], "joint 'crank_hinge' is coupled to itself"),
    ([fw.JointCoupling(a, to=b) for a, b in CIRCLE], "in a circle, coupler_hinge -> crank_hinge -> rocker_hinge"),
    (
        [fw.JointCombination({"crank_hinge": 1.0}, value=0.1), fw.JointCombination({"crank_hinge": 2.0}, value=0.3)],
        "constraint 1 .*contradicts the couplings before it, by 0.1",
    ),
    ([fw.JointCoupling("crank_hinge", to="rocker_hinge", polynomial=())], "1 to 8 coefficients, got 0"),
    ([fw.JointCombination({})], "must map names to coefficients"),
    ([fw.DistanceConstraint("coupler_end", "rocker_end", length=-1.0)], "length must be positive"),
    ([fw.DistanceConstraint("coupler_end", "rocker_end")], "the points meet in the neutral configuration"),
    ([fw.HingeConstraint("coupler_end", "rocker_end", axis="w")], "axis must be"),  # type: ignore[arg-type]
    ([fw.PointConstraint("coupler_end", to="rocker_end", offset=(np.nan, 0, 0))], "offset must be .* finite"),
]


@pytest.mark.parametrize(("constraints", "said"), REFUSED)
def test_what_makes_no_sense_is_refused_by_name(constraints: list[AnyConstraint], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fw.ConstraintSet(fw.models.four_bar(), constraints)


def test_loops_that_cannot_close_end_where_errors_are_least_and_say_so() -> None:
    model = fw.models.four_bar()
    far = [fw.DistanceConstraint("coupler_end", "ground", length=5.0)]
    starts = np.stack([model.q0, model.q0 + np.array([1.0, 0.0, 0.0])])
    found = fw.close_loops(model, starts, far)
    assert not found.converged.any()
    np.testing.assert_allclose(fw.loop_error(model, found.q, far).ravel(), 5.0 - (0.1 + 0.35), atol=1e-6)  # stretched
    pin = [fw.HingeConstraint("coupler_end", "rocker_end", axis="y")]
    every = ["crank_hinge", "coupler_hinge", "rocker_hinge"]
    assert not fw.close_loops(model, model.q0 + 0.3, pin, fixed=every).converged
    with pytest.raises(ValueError, match="unknown joint 'crank'"):
        fw.close_loops(model, model.q0, pin, fixed=["crank"])


def test_singular_postures_are_told_and_solved() -> None:
    """All bars in line: two more ways to go."""
    model = fw.models.n_four_bar(2)
    loops = list(fw.constraints_of(model))
    flat = np.array(model.q0)
    for joint in model.joints:
        flat[joint.q_slice] = 0.5 * np.pi if joint.name.startswith("crank") else -0.5 * np.pi
    found = fw.mobility(model, flat, loops)
    assert found.singular and found.dof == 3 and found.redundant == 2
    solution = fw.constrained_dynamics(model, flat, np.zeros(model.nv), np.ones(model.nv), loops)
    assert solution.converged and solution.residual < 1e-12
    sim = fw.Simulator(model)
    assert sim.step(sim.state(q=flat)).closure_error < 1e-9


def test_closures_of_a_builder_are_checked() -> None:
    def two() -> fw.ModelBuilder:
        builder = fw.ModelBuilder("two")
        for name, parent in (("a", "world"), ("b", "a")):
            builder.link(name, mass=1.0, inertia=(1, 1, 1)).joint(name, "revolute", parent, name, axis="x")
        return builder

    for link, to, rows, said in (
        ("a", "a", "xyz", "both ends are on link 'a'"),
        ("a", "q", "xyz", "'q' is not a link"),
        ("a", "b", "xx", "rows must be distinct"),
        ("a", "b", "xw", "rows must be distinct and among"),
    ):
        with pytest.raises(fw.ModelError, match=said):
            two().close("loop", link, to, rows=tuple(rows)).build()
