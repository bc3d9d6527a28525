"""Steps and rollouts as functions of arrays alone, with products of their derivatives: what other frameworks call.

Arrays are coordinates, so that gradients by q have nq numbers, of which those of a quaternion are orthogonal to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..derivatives.coordinates import coordinates_of
from .derivatives import Pullback, Pushforward
from .state import State

if TYPE_CHECKING:
    from .simulator import Simulator
    from .trajectory import Trajectory

#: Parameters of environments that may be given as arrays: what a batch may have of its own.
PARAMETERS = ("friction", "gains", "gravity", "masses")


def parameter_shapes(sim: Simulator) -> dict[str, tuple[int, ...]]:
    """Of one environment, by name."""
    return {"friction": (), "gains": (sim.nu,), "gravity": (3,), "masses": (sim.model.n_links,)}


@dataclass(frozen=True)
class Given:
    """What a step or a rollout is given: ([batch,] n) by name; tau and control of a rollout are ([batch,] steps, n)."""

    sim: Simulator
    arrays: Mapping[str, Array]
    state: State | None  # where impulses and parameters come from that are not given

    def start(self) -> State:
        """The state to start from."""
        q, v = self.arrays["q"], self.arrays["v"]
        if self.state is None:
            state = self.sim.state(None if q.ndim == 1 else len(q), q=q, v=v)
        else:
            state = self.state.replace(q=q, v=v)
        if parameters := {name: self.arrays[name] for name in PARAMETERS if name in self.arrays}:
            shapes, n = parameter_shapes(self.sim), state.batch_size
            own: dict[str, Any] = {name: x.reshape(n, *shapes[name]) for name, x in parameters.items()}
            state = state.randomised(**own)
        return state

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of those that are given."""
        return tuple(name for name in PARAMETERS if name in self.arrays)

    def named(self, gradient: Mapping[str, Array]) -> dict[str, Array]:
        """Cotangents of all that was given, in the shapes it has."""
        coordinates = coordinates_of(self.sim.model)
        out = {name: gradient[name].reshape(x.shape) for name, x in self.arrays.items() if name != "q"}
        return {"q": coordinates.gradient(self.arrays["q"], gradient["q"])} | out

    def tangents(self, changes: Mapping[str, Array]) -> dict[str, Array]:
        """Changes of what was given, as :meth:`Simulator.step_jvp` takes them."""
        lead = self.arrays["q"].shape[:-1]
        out = {name: x.reshape(*lead, -1) if name in PARAMETERS else x for name, x in changes.items()}
        if "q" in out:
            out["q"] = coordinates_of(self.sim.model).tangent(self.arrays["q"], out["q"])
        return out


class ArrayStep:
    """One step, taken, that may be differentiated."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._ready = given.sim._ready(given.start(), given.arrays.get("tau"), given.arrays.get("control"), None)
        self.after = self._ready.after

    @property
    def outputs(self) -> tuple[Array, Array]:
        """q and v after it."""
        return self.after.q, self.after.v

    def pull(self, dq: Array | None, dv: Array | None) -> dict[str, Array]:
        """From cotangents of q, in coordinates, and v to those of all that was given."""
        tangent = None if dq is None else coordinates_of(self._given.sim.model).cotangent(self.after.q, dq)
        g = Pullback(self._ready, self._given.parameters)(tangent, dv)
        return self._given.named({"q": g.q, "v": g.v, "tau": g.tau, "control": g.control, **g.parameters})

    def push(self, changes: Mapping[str, Array]) -> tuple[Array, Array]:
        """From changes of what was given, by name, to those of q, in coordinates, and v."""
        dq, dv = Pushforward(self._ready)(**self._given.tangents(changes))
        return coordinates_of(self._given.sim.model).change(self.after.q, dq), dv


class ValueOfStep:
    """One step that is not."""

    def __init__(self, given: Given) -> None:
        self.after = given.sim.step(given.start(), given.arrays.get("tau"), control=given.arrays.get("control"))
        self.outputs = self.after.q, self.after.v


class ArrayRollout:
    """Many steps, taken, that may be differentiated."""

    def __init__(self, given: Given, n_steps: int, tape: bool | str) -> None:
        self._given = given
        arrays = given.arrays
        self.trajectory: Trajectory = given.sim.rollout(
            given.start(),
            arrays.get("tau"),
            control=arrays.get("control"),
            n_steps=n_steps,
            tape=tape,  # type: ignore[arg-type]
        )
        self.after = self.trajectory.final

    @property
    def outputs(self) -> tuple[Array, Array]:
        """q and v after every step, ([batch,] steps, n)."""
        return self.trajectory.q, self.trajectory.v

    def pull(self, dq: Array | None, dv: Array | None) -> dict[str, Array]:
        """From cotangents of q, in coordinates, and v to those of all that was given."""
        given, sim = self._given, self._given.sim
        tangent = None if dq is None else coordinates_of(sim.model).cotangent(self.trajectory.q, dq)
        g = sim.rollout_vjp(self.trajectory, tangent, dv, parameters=given.parameters)
        return given.named({"q": g.q0, "v": g.v0, "tau": g.tau, "control": g.control, **g.parameters})

    def push(self, changes: Mapping[str, Array]) -> tuple[Array, Array]:
        """From changes of what was given, by name, to those of q, in coordinates, and v."""
        sim = self._given.sim
        dq, dv = sim.rollout_jvp(self.trajectory, **self._given.tangents(changes))
        return coordinates_of(sim.model).change(self.trajectory.q, dq), dv


def check_shapes(sim: Simulator, shapes: Mapping[str, tuple[int, ...]], steps: int | None) -> tuple[int, ...]:
    """The leading dimensions that all have, () or (batch,); raises a ValueError that names what does not fit.

    shapes: by name, of arrays without broadcasting; steps: of a rollout, else None.
    """
    model = sim.model
    rows: dict[str, tuple[int, ...]] = {"q": (model.nq,), "v": (model.nv,)} | parameter_shapes(sim)
    per_step = () if steps is None else (steps,)
    rows |= {"tau": (*per_step, model.nv), "control": (*per_step, sim.nu)}
    lead = shapes["q"][:-1]
    if len(lead) > 1:
        raise ValueError(f"q: expected ({model.nq},) or (batch, {model.nq}), got {shapes['q']}")
    for name, shape in shapes.items():
        if shape != (*lead, *rows[name]):
            raise ValueError(f"{name}: expected shape {(*lead, *rows[name])}, got {tuple(shape)}")
    return lead


def count_steps(shapes: Mapping[str, tuple[int, ...]], n_steps: int | None) -> int:
    """Of a rollout."""
    for name in ("tau", "control"):
        if name in shapes and len(shapes[name]) >= 2:
            steps = shapes[name][-2]
            if n_steps is not None and n_steps != steps:
                raise ValueError(f"n_steps is {n_steps}, but {name} has {steps} steps")
            return int(steps)
    if n_steps is None:
        raise ValueError("rollout: give n_steps, or tau or control with one row per step")
    if isinstance(n_steps, bool) or not isinstance(n_steps, int | np.integer) or n_steps < 1:
        raise ValueError(f"n_steps must be a positive integer, got {n_steps!r}")
    return int(n_steps)
