"""Sine and cosine of the lanes, read off the placement of a link on a revolute joint: [c -s; s c] and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers.instruction_sets import AVAILABLE, instruction_set
from numpy.typing import NDArray

import featherweight as fw

QUARTER = np.pi / 2


@pytest.fixture(params=AVAILABLE)
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    with instruction_set(request.param):
        yield request.param


@pytest.fixture(scope="module")
def turntable() -> fw.Model:
    builder = fw.ModelBuilder("turntable")
    builder.link("plate", mass=1.0, inertia=np.eye(3))
    builder.joint("turn", "continuous", "world", "plate", axis="z")
    return builder.build()


def angles(kind: str, limit: float) -> NDArray[np.float64]:
    rng = np.random.default_rng(7)
    if kind == "small":
        return np.concatenate([rng.uniform(-4, 4, 60_000), 10.0 ** rng.uniform(-30, 0, 2000), [0.0]])
    if kind == "large":
        return rng.uniform(-limit, limit, 60_000)
    quarters = rng.integers(-int(limit), int(limit), 20_000) * QUARTER  # next to a zero of sine or cosine
    return np.concatenate([quarters, np.nextafter(quarters, np.inf)])


def errors_in_ulp(got: NDArray[Any], exact: NDArray[np.longdouble], dtype: type[np.floating[Any]]) -> NDArray[Any]:
    spacing = np.spacing(np.abs(exact).astype(dtype))
    return np.asarray(np.abs(got.astype(np.longdouble) - exact) / spacing)


@pytest.mark.parametrize("kind", ["small", "large", "near zeros"])
@pytest.mark.parametrize(("dtype", "limit"), [(np.float64, 1e5), (np.float32, 1e3)])
def test_within_two_ulp(turntable: fw.Model, isa: str, dtype: type[np.floating[Any]], limit: float, kind: str) -> None:
    if np.finfo(np.longdouble).precision <= 15:
        pytest.skip("long double is no wider than double here, so there is nothing to compare with")
    q = angles(kind, limit).astype(dtype)[:, None]
    placements = fw.frame_placement(turntable, q, "plate")
    exact = q[:, 0].astype(np.longdouble)
    assert placements.dtype == dtype
    assert errors_in_ulp(placements[:, 0, 0], np.cos(exact), dtype).max() <= 2.0
    assert errors_in_ulp(placements[:, 1, 0], np.sin(exact), dtype).max() <= 2.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_huge_angles_are_exact_and_leave_their_neighbours_alone(
    turntable: fw.Model, isa: str, dtype: type[np.floating[Any]]
) -> None:
    q = np.array([0.3, 1e9, -2.0, 1e22, 3e5, 0.7, -1e15, 1e-3], dtype)[:, None]
    together = fw.frame_placement(turntable, q, "plate")
    alone = np.stack([fw.frame_placement(turntable, row, "plate") for row in q])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_allclose(together[:, 0, 0], np.cos(q[:, 0].astype(np.float64)), rtol=1e-6, atol=1e-7)
    if dtype is np.float64:
        np.testing.assert_allclose(together[:, 1, 0], np.sin(q[:, 0]), rtol=4e-16, atol=0)


def test_sine_is_odd_and_cosine_even(turntable: fw.Model, isa: str) -> None:
    q = angles("small", 4)[:, None]
    ahead, back = (fw.frame_placement(turntable, s * q, "plate") for s in (1.0, -1.0))
    np.testing.assert_array_equal(ahead[:, 0, 0], back[:, 0, 0])
    np.testing.assert_array_equal(ahead[:, 1, 0], -back[:, 1, 0])
