"""Tables, plots and the JSON file of Delassus matrices."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.anchored_report import header, method_table, plot_times, save
from benchmarks.constrained_growth import Curve, growth_table, plot_growth
from benchmarks.delassus import COLUMNS, MATRIX, DelassusRow
from benchmarks.report import plotting

LEGEND = """\
Microseconds per sample on one core; smallest of many passes, all taking turns. us: featherweight inside C++ on lanes
over the batch, one packed triangle per sample; Pinocchio sample by sample (it has no batch), up to where it leaves its
result. Factors are against Pinocchio's best: its fastest function, of all builds, whose worst error is below 1e-9.
single: featherweight inside C++, one sample at a time in plain doubles. python: one call for the batch, which returns
full matrices, and one call per sample. auto: what fw.delassus takes by itself. Errors are relative to 1 + the largest
entry of a matrix, against dense algebra in extended precision. Inverses are of J H^-1 J^T + damping. Solutions and
products of the operator, one vector per sample with the factors at hand, are timed from Python; aba is in C++."""


@dataclass
class DelassusReport:
    """On robots, and over the size of robots."""

    machine: dict[str, str]
    rows: list[DelassusRow] = field(default_factory=list)
    growth: list[Curve] = field(default_factory=list)

    def text(self) -> str:
        parts = [header(self.machine), method_table(self.rows, COLUMNS), LEGEND]
        return "\n\n".join([*parts, growth_table(self.growth)] if self.growth else parts)

    def save(self, folder: Path) -> None:
        """Write ``delassus.json`` and ``delassus.md``."""
        save(folder, "delassus", self, self.text())

    def plot(self, folder: Path) -> None:
        """As PNG files. Needs matplotlib (:class:`ImportError` without)."""
        plt = plotting()
        matrices = [row for row in self.rows if row.wanted == MATRIX]
        plot_times(plt, matrices).savefig(folder / "delassus_times.png", dpi=110)
        if self.growth:
            plot_growth(plt, self.growth).savefig(folder / "delassus_growth.png", dpi=110)
