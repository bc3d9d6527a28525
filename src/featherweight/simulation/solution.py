"""What a step found out: rows of the cone problem, their impulses, velocities and modes, and what was factorised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..records import Record
from .state import Contacts, State

_SOURCES = np.array(("closure", "contact", "lower_limit", "upper_limit", "dry_friction", "servo"))
_LAWS = np.array(("equality", "unilateral", "interval", "point", "disc"))
_MODES = np.array(("open", "sticking", "sliding", "at_lower", "at_upper"))


@dataclass(frozen=True, eq=False)
class SolvedRows(Record):
    """The n rows of a step, of all environments together, ordered by environment."""

    environment: NDArray[np.int64]  # (n,)
    source: NDArray[np.str_]  # (n,) "closure", "contact", "lower_limit", "upper_limit", "dry_friction" or "servo"
    #: (n,) of a closure its place in the scene's constraints, of a contact in the contacts of its environment, of
    #: others the degree of freedom
    index: NDArray[np.int64]
    component: NDArray[np.int64]  # (n,) of a closure its row; of a contact along t1, t2, n, then about them
    block: NDArray[np.int64]  # (n,) rows of one block of an environment obey their law together
    law: NDArray[np.str_]  # (n,) "equality", "unilateral", "interval", "point" or "disc"
    mode: NDArray[np.str_]  # (n,) "open", "sticking", "sliding", "at_lower" or "at_upper"
    impulse: Array  # (n,) [N s, N m s]
    velocity: Array  # (n,) along the row at the end of the step [m/s, rad/s]: of what slides, the slip
    shift: Array  # (n,) what the law adds to it [m/s, rad/s]: gap over step, bounce, drive of a servo
    compliance: Array  # (n,) velocity per impulse that the row yields
    bound: Array  # (n,) coefficient of friction, or the upper bound of an interval [N s, N m s]
    correction: Array  # (n,) impulses that take overlaps out of coordinates, and leave velocities alone

    @classmethod
    def of(cls, values: dict[str, Array]) -> SolvedRows:
        columns: dict[str, Any] = dict(values)
        for name in ("environment", "index", "component", "block"):
            columns[name] = values[name].astype(np.int64)
        for name, known in (("source", _SOURCES), ("law", _LAWS), ("mode", _MODES)):
            columns[name] = known[values[name].astype(np.int64)]
        return cls(**columns)

    def __len__(self) -> int:
        return len(self.impulse)

    def __repr__(self) -> str:
        lines = [f"<SolvedRows: {len(self)}>"]
        for k in range(min(len(self), 12)):
            where = f"{self.source[k]} {self.index[k]}.{self.component[k]}"
            lines.append(f"  [{self.environment[k]}] {where}: {self.mode[k]}, {self.impulse[k]:.3g} N s, "
                         f"{self.velocity[k]:.2e} m/s")  # fmt: skip
        return "\n".join(lines + (["  ..."] if len(self) > 12 else []))


@dataclass(frozen=True, eq=False)
class StepSolution(Record):
    """One step, with all that is known about it: arrays (...) for a single environment, (batch, ...) for several."""

    state: State  # after the step, bit for bit that of ``sim.step``
    q: Array  # (..., nq) at the start of the step
    v: Array  # (..., nv) at the start of the step
    v_free: Array  # (..., nv) at its end, if nothing had touched
    acceleration: Array  # (..., nv) mean over the step: the a of H a + h
    joint_forces: Array  # (..., nv) but for dry friction, limits and implicit servos [N, N m]
    contacts: Contacts  # what touched, with its geometry and impulses
    rows: SolvedRows
    #: (..., nv, 13) what was factorised: of every degree of freedom of the eliminated tree its axis (6), what it takes
    #: from a force on its way inward (6) and its weight, world axes about the root of its tree; zero where nothing can
    #: touch. J H^-1 J^T = Y Y^T with y = weight (axis . f) along the path of a row.
    dofs: Array

    @classmethod
    def of(cls, state: State, kept: _core.KeptSolutions, simulation: _core.Simulation) -> StepSolution:
        dofs = np.array(kept.dofs).reshape(state.batch_size, -1, 13)
        v_free = np.array(kept.v_free)
        return cls(
            state=state,
            q=state.q_start,
            v=state.v_start,
            v_free=v_free[0] if state.single else v_free,
            acceleration=state.acceleration,
            joint_forces=state.joint_forces,
            contacts=state.contacts,
            rows=SolvedRows.of(kept.rows(simulation)),
            dofs=dofs[0] if state.single else dofs,
        )
