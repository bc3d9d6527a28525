"""Trajectories through configurations, smooth on the manifold.

On the stretch from knot k to the next, q(t) = q_k (+) x(t): x is a polynomial in the tangent space at q_k. The velocity
is v = D(x) x' with the right derivative of the exponential, D(x) = sum_k (-ad_x)^k / (k + 1)!, the identity for joints
that only turn about or slide along an axis; the acceleration is its time derivative, term by term of the series. The
polynomial meets velocities, and for degree 5 accelerations, of both knots, so that those are continuous.
Oracle: finite differences of q, and of v.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, real_numbers
from ..checks import frozen
from ..model.model import Model

#: Terms of the series: differences turn by at most pi, and pi^28 / 29! is below rounding.
_TERMS = 28


class SplinePoint(NamedTuple):
    """A point of a spline, or n of them.

    >>> arm = fw.models.arm()
    >>> fw.Spline(arm, [0.0, 1.0], [arm.neutral(), np.ones(7)])(0.0).v
    array([0., 0., 0., 0., 0., 0., 0.])
    """

    q: Array  # (nq,) or (n, nq)
    v: Array  # (nv,) or (n, nv)
    a: Array  # (nv,) or (n, nv)


class Spline:
    """A trajectory through configurations, with its velocity and acceleration.

    times: (n,) [s], increasing; q: (n, nq); v and a: (n, nv) at these times. By default, velocities are zero at both
    ends and those of a parabola through the neighbouring points in between; accelerations, which only degree 5 matches,
    likewise. degree: 3, with continuous velocity, or 5, with continuous acceleration as well.

    Quaternions take the shorter way. Before its first and after its last time, the spline rests.

    >>> arm = fw.models.arm()
    >>> there = np.array([0.5, 0.3, 0.0, 1.2, 0.0, 0.8, 0.0])
    >>> path = fw.Spline(arm, [0.0, 1.0, 2.0], [arm.neutral(), there, arm.neutral()], degree=5)
    >>> q, v, a = path(1.0)
    >>> bool(np.allclose(q, there))
    True
    >>> path(np.linspace(0, 2, 50)).v.shape
    (50, 7)
    """

    def __init__(
        self,
        model: Model,
        times: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        *,
        degree: int = 5,
    ) -> None:
        if degree not in (3, 5):
            raise ValueError(f"degree must be 3 or 5, got {degree!r}")
        if degree == 3 and a is not None:
            raise ValueError("a: a spline of degree 3 meets velocities only; choose degree=5")
        self.model = model
        self.times = frozen(np.array(real_numbers("times", times)))
        if self.times.ndim != 1 or len(self.times) < 2 or not (np.diff(self.times) > 0.0).all():
            raise ValueError(f"times must be at least two rising numbers, got {self.times.tolist()}")
        if not np.isfinite(self.times).all():
            raise ValueError("times must be finite")
        n = len(self.times)
        self._q = np.asarray(model.integrate(_table("q", q, (n, model.nq)), np.zeros((n, model.nv))))  # checked
        steps = np.diff(self.times)[:, None]
        difference = np.asarray(model.difference(self._q[:-1], self._q[1:]))
        slopes = difference / steps  # constant velocities that lead from knot to knot
        self._v = _table("v", v, (n, model.nv)) if v is not None else _velocities(slopes, steps)
        self._a = _table("a", a, (n, model.nv)) if a is not None else _accelerations(slopes, steps)
        self._bracket = _Bracket(model)
        self._coefficients = self._polynomials(difference, steps, degree)

    @property
    def duration(self) -> float:
        """From the first time to the last [s]."""
        return float(self.times[-1] - self.times[0])

    def __call__(self, t: ArrayLike) -> SplinePoint:
        """Configuration, velocity and acceleration at a time, or at (n,) times."""
        given = real_numbers("t", t)
        if given.ndim > 1 or not np.isfinite(given).all():
            raise ValueError(f"t: expected one or (n,) finite times, got shape {given.shape}")
        at = np.atleast_1d(given)
        rests = ((at < self.times[0]) | (at > self.times[-1]))[:, None]
        at = np.clip(at, self.times[0], self.times[-1])
        k = np.clip(np.searchsorted(self.times, at, side="right") - 1, 0, len(self.times) - 2)
        s = (at - self.times[k])[:, None]
        x, dx, ddx = _evaluate(self._coefficients[:, k], s)
        v, a = self._bracket.derivatives(x, dx, ddx)
        q = np.asarray(self.model.integrate(self._q[k], x))
        point = SplinePoint(q, np.where(rests, 0.0, v), np.where(rests, 0.0, a))
        return SplinePoint(*(each[0] for each in point)) if given.ndim == 0 else point

    def _polynomials(self, x: Array, h: Array, degree: int) -> Array:
        """(degree + 1, stretches, nv): what meets both knots of each stretch, in powers of the time since the first."""
        dx0, dx1 = self._v[:-1], self._bracket.rates(x, self._v[1:])
        ddx1 = self._bracket.second_rates(x, dx1, self._a[1:])
        zero = np.zeros_like(x)
        if degree == 3:
            return np.stack([zero, dx0, (3 * x / h - 2 * dx0 - dx1) / h, (dx0 + dx1 - 2 * x / h) / h**2])
        ddx0 = self._a[:-1]  # the bracket of x = 0 with anything is zero
        gap = x - (dx0 + 0.5 * ddx0 * h) * h
        gap1, gap2 = (dx1 - dx0 - ddx0 * h) * h, (ddx1 - ddx0) * h**2
        return np.stack(
            [
                zero,
                dx0,
                0.5 * ddx0,
                (10 * gap - 4 * gap1 + 0.5 * gap2) / h**3,
                (-15 * gap + 7 * gap1 - gap2) / h**4,
                (6 * gap - 3 * gap1 + 0.5 * gap2) / h**5,
            ]
        )

    def __repr__(self) -> str:
        return f"<Spline: {len(self.times)} knots, {self.duration:g} s, degree {len(self._coefficients) - 1}>"


class _Bracket:
    """ad_x y of the velocities of a model: of each ball and free joint by itself, zero elsewhere."""

    def __init__(self, model: Model) -> None:
        kinds = [(joint.type, joint.v_slice) for joint in model.joints]
        self._balls = [at for kind, at in kinds if kind == "spherical"]
        self._free = [at for kind, at in kinds if kind == "free"]
        self._nv = model.nv

    def __call__(self, x: Array, y: Array) -> Array:
        result = np.zeros(np.broadcast_shapes(x.shape, y.shape))
        for at in self._balls:
            result[..., at] = np.cross(x[..., at], y[..., at])
        for at in self._free:
            (v, w), (u, z) = (np.split(each[..., at], 2, axis=-1) for each in (x, y))
            result[..., at] = np.concatenate([np.cross(w, u) + np.cross(v, z), np.cross(w, z)], axis=-1)
        return result

    def derivatives(self, x: Array, dx: Array, ddx: Array) -> tuple[Array, Array]:
        """v = D(x) x', and its time derivative."""
        term, rate = dx, ddx  # of the series, without its factor
        v, a, factor = dx, ddx, 1.0
        if self._balls or self._free:
            for k in range(1, _TERMS):
                term, rate = self(x, term), self(dx, term) + self(x, rate)
                factor /= -(k + 1)
                v, a = v + factor * term, a + factor * rate
        return v, a

    def rates(self, x: Array, v: Array) -> Array:
        """x' for which v = D(x) x'."""
        if not (self._balls or self._free):
            return v
        basis = np.eye(self._nv)
        columns, _ = self.derivatives(x[:, None], basis, np.zeros_like(basis))  # rows of D(x) transposed
        return np.asarray(np.linalg.solve(np.swapaxes(columns, 1, 2), v[..., None])[..., 0])

    def second_rates(self, x: Array, dx: Array, a: Array) -> Array:
        """x'' for which the acceleration is a."""
        _, without = self.derivatives(x, dx, np.zeros_like(dx))
        return self.rates(x, a - without)


def _evaluate(coefficients: Array, s: Array) -> tuple[Array, Array, Array]:
    """A polynomial and its first two derivatives, by Horner's rule."""
    x = dx = ddx = np.zeros_like(coefficients[0])
    for c in coefficients[::-1]:
        ddx, dx, x = ddx * s + 2.0 * dx, dx * s + x, x * s + c
    return x, dx, ddx


def _velocities(slopes: Array, h: Array) -> Array:
    """At rest at the ends; between, of the parabola through a knot and its neighbours."""
    between = (h[1:] * slopes[:-1] + h[:-1] * slopes[1:]) / (h[1:] + h[:-1])
    return np.pad(between, ((1, 1), (0, 0)))


def _accelerations(slopes: Array, h: Array) -> Array:
    between = 2.0 * (slopes[1:] - slopes[:-1]) / (h[1:] + h[:-1])
    return np.pad(between, ((1, 1), (0, 0)))


def _table(name: str, value: ArrayLike, shape: tuple[int, int]) -> Array:
    array = np.array(real_numbers(name, value))
    if array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, a row for each time, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: contains numbers that are not finite")
    return array
