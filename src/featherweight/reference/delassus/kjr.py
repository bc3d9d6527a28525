"""The Delassus matrix from the compliances of links, O(n + m^2 d), d counted below the link where two paths meet.

Root to leaf, every link learns how a force on it accelerates it. Two constraints share what the link shares where their
paths meet, carried out to both. Source: K. Kreutz-Delgado, A. Jain and G. Rodriguez, "Recursive formulation of
operational-space control". Oracle: J H^-1 J^T by dense algebra.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.articulated import compliances
from featherweight.reference.constraints import Rows
from featherweight.reference.delassus.bodies import articulated_bodies, pairwise_matrix
from featherweight.reference.delassus.ends import Constraint, split


def kjr(model: ModelDescription, q: Array, constraints: Sequence[Constraint]) -> Array:
    """J H^-1 J^T, (m, m)."""
    bodies = articulated_bodies(model, q)
    omega = compliances(bodies.links, bodies.joints)
    ends, P = split(constraints)

    def seen_from(g: int, end: Rows) -> Array:
        path = bodies.path(end.link)
        return reduce(np.matmul, [bodies.Phi[i] for i in path[: path.index(g)]], end.K)

    def block(e: int, f: int, g: int) -> Array:
        shared: Array = seen_from(g, ends[e]) @ omega[g] @ seen_from(g, ends[f]).T
        return shared

    delassus: Array = P @ pairwise_matrix(bodies, ends, block) @ P.T
    return delassus
