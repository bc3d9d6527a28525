"""States that satisfy loops: closing them, projecting velocities, counting what can move."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.loops import bennett, bricard, parallelograms

import featherweight as fw
from featherweight.constraints.constraint_set import AnyConstraint

FOUR_BAR = fw.models.four_bar()
PIN = [fw.HingeConstraint("coupler_end", "rocker_end", axis="y")]


def test_batches_close_sample_by_sample() -> None:
    """Fixed joints stay, closed samples stay as they are, and what cannot close says so."""
    crank = np.linspace(-3.0, 3.0, 7)
    q0 = np.tile(FOUR_BAR.neutral(), (7, 1))
    q0[:, 0] = crank
    found = fw.close_loops(FOUR_BAR, q0, PIN, fixed=["crank_hinge"])
    assert found.converged.all() and np.array_equal(found.q[:, 0], crank)
    assert fw.loop_error(FOUR_BAR, found.q, PIN).shape == (7, 1)
    assert np.abs(fw.constraint_position_error(FOUR_BAR, found.q, PIN)).max() < 1e-11
    again = fw.close_loops(FOUR_BAR, found.q, PIN)
    assert np.abs(again.q - found.q).max() < 1e-11 and again.iterations.max() <= 1
    alone = fw.close_loops(FOUR_BAR, q0[3], PIN, fixed=np.array([True, False, False]))
    assert np.abs(alone.q - found.q[3]).max() < 1e-11
    apart = fw.close_loops(
        FOUR_BAR, q0, [fw.PointConstraint("coupler_end", to="rocker_end", to_offset=(5.0, 0.0, 0.0))]
    )
    assert not apart.converged.any() and np.isfinite(apart.q).all() and (apart.error > 1.0).all()


def test_every_sample_has_its_position() -> None:
    """Samples that are done leave the rest with positions of their own; one start serves all of them."""
    robot = fw.models.five_bar()
    loop = fw.constraints_of(robot)
    tip = fw.frame_placement(robot, robot.q0, "tip")[:3, 3]
    wanted = tip + np.linspace(0.0, 0.1, 9)[:, None] * (1.0, 0.0, -1.0)
    found = fw.close_loops(robot, robot.q0, [*loop, fw.PointConstraint("tip", ("x", "z"), position=wanted)])
    assert found.converged.all() and found.iterations.min() < found.iterations.max()
    assert np.abs(fw.frame_placement(robot, found.q, "tip")[:, :3, 3] - wanted).max() < 1e-10
    alone = fw.close_loops(robot, robot.q0, [*loop, fw.PointConstraint("tip", ("x", "z"), position=wanted[4])])
    assert np.abs(alone.q - found.q[4]).max() < 1e-10


def test_what_a_model_holds_by_itself() -> None:
    builder = fw.ModelBuilder.from_description(fw.models.four_bar().description)
    builder.close("weld", "rocker", "world", rows=("x", "ry"), to_placement=(0.1, 0.0, 0.0))
    builder.couple("gear", "rocker_hinge", "crank_hinge", [0.1, -2.0])
    pin, weld, gear = fw.constraints_of(builder.build())
    assert pin == fw.PointConstraint("coupler", ("x", "z"), (0.35, 0, 0), to="rocker", to_offset=(0.25, 0, 0))
    assert isinstance(weld, fw.FrameConstraint) and np.asarray(weld.position)[0, 3] == 0.1
    assert gear == fw.JointCoupling("rocker_hinge", "crank_hinge", (0.1, -2.0))


def test_weights_say_who_moves() -> None:
    q0 = FOUR_BAR.neutral() + np.array([0.3, 0.0, 0.0])
    light, heavy = (fw.close_loops(FOUR_BAR, q0, PIN, weights={"crank_hinge": weight}).q - q0 for weight in (1e-3, 1e3))
    assert abs(heavy[0]) < 1e-2 * abs(light[0])


def test_couplings_and_rods_are_met() -> None:
    model = fw.models.quadruped()
    names = [joint.name for joint in model.joints if joint.type != "free"]
    rows: list[AnyConstraint] = [
        fw.JointCoupling(names[0], to=names[1], polynomial=(0.1, 0.5, -0.3)),
        fw.DistanceConstraint("front_left_foot", "front_right_foot", length=0.35),
    ]
    rng = np.random.default_rng(0)
    found = fw.close_loops(model, model.integrate(model.neutral(), rng.normal(scale=0.3, size=(5, model.nv))), rows)
    assert found.converged.all() and fw.loop_error(model, found.q, rows).max() < 1e-11
    feet = [fw.frame_placement(model, found.q, f"front_{side}_foot")[:, :3, 3] for side in ("left", "right")]
    assert np.linalg.norm(feet[0] - feet[1], axis=1) == pytest.approx(np.full(5, 0.35), abs=1e-11)


def test_velocities_nearest_by_energy_and_by_weights() -> None:
    mechanism = parallelograms(0.7)
    model, q, constraints = mechanism
    v = np.random.default_rng(1).normal(size=(3, model.nv))
    J, H = fw.constraint_jacobian(model, q, constraints), fw.crba(model, q)
    by_energy = fw.project_velocity(model, q, v, constraints)
    by_weights = fw.project_velocity(model, q, v, constraints, weights=np.arange(1.0, model.nv + 1))
    _, values, rows = np.linalg.svd(J)
    N = rows[int((values > 1e-9).sum()) :]  # what the loops allow
    for found, metric in ((by_energy, H), (by_weights, np.diag(np.arange(1.0, model.nv + 1)))):
        assert np.abs(found @ J.T).max() < 1e-11
        assert np.abs((found - v) @ metric @ N.T).max() < 1e-10  # nearest: across all allowed directions


def test_what_has_no_position_is_held_where_it_is() -> None:
    model = fw.models.quadruped()
    feet = [f"{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]
    q = model.integrate(model.neutral(), np.r_[np.zeros(6), np.tile((0.1, 0.7, -1.4), 4)])
    assert int(fw.mobility(model, q, [fw.PointConstraint(foot) for foot in feet]).dof) == 6
    arm = fw.models.arm()
    postures = np.stack([np.full(7, 0.3), np.zeros(7)])
    for held, left in ((fw.PointConstraint("flange"), [4, 6]), (fw.FrameConstraint("flange"), [1, 4])):
        found = fw.mobility(arm, postures, [held])
        assert found.dof.tolist() == left  # seven joints; those of the straight arm move its end sideways at most
        assert found.singular.tolist() == [False, True]


def test_mobility_of_known_mechanisms() -> None:
    assert int(fw.mobility(FOUR_BAR, FOUR_BAR.neutral(), PIN).dof) == 1
    for mechanism, redundant in ((bricard(1), 1), (bennett(1), 3)):
        found = fw.mobility(mechanism.model, mechanism.q, mechanism.constraints)
        assert (int(found.dof), int(found.redundant)) == (7, redundant)  # six of them the base's
    bent, flat = parallelograms(0.7, 1), parallelograms(0.0, 1)
    qs = np.stack([bent.q, flat.q])
    found = fw.mobility(bent.model, qs, bent.constraints)
    assert found.dof.tolist() == [7, 8] and found.singular.tolist() == [False, True]


def test_all_joints_follow_the_actuated_ones() -> None:
    mechanism = parallelograms(0.7, 2)
    model, q, constraints = mechanism
    actuated = ["root", "crank_1", "crank_0"]
    G = fw.loop_jacobian(model, q, constraints, actuated)
    assert G.shape == (model.nv, 8)
    assert np.abs(fw.constraint_jacobian(model, q, constraints) @ G).max() < 1e-12
    assert G[model.joint("crank_0").v_slice, 7] == 1.0 and G[model.joint("coupler_0").v_slice, 7] == pytest.approx(-1.0)
    assert fw.loop_jacobian(model, np.tile(q, (3, 1)), constraints, actuated).shape == (3, model.nv, 8)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: fw.close_loops(FOUR_BAR, np.zeros(5), PIN), "q0: expected finite numbers"),
        (
            lambda: fw.close_loops(FOUR_BAR, np.zeros(3), PIN, weights={"crank_hinge": -1.0}),
            "weights: expected 3 positive",
        ),
        (lambda: fw.close_loops(FOUR_BAR, np.zeros(3), PIN, fixed=["nobody"]), "nobody"),
        (lambda: fw.close_loops(FOUR_BAR, np.zeros(3), PIN, fixed="crank_hinge"), "names of joints"),
        (lambda: fw.close_loops(FOUR_BAR, np.zeros(3), PIN, tolerance=0.0), "tolerance"),
        (lambda: fw.loop_jacobian(FOUR_BAR, np.zeros(3), PIN, ["crank_hinge", "crank_hinge"]), "named twice"),
        (lambda: fw.loop_jacobian(FOUR_BAR, np.zeros(3), PIN, np.array([True])), "mask of shape"),
    ],
)
def test_bad_arguments_are_named(call: object, complaint: str) -> None:
    with pytest.raises((ValueError, KeyError), match=complaint):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("rows", [("x", "y", "z"), ("x", "y", "z", "rx", "ry", "rz")])
def test_closures_that_start_on_what_the_world_holds_are_seen_from_the_other_end(rows: tuple[str, ...]) -> None:
    """As those of MJCF files from a mocap body to a gripper: anchors, at the pose of that body."""
    builder = fw.ModelBuilder.from_description(fw.models.arm().description)
    at = fw.frame_placement(fw.models.arm(), fw.models.arm().q0, "link_7")
    builder.link("mark").joint("mark", "fixed", "world", "mark", placement=(0.1, 0.2, 0.3))
    builder.close("held", "mark", "link_7", placement=np.linalg.inv(fw.pose((0.1, 0.2, 0.3))) @ at, rows=rows)
    model = builder.build()
    (held,) = fw.constraints_of(model)
    assert isinstance(held, (fw.PointConstraint, fw.FrameConstraint))
    assert held.frame == "link_7" and held.to is None
    assert np.abs(fw.constraint_position_error(model, model.q0, [held])).max() < 1e-14
    moved = model.q0 + 0.1
    error = fw.frame_placement(model, moved, "link_7")[:3, 3] - at[:3, 3]
    seen = fw.constraint_position_error(model, moved, [held])[:3]
    np.testing.assert_allclose(np.linalg.norm(seen), np.linalg.norm(error), rtol=1e-12)
