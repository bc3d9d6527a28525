"""Every example runs; each ends in assertions of its own."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(example.parent))  # as it is for a script
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    assert "assert" in example.read_text()
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    "example", [path for path in EXAMPLES if "argparse" in path.read_text()], ids=lambda path: path.stem
)
def test_examples_take_no_option_for_a_file(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(example.parent))
    monkeypatch.setattr(sys, "argv", [str(example), "-q"])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        runpy.run_path(str(example), run_name="__main__")
    assert "unrecognized arguments: -q" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
