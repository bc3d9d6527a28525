"""Rollouts of large batches, cut into items of some environments each."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..simulation.simulator import Simulator
from ..simulation.state import State
from ..simulation.trajectory import Trajectory
from .items import map as map_items

#: Environments of an item.
_SIZE = 256

Inputs = dict[str, Any]


def rollouts(
    sim: Simulator,
    state: State,
    tau: ArrayLike | None = None,
    *,
    control: ArrayLike | None = None,
    n_steps: int | None = None,
    policy: Callable[[State], Any] | None = None,
    record: bool = True,
    every: int = 1,
    size: int = _SIZE,
    workers: int | None = None,
    directory: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Trajectory:
    """``sim.rollout`` of a batch, ``size`` environments at a time: the same trajectory, bit for bit.

    tau, control, n_steps, policy, record, every: as in :meth:`Simulator.rollout`. A policy is called with states of at
    most ``size`` environments, and is sent to each item anew: what it remembers of one is not there in the next.
    workers, directory, progress: as in :func:`map`.

    >>> sim = fw.Simulator(fw.models.pendulum())
    >>> state = sim.state(batch=100, q=[0.1])
    >>> fw.cluster.rollouts(sim, state, n_steps=50, size=32) == sim.rollout(state, n_steps=50)
    True
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"size must be a positive integer, got {size!r}")
    shared: Inputs = {"n_steps": n_steps, "policy": policy, "record": record, "every": every}
    if state.single or state.batch_size <= size:
        items: list[tuple[State, Inputs]] = [(state, {"tau": tau, "control": control})]
    else:
        blocks = [slice(first, first + size) for first in range(0, state.batch_size, size)]
        given = {"tau": (tau, sim.model.nv), "control": (control, sim.nu)}
        parts = {name: _parts(x, n, state.batch_size, n_steps, blocks) for name, (x, n) in given.items()}
        items = [(state[block], {name: part[k] for name, part in parts.items()}) for k, block in enumerate(blocks)]
    done = map_items(partial(_rollout, sim, shared), items, workers=workers, directory=directory, progress=progress)
    return done[0] if len(done) == 1 else _joined(sim, done)


def _rollout(sim: Simulator, shared: Inputs, item: tuple[State, Inputs]) -> Trajectory:
    state, inputs = item
    return sim.rollout(state, **inputs, **shared)


def _parts(x: ArrayLike | None, n: int, batch: int, n_steps: int | None, blocks: list[slice]) -> list[Any]:
    """Of what drives a batch, the rows of each block; what all environments share is the same in all."""
    if x is None:
        return [None] * len(blocks)
    array = np.asarray(x)
    is_own = array.ndim == 3 or (array.ndim == 2 and n_steps is not None and array.shape == (batch, n))
    return [array[block] if is_own else array for block in blocks]


def _joined(sim: Simulator, parts: list[Trajectory]) -> Trajectory:
    final = State.join([part.final for part in parts])
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("q", "v", "residuals", "penetrations")
    }
    totals = type(parts[0]._totals).joined([part._totals for part in parts])
    return Trajectory(sim, final, parts[0].time, **columns, contacts=(), _totals=totals)
