"""The dynamic twins against each other, against the dense oracle, and against conservation laws."""

from dataclasses import replace

import numpy as np
from helpers.compare import EPS, assert_close, solve_tolerance
from helpers.finite_differences import tangent_derivative, time_derivative
from helpers.forests import Forest, LinkPlan, forests
from helpers.motion import motion_through
from hypothesis import given

from featherweight import Inertia, ModelDescription, reference
from featherweight.model.description import Joint, Link
from featherweight.reference import dense


@given(forests(max_links=6))
def test_crba_matches_the_dense_mass_matrix(forest: Forest) -> None:
    q = forest.state().q
    assert_close(reference.crba(forest.description, q), dense.mass_matrix(forest.description, q))


@given(forests(max_links=6))
def test_rnea_matches_dense_newton_euler_with_external_forces(forest: Forest) -> None:
    description, s = forest.description, forest.state()
    expected = dense.mass_matrix(description, s.q) @ s.a + dense.bias_forces(description, s.q, s.v, s.f_ext)
    assert_close(reference.rnea(description, s.q, s.v, s.a, s.f_ext), expected)


@given(forests(max_links=6))
def test_rnea_undoes_aba(forest: Forest) -> None:
    description, s = forest.description, forest.state()
    a = reference.aba(description, s.q, s.v, s.tau, s.f_ext)
    tolerance = solve_tolerance(dense.mass_matrix(description, s.q))
    assert_close(reference.rnea(description, s.q, s.v, a, s.f_ext), s.tau, tolerance)


@given(forests(max_links=6))
def test_aba_matches_a_dense_solve(forest: Forest) -> None:
    description, s = forest.description, forest.state()
    H = dense.mass_matrix(description, s.q)
    expected = np.linalg.solve(H, s.tau - dense.bias_forces(description, s.q, s.v, s.f_ext))
    assert_close(reference.aba(description, s.q, s.v, s.tau, s.f_ext), expected, solve_tolerance(H))


@given(forests(max_links=6))
def test_minverse_inverts_crba(forest: Forest) -> None:
    description, s = forest.description, forest.state()
    H = reference.crba(description, s.q)
    expected = np.linalg.inv(H)
    assert_close(reference.minverse(description, s.q), expected, solve_tolerance(H))


@given(forests(max_links=6))
def test_kinetic_energy_is_half_v_H_v(forest: Forest) -> None:
    description, s = forest.description, forest.state()
    expected = s.v @ dense.mass_matrix(description, s.q) @ s.v / 2
    assert_close(reference.kinetic_energy(description, s.q, s.v), expected)


@given(forests(max_links=6))
def test_gravity_forces_are_the_gradient_of_the_potential_energy(forest: Forest) -> None:
    description, q = forest.description, forest.state().q
    gradient = tangent_derivative(
        lambda x: reference.potential_energy(description, x),
        lambda x, dx: reference.integrate(description, x, dx),
        q,
        reference.sizes(description)[1],
    )
    assert_close(reference.gravity_forces(description, q), gradient, 1e-9)


@given(forests(max_links=6))
def test_power_of_all_forces_is_the_rate_of_the_energy(forest: Forest) -> None:
    description, s = forest.description, forest.state()
    a = reference.aba(description, s.q, s.v, s.tau, s.f_ext)
    scale = 1 + np.max(np.abs(a))  # a light link may be thrown hard: time runs slower then
    along = motion_through(description, replace(s, v=s.v / scale, a=a / scale**2))

    def energy(t: float) -> float:
        q, v = along(t)
        return reference.kinetic_energy(description, q, v * scale) + reference.potential_energy(description, q)

    power = s.tau @ s.v
    for link, wrench in zip(description.links, s.f_ext, strict=True):
        power += wrench @ reference.frame_velocity(description, s.q, s.v, link.name)
    assert_close(time_derivative(energy) * scale, power, 1e-8 * scale)


@given(forests(max_links=6))
def test_nothing_but_gravity_changes_the_momentum_of_a_floating_robot(forest: Forest) -> None:
    """Whatever the inner joints do: the centroidal angular momentum stays."""
    base, limbs = LinkPlan("free"), [replace(plan, up=0) for plan in forest.plans]
    floating = Forest((base, *limbs), forest.seed)
    description, s = floating.description, floating.state()
    no_base_force = np.concatenate([np.zeros(6), 0.1 * s.tau[6:]])
    a = reference.aba(description, s.q, s.v, no_base_force)
    scale = 1 + np.max(np.abs(a))
    along = motion_through(description, replace(s, v=s.v / scale, a=a / scale**2))

    def momentum(t: float) -> np.ndarray:
        q, v = along(t)
        return reference.centroidal_momentum(description, q, v * scale)

    expected = np.concatenate([reference.masses(description).sum() * description.gravity, np.zeros(3)])
    assert_close(time_derivative(momentum) * scale, expected, 1e-8 * scale)


@given(forests(max_links=6))
def test_center_of_mass_velocity_carries_the_linear_momentum(forest: Forest) -> None:
    description, s = forest.description, forest.state()
    rate = time_derivative(lambda t: reference.center_of_mass(description, motion_through(description, s)(t)[0]))
    momentum = reference.centroidal_momentum(description, s.q, s.v)
    assert_close(momentum[:3], reference.masses(description).sum() * rate, 1e-9)


def test_free_body_in_vacuum_falls_with_gravity() -> None:
    body = Link("body", Inertia(2.0, np.zeros(3), np.diag([0.1, 0.2, 0.3])))
    description = ModelDescription("stone", (body,), (Joint("flight", "free", "world", "body"),))
    a = reference.aba(description, reference.neutral(description), np.zeros(6), np.zeros(6))
    assert_close(a, [0, 0, -9.81, 0, 0, 0], 16 * EPS)


def test_free_rotation_follows_euler() -> None:
    inertia = np.array([1.0, 2.0, 3.0])
    body = Link("body", Inertia(1.0, np.zeros(3), np.diag(inertia)))
    description = ModelDescription("top", (body,), (Joint("flight", "free", "world", "body"),), gravity=np.zeros(3))
    w = np.array([0.3, 5.0, -0.2])
    a = reference.aba(description, reference.neutral(description), np.concatenate([np.zeros(3), w]), np.zeros(6))
    assert_close(a[3:], -np.cross(w, inertia * w) / inertia, 16 * EPS)
