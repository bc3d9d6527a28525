"""Files of states that are damaged, forged or no such files at all: refused by name, before the core sees them."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.travel import crowded, various

import featherweight as fw
from featherweight import _core
from featherweight.simulation import saved

Damage = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def state() -> fw.State:
    sim = fw.Simulator(crowded(), dt=2e-3)
    state = sim.rollout(various(sim, 3), n_steps=120).final
    assert len(state.contacts) > 10
    return state


def arrays_of(state: fw.State) -> dict[str, Any]:
    return {"format": np.array(saved.FORMAT)} | {name: array.copy() for name, array in state._arrays().items()}


def write(path: Path, arrays: dict[str, Any]) -> Path:
    with path.open("wb") as file:
        np.savez(file, **arrays)
    return path


def put(name: str, place: tuple[int, ...], value: float) -> Damage:
    """One number of an array, which becomes float64 if it was not."""

    def damage(arrays: dict[str, Any]) -> None:
        arrays[name] = arrays[name].astype(np.float64)
        arrays[name][place] = value

    return damage


def shorten(name: str) -> Damage:
    return lambda arrays: arrays.update({name: arrays[name][1:]})


def reshape(name: str, *shape: int) -> Damage:
    return lambda arrays: arrays.update({name: arrays[name].reshape(shape)})


DAMAGES: dict[str, tuple[Damage, str]] = {
    "q is nan": (put("q", (1, 3), np.nan), r"q: must be finite, got nan at \(1, 3\)"),
    "v is infinite": (put("v", (0, 0), np.inf), r"v: must be finite, got inf"),
    "last q is nan": (put("q_start", (2, 0), np.nan), "q_start: must be finite"),
    "impulse is nan": (put("impulses", (0, 0), np.nan), "impulses: must be finite"),
    "acceleration is nan": (put("acceleration", (0, 0), np.nan), "acceleration: must be finite"),
    "time is nan": (put("time", (), np.nan), "time: must be a finite time"),
    "time is a list": (lambda a: a.update(time=np.zeros(2)), r"time is \(2,\), this scene wants \(\)"),
    "single is two": (put("single", (), 2.0), "single: must be 0 or 1, got 2"),
    "failed is half": (put("report/failed", (1,), 0.5), "report/failed: must be 0 or 1, got 0.5"),
    "residual is nan": (put("report/residual", (1,), np.nan), "report/residual: must be finite and not negative"),
    "sweeps are negative": (put("report/newton", (1,), -3), "report/newton: must be finite and not negative"),
    "counts are fractions": (put("contacts/counts", (0,), 1.5), "contacts/counts: must be counts, got 1.5"),
    "counts are negative": (put("contacts/counts", (0,), -1), "contacts/counts: must be counts, got -1"),
    "counts are enormous": (put("contacts/counts", (0,), 4e9), "contacts/counts: 4e.* in all"),
    "counts are nan": (put("contacts/counts", (0,), np.nan), "contacts/counts: must be counts"),
    "a shape is a fraction": (put("contacts/shape_a", (2,), 0.5), "contacts/shape_a: must be integers"),
    "a shape is nan": (put("contacts/shape_b", (2,), np.nan), "contacts/shape_b: must be integers"),
    "a shape is far out": (put("contacts/shape_b", (2,), 1e300), "contacts/shape_b: must be integers"),
    "a material is unknown": (put("contacts/material", (0,), 1000), "contacts/material: must be integers"),
    "a feature is too large": (put("contacts/feature", (0,), 2.0**32), "contacts/feature: must be integers"),
    "a gap is nan": (put("contacts/gap", (0,), np.nan), "contacts/gap: must be finite"),
    "a frame is infinite": (put("contacts/frame", (0, 2, 2), np.inf), "contacts/frame: must be finite"),
    "frames are flat": (reshape("contacts/frame", -1, 9), "contacts/frame is"),
    "one gap too few": (shorten("contacts/gap"), "contacts/counts"),
    "one position too few": (shorten("contacts/position"), "contacts/position is"),
    "q is complex": (lambda a: a.update(q=a["q"] + 0j), "not numbers"),
    "q is text": (lambda a: a.update(q=a["q"].astype("U8")), "not numbers"),
    "q is objects": (lambda a: a.update(q=a["q"].astype(object)), "not numbers"),
    "no environments": (lambda a: a.update(q=np.zeros((0, 3))), r"q is \(0, 3\)"),
    "something else": (lambda a: a.update(bogus=np.zeros(3)), "'bogus' is nothing that a state has"),
    "friction is nan": (lambda a: a["friction"].fill(np.nan), "friction: contains numbers that are not finite"),
    "heights of nothing": (lambda a: a.update({"heights/moon": np.zeros((3, 2, 2))}), "moon"),
    "a mass of zero": (put("masses", (0, 0), 0.0), "masses: factors must be positive"),
    "no format": (lambda a: a.pop("format"), "not a saved state, format missing"),
    "format is a list": (lambda a: a.update(format=np.array([3, 3])), "saved by another version"),
    "format is nan": (lambda a: a.update(format=np.array(np.nan)), "saved by another version, format nan"),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "complaint"), DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_files_are_refused_by_name(damage: Damage, complaint: str, state: fw.State, tmp_path: Path) -> None:
    arrays = arrays_of(state)
    damage(arrays)
    path = write(tmp_path / "state.npz", arrays)
    with pytest.raises(ValueError, match=rf"state\.npz: .*{complaint}"):
        fw.State.load(state.simulator, path)


@pytest.mark.parametrize("factor", [0.0, 1.001, -2.0])
@pytest.mark.parametrize("name", ["q", "q_start"])
def test_quaternions_must_have_unit_length(name: str, factor: float, state: fw.State, tmp_path: Path) -> None:
    arrays = arrays_of(state)
    start = state.simulator.model._quaternion_starts[1]
    arrays[name][1, start : start + 4] *= factor
    with pytest.raises(ValueError, match=rf"{name}: the quaternion at {start} of environment 1 has length"):
        fw.State.load(state.simulator, write(tmp_path / "state.npz", arrays))


def test_what_failed_may_have_left_anything_but_coordinates(tmp_path: Path) -> None:
    sim = fw.Simulator(fw.models.pendulum(), dt=1e-3)
    state = sim.step(sim.state(2), np.array([[np.nan], [0.0]]))
    assert state.failed.tolist() == [True, False] and np.isnan(state.joint_forces[0, 0])
    state.save(tmp_path / "state.npz")
    assert fw.State.load(sim, tmp_path / "state.npz") == state
    arrays = arrays_of(state)
    arrays["applied"][1, 0] = np.nan
    with pytest.raises(ValueError, match=r"applied: must be finite, got nan at \(1, 0\)"):
        fw.State.load(sim, write(tmp_path / "other.npz", arrays))


def test_the_core_itself_refuses_contacts_that_would_not_fit(state: fw.State) -> None:
    """Fractional starts made room for fewer contacts than were written."""
    sim = state.simulator
    start = np.array([0.0, 0.9, 1.1, 2.0])
    integers, numbers = np.zeros((2, 4)), np.zeros((2, 19))
    with pytest.raises(ValueError, match="starts must be integers"):
        sim._environments(3).set_contacts(start, integers, numbers)
    for column, bad in ((0, 0.5), (1, np.nan), (2, -1.0), (3, 2.0**32), (0, 1e9)):
        integers[:] = 0.0
        integers[1, column] = bad
        with pytest.raises(ValueError, match="must be integers from 0 to"):
            sim._environments(3).set_contacts(np.array([0.0, 1.0, 1.0, 2.0]), integers, numbers)
    with pytest.raises(ValueError, match="starts must"):
        sim._environments(3).set_contacts(np.array([0.0, 2.0, 1.0, 2.0]), np.zeros((2, 4)), numbers)
    assert isinstance(sim._environments(3), _core.Environments)


# -- not a file of arrays --------------------------------------------------------------------------------------------


def npy(header: dict[str, Any], data: bytes) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + data


def test_nothing_is_taken_into_memory_that_is_not_in_the_file(state: fw.State, tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays_of(state) | {"q": np.zeros((1_000_000, 9))})
    assert path.stat().st_size < 1_000_000
    with pytest.raises(ValueError, match=r"bomb\.npz: .*holds less than it claims"):
        fw.State.load(state.simulator, path)
    for shape in ((10**12,), (3, 10**15), (-1, 3), (2,)):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("q.npy", npy({"descr": "<f8", "fortran_order": False, "shape": shape}, b"12345678"))
        with pytest.raises(ValueError, match=r"bomb\.npz: .*is not as long as it claims"):
            fw.State.load(state.simulator, path)


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x05\x06" + bytes(18), b"no archive", b"\x93NUMPY", bytes(1000)])
def test_other_files(content: bytes, state: fw.State, tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"other\.npz: not"):
        fw.State.load(state.simulator, path)


def test_files_that_are_none(state: fw.State, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        fw.State.load(state.simulator, tmp_path / "nothing.npz")
    with pytest.raises(ValueError, match="not a regular file"):
        fw.State.load(state.simulator, tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="not a regular file"):
        fw.State.load(state.simulator, tmp_path / "pipe")


def test_two_arrays_of_one_name(state: fw.State, tmp_path: Path) -> None:
    path = write(tmp_path / "twice.npz", arrays_of(state))
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("q.npy", npy({"descr": "<f8", "fortran_order": False, "shape": (1,)}, bytes(8)))
    with pytest.raises(ValueError, match="two arrays have one name"):
        fw.State.load(state.simulator, path)
