"""How exact the methods stay as limbs straighten, where rows become redundant and forces without bound."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import oracle
from benchmarks.cases import Case
from benchmarks.extended import CUTOFF
from benchmarks.race import relative_errors
from benchmarks.report import markdown_table
from benchmarks.robots import Array, Samples
from benchmarks.solvers import Solver, softened
from featherweight.constraints.dynamics import Method

#: How far joints are bent away from the straight posture, standard deviation [rad].
BENDS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 0.0)
SAMPLES = 32
#: Whose limbs are straight at q = 0.
STRAIGHT = ("Panda 6D", "Solo12 4x3D", "arm 6D", "quadruped 4x3D")


@dataclass
class Hardship:
    """One method on one case at one bend."""

    case: str
    bend: float
    condition: float  # of J H^-1 J^T, median over the samples
    method: str
    error: float  # of the worst sample
    median_error: float
    iterations: float  # mean
    most_iterations: int
    converged: float  # share of the samples

    def condition_text(self) -> str:
        return "singular" if self.condition > CUTOFF**-2 else f"{self.condition:.0e}"

    def text(self) -> str:
        refused = "" if self.converged == 1 else f", {self.converged:.0%} converged"
        return f"{self.error:.0e} ({self.iterations:.1f}{refused})"


def measure_conditioning(cases: Sequence[Case], methods: Sequence[Method]) -> list[Hardship]:
    """All methods on the cases that have a straight posture."""
    rows = []
    for case in cases:
        if case.name in STRAIGHT:
            print(f"  conditioning: {case.name} ...", file=sys.stderr, flush=True)
            for bend in BENDS:
                rows += _measure(case, bend, [Solver(case.robot.model, case.constraints, name) for name in methods])
    return rows


def _measure(case: Case, bend: float, solvers: Sequence[Solver]) -> list[Hardship]:
    samples = bent(case, bend)
    states = list(zip(samples.q, samples.v, samples.x, strict=True))
    truths: dict[float, list[oracle.Solution]] = {}
    rows = []
    for solver in solvers:
        if solver.compliance not in truths:
            rigid_or_soft = softened(case.constraints, solver.compliance)
            truths[solver.compliance] = [oracle.solve(case.robot.model, *state, rigid_or_soft) for state in states]
        truth = truths[solver.compliance]
        solution = solver.solve(samples.q, samples.v, samples.x)
        errors = np.nan_to_num(relative_errors(solution.a, np.array([t.a for t in truth])), nan=np.inf)
        rows.append(
            Hardship(
                case=case.name,
                bend=bend,
                condition=float(np.median([t.condition for t in truth])),
                method=solver.method,
                error=float(errors.max()),
                median_error=float(np.median(errors)),
                iterations=float(solution.iterations.mean()),
                most_iterations=int(solution.iterations.max()),
                converged=float(solution.converged.mean()),
            )
        )
    return rows


def bent(case: Case, bend: float) -> Samples:
    """States around the straight posture, with velocities and joint forces of size one."""
    model, rng = case.robot.model, np.random.default_rng(0)
    joints = np.r_[tuple(j.v_slice for j in model.joints if j.type != "free" and j.nv)]
    step = np.zeros((SAMPLES, model.nv))
    step[:, joints] = bend * rng.standard_normal((SAMPLES, len(joints)))
    q: Array = np.asarray(model.integrate(np.tile(model.neutral(), (SAMPLES, 1)), step), dtype=np.float64)
    return Samples(q, rng.standard_normal(step.shape), rng.standard_normal(step.shape))


def conditioning_table(rows: Sequence[Hardship]) -> str:
    """Worst errors, with the mean number of iterations in brackets; a column for each method."""
    lines: dict[tuple[str, float], dict[str, str]] = {}
    for row in rows:
        cells = {"robot": row.case, "bend [rad]": f"{row.bend:g}", "condition": row.condition_text()}
        lines.setdefault((row.case, row.bend), cells)[row.method] = row.text()
    return markdown_table(list(lines.values()))


def plot_conditioning(plt: Any, rows: Sequence[Hardship]) -> Any:
    """Worst errors above, iterations below, a column for each case."""
    names = list(dict.fromkeys(row.case for row in rows))
    methods = list(dict.fromkeys(row.method for row in rows))
    figure, axes = plt.subplots(
        2, len(names), figsize=(5 * len(names), 7), layout="constrained", squeeze=False, sharex=True, sharey="row"
    )
    places, labels = range(len(BENDS)), [f"{bend:g}" for bend in BENDS]
    for column, name in zip(axes.T, names, strict=True):
        for k, method in enumerate(methods):
            own = [row for row in rows if (row.case, row.method) == (name, method)]
            style = {"marker": "o", "markersize": 3, "color": f"C{k}"}
            column[0].semilogy(places, [np.clip(row.error, 1e-17, 1e3) for row in own], label=method, **style)
            column[1].plot(places, [row.iterations for row in own], **style)
        column[0].set_title(name)
        column[1].set_xticks(places, labels)
        column[1].set_xlabel("bend of the joints [rad]")
    axes[0][0].set_ylabel("worst relative error")
    axes[1][0].set_ylabel("iterations, mean")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=8, frameon=False)
    return figure
