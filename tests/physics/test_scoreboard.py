"""The scoreboard: what the command prints and writes, and that it hides nothing."""

import json
from pathlib import Path

import pytest

from featherweight.cli.main import main
from physics import mujoco_peer
from physics.scoreboard import Scoreboard, measure
from physics.scores import CASES, Score


def test_the_command_prints_a_table_and_writes_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    assert main(["scoreboard", "--case", "joints", "cradle", "--out", str(tmp_path)]) == 0
    out, _ = capsys.readouterr()
    assert "| pendulum at its limit " in out
    assert "(-1/3, 2/3, 2/3)" in out
    scores = json.loads((tmp_path / "scoreboard.json").read_text())["scores"]
    assert {"case", "quantity", "dt", "ours", "goal", "mujoco", "published"} <= set(scores[0])
    assert (tmp_path / "scoreboard.md").read_text().strip() in out
    assert (tmp_path / "scoreboard.png").stat().st_size > 1000


def test_an_unknown_case_lists_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scoreboard", "--case", "perpetuum"]) == 2
    _, err = capsys.readouterr()
    assert "'perpetuum'" in err
    assert all(name in err for name in CASES)


def test_misses_are_shown_and_counted() -> None:
    scores = [Score("a", "b", "0", 1e-3, ours, 1e-9) for ours in (1e-10, 1e-8, float("nan"))]
    text = Scoreboard({}, scores).text()
    assert text.count("**missed**") == 2
    assert "1 of 3 goals met" in text
    assert "0.001 s" in text


def test_mujoco_is_measured_in_the_same_run() -> None:
    pytest.importorskip("mujoco")
    creep = measure(["incline"], progress=False).scores[0]
    assert set(creep.mujoco) == {"default", "elliptic", "impratio 10", "impratio 100"}
    assert creep.mujoco["default"] == pytest.approx(1.8e-3, rel=0.02)  # as published, 1797 um/s
    assert creep.ours < 1e-6 * creep.mujoco["impratio 100"]


def test_without_mujoco_its_column_stays_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mujoco_peer, "installed", lambda: None)
    board = measure(["stopping"], progress=False)
    assert not any(score.mujoco for score in board.scores)
    assert "mujoco not installed" in board.about["versions"]
