"""What a step, a rollout and a sensor say about themselves is what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits

import featherweight as fw
from featherweight import _testing


def stack() -> fw.Scene:
    scene = fw.Scene(ground=fw.Plane(friction=0.6))
    for k in range(3):
        scene.add(fw.box((0.2, 0.2, 0.2)), pose=(0.02 * k, 0, 0.1 + 0.2 * k))
    return scene


# -- trajectories ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [None, 3])
def test_times_are_those_of_the_states_recorded(batch: int | None) -> None:
    """Row k is the state after step k + 1, and its time says so, also where the rollout does not start at zero."""
    sim = fw.Simulator(stack(), dt=2e-3)
    state = sim.step(sim.step(sim.state(batch)))
    assert state.time == pytest.approx(4e-3, rel=1e-14)
    trajectory = sim.rollout(state, n_steps=5)
    assert trajectory.time == pytest.approx([6e-3, 8e-3, 10e-3, 12e-3, 14e-3], rel=1e-14)
    assert trajectory.final.time == pytest.approx(trajectory.time[-1], rel=1e-14)
    for k in range(5):
        state = sim.step(state)
        assert state.time == pytest.approx(trajectory.time[k], rel=1e-14)
        assert_same_bits(np.ascontiguousarray(trajectory.q[..., k, :]), state.q)
        assert_same_bits(np.ascontiguousarray(trajectory.v[..., k, :]), state.v)


@pytest.mark.parametrize("options", [{}, {"on_interrupt": "return"}, {"record_contacts": True}], ids=str)
def test_totals_are_sums_and_worst_of_all_steps(options: dict[str, Any]) -> None:
    """Of each environment by itself; steps that miss the tolerance are counted."""
    sim = fw.Simulator(stack(), dt=2e-3, solver=fw.GaussSeidel(max_iterations=2))
    state = sim.state(3, v=0.3 * np.random.default_rng(0).standard_normal((3, sim.model.nv)))
    trajectory = sim.rollout(state, n_steps=40, **options)
    missed, sweeps = np.zeros(3), np.zeros(3)
    worst = {name: np.zeros(3) for name in ("residual", "penetration")}
    for _ in range(40):
        state = sim.step(state)
        missed += ~state.converged
        sweeps += state.iterations["gauss_seidel"]
        for name, values in worst.items():
            np.maximum(values, getattr(state, name), out=values)
    assert missed.min() > 0 and missed.max() < 41 and len(set(missed.tolist())) > 1
    assert trajectory.unconverged.tolist() == missed.tolist()
    assert trajectory.iterations["gauss_seidel"].tolist() == sweeps.tolist()
    for name, values in worst.items():
        assert_same_bits(np.asarray(getattr(trajectory, name)), values, name)


# -- starting again --------------------------------------------------------------------------------------------------


def test_a_reset_forgets_impulses() -> None:
    """Of joints, constraints and contacts: warm starts of another life would show in the bits of the next step."""
    arm = fw.models.arm()
    scene = fw.Scene(ground=fw.Plane())
    scene.add(arm, name="arm", q=np.clip(arm.neutral(), arm.lower, arm.upper))
    scene.add(fw.box((0.2, 0.2, 0.2)), name="box", pose=(2, 0, 0.1))
    scene.constrain(fw.PointConstraint("box", rows=["x"]))
    sim = fw.Simulator(scene, dt=2e-3)
    start = sim.state(2)
    end = sim.rollout(start, np.full(sim.model.nv, 3.0), n_steps=400).final
    assert end._core.impulses.any() and len(end.contacts) > 0
    half = end.reset(np.array([True, False]))
    assert not half._core.impulses[0].any() and half._core.impulses[1].any()
    anew = end.reset()
    assert not anew._core.impulses.any()
    a, b = sim.step(anew), sim.step(start)
    assert_same_bits(a.v, b.v)
    assert all(np.array_equal(a.iterations[name], b.iterations[name]) for name in a.iterations)


def test_what_failed_stays_failed_from_file_to_step(tmp_path: Path) -> None:
    sim = fw.Simulator(fw.models.pendulum(), dt=1e-3)
    state = sim.step(sim.state(3, v=[1.0]), np.array([[0.0], [np.inf], [0.0]]))
    assert state.failed.tolist() == [False, True, False]
    state.save(tmp_path / "state.npz")
    loaded = fw.State.load(sim, tmp_path / "state.npz")
    assert loaded.failed.tolist() == [False, True, False]
    further = sim.step(loaded)
    assert further.failed.tolist() == [False, True, False]
    assert_same_bits(further.q[1], state.q[1])
    assert further.q[0] != state.q[0]


# -- residuals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "rows", "lambda0", "primal"),
    [
        ("unilateral", 1, [-0.3], 0.3),
        ("unilateral", 1, [0.3], 0.0),
        ("point", 3, [0.0, 0.0, -0.2], 0.2),
        ("point", 3, [0.3, 0.4, 0.6], 0.5 - 0.5 * 0.6),  # beyond the cone
        ("point", 3, [0.03, 0.04, 0.6], 0.0),
        ("point", 3, [0.3, 0.4, -0.7], 0.7),  # the normal is further off than the tangents
        ("interval", 1, [1.5], 0.5),
        ("interval", 1, [-1.25], 0.25),
    ],
)
def test_primal_residuals_are_distances_from_the_cone(law: str, rows: int, lambda0: list[float], primal: float) -> None:
    """Of impulses that the solver may not improve. Units are those of impulses, whatever the mobility."""
    for mobility in (1.0, 7.0):
        blocks = [(law, rows, -1, 0.5, -1.0, 1.0)]
        options: dict[str, Any] = {"solver": "gauss_seidel", "max_gauss_seidel": 0}
        G = mobility * np.eye(rows)
        _, report = _testing.solve_cone_problem(G, np.zeros(rows), blocks, lambda0, **options)
        assert report["primal"] == pytest.approx(primal, abs=1e-15)


# -- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [None, 9, 200])
def test_denormal_numbers_are_flushed_in_steps_and_nowhere_else(batch: int | None) -> None:
    """A motion that decays would otherwise slow down by as much as it becomes small."""
    model = (
        fw.ModelBuilder("slider", gravity=(0, 0, 0))
        .link("a", mass=1.0, inertia=(1, 1, 1))
        .joint("rail", "prismatic", "world", "a", axis="x")
        .build()
    )
    sim = fw.Simulator(model, dt=1e-3)
    state = sim.state(batch, v=[1e-310])
    assert (state.v == 1e-310).all()
    assert (sim.rollout(state, n_steps=2).final.v == 0.0).all()
    assert (sim.step(state).v == 0.0).all()
    assert np.float64(1e-310) * 0.5 > 0.0 and np.array([1e-310]).sum() > 0.0


# -- sensors ---------------------------------------------------------------------------------------------------------


def test_torques_of_contacts_have_the_arm_from_the_origin_of_the_link() -> None:
    """A plank that rests on one ball at its end and on its hinge: the ball's force times its distance."""
    ball = np.eye(4)
    ball[:3, 3] = 0.8, 0.3, -0.05
    shape = fw.Geometry("tip", "collision", "sphere", (0.05,), ball)
    plank = (
        fw.ModelBuilder("plank")
        .link("plank", mass=2.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1), geometries=[shape])
        .joint("hinge", "revolute", "world", "plank", axis="y", placement=(0.4, -0.2, 0.1))
        .build()
    )
    scene = fw.Scene(ground=fw.Plane(friction=0.0))
    scene.add(plank, name="p")
    sim = fw.Simulator(scene, dt=1e-3)
    state = sim.rollout(sim.state(), n_steps=300).final
    force = 2.0 * 9.81 * 0.5 / 0.8  # moments about the hinge
    reading = fw.ContactForceSensor("p/plank").read(state)
    assert reading.force == pytest.approx([0.0, 0.0, force], abs=1e-6)
    assert reading.torque == pytest.approx(np.cross([0.8, 0.3, 0.0], [0.0, 0.0, force]), rel=1e-6, abs=1e-6)
    ground = fw.ContactForceSensor("ground").read(state)
    assert ground.force == pytest.approx([0.0, 0.0, -force], abs=1e-6)
    assert ground.torque == pytest.approx(np.cross([1.2, 0.1, 0.0], [0.0, 0.0, -force]), rel=1e-6, abs=1e-6)


# -- joints ----------------------------------------------------------------------------------------------------------

SIZES = {"revolute": 1, "prismatic": 1, "helical": 1, "universal": 2, "planar": 3, "spherical": 3, "free": 6}


@pytest.mark.parametrize("type", SIZES)
@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "rk4"])
def test_armature_of_every_joint_counts_in_a_step(type: Any, integrator: Any) -> None:
    """At rest, and for a step so short that nothing else matters, velocities are those that the mass matrix gives."""
    nv = SIZES[type]
    armature = 0.5 + 0.25 * np.arange(nv)
    axes: dict[str, Any] = {} if type in ("planar", "spherical", "free") else {"axis": "y"}
    if type == "universal":
        axes["axis2"] = "x"
    if type == "helical":
        axes["pitch"] = 0.3
    builder = fw.ModelBuilder("joint", gravity=(0, 0, 0))
    builder.link("a", mass=2.0, com=(0.1, 0.2, 0.0), inertia=(0.3, 0.4, 0.5))
    builder.joint("j", type, "world", "a", armature=armature, **axes)
    model = builder.build()
    sim = fw.Simulator(model, dt=1e-6, integrator=integrator)
    q = model.neutral()
    tau = 1.0 + np.arange(nv)
    expected = np.linalg.solve(fw.crba(model, q), tau)
    bare = fw.crba(model, q) - np.diag(armature)
    assert np.linalg.norm(np.linalg.solve(bare, tau)) > 1.2 * np.linalg.norm(expected)
    got = sim.step(sim.state(q=q), tau).v / sim.dt
    assert got == pytest.approx(expected, rel=1e-4)


def test_armature_of_a_free_joint_counts_in_an_impact() -> None:
    """The ground stops mass and rotor alike, and gravity pulls at the mass only."""
    mass, rotor, dt, speed = 2.0, 3.0, 1e-3, 1.0
    body = (
        fw.ModelBuilder("body")
        .link("a", mass=mass, inertia=(1, 1, 1),
              geometries=[fw.Geometry("ball", "collision", "sphere", (0.1,), np.eye(4))])
        .joint("free", "free", "world", "a", armature=[0, 0, rotor, 0, 0, 0])
        .build()
    )  # fmt: skip
    scene = fw.Scene(ground=fw.Plane())
    scene.add(body, name="body", pose=(0, 0, 0.1))
    sim = fw.Simulator(scene, dt=dt)
    state = sim.step(sim.state(v=[0, 0, -speed, 0, 0, 0]))
    assert state.v[2] == pytest.approx(0.0, abs=1e-12)
    assert state.contacts.impulse[0, 2] == pytest.approx((mass + rotor) * speed + mass * 9.81 * dt, rel=1e-9)


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "verlet", "rk4"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_motors_stop_pushing_beyond_their_velocity_limit_both_ways(sign: float, integrator: Any) -> None:
    """They accelerate up to the limit, not beyond; and they may always brake."""
    model = (
        fw.ModelBuilder("motor", gravity=(0, 0, 0))
        .link("a", mass=1.0, inertia=(1, 1, 1))
        .joint("hinge", "revolute", "world", "a", axis="z", velocity_limit=2.0)
        .actuator("motor", "hinge", "motor")
        .build()
    )
    sim = fw.Simulator(model, dt=1e-2, integrator=integrator)
    v = sim.rollout(sim.state(), control=[sign * 10.0], n_steps=100).v[:, 0]
    assert np.abs(v).max() <= 2.0 + 10.0 * 1e-2 + 1e-12
    assert sign * v[-1] >= 2.0 - 1e-12
    fast = sim.state(v=[sign * 5.0])
    assert sim.step(fast, control=[sign * 10.0]).v[0] == sign * 5.0
    assert sign * sim.step(fast, control=[-sign * 10.0]).v[0] == pytest.approx(5.0 - 10.0 * 1e-2, rel=1e-12)
