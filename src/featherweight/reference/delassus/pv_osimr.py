"""The Delassus matrix in the lowest order, O(n + m^2): every joint is crossed once, whatever the number of rows.

Few links matter: those with rows, and those where paths from them meet. What lies between one of them and the next acts
as a single joint, composed once, and the rows leap from one to the next. Source: A. S. Sathya, W. Decre and J. Swevers,
"PV-OSIMr: a lowest order complexity algorithm for computing the Delassus matrix". Oracle: J H^-1 J^T by dense algebra.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.constraints import Rows
from featherweight.reference.delassus.bodies import ArticulatedBodies, articulated_bodies, pairwise_matrix
from featherweight.reference.delassus.ends import Constraint, split
from featherweight.reference.tree import WORLD


def pv_osimr(model: ModelDescription, q: Array, constraints: Sequence[Constraint]) -> Array:
    """J H^-1 J^T, (m, m)."""
    ends, P = split(constraints)
    delassus: Array = P @ matrix_of_ends(articulated_bodies(model, q), ends) @ P.T
    return delassus


@dataclass(frozen=True, eq=False)
class Stop:
    """A link that matters, and the way from it to the next one."""

    above: int  # the next link that matters, or WORLD
    E: Array  # (6, 6) acceleration of this link per acceleration of that one, the joints between left to themselves
    omega: Array  # (6, 6) acceleration of this link per force on it


def matrix_of_ends(bodies: ArticulatedBodies, ends: Sequence[Rows]) -> Array:
    """J H^-1 J^T of ends, each on one link."""
    stops = compose(bodies, {end.link for end in ends} - {WORLD})

    def seen_by_stops(end: Rows) -> dict[int, Array]:
        i, T, seen = end.link, end.K, {}
        while i != WORLD:
            seen[i] = T
            i, T = stops[i].above, T @ stops[i].E
        return seen

    T = [seen_by_stops(end) for end in ends]
    return pairwise_matrix(bodies, ends, lambda e, f, g: T[e][g] @ stops[g].omega @ T[f][g].T)


def compose(bodies: ArticulatedBodies, links: set[int]) -> dict[int, Stop]:
    """The stops of rows on ``links``, root to leaf: each link's way up ends at a stop that is known already."""
    stops: dict[int, Stop] = {}
    for x in sorted(links | {bodies.meeting(i, j) for i in links for j in links} - {WORLD}):
        # a link with fewer than six rows and none beyond it could start with these instead of 1: fewer numbers to carry
        E, L, i = np.eye(6), np.zeros((6, 6)), x
        while i != WORLD and i not in stops:
            G = E @ bodies.links[i].S
            L += G @ bodies.joints[i].D_inverse @ G.T
            E = E @ bodies.Phi[i]
            i = bodies.links[i].parent
        stops[x] = Stop(i, E, L if i == WORLD else L + E @ stops[i].omega @ E.T)
    return stops
