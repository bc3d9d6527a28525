"""What the reports on anchored robots share: the table of methods by case, bars, and files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from benchmarks.report import markdown_table


class AnchoredRow(Protocol):
    """One case, one method."""

    case: str
    method: str
    microseconds: dict[str, float]

    def cells(self, beside: Sequence[Any], /) -> dict[str, str]:
        """One line of the table by column, given the rows of the same case."""
        ...


def header(machine: dict[str, str]) -> str:
    return "\n".join(f"- {key}: {value}" for key, value in machine.items())


def method_table(rows: Sequence[AnchoredRow], columns: Sequence[str]) -> str:
    """Markdown, without columns that are empty throughout."""
    lines = [row.cells([other for other in rows if other.case == row.case]) for row in rows]
    titles = [title for title in columns if any(title in line for line in lines)]
    return markdown_table([{title: line.get(title, "") for title in titles} for line in lines])


def plot_times(plt: Any, rows: Sequence[AnchoredRow]) -> Any:
    """Bars by case and method."""
    cases = list(dict.fromkeys(row.case for row in rows))
    height = 1 + 0.2 * len({row.method for row in rows})
    size = {"figsize": (2 + 2.2 * len(cases), height), "layout": "constrained", "squeeze": False, "sharey": True}
    figure, axes = plt.subplots(1, len(cases), **size)
    for axis, case in zip(axes[0], cases, strict=True):
        own = [row for row in rows if row.case == case]
        colours = ["0.6" if row.method.startswith("pin") else "#4292c6" for row in own]
        bars = axis.barh([row.method for row in own], [row.microseconds["us"] for row in own], color=colours)
        axis.bar_label(bars, fmt="%.2g", padding=2, fontsize=7)
        axis.set(xscale="log", title=case)
        axis.margins(x=0.2)
        axis.xaxis.set_minor_formatter("")
    axes[0][0].invert_yaxis()
    figure.supxlabel("microseconds per sample, one core; Pinocchio grey", fontsize=9)
    return figure


def save(folder: Path, name: str, report: Any, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(asdict(report), indent=2) + "\n")
    (folder / f"{name}.md").write_text(text + "\n")
