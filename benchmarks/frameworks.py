"""What PyTorch and JAX add to a call, and what gradients of steps cost: ``python -m benchmarks.frameworks``.

Overhead is the time of a call through the framework less that of the same work asked of featherweight with arrays: from
arrays to values, and from cotangents to gradients. "copies" is what a framework takes for a function that only copies
its three arguments, and could not be had for less. All take turns in one process; a figure is the smallest CPU time.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import featherweight as fw
from featherweight.arrays import Array

STEPS = 64


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(prog="python -m benchmarks.frameworks", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30, help="turns of each (default: %(default)s)")
    options = parser.parse_args(argv)
    sim, state, control = _standing()
    print_overheads(sim, state, control, options.rounds)
    print_products(sim, state, control, options.rounds)
    return 0


def print_overheads(sim: fw.Simulator, state: fw.State, control: Array, rounds: int) -> None:
    """Of one environment, [us]."""
    core = _core_calls(sim, state, control)
    print("microseconds over the core, one sample or environment, one thread")
    for name, calls in (("PyTorch", _torch_calls), ("JAX", _jax_calls)):
        through = calls(sim, state, control)
        times = best_times(core | {f"{name}: {key}": call for key, call in through.items()}, rounds)
        for key in through:
            over = times[f"{name}: {key}"] - times[key]
            print(f"  {name:8} {key:32} {times[f'{name}: {key}']:7.1f} - {times[key]:6.1f} = {over:6.1f}")


def print_products(sim: fw.Simulator, state: fw.State, control: Array, rounds: int) -> None:
    """Ratios of the times of gradients and of what they are gradients of."""
    print("cost of products, as multiples of the step or rollout")
    for batch in (None, 256):
        calls = _products(sim, state, control, batch)
        times = best_times(calls, rounds if batch is None else max(3, rounds // 6), repeat=20 if batch is None else 1)
        what = "1 environment" if batch is None else f"{batch} environments"
        print(f"  {what}: pull / step {times['pull'] / times['step']:.2f}, ", end="")
        print(f"step_vjp and pull / step {times['step_vjp'] / times['step']:.2f}, ", end="")
        for name in ("rollout_vjp", "rollout_vjp, all kept"):
            print(f"{name} / rollout {times[name] / times['rollout']:.2f}", end=", " if name == "rollout_vjp" else "\n")


def best_times(calls: dict[str, Callable[[], object]], rounds: int, repeat: int = 20) -> dict[str, float]:
    """[us] a call, the smallest of all turns."""
    best = dict.fromkeys(calls, np.inf)
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.process_time()
            for _ in range(repeat):
                call()
            best[name] = min(best[name], 1e6 * (time.process_time() - begin) / repeat)
    return best


def _standing() -> tuple[fw.Simulator, fw.State, Array]:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    robot = scene.add(fw.models.quadruped(), pose=(0, 0, 0.4))
    scene.servo(robot, kp=60.0, kd=4.0)
    sim = fw.Simulator(scene, dt=2e-3, integrator="implicit", num_threads=1)
    stance = np.tile([0.0, 0.7, -1.4], 4)
    return sim, sim.rollout(sim.state(), control=stance, n_steps=300).final, stance


def _core_calls(sim: fw.Simulator, state: fw.State, control: Array) -> dict[str, Callable[[], object]]:
    q, v = np.array(state.q), np.array(state.v)
    w = np.ones(18)
    _, pull = sim.step_vjp(sim.state(q=q, v=v), control=control)

    def gradient() -> object:
        return sim.step_vjp(sim.state(q=q, v=v), control=control)[1](w, w)

    return {
        "copies": lambda: (q.copy(), v.copy()),
        "copies, backward": lambda: (q.copy(), v.copy(), control.copy()),
        "aba": lambda: fw.aba(sim.model, q, v, v),
        "aba, backward": lambda: fw.aba_vjp(sim.model, q, v, v, w),
        "step": lambda: sim.step_vjp(sim.state(q=q, v=v), control=control),
        "step, backward": lambda: pull(w, w),
        "step, value": lambda: sim.step(sim.state(q=q, v=v), control=control),
        "step, gradient": gradient,
    }


def _torch_calls(sim: fw.Simulator, state: fw.State, control: Array) -> dict[str, Callable[[], object]]:
    import torch

    def tensor(x: Array) -> Any:
        return torch.tensor(np.array(x), requires_grad=True)

    def copied(*tensors: Any) -> Any:
        return tuple(torch.from_numpy(x.detach().numpy().copy()) for x in tensors)

    class Copies(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            ctx.last = tensors[2]
            return copied(*tensors[:2])

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return copied(*gradients, ctx.last)

    q, v, u, tau = tensor(state.q), tensor(state.v), tensor(control), tensor(state.v)
    after = fw.torch.step(sim, q, v, control=u)
    a = fw.torch.aba(sim.model, q, v, tau)
    ones_q, ones_v = torch.ones_like(after.q), torch.ones_like(after.v)
    grad = torch.autograd.grad
    copies = Copies.apply(q, v, u)
    return {
        "copies": lambda: Copies.apply(q, v, u),
        "copies, backward": lambda: grad(copies, (q, v, u), (ones_q, ones_v), retain_graph=True),
        "aba": lambda: fw.torch.aba(sim.model, q, v, tau),
        "aba, backward": lambda: grad(a, (q, v, tau), ones_v, retain_graph=True),
        "step": lambda: fw.torch.step(sim, q, v, control=u),
        "step, backward": lambda: grad((after.q, after.v), (q, v, u), (ones_q, ones_v), retain_graph=True),
    }


def _jax_calls(sim: fw.Simulator, state: fw.State, control: Array) -> dict[str, Callable[[], object]]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    q, v, u = (jnp.array(x) for x in (state.q, state.v, control))
    aba = jax.jit(lambda q, v, tau: fw.jax.aba(sim.model, q, v, tau))
    step = jax.jit(lambda q, v, u: fw.jax.step(sim, q, v, control=u))
    gradient = jax.jit(jax.grad(lambda q, v, u: sum(x.sum() for x in fw.jax.step(sim, q, v, control=u)), (0, 1, 2)))
    backward = jax.jit(jax.grad(lambda q, v, tau: fw.jax.aba(sim.model, q, v, tau).sum(), (0, 1, 2)))
    return {
        "aba": lambda: jax.block_until_ready(aba(q, v, v)),
        "aba, backward": lambda: jax.block_until_ready(backward(q, v, v)),
        "step, value": lambda: jax.block_until_ready(step(q, v, u)),
        "step, gradient": lambda: jax.block_until_ready(gradient(q, v, u)),
    }


def _products(sim: fw.Simulator, state: fw.State, control: Array, batch: int | None) -> dict[str, Callable[[], object]]:
    start = state if batch is None else sim.state(batch, q=state.q, v=state.v)
    shape = () if batch is None else (batch,)
    w, drive = np.ones((*shape, 18)), np.tile(control, (STEPS, 1))
    _, pull = sim.step_vjp(start, control=control)
    last = np.zeros((*shape, STEPS, 18))
    last[..., -1, :] = 1.0
    some, every = (sim.rollout(start, control=drive, tape=tape) for tape in (True, "all"))
    return {
        "step": lambda: sim.step(start, control=control),
        "pull": lambda: pull(w, w),
        "step_vjp": lambda: sim.step_vjp(start, control=control)[1](w, w),
        "rollout": lambda: sim.rollout(start, control=drive),
        "rollout_vjp": lambda: sim.rollout_vjp(some, last),
        "rollout_vjp, all kept": lambda: sim.rollout_vjp(every, last),
    }


if __name__ == "__main__":
    sys.exit(main())
