"""Constrained dynamics is benchmarked honestly: same problem for all, errors beside times, tables that can be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import update_docs
from benchmarks.cases import ANCHORS, Case, load_cases
from benchmarks.conditioning import BENDS, Hardship, conditioning_table
from benchmarks.constrained import ConstrainedRow, measure_case
from benchmarks.constrained_growth import Curve, growth_table
from benchmarks.constrained_report import ConstrainedReport, LimitsReport
from benchmarks.robots import BUILTIN_ROBOTS, KNOWN_ROBOTS, load_robots
from benchmarks.solvers import METHODS

ROOT = Path(__file__).parents[2]
CURVE = Curve("chain", "n", "pv", [8, 16, 32, 64], [10, 20, 40, 80], [1.0, 4.0, 16.0, 64.0])
BENT = [Hardship("arm 6D", bend, 10.0 / (bend + 1e-30), "pv", 1e-9, 1e-12, 1.5, 2, bend) for bend in BENDS]


def builtin_cases() -> list[Case]:
    return list(load_cases(load_robots(list(BUILTIN_ROBOTS))))


def test_every_robot_has_a_case() -> None:
    assert {robot for robot, _ in ANCHORS.values()} == {*KNOWN_ROBOTS, *BUILTIN_ROBOTS}


@pytest.mark.parametrize("case", builtin_cases(), ids=lambda case: case.name)
def test_pinocchio_solves_the_same_problem(case: Case) -> None:
    """Joints, placements and samples are handed over right: its error is as small as ours."""
    pytest.importorskip("pinocchio")
    rows = {row.method: row for row in measure_case(case, ["pv"], batch=4, rounds=1, build=None)}
    peer, ours = rows["pin wheel constraintDynamics"], rows["pv"]
    assert peer.error is not None
    assert ours.error is not None
    assert peer.error < 1e-9
    assert ours.error < 1e-9
    assert {"us", "single", "python", "python, batch 1"} <= set(ours.microseconds)


def test_report_has_a_line_for_every_method(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    [case] = [case for case in builtin_cases() if case.name == "arm 6D"]
    report = ConstrainedReport({"processor": "any"}, measure_case(case, METHODS, batch=4, rounds=1, build=None))
    report.save(tmp_path)
    report.plot(tmp_path)
    lines = (tmp_path / "constrained.md").read_text().splitlines()
    assert {line.split("|")[2].strip() for line in lines if line.startswith("| arm")} >= {"aba", *METHODS}
    again = [ConstrainedRow(**row) for row in json.loads((tmp_path / "constrained.json").read_text())["rows"]]
    assert again == report.rows


def test_factors_are_against_the_fastest_build() -> None:
    times = {"aba": 1.0, "pin g++ pv": 12.0, "pin clang pv": 9.0, "pin clang constraintDynamics": 20.0, "pv": 2.0}
    rows = [ConstrainedRow("robot", 7, 6, method, {"us": us, "single": 3 * us}) for method, us in times.items()]
    cells = rows[-1].cells(rows)
    assert (cells["constraintDynamics / us"], cells["pv / us"], cells["us / aba"]) == ("10.0", "4.5", "2.00")
    assert cells["best Pinocchio / single"] == "1.5"


def test_limits_are_tabulated_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report = LimitsReport({"processor": "any"}, [CURVE], BENT)
    report.save(tmp_path)
    report.plot(tmp_path)
    assert "n^1.00" in growth_table([CURVE])
    assert "n^2.00" in growth_table([CURVE])
    assert "singular" in conditioning_table(BENT)
    assert "0% converged" in conditioning_table(BENT)
    assert {file.suffix for file in tmp_path.iterdir()} == {".json", ".md", ".png"}


def test_the_page_has_a_place_for_everything_measured(tmp_path: Path) -> None:
    rows = [ConstrainedRow("arm 6D", 7, 6, method, {"us": 1.0}) for method in ("aba", "pv")]
    ConstrainedReport({"processor": "any"}, rows).save(tmp_path)
    LimitsReport({"processor": "any"}, [CURVE], BENT).save(tmp_path)
    page = tmp_path / "page.md"
    page.write_text((ROOT / "docs" / "which-algorithm.md").read_text())
    for mark, content in update_docs.constrained(tmp_path):
        update_docs.fill(page, mark, content)
    assert "Not measured yet" not in page.read_text()
