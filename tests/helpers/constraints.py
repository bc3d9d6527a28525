"""Random constraints on random robots, and the same as the twins write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import featherweight as fw
from featherweight import ModelDescription
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import ROWS, Constraint
from featherweight.reference.constraints import Rows, frame_rows, point_rows

from .forests import Forest, random_pose


def free_frames(forest: Forest, model: fw.Model) -> list[str]:
    """Links and frames that the world does not hold."""

    def is_free(frame: str) -> bool:
        try:
            fw.ConstraintSet(model, [fw.PointConstraint(frame)])
        except ValueError:
            return False
        return True

    return [frame for frame in forest.frame_names if is_free(frame)]


def random_constraints(forest: Forest, model: fw.Model, number: int, seed: int = 0) -> list[Constraint]:
    """Points and frames with any of their rows in any order, desired accelerations and positions, and no gains yet."""
    rng = np.random.default_rng([forest.seed, number, seed])
    frames, constraints = free_frames(forest, model), list[Constraint]()
    for _ in range(number):
        frame = frames[rng.integers(len(frames))]
        if rng.integers(2):
            rows = rng.permutation(ROWS[:3])[: rng.integers(1, 4)].tolist()
            at, desired = rng.normal(size=3), rng.normal(size=len(rows))
            constraints.append(fw.PointConstraint(frame, rows, position=at, acceleration=desired))
        else:
            rows = rng.permutation(ROWS)[: rng.integers(1, 7)].tolist()
            desired = rng.normal(size=len(rows))
            constraints.append(fw.FrameConstraint(frame, rows, position=random_pose(rng), acceleration=desired))
    return constraints


def with_gains(constraints: Sequence[Constraint], stiffness: float, damping: float) -> list[Constraint]:
    return [replace(constraint, stiffness=stiffness, damping=damping) for constraint in constraints]


def twin_rows(description: ModelDescription, q: Array, v: Array, constraints: Sequence[Constraint]) -> list[Rows]:
    """Gains must be numbers, one for all rows of a constraint."""
    result = []
    for c in constraints:
        make = point_rows if isinstance(c, fw.PointConstraint) else frame_rows
        axes = [ROWS.index(row) for row in c.rows]
        desired = np.broadcast_to(np.asarray(c.acceleration, dtype=np.float64), len(axes))
        target = None if c.position is None else np.asarray(c.position, dtype=np.float64)
        kp, kd = float(np.asarray(c.stiffness)), float(np.asarray(c.damping))
        rows = make(description, q, v, str(c.frame), axes=axes, desired=desired, target=target, kp=kp, kd=kd)
        result.append(rows)
    return result


def bare_rows(description: ModelDescription, q: Array, v: Array, constraints: Sequence[Constraint]) -> list[Rows]:
    """The rows with nothing asked of them: their targets are then only what velocities contribute."""
    bare = [type(c)(c.frame, c.rows) for c in constraints]
    return twin_rows(description, q, v, bare)


def dense_rows(model: fw.Model, q: Array, v: Array, constraints: Sequence[Constraint]) -> tuple[Array, Array, Array]:
    """J, what J a is to be, and the matrix of compliances, row by row from the motion of the constraints' frames."""
    J, targets, compliance = [], [], []
    for c in constraints:
        rows = [ROWS.index(row) for row in c.rows]
        point = isinstance(c, fw.PointConstraint)
        drift = fw.frame_acceleration(model, q, v, np.zeros(model.nv), c.frame, classical=point)
        J.append(fw.jacobian(model, q, c.frame)[rows])
        targets.append(np.broadcast_to(np.asarray(c.acceleration, float), len(rows)) - drift[rows])
        compliance.append(np.broadcast_to(np.asarray(c.compliance, float), len(rows)))
    return np.vstack(J), np.concatenate(targets), np.diag(np.concatenate(compliance))
