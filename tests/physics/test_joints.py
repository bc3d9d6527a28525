"""Joints stop at their limits and by dry friction."""

from typing import Any

import numpy as np
import pytest
from helpers.scenes import energy
from helpers.step_oracle import judge

import featherweight as fw
from physics.joints import dry_friction, pendulum_at_limit


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_a_pendulum_rests_on_its_stop(dt: float) -> None:
    """It touches at the end of a step and stays, at rest to the tolerance, 1e-9 of what gravity adds in a step.
    Its speed at the impact has the first-order error of the steps."""
    pendulum = pendulum_at_limit(dt=dt)
    assert pendulum.beyond < 1e-12
    assert pendulum.at < 1e-12
    assert pendulum.speed < 1e-9 * 9.81 * dt
    assert abs(pendulum.impact - pendulum.exact_impact) < 9.81 * dt


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_dry_friction_slows_a_wheel_and_holds_it(dt: float) -> None:
    """Constant torque: rounding only. Held to the tolerance, 1e-9 of dt rad/s where there is no gravity."""
    wheel = dry_friction(dt=dt)
    assert abs(wheel.rate / wheel.exact - 1.0) < 1e-12
    assert wheel.rest <= 1e-9 * dt


@pytest.mark.parametrize("restitution", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_joint_leaves_its_limit_by_the_restitution_of_the_limit(kind: str, restitution: float) -> None:
    """Weightless, between two stops: e times as fast after each, and never beyond them."""
    builder = fw.ModelBuilder("slide")
    builder.solid("rod", "capsule", (0.02, 0.5), mass=1.0, placement=(0, 0, -0.25))
    builder.joint("axis", kind, "world", "rod", axis="y", lower=-0.3, upper=0.5, limit_restitution=restitution)  # type: ignore[arg-type]
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(builder.build())
    sim = fw.Simulator(scene, dt=1e-3)
    trajectory = sim.rollout(sim.state(v=[2.0]), n_steps=1200)
    v = trajectory.v[:, 0]
    hits = np.flatnonzero(np.diff(v) != 0)
    if restitution == 0:
        assert abs(v[-1]) < 1e-9
    else:
        assert v[hits[0] + 1] == pytest.approx(-2.0 * restitution, abs=1e-9)
        assert v[hits[1] + 1] == pytest.approx(2.0 * restitution**2, abs=1e-9)
    assert trajectory.q.max() < 0.5 + 1e-9 and trajectory.q.min() > -0.3 - 1e-9


def test_elastic_stops_of_a_chain_bring_no_energy() -> None:
    """Three links between stops without loss, thrown about: weightless, the energy stays to the error of the steps."""
    builder, parent = fw.ModelBuilder("chain"), "world"
    for k in range(3):
        builder.solid(f"link_{k}", "capsule", (0.03, 0.3), mass=1.0, placement=(0, 0, -0.2))
        builder.joint(f"joint_{k}", "revolute", parent, f"link_{k}", axis="y", placement=(0, 0, -0.4 if k else 0.0),
                      lower=-0.4, upper=0.3, limit_restitution=1.0)  # fmt: skip
        parent = f"link_{k}"
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(builder.build())
    losses = []
    for dt in (1e-3, 2.5e-4):
        sim = fw.Simulator(scene, dt=dt)
        trajectory = sim.rollout(sim.state(v=[1.0, -2.0, 3.0]), n_steps=round(2.0 / dt))
        kinetic = energy(sim.model, trajectory.q, trajectory.v)
        losses.append(float(np.abs(kinetic / kinetic[0] - 1.0).max()))
    assert losses[1] < 0.05 and losses[1] < 0.6 * losses[0] + 1e-3


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_restitution_of_limits_is_between_0_and_1(value: float) -> None:
    builder = fw.ModelBuilder("door").link("frame").link("leaf", mass=1.0)
    with pytest.raises(fw.ModelError, match=r"'hinge'.*limit_restitution"):
        builder.joint("hinge", "revolute", "frame", "leaf", axis="z", limit_restitution=value)


DRIVES = {
    "position": ("position", 100.0, 5.0, 3.0),
    "stiff": ("position", 1e5, 0.0, -3.0),
    "velocity": ("velocity", 1.0, 5.0, 10.0),
    "motor": ("motor", 1.0, 0.0, 4.0),
}


@pytest.mark.parametrize("name", DRIVES)
@pytest.mark.parametrize("effort", [None, 20.0])
@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_no_drive_takes_its_joint_beyond_its_velocity(integrator: Any, effort: float | None, name: str) -> None:
    """It gets there as fast as its effort allows, and stays: to the tolerance of 1e-9."""
    kind, kp, kd, control = DRIVES[name]
    builder = fw.ModelBuilder("wheel")
    builder.link("wheel", inertia=fw.Inertia(1.0, np.zeros(3), 0.05 * np.eye(3)))
    builder.joint("axle", "continuous", "world", "wheel", axis="y", velocity_limit=2.0, effort_limit=effort)
    builder.actuator("drive", "axle", kind, kp=kp, kd=kd)  # type: ignore[arg-type]
    sim = fw.Simulator(builder.build(), dt=1e-3, integrator=integrator)
    trajectory = sim.rollout(sim.state(), control=np.full((400, 1), control))
    speed = np.sign(control) * trajectory.v[:, 0]
    assert speed.max() < 2.0 * (1 + 1e-9)
    assert speed[100:].min() > 2.0 * (1 - 1e-9)


TRANSMISSIONS: dict[str, dict[str, Any]] = {
    "servo over two joints": {"kind": "position", "kp": 500.0, "others": [("second", 3.0)]},
    "damper over two joints": {"kind": "velocity", "kd": 5.0, "others": [("second", -0.5)]},
    "force that grows": {"kind": "general", "kp": 3.0, "slopes": (0.5, 0.1)},
    "muscle": {
        "kind": "muscle",
        "muscle": fw.Muscle(peak=50.0, slack=-1.0, optimal=1.0, shortest=0.2, longest=1.8, fastest=50.0,
                            passive=1.0, eccentric=1.2),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSMISSIONS)
@pytest.mark.parametrize("effort", [None, 20.0])
@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "verlet"])
def test_no_transmission_takes_its_joints_beyond_their_velocities(
    integrator: Any, effort: float | None, name: str
) -> None:
    """One of them is at its limit sooner or later; from then on the others are slower, or at theirs."""
    builder = fw.ModelBuilder("wheels", gravity=(0, 0, 0))
    for wheel, limit in (("first", 2.0), ("second", 3.0)):
        builder.link(wheel, mass=1.0, inertia=(0.05, 0.05, 0.05))
        builder.joint(wheel, "continuous", "world", wheel, axis="y", velocity_limit=limit, effort_limit=effort)
    builder.actuator("drive", "first", **TRANSMISSIONS[name])
    sim = fw.Simulator(builder.build(), dt=1e-3, integrator=integrator)
    speeds = np.abs(sim.rollout(sim.state(), control=np.full((300, 1), 30.0)).v).max(axis=0) / (2.0, 3.0)
    assert speeds.max() == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("control", [30.0, -30.0])
def test_what_is_taken_back_of_a_transmission_is_that_of_the_twin(control: float) -> None:
    builder = fw.ModelBuilder("arm")
    for parent, link, limit in (("world", "upper", 2.0), ("upper", "lower", 3.0)):
        builder.link(link, mass=1.0, inertia=(0.05, 0.05, 0.05), com=(0.0, 0.0, -0.2))
        builder.joint(link, "continuous", parent, link, axis="y", placement=(0, 0, -0.4), velocity_limit=limit)
    builder.actuator("cord", "upper", "position", kp=500.0, others=[("lower", 3.0)])
    sim = fw.Simulator(builder.build(), dt=1e-3)
    braked, state = 0, sim.state(q=[0.3, -0.2])
    for _ in range(60):
        before, state = state, sim.step(state, control=[control])
        verdict = judge(sim, before, state, control=np.array([control]))
        assert verdict.momentum_error < 1e-9 and verdict.residual < 1e-8
        braked += bool(np.any(state.forces.servos))
    assert braked > 10


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_a_servo_at_its_velocity_limit_arrives(integrator: Any) -> None:
    """The way takes distance / limit; then it stands where it was told to, without having gone beyond."""
    builder = fw.ModelBuilder("door")
    builder.link("leaf", inertia=fw.Inertia(1.0, np.zeros(3), 0.05 * np.eye(3)))
    builder.joint("hinge", "continuous", "world", "leaf", axis="z", velocity_limit=2.0, effort_limit=50.0)
    builder.actuator("servo", "hinge", "position", kp=50.0, kd=4.0)
    sim = fw.Simulator(builder.build(), dt=1e-3, integrator=integrator)
    q = sim.rollout(sim.state(), control=np.full((1500, 1), 1.0)).q[:, 0]
    assert q[-1] == pytest.approx(1.0, abs=1e-3) and q.max() < 1.01
    assert np.flatnonzero(q > 0.5)[0] * 1e-3 == pytest.approx(0.25, abs=0.02)


def test_a_motor_lets_its_joint_run_where_something_else_drives_it() -> None:
    """Weight takes a rail beyond the motor's velocity: as fast as without the motor, neither pushed nor braked."""
    speeds = []
    for force in (0.0, 5.0):
        builder = fw.ModelBuilder("lift")
        builder.link("car", mass=1.0)
        builder.joint("rail", "prismatic", "world", "car", axis="z", velocity_limit=0.1)
        builder.actuator("motor", "rail", "motor")
        sim = fw.Simulator(builder.build(), dt=1e-3)
        speeds.append(sim.rollout(sim.state(v=[-0.2]), control=np.full((100, 1), -force)).v[:, 0])
    np.testing.assert_allclose(speeds[1], speeds[0], atol=1e-9)
