"""What fuzzers make their inputs of: damaged bytes, arrays of any kind, and a robot to try them on."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import featherweight as fw

from .forests import Forest, LinkPlan

Rng = np.random.Generator
Fuzzer = Callable[[Rng], None]

NUMBERS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    np.nan,
    np.inf,
    -np.inf,
    1e308,
    -1e308,
    1e-308,
    5e-324,
    2.0**31,
    2.0**53,
    1e-9,
    1e9,
)


@cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzz-"))


def choice(rng: Rng, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def damaged_bytes(rng: Rng, data: bytes) -> bytes:
    """Some bytes changed, cut out or repeated."""
    result = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(result) + 1))
        n = int(choice(rng, (1, 4, 50, len(result))))
        kind = int(rng.integers(4))
        if kind == 0:
            result[at : at + 1] = bytes([int(rng.integers(256))])
        elif kind == 1:
            del result[at : at + n]
        elif kind == 2:
            result[at:at] = result[at : at + min(n, 200)]
        else:
            result[at : at + 4] = rng.integers(0, 256, 4, dtype=np.uint8).tobytes()
    return bytes(result)


PLANS = (LinkPlan("free"), LinkPlan("revolute", placement="general"), LinkPlan("spherical"), LinkPlan("fixed"))
DTYPES = ("f2", "f4", "f8", ">f8", "i1", "i8", "u8", "?", "c8", "c16", "O", "U3", "S2", "M8[s]", "V8")


@cache
def robot() -> tuple[Forest, fw.Model]:
    forest = Forest(PLANS)
    return forest, fw.Model(forest.description)


def any_array(rng: Rng, sound: Any) -> Any:
    """One that fits, in some unusual form, or one that does not."""
    kind = rng.random()
    if kind < 0.3:
        batch = int(choice(rng, (1, 2, 7, 8, 9, 65)))
        array = np.repeat(sound[None], batch, axis=0)
        form = int(rng.integers(5))
        if form == 1:
            array = np.asfortranarray(array)
        elif form == 2:
            array = np.repeat(array, 2, axis=-1)[..., ::2]
        elif form == 3:
            array = array[::-1]
        elif form == 4:
            array = np.broadcast_to(sound, array.shape)
        return array.astype(choice(rng, ("f4", "f8", ">f8"))) if rng.random() < 0.5 else array
    if kind < 0.6:
        array = np.array(sound)
        array.flat[int(rng.integers(array.size))] = choice(rng, NUMBERS)
        return array
    if kind < 0.7:
        return choice(rng, (None, "text", 3.0, [], [[1.0], [1.0, 2.0]], {"q": 1}, b"bytes", object()))
    shape = tuple(rng.integers(0, 5, int(rng.integers(0, 4))).tolist())
    n = sound.shape[-1] if rng.random() < 0.6 else int(rng.integers(0, 20))
    return np.zeros((*shape, n), np.dtype(choice(rng, DTYPES)))


def assert_sound(state: fw.State) -> None:
    """Coordinates are always finite; all else is, unless the environment says that it failed."""
    assert np.isfinite(state.q).all() and np.isfinite(state.v).all()
    failed = np.atleast_1d(state.failed)
    contacts = state.contacts
    fine = ~failed[contacts.environment]
    for values in (contacts.impulse[fine], contacts.gap[fine], contacts.frame[fine], contacts.position[fine]):
        assert np.isfinite(values).all()
    acceleration, residual = np.atleast_2d(state.acceleration), np.atleast_1d(state.residual)
    assert np.isfinite(acceleration[~failed]).all() and not np.isnan(residual[~failed]).any()
