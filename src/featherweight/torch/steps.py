"""Steps and rollouts of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import torch

from ..simulation.array_functions import (
    PARAMETERS,
    ArrayRollout,
    ArrayStep,
    Given,
    ValueOfStep,
    check_shapes,
    count_steps,
    parameter_shapes,
)
from ..simulation.simulator import Simulator
from ..simulation.state import State
from .tensors import array_of, checked, once, tensor_of


class Step(NamedTuple):
    """What a step leads to.

    >>> import torch
    >>> sim = fw.Simulator(fw.models.pendulum(), dt=0.01)
    >>> after = fw.torch.step(sim, torch.zeros(1), torch.ones(1))
    >>> after.q, after.state.time
    (tensor([0.0100]), 0.01)
    """

    q: torch.Tensor  # ([batch,] nq)
    v: torch.Tensor  # ([batch,] nv)
    state: State  # the same, with impulses and contacts, to go on from and to look at; not differentiated


class Rollout(NamedTuple):
    """What a rollout leads to.

    >>> import torch
    >>> sim = fw.Simulator(fw.models.pendulum(), dt=0.01)
    >>> motion = fw.torch.rollout(sim, torch.zeros(1), torch.ones(1), n_steps=50)
    >>> motion.q.shape, motion.v.shape
    (torch.Size([50, 1]), torch.Size([50, 1]))
    """

    q: torch.Tensor  # ([batch,] steps, nq)
    v: torch.Tensor  # ([batch,] steps, nv)
    state: State  # the last


class _Simulated(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(
        ctx: Any,
        sim: Simulator,
        state: State | None,
        steps: int | None,
        tape: bool | str,
        kept: list[State],
        names: tuple[str, ...],
        *tensors: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        given = Given(sim, {name: array_of(x) for name, x in zip(names, tensors, strict=True)}, state)
        needed = any(ctx.needs_input_grad)
        done: ArrayStep | ValueOfStep | ArrayRollout
        if steps is None:
            done = ArrayStep(given) if needed else ValueOfStep(given)
        else:
            done = ArrayRollout(given, steps, needed and tape)
        kept.append(done.after)
        ctx.done, ctx.names, ctx.dtype = done, names, tensors[0].dtype
        ctx.set_materialize_grads(False)
        q, v = (tensor_of(x, ctx.dtype) for x in done.outputs)
        return q, v

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        dq, dv = (None if x is None else array_of(x) for x in gradients)
        parts = ctx.done.pull(dq, dv)
        found = [
            tensor_of(parts[name], ctx.dtype) if needed else None
            for name, needed in zip(ctx.names, ctx.needs_input_grad[6:], strict=True)
        ]
        return (None,) * 6 + once(found)


def step(
    sim: Simulator,
    q: torch.Tensor,
    v: torch.Tensor,
    tau: torch.Tensor | None = None,
    *,
    control: torch.Tensor | None = None,
    parameters: Mapping[str, torch.Tensor] | None = None,
    state: State | None = None,
) -> Step:
    """One step as of :meth:`Simulator.step`, differentiable by all tensors.

    q, v, tau, control: ([batch,] n), of float64 or float32, all alike; one of shape (n,) is for all environments of a
    batch. parameters: "friction", "gains", "gravity", "masses" as in :meth:`State.randomised`, of one environment for
    all, or with the batch first. state: where impulses of the step before come from, as ``.state`` of the last
    result, and parameters that are not given. An environment that failed has zero gradients.

    >>> import torch
    >>> scene = fw.Scene(ground=fw.Plane(friction=0.5))
    >>> puck = scene.add(fw.sphere(0.1), pose=(0, 0, 0.1))
    >>> sim = fw.Simulator(scene, dt=1e-3)
    >>> q, v = (torch.tensor(x, dtype=torch.float64) for x in (sim.state().q.tolist(), [1.0, 0, 0, 0, 0, 0]))
    >>> friction = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    >>> after = fw.torch.step(sim, q, v, parameters={"friction": friction})
    >>> after.v[0].backward()  # it slides: mu g dt
    >>> round(friction.grad.item(), 4)
    -0.0049
    """
    q, v, after = _simulated(sim, q, v, tau, control, parameters, state, None, True)
    return Step(q, v, after)


def rollout(
    sim: Simulator,
    q: torch.Tensor,
    v: torch.Tensor,
    tau: torch.Tensor | None = None,
    *,
    control: torch.Tensor | None = None,
    n_steps: int | None = None,
    parameters: Mapping[str, torch.Tensor] | None = None,
    state: State | None = None,
    tape: Literal[True, "all"] = True,
) -> Rollout:
    """Many steps as of :meth:`Simulator.rollout`, differentiable by all tensors.

    tau, control: ([batch,] steps, n); all else as in :func:`step`. tape: what is kept for the way back: states, about
    the root of the number of steps many, or with "all" every one.

    >>> import torch
    >>> sim = fw.Simulator(fw.models.pendulum(), dt=1e-3)
    >>> q, v = torch.zeros(2, 1, dtype=torch.float64), torch.ones(2, 1, dtype=torch.float64, requires_grad=True)
    >>> fw.torch.rollout(sim, q, v, n_steps=100).q[:, -1].sum().backward()
    >>> v.grad.shape
    torch.Size([2, 1])
    """
    if tape not in (True, "all"):
        raise ValueError(f'tape must be True or "all", got {tape!r}')
    given = {"tau": tau, "control": control}
    steps = count_steps({name: tuple(x.shape) for name, x in given.items() if x is not None}, n_steps)
    q, v, after = _simulated(sim, q, v, tau, control, parameters, state, steps, tape)
    return Rollout(q, v, after)


def _simulated(
    sim: Simulator,
    q: torch.Tensor,
    v: torch.Tensor,
    tau: torch.Tensor | None,
    control: torch.Tensor | None,
    parameters: Mapping[str, torch.Tensor] | None,
    state: State | None,
    steps: int | None,
    tape: bool | str,
) -> tuple[torch.Tensor, torch.Tensor, State]:
    for name in parameters or {}:
        if name not in PARAMETERS:
            raise ValueError(f"parameters: unknown {name!r}; there are {', '.join(PARAMETERS)}")
    tensors = checked({"q": q, "v": v, "tau": tau, "control": control, **(parameters or {})})
    shapes = parameter_shapes(sim)
    if state is not None and not isinstance(state, State):
        raise TypeError(f"state: expected a State, got {type(state).__name__}")
    batch = max((len(x) for name, x in tensors.items() if x.ndim == _rank(name, shapes, steps) + 1), default=None)
    if state is not None and not state.single:
        batch = state.batch_size
    if batch is not None:
        for name, x in tensors.items():
            if x.ndim == _rank(name, shapes, steps):
                tensors[name] = x.expand(batch, *x.shape)
    check_shapes(sim, {name: tuple(x.shape) for name, x in tensors.items()}, steps)
    kept: list[State] = []
    out = _Simulated.apply(sim, state, steps, tape, kept, tuple(tensors), *tensors.values())
    return out[0], out[1], kept[0]


def _rank(name: str, shapes: Mapping[str, tuple[int, ...]], steps: int | None) -> int:
    """Of one environment."""
    if name in shapes:
        return len(shapes[name])
    return 2 if steps is not None and name in ("tau", "control") else 1
