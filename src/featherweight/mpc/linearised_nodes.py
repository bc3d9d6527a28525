"""Nodes of a plan, linearised: several steps each, and averages over changes at random.

Contacts have kinks, where the derivative on one side says nothing about the other; an average of derivatives over a
small neighbourhood does. The same changes are used in every update.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..arrays import Array
from ..checks import at_least
from ..records import Record
from ..simulation import derivatives
from ..simulation.simulator import Simulator


@dataclass(frozen=True)
class Smoothing(Record):
    """Derivatives are averages over so many samples, one of them as it is, the others changed at random.

    >>> fw.mpc.Smoothing(std=0.01, samples=4)
    Smoothing(std=0.01, samples=4, seed=0)
    """

    std: float  # standard deviation of q and v, in tangent space, and of controls, in their units
    samples: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.std) and self.std >= 0.0):
            raise ValueError(f"std: expected a number of at least 0, got {self.std!r}")
        at_least(1, samples=self.samples)
        at_least(0, seed=self.seed)


class LinearisedNodes:
    """A, (nodes, 2 nv, 2 nv), and B, (nodes, 2 nv, nu), of plans of one length."""

    def __init__(self, sim: Simulator, nodes: int, substeps: int, smoothing: Smoothing) -> None:
        if sim.integrator == "verlet" or sim.na:
            raise ValueError(
                'plans: steps of integrator "verlet" and actuators with activations are not planned through'
            )
        self._sim, self._nodes, self._substeps = sim, nodes, substeps
        self._samples = smoothing.samples
        nv, nu = sim.model.nv, sim.nu
        e = np.random.default_rng(smoothing.seed).standard_normal((smoothing.samples, nodes, 2 * nv + nu))
        e[0] = 0.0
        self._q, self._v, self._control = np.split(smoothing.std * e.reshape(-1, 2 * nv + nu), [nv, 2 * nv], axis=1)
        self._kept = _core.KeptSolutions(sim._core, nodes * smoothing.samples)
        self._columns = derivatives.Columns(sim, ("q", "v", "control"))
        self._sum = np.empty((nodes, 2 * nv, self._columns.count))  # kept: the system gives new pages slowly

    def __call__(self, q: Array, v: Array, control: Array) -> tuple[Array, Array]:
        """At the first states of nodes, (nodes, n)."""
        sim, n = self._sim, self._samples
        if n > 1:
            q = sim.model.integrate(np.tile(q, (n, 1)), self._q)
            v = np.tile(v, (n, 1)) + self._v
            control = np.tile(control, (n, 1)) + self._control
        core = sim._environments(len(q))
        core.q[...], core.v[...], core.q_start[...], core.v_start[...] = q, v, q, v
        told = sim._actuation.controls(control[:, None])
        for k in range(self._substeps):
            core.rollout(0, 1, None, told, None, sim._options, sim.num_threads, None, self._kept, False)
            drive = None, None if told is None else told[:, 0], None
            matrix, _, _ = derivatives.differentiate(sim, core, self._kept, drive, self._columns, "jacobian", None)
            if self._substeps == 1:
                return self._split(self._summed(matrix, self._sum), 1.0 / n)
            A, B = self._split(matrix)
            if k == 0:
                total_A, total_B = A, B
            else:
                total_A, total_B = A @ total_A, A @ total_B + B
        return self._summed(total_A) / n, self._summed(total_B) / n

    def _summed(self, x: Array, out: Array | None = None) -> Array:
        """Over samples, from (samples nodes, ...) to (nodes, ...). out: memory for it."""
        if self._samples == 1:
            return x
        total: Array
        first, second, *others = x.reshape(self._samples, self._nodes, *x.shape[1:])
        total = np.add(first, second, out=out)
        for sample in others:
            total += sample
        return total

    def _split(self, matrix: Array, share: float = 1.0) -> tuple[Array, Array]:
        """Columns of the state and of controls, times ``share``."""
        n = 2 * self._sim.model.nv
        columns = matrix[:, :, :n], self._columns.split(matrix)["control"]
        A, B = (np.multiply(x, share, order="C") for x in columns)
        return A, B
