"""The twin of loops against dense algebra and the core."""

from __future__ import annotations

import numpy as np
from helpers.loops import bennett

import featherweight as fw
from featherweight import reference
from featherweight.constraints.constraint_set import AnyConstraint


def test_the_twin_agrees_with_the_core() -> None:
    builder = (
        fw.ModelBuilder("legs").link("base", mass=3.0, inertia=(0.1, 0.2, 0.3)).joint("root", "free", "world", "base")
    )
    rng = np.random.default_rng(3)
    parents = ["base", "a0", "a1", "base", "b0", "b1", "a1"]
    names = ["a0", "a1", "a2", "b0", "b1", "b2", "c0"]
    for name, parent in zip(names, parents, strict=True):
        builder.link(name, mass=rng.uniform(0.5, 2.0), com=rng.normal(scale=0.1, size=3), inertia=(0.02, 0.03, 0.025))
        place = rng.normal(scale=0.3, size=3)
        builder.joint(name, "continuous", parent, name, placement=place, axis=rng.choice(["x", "y", "z"]))
    model = builder.build()
    q = model.integrate(model.neutral(), rng.normal(size=model.nv))
    v, tau = rng.normal(size=(2, model.nv))
    constraints: list[AnyConstraint] = [
        fw.PointConstraint("a2", ("x", "z"), to="b2"),
        fw.FrameConstraint("c0", ("y", "rx"), to="a0"),
        fw.JointCoupling("b0", to="c0", polynomial=(0.1, 0.4, -0.3)),
    ]
    rows = [
        reference.closure_rows(model.description, q, v, "a2", "b2", axes=(0, 2), of_point=True),
        reference.closure_rows(model.description, q, v, "c0", "a0", axes=(1, 3)),
        reference.coupling_rows(model.description, q, v, {"b0": (0.0, 1.0), "c0": (-0.1, -0.4, 0.3)}),
    ]
    a, forces = reference.loop_pv(model.description, q, v, tau, rows)
    core = fw.constrained_dynamics(model, q, v, tau, constraints)
    assert np.abs(a - core.a).max() < 1e-11 * (1 + np.abs(a).max())
    assert np.abs(forces - core.forces).max() < 1e-10 * (1 + np.abs(forces).max())


def test_redundant_rows() -> None:
    """Six rows of which three say something."""
    model, q, constraints = mechanism = bennett(1)
    v, tau = mechanism.velocity(np.random.default_rng(0)), np.random.default_rng(1).normal(size=model.nv)
    rows = [reference.closure_rows(model.description, q, v, "link_4", "link_0")]
    a, _ = reference.loop_pv(model.description, q, v, tau, rows)
    exact = fw.constrained_dynamics(model, q, v, tau, constraints, method="kkt").a
    assert np.abs(a - exact).max() < 1e-10 * (1 + np.abs(exact).max())


def test_the_twin_of_loop_aba_agrees_with_that_of_loop_pv() -> None:
    """The penalty leaves about ten digits."""
    model, q, _ = mechanism = bennett(2)
    v, tau = mechanism.velocity(np.random.default_rng(0)), np.random.default_rng(1).normal(size=model.nv)
    rows = [reference.closure_rows(model.description, q, v, "link_4", "link_0")]
    rows.append(reference.coupling_rows(model.description, q, v, {"hinge_1": (0.0, 1.0, 0.3), "hinge_3": (0.1, -0.5)}))
    a, _ = reference.loop_pv(model.description, q, v, tau, rows[:1])
    found, _, _, converged = reference.loop_aba(model.description, q, v, tau, rows[:1])
    assert converged and np.abs(a - found).max() < 1e-8 * (1 + np.abs(a).max())
    a, f = reference.loop_pv(model.description, q, v, tau, rows[1:])
    found, forces, _, converged = reference.loop_aba(model.description, q, v, tau, rows[1:])
    assert converged and np.abs(a - found).max() < 1e-9 * (1 + np.abs(a).max())
    assert np.abs(forces - f).max() < 1e-8 * (1 + np.abs(f).max())
