"""Impacts of a step: in rounds, and none brings energy.

A contact or limit that strikes leaves by restitution. One that was apart and that only the impulses of others would
close waits for the next round, and strikes with the velocities of after the round before; impulses of what struck are
part of the motion from then on. What strikes between two links, or at a limit, is an impact: where its impulses do
work, the mean velocity times impulse summed up, its restitution is lowered to the largest share at which they do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from featherweight.arrays import Array
from featherweight.reference.contact.residuals import natural_residual
from featherweight.reference.stages.assemble import StepProblem
from featherweight.reference.stages.rows import Surface

ROUNDS = 16
TOUCHING = 1e-9  # [m]
Solve = Callable[[Array, Array], Array]  # g, start -> impulses


@dataclass(eq=False)
class _Strike:
    rows: NDArray[np.intp]  # all of a contact: tangents, normal, spin and roll
    row: int  # the normal
    surface: Surface
    gap: float
    waits_if_closed: bool  # it was apart
    state: Literal["rests", "strikes", "waits"]
    struck: bool = False

    @property
    def tangents(self) -> NDArray[np.intp]:
        return self.rows[self.rows < self.row]

    def closes(self, velocity: Array, dt: float) -> bool:
        gap = 0.0 if self.struck else max(self.gap, 0.0)
        return bool(gap + dt * velocity[self.row] < 0)


class Rounds:
    """Impulses of all rounds, and the residual of the last [m/s]. ``g`` is that of the laws as they were met."""

    def __init__(self, problem: StepProblem, impulses: Array, solve: Solve, tolerance: float) -> None:
        self.problem, self.solve, self.tolerance = problem, solve, 2 * tolerance * problem.scale
        self.G0 = problem.G - np.diag(problem.compliance)
        self.base, self.before = problem.velocity.copy(), problem.velocity.copy()
        self.shift, self.impulses, self.frozen = problem.g - problem.velocity, impulses, np.zeros(len(problem.g))
        self.strikes = list(_find_strikes(problem))
        self.island = _islands(problem.G)
        self.active = {self.island[s.row] for s in self.strikes if s.state == "strikes"}
        for number in range(1, ROUNDS + 1 if self.active else 1):
            self._make_wait()
            self._weaken()
            after = self._velocities()
            closing = [s for s in self.strikes if s.state == "waits" and s.closes(after, problem.dt)]
            if not closing:
                break
            self.active = {self.island[s.row] for s in closing}
            self._freeze(after)
            self._set_laws(is_last=number == ROUNDS)
            self._solve()
        self.residual = natural_residual(problem.G, self.base + self.shift, problem.laws, self.impulses)
        after = self._velocities()
        for s in self.strikes:
            self.shift[s.row] = (
                -after[s.row] if s.struck else s.surface.shift if s.state == "waits" else self.shift[s.row]
            )
        self.impulses = self.impulses + self.frozen
        self.g = problem.velocity + self.shift

    def _velocities(self) -> Array:
        return np.asarray(self.base + self.G0 @ self.impulses)

    def _solve(self) -> None:
        self.impulses = self.solve(self.base + self.shift, self.impulses)

    def _active(self, state: str) -> list[_Strike]:
        return [s for s in self.strikes if s.state == state and self.island[s.row] in self.active]

    def _make_wait(self) -> None:
        for _ in range(4):
            new = [
                s
                for s in self._active("rests")
                if (s.waits_if_closed or s.struck)
                and self.impulses[s.row] > 0
                and not s.closes(self.before, self.problem.dt)
            ]
            for s in new:
                s.state, self.shift[s.row] = "waits", 1e3 * self.problem.scale
            if not new:
                return
            self._solve()

    def _freeze(self, after: Array) -> None:
        for s in self._active("strikes"):
            self.frozen[s.rows] += self.impulses[s.rows]
            self.impulses[s.rows] = self.shift[s.rows] = 0.0
            s.state, s.struck = "rests", True
        self.base, self.before = self.problem.velocity + self.G0 @ self.frozen, after

    def _set_laws(self, is_last: bool) -> None:
        for s in self.strikes:
            if s.state != "waits":
                continue
            active = self.island[s.row] in self.active and s.closes(self.before, self.problem.dt) and not is_last
            s.state, self.shift[s.row] = "rests", 0.0 if s.struck else s.surface.shift
            if active and s.surface.is_elastic and -self.before[s.row] > 2 * self.problem.fall:
                s.state = "strikes"
                self.shift[s.row] = s.surface.restitution * self.before[s.row]
                self.shift[s.tangents] = s.surface.tangential * self.before[s.tangents]

    # -- energy

    def _weaken(self) -> None:
        """Bisection of the share of every impact that brings energy, all of them at once."""
        impacts: dict[tuple[int, int], list[_Strike]] = {}
        for s in self._active("strikes"):
            impacts.setdefault(s.surface.between, []).append(s)
        full = self.shift.copy()
        bounds = {key: (0.0, 1.0) for key, own in impacts.items() if self._gains(own)}
        while bounds and max(high - low for low, high in bounds.values()) > 1e-7:
            shares = {key: (low + high) / 2 for key, (low, high) in bounds.items()}
            self._apply(impacts, shares, full)
            for key, own in impacts.items():
                low, high = bounds.get(key, (0.0, 1.0))
                if key in bounds or self._gains(own):
                    bounds[key] = (low, shares.get(key, high)) if self._gains(own) else (shares.get(key, low), high)
        if bounds:
            self._apply(impacts, {key: low for key, (low, _) in bounds.items()}, full)

    def _apply(
        self, impacts: dict[tuple[int, int], list[_Strike]], shares: dict[tuple[int, int], float], full: Array
    ) -> None:
        for key, share in shares.items():
            for s in impacts[key]:
                self.shift[s.rows] = share * full[s.rows]
        self._solve()

    def _gains(self, impact: list[_Strike]) -> bool:
        """Whether it does work [J] beyond what rounding and the tolerance of the solver leave open."""
        after = self._velocities()
        work = 0.5 * self.impulses * (self.before + after)
        rows = np.concatenate([s.rows for s in impact])
        island = self.island[rows[0]]
        shut = [s.row for s in self.strikes if s.state == "rests" and self.island[s.row] == island]
        unpaid = sum(abs(work[row]) for row in shut if self.before[row] > 0)
        slack = 1e-12 * np.abs(work[rows]).sum() + self.tolerance * np.abs(self.impulses[rows]).sum()
        return bool(work[rows].sum() + unpaid > slack)


def _find_strikes(problem: StepProblem) -> list[_Strike]:
    result, row = list[_Strike](), 0
    for block in problem.blocks:
        rows = np.arange(row, row + block.law.rows)
        if block.surface is not None:
            gap = float(problem.gap[rows[-1]])
            was_apart = gap > TOUCHING and not block.surface.was_loaded
            state: Literal["strikes", "rests"] = "strikes" if block.bounces else "rests"
            result.append(_Strike(rows, int(rows[-1]), block.surface, gap, was_apart, state))
        elif block.law.law == "disc" and result and result[-1].rows[-1] == row - 1:
            result[-1].rows = np.append(result[-1].rows, rows)
        row += block.law.rows
    return result


def _islands(G: Array) -> NDArray[np.intp]:
    """(m,) of each row a number that coupled rows share."""
    names = np.arange(len(G))
    while True:
        least = np.where(G != 0, names[:, None], len(G)).min(axis=0, initial=len(G))
        if (least >= names).all():
            return names
        names = np.minimum(names, least)
