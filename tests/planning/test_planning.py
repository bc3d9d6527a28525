"""Plans do what they say: skills, their search, and the checks of what is found."""

from pathlib import Path

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array
from featherweight.planning import Grasp, Near, Plan, Problem, Push, Release, Strike, Tool, View, solve
from featherweight.planning.following import followed
from featherweight.planning.motion import Path as HandPath
from featherweight.planning.motion import _spline, controls_along

START = [0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0]  # the hand points down in front of the arm


def table(goal: tuple[float, float] = (0.5, -0.15), *, graspable: bool = False, within: float = 0.05) -> Problem:
    """An arm with a block in front of it."""
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.servo(scene.add(fw.models.arm(), name="arm", q=START, self_collision=False), kp=4000, kd=200)
    scene.add(fw.box((0.08, 0.08, 0.08), mass=0.3), name="block", pose=(0.5, 0.15, 0.04))
    if graspable:
        scene.constrain(fw.FrameConstraint("arm/flange", to="block"), switch="hold")
        scene.exclude("arm", "block")
    sim = fw.Simulator(scene, dt=4e-3, integrator="implicit")
    return Problem(sim, hand="arm/flange", goal=Near("block", goal, within=within), tools=())


@pytest.fixture(scope="module")
def problem() -> Problem:
    return table()


@pytest.fixture(scope="module")
def plan(problem: Problem) -> Plan:
    return solve(problem, samples=500, seed=3)


def test_splines_between_knots_are_cubics_at_rest_at_their_ends() -> None:
    n, substeps, h = 6, 10, 0.04
    values, rates, seconds = (_spline(n, substeps, d) for d in range(3))
    knots = np.random.default_rng(0).normal(size=n + 1)
    np.testing.assert_allclose((values @ knots)[::substeps], knots, rtol=0, atol=1e-12)
    assert abs((rates @ knots)[0]) < 1e-9 and abs((rates @ knots)[-1]) < 1e-9
    t = h * np.arange(n * substeps + 1) / substeps
    slopes = np.gradient(values @ knots, t, edge_order=2)  # differences of second order
    np.testing.assert_allclose((rates @ knots)[1:-1], slopes[1:-1], rtol=0, atol=0.02 * np.abs(rates @ knots).max())
    jumps = np.diff(seconds @ knots)  # second derivatives are continuous: straight lines between knots
    assert np.abs(np.diff(jumps.reshape(n, substeps)[:, :-1], axis=1)).max() < 1e-6 * np.abs(jumps).max()


def test_the_hand_follows_its_path_and_has_the_speed_it_is_told(problem: Problem) -> None:
    view = View(problem, problem.start)
    place, velocity = np.array([[0.5, 0.0, 0.3]]), np.array([[0.3, 0.4, 0.1]])
    path = HandPath(view).to(place - 0.16 * velocity, 0.8).through(place, velocity, 0.32, 0.32)
    before = round((path.seconds - 0.32) / problem.sim.dt)
    control, miss = controls_along(problem, view, path)
    assert miss[0] < 1e-3
    states = problem.sim.rollout(problem.start, control=control[0])

    def frame(q: Array) -> Array:
        return np.asarray(fw.frame_placement(problem.sim.model, q, "arm/flange"))

    np.testing.assert_allclose(frame(states.q[before - 1])[:3, 3], place[0], rtol=0, atol=0.01)
    passing = (frame(states.q[before + 4])[:3, 3] - frame(states.q[before - 6])[:3, 3]) / (10 * problem.sim.dt)
    np.testing.assert_allclose(passing, velocity[0], rtol=0, atol=0.06)
    np.testing.assert_allclose(frame(states.q[before - 1])[:3, 2], [0, 0, -1], rtol=0, atol=0.02)  # still points down


def test_arcs_keep_their_distance_from_the_arm(problem: Problem) -> None:
    path = HandPath(View(problem, problem.start)).around(np.array([[-0.4, 0.3, 0.2]]), 1.0)
    radii = np.linalg.norm(np.array(path.places)[:, 0, :2], axis=1)
    assert radii.min() > 0.45 and np.allclose(path.place, [[-0.4, 0.3, 0.2]])


def test_a_plan_ends_at_the_goal_also_at_half_the_step_and_with_other_friction(problem: Problem, plan: Plan) -> None:
    assert plan.verdict.worst < problem.goal.within
    sim, goal = problem.sim, np.array(problem.goal.place)
    state = problem.start
    for control in plan.control:  # step by step, by nothing that the search used
        state = sim.step(state, control=control)
    block = sim.scene.parts["block"].q
    away = np.linalg.norm(state.q[block][:2] - goal)
    np.testing.assert_allclose(away, plan.verdict.nominal, rtol=0, atol=1e-9)
    for factor, claimed in ((0.9, plan.verdict.less_friction), (1.1, plan.verdict.more_friction)):
        ends = plan.replay(problem.start.randomised(friction=[factor])).final
        np.testing.assert_allclose(np.linalg.norm(ends.q[block][:2] - goal), claimed, rtol=0, atol=1e-9)
    finer = plan.replay(half=True)
    assert finer.simulator.dt == 0.5 * sim.dt and len(finer.q) == 2 * len(plan.control)
    np.testing.assert_allclose(np.linalg.norm(finer.q[-1][block][:2] - goal), plan.verdict.half_step, rtol=0, atol=1e-9)


def test_the_same_seed_and_samples_make_the_same_plan(problem: Problem, plan: Plan) -> None:
    single = Problem(
        fw.Simulator(problem.sim.scene, dt=4e-3, integrator="implicit", num_threads=1), hand="arm/flange",
        goal=problem.goal,
    )  # fmt: skip
    again = solve(single, samples=500, seed=3)
    assert again.skeleton == plan.skeleton and again.verdict == plan.verdict
    np.testing.assert_array_equal(again.control, plan.control)


def test_plans_are_saved_and_shown(problem: Problem, plan: Plan, tmp_path: Path) -> None:
    plan.save(tmp_path / "plan.npz")
    loaded = Plan.load(problem, tmp_path / "plan.npz")
    assert loaded.skeleton == plan.skeleton and loaded.parameters == plan.parameters and loaded.verdict == plan.verdict
    np.testing.assert_array_equal(loaded.control, plan.control)
    assert loaded.events == plan.events
    assert "push block" in str(plan) and "allowed 50" in str(plan)
    assert repr(plan) == "<Plan: push block>"
    plan.html(tmp_path / "plan.html")
    assert (tmp_path / "plan.html").stat().st_size > 1e5
    (tmp_path / "wrong.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"wrong\.npz"):
        Plan.load(problem, tmp_path / "wrong.npz")


def test_grasps_hold_and_releases_let_go() -> None:
    problem = table(graspable=True)
    state = problem.start[[0, 0]]
    grasp = Grasp("block")
    tool = problem.tool("block")
    assert tool == Tool("block") and grasp.is_applicable(View(problem, state))
    for skill, held in ((grasp, "block"), (Release("block"), None)):
        view = View(problem, state)
        x = np.zeros((2, len(skill.parameters)))
        path = skill.path(view, x)
        control, _ = controls_along(problem, view, path)
        events = [(10 * knot, name, on) for knot, name, on in path.events]
        state = followed(problem.sim, state, control, events)
        after = View(problem, state)
        assert after.held == held
        height = after.place("block")[:, 2]
        assert (height > 0.07).all() if held else (height < 0.05).all()


def test_what_cannot_be_is_named(problem: Problem) -> None:
    sim = problem.sim
    near = Near("block", (0.5, 0.0), within=0.05)
    with pytest.raises(ValueError, match=r"hand: the scene has no link or frame 'arm/flang'.*'arm/flange'"):
        Problem(sim, hand="arm/flang", goal=near)
    with pytest.raises(ValueError, match=r"0\.04 s must be a multiple of its step"):
        Problem(fw.Simulator(sim.scene, dt=3e-3, integrator="implicit"), hand="arm/flange", goal=near)
    with pytest.raises(ValueError, match="goal: the scene has no link or frame 'blok'"):
        Problem(sim, hand="arm/flange", goal=Near("blok", (0.5, 0.0), within=0.05))
    with pytest.raises(ValueError, match="the hand cannot hold it"):
        Problem(sim, hand="arm/flange", goal=near, tools=[Tool("block")])
    with pytest.raises(ValueError, match="faces are some of"):
        Tool("block", faces=("z",))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="within must be a positive number"):
        Near("block", (0.5, 0.0), within=-1.0)
    with pytest.raises(ValueError, match="place must be 2 or 3 numbers"):
        Near("block", (0.5,), within=0.1)
    with pytest.raises(ValueError, match="is not driven: joint 'block' has no position servo"):
        Problem(sim, hand="block", goal=near)
    with pytest.raises(fw.PlanningError, match="'block' is at the goal already"):
        solve(table((0.5, 0.15)))
    with pytest.raises(ValueError, match="expected skills such as"):
        solve(problem, skills=["push"])  # type: ignore[list-item]
    with pytest.raises(fw.PlanningError, match="no skill is applicable"):
        solve(problem, skills=[Grasp("block")])
    with pytest.raises(fw.PlanningError, match=r"no plan in 1 skeletons, 96 samples.*closest: push block"):
        solve(table(within=1e-6), samples=96, skills=[Push("block")])
    with pytest.raises(ValueError, match="seconds: expected a positive number"):
        solve(problem, seconds=0)


def test_a_struck_block_goes_as_far_as_friction_lets_it() -> None:
    """v^2 = 2 mu g d, from the speed it has when the finger leaves it."""
    problem = table((1.5, 0.15))
    view = View(problem, problem.start)
    x: Array = np.array([[0.0, 0.0, 1.2]])
    path = Strike("block").path(view, x)
    control, _ = controls_along(problem, view, path)
    motion = problem.sim.rollout(problem.start, control=control[0])
    part = problem.sim.scene.parts["block"]
    speed = np.linalg.norm(motion.v[:, part.v][:, :3], axis=1)
    first = int(np.argmax(speed))
    free = first + 3
    slid = np.linalg.norm(motion.q[-1][part.q][:2] - motion.q[free][part.q][:2])
    assert speed[first] > 0.3
    np.testing.assert_allclose(slid, speed[free] ** 2 / (2 * 0.5 * 9.81), rtol=0.1, atol=2e-3)
