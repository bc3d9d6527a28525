"""Delassus matrices are benchmarked honestly: the same problem for all, and only peers that are right are beaten."""

from __future__ import annotations

import json
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import featherweight as fw
from benchmarks import oracle, update_docs
from benchmarks.cases import Case, load_cases
from benchmarks.constrained_growth import Curve
from benchmarks.contenders import PinRobot
from benchmarks.delassus import (
    DAMPING,
    INVERSE,
    LONG,
    MATRIX,
    SOFT_INVERSE,
    DelassusRow,
    best_peer,
    long_case,
    measure_delassus,
)
from benchmarks.delassus_kernels import INVERSE_METHODS, METHODS, DelassusKernel
from benchmarks.delassus_report import DelassusReport
from benchmarks.main import main
from benchmarks.peers.build import FOLDER, PROGRAMS, sources
from benchmarks.pin_delassus import Way
from benchmarks.robots import BUILTIN_ROBOTS, Array, Samples, load_robots

ROOT = Path(__file__).parents[2]
CURVE = Curve("chain", "n", "pv_osim", [8, 16, 32, 64], [10, 20, 40, 80], [1.0, 4.0, 16.0, 64.0])
CASES = list(load_cases(load_robots(list(BUILTIN_ROBOTS))))
ARM = next(case for case in CASES if case.name == "arm 6D")
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def dense_delassus(case: Case, q: Array) -> Array:
    model = case.robot.model
    J, H = fw.constraint_jacobian(model, q, case.constraints), fw.crba(model, q)
    return np.asarray(J @ np.linalg.solve(H, J.T), dtype=np.float64)


def row(method: str, us: float, error: float = 1e-15, wanted: str = MATRIX) -> DelassusRow:
    return DelassusRow("arm 6D", 7, 6, wanted, method, {"us": us, "single": 3 * us}, error, error)


@every_case
def test_oracle_agrees_with_dense_algebra(case: Case) -> None:
    q = Samples.random(case.robot.model, 1).q[0]
    exact, dense = oracle.delassus(case.robot.model, q, case.constraints), dense_delassus(case, q)
    np.testing.assert_allclose(exact.astype(np.float64), dense, rtol=0, atol=1e-12 * np.abs(dense).max())
    inverse = oracle.damped_inverse(exact, DAMPING)
    left = inverse @ (exact + DAMPING * np.eye(len(exact)))
    np.testing.assert_allclose(left.astype(np.float64), np.eye(len(exact)), rtol=0, atol=1e-12)


@every_case
def test_pinocchio_solves_the_same_problem(case: Case) -> None:
    """Joints, placements, samples and the order of rows are handed over right: its error is as small as ours."""
    pytest.importorskip("pinocchio")
    measured = measure_delassus(case, batch=4, rounds=1, build=None)
    rows = {row.method: row for row in measured if row.wanted == MATRIX}
    assert rows["pin wheel computeDelassusMatrix"].error < 1e-9
    assert all(rows[method].error < 1e-9 for method in METHODS)
    assert all({"us", "single", "python", "python, batch 1"} <= set(rows[method].microseconds) for method in METHODS)


def test_every_method_is_timed_and_one_of_them_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.contenders.pin_installed", lambda: False)
    rows = measure_delassus(ARM, batch=4, rounds=1, build=None)
    matrices = [row for row in rows if row.wanted == MATRIX]
    assert [row.method for row in matrices] == list(METHODS)
    assert all(row.flops for row in matrices)
    for wanted in (INVERSE, SOFT_INVERSE):
        assert [row.method for row in rows if row.wanted == wanted] == list(INVERSE_METHODS)
    for wanted in (MATRIX, INVERSE, SOFT_INVERSE):
        assert [row.auto for row in rows if row.wanted == wanted].count(True) == 1
    assert [row.method for row in rows[-3:]] == ["operator", "operator", "aba"]
    assert all(row.error < 1e-9 for row in rows)


def test_peers_that_are_built_are_judged_by_what_they_compute() -> None:
    """The inverse of one against the inverse, the matrix of another against the matrix, NaN against anything."""
    pytest.importorskip("pinocchio")

    def build(robot: PinRobot, case: Case, samples: Samples, damping: float, stack: ExitStack) -> list[Way]:
        matrices = np.array([dense_delassus(case, q) for q in samples.q])
        inverses = np.linalg.inv(matrices + damping * np.eye(6))
        results = {"matrix": matrices, "inverse": inverses, "lost": matrices * np.nan}
        return [
            Way(f"pin g++ {name}", name == "inverse", lambda repeats: 1e-3, partial(np.copy, result))
            for name, result in results.items()
        ]

    rows = {row.method: row for row in measure_delassus(ARM, batch=4, rounds=1, build=build)}
    assert rows["pin g++ matrix"].error < 1e-12
    assert rows["pin g++ inverse"].error < 1e-9
    assert rows["pin g++ inverse"].wanted == INVERSE
    assert rows["pin g++ lost"].error == np.inf
    assert rows["pin g++ matrix"].microseconds == {"us": 250.0}


def test_factors_are_against_the_fastest_peer_that_is_right() -> None:
    rows = [row("pin g++ slow", 12.0), row("pin clang fast", 9.0), row("pin clang wrong", 1.0, error=1e-3)]
    rows += [row("pin clang inverse", 2.0, wanted=INVERSE), row("pv_osim", 3.0)]
    best = best_peer(rows, MATRIX)
    assert best is not None
    assert best.method == "pin clang fast"
    cells = rows[-1].cells(rows)
    assert (cells["best Pinocchio / us"], cells["best Pinocchio / single"]) == ("3.0", "1.0")
    assert "best Pinocchio / us" not in rows[-1].cells(rows[-1:])


def test_the_long_robot_is_long_and_held_at_its_end() -> None:
    case = long_case()
    assert case.robot.model.nv == LONG
    assert len(DelassusKernel(case.robot.model, case.constraints, "ltl").matrices(case.robot.model.neutral())) == 6


def test_report_has_a_line_for_every_method(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [row("pin clang fast", 9.0), row("pin clang inverse", 2.0, wanted=INVERSE), row("pv_osim", 3.0)]
    report = DelassusReport({"processor": "any"}, rows, [CURVE])
    report.save(tmp_path)
    report.plot(tmp_path)
    lines = (tmp_path / "delassus.md").read_text().splitlines()
    assert [line.split("|")[3].strip() for line in lines if line.startswith("| arm")] == [row.method for row in rows]
    assert any("n^1.00" in line and "n^2.00" in line for line in lines)
    again = [DelassusRow(**row) for row in json.loads((tmp_path / "delassus.json").read_text())["rows"]]
    assert again == rows
    assert {file.name for file in tmp_path.glob("*.png")} == {"delassus_times.png", "delassus_growth.png"}


def test_part_is_run_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without growth where robots are given."""
    monkeypatch.setattr("benchmarks.main.stay_on_one_core", lambda: None)  # would hold for the tests to come
    arguments = ["arm", "--parts", "delassus", "--batch", "4", "--rounds", "1", "--output", str(tmp_path)]
    assert main(arguments) == 0
    assert "pv_osim" in capsys.readouterr().out
    assert json.loads((tmp_path / "delassus.json").read_text())["growth"] == []


def test_the_page_has_a_place_for_everything_measured(tmp_path: Path) -> None:
    DelassusReport({"processor": "any"}, [row("pv_osim", 1.0)], [CURVE]).save(tmp_path)
    page = tmp_path / "page.md"
    page.write_text((ROOT / "docs" / "delassus.md").read_text())
    for mark, content in update_docs.delassus(tmp_path):
        update_docs.fill(page, mark, content)
    assert "Not measured yet" not in page.read_text()
    assert "![" in page.read_text()


def test_a_program_is_rebuilt_when_a_header_of_its_changes() -> None:
    for program in PROGRAMS:
        names = [source.name for source in sources(FOLDER / f"{program}.cpp")]
        assert names[0] == f"{program}.cpp"
        assert names[-1] == "pinocchio_peer.hpp"
