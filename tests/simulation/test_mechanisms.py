"""Mechanisms with loops that come with the package: assembled where they start, and closed in every step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import featherweight as fw

MECHANISMS: dict[str, tuple[Callable[[], fw.Model], int]] = {  # and their degrees of freedom
    "four_bar": (fw.models.four_bar, 1),
    "n_four_bar": (fw.models.n_four_bar, 1),
    "slider_crank": (fw.models.slider_crank, 1),
    "five_bar": (fw.models.five_bar, 2),
    "stewart": (fw.models.stewart, 6),
    "delta": (fw.models.delta, 3),
    "loop_biped": (fw.models.loop_biped, 14),
}


def rows(model: fw.Model) -> list[fw.PointConstraint]:
    """The closures of a model as constraints on it."""
    return [each.constraint for each in fw.Simulator(model).scene.constraints]  # type: ignore[misc]


@pytest.mark.parametrize("name", MECHANISMS)
def test_it_is_assembled_and_stays_closed(name: str) -> None:
    build, mobility = MECHANISMS[name]
    sim = fw.Simulator(build(), integrator="implicit")
    state = sim.state()
    assert state.closure_error < 1e-15
    J = np.atleast_2d(fw.constraint_jacobian(sim.model, state.q, rows(build())))
    assert sim.model.nv - np.linalg.matrix_rank(J) == mobility
    run = sim.rollout(state, tau=0.1 * np.ones(sim.model.nv), n_steps=200)
    assert run.closure_error < 2e-12
    assert not run.final.failed


def test_the_biped_stands_on_its_servos() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    robot = scene.add(fw.models.loop_biped())
    sim = fw.Simulator(scene, dt=1e-3, integrator="implicit")
    run = sim.rollout(sim.state(), n_steps=1000)
    final = run.final
    assert abs(final.q[2] - sim.scene.q0[2]) < 5e-3
    assert np.abs(final.v).max() < 1e-2
    assert run.closure_error < 1e-12
    weight = 9.81 * robot.content.mass
    np.testing.assert_allclose(final.contacts.force_world[:, 2].sum(), weight, rtol=1e-3)


def test_a_free_four_bar_keeps_its_energy_for_a_minute() -> None:
    sim = fw.Simulator(fw.models.four_bar(), dt=1e-3)
    run = sim.rollout(sim.state(), n_steps=60_000)
    energy = fw.kinetic_energy(sim.model, run.q, run.v) + fw.potential_energy(sim.model, run.q)
    size = np.ptp(fw.potential_energy(sim.model, run.q))
    means = energy.reshape(6, 10_000).mean(axis=1)  # within a step it is off by its first order
    assert np.ptp(means) < 1e-3 * size
    assert run.closure_error < 2e-12
