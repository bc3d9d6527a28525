"""Two commits are compared by the same work, in turns; what cannot be compared is said."""

from __future__ import annotations

import io

import pytest

from benchmarks import against, workload


class Clock:
    """Stands in for a process: the times it will answer with."""

    def __init__(self, *times: float) -> None:
        self.times = list(times)
        self.asked: list[str] = []

    def time(self, name: str) -> float:
        self.asked.append(name)
        return self.times.pop(0)


def test_every_piece_of_work_is_one_of_a_known_kind() -> None:
    names = workload.names()
    assert len(set(names)) == len(names) == 2 * len(workload.KERNELS) + 2 * len(workload.MOTIONS)
    assert all(any(kind in name for kind in workload.ALL) for name in names)


@pytest.mark.parametrize("name", [n for n in workload.names() if "quadruped, 256" in n] + ["step, quadruped, feet, 1"])
def test_work_is_timed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "TURN", 1e-9)
    monkeypatch.setattr(workload, "STEPS", 5)
    out = io.StringIO()
    workload.answer([name], out)
    assert 0.0 < float(out.getvalue()) < 1e5


def test_the_smallest_times_are_compared_in_turns(capsys: pytest.CaptureFixture[str]) -> None:
    then, now = Clock(9.0, 4.0, 5.0), Clock(9.0, 3.0, 2.0)
    [row] = against.compare(then, now, ["aba, quadruped, 256"], rounds=2)  # type: ignore[arg-type]
    assert (row.then, row.now, row.ratio) == (4.0, 2.0, 0.5)
    assert "0.500" in capsys.readouterr().out


def test_a_commit_that_git_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert against.main(["no-such-commit"]) == 1
    assert "git knows no commit 'no-such-commit'" in capsys.readouterr().err


def test_work_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        against.main(["HEAD", "--only", "abba"])
    assert "none of aba, rnea" in capsys.readouterr().err


def test_a_process_that_dies_is_noticed() -> None:
    with against.Worker(None) as worker, pytest.raises(RuntimeError, match="has died"):
        worker.time("aba, no such robot, 256")
