"""Environments that are stepped in place: what :mod:`featherweight.gym` runs, without a new state for every step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from . import saved
from .parameters import Parameters
from .simulator import Simulator
from .state import State, normalise_quaternions, put_into

Rows = NDArray[np.int64]


class LiveEnvironments:
    """A batch of environments that changes with every step. ``q`` (batch, nq) and ``v`` (batch, nv) are views."""

    def __init__(self, simulator: Simulator, batch: int) -> None:
        self.simulator = simulator
        self.batch = batch
        self._core = simulator._environments(batch)
        self._parameters = Parameters()
        self.q: Array = self._core.q
        self.v: Array = self._core.v
        self.q[...] = simulator.scene.q0
        self._turns = any(joint.type in ("free", "spherical") for joint in simulator.model.joints)

    def step(self, control: Array | None, n: int) -> None:
        """``n`` steps with the same control (batch, 1, nu), which is within its range."""
        control = self.simulator._actuation.controls(control)
        self.simulator._run(self._core, 0, n, (None, control, None), None)

    def restart(self, rows: Rows, q: Array, v: Array) -> None:
        """Environments ``rows`` anew at q (n, nq) and v (n, nv), at rest with everything: no contacts, not failed."""
        if self._turns and np.isfinite(q).all():  # or the core says that they are not
            normalise_quaternions(self.simulator, q)
        self._core.restart(rows, q, v)

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on, bit for bit, from the arrays of a state of the same scene, of as many environments."""
        good = saved.checked(self.simulator, arrays)
        if len(good["q"]) != self.batch:
            raise ValueError(f"a state of {len(good['q'])} environments, expected {self.batch}")
        self._parameters, _ = put_into(self._core, self.simulator, good)

    def randomise(self, **parameters: Any) -> None:
        """As :meth:`State.randomised`, for the whole batch."""
        given = Parameters.checked(self.simulator, self.batch, **parameters)
        given.hand_to(self._core, self.simulator)
        self._parameters = self._parameters.changed_by(given)

    @property
    def joint_forces(self) -> Array:
        """Of actuators, springs and dampers in the last step, (batch, nv) [N, N m]; a view."""
        return self._core.applied

    @property
    def acceleration(self) -> Array:
        """Mean over the last step, (batch, nv); a view."""
        return self._core.acceleration

    def failed(self) -> NDArray[np.bool_]:
        """(batch,) environments whose velocities lost their meaning; they stay where they were."""
        flags = np.zeros(self.batch, dtype=bool)
        self._core.mark_failed(flags)
        return flags

    def pushed(self) -> NDArray[np.bool_]:
        """(batch, links + 1) which links a contact pushed in the last step; the last column is the world."""
        flags = np.zeros((self.batch, self.simulator.model.n_links + 1), dtype=bool)
        self._core.mark_pushed(self._links, flags)
        return flags

    @cached_property
    def _links(self) -> NDArray[np.int64]:
        """Of shapes: columns of :meth:`pushed`."""
        links = [shape.link for shape in self.simulator.scene.shapes]
        return np.array(links, dtype=np.int64) % (self.simulator.model.n_links + 1)

    def state(self, time: float = 0.0) -> State:
        """A copy of the batch as it is now."""
        core = self._core.copy()
        return State(self.simulator, core, time=time, single=False, parameters=self._parameters)
