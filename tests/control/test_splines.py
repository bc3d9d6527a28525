"""Splines against finite differences, on trees of all joint types."""

import numpy as np
import pytest

import featherweight as fw

MODELS = [fw.models.random_tree(seed, 6, floating=seed % 2 == 0) for seed in range(4)] + [fw.models.arm()]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
each_degree = pytest.mark.parametrize("degree", [3, 5])


def knots(model: fw.Model, n: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return np.cumsum(rng.uniform(0.3, 1.0, n)), model.random(rng, batch=n)


@each_model
@each_degree
def test_velocity_and_acceleration_are_derivatives(model: fw.Model, degree: int) -> None:
    times, q = knots(model)
    spline = fw.Spline(model, times, q, degree=degree)
    t = np.random.default_rng(1).uniform(times[0] + 1e-3, times[-1] - 1e-3, 30)
    t = t[np.abs(t[:, None] - times).min(axis=1) > 1e-3]  # jerk, or acceleration, jumps at knots
    h = 1e-5
    before, at, after = spline(t - h), spline(t), spline(t + h)
    v = (model.difference(at.q, after.q) - model.difference(at.q, before.q)) / (2 * h)
    scale = np.abs(at.v).max(), np.abs(at.a).max()
    assert np.abs(v - at.v).max() < 1e-7 * max(1.0, *scale) ** 2
    assert np.abs((after.v - before.v) / (2 * h) - at.a).max() < 1e-6 * max(1.0, *scale) ** 2


@each_model
@each_degree
def test_knots_are_met_with_what_was_asked_for(model: fw.Model, degree: int) -> None:
    times, q = knots(model)
    rng = np.random.default_rng(2)
    v, a = rng.normal(size=(2, len(times), model.nv))
    spline = fw.Spline(model, times, q, v, a if degree == 5 else None, degree=degree)
    for side in (-1e-11, 1e-11):  # of each knot
        inside = times[1:-1] + side
        at = spline(inside)
        assert np.abs(model.difference(q[1:-1], at.q)).max() < 1e-7
        assert np.abs(at.v - v[1:-1]).max() < 1e-6
        if degree == 5:
            assert np.abs(at.a - a[1:-1]).max() < 1e-5
    ends = spline(times[[0, -1]])
    assert np.abs(ends.v - v[[0, -1]]).max() < 1e-9


def test_a_line_between_two_configurations_starts_and_ends_at_rest() -> None:
    """Of degree 5: 10 s^3 - 15 s^4 + 6 s^5, the minimum-jerk polynomial."""
    model = fw.models.arm()
    goal = np.linspace(0.1, 0.7, 7)
    spline = fw.Spline(model, [0.0, 2.0], [model.neutral(), goal])
    s = np.linspace(0, 1, 11)
    blend = 10 * s**3 - 15 * s**4 + 6 * s**5
    assert np.allclose(spline(2.0 * s).q, blend[:, None] * goal, atol=1e-14)
    for t in (-1.0, 0.0, 2.0, 3.0):
        _, v, a = spline(t)
        assert np.abs(v).max() < 1e-12 and np.abs(a).max() < 1e-12
    assert np.array_equal(spline(3.0).q, spline(2.0).q)


def test_half_turns_do_not_upset_it() -> None:
    model = fw.models.box()
    q = np.array([[0, 0, 0, 0, 0, 0, 1.0], [1, 0, 0, 0, 0, 1.0, 1e-9], [0, 0, 1, 0, 0, 0, -1.0]])
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
    at = fw.Spline(model, [0, 1, 2], q)(np.linspace(0, 2, 101))
    assert all(np.isfinite(part).all() for part in at)
    assert np.abs(at.v).max() < 20.0
    assert np.allclose(np.linalg.norm(at.q[:, 3:], axis=1), 1.0)


@pytest.mark.parametrize(
    "times, q, options, message",
    [
        ([0.0, 0.0], np.zeros((2, 7)), {}, "times must be at least two rising numbers"),
        ([0.0], np.zeros((1, 7)), {}, "times must be at least two rising numbers"),
        ([0.0, np.inf], np.zeros((2, 7)), {}, "times must be finite"),
        ([0.0, 1.0], np.zeros((3, 7)), {}, r"q: expected shape \(2, 7\)"),
        ([0.0, 1.0], np.full((2, 7), np.nan), {}, "q: contains numbers that are not finite"),
        ([0.0, 1.0], np.zeros((2, 7)), {"degree": 4}, "degree must be 3 or 5, got 4"),
        ([0.0, 1.0], np.zeros((2, 7)), {"degree": 3, "a": np.zeros((2, 7))}, "a: a spline of degree 3"),
        ([0.0, 1.0], np.zeros((2, 7)), {"v": np.zeros((2, 6))}, r"v: expected shape \(2, 7\)"),
    ],
)
def test_bad_input_is_named(times: list[float], q: np.ndarray, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fw.Spline(fw.models.arm(), times, q, **options)  # type: ignore[arg-type]


def test_bad_times_are_named() -> None:
    spline = fw.Spline(fw.models.arm(), [0, 1], np.zeros((2, 7)))
    with pytest.raises(ValueError, match="finite times"):
        spline(np.nan)
