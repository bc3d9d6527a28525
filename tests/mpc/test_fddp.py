"""Plans with scheduled contacts: their derivatives, linear problems, laws of motion, optimality, closed loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits

import featherweight as fw
from featherweight.mpc.contact_costs import ContactCosts
from featherweight.mpc.scheduled_nodes import ScheduledNodes

DT = 0.02
LEGS = ("front_left", "front_right", "hind_left", "hind_right")
FEET = [f"robot/{leg}_foot" for leg in LEGS]
STANCE = np.tile([0.0, 0.8, -1.6], 4)
STANDING = [0.0, 0.0, 0.29, 0.0, 0.0, 0.0, 1.0, *STANCE]


def quadruped(*, servos: bool = False, dt: float = DT) -> fw.Simulator:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.3), self_collision=False)
    if servos:
        scene.servo(robot, kp=60.0, kd=1.5)
    else:
        scene.motor(robot)
    return fw.Simulator(scene, dt=dt, integrator="implicit" if servos else "semi_implicit", num_threads=1)


def moved_to(sim: fw.Simulator, place: Any, **weights: float) -> fw.mpc.Task:
    task = fw.mpc.Task(sim, terminal=10.0)
    task.add("place", fw.mpc.frame_position("robot/trunk"), target=place, weight=weights.get("place", 30.0))
    task.add("upright", fw.mpc.frame_axis("robot/trunk", "z", "xy"), weight=5.0)
    task.add("posture", fw.mpc.joint_position(), target=STANCE, weight=0.3)
    task.add("rates", fw.mpc.joint_velocity(), weight=0.1)
    task.add("effort", fw.mpc.control(), weight=0.02)
    return task


@pytest.mark.parametrize("servos", [False, True])
def test_nodes_are_differentiated_as_differences_say(servos: bool) -> None:
    """Standing, landing, a sole that is held like a frame, and flight, at random states."""
    sim = quadruped(servos=servos)
    model, rng = sim.model, np.random.default_rng(1)
    contacts: list[Any] = [*FEET[:3], fw.FrameConstraint(FEET[3], damping=3.0)]
    nodes = ScheduledNodes(sim, fw.mpc.Schedule(contacts), DT)
    closed = np.array([[1, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 1, 0]], dtype=bool)
    lands = np.array([True, True, False, False])
    n, nv, nu = len(closed), model.nv, sim.nu
    q, v, u = model.random(rng, batch=n), rng.standard_normal((n, nv)), rng.standard_normal((n, nu))
    found = nodes.linearise(q, v, u, (closed, lands))
    after = nodes.advance(q, v, u, (closed, lands))
    for mine, other in zip((found.q, found.v, found.forces), after, strict=True):
        assert np.allclose(mine, other, rtol=0, atol=1e-9 * (1 + np.abs(other).max()))
    h = 1e-6
    for j in range(2 * nv + nu):
        e = np.zeros(2 * nv + nu)
        e[j] = h
        ends = [
            nodes.advance(
                model.integrate(q, np.tile(d[:nv], (n, 1))), v + d[nv : 2 * nv], u + d[2 * nv :], (closed, lands)
            )
            for d in (e, -e)
        ]
        dq, dv, df = (
            (model.difference(after[0], ends[0][0]) - model.difference(after[0], ends[1][0])) / (2 * h),
            (ends[0][1] - ends[1][1]) / (2 * h),
            (ends[0][2] - ends[1][2]) / (2 * h),
        )
        by_v = found.A[:, :, j] if j < 2 * nv else found.B[:, :, j - 2 * nv]
        by_force = found.forces_x[:, :, j] if j < 2 * nv else found.forces_u[:, :, j - 2 * nv]
        by_q = (found.D @ by_v[:, :, None])[:, :, 0] + (found.E[:, :, j] if j < nv else 0.0)
        for exact, difference in ((by_q, dq), (by_v, dv), (by_force, df)):
            assert np.abs(exact - difference).max() < 1e-5 * (1 + np.abs(exact).max())


def test_costs_of_contacts_have_the_slopes_that_differences_say() -> None:
    """Points and a sole, pushed and pulled at random."""
    sim = quadruped()
    model, rng = sim.model, np.random.default_rng(2)
    contacts: list[Any] = [*FEET[:3], fw.FrameConstraint(FEET[3], damping=3.0)]
    schedule = fw.mpc.Schedule(contacts, friction=0.6, sole=(0.2, 0.1), tolerance=30.0)
    nodes = ScheduledNodes(sim, schedule, DT)
    costs = ContactCosts(schedule, nodes.constraints, 1)
    n, nv, nu = 3, model.nv, sim.nu
    here = np.ones((n, 4), dtype=bool), np.zeros(n, dtype=bool)
    q, v, u = model.random(rng, batch=n), rng.standard_normal((n, nv)), 5.0 * rng.standard_normal((n, nu))
    found = costs.quadratic(q, nodes.linearise(q, v, u, here), here[0])
    slope = np.concatenate([found.q, found.r], axis=1)

    def value(d: Any) -> Any:
        moved = model.integrate(q, np.tile(d[:nv], (n, 1)))
        return costs.value(moved, nodes.advance(moved, v + d[nv : 2 * nv], u + d[2 * nv :], here)[2], here[0])

    assert found.value == pytest.approx(value(np.zeros(2 * nv + nu)).sum(), rel=1e-9)
    steps = 1e-6 * np.eye(2 * nv + nu)
    differences = np.stack([(value(d) - value(-d)) / 2e-6 for d in steps], axis=1)
    assert np.abs(slope - differences).max() < 1e-5 * np.abs(slope).max()
    H = np.block([[found.Q, np.swapaxes(found.S, 1, 2)], [found.S, found.R]])
    assert (np.linalg.eigvalsh(H) > -1e-9 * np.abs(H).max()).all()


def test_linear_problem_is_solved_in_one_step_and_equals_lqr() -> None:
    """Two carts that touch nothing."""
    builder = fw.ModelBuilder("sliders")
    builder.solid("lower", "box", (0.4, 0.4, 0.1), mass=2.0).solid("upper", "box", (0.2, 0.2, 0.1), mass=1.0)
    builder.joint("a", "prismatic", "world", "lower", axis="x", damping=0.3, stiffness=2.0, rest_position=0.1)
    builder.joint("b", "prismatic", "lower", "upper", axis="x")
    scene = fw.Scene()
    scene.add(builder.build(), name="sliders")
    scene.motor(["sliders/a", "sliders/b"])
    sim = fw.Simulator(scene, dt=DT)
    N, goal = 30, np.array([0.5, -0.2])
    task = fw.mpc.Task(sim, terminal=10.0)
    task.add("place", fw.mpc.joint_position(), target=goal, weight=3.0)
    task.add("rates", fw.mpc.joint_velocity(), weight=0.3)
    task.add("effort", fw.mpc.control(), weight=0.05)
    mpc = fw.mpc.FDDP(
        sim, task, fw.mpc.Schedule(["sliders/upper"], False), nodes=N, regularisation=0.0, control=[0.0, 0.0]
    )
    guess = np.random.default_rng(0).standard_normal((N + 1, 2))
    mpc.reset(q=guess, v=guess[::-1])  # full of gaps
    state = sim.state(v=[0.3, -0.1])
    plan = mpc.update(state)
    M = np.array([[3.0, 1.0], [1.0, 1.0]])
    K, C = np.diag([2.0, 0.0]), np.diag([0.3, 0.0])
    stiff = M + DT * C + DT * DT * K  # springs and dampers are implicit
    rows = -np.linalg.solve(stiff, np.concatenate([K, C + DT * K], axis=1))
    A = np.eye(4)
    A[2:] += DT * rows
    A[:2] += DT * A[2:]
    B = np.concatenate([DT * DT * np.linalg.inv(stiff), DT * np.linalg.inv(stiff)])
    constant = np.linalg.solve(stiff, [2.0 * 0.1, 0.0])
    c = np.concatenate([DT * DT * constant, DT * constant])
    Q = np.tile([9.0, 9.0, 0.09, 0.09], (N + 1, 1))
    Q[0], Q[-1] = 0.0, 10.0 * Q[-1]
    slope = np.zeros_like(Q)
    slope[:, :2] = -Q[:, :2] * goal
    best = fw.mpc.lqr(
        np.tile(A, (N, 1, 1)), np.tile(B, (N, 1, 1)), Q, np.full((N, 2), 0.05**2), q=slope, c=np.tile(c, (N, 1)),
        x0=np.concatenate([state.q, state.v]),
    )  # fmt: skip
    assert np.allclose(plan.control, best.u, rtol=0, atol=1e-8 * np.abs(best.u).max())
    assert np.allclose(np.hstack([plan.q, plan.v]), best.x, rtol=0, atol=1e-8)
    assert np.allclose(plan.gain, best.gain, rtol=0, atol=1e-8 * np.abs(best.gain).max())
    assert plan.gap < 1e-12


def test_plans_obey_the_laws_of_motion_and_forces_those_of_contact() -> None:
    """A hop: the rate of the momentum is gravity and the forces of feet, on every node, and feet that stand stay."""
    sim = quadruped()
    model = sim.model
    closed = lambda t: np.repeat(((t < 0.2) | (t >= 0.34))[:, None], 4, axis=1)  # noqa: E731
    schedule = fw.mpc.Schedule(FEET, closed, friction=0.7)
    mpc = fw.mpc.FDDP(sim, moved_to(sim, (0.1, 0.0, 0.27)), schedule, nodes=30)
    plan = mpc.update(sim.state(q=STANDING))
    assert plan.gap < 1e-8 and plan.cost < 0.5 * plan.start
    flying = ~plan.closed[:, 0]
    assert flying.sum() == 7 and not plan.forces[flying].any()
    damping = np.concatenate([joint.damping for joint in model.joints if joint.nv == 1])
    mass, lands = model.mass, np.flatnonzero(plan.closed[1:, 0] & ~plan.closed[:-1, 0]) + 1
    for k in set(range(30)) - set(lands.tolist()):
        moved = fw.rnea(model, plan.q[k], plan.v[k], (plan.v[k + 1] - plan.v[k]) / DT)
        for foot, force in zip(FEET, plan.forces[k].reshape(4, 3), strict=True):
            moved -= fw.jacobian(model, plan.q[k], foot)[:3].T @ force
            x, y, z = fw.frame_placement(model, plan.q[k], foot)[:3, :3] @ force
            assert np.hypot(x, y) <= 0.7 * z + 0.1 * mass * 9.81  # but for the tolerance, a twentieth of the weight
        assert np.abs(moved[:6]).max() < 1e-8 * mass * 9.81  # nothing else acts on the trunk
        damped = plan.control[k] - damping * plan.v[k + 1, 6:]
        assert np.abs(moved[6:] - damped).max() < 1e-8 * mass * 9.81
    stands = np.flatnonzero(plan.closed[:-1, 0] & plan.closed[1:, 0])
    feet = np.stack([fw.frame_placement(model, plan.q, foot)[:, :3, 3] for foot in FEET], axis=1)
    assert np.abs(feet[stands + 1] - feet[stands]).max() < 2e-3
    speeds = fw.frame_velocity(model, plan.q[lands + 1], plan.v[lands + 1], FEET[0])[:, :3]
    assert np.abs(speeds).max() < 0.1  # they had 1 m/s before they landed
    assert feet[:-1][flying, :, 2].max() > feet[0, :, 2].max() + 0.01


def test_converged_plans_are_optimal() -> None:
    """Slopes of the whole cost by controls, from differences of rollouts of the plan's own dynamics, are zero."""
    sim = quadruped()
    schedule = fw.mpc.Schedule(FEET, friction=0.7)
    mpc = fw.mpc.FDDP(sim, moved_to(sim, (0.03, 0.01, 0.27)), schedule, nodes=15, first_iterations=100)
    plan = mpc.update(sim.state(q=STANDING))
    assert plan.gap < 1e-9
    times, closed = DT * np.arange(16.0), np.ones((1, 4), dtype=bool)

    def cost(control: Any) -> float:
        q, v, forces = [plan.q[:1]], [plan.v[:1]], [plan.forces[:0]]
        for u in control:
            after = mpc._nodes.advance(q[-1], v[-1], u[None], (closed, np.zeros(1, dtype=bool)))
            for to, x in zip((q, v, forces), after, strict=True):
                to.append(x)
        path = np.stack(q, axis=1), np.stack(v, axis=1)
        total = sum(float(x[0]) for x in mpc.task.costs(*path, control[None], times).values())
        pushed = mpc._contacts.value(path[0][0, :-1], np.concatenate(forces), np.repeat(closed, 15, axis=0))
        return total + float(pushed.sum())

    assert cost(plan.control) == pytest.approx(plan.cost, rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(6):
        d = rng.standard_normal(plan.control.shape)
        h = 1e-4
        ahead, behind = cost(plan.control + h * d), cost(plan.control - h * d)
        curvature = (ahead - 2 * plan.cost + behind) / h**2
        assert abs(ahead - behind) / (2 * h) < 3e-3 * np.sqrt(plan.cost * curvature)


def test_paths_that_are_only_guessed_begin_plans() -> None:
    sim = quadruped()
    task, schedule = moved_to(sim, (0.05, 0.0, 0.27)), fw.mpc.Schedule(FEET)
    mpc = fw.mpc.FDDP(sim, task, schedule, nodes=20)
    plain = mpc.update(sim.state(q=STANDING))
    guess = np.tile(STANDING, (21, 1))
    guess[:, 0] = np.linspace(0.0, 0.05, 21)
    guess[:, 7:] += 0.05 * np.random.default_rng(0).standard_normal((21, 12))
    mpc.reset(q=guess)
    guessed = mpc.update(sim.state(q=STANDING))
    assert guessed.gap < 1e-8
    assert guessed.cost == pytest.approx(plain.cost, rel=1e-3)
    again = mpc.update(sim.state(q=STANDING))  # nothing is left to gain
    assert again.cost == pytest.approx(guessed.cost, rel=1e-4)


def test_a_quadruped_trots_in_the_simulator_on_such_plans() -> None:
    """Contacts of the plant are the simulator's own, in steps ten times finer."""
    sim, plant = quadruped(servos=True), quadruped(servos=True, dt=2e-3)
    gait = fw.mpc.trot(period=0.5, lift=0.06, height=0.022, start=0.1)
    task = fw.mpc.Task(sim, terminal=5.0)
    task.add("height", fw.mpc.frame_position("robot/trunk", "z"), target=0.29, weight=15)
    task.add("upright", fw.mpc.frame_axis("robot/trunk", "z", "xy"), weight=6)
    task.add("speed", fw.mpc.frame_velocity("robot/trunk", axes="local"), target=(0.5, 0, 0), weight=2)
    task.add("posture", fw.mpc.joint_position(), target=STANCE, weight=0.6)
    task.add("rates", fw.mpc.joint_velocity(), weight=0.02)
    task.add("feet", fw.mpc.frame_position(FEET, "z"), target=gait, weight=40)
    task.add("effort", fw.mpc.control(), target=STANCE, weight=0.4)
    mpc = fw.mpc.FDDP(sim, task, fw.mpc.Schedule(FEET, gait.stands, friction=0.6), nodes=25)
    standing = plant.rollout(plant.state(q=STANDING), control=STANCE, n_steps=200, record=False).final
    log = fw.mpc.run(mpc, plant, plant.state(q=standing.q), 1.2)
    assert log.refused == 0 and log.q[:, 2].min() > 0.26
    assert 0.35 < log.v[-250:, 0].mean() < 0.6
    lift = [fw.frame_placement(plant.model, log.q, foot)[:, 2, 3].max() for foot in FEET]
    assert min(lift) > 0.04  # all feet were lifted


def test_bounds_hold_and_motors_have_their_effort() -> None:
    sim = quadruped()
    effort = max(float(joint.effort_limit[0]) for joint in sim.model.joints if joint.nv == 1)
    free = fw.mpc.FDDP(sim, moved_to(sim, (0.0, 0.0, 0.2)), fw.mpc.Schedule(FEET), nodes=10)
    assert np.abs(free.update(sim.state(q=STANDING)).control).max() <= effort
    bound = fw.mpc.FDDP(sim, moved_to(sim, (0.0, 0.0, 0.2)), fw.mpc.Schedule(FEET), nodes=10, bounds=(-4.0, 4.0))
    plan = bound.update(sim.state(q=STANDING))
    assert np.abs(plan.control).max() <= 4.0 and (np.abs(plan.control) > 4.0 - 1e-9).any()


def test_repeats_to_the_bit_whatever_the_threads() -> None:
    plans = []
    for threads in (1, 2):
        scene = quadruped().scene
        sim = fw.Simulator(scene, dt=DT, num_threads=threads)
        mpc = fw.mpc.FDDP(sim, moved_to(sim, (0.02, 0.0, 0.28)), fw.mpc.Schedule(FEET, friction=0.7), nodes=20)
        state = sim.state(q=STANDING)
        mpc.update(state)
        plans.append(mpc.update(state, time=DT))
    for name in ("q", "v", "control", "gain", "forces"):
        assert_same_bits(*(getattr(plan, name) for plan in plans))


def test_bad_input() -> None:
    sim = quadruped()
    task, schedule = moved_to(sim, (0.0, 0.0, 0.3)), fw.mpc.Schedule(FEET)
    with pytest.raises(ValueError, match="contacts: expected names"):
        fw.mpc.Schedule([])
    with pytest.raises(ValueError, match="closed: expected 4 of bool"):
        fw.mpc.Schedule(FEET, lambda t: np.ones((len(t), 3), dtype=bool))
    with pytest.raises(ValueError, match="closed: expected 4 of bool"):
        fw.mpc.Schedule(FEET, 1.0)
    with pytest.raises(ValueError, match="contacts: number 0: expected a point or a frame"):
        fw.mpc.Schedule([fw.PointConstraint(FEET[0], to=FEET[1])])
    with pytest.raises(ValueError, match="friction: expected a positive number"):
        fw.mpc.Schedule(FEET, friction=-1.0)
    with pytest.raises(ValueError, match="sole: expected a length and a width"):
        fw.mpc.Schedule(FEET, friction=0.7, sole=(0.2, -0.1))
    with pytest.raises(ValueError, match="no contact has the rows"):
        fw.mpc.FDDP(sim, task, fw.mpc.Schedule([fw.PointConstraint(FEET[0], rows="z")], friction=0.7))
    with pytest.raises(ValueError, match="nowhere"):
        fw.mpc.FDDP(sim, task, fw.mpc.Schedule(["nowhere"]))
    with pytest.raises(ValueError, match="schedule: expected"):
        fw.mpc.FDDP(sim, task, FEET)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="lengths: expected"):
        fw.mpc.FDDP(sim, task, schedule, lengths=(0.0,))
    mpc = fw.mpc.FDDP(sim, task, schedule, nodes=5)
    with pytest.raises(ValueError, match=r"q: expected \(6, 19\)"):
        mpc.reset(q=np.zeros((5, 19)))
    mpc.update(sim.state(q=STANDING), time=1.0)
    with pytest.raises(ValueError, match="time: 0 s is before the last plan"):
        mpc.update(sim.state(q=STANDING), time=0.0)
