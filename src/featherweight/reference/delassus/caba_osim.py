"""The inverse of the damped Delassus matrix, (J H^-1 J^T + R)^-1: O(n + m^2) if the damping is not small.

A row that gives in by R per force is a spring of stiffness W = 1 / R, which joins the inertia of its link. With D the
Delassus matrix of the stiffened bodies, the inverse is W - W D W. But stiffness takes digits with it, as the square of
W times the mobility of the row, and a spring between two links would couple them beyond the tree. Rows of either kind
are kept apart: among stiffened bodies their Delassus matrix is D, and D + R of these rows is inverted as it stands.
Newton's iteration from a softer inverse would not help: it loses digits as the square of the condition. Source:
A. S. Sathya and J. Carpentier, "Constrained articulated body dynamics algorithms". Oracle: dense algebra.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.articulated import mobilities
from featherweight.reference.constraints import rows_by_link, solve_independent
from featherweight.reference.delassus.bodies import articulated_bodies
from featherweight.reference.delassus.ends import Constraint, row_damping, split
from featherweight.reference.delassus.pv_osimr import matrix_of_ends


def caba_osim(
    model: ModelDescription,
    q: Array,
    constraints: Sequence[Constraint],
    damping: Array | float,
    *,
    softness: float = 1e-2,
) -> Array:
    """(J H^-1 J^T + R)^-1, (m, m), R > 0 being the ``damping`` of all rows or of each.

    A row becomes a spring if R is at least ``softness`` times its mobility.
    """
    ends, P = split(constraints)
    K, R, bodies = P @ rows_by_link(ends, len(model.links)), row_damping(damping, len(P)), articulated_bodies(model, q)
    too_stiff = softness * mobilities(bodies.links, bodies.joints, K) > R
    spring = (P.sum(axis=1) == 1) & ~too_stiff
    W = np.where(spring, 1 / R, 0.0)
    D = P @ matrix_of_ends(articulated_bodies(model, q, K.transpose(0, 2, 1) * W @ K), ends) @ P.T
    rigid = np.eye(len(P))[:, ~spring]
    answer = rigid - W[:, None] * (D @ rigid)  # unit forces of the rigid rows, and what the springs answer to each
    inverse: Array = np.diag(W) - W[:, None] * D * W
    inverse += answer @ solve_independent(rigid.T @ (D + np.diag(R)) @ rigid, answer.T)
    return inverse
