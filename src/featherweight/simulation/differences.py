"""Derivatives of steps in halves, and with struts beyond plain ones, by central differences of the step itself.

The two halves of such a step solve for impulses each, and the products of velocities between them are implicit
(core/step/verlet.hpp). Its differences cost two steps for every column, of the whole batch at once; each of them starts
from the impulses the step started from. Columns along which the two sides disagree have no derivative, and are marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..core_tables import StepReports
from .parameters import Parameters
from .solvers import Solver

if TYPE_CHECKING:
    from .simulator import Simulator

#: By how much each is changed: what a step is linear in, by more. [m, rad, m/s, ..., N, m/s^2, 1]
_CHANGES = {
    "q": 1e-6,
    "v": 1e-5,
    "tau": 1e-3,
    "control": 1e-5,
    "f_ext": 1e-3,
    "friction": 1e-5,
    "gains": 1e-5,
    "gravity": 1e-4,
    "masses": 1e-5,
}
#: Residual of the cone problems [m/s], below which differences are rounding.
_EXACT = 1e-13
#: Share of a difference by which its two sides may disagree, and what that is compared with at least [1, m/s].
_KINK, _ROUNDING = 1e-2, 1e-10


class Differences:
    """One step of a batch, ready to be changed in everything that it was given."""

    def __init__(
        self,
        sim: Simulator,
        before: _core.Environments,
        parameters: Parameters,
        inputs: tuple[Array | None, Array | None, Array | None],
    ) -> None:
        self._sim, self._before, self._parameters = sim, before, parameters
        widths = (sim.model.nv, sim._actuation.n_laws + sim.na, 6 * sim.model.n_links)
        self._inputs = [
            np.zeros((before.batch, n)) if x is None else np.broadcast_to(x, (before.batch, n)).copy()
            for x, n in zip(inputs, widths, strict=True)
        ]
        self._options = _core.SolverOptions(*_exact(sim.solver).arguments())

    def matrix(self, wrt: Sequence[str]) -> tuple[Array, NDArray[np.float64], NDArray[np.float64]]:
        """As ``_core.differentiate_step`` has it: the matrix, columns without a derivative, and that all is unique."""
        sim, nv = self._sim, self._sim.model.nv
        widths = {"q": nv, "v": nv, "tau": nv, "control": sim._actuation.n_laws, "f_ext": 6 * sim.model.n_links}
        widths |= {"friction": 1, "gains": sim._actuation.n_laws, "gravity": 3, "masses": sim.model.n_links}
        for name in wrt:
            if name not in widths:
                what = 'of integrator "verlet"' if sim.integrator == "verlet" else "with such struts or sticky links"
                raise ValueError(f"derivatives: steps {what} have none by {name!r}")
        middle, failed = self._after("v", 0, 0.0), np.zeros(self._before.batch, dtype=bool)
        columns, flags = [], []
        for name in wrt:
            for k in range(widths[name]):
                h = _CHANGES[name]
                ends = [self._after(name, k, change) for change in (h, -h)]
                up, down = (np.hstack([sim.model.difference(middle[0], q), v - middle[1]]) for q, v, _ in ends)
                size = np.maximum(np.abs(up), np.abs(down)).max(axis=1, initial=0.0)
                flags.append(np.abs(up + down).max(axis=1, initial=0.0) > _KINK * size + _ROUNDING)
                columns.append((up - down) / (2.0 * h))
                failed |= ends[0][2] | ends[1][2]
        failed |= middle[2]
        matrix = np.stack(columns, axis=2) if columns else np.zeros((self._before.batch, 2 * nv, 0))
        infeasible = np.stack(flags, axis=1) if flags else np.zeros((self._before.batch, 0))
        matrix[failed], infeasible[failed] = 0.0, 0.0
        return matrix, infeasible.astype(np.float64), np.ones(self._before.batch)

    def _after(self, name: str, k: int, change: float) -> tuple[Array, Array, NDArray[np.bool_]]:
        """q, v and failures after the step, where one of what it is given is changed in all environments."""
        sim, core = self._sim, self._before.copy()
        inputs = list(self._inputs)
        if name in ("tau", "control", "f_ext"):
            at = ("tau", "control", "f_ext").index(name)
            inputs[at] = inputs[at].copy()
            inputs[at][:, k] += change
        elif name == "q":
            core.q[:] = sim.model.integrate(np.array(core.q), change * np.eye(sim.model.nv)[k])
        elif name == "v":
            core.v[:, k] += change
        else:
            self._change_parameter(core, name, k, change)
        tau, control, f_ext = (x[:, None] if x.shape[1] else None for x in inputs)
        core.rollout(0, 1, tau, control, f_ext, self._options, sim.num_threads, None, None, False)
        return np.array(core.q), np.array(core.v), np.atleast_1d(StepReports.of(core).failed) > 0

    def _change_parameter(self, core: _core.Environments, name: str, k: int, change: float) -> None:
        own, batch, model = getattr(self._parameters, name), self._before.batch, self._sim.model
        if own is not None:
            values = np.array(self._sim._actuation.gains(own) if name == "gains" else own).reshape(batch, -1)
        elif name == "gravity":
            values = np.tile(model.gravity, (batch, 1))
        else:
            widths = {"friction": 1, "gains": self._sim._actuation.n_laws, "masses": model.n_links}
            values = np.ones((batch, widths[name]))
        values[:, k] += change
        if name == "friction":
            core.set_friction(values[:, 0].copy())
        else:
            {"gains": core.set_gains, "gravity": core.set_gravity, "masses": core.set_masses}[name](values)


def _exact(solver: Solver) -> Solver:
    """The same, to rounding."""
    return replace(solver, tolerance=min(solver.tolerance, _EXACT))
