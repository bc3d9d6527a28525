"""Tables, plots and JSON files of constrained dynamics."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.anchored_report import header, method_table, plot_times, save
from benchmarks.conditioning import Hardship, conditioning_table, plot_conditioning
from benchmarks.constrained import COLUMNS, ConstrainedRow
from benchmarks.constrained_growth import Curve, growth_table, plot_growth
from benchmarks.report import plotting

LEGEND = """\
Microseconds per sample on one core; smallest of many passes, all taking turns. us: featherweight inside C++ on lanes
over the batch, Pinocchio sample by sample (it has no batch); factors are against the fastest build of its method.
single: featherweight inside C++, one sample at a time in plain doubles. python: one call for the batch, and one call
per sample. Errors are of the accelerations, relative to 1 + the largest of a sample, against a dense solution in
extended precision. Pinocchio has the fewest iterations with which some damping brings the worst error below 1e-9, or
what comes nearest to that. one more: what the third iteration costs, as a share of us; nothing to a method without
iterations. pv_soft is given rows that yield."""


@dataclass
class ConstrainedReport:
    """On robots."""

    machine: dict[str, str]
    rows: list[ConstrainedRow] = field(default_factory=list)

    def text(self) -> str:
        return "\n\n".join([header(self.machine), method_table(self.rows, COLUMNS), LEGEND])

    def save(self, folder: Path) -> None:
        """Write ``constrained.json`` and ``constrained.md``."""
        save(folder, "constrained", self, self.text())

    def plot(self, folder: Path) -> None:
        """Times by case and method. Needs matplotlib (:class:`ImportError` without)."""
        plot_times(plotting(), self.rows).savefig(folder / "constrained_times.png", dpi=110)


@dataclass
class LimitsReport:
    """How the work grows, and how the error does."""

    machine: dict[str, str]
    growth: list[Curve] = field(default_factory=list)
    conditioning: list[Hardship] = field(default_factory=list)

    def text(self) -> str:
        tables = [growth_table(self.growth)]
        return "\n\n".join([*tables, conditioning_table(self.conditioning)] if self.conditioning else tables)

    def save(self, folder: Path) -> None:
        """Write ``constrained_limits.json`` and ``constrained_limits.md``."""
        save(folder, "constrained_limits", self, self.text())

    def plot(self, folder: Path) -> None:
        """As PNG files. Needs matplotlib (:class:`ImportError` without)."""
        plt = plotting()
        plot_growth(plt, self.growth).savefig(folder / "constrained_growth.png", dpi=110)
        if self.conditioning:
            plot_conditioning(plt, self.conditioning).savefig(folder / "constrained_accuracy.png", dpi=110)
