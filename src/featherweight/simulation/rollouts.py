"""Rollouts: many steps of a batch, in stretches, with what is recorded, shown and kept of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..core_tables import StepReports, StepTotals
from ..progress import progress_bar, stretches
from .alarms import failures_of
from .derivatives import Tape
from .inputs import count_steps, flat_forces
from .recording import Recording
from .state import State
from .switches import Flags, checked_flags, turn
from .trajectory import Trajectory

if TYPE_CHECKING:
    from .simulator import Simulator

#: References to environments that only a rollout has: of its progress, and of who counts.
_UNSEEN = 2
#: Called with the state before every step; returns ``tau``, or ``(tau, control)``, or those and switches by name.
Policy = Callable[
    ["State"],
    ArrayLike
    | tuple[ArrayLike | None, ...]
    | tuple[ArrayLike | None, ArrayLike | None, Mapping[str, ArrayLike] | None]
    | None,
]


def roll_out(
    sim: Simulator,
    state: State,
    arrays: dict[str, ArrayLike | None],
    n_steps: int | None,
    policy: Policy | None,
    *,
    record: bool,
    record_contacts: bool,
    every: int,
    progress: bool,
    on_interrupt: Literal["raise", "return"],
    tape: bool | Literal["all"],
) -> Trajectory:
    """:meth:`Simulator.rollout`; arrays: tau, control and f_ext, by name."""
    state = sim._own(state)
    if tape not in (False, True, "all"):
        raise ValueError(f'tape must be True, False or "all", got {tape!r}')
    if tape and policy is not None:
        raise ValueError("rollout: a tape needs arrays of forces, not a policy")
    if policy is not None and any(x is not None for x in arrays.values()):
        raise ValueError("rollout: give either a policy or arrays of forces")
    widths = {"tau": sim.model.nv, "control": sim.nu, "f_ext": 6 * sim.model.n_links}
    steps = count_steps(arrays, n_steps, state)
    inputs = {
        name: sim._inputs(
            name,
            flat_forces(value, sim.model.n_links) if name == "f_ext" else value,
            widths[name],
            state,
            steps,
            constant=n_steps is not None,
        )
        for name, value in arrays.items()
    }
    if on_interrupt not in ("raise", "return"):
        raise ValueError(f'on_interrupt must be "raise" or "return", got {on_interrupt!r}')
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ValueError(f"every must be a positive integer, got {every!r}")
    if tape and every != 1:
        raise ValueError("rollout: a tape is of every step, leave out `every`")
    every = min(every, max(steps, 1))
    recording = Recording(sim, state, steps if record or record_contacts else 0, every, contacts=record_contacts)
    records = recording.core if record or record_contacts else None
    parts = inputs["tau"], sim._actuation.controls(inputs["control"]), inputs["f_ext"]
    watched = progress or on_interrupt == "return"
    judged = state._fresh is not None and not sim._alarms.over  # a start, by its first step
    is_recorded = record and every == 1 and policy is None
    first = 1 if judged and not is_recorded else steps
    starts: list[tuple[int, _core.Environments]] = []
    between = 1 if tape == "all" or policy is not None else max(1, math.isqrt(max(steps, 1))) if tape else steps
    at = _Progress(0, state._core, StepTotals(state.batch_size))
    interrupted, flags = False, None
    with progress_bar(steps, "simulating", enabled=progress) as advance:
        try:
            for n in stretches(steps, most=between, watched=watched, first=first):
                if policy is not None:
                    now = state._with(at.core, time=state.time + at.done * sim.dt, reports=at.reports_after(state))
                    parts, flags = _asked(sim, policy(now), state)
                    del now
                if tape:
                    starts.append((at.done, at.core))
                failed = failures_of(at.core)
                core = at.core if at.is_unseen and on_interrupt == "raise" else at.core.copy()
                if flags and turn(core, sim, flags) and record_contacts:
                    raise ValueError("rollout: contacts are recorded between switches, not across them")
                sim._run(core, at.done, n, parts, records)
                if judged and is_recorded and at.done == 0:
                    step = partial(_first_step, sim, state, parts)
                    sim._judge(state, failed, core, 0, step, recording.arrays(1)["penetrations"][:, 0])
                else:
                    sim._judge(state, failed, core, at.done)
                # in one assignment: Ctrl-C finds all of it or nothing
                at = _Progress(at.done + n, core, at.totals.plus(core))
                del core
                advance(n)
        except KeyboardInterrupt:
            if on_interrupt == "raise":
                raise
            interrupted = True
    final = state._with(at.core, time=state.time + at.done * sim.dt, reports=at.reports_after(state))
    shown = at.done if record else 0
    recorded = recording.arrays(shown)
    if state.single:
        recorded = {name: values[0] for name, values in recorded.items()}
    kept_tape = (
        Tape(tuple(starts), at.done, parts, sim._clipped(arrays["control"], inputs["control"])) if tape else None
    )
    figures = at.totals.figures()
    return Trajectory(
        sim,
        final,
        recording.time(state.time, shown),
        **recorded,
        contacts=recording.contacts(at.done),
        _totals=figures,
        interrupted=interrupted,
        _tape=kept_tape,
    )


def _first_step(
    sim: Simulator, start: State, drive: tuple[Array | None, Array | None, Array | None]
) -> _core.Environments:
    """Environments after one step, taken once more."""
    core = start._core.copy()
    sim._run(core, 0, 1, drive)
    return core


def _asked(sim: Simulator, answer: Any, state: State) -> tuple[tuple[Array | None, Array | None, None], Flags | None]:
    """What a policy returned: what drives a step, and switches."""
    if not isinstance(answer, tuple):
        answer = (answer,)
    if len(answer) > 3:
        raise ValueError(f"policy: expected tau, (tau, control) or (tau, control, switches), got {len(answer)}")
    tau, control, switches = (*answer, None, None)[:3]
    if control is None and sim.nu and np.shape(tau)[-1:] == (sim.nu,) != (sim.model.nv,):
        what = f"expected {sim.model.nv} joint forces, got {sim.nu} numbers"
        raise ValueError(f"policy: tau: {what}; to return controls of the actuators, return (None, control)")
    drive = (
        sim._inputs("policy: tau", tau, sim.model.nv, state, None),
        sim._actuation.controls(sim._inputs("policy: control", control, sim.nu, state, None)),
        None,
    )
    return drive, None if switches is None else checked_flags(sim, state.batch_size, switches)


@dataclass(frozen=True, eq=False)
class _Progress:
    """How far a rollout is."""

    done: int  # steps
    core: _core.Environments
    totals: StepTotals

    def reports_after(self, start: State) -> StepReports:
        return StepReports.of(self.core) if self.done else start._reports

    @property
    def is_unseen(self) -> bool:
        """Whether nobody else has the environments, or an array of theirs: they may be stepped in place."""
        return self.done > 0 and sys.getrefcount(self.core) == _UNSEEN
