"""Constraints that environments switch on and off: grasps."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.step_differences import worst_errors

import featherweight as fw
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import AnyConstraint
from featherweight.simulation.core_arguments import Integrator

GRASP = fw.FrameConstraint("arm/flange", to="cup")
OTHER = fw.PointConstraint("cup", to="ball")
FIXED: dict[str, AnyConstraint] = {
    "grasp": GRASP,
    "other": fw.PointConstraint("cup", to="ball", to_offset=(-0.2, -0.1, 0.0)),
}  # as they start


def assert_close(errors: dict[str, float], **bounds: float) -> None:
    assert all(errors[name] < bound for name, bound in bounds.items()), errors


def workshop(
    *constraints: AnyConstraint,
    integrator: Integrator = "semi_implicit",
    solver: fw.Automatic | None = None,
    **switched: AnyConstraint,
) -> fw.Simulator:
    """An arm, a cup and a ball on the floor; constraints that always hold, and others with switches."""
    scene = fw.Scene(ground=fw.Plane(friction=0.6))
    scene.add(fw.models.arm(), name="arm")
    scene.add(fw.box((0.1, 0.1, 0.1), mass=1.0), name="cup", pose=(0.5, 0.0, 0.05))
    scene.add(fw.sphere(0.05, mass=0.3), name="ball", pose=(0.7, 0.1, 0.05))
    for constraint in constraints:
        scene.constrain(constraint)
    for name, constraint in switched.items():
        scene.constrain(constraint, switch=name)
    return fw.Simulator(scene, dt=2e-3, integrator=integrator, solver=solver or fw.Automatic())


def moving(sim: fw.Simulator, batch: int, seed: int = 0) -> fw.State:
    v = 0.2 * np.random.default_rng(seed).standard_normal((batch, sim.model.nv))
    return sim.state(batch, v=v)


def mixed(sim: fw.Simulator, batch: int = 21) -> fw.State:
    rng = np.random.default_rng(3)
    return moving(sim, batch).switched(grasp=rng.random(batch) < 0.5, other=rng.random(batch) < 0.4)


@pytest.fixture(scope="module")
def both() -> fw.Simulator:
    return workshop(grasp=GRASP, other=OTHER)


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "verlet"])
def test_off_is_as_if_the_constraint_were_not_there_and_on_as_if_it_always_were(integrator: Integrator) -> None:
    sharp = fw.Automatic(tolerance=1e-12)  # friction leaves forces between what it holds to the solver
    switched = workshop(grasp=GRASP, other=OTHER, integrator=integrator, solver=sharp)
    start = moving(switched, 1)
    for names in ((), ("grasp",), ("other",), ("grasp", "other")):
        plain = workshop(*(FIXED[name] for name in names), integrator=integrator, solver=sharp)
        expected = plain.rollout(plain.state(1, v=start.v), n_steps=60)
        got = switched.rollout(start.switched(dict.fromkeys(names, True)), n_steps=60)
        if names:  # where it takes hold is rounded; contacts make 1e-16 some thousand times larger
            np.testing.assert_allclose(got.q, expected.q, rtol=0, atol=1e-10)
        else:
            np.testing.assert_array_equal(got.q, expected.q)
        for k, name in enumerate(("grasp", "other")):
            wanted = expected.final.closures.force[0, names.index(name)] if name in names else np.zeros(3)
            np.testing.assert_allclose(got.final.closures.force[0, k], wanted, rtol=0, atol=1e-4)


def two_bodies(rows: tuple[str, ...] = ("x", "y", "z", "rx", "ry", "rz")) -> fw.Simulator:
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(fw.box((0.2, 0.3, 0.4), mass=2.0), name="hand", pose=(0, 0, 0))
    scene.add(fw.box((0.3, 0.1, 0.2), mass=3.0), name="cup", pose=(0.5, 0.2, 0.1))
    scene.constrain(fw.FrameConstraint("hand", rows=rows, to="cup"), switch="grasp")
    return fw.Simulator(scene, dt=1e-3)


def momentum_about_the_origin(sim: fw.Simulator, state: fw.State) -> Array:
    """Linear and angular, by hand: masses, and inertias of boxes."""
    total = np.zeros(6)
    for part, size in (("hand", (0.2, 0.3, 0.4)), ("cup", (0.3, 0.1, 0.2))):
        p = sim.scene.parts[part]
        q, v = state.q[p.q], state.v[p.v]
        R, mass = fw.rotation_from_quaternion(q[3:]), 2.0 if part == "hand" else 3.0
        squares = np.square(size)
        inertia = mass / 12.0 * (squares.sum() - squares)
        linear = mass * R @ v[:3]
        total += np.concatenate([linear, np.cross(q[:3], linear) + R @ (inertia * v[3:])])
    return total


def kinetic_energy(sim: fw.Simulator, state: fw.State) -> float:
    return float(fw.kinetic_energy(sim.model, state.q, state.v))


def test_a_grasp_keeps_momentum_and_takes_the_energy_of_a_plastic_impact() -> None:
    sim = two_bodies()
    start = sim.rollout(sim.state(v=[0.3, -0.1, 0.2, 0.5, 0.4, -0.3, *[0.0] * 6]), n_steps=50).final
    held = start.switched(grasp=True)
    np.testing.assert_array_equal(held.q, start.q)
    np.testing.assert_array_equal(held.v, start.v)
    after = sim.step(held)
    before = momentum_about_the_origin(sim, start)
    np.testing.assert_allclose(momentum_about_the_origin(sim, after), before, rtol=0, atol=1e-4)  # in the step: O(dt^2)
    # one body of 5 kg: what its momentum and inertia say
    total, rigid = momentum_about_the_origin(sim, after), kinetic_energy(sim, after)
    center = (2.0 * after.q[:3] + 3.0 * after.q[7:10]) / 5.0
    inertia = np.zeros((3, 3))
    for q, mass, size in ((after.q[:7], 2.0, (0.2, 0.3, 0.4)), (after.q[7:], 3.0, (0.3, 0.1, 0.2))):
        R, r, squares = fw.rotation_from_quaternion(q[3:]), q[:3] - center, np.square(size)
        inertia += R @ np.diag(mass / 12.0 * (squares.sum() - squares)) @ R.T
        inertia += mass * (r @ r * np.eye(3) - np.outer(r, r))
    spin = total[3:] - np.cross(center, total[:3])
    expected = 0.5 * total[:3] @ total[:3] / 5.0 + 0.5 * spin @ np.linalg.solve(inertia, spin)
    np.testing.assert_allclose(rigid, expected, rtol=1e-5)  # momentum turns by O(dt^2) while it sets in
    assert rigid < 0.9 * kinetic_energy(sim, start)
    # and then it turns on as one body
    later = sim.rollout(after, n_steps=400).final
    np.testing.assert_allclose(kinetic_energy(sim, later), rigid, rtol=1e-5)
    np.testing.assert_allclose(momentum_about_the_origin(sim, later)[:3], total[:3], rtol=0, atol=1e-9)
    # let go, both keep the velocities they have
    free = sim.step(later.switched(grasp=False))
    np.testing.assert_allclose(momentum_about_the_origin(sim, free), momentum_about_the_origin(sim, later), atol=1e-6)
    np.testing.assert_allclose(kinetic_energy(sim, free), kinetic_energy(sim, later), rtol=1e-9)


def relative(sim: fw.Simulator, state: fw.State) -> Array:
    X = fw.forward_kinematics(sim.model, state.q)
    return np.asarray(np.linalg.inv(X[1]) @ X[0])


def test_a_weld_holds_the_pose_there_is_when_it_is_switched_on_each_time_anew() -> None:
    sim = two_bodies()
    state = sim.state(v=[0.3, -0.1, 0.2, 0.5, 0.4, -0.3, *[0.0] * 6])
    seen = []
    for _ in range(2):
        state = sim.rollout(state, n_steps=100).final
        pose = relative(sim, state)
        again = state.switched(grasp=True).switched(grasp=True)  # what is on keeps its hold
        state = sim.rollout(again, n_steps=100).final
        np.testing.assert_allclose(relative(sim, state), pose, rtol=0, atol=1e-9)
        assert state.closure_error < 1e-9
        seen.append(pose)
        state = state.switched(grasp=False)
        assert state.closure_error == 0.0
        state = state.replace(v=-state.v + 0.1)
    assert np.abs(seen[0] - seen[1]).max() > 1e-3


def test_points_and_anchors_are_switched_where_they_are() -> None:
    scene = fw.Scene()
    scene.add(fw.box((0.1, 0.1, 0.1), mass=1.0), name="lamp", pose=(0, 0, 1))
    scene.constrain(fw.PointConstraint("lamp", offset=(0.05, 0.05, 0.05)), switch="hook")
    sim = fw.Simulator(scene, dt=1e-3)
    falling = sim.rollout(sim.state(v=[0, 0, 0, 1.0, 2.0, 0]), n_steps=100).final

    def corner(state: fw.State) -> Array:
        return np.asarray(fw.forward_kinematics(sim.model, state.q)[0] @ [0.05, 0.05, 0.05, 1.0])[:3]

    hung = sim.rollout(falling.switched(hook=True), n_steps=300).final
    np.testing.assert_allclose(corner(hung), corner(falling), rtol=0, atol=1e-9)


def test_guided_constraints_are_switched_too() -> None:
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(fw.sphere(0.1, mass=1.0), name="ball", pose=(1, 2, 3))
    scene.constrain(fw.PointConstraint("ball", stiffness=100.0, compliance=1.0), switch="spring")  # 100 N/m
    sim = fw.Simulator(scene, dt=1e-3)
    state = sim.state(v=[1.0, 0, 0, 0, 0, 0])
    omega = np.sqrt(100.0 / 2.0)  # a compliance of 1/kg is an inertia of 1 kg beside the ball's
    swung = sim.rollout(state.switched(spring=True), n_steps=300).final
    np.testing.assert_allclose(swung.q[0] - 1.0, np.sin(omega * 0.3) / omega, rtol=0, atol=1e-3)
    np.testing.assert_allclose(sim.rollout(state, n_steps=100).final.q[0], 1.1, rtol=0, atol=1e-12)


def test_neighbours_do_not_matter(both: fw.Simulator) -> None:
    state = mixed(both)
    together = both.rollout(state, n_steps=40)
    for k in (0, 5, 20):
        alone = both.rollout(state[k], n_steps=40)
        assert alone.final == together.final[k]
        np.testing.assert_array_equal(alone.q, together.q[k])
    order = np.random.default_rng(1).permutation(state.batch_size)
    np.testing.assert_array_equal(both.rollout(state[order], n_steps=40).q, together.q[order])
    single = fw.Simulator(both.scene, dt=both.dt, num_threads=1)
    np.testing.assert_array_equal(
        single.rollout(single.state(21, v=state.v).switched(
            grasp=state.switches[:, 0], other=state.switches[:, 1]), n_steps=40).q,
        together.q,
    )  # fmt: skip


def test_switches_are_part_of_the_state(both: fw.Simulator, tmp_path: Path) -> None:
    state = both.rollout(mixed(both), n_steps=3).final
    state.save(tmp_path / "state.npz")
    loaded = fw.State.load(both, tmp_path / "state.npz")
    for other in (loaded, pickle.loads(pickle.dumps(state)), fw.State.join([state[:10], state[10:]])):
        assert other == state
        assert both.step(other) == both.step(state)
    assert state != state.switched(grasp=~state.switches[:, 0])
    assert state.switched(grasp=True).switched(grasp=False, other=False).switches.sum() == 0
    assert state.reset().switches.sum() == 0
    half = np.arange(21) % 2 == 0
    np.testing.assert_array_equal(state.reset(half).switches, state.switches & ~half[:, None])
    damaged = dict(np.load(tmp_path / "state.npz"))
    for name, wrong, message in (
        ("switches", 0.5, "switches: must be 0 or 1"),
        ("grips", 2.0, "grips: the quaternion"),
    ):
        arrays = {**damaged, name: np.full_like(damaged[name], wrong)}
        np.savez(tmp_path / "wrong.npz", **arrays)
        with pytest.raises(ValueError, match=message):
            fw.State.load(both, tmp_path / "wrong.npz")


def test_policies_switch_before_steps(both: fw.Simulator) -> None:
    state = moving(both, 5)
    flags = np.array([True, False, True, True, False])

    def policy(now: fw.State) -> tuple[None, None, Any]:
        step = round(now.time / both.dt)
        return None, None, {10: {"grasp": flags}, 20: {"grasp": False, "other": ~flags}}.get(step)

    got = both.rollout(state, n_steps=30, policy=policy)
    first = both.rollout(state, n_steps=10).final
    second = both.rollout(first.switched(grasp=flags), n_steps=10).final
    third = both.rollout(second.switched(grasp=False, other=~flags), n_steps=10).final
    assert got.final == third
    with pytest.raises(ValueError, match="contacts are recorded between switches"):
        both.rollout(state, n_steps=30, policy=policy, record_contacts=True)


def test_forces_are_read_with_the_constraints_that_are_on(both: fw.Simulator) -> None:
    # A cup that is held: at rest the hand carries its weight, and the floor that of the ball alone.
    scene = fw.Scene(ground=fw.Plane(friction=0.6))
    scene.add(fw.box((0.1, 0.1, 0.1), mass=1.0), name="cup", pose=(0, 0, 0.2))
    scene.add(fw.sphere(0.05, mass=0.3), name="ball", pose=(0.7, 0.1, 0.05))
    scene.constrain(fw.FrameConstraint("cup"), switch="hold")
    sim = fw.Simulator(scene, dt=1e-3)
    trajectory = sim.rollout(sim.state(2).switched(hold=[True, False]), n_steps=50, record_contacts=True)
    np.testing.assert_allclose(trajectory.final.closures.force[:, 0, 2], [9.81, 0.0], rtol=0, atol=1e-6)
    pushes = trajectory.contacts.normal_force[-1]  # type: ignore[attr-defined]
    np.testing.assert_allclose(pushes, 0.3 * 9.81, rtol=1e-6)
    np.testing.assert_allclose(trajectory.final.q[1, 2], 0.2 - 0.5 * 9.81 * 0.05 * 0.051, rtol=1e-9)


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_derivatives_hold_where_it_took_hold(integrator: Integrator) -> None:
    scene = fw.Scene(gravity=(0, 0, -9.81))
    scene.add(fw.models.arm(), name="arm")
    scene.add(fw.box((0.1, 0.1, 0.1), mass=1.0), name="cup", pose=(0.5, 0.0, 0.05))
    scene.constrain(GRASP, switch="grasp")
    sim = fw.Simulator(scene, dt=2e-3, integrator=integrator)
    free = sim.rollout(moving(sim, 4), n_steps=20).final  # whose cups are elsewhere, each
    state = sim.rollout(free.switched(grasp=[True, False, True, True]), n_steps=5).final
    tau = 0.3 * np.random.default_rng(5).standard_normal((4, sim.model.nv))
    together = sim.step_derivatives(state, tau)
    for k in range(4):
        errors = worst_errors(sim, state[k], tau[k], columns=("q", "v", "tau", "masses", "gravity"))
        assert_close(errors, q=5e-4, v=1e-5, tau=1e-5, masses=1e-5, gravity=1e-5)  # q: as of welds that always hold
        np.testing.assert_array_equal(together.A[k], sim.step_derivatives(state[k], tau[k]).A)


def test_grounds_of_their_own_and_switches_go_together() -> None:
    scene = fw.Scene(ground=fw.HeightField(np.zeros((5, 5)), (4.0, 4.0)))
    scene.add(fw.sphere(0.1, mass=1.0), name="ball", pose=(0, 0, 0.5))
    scene.constrain(fw.PointConstraint("ball"), switch="hook")
    sim = fw.Simulator(scene, dt=2e-3)
    heights = np.stack([np.full((5, 5), h) for h in (0.0, 0.1, 0.2, 0.0)])
    state = sim.state(4).randomised(heights={"ground": heights}).switched(hook=[False, True, False, False])
    rest = sim.rollout(state, n_steps=800).final
    np.testing.assert_allclose(rest.q[:, 2], [0.1, 0.5, 0.3, 0.1], rtol=0, atol=1e-5)


def test_what_is_wrong_is_named(both: fw.Simulator) -> None:
    state = both.state(3)
    with pytest.raises(ValueError, match=r"unknown switch 'grap' \(did you mean 'grasp'\?\)"):
        state.switched(grap=True)
    with pytest.raises(ValueError, match=r"'grasp' must be True, False or \(3,\) booleans, got bool \(2,\)"):
        state.switched(grasp=[True, False])
    with pytest.raises(ValueError, match="'grasp' must be True"):
        state.switched(grasp=1.0)
    plain = workshop(GRASP).state()
    with pytest.raises(ValueError, match="the scene has none"):
        plain.switched(grasp=True)
    scene = fw.Scene()
    scene.add(fw.sphere(0.1, mass=1.0), name="ball")
    with pytest.raises(ValueError, match="a DistanceConstraint cannot be switched"):
        scene.constrain(fw.DistanceConstraint("ball", to_offset=(0, 0, 1)), switch="rod")
    with pytest.raises(ValueError, match="takes no position"):
        scene.constrain(fw.PointConstraint("ball", position=(0, 0, 0)), switch="a")
    scene.constrain(fw.PointConstraint("ball"), switch="a")
    with pytest.raises(ValueError, match="the switch 'a' is used twice"):
        scene.constrain(fw.PointConstraint("ball"), switch="a")
    with pytest.raises(ValueError, match="expected tau"):
        both.rollout(state, n_steps=1, policy=lambda now: (None, None, None, None))


def test_a_load_cell_feels_what_is_held() -> None:
    switched, always, never = workshop(grasp=GRASP), workshop(GRASP), workshop()
    cell = fw.ForceTorque("arm/joint_7")
    felt = [
        cell.read(sim.rollout(state, n_steps=30).final)
        for sim, state in (
            (switched, switched.state().switched(grasp=True)),
            (always, always.state()),
            (switched, switched.state()),
            (never, never.state()),
        )
    ]
    for a, b in (felt[:2], felt[2:]):
        np.testing.assert_allclose(a.force, b.force, rtol=0, atol=1e-6)
        np.testing.assert_allclose(a.torque, b.torque, rtol=0, atol=1e-6)
    assert np.abs(felt[0].force - felt[2].force).max() > 0.1


def test_environments_that_start_anew_hold_nothing(both: fw.Simulator) -> None:
    state = both.state(3).switched(grasp=True)
    core = state._core.copy()
    core.restart(np.array([1]), np.array(state.q[1:2]), np.zeros((1, both.model.nv)))
    assert core.switches[:, 0].tolist() == [1.0, 0.0, 1.0]
    np.testing.assert_array_equal(core.grips[1], both.state()._core.grips[0])


def test_who_goes_on_from_q_and_v_alone_refuses_what_is_held() -> None:
    scene = fw.Scene()
    scene.motor(scene.add(fw.models.pendulum(), name="pole"))
    scene.constrain(fw.FrameConstraint("pole/tip"), switch="stop")
    sim = fw.Simulator(scene, dt=0.02)
    held = sim.state().switched(stop=True)
    task = fw.mpc.Task(sim)
    task.add("angle", fw.mpc.joint_position(), target=0.5)
    with pytest.raises(ValueError, match="goes on from q and v alone, and the switch 'stop' is on"):
        fw.mpc.PredictiveSampling(sim, task, nodes=5, knots=3).update(held)
    with pytest.raises(ValueError, match="the switch 'stop' is on"):
        fw.smooth_step(sim, held, control=[0.0], sigma=0.01, samples=4)


def test_files_of_other_tools_leave_switched_constraints_out_and_say_so() -> None:
    with pytest.warns(UserWarning, match="with the switch 'grasp'"):
        fw.to_mjcf(workshop(grasp=GRASP).scene)
