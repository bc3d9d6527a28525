"""Derivatives of dynamics and impacts where rows are between links or joints, or contradict each other: dense algebra.

With the derivatives of both equations at fixed a and f,

    H a + h = tau + J^T f,   J a + gamma + R f = desired
    [ H  -J^T ] [ da ]   [ -d(H a + h - J^T f)       ]
    [ J   R   ] [ df ] = [ -d(J a + gamma - desired) ]

Rows that contradict each other leave r = J a + gamma - desired, of least squares: J^T r = 0, and f is in the range of
J, f = J e. With J = U S V^T, of the singular values that are not zero,

    U^T J da = -U^T d(J a + gamma - desired) - S^-1 V^T dJ^T r,   df = U y + (1 - U U^T) dJ e

O(nv^3) for each sample, in NumPy. Oracle: finite differences; the core's derivatives of anchored links.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import _core
from ..arrays import Array
from ..constraints.constraint_set import ConstraintSet
from ..model.model import Model
from .inverse_dynamics import rnea_derivatives
from .row_changes import RowChanges, row_changes

#: Rows that depend on others are told by what of the largest response they have left.
DEPENDENT = 1e-10
#: Of what is left where those are out.
ROUNDING = 1e-14
#: Rows contradict each other if they miss more than this of what they were asked for.
CONTRADICTING = 1e-7


class Solved(NamedTuple):
    """Derivatives of joint motion and of forces on rows, (batch, n, columns) each."""

    motion: Array
    forces: Array


def closed_derivatives(
    model: Model,
    constraints: ConstraintSet,
    q: Array,
    v: Array,
    a: Array,
    forces: Array,
    rest: Array,
    active: Array,
    f_ext: Array | None,
    num_threads: int | None,
) -> tuple[Solved, Solved, Solved]:
    """By q, v and tau. All (batch, n); rest: what rows miss; active: of each row, 1 or 0."""
    forces = forces * active
    rows = row_changes(model, constraints, q, v, a, forces, num_threads)
    d = rnea_derivatives(model, q, v, a, _with_wrenches(model, rows, len(q), f_ext), num_threads=num_threads)
    asked_q = rows.acceleration_q + constraints.damping[:, None] * rows.velocity_q
    asked_q += constraints.stiffness[:, None] * rows.error_q
    asked_v = rows.acceleration_v + constraints.damping[:, None] * rows.J
    J, mask = rows.J * active[..., None], active[..., None]
    by = (
        (-(d.dq - rows.turning), -asked_q * mask),
        (-d.dv, -asked_v * mask),
        (np.broadcast_to(np.eye(model.nv), d.dq.shape), np.zeros_like(asked_q)),
    )
    inverse = _core.minverse(model, q, num_threads=num_threads)
    solved = [_solve(inverse, J, constraints.compliance, *each) for each in by]
    missed = np.abs(rest).max(axis=-1) > CONTRADICTING * (1 + np.abs(rows.J @ a[..., None])[..., 0].max(axis=-1))
    if missed.any():
        least = _least_squares(model, constraints, q, v, J, forces, rest * active, by, inverse, active, num_threads)
        for one, other in zip(solved, least, strict=True):
            for x, y in zip(one, other, strict=True):
                x[missed] = y[missed]
    by_q, by_v, by_tau = solved
    return by_q, by_v, by_tau


def closed_impact_derivatives(
    model: Model,
    constraints: ConstraintSet,
    q: Array,
    v: Array,
    after: Array,
    impulses: Array,
    restitution: Array,
    active: Array,
    num_threads: int | None,
) -> tuple[Solved, Solved]:
    """By q and v."""
    impulses, zero = impulses * active, np.zeros_like(v)
    rows = row_changes(model, constraints, q, after, zero, impulses, num_threads)
    before = row_changes(model, constraints, q, v, zero, np.zeros_like(impulses), num_threads)
    d = rnea_derivatives(model, q, zero, after - v, _with_wrenches(model, rows, len(q), None), num_threads=num_threads)
    weight = rnea_derivatives(model, q, zero, zero, num_threads=num_threads).dq
    e, mask = np.broadcast_to(restitution, impulses.shape)[..., None], active[..., None]
    J, inverse = rows.J * mask, _core.minverse(model, q, num_threads=num_threads)
    asked_q = (rows.velocity_q + e * before.velocity_q) * mask
    by_q = _solve(inverse, J, constraints.compliance, -(d.dq - weight - rows.turning), -asked_q)
    return by_q, _solve(inverse, J, constraints.compliance, d.da, -e * J)


def _with_wrenches(model: Model, rows: RowChanges, batch: int, f_ext: Array | None) -> Array:
    """(batch, n_links, 6): with the forces of rows, which turn with their links."""
    total = np.zeros((batch, model.n_links, 6))
    if f_ext is not None:
        total += f_ext
    for link, wrench in rows.wrenches:
        total[:, link] += wrench
    return total


def _pseudo_inverse(matrix: Array) -> Array:
    return np.asarray(np.linalg.pinv(matrix, rcond=DEPENDENT, hermitian=True), dtype=np.float64)


def _solve(inverse: Array, J: Array, compliance: Array, pushed: Array, asked: Array) -> Solved:
    """da and df for right-hand sides of motion and of rows."""
    Jt, free = np.swapaxes(J, -1, -2), inverse @ pushed
    forces = _pseudo_inverse(J @ inverse @ Jt + np.diag(compliance)) @ (asked - J @ free)
    return Solved(free + inverse @ Jt @ forces, forces)


def _least_squares(
    model: Model,
    constraints: ConstraintSet,
    q: Array,
    v: Array,
    J: Array,
    forces: Array,
    rest: Array,
    by: tuple[tuple[Array, Array], ...],
    inverse: Array,
    active: Array,
    num_threads: int | None,
) -> list[Solved]:
    U, size, Vt = np.linalg.svd(J, full_matrices=False)
    is_some = size > DEPENDENT * size[..., :1]
    U, per = U * is_some[..., None, :], np.where(is_some, 1.0, 0.0) / np.where(is_some, size, 1.0)
    zero, Ut = np.zeros_like(v), np.swapaxes(U, -1, -2)
    e = np.einsum("...ki,...k,...kr,...r->...i", Vt, per, Ut, forces)
    along = row_changes(model, constraints, q, e, zero, rest, num_threads)
    weight = rnea_derivatives(model, q, zero, zero, num_threads=num_threads).dq
    pulled = rnea_derivatives(model, q, zero, zero, _with_wrenches(model, along, len(q), None), num_threads=num_threads)
    turned = along.turning - (pulled.dq - weight)  # of J^T r
    K = Ut @ J
    Kt = np.swapaxes(K, -1, -2)
    solve = np.linalg.pinv(K @ inverse @ Kt, rcond=ROUNDING, hermitian=True)
    solved = []
    for k, (pushed, asked) in enumerate(by):
        free, wanted = inverse @ pushed, Ut @ asked
        if k == 0:
            wanted = wanted - per[..., None] * (Vt @ turned)
        y = solve @ (wanted - K @ free)
        changes = U @ y
        if k == 0:
            J_e = along.velocity_q * active[..., None]
            changes = changes + J_e - U @ (Ut @ J_e)
        solved.append(Solved(free + inverse @ Kt @ y, changes))
    return solved
