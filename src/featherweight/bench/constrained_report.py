"""Tables, plots and JSON files of constrained dynamics."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from featherweight.bench.conditioning import Hardship, conditioning_table, plot_conditioning
from featherweight.bench.constrained import COLUMNS, ConstrainedRow
from featherweight.bench.constrained_growth import Curve, growth_table, plot_growth
from featherweight.bench.report import markdown_table, plotting

LEGEND = """\
Microseconds per sample on one core; smallest of many passes, all taking turns. us: featherweight inside C++ on lanes
over the batch, Pinocchio sample by sample (it has no batch); factors are against the fastest build of its method.
single: featherweight inside C++, one sample at a time in plain doubles. python: one call for the batch, and one call
per sample. Errors are of the accelerations, relative to 1 + the largest of a sample, against a dense solution in
extended precision. Pinocchio has the fewest iterations with which some damping brings the worst error below 1e-9, or
what comes nearest to that. one more: what the third iteration costs, as a share of us; nothing to a method without
iterations. pv_soft is given rows that give way."""


@dataclass
class ConstrainedReport:
    """On robots."""

    machine: dict[str, str]
    rows: list[ConstrainedRow] = field(default_factory=list)

    def text(self) -> str:
        header = "\n".join(f"- {key}: {value}" for key, value in self.machine.items())
        return "\n\n".join([header, constrained_table(self.rows), LEGEND])

    def save(self, folder: Path) -> None:
        """Write ``constrained.json`` and ``constrained.md``."""
        save(folder, "constrained", self, self.text())

    def plot(self, folder: Path) -> None:
        """Times by case and method. Needs matplotlib (:class:`ImportError` without)."""
        plt = plotting()
        cases = list(dict.fromkeys(row.case for row in self.rows))
        size = {"figsize": (2 + 2.2 * len(cases), 4), "layout": "constrained", "squeeze": False, "sharey": True}
        figure, axes = plt.subplots(1, len(cases), **size)
        for axis, case in zip(axes[0], cases, strict=True):
            rows = [row for row in self.rows if row.case == case]
            colours = ["0.6" if row.method.startswith("pin") else "#4292c6" for row in rows]
            bars = axis.barh([row.method for row in rows], [row.microseconds["us"] for row in rows], color=colours)
            axis.bar_label(bars, fmt="%.2g", padding=2, fontsize=7)
            axis.set(xscale="log", title=case)
            axis.margins(x=0.2)
            axis.xaxis.set_minor_formatter("")
        axes[0][0].invert_yaxis()
        figure.supxlabel("microseconds per sample, one core; Pinocchio grey", fontsize=9)
        figure.savefig(folder / "constrained_times.png", dpi=110)


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


def constrained_table(rows: Sequence[ConstrainedRow]) -> str:
    """Markdown, without columns that nobody fills."""
    lines = [row.cells([other for other in rows if other.case == row.case]) for row in rows]
    titles = [title for title in COLUMNS if any(title in line for line in lines)]
    return markdown_table([{title: line.get(title, "") for title in titles} for line in lines])


def save(folder: Path, name: str, report: Any, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(asdict(report), indent=2) + "\n")
    (folder / f"{name}.md").write_text(text + "\n")
