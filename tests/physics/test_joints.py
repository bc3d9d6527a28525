"""Joints stop at their limits and by dry friction."""

import numpy as np
import pytest
from helpers.scenes import energy

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
