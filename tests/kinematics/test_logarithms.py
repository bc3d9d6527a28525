"""Exponentials and logarithms against series in long double, and against each other."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import featherweight as fw

vectors = st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=3).map(np.array)


def series(twist: np.ndarray) -> Any:
    """exp of the 4x4 matrix of a twist, by scaling and squaring in long double."""
    X = np.zeros((4, 4), dtype=np.longdouble)
    x, y, z = twist[3:]
    X[:3, :3] = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    X[:3, 3] = twist[:3]
    X /= 2**10
    total: Any = np.eye(4, dtype=np.longdouble)
    term = total
    for k in range(1, 16):
        term = term @ X / k
        total = total + term
    for _ in range(10):
        total = total @ total
    return total


@given(vectors, vectors, st.sampled_from([0.0, 1e-12, 1e-8, 1e-4, 0.09, 0.11, 1.0]))
def test_exponentials_are_series(lin: np.ndarray, ang: np.ndarray, scale: float) -> None:
    twist = np.concatenate([lin, scale * ang])
    exact = series(twist)
    assert np.abs(fw.exp6(twist) - exact).max() < 1e-14 * (1 + np.abs(lin).max())
    assert np.abs(fw.exp3(twist[3:]) - exact[:3, :3]).max() < 1e-14


@given(vectors, vectors, st.sampled_from([1e-12, 1e-8, 1e-4, 0.09, 0.11, 0.6]))
def test_logarithms_invert_exponentials(lin: np.ndarray, ang: np.ndarray, scale: float) -> None:
    twist = np.concatenate([lin, scale * ang])
    if np.linalg.norm(twist[3:]) < 3.1:  # the shortest rotation
        assert np.allclose(fw.log6(fw.exp6(twist)), twist, atol=1e-11)
        assert np.allclose(fw.log3(fw.exp3(twist[3:])), twist[3:], atol=1e-12)


@given(vectors)
def test_half_a_turn_has_a_logarithm(axis: np.ndarray) -> None:
    length = np.linalg.norm(axis)
    if length < 1e-3:
        return
    w = np.pi * axis / length
    found = fw.log3(fw.exp3(w))
    assert np.linalg.norm(found) == pytest.approx(np.pi, abs=1e-7)
    assert np.allclose(fw.exp3(found), fw.exp3(w), atol=1e-12)


def test_quaternions_are_rotations() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 50, 4))
    a, b = (q / np.linalg.norm(q, axis=1, keepdims=True) for q in (a, b))
    A, B = fw.rotation_from_quaternion(a), fw.rotation_from_quaternion(b)
    assert np.allclose(fw.rotation_from_quaternion(fw.quaternion_multiply(a, b)), A @ B, atol=1e-14)
    assert np.allclose(fw.quaternion_from_rotation(A), np.where(a[:, 3:] < 0, -a, a), atol=1e-14)
    assert np.allclose(fw.quaternion_slerp(a, b, 0.0), fw.quaternion_from_rotation(A), atol=1e-12)
    assert np.allclose(fw.quaternion_slerp(a, b, 1.0), fw.quaternion_from_rotation(B), atol=1e-12)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: fw.exp3([1.0, 2.0]), r"w: expected shape \(\.\.\., 3\), got \(2,\)"),
        (lambda: fw.exp6(np.full(6, np.nan)), "twist: contains numbers that are not finite"),
        (lambda: fw.log3(2.0 * np.eye(3)), "R: not a rotation"),
        (lambda: fw.log3(np.diag([1.0, 1.0, -1.0])), "R: not a rotation"),
        (lambda: fw.rotation_from_quaternion(np.zeros(4)), "length zero"),
    ],
)
def test_what_is_no_rotation_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
