"""Steps and rollouts of JAX arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

import jax
import numpy as np

from ..arrays import Array
from ..simulation.array_functions import (
    PARAMETERS,
    ArrayRollout,
    ArrayStep,
    Given,
    ValueOfStep,
    count_steps,
    parameter_shapes,
)
from ..simulation.simulator import Simulator
from .linearised import Product, checked


class _Simulated(Product):
    def __init__(self, sim: Simulator, names: tuple[str, ...], steps: int | None, tape: bool | str) -> None:
        model, per_step = sim.model, () if steps is None else (steps,)
        shapes = {"q": (model.nq,), "v": (model.nv,), "tau": (*per_step, model.nv), "control": (*per_step, sim.nu)}
        shapes |= parameter_shapes(sim)
        self.arguments = {name: shapes[name] for name in names}
        self.results = {"q": (*per_step, model.nq), "v": (*per_step, model.nv)}
        self._sim, self._steps, self._tape = sim, steps, tape

    def _done(self, given: dict[str, Array]) -> ArrayStep | ArrayRollout:
        what = Given(self._sim, given, None)
        return ArrayStep(what) if self._steps is None else ArrayRollout(what, self._steps, self._tape)

    def value(self, given: dict[str, Array]) -> Sequence[Array]:
        what = Given(self._sim, given, None)
        return (ValueOfStep(what) if self._steps is None else ArrayRollout(what, self._steps, False)).outputs

    def push(self, given: dict[str, Array], tangents: dict[str, Array]) -> Sequence[Array]:
        return self._done(given).push(tangents)

    def pull(self, given: dict[str, Array], cotangents: Sequence[Array]) -> dict[str, Array]:
        return self._done(given).pull(cotangents[0], cotangents[1])


@cache
def _product(sim: Simulator, names: tuple[str, ...], steps: int | None, tape: bool | str) -> _Simulated:
    return _Simulated(sim, names, steps, tape)


def step(
    sim: Simulator,
    q: Any,
    v: Any,
    tau: Any | None = None,
    *,
    control: Any | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> tuple[jax.Array, jax.Array]:
    """q and v after one step as of :meth:`Simulator.step`, differentiable by all that is given.

    q, v, tau, control: ([batch,] n); parameters: "friction", "gains", "gravity", "masses": :meth:`State.randomised`.
    What has no batch is for all of it. A pure function: contacts start without impulses of a step before. An
    environment that failed has zero gradients.

    >>> import jax
    >>> scene = fw.Scene(ground=fw.Plane(friction=0.5))
    >>> puck = scene.add(fw.sphere(0.1), pose=(0, 0, 0.1))
    >>> sim = fw.Simulator(scene, dt=1e-3)
    >>> v = np.array([1.0, 0, 0, 0, 0, 0])
    >>> speed = lambda friction: fw.jax.step(sim, sim.state().q, v, parameters={"friction": friction})[1][0]
    >>> round(float(jax.jit(jax.grad(speed))(1.0)), 4)  # it slides: mu g dt
    -0.0049
    """
    return _simulated(sim, q, v, tau, control, parameters, None, True)


def rollout(
    sim: Simulator,
    q: Any,
    v: Any,
    tau: Any | None = None,
    *,
    control: Any | None = None,
    n_steps: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    tape: Literal[True, "all"] = True,
) -> tuple[jax.Array, jax.Array]:
    """q and v after every step of a rollout, ([batch,] steps, n), differentiable by all that is given.

    tau, control: ([batch,] steps, n); all else as in :func:`step`. tape: what is kept on the way back: states, about
    the root of the number of steps many, or with "all" every one.

    >>> import jax
    >>> sim = fw.Simulator(fw.models.pendulum(), dt=1e-3)
    >>> end = lambda v: fw.jax.rollout(sim, np.zeros(1), v, n_steps=100)[0][-1, 0]
    >>> jax.grad(end)(np.ones(1)).shape
    (1,)
    """
    if tape not in (True, "all"):
        raise ValueError(f'tape must be True or "all", got {tape!r}')
    given = {"tau": tau, "control": control}
    steps = count_steps({name: tuple(np.shape(x)) for name, x in given.items() if x is not None}, n_steps)
    return _simulated(sim, q, v, tau, control, parameters, steps, tape)


def _simulated(
    sim: Simulator,
    q: Any,
    v: Any,
    tau: Any | None,
    control: Any | None,
    parameters: Mapping[str, Any] | None,
    steps: int | None,
    tape: bool | str,
) -> tuple[jax.Array, jax.Array]:
    for name in parameters or {}:
        if name not in PARAMETERS:
            raise ValueError(f"parameters: unknown {name!r}; there are {', '.join(PARAMETERS)}")
    all_given = {"q": q, "v": v, "tau": tau, "control": control, **(parameters or {})}
    given = {name: x for name, x in all_given.items() if x is not None}
    product = _product(sim, tuple(given), steps, tape)
    q, v = product.function(*checked(given, product.arguments))
    return q, v
