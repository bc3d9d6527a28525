"""A file that is overwritten is the old one or the new one, whatever happens to the process or the disk."""

from __future__ import annotations

import errno
import os
import random
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

import featherweight as fw
from featherweight import files


def simulator() -> fw.Simulator:
    scene = fw.Scene(ground=fw.Plane())
    for k in range(20):
        scene.add(fw.sphere(0.1), pose=(0.3 * k, 0, 0.1))
    return fw.Simulator(scene)


def state() -> fw.State:
    sim = simulator()
    return sim.step(sim.state(50))


def trajectory() -> fw.Trajectory:
    sim = simulator()
    return sim.rollout(sim.state(), n_steps=200)


def read_trajectory(path: Path) -> Any:
    with np.load(path) as file:
        return {name: file[name].tolist() for name in file}


#: What is saved, and how it is read.
SAVED: dict[str, tuple[Callable[[], Any], Callable[[Path], Any]]] = {
    "model": (fw.models.humanoid, fw.Model.load),
    "state": (state, lambda path: fw.State.load(simulator(), path)),
    "trajectory": (trajectory, read_trajectory),
}
every_file = pytest.mark.parametrize("what", SAVED)


@every_file
def test_a_killed_process_leaves_a_whole_file(what: str, tmp_path: Path) -> None:
    """A process overwrites a file again and again, and is killed without warning at any moment."""
    make, load = SAVED[what]
    path = tmp_path / "file"
    make().save(path)
    expected = load(path)
    script = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import test_written_files
        thing = test_written_files.SAVED[{what!r}][0]()
        print("ready", flush=True)
        while True:
            thing.save({str(path)!r})
    """
    rng = random.Random(0)
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            time.sleep(0.05 * rng.random())
            process.send_signal(signal.SIGKILL)
        assert load(path) == expected


class FullDisk:
    """A file on a disk that takes some bytes and no more."""

    def __init__(self, name: str, mode: str, room: int) -> None:
        self._file: IO[bytes] = Path(name).open(mode)  # noqa: SIM115
        self._room = room

    def write(self, data: Any) -> int:
        self._room -= len(data)
        if self._room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> FullDisk:
        return self

    def __exit__(self, *args: object) -> None:
        self._file.close()


@every_file
@pytest.mark.parametrize("room", [0, 100, 5000])
def test_a_full_disk_leaves_the_old_file(what: str, room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(files, "open", lambda name, mode: FullDisk(name, mode, room), raising=False)
    with pytest.raises(OSError, match="No space left"):
        SAVED[what][0]().save(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@every_file
def test_files_are_written_under_exactly_the_name_given(what: str, tmp_path: Path) -> None:
    for name in ("plain", "with.suffix", "x" * 250):
        SAVED[what][0]().save(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["plain", "with.suffix", "x" * 250]


def test_an_error_in_the_middle_leaves_nothing_behind(tmp_path: Path) -> None:
    def write_half() -> None:
        with files.replacing(tmp_path / "file") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert os.listdir(tmp_path) == []


def test_links_are_followed_and_permissions_kept(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    with files.replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink() and path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_new_files_have_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").write_bytes(b"")
    with files.replacing(tmp_path / "file"):
        pass
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_devices_are_written_to() -> None:
    with files.replacing(os.devnull) as file:
        file.write(b"anything")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_trajectory_file_holds_what_was_simulated(tmp_path: Path) -> None:
    sim = simulator()
    motion = sim.rollout(sim.state(3), n_steps=7)
    motion.save(tmp_path / "trajectory.npz")
    with np.load(tmp_path / "trajectory.npz") as file:
        single = {"time", "q", "v", "dt", "residual", "penetration", "unconverged", "failed"}
        drawn = {"model", *(f"still_{what}" for what in ("names", "colours", "sizes", "vertices", "faces"))}
        assert set(file) == single | {"residuals", "penetrations"} | drawn
        assert np.array_equal(file["q"], motion.q) and np.array_equal(file["time"], motion.time)
