"""``python -m benchmarks.update_docs``: put the last run (build/bench) into README.md and the pages in docs.

So does the last scoreboard (build/scoreboard) with docs/scoreboard.md.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.conditioning import Hardship, conditioning_table
from benchmarks.constrained_growth import Curve, growth_table
from benchmarks.delassus import DelassusRow
from benchmarks.delassus_report import DelassusReport
from benchmarks.report import markdown_table
from benchmarks.settling import Pile
from benchmarks.simulation import OURS, THEIRS, SimulationRow, both
from benchmarks.simulation_report import SimulationReport

ROOT = Path(__file__).parents[1]
#: The robots of README's table; docs/benchmarks.md has all.
ROBOTS = ("Talos", "Solo12", "ANYmal", "Panda")
#: Contenders of README's table, by the title of their column. A run without Pinocchio's C++, or without Pinocchio, has
#: no such columns.
COLUMNS = {
    "pin wheel": "Pinocchio wheel (Python)",
    "pin clang": "Pinocchio C++ (clang)",
    "core float64": "float64 lanes",
    "core float32": "float32 lanes",
}
#: What featherweight's float64 lanes are compared with, by the title of the column.
RATIOS = {"pin clang": "clang / float64", "pin wheel": "wheel / float64"}


def main() -> None:
    run, images = ROOT / "build" / "bench", ROOT / "docs" / "images"
    images.mkdir(exist_ok=True)
    scores = ROOT / "build" / "scoreboard"
    for plot in (*run.glob("*.png"), *scores.glob("*.png")):
        shutil.copy(plot, images)
    if (scores / "scoreboard.md").exists():
        fill(ROOT / "docs" / "scoreboard.md", "scores", (scores / "scoreboard.md").read_text())
    if (run / "benchmark.json").exists():
        fill(ROOT / "README.md", "benchmark", summary(json.loads((run / "benchmark.json").read_text())))
        fill(ROOT / "docs" / "benchmarks.md", "measured", (run / "benchmark.md").read_text())
    if (run / "constrained.json").exists():
        fill(ROOT / "README.md", "constrained", anchored(json.loads((run / "constrained.json").read_text())["rows"]))
    if (run / "simulation.json").exists():
        fill(ROOT / "README.md", "simulation", simulated(read_simulation(run)))
    pages = {"which-algorithm.md": constrained(run), "delassus.md": delassus(run), "benchmarks.md": simulation(run)}
    for page, marked in pages.items():
        for mark, content in marked:
            fill(ROOT / "docs" / page, mark, content)


def anchored(rows: list[dict[str, Any]]) -> str:
    """README's table of constrained dynamics: the default method beside Pinocchio's fastest builds, by case."""
    table = []
    for case in dict.fromkeys(row["case"] for row in rows if row["case"].split()[0] in ROBOTS):
        of_case = {row["method"]: row for row in rows if row["case"] == case}
        times = {name: row["microseconds"]["us"] for name, row in of_case.items()}
        peers = {method: times.get(f"pin clang {method}") for method in ("constraintDynamics", "pv")}
        ours, error = times["limb_pv"], of_case["limb_pv"]["error"]
        cells = {"robot": f"{case} (nv {of_case['limb_pv']['nv']})"}
        cells |= {f"Pinocchio `{method}` (clang)": f"{time:.2f}" for method, time in peers.items() if time}
        cells |= {"`limb_pv`, lanes": f"{ours:.3f}", "worst error": f"{error:.0e}"}
        cells |= {f"`{method}` / `limb_pv`": f"{time / ours:.1f}x" for method, time in peers.items() if time}
        table.append(cells)
    return markdown_table(table)


def constrained(run: Path) -> Iterator[tuple[str, str]]:
    """What docs/which-algorithm.md shows of a run, by mark."""
    if (run / "constrained.md").exists():
        yield "robots", (run / "constrained.md").read_text() + picture("times by robot and method", "constrained_times")
    if (run / "constrained_limits.json").exists():
        limits = json.loads((run / "constrained_limits.json").read_text())
        growth = growth_table([Curve(**curve) for curve in limits["growth"]])
        accuracy = conditioning_table([Hardship(**row) for row in limits["conditioning"]])
        yield "growth", growth + picture("operations and times over the size", "constrained_growth")
        yield "accuracy", accuracy + picture("errors and iterations over the bend", "constrained_accuracy")


def delassus(run: Path) -> Iterator[tuple[str, str]]:
    """What docs/delassus.md shows of a run, by mark."""
    if (run / "delassus.json").exists():
        content = json.loads((run / "delassus.json").read_text())
        report = DelassusReport(content["machine"], [DelassusRow(**row) for row in content["rows"]])
        yield "robots", report.text() + picture("times by robot and method", "delassus_times")
        if content["growth"]:
            growth = growth_table([Curve(**curve) for curve in content["growth"]])
            yield "growth", growth + picture("operations and times over the size", "delassus_growth")


def simulation(run: Path) -> Iterator[tuple[str, str]]:
    """What docs/benchmarks.md shows of simulation in a run, by mark."""
    if (run / "simulation.json").exists():
        yield "simulation", read_simulation(run).text() + picture("times by motion", "simulation_times")


def read_simulation(run: Path) -> SimulationReport:
    content = json.loads((run / "simulation.json").read_text())
    rows, piles = content["rows"], content["piles"]
    return SimulationReport(
        content["machine"], [SimulationRow(**row) for row in rows], [Pile(**pile) for pile in piles]
    )


def simulated(report: SimulationReport) -> str:
    """README's table of simulation: what both engines take for a step, and how exactly featherweight solves it."""
    table = []
    for row in report.rows:
        times, ratio = row.microseconds, row.ratio()
        cells = {"motion": f"{row.case} (nv {row.nv})", "environments": str(row.batch)}
        cells |= {name: f"{times[name]:.3g}" for name in (THEIRS, OURS) if name in times}
        cells |= {"ratio": f"{ratio:.1f}x"} if ratio else {}
        cells |= {"contacts": both(row.contacts, ".1f"), "worst residual": f"{row.residual:.1e}"}
        table.append(cells | {"unconverged": f"{100 * row.unconverged:.2g} %"})
    return markdown_table(table)


def picture(what: str, name: str) -> str:
    return f"\n\n![{what}](images/{name}.png)"


def fill(page: Path, mark: str, content: str) -> None:
    """Replace what is between ``<!-- mark:begin -->`` and ``<!-- mark:end -->``."""
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    before, rest = page.read_text().split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n{content.strip()}\n{end}{after}")


def summary(run: dict[str, Any]) -> str:
    """README's table of a run (the content of benchmark.json), and the line that says what it was measured on."""
    rows = [row for row in run["rows"] if row["robot"] in ROBOTS]
    rows.sort(key=lambda row: ROBOTS.index(row["robot"]))  # stable: algorithms stay in the order of the run
    machine = run["machine"]
    core = dict(re.findall(r"\b(isa|compiler) ([^,]+)", machine["featherweight core"]))
    return "\n\n".join(
        [
            "Microseconds per sample on one core, all contenders taking turns in one run. Lanes: featherweight inside\n"
            "C++ on a batch, `crba` as packed rows, which Python receives as full matrices at an extra cost.",
            markdown_table([cells(row) for row in rows]),
            f"{machine['processor']}, {machine['system']}; instruction set {core['isa']}, {core['compiler']};\n"
            f"{machine['versions']}; {machine['date']}.",
        ]
    )


def cells(row: dict[str, Any]) -> dict[str, str]:
    """One line of README's table, by column."""
    times = row["microseconds"]
    result = {"robot": f"{row['robot']} (nv {row['nv']})", "algorithm": f"`{row['algorithm']}`"}
    for name, title in COLUMNS.items():
        if name in times:
            result[title] = f"{times[name]:.3f}" if name.startswith("core") else f"{times[name]:.2f}"
    ours = times["core float64"]
    return result | {title: f"{times[name] / ours:.1f}x" for name, title in RATIOS.items() if name in times}


if __name__ == "__main__":
    main()
