"""The table, the plots and the JSON file of a run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.growth import Growth

#: Greys for Pinocchio, blues for featherweight, darker is faster.
COLOURS = {"pin wheel": "0.8", "pin g++": "0.65", "pin clang": "0.4"}
COLOURS |= {"core single": "#9ecae1", "core float64": "#4292c6", "core float32": "#08519c"}


@dataclass
class Row:
    """One robot, one algorithm. Times in microseconds per sample on one core, by contender."""

    robot: str
    nv: int
    algorithm: str
    batch: int
    microseconds: dict[str, float]
    errors: dict[str, float]  # relative to Pinocchio's result, else to featherweight's own in float64
    python_overhead: float  # of one large call from Python over the same work inside C++, as a fraction
    thread_speedup: float  # of two threads over one, on that large call
    flops: int

    def peer(self) -> float | None:
        """The fastest Pinocchio measured: the honest opponent."""
        return min((t for name, t in self.microseconds.items() if name.startswith("pin ")), default=None)

    def cells(self) -> dict[str, str]:
        us, peer, wheel = self.microseconds, self.peer(), self.microseconds.get("pin wheel")
        one_by_one = us["python batch 1"]
        cells = {"robot": f"{self.robot} (nv {self.nv})", "algorithm": self.algorithm}
        cells |= {name: f"{us[name]:.2f}" for name in us if name.startswith("pin ")}
        for name in ("single", "float64", "float32"):
            time = us[f"core {name}"]
            cells[name] = f"{time:.3f}" + (f" ({peer / time:.1f}x)" if peer else "")
        if wheel:
            cells["wheel / float64"] = f"{wheel / us['core float64']:.1f}x"
        cells["python, batch 1"] = f"{one_by_one:.2f}" + (f" ({one_by_one / wheel:.2f} of pin)" if wheel else "")
        cells["python, large batch"] = f"{self.python_overhead:+.1%}"
        cells["2 threads"] = f"{self.thread_speedup:.2f}x"
        cells |= {f"{name} error": f"{self.errors[f'core {name}']:.0e}" for name in ("float64", "float32")}
        return cells


@dataclass
class Report:
    machine: dict[str, str]
    rows: list[Row] = field(default_factory=list)
    growth: list[Growth] = field(default_factory=list)

    def header(self) -> str:
        return "\n".join(f"- {key}: {value}" for key, value in self.machine.items())

    def table(self) -> str:
        """Markdown, aligned to be read as plain text too."""
        return markdown_table([row.cells() for row in self.rows])

    def growth_table(self) -> str:
        cells = []
        for curve in self.growth:
            counts = {f"{n} links": f"{flops:,}" for n, flops in zip(curve.links, curve.flops, strict=True)}
            cells.append({"operations per evaluation": f"{curve.algorithm}, {curve.family}"} | counts)
            cells[-1]["grows as"] = f"n^{curve.exponent:.2f}"
        return markdown_table(cells)

    def legend(self) -> str:
        return (
            "Microseconds per sample on one core; smallest of many passes, contenders taking turns. single, float64,\n"
            "float32: featherweight inside C++, one sample at a time in plain doubles, and lanes over the batch (crba\n"
            "there leaves packed rows, spread to full matrices only for Python). Factors in brackets are against\n"
            "the fastest Pinocchio of the row. python, large batch: what one call from Python for 4096 samples adds\n"
            "to the same work inside C++. Errors are relative to 1 + the largest entry of the reference."
        )

    def text(self) -> str:
        """All there is to print."""
        return "\n\n".join([self.header(), self.table(), self.legend(), self.growth_table()])

    def save(self, folder: Path) -> None:
        """Write ``benchmark.json`` and ``benchmark.md``."""
        folder.mkdir(parents=True, exist_ok=True)
        growth = [asdict(curve) | {"exponent": curve.exponent} for curve in self.growth]
        content = {"machine": self.machine, "rows": [asdict(row) for row in self.rows], "growth": growth}
        (folder / "benchmark.json").write_text(json.dumps(content, indent=2) + "\n")
        (folder / "benchmark.md").write_text(self.text() + "\n")

    def plot(self, folder: Path) -> list[Path]:
        """Times by robot and growth over size, as PNG files. Needs matplotlib (:class:`ImportError` without)."""
        plt = plotting()
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / "benchmark_times.png", folder / "benchmark_growth.png"]
        algorithms = list(dict.fromkeys(row.algorithm for row in self.rows))
        figure, axes = plt.subplots(
            1, len(algorithms), figsize=(5 * len(algorithms), 4), sharey=True, squeeze=False, layout="constrained"
        )
        for axis, algorithm in zip(axes[0], algorithms, strict=True):
            plot_times(axis, [row for row in self.rows if row.algorithm == algorithm])
            axis.set_title(algorithm)
        axes[0][0].set_ylabel("microseconds per sample, one core")
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
        figure.savefig(files[0], dpi=130)

        figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
        for curve in self.growth:
            style = "-o" if curve.family == "chain" else "--s"
            label = f"{curve.algorithm}, {curve.family}: n^{curve.exponent:.2f}"
            axis.loglog(curve.dofs, curve.flops, style, markersize=4, label=label)
        axis.set(xlabel="degrees of freedom n", ylabel="operations per evaluation")
        axis.legend(fontsize=8)
        figure.savefig(files[1], dpi=130)
        return files


def plotting() -> Any:
    """Matplotlib's pyplot, drawing to files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def plot_times(axis: Any, rows: list[Row]) -> None:
    """Grouped bars on a logarithmic scale: each robot a group, each contender a bar."""
    from matplotlib.ticker import LogLocator

    names = [name for name in rows[0].microseconds if not name.startswith("python")]
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        times = [row.microseconds.get(name, float("nan")) for row in rows]
        places = [k + (i - (len(names) - 1) / 2) * width for k in range(len(rows))]
        axis.bar(places, times, width, color=COLOURS.get(name), label=name.replace("core", "featherweight"))
    axis.set_xticks(range(len(rows)), [row.robot for row in rows])
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter("")
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)


def markdown_table(rows: list[dict[str, str]]) -> str:
    """Rows of cells by column title; a row without a column leaves it empty."""
    titles = list(dict.fromkeys(title for row in rows for title in row))
    lines = [titles, *([row.get(title, "") for title in titles] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
    lines.insert(1, ["-" * width for width in widths])
    padded = ([cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join("| " + " | ".join(line) + " |" for line in padded)
