"""Mechanisms and files that make no sense, or too much of it: answers or errors, at once, and never a crash."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import featherweight as fw


def held_to_the_world(*closures: tuple[str, str]) -> fw.Simulator:
    """A pendulum whose base is on the world, with closures between links."""
    builder = fw.ModelBuilder.from_description(fw.models.pendulum().description)
    for k, (link, to) in enumerate(closures):
        builder.close(f"held_{k}", link, to, placement=(0.0, 0.0, 0.1))
    return fw.Simulator(builder.build(), dt=1e-3)


def test_what_holds_two_things_that_never_move_changes_nothing() -> None:
    model = fw.models.pendulum()
    base = model.link_names[0]
    plain, held = fw.Simulator(model, dt=1e-3), held_to_the_world((base, "world"))
    end = held.rollout(held.state(q=[0.3]), n_steps=50).final
    expected = plain.rollout(plain.state(q=[0.3]), n_steps=50).final
    np.testing.assert_allclose(end.q, expected.q, rtol=1e-13)
    assert not end.closures.force.any()
    assert end.closure_error == pytest.approx(0.1)  # and it says that it does not hold


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "verlet"])
def test_environments_that_fail_have_solutions_and_derivatives_of_nothing(integrator: Any) -> None:
    sim = fw.Simulator(fw.models.four_bar(), dt=1e-3, integrator=integrator)
    state = sim.state(3)
    state = state.replace(v=np.array([0.0, 1e12, 1.0])[:, None] * np.ones((3, sim.model.nv)))
    with pytest.warns(fw.SimulationWarning):
        solution = sim.step_solution(state)
    assert solution.state.failed.tolist() == [False, True, False]
    if integrator == "verlet":  # has none
        return
    with pytest.warns(fw.SimulationWarning):
        derivatives = sim.step_derivatives(state)
    assert np.isfinite(derivatives.A).all() and not derivatives.A[1].any()


def test_records_may_be_farther_apart_than_the_rollout_is_long() -> None:
    sim = fw.Simulator(fw.models.pendulum(), dt=1e-3)
    assert len(sim.rollout(sim.state(q=[0.1]), n_steps=7, every=2**40).time) == 1


@pytest.mark.parametrize("length", [5e-324, 1e-308, 1e-200])
def test_rods_that_are_too_short_to_have_a_direction_are_refused(length: float) -> None:
    model = fw.models.arm()
    with pytest.raises(ValueError, match="length must be positive"):
        fw.constrained_dynamics(
            model, model.neutral(), [0.0] * 7, [0.0] * 7, [fw.DistanceConstraint("tool", length=length)]
        )
    scene = fw.Scene()
    scene.add(model, name="arm")
    scene.constrain(fw.DistanceConstraint("arm/link_7", length=length))
    with pytest.raises(ValueError, match="must have a positive length"):
        fw.Simulator(scene)


def chain(n: int, inertial: str = "") -> str:
    links = "".join(f'<link name="l{k}">{inertial}</link>' for k in range(n))
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/></joint>'
        for k in range(n - 1)
    )
    return f'<robot name="r">{links}{joints}</robot>'


def test_robots_that_are_too_large_are_refused_before_they_are_read() -> None:
    text = chain(40_000)
    start = time.process_time()
    with pytest.raises(fw.ModelImportError, match="more than 32000 links"):
        fw.loads(text, "urdf")
    assert time.process_time() - start < 10.0  # nearly all of it is the parser of XML


def test_massless_robots_take_time_by_their_size() -> None:
    start = time.process_time()
    model = fw.loads(chain(3000), "urdf")
    assert model.nv == 2999 and time.process_time() - start < 10.0


def test_friction_that_is_negative_is_none_as_in_mujoco() -> None:
    pytest.importorskip("mujoco")
    text = '<mujoco><worldbody><body><freejoint/><geom size="1" friction="{}"/></body></worldbody></mujoco>'
    material = fw.loads(text.format("-1 0.1 0"), "mjcf").description.links[0].geometries[-1].material
    assert material is not None and (material.friction, material.torsional) == (0.0, 0.1)
