"""JAX sees our values and our gradients, in both directions, compiled and mapped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from helpers.frameworks import CLOSE, coordinates_jacobian, standing_quadruped

import featherweight as fw

jax = pytest.importorskip("jax", reason="needs JAX: pip install featherweight[jax]")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def _in_double_precision() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def close(a: Any, b: Any) -> None:
    scale = max(1.0, float(np.abs(np.asarray(b)).max()))
    assert np.abs(np.asarray(a) - np.asarray(b)).max() < CLOSE * scale


@pytest.mark.parametrize("function", ["aba", "rnea"])
def test_dynamics_have_our_derivatives(function: str) -> None:
    model, rng = fw.models.quadruped(), np.random.default_rng(1)
    q, v, x = model.random(rng), *rng.normal(size=(2, model.nv))
    call = jax.jit(lambda *given: getattr(fw.jax, function)(model, *given))
    assert np.array_equal(call(q, v, x), getattr(fw, function)(model, q, v, x))
    d = getattr(fw, f"{function}_derivatives")(model, q, v, x)
    ours = (d.dq @ coordinates_jacobian(model, q), d.dv, d.dtau if function == "aba" else d.da)
    for mode in (jax.jacfwd, jax.jacrev):
        for found, wanted in zip(mode(call, argnums=(0, 1, 2))(q, v, x), ours, strict=True):
            close(found, wanted)


def test_step_has_our_derivatives_in_both_directions() -> None:
    sim, state, control = standing_quadruped()
    q, v = np.array(state.q), np.array(state.v)
    d = sim.step_derivatives(sim.state(q=q, v=v), control=control, wrt=("q", "v", "control", "friction", "gravity"))

    def velocity(q: Any, v: Any, u: Any, mu: Any, g: Any) -> Any:
        return fw.jax.step(sim, q, v, control=u, parameters={"friction": mu, "gravity": g})[1]

    given = (q, v, control, 1.0, np.array(sim.model.gravity))
    P = coordinates_jacobian(sim.model, q)
    ours = (d.dv["q"] @ P, d.dv["v"], d.dv["control"], d.dv["friction"][:, 0], d.dv["gravity"])
    for mode in (jax.jacfwd, jax.jacrev):
        for found, wanted in zip(jax.jit(mode(velocity, argnums=range(5)))(*given), ours, strict=True):
            close(found, wanted)
    moved = jax.jacrev(lambda v: fw.jax.step(sim, q, v, control=control)[0])(v)
    close(coordinates_jacobian(sim.model, d.state.q) @ moved, d.dq["v"])


def test_rollout_has_our_gradients() -> None:
    sim, state, control = standing_quadruped()
    rng = np.random.default_rng(4)
    drive, w = control + 0.05 * rng.normal(size=(9, 12)), rng.normal(size=(9, 18))
    start = sim.state(q=state.q, v=state.v)
    trajectory = sim.rollout(start, control=drive, tape=True)
    cost = jax.jit(lambda u: (fw.jax.rollout(sim, start.q, start.v, control=u)[1] * w).sum())
    ours = sim.rollout_vjp(trajectory, dv=w).control
    assert abs(float(cost(drive)) - (trajectory.v * w).sum()) < 1e-12
    close(jax.grad(cost)(drive), ours)
    along = rng.normal(size=(9, 12))
    assert abs(float(jax.jvp(cost, (drive,), (along,))[1]) - (ours * along).sum()) < 1e-10
    _, dv = sim.rollout_jvp(trajectory, control=along)
    assert abs((dv * w).sum() - (ours * along).sum()) < 1e-10


def test_mapping_is_a_batch() -> None:
    sim, state, control = standing_quadruped()
    U = control + np.linspace(-0.1, 0.1, 5)[:, None]

    def cost(u: Any) -> Any:
        q, v = fw.jax.step(sim, state.q, state.v, control=u)
        return q[2] + (v**2).sum()

    each = np.array([jax.grad(cost)(u) for u in U])
    assert np.array_equal(jax.jit(jax.vmap(jax.grad(cost)))(U), each)
    assert np.array_equal(jax.vmap(jax.vmap(jax.grad(cost)))(U.reshape(5, 1, 12)).reshape(5, 12), each)
    q, v = fw.jax.step(sim, state.q, state.v, control=U)  # a batch, without mapping
    assert q.shape == (5, 19) and np.array_equal(
        v, jax.vmap(lambda u: fw.jax.step(sim, state.q, state.v, control=u)[1])(U)
    )
    J = jax.vmap(jax.jacfwd(cost))(U)
    close(J, each)


def test_steps_in_a_scan() -> None:
    sim, state, control = standing_quadruped()

    def height(u: Any) -> Any:
        def one(x: Any, _: Any) -> Any:
            return fw.jax.step(sim, *x, control=u), None

        (q, _), _ = jax.lax.scan(one, (jnp.array(state.q), jnp.array(state.v)), length=5)
        return q[2]

    def by_hand(u: Any) -> Any:
        x = jnp.array(state.q), jnp.array(state.v)
        for _ in range(5):
            x = fw.jax.step(sim, *x, control=u)
        return x[0][2]

    close(jax.jit(jax.grad(height))(control), jax.grad(by_hand)(control))


def test_float32_in_and_out() -> None:
    jax.config.update("jax_enable_x64", False)
    sim, state, control = standing_quadruped()
    q, v, u = (jnp.array(x, dtype=jnp.float32) for x in (state.q, state.v, control))
    after = jax.jit(lambda u: fw.jax.step(sim, q, v, control=u))(u)
    gradient = jax.grad(lambda u: fw.jax.step(sim, q, v, control=u)[1].sum())(u)
    assert {x.dtype for x in (*after, gradient)} == {jnp.dtype("float32")}
    _, pull = sim.step_vjp(sim.state(q=np.asarray(q, dtype=float), v=np.asarray(v, dtype=float)), control=np.asarray(u))
    np.testing.assert_allclose(gradient, pull(dv=np.ones(18)).control, rtol=1e-5, atol=1e-5)


def test_second_derivatives_are_refused() -> None:
    model = fw.models.arm()
    zero = np.zeros(7)
    cost = lambda q: fw.jax.aba(model, q, zero, zero).sum()  # noqa: E731
    for twice in (jax.hessian(cost), jax.grad(lambda q: jax.grad(cost)(q).sum()), jax.jacfwd(jax.jacfwd(cost))):
        with pytest.raises(NotImplementedError, match="first derivatives only"):
            twice(zero)


def test_failed_environments_have_zero_gradients() -> None:
    sim, state, control = standing_quadruped()
    tau = np.zeros((3, 18))
    tau[1] = 1e30
    with pytest.warns(fw.SimulationWarning):
        g = jax.grad(lambda u: fw.jax.step(sim, state.q, state.v, tau, control=u)[1].sum())(np.tile(control, (3, 1)))
    assert not g[1].any() and g[0].any() and np.array_equal(g[0], g[2])


@pytest.mark.parametrize(
    ("ask", "error", "told"),
    [
        (lambda sim, q, v: fw.jax.step(sim, q, v[:3]), ValueError, r"v: expected shape \(18,\) or \(batch, 18\)"),
        (lambda sim, q, v: fw.jax.step(sim, q, v * 1j), TypeError, "v: expected an array of real numbers"),
        (lambda sim, q, v: fw.jax.step(sim, q, v, parameters={"mass": 1}), ValueError, "parameters: unknown 'mass'"),
        (lambda sim, q, v: fw.jax.step(sim, q, np.tile(v, (2, 3, 1))), ValueError, "v: expected shape"),
        (lambda sim, q, v: fw.jax.rollout(sim, q, v), ValueError, "give n_steps"),
        (lambda sim, q, v: fw.jax.step(sim, q, v * np.nan), RuntimeError, "v: contains numbers that are not finite"),
        (
            lambda sim, q, v: jax.grad(lambda v: fw.jax.step(sim, q, v)[1].sum() * np.inf)(v),
            RuntimeError,
            "dv: contains numbers that are not finite",
        ),
    ],
)
def test_bad_input_is_named(ask: Callable[..., object], error: type[Exception], told: str) -> None:
    sim, state, _ = standing_quadruped()
    with pytest.raises(error, match=told):
        ask(sim, np.array(state.q), np.array(state.v))
