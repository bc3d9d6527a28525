"""PyTorch sees our values and our gradients: the same numbers, through its own machinery."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.frameworks import CLOSE, coordinates_jacobian, loaded_scene, standing_quadruped

import featherweight as fw

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install featherweight[torch]")


def tensor(x: Any, grad: bool = True) -> Any:
    return torch.tensor(np.array(x), dtype=torch.float64, requires_grad=grad)


def unit(q: Any, at: int = 3) -> Any:
    """Coordinates with a quaternion of unit length, as a differentiable function of any."""
    quaternion = q[..., at : at + 4]
    return torch.cat([q[..., :at], quaternion / quaternion.norm(dim=-1, keepdim=True), q[..., at + 4 :]], dim=-1)


@pytest.mark.parametrize("name", ["arm", "quadruped"])
@pytest.mark.parametrize("function", ["aba", "rnea"])
def test_dynamics_pass_gradcheck(name: str, function: str) -> None:
    model, rng = getattr(fw.models, name)(), np.random.default_rng(0)
    call = getattr(fw.torch, function)
    inputs = [tensor(model.random(rng, batch=2)), *(tensor(rng.normal(size=(2, model.nv))) for _ in range(2))]
    free = name == "quadruped"
    assert torch.autograd.gradcheck(
        lambda q, v, x: call(model, unit(q) if free else q, v, x), inputs, atol=1e-4, rtol=1e-4
    )


@pytest.mark.parametrize("function", ["aba", "rnea"])
def test_dynamics_have_our_gradients(function: str) -> None:
    model, rng = fw.models.quadruped(), np.random.default_rng(1)
    q, v, x, w = model.random(rng, batch=3), *rng.normal(size=(3, 3, model.nv))
    tensors = [tensor(each) for each in (q, v, x)]
    out = getattr(fw.torch, function)(model, *tensors)
    assert np.array_equal(out.detach().numpy(), getattr(fw, function)(model, q, v, x))
    (out * torch.tensor(w)).sum().backward()
    ours = getattr(fw, f"{function}_vjp")(model, q, v, x, w)
    for k in range(3):
        pulled = ours[0][k] @ coordinates_jacobian(model, q[k])
        np.testing.assert_allclose(tensors[0].grad[k].numpy(), pulled, rtol=CLOSE, atol=CLOSE)
    for t, g in zip(tensors[1:], ours[1:], strict=True):
        np.testing.assert_allclose(t.grad.numpy(), g, rtol=CLOSE, atol=CLOSE)


def test_one_sample_for_a_batch_gets_the_sum() -> None:
    model, rng = fw.models.arm(), np.random.default_rng(2)
    q, v, tau = tensor(model.neutral()), tensor(rng.normal(size=7)), tensor(rng.normal(size=(4, 7)))
    fw.torch.aba(model, q, v, tau).sum().backward()
    each = [fw.aba_vjp(model, q.detach().numpy(), v.detach().numpy(), x, np.ones(7))[0] for x in tau.detach().numpy()]
    np.testing.assert_allclose(q.grad.numpy(), np.sum(each, axis=0), rtol=1e-11, atol=1e-11)


def test_step_has_our_value_and_gradients() -> None:
    sim, state, control = standing_quadruped(batch=3)
    rng = np.random.default_rng(3)
    tau, wq, wv = rng.normal(size=(3, 18)), rng.normal(size=(3, 19)), rng.normal(size=(3, 18))
    names = ("friction", "gains", "gravity", "masses")
    shapes = {"friction": (3,), "gains": (3, 12), "masses": (3, sim.model.n_links)}
    values: dict[str, Any] = {name: rng.uniform(0.9, 1.1, size=shape) for name, shape in shapes.items()}
    values["gravity"] = np.tile([0.1, 0, -9.8], (3, 1))
    q, v, t, u = (tensor(x) for x in (state.q, state.v, tau, control))
    parameters = {name: tensor(x) for name, x in values.items()}
    out = fw.torch.step(sim, q, v, t, control=u, parameters=parameters, state=state)
    own = state.replace(q=state.q, v=state.v).randomised(**values)
    after, pull = sim.step_vjp(own, tau, control=control, parameters=names)
    assert np.array_equal(out.q.detach().numpy(), after.q) and np.array_equal(out.v.detach().numpy(), after.v)
    assert out.state == after
    ((out.q * torch.tensor(wq)).sum() + (out.v * torch.tensor(wv)).sum()).backward()
    dq = np.array([np.linalg.pinv(coordinates_jacobian(sim.model, x)).T @ w for x, w in zip(after.q, wq, strict=True)])
    g = pull(dq, wv)
    by_q = np.array([x @ coordinates_jacobian(sim.model, at) for x, at in zip(g.q, state.q, strict=True)])
    expected = {"q": by_q, "v": g.v, "t": g.tau, "u": g.control.sum(axis=0)}
    for name, x in (("q", q), ("v", v), ("t", t), ("u", u)):
        np.testing.assert_allclose(
            x.grad.numpy(), expected[name], rtol=1e-10, atol=1e-12 * np.abs(expected[name]).max()
        )
    for name in names:
        wanted = g.parameters[name].reshape(parameters[name].shape)
        np.testing.assert_allclose(parameters[name].grad.numpy(), wanted, rtol=1e-10, atol=CLOSE)


def test_step_and_rollout_pass_gradcheck() -> None:
    sim, state, control = loaded_scene()
    q, v, u = tensor(state.q), tensor(state.v), tensor(control)
    friction = tensor(1.1)

    def step(q: Any, v: Any, u: Any, mu: Any) -> Any:
        out = fw.torch.step(sim, unit(q, 3 + sim.model.nq - 7), v, control=u, parameters={"friction": mu}, state=state)
        return out.q, out.v

    def rollout(q: Any, v: Any, u: Any, mu: Any) -> Any:
        at = unit(q, 3 + sim.model.nq - 7)
        out = fw.torch.rollout(sim, at, v, control=u.expand(7, -1), parameters={"friction": mu}, state=state)
        return out.q, out.v

    for function in (step, rollout):
        assert torch.autograd.gradcheck(function, [q, v, u, friction], eps=1e-6, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("tape", [True, "all"])
def test_rollout_has_our_gradients(tape: Any) -> None:
    sim, state, control = standing_quadruped(batch=2)
    rng = np.random.default_rng(4)
    drive = control + 0.05 * rng.normal(size=(2, 9, 12))
    w = rng.normal(size=(2, 9, 18))
    q, v, u = tensor(state.q), tensor(state.v), tensor(drive)
    out = fw.torch.rollout(sim, q, v, control=u, state=state, tape=tape)
    (out.v * torch.tensor(w)).sum().backward()
    trajectory = sim.rollout(state.replace(q=state.q, v=state.v), control=drive, tape=True)
    assert np.array_equal(out.q.detach().numpy(), trajectory.q) and out.state == trajectory.final
    g = sim.rollout_vjp(trajectory, dv=w)
    np.testing.assert_allclose(u.grad.numpy(), g.control, rtol=CLOSE, atol=CLOSE)
    np.testing.assert_allclose(v.grad.numpy(), g.v0, rtol=CLOSE, atol=CLOSE)


def test_float32_in_and_out() -> None:
    sim, state, control = standing_quadruped(batch=2)
    doubles = [torch.tensor(np.array(x)) for x in (state.q, state.v, np.tile(control, (2, 1)))]
    singles = [x.float().requires_grad_() for x in doubles]
    doubles = [x.detach().double().requires_grad_() for x in singles]
    for q, v, u in (singles, doubles):
        out = fw.torch.step(sim, q, v, control=u)
        assert out.q.dtype == out.v.dtype == q.dtype
        out.v.sum().backward()
    assert singles[2].grad.dtype == torch.float32
    np.testing.assert_allclose(singles[2].grad.numpy(), doubles[2].grad.numpy(), rtol=1e-5, atol=1e-5)


def test_second_derivatives_are_refused() -> None:
    sim, state, control = standing_quadruped()
    u = tensor(control)
    out = fw.torch.step(sim, tensor(state.q, False), tensor(state.v, False), control=u)
    (g,) = torch.autograd.grad(out.v.sum(), u, create_graph=True)
    with pytest.raises(NotImplementedError, match="first derivatives only"):
        g.sum().backward()
    model = fw.models.arm()
    q, x = tensor(model.neutral()), torch.zeros(7, dtype=torch.float64)
    (g,) = torch.autograd.grad(fw.torch.aba(model, q, x, x).sum(), q, create_graph=True)
    with pytest.raises(NotImplementedError, match="first derivatives only"):
        g.sum().backward()


def test_inputs_are_read_where_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    from featherweight.torch import tensors

    x = torch.zeros(4, 7, dtype=torch.float64)
    assert np.shares_memory(tensors.array_of(x), x.numpy())
    assert np.shares_memory(tensors.tensor_of(tensors.array_of(x), torch.float64).numpy(), x.numpy())


def test_failed_environments_have_zero_gradients() -> None:
    sim, state, control = standing_quadruped(batch=3)
    tau = np.zeros((3, 18))
    tau[1] = 1e30
    t, u = tensor(tau), tensor(np.tile(control, (3, 1)))
    with pytest.warns(fw.SimulationWarning):
        out = fw.torch.step(sim, tensor(state.q), tensor(state.v), t, control=u)
    out.v.sum().backward()
    assert out.state.failed.tolist() == [False, True, False]
    assert not u.grad[1].any() and not t.grad[1].any()
    alone = tensor(np.tile(control, (3, 1)))
    fw.torch.step(sim, tensor(state.q), tensor(state.v), tensor(np.zeros((3, 18))), control=alone).v.sum().backward()
    assert alone.grad[1].any() and torch.equal(u.grad[[0, 2]], alone.grad[[0, 2]])  # neighbours notice nothing


def test_a_state_that_failed_has_zero_gradients() -> None:
    sim, state, control = standing_quadruped(batch=2)
    tau = np.zeros((2, 18))
    tau[0] = 1e30
    with pytest.warns(fw.SimulationWarning):
        failed = sim.step(state, tau)
    assert failed.failed.tolist() == [True, False]
    for steps in (1, 4):
        u = tensor(np.tile(control, (2, steps, 1)))
        out = fw.torch.rollout(sim, tensor(state.q), tensor(state.v), control=u, state=failed)
        out.v.sum().backward()
        assert out.state.failed.tolist() == [True, False]
        assert not u.grad[0].any() and u.grad[1].any() and torch.isfinite(u.grad).all()


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"q": np.zeros(19)}, TypeError, "q: expected a torch.Tensor, got ndarray"),
        ({"v": torch.zeros(18)}, TypeError, "v: is torch.float32, but q is torch.float64"),
        ({"v": torch.zeros(18, dtype=torch.int64)}, TypeError, "v: expected float64 or float32"),
        ({"v": torch.zeros(17, dtype=torch.float64)}, ValueError, r"v: expected shape \(18,\), got \(17,\)"),
        ({"tau": torch.zeros(2, 3, 18, dtype=torch.float64)}, ValueError, "tau: expected shape"),
        ({"parameters": {"colour": torch.zeros(())}}, ValueError, "parameters: unknown 'colour'"),
        ({"parameters": {"gravity": torch.zeros(2, dtype=torch.float64)}}, ValueError, "gravity: expected shape"),
        ({"v": torch.full((18,), float("nan"), dtype=torch.float64)}, ValueError, "v: contains numbers"),
        ({"q": torch.zeros(19, dtype=torch.float64)}, ValueError, "q: .*quaternion"),
        ({"v": torch.zeros(18, dtype=torch.float64, device="meta")}, ValueError, "v: expected a tensor on the CPU"),
        ({"state": 3}, TypeError, "state: expected a State"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], error: type[Exception], told: str) -> None:
    sim, state, control = standing_quadruped()
    given = {"q": tensor(state.q), "v": tensor(state.v), "control": tensor(control)} | change
    with pytest.raises(error, match=told):
        fw.torch.step(sim, given.pop("q"), given.pop("v"), given.pop("tau", None), **given)


def test_cotangents_that_are_no_numbers_are_named() -> None:
    sim, state, control = standing_quadruped()
    out = fw.torch.step(sim, tensor(state.q), tensor(state.v), control=tensor(control))
    with pytest.raises(ValueError, match="dv: contains numbers that are not finite"):
        (out.v.sum() * float("inf")).backward()


def test_rollouts_need_to_know_their_length() -> None:
    sim, state, _ = standing_quadruped()
    with pytest.raises(ValueError, match="give n_steps"):
        fw.torch.rollout(sim, tensor(state.q), tensor(state.v))
