"""Inverse kinematics: configurations that put frames where they are wanted.

Levenberg and Marquardt's method on the manifold of configurations, a batch at a time: the Jacobians of all samples come
from the core in one call. Joints at a limit that the step would leave are held there for that step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array
from ..checks import close_names
from ..model.model import Model
from ..records import Record
from .logarithms import log3

#: Damping of the first step, relative to the Jacobian squared; bounds of it; and by how much a good step lowers it.
_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING, _CHANGE = 1e-3, 1e-12, 1e6, 8.0
#: [rad or m] a joint this close to its limit is at it.
_AT_LIMIT = 1e-12


@dataclass(frozen=True, eq=False)
class InverseKinematicsSolution(Record):
    """Configurations, and the remaining errors of the frames. Arrays start with the batch, if there is one.

    >>> arm = fw.models.arm()
    >>> there = fw.frame_placement(arm, np.full(7, 0.3), "flange")
    >>> solution = fw.inverse_kinematics(arm, {"flange": there}, q0=np.full(7, 0.2))
    >>> bool(solution.converged)
    True
    """

    q: Array  # ([batch,] nq), within limits
    converged: NDArray[np.bool_]  # ([batch]) whether every error is within the tolerance
    position_error: Array  # ([batch,] n_targets) [m]
    rotation_error: Array  # ([batch,] n_targets) [rad], zero where only a position is wanted
    iterations: NDArray[np.int64]  # ([batch])


def inverse_kinematics(
    model: Model,
    targets: Mapping[str, ArrayLike],
    q0: ArrayLike | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    posture: ArrayLike | None = None,
    posture_weight: float = 0.0,
    limits: bool = True,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
) -> InverseKinematicsSolution:
    """A configuration near ``q0`` that brings frames to their ``targets``, or as close as possible.

    targets: for each link or frame a pose (4, 4) in the world, or a position (3,) if its orientation does not matter;
    or one per sample, (batch, 4, 4) or (batch, 3). q0: (nq,) or (batch, nq), the initial guess, by default the neutral
    configuration. weights: of frames, 1 by default; a metre counts like a radian. posture: (nq,), a configuration that
    attracts joints that are left free, with ``posture_weight``; by default ``q0``. limits: respect joint limits.
    tolerance: of every error [m, rad].

    The search is local: if it ends at a limit or in a singularity, ``converged`` is False, and the errors tell how far
    off it is. Another ``q0`` may do better, and a batch of them is searched at once.

    >>> arm = fw.models.arm()
    >>> goal = fw.frame_placement(arm, np.full(arm.nq, 0.3), arm.link_names[-1])
    >>> found = fw.inverse_kinematics(arm, {arm.link_names[-1]: goal})
    >>> bool(found.converged), bool(found.position_error.max() < 1e-9)
    (True, True)
    """
    problem = _Problem(model, targets, weights or {})
    start = np.asarray(model.neutral() if q0 is None else q0, dtype=np.float64)
    if start.shape[-1:] != (model.nq,) or start.ndim > 2:
        raise ValueError(f"q0: expected shape ({model.nq},) or (batch, {model.nq}), got {start.shape}")
    sizes = {n for n in (problem.batch, len(start) if start.ndim == 2 else None) if n is not None}
    if len(sizes) > 1:
        raise ValueError(f"q0 and targets: batches of {' and '.join(map(str, sorted(sizes)))} do not go together")
    single = not sizes
    q = np.array(np.broadcast_to(start, (sizes.pop() if sizes else 1, model.nq)))
    if limits:
        q = np.clip(q, model.lower, model.upper)
    rest = q.copy() if posture is None else np.broadcast_to(np.asarray(posture, dtype=np.float64), q.shape)
    search = _Search(model, problem, rest, posture_weight, limits, tolerance)
    q, iterations = search.run(q, max_iterations)
    position, rotation = problem.sizes(q)
    converged = ((position <= tolerance) & (rotation <= tolerance)).all(axis=1)
    values: list[Any] = [q, converged, position, rotation, iterations]
    return InverseKinematicsSolution(*(value[0] for value in values) if single else values)


class _Problem:
    """Errors of frames and their Jacobians, frame by frame below each other."""

    def __init__(self, model: Model, targets: Mapping[str, ArrayLike], weights: Mapping[str, float]) -> None:
        if not isinstance(targets, Mapping) or not targets:
            example = '{"hand": pose}'
            raise ValueError(
                f"targets: expected a dictionary from links or frames to poses or positions, like {example}"
            )
        known = [*model.link_names, *model.frame_names]
        for name in [*targets, *weights]:
            if name not in known:
                raise ValueError(f"targets: {model.name!r} has no link or frame {name!r}{close_names(name, known)}")
        if unused := set(weights) - set(targets):
            raise ValueError(f"weights: {sorted(unused)[0]!r} has no target")
        self.model = model
        self.names = list(targets)
        self.weights = [float(weights.get(name, 1.0)) for name in targets]
        if not all(np.isfinite(w) and w > 0.0 for w in self.weights):
            raise ValueError("weights: expected positive numbers")
        self.goals = [_checked(name, value) for name, value in targets.items()]
        batches = {goal.shape[0] for goal in self.goals if goal.shape[0] != 1}
        if len(batches) > 1:
            raise ValueError(f"targets: batches of {' and '.join(map(str, sorted(batches)))} do not go together")
        self.batch = batches.pop() if batches else None
        given = [np.ndim(value) for value in targets.values()]
        if self.batch is None and any(n == goal.ndim for n, goal in zip(given, self.goals, strict=True)):
            self.batch = 1

    def errors(self, q: Array) -> tuple[Array, Array]:
        """In the axes of the frames, (batch, m), weighted, and their Jacobian (batch, m, nv)."""
        rows, jacobians = [], []
        for name, goal, weight in zip(self.names, self.goals, self.weights, strict=True):
            error = _error(_core.frame_placement(self.model, q, name), goal)
            J = np.asarray(_core.jacobian(self.model, q, name))[:, : error.shape[1]]
            rows.append(weight * error)
            jacobians.append(weight * J)
        return np.concatenate(rows, axis=1), np.concatenate(jacobians, axis=1)

    def sizes(self, q: Array) -> tuple[Array, Array]:
        """(batch, n_targets) each: how far every frame is off [m], [rad]."""
        position, rotation = [], []
        for name, goal in zip(self.names, self.goals, strict=True):
            error = _error(_core.frame_placement(self.model, q, name), goal)
            position.append(np.linalg.norm(error[:, :3], axis=1))
            rotation.append(np.linalg.norm(error[:, 3:], axis=1))
        return np.stack(position, axis=1), np.stack(rotation, axis=1)


def _error(X: Array, goal: Array) -> Array:
    """Where the goal is, seen from the frame: (batch, 3) its origin, or (batch, 6) its turn as well."""
    R = X[:, :3, :3]
    at = goal if goal.ndim == 2 else goal[:, :3, 3]
    lin = np.einsum("bji,bj->bi", R, at - X[:, :3, 3])
    if goal.ndim == 2:
        return np.asarray(lin)
    return np.concatenate([lin, log3(np.swapaxes(R, 1, 2) @ goal[:, :3, :3])], axis=1)


class _Search:
    def __init__(
        self, model: Model, problem: _Problem, rest: Array, pull: float, limits: bool, tolerance: float
    ) -> None:
        if not (np.isfinite(pull) and pull >= 0.0):
            raise ValueError(f"posture_weight: expected a number that is not negative, got {pull!r}")
        self._model, self._problem, self._rest, self._pull = model, problem, rest, pull
        self._limits, self._tolerance = limits, tolerance
        axes = [j for j in model.joints if j.type not in ("spherical", "free")]
        self._q_of = np.array([i for j in axes for i in range(j.q_slice.start, j.q_slice.stop)], dtype=np.int64)
        self._v_of = np.array([i for j in axes for i in range(j.v_slice.start, j.v_slice.stop)], dtype=np.int64)

    def run(self, q: Array, most: int) -> tuple[Array, NDArray[np.int64]]:
        damping = np.full(len(q), _FIRST_DAMPING)
        taken = np.zeros(len(q), dtype=np.int64)
        error, J = self._stacked(q)
        cost = (error**2).sum(axis=1)
        active = ~self._done(q)
        for _ in range(most):
            if not active.any():
                break
            taken[active] += 1
            step = self._step(q, error, J, damping)
            tried = np.asarray(self._model.integrate(q, step))
            if self._limits:
                tried = np.clip(tried, self._model.lower, self._model.upper)
            new_error, new_J = self._stacked(tried)
            new_cost = (new_error**2).sum(axis=1)
            better = active & (new_cost < cost)
            stalls = active & ~better & (damping >= _MOST_DAMPING)
            moved = np.abs(step).max(axis=1)
            q[better], error[better], J[better], cost[better] = (
                tried[better], new_error[better], new_J[better], new_cost[better],
            )  # fmt: skip
            damping = np.where(better, damping / _CHANGE, damping * _CHANGE).clip(_LEAST_DAMPING, _MOST_DAMPING)
            active &= ~self._done(q) & ~stalls & (moved > 1e-15)
        return q, taken

    def _done(self, q: Array) -> NDArray[np.bool_]:
        if self._pull > 0.0:  # the posture may still be improved
            return np.zeros(len(q), dtype=bool)
        position, rotation = self._problem.sizes(q)
        return np.asarray(((position <= self._tolerance) & (rotation <= self._tolerance)).all(axis=1))

    def _stacked(self, q: Array) -> tuple[Array, Array]:
        """Errors of frames, and of the posture below them."""
        error, J = self._problem.errors(q)
        if self._pull == 0.0:
            return error, J
        away = self._pull * np.asarray(self._model.difference(q, self._rest))
        eye = np.broadcast_to(self._pull * np.eye(self._model.nv), (len(q), self._model.nv, self._model.nv))
        return np.concatenate([error, away], axis=1), np.concatenate([J, eye], axis=1)

    def _step(self, q: Array, error: Array, J: Array, damping: Array) -> Array:
        """The damped least-squares step; joints that would leave their limits stay."""
        held = np.zeros((len(q), self._model.nv), dtype=bool)
        for _ in range(2):  # once more without the joints that the first step pushes out
            free = np.where(held[:, None, :], 0.0, J)
            H = np.swapaxes(free, 1, 2) @ free
            scale = np.maximum(np.trace(H, axis1=1, axis2=2) / H.shape[1], 1e-300)
            H = H + (damping * scale)[:, None, None] * np.eye(H.shape[1])
            step = np.linalg.solve(H, np.swapaxes(free, 1, 2) @ error[..., None])[..., 0]
            if not self._limits:
                break
            at, along = q[:, self._q_of], step[:, self._v_of]
            low, high = self._model.lower[self._q_of], self._model.upper[self._q_of]
            leaves = ((at <= low + _AT_LIMIT) & (along < 0.0)) | ((at >= high - _AT_LIMIT) & (along > 0.0))
            if not leaves.any():
                break
            held[:, self._v_of] |= leaves
        step[held] = 0.0
        return np.asarray(step)


def _checked(name: str, value: ArrayLike) -> Array:
    goal = np.asarray(value, dtype=np.float64)
    if goal.shape == (3,) or goal.shape == (4, 4):
        goal = goal[None]
    if goal.shape[1:] not in ((3,), (4, 4)):
        shape = np.shape(value)
        raise ValueError(f"targets: {name!r} has shape {shape}, expected ([batch,] 4, 4) or ([batch,] 3)")
    if not np.isfinite(goal).all():
        raise ValueError(f"targets: {name!r} contains numbers that are not finite")
    if goal.ndim == 3:
        log3(goal[:, :3, :3])  # refuses what is not a rotation
    return goal
