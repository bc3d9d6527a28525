"""Benchmarks and physics are in the checkout, not in the wheel: commands find them from anywhere or say what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from featherweight.cli import checkout
from featherweight.cli.main import main

ROOT = Path(__file__).parents[2]
FOLDERS = {"bench": "benchmarks", "scoreboard": "physics"}

every_command = pytest.mark.parametrize("command", FOLDERS)


@every_command
def test_without_a_checkout_the_command_says_what_to_do(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checkout, "BESIDE_THE_PACKAGE", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main([command]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        f"featherweight {command}: the folder {FOLDERS[command]}/ is part of the source checkout, not of the installed "
        f"package: get the checkout and run `make {command}` there\n"
    )


@every_command
def test_a_folder_of_another_project_is_no_checkout(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / FOLDERS[command]).mkdir()
    (tmp_path / FOLDERS[command] / "__init__.py").touch()
    monkeypatch.setattr(checkout, "BESIDE_THE_PACKAGE", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main([command]) == 2
    assert f"make {command}" in capsys.readouterr().err


def test_an_installed_package_finds_the_checkout_it_is_called_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checkout, "BESIDE_THE_PACKAGE", tmp_path)
    monkeypatch.chdir(ROOT)
    assert main(["scoreboard", "--case", "perpetuum"]) == 2
    assert "no case is called 'perpetuum'" in capsys.readouterr().err


@pytest.mark.skipif(checkout.BESIDE_THE_PACKAGE != ROOT, reason="the package is installed away from its checkout")
@pytest.mark.parametrize("arguments", [["bench", "--help"], ["scoreboard", "--case", "joints"]], ids=lambda a: a[0])
def test_command_works_from_any_folder(arguments: list[str], tmp_path: Path) -> None:
    """Even where another project has folders of the same names."""
    for folder in FOLDERS.values():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("raise RuntimeError('of another project')\n")
    path = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if Path(entry) != ROOT]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "MPLBACKEND": "Agg"}
    command = [sys.executable, "-m", "featherweight", *arguments]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert ("usage: featherweight bench" if arguments[0] == "bench" else "goals met") in run.stdout
