"""What forces of scheduled contacts cost where the ground could not exert them: they pull, or leave their cone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..constraints.constraint_set import ROWS, ConstraintSet, FrameConstraint, PointConstraint
from ..records import Record
from .norms import one_sided
from .schedule import Schedule
from .scheduled_nodes import Linearised

#: [1] of the robot's weight: the force by which a contact may miss its cone for a cost of a half.
_SHARE_OF_WEIGHT = 0.05


@dataclass(frozen=True, eq=False)
class ContactQuadratic(Record):
    """To second order, as Gauss and Newton have it; x = (q, v)."""

    value: float
    q: Array  # (nodes, n)
    Q: Array  # (nodes, n, n)
    r: Array  # (nodes, m)
    R: Array  # (nodes, m, m)
    S: Array  # (nodes, m, n)


class ContactCosts:
    """One-sided residuals of every contact that may push: faces of a pyramid within its cone, and of its sole."""

    def __init__(self, schedule: Schedule, constraints: ConstraintSet, num_threads: int | None) -> None:
        model = constraints.model
        self._model, self._threads = model, num_threads
        self._contacts, self._slices = schedule.contacts, constraints.slices
        self._pushing = [] if schedule.friction is None else [k for k, c in enumerate(schedule.contacts) if _pushes(c)]
        if schedule.friction is None:
            return
        if not self._pushing:
            raise ValueError("friction: no contact has the rows x, y and z, whose force could be in a cone")
        weight = model.mass * float(np.linalg.norm(model.gravity))
        tolerance = schedule.tolerance or _SHARE_OF_WEIGHT * weight
        if not tolerance > 0.0:
            raise ValueError("tolerance: has to be given, since the robot has no weight")
        side = schedule.friction / np.sqrt(2.0)
        faces = [(0, 0, -1), (1, 0, -side), (-1, 0, -side), (0, 1, -side), (0, -1, -side)]
        self._faces = np.array(faces, dtype=np.float64) / tolerance
        self._sole_faces = None if schedule.sole is None else _sole_faces(schedule.sole, side) / tolerance

    def __bool__(self) -> bool:
        return bool(self._pushing)

    def value(self, q: Array, forces: Array, closed: NDArray[np.bool_]) -> Array:
        """Of nodes (n, nq), (n, rows), (n, contacts): (n,)."""
        total = np.zeros(len(q))
        for k in self._pushing:
            wrench = self._wrench(k, forces)
            y = (self._axes(k, q) @ wrench[:, :3, None])[:, :, 0] @ self._faces.T
            if self._sole_faces is not None and _has_sole(self._contacts[k]):
                y = np.concatenate([y, wrench @ self._sole_faces.T], axis=1)
            total += closed[:, k] * one_sided(y)[0].sum(axis=1)
        return total

    def quadratic(self, q: Array, nodes: Linearised, closed: NDArray[np.bool_]) -> ContactQuadratic:
        """Of nodes at q (n, nq), before them."""
        n, nv, nu = len(q), self._model.nv, nodes.B.shape[2]
        value, slope = 0.0, np.zeros((n, 2 * nv + nu))
        rows = []
        for k in self._pushing:
            faces = self._all_faces(k, q)
            wrench = self._wrench(k, nodes.forces)[:, : faces.shape[2]]
            turns = _core.jacobian(
                self._model, q, self._contacts[k].frame, reference="local", num_threads=self._threads
            )[:, 3:]
            by = np.concatenate([self._wrench(k, nodes.forces_x), self._wrench(k, nodes.forces_u)], axis=2)
            by = faces @ by[:, : faces.shape[2]]
            turned = np.swapaxes(_own_axes(self._contacts[k]), 0, 1) @ turns  # in axes of the contact
            n_turned = len(self._faces)  # the others are in these axes
            by[:, :n_turned, :nv] += faces[:, :n_turned, :3] @ np.cross(turned, wrench[:, :3, None], axis=1)
            cost, by_face, curvature = one_sided((faces @ wrench[:, :, None])[:, :, 0])
            on = closed[:, k, None]
            value += float((on * cost).sum())
            slope += ((on * by_face)[:, None, :] @ by)[:, 0]
            rows.append(np.sqrt(on * curvature)[:, :, None] * by)
        root = np.concatenate(rows, axis=1)
        H = np.swapaxes(root, 1, 2) @ root
        x, u = slice(0, 2 * nv), slice(2 * nv, None)
        return ContactQuadratic(value, slope[:, x], H[:, x, x], slope[:, u], H[:, u, u], H[:, u, x])

    def _axes(self, k: int, q: Array) -> Array:
        """Of a contact, in the world, (n, 3, 3)."""
        pose = _core.frame_placement(self._model, q, self._contacts[k].frame, num_threads=self._threads)
        return np.asarray(pose[:, :3, :3] @ _own_axes(self._contacts[k]))

    def _all_faces(self, k: int, q: Array) -> Array:
        """Of what a contact may exert, (n, faces, 3 or 6), in its axes: of the force in the world, and of the sole."""
        faces = self._faces @ self._axes(k, q)
        if self._sole_faces is None or not _has_sole(self._contacts[k]):
            return np.asarray(faces)
        both = np.zeros((len(q), len(self._faces) + len(self._sole_faces), 6))
        both[:, : len(self._faces), :3] = faces
        both[:, len(self._faces) :] = self._sole_faces
        return both

    def _wrench(self, k: int, rows: Array) -> Array:
        """Of a contact, the rows (n, 3, ...) along x, y and z, or of a sole (n, 6, ...) about them too."""
        first, names = self._slices[k].start, list(self._contacts[k].rows)
        axes = ROWS if _has_sole(self._contacts[k]) else ROWS[:3]
        return rows[:, [first + names.index(axis) for axis in axes]]


def _sole_faces(sole: tuple[float, float], side: float) -> Array:
    """Of a rectangle: where it is pressed lies within it, and what it turns with is less than its corners could."""
    length, width = sole
    spin = 0.25 * side * (length + width)
    faces = []
    for axis, arm in ((3, 0.5 * width), (4, 0.5 * length), (5, 0.5 * spin)):
        for sign in (1.0, -1.0):
            face = np.zeros(6)
            face[2], face[axis] = -1.0, sign / arm
            faces.append(face)
    return np.array(faces)


def _has_sole(constraint: PointConstraint | FrameConstraint) -> bool:
    return isinstance(constraint, FrameConstraint) and all(axis in constraint.rows for axis in ROWS)


def _pushes(constraint: PointConstraint | FrameConstraint) -> bool:
    return all(axis in constraint.rows for axis in "xyz")


def _own_axes(constraint: PointConstraint | FrameConstraint) -> Array:
    """Of the frame that is held, in the one that is named, (3, 3)."""
    if isinstance(constraint, FrameConstraint) and constraint.offset is not None:
        return np.asarray(constraint.offset)[:3, :3]
    return np.eye(3)
