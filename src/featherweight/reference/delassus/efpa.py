"""The Delassus matrix by extended force propagators, O(n + m d + m^2).

Leaf to root, each link on the path of a constraint sees its rows; root to leaf, unit forces along the rows accelerate
each link on the path. Where two paths meet, one says what it sees of what the other moves. Source: P. Wensing,
R. Featherstone and D. E. Orin, "A reduced-order recursive algorithm for the computation of the operational-space
inertia matrix". Oracle: J H^-1 J^T by dense algebra.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.constraints import Rows
from featherweight.reference.delassus.bodies import ArticulatedBodies, articulated_bodies, pairwise_matrix
from featherweight.reference.delassus.ends import Constraint, split


def efpa(model: ModelDescription, q: Array, constraints: Sequence[Constraint]) -> Array:
    """J H^-1 J^T, (m, m)."""
    bodies = articulated_bodies(model, q)
    ends, P = split(constraints)
    E = [seen_by_links(bodies, end) for end in ends]
    A = [accelerations(bodies, end, seen) for end, seen in zip(ends, E, strict=True)]
    delassus: Array = P @ pairwise_matrix(bodies, ends, lambda e, f, g: E[e][g] @ A[f][g]) @ P.T
    return delassus


def seen_by_links(bodies: ArticulatedBodies, end: Rows) -> dict[int, Array]:
    """Per link of the path, (m, 6): the rows on its acceleration, the joints below it left to themselves."""
    E, seen = end.K, {}
    for i in bodies.path(end.link):
        seen[i] = E
        E = E @ bodies.Phi[i]
    return seen


def accelerations(bodies: ArticulatedBodies, end: Rows, seen: dict[int, Array]) -> dict[int, Array]:
    """Per link of the path, (6, m): its acceleration under unit forces along the rows."""
    a, moved = np.zeros((6, end.k.size)), {}
    for i in reversed(bodies.path(end.link)):
        S, D_inverse = bodies.links[i].S, bodies.joints[i].D_inverse
        a = bodies.Phi[i] @ a + S @ D_inverse @ (seen[i] @ S).T
        moved[i] = a
    return moved
