"""Everything that a step computed: the rows of its cone problem, their impulses, velocities and modes, and factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..records import Record
from .contacts import Contacts
from .forces import Forces
from .state import State

_SOURCES = np.array(("closure", "contact", "lower_limit", "upper_limit", "dry_friction", "servo"))
_LAWS = np.array(("equality", "unilateral", "interval", "point", "disc"))
_MODES = np.array(("open", "sticking", "sliding", "at_lower", "at_upper"))


@dataclass(frozen=True, eq=False)
class SolvedRows(Record):
    """The n rows of a step, of all environments together, ordered by environment.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> ball = scene.add(fw.sphere(0.1), pose=(0, 0, 0.1))
    >>> sim = fw.Simulator(scene)
    >>> sim.step_solution(sim.state()).rows.source.tolist()
    ['contact', 'contact', 'contact']
    """

    environment: NDArray[np.int64]  # (n,)
    source: NDArray[np.str_]  # (n,) "closure", "contact", "lower_limit", "upper_limit", "dry_friction" or "servo"
    #: (n,) for closures, the index in the scene's constraints; for contacts, that in the contacts of the environment;
    #: for all others, the degree of freedom
    index: NDArray[np.int64]
    component: NDArray[np.int64]  # (n,) for closures, the row; for contacts, along t1, t2, n, then about them
    block: NDArray[np.int64]  # (n,) rows of one block of an environment share one law
    law: NDArray[np.str_]  # (n,) "equality", "unilateral", "interval", "point" or "disc"
    mode: NDArray[np.str_]  # (n,) "open", "sticking", "sliding", "at_lower" or "at_upper"
    impulse: Array  # (n,) [N s, N m s]
    velocity: Array  # (n,) along the row at the end of the step [m/s, rad/s]: the slip velocity where it slides
    shift: Array  # (n,) what the law adds to it [m/s, rad/s]: gap / dt, rebound, drive of a servo
    compliance: Array  # (n,) velocity by which the row yields, per impulse
    bound: Array  # (n,) coefficient of friction, or the upper bound of an interval [N s, N m s]
    correction: Array  # (n,) impulses that remove overlaps from coordinates and leave velocities alone
    predicted: Array  # (n,) what of the impulse is part of v_free
    #: (n,) whether it was not solved for: all of it is part of v_free, and of the inertia in dofs
    absorbed: NDArray[np.bool_]

    @classmethod
    def of(cls, values: dict[str, Array]) -> SolvedRows:
        """From the columns that the core kept, (n,) each by name."""
        columns: dict[str, Any] = dict(values)
        for name in ("environment", "index", "component", "block"):
            columns[name] = values[name].astype(np.int64)
        columns["absorbed"] = values["absorbed"].astype(np.bool_)
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
    """One step with everything that it computed: arrays (...) for a single environment, (batch, ...) for several.

    >>> sim = fw.Simulator(fw.models.pendulum())
    >>> solution = sim.step_solution(sim.state())
    >>> solution.state == sim.step(sim.state())
    True
    """

    state: State  # after the step, bit for bit that of ``sim.step``
    q: Array  # (..., nq) at the start of the step
    v: Array  # (..., nv) at the start of the step
    #: (..., nv) velocities at its end, had nothing touched. Servos within their effort and friction of joints that slip
    #: are part of it: ``rows.predicted`` says how much of each row.
    v_free: Array
    acceleration: Array  # (..., nv) mean over the step: the a of H a + h
    joint_forces: Array  # (..., nv) without dry friction, limits and implicit servos [N, N m]
    contacts: Contacts  # what touched, with its geometry and impulses
    forces: Forces  # all forces, by where they come from
    rows: SolvedRows
    #: (..., nv, 13) the factors: for every degree of freedom of the eliminated tree, axis (6), carry (6) and weight as
    #: in docs/theory_contact.md, in world axes about the root of its tree; zero where nothing can touch.
    #: J H^-1 J^T = Y Y^T with y = weight (axis . f) along the path of a row. Along rows that are absorbed, H has more
    #: than its own: 1 / compliance where a servo is within its effort, and 1e16 times the bound where
    #: a joint sticks.
    dofs: Array

    @classmethod
    def of(cls, state: State, kept: _core.KeptSolutions, simulation: _core.Simulation) -> StepSolution:
        """From what the core kept of a step that ended in ``state``."""
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
            forces=state.forces,
            rows=SolvedRows.of(kept.rows(simulation)),
            dofs=dofs[0] if state.single else dofs,
        )
