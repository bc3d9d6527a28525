"""Motions of a hand, many at once: where it goes, and the controls of the servos that take it there."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .. import _core
from ..arrays import Array
from ..kinematics.logarithms import log3
from .problem import KNOT, Problem, View

#: Damping of inverse kinematics [m], and how strongly joints are drawn to the middle of their range per knot.
_DAMPING, _PULL = 0.03, 0.02


class Path:
    """Where the hand goes, and what is switched on the way: n motions side by side, all of the same duration.

    The hand points down: its turn is about the vertical. aim: how much that counts against its place.
    """

    def __init__(self, view: View, aim: float = 1.0) -> None:
        X = view.pose(view.problem.hand)
        # the hand's z axis looks down, so that its x axis is the turn
        self.places: list[Array] = [X[:, :3, 3]]
        self.turns: list[Array] = [np.arctan2(X[:, 1, 0], X[:, 0, 0])]
        self.aim, self._base = aim, view.problem.base
        self.events: list[tuple[int, str, bool]] = []  # knot, switch, on

    @property
    def place(self) -> Array:
        """(n, 3) where it is now [m]."""
        return self.places[-1]

    @property
    def turn(self) -> Array:
        """(n,) [rad]"""
        return self.turns[-1]

    @property
    def seconds(self) -> float:
        """Of all of it."""
        return KNOT * (len(self.places) - 1)

    def to(self, place: Array, seconds: float, turn: Array | None = None) -> Path:
        """From rest to rest; jerk is as small as can be. place: (n, 3), turn: (n,), the shorter way."""
        knots = _knots(seconds)
        from_, first = self.place, self.turn
        away = np.zeros(len(first)) if turn is None else _shorter(turn - first)
        for share in _smooth(knots):
            self.places.append(from_ + share * (place - from_))
            self.turns.append(first + share * away)
        return self

    def around(self, place: Array, seconds: float, turn: Array | None = None) -> Path:
        """The same, on an arc about the arm's first joint, which it does not come near."""
        knots, base = _knots(seconds), self._base
        from_, to = self.place[:, :2] - base, place[:, :2] - base
        radius, angle = np.linalg.norm(from_, axis=1), np.arctan2(from_[:, 1], from_[:, 0])
        farther = np.linalg.norm(to, axis=1) - radius
        swing = _shorter(np.arctan2(to[:, 1], to[:, 0]) - angle)
        first, rise = self.turn, place[:, 2] - self.place[:, 2]
        height = self.place[:, 2]
        away = np.zeros(len(first)) if turn is None else _shorter(turn - swing - first) + swing
        for share in _smooth(knots):
            r, a = radius + share * farther, angle + share * swing
            xy = base + r[:, None] * np.stack([np.cos(a), np.sin(a)], axis=1)
            self.places.append(np.column_stack([xy, height + share * rise]))
            self.turns.append(first + share * away)
        return self

    def lift(self, height: Array | float, seconds: float) -> Path:
        """Straight up or down, to a height [m]."""
        place = self.place.copy()
        place[:, 2] = height
        return self.to(place, seconds)

    def through(self, place: Array, velocity: Array, before: float, after: float) -> Path:
        """Gathers speed evenly along a straight line, has ``velocity`` (n, 3) at ``place``, and slows down evenly."""
        before, after = KNOT * _knots(before), KNOT * _knots(after)
        for knot in range(1, _knots(before) + 1):
            t = knot * KNOT
            self.places.append(place - velocity * (0.5 * before - 0.5 * t**2 / before))
            self.turns.append(self.turn)
        for knot in range(1, _knots(after) + 1):
            t = knot * KNOT
            self.places.append(place + velocity * (t - 0.5 * t**2 / after))
            self.turns.append(self.turn)
        return self

    def stay(self, seconds: float) -> Path:
        """Where it is."""
        for _ in range(_knots(seconds)):
            self.places.append(self.place)
            self.turns.append(self.turn)
        return self

    def switch(self, name: str, on: bool, earlier: float = 0.0) -> Path:
        """Turns a switch now, or some time before now."""
        self.events.append((len(self.places) - 1 - round(earlier / KNOT), name, on))
        return self


def _smooth(knots: int) -> Array:
    """(knots,) shares of a way from rest to rest, with as little jerk as can be."""
    s = np.arange(1, knots + 1) / knots
    return np.asarray(s**3 * (10.0 - 15.0 * s + 6.0 * s**2))


def _shorter(angle: Array) -> Array:
    """The same turn, at most half a circle."""
    return np.asarray((angle + np.pi) % (2.0 * np.pi) - np.pi)


def _knots(seconds: float) -> int:
    return max(1, round(seconds / KNOT))


def controls_along(problem: Problem, view: View, path: Path) -> tuple[Array, Array]:
    """Of a path: controls (n, steps, nu), and by how much the hand misses it (n,) [m].

    Servos are told where joints should be, and beyond that by what carries the arm and gives it speed.
    """
    sim, n = problem.sim, len(view)
    joints, miss = _joints_along(problem, view, path)
    K = joints.shape[1]
    values, rates, seconds = (_spline(K - 1, round(KNOT / sim.dt), d) for d in range(3))
    at_knots, rate_at_knots, acceleration = (
        np.einsum("sk,nkj->nsj", S[:: round(KNOT / sim.dt)], joints) for S in (values, rates, seconds)
    )
    q = np.repeat(view.q[:, None], K, axis=1)
    q[:, :, problem.arm_q] = at_knots
    v, a = np.zeros((2, n, K, sim.model.nv))
    v[:, :, problem.arm_v], a[:, :, problem.arm_v] = rate_at_knots, acceleration
    flat = (n * K, -1)
    tau = np.asarray(_core.rnea(sim.model, q.reshape(flat), v.reshape(flat), a.reshape(flat)))
    ahead = tau.reshape(n, K, -1)[:, :, problem.arm_v] / problem.kp
    told = np.einsum("sk,nkj->nsj", values[1:], joints + ahead)
    told += np.einsum("sk,nkj->nsj", rates[1:], joints) * (problem.kd / problem.kp)
    control = np.zeros((n, told.shape[1], sim.nu))
    control[:, :, problem.servos] = told
    return control, miss


def _joints_along(problem: Problem, view: View, path: Path) -> tuple[Array, Array]:
    """(n, knots, joints) [rad], and the largest miss (n,) [m]."""
    model, arm, dofs = problem.sim.model, problem.arm_q, problem.arm_v
    q, miss = view.q.copy(), np.zeros(len(view))
    lower, upper = model.lower[arm], model.upper[arm]
    bounded = np.isfinite(lower) & np.isfinite(upper)
    rest = np.where(bounded, 0.5 * (np.where(bounded, lower, 0.0) + np.where(bounded, upper, 0.0)), q[:, arm])
    start = q[:, arm].copy()
    joints = [start]
    eye = np.eye(len(arm))
    for place, turn in zip(path.places[1:], path.turns[1:], strict=True):
        c, s = np.cos(turn), np.sin(turn)
        down = np.zeros((len(turn), 3, 3))
        down[:, 0, 0], down[:, 1, 0], down[:, 0, 1], down[:, 1, 1], down[:, 2, 2] = c, s, s, -c, -1.0
        for _ in range(2):
            X = np.asarray(_core.frame_placement(model, q, problem.hand))
            R = X[:, :3, :3]
            error = np.concatenate(
                [place - X[:, :3, 3], path.aim * np.einsum("nij,nj->ni", R, log3(np.swapaxes(R, 1, 2) @ down))], axis=1
            )
            J = np.array(_core.jacobian(model, q, problem.hand, reference="local_world_aligned"))[:, :, dofs]
            J[:, 3:] *= path.aim
            JT = np.swapaxes(J, 1, 2)
            inverse = JT @ np.linalg.inv(J @ JT + _DAMPING**2 * np.eye(6))
            aside = (eye - inverse @ J) @ (_PULL * (0.5 * (rest + start) - q[:, arm]))[..., None]
            step = (inverse @ error[..., None] + aside)[..., 0]
            q[:, arm] = np.clip(q[:, arm] + np.clip(step, -0.3, 0.3), lower, upper)
        X = np.asarray(_core.frame_placement(model, q, problem.hand))
        miss = np.maximum(miss, np.linalg.norm(place - X[:, :3, 3], axis=1))
        joints.append(q[:, arm].copy())
    return np.stack(joints, axis=1), miss


@lru_cache(maxsize=64)  # of few durations each skill has
def _spline(intervals: int, substeps: int, derivative: int) -> Array:
    """(intervals substeps + 1, intervals + 1): cubic splines at rest at both ends, from their values at knots."""
    n = intervals + 1
    # slopes at knots, so that second derivatives are continuous
    A, B = np.eye(n), np.zeros((n, n))
    for k in range(1, n - 1):
        A[k, k - 1 : k + 2] = 1.0, 4.0, 1.0
        B[k, k - 1], B[k, k + 1] = -3.0, 3.0
    slopes = np.linalg.solve(A, B)
    t = np.arange(intervals * substeps + 1) / substeps
    k = np.minimum(t.astype(int), intervals - 1)
    s = t - k
    basis = {
        0: (2 * s**3 - 3 * s**2 + 1, s**3 - 2 * s**2 + s, -2 * s**3 + 3 * s**2, s**3 - s**2),
        1: (6 * s**2 - 6 * s, 3 * s**2 - 4 * s + 1, -6 * s**2 + 6 * s, 3 * s**2 - 2 * s),
        2: (12 * s - 6, 6 * s - 4, -12 * s + 6, 6 * s - 2),
    }[derivative]
    eye = np.eye(n)
    rows = zip(basis, (eye[k], slopes[k], eye[k + 1], slopes[k + 1]), strict=True)
    return np.asarray(sum(b[:, None] * e for b, e in rows) / KNOT**derivative)
