"""The sweep that the recursive Delassus methods start with: the articulated bodies of a model, without motion or load.

What follows are two steps across joint i, by which its parent sees rows K of link i: the rows become K Phi_i, and the
joint gives in to their forces by (K S) D^-1 (K S)^T.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.articulated import Joint, articulate, carry
from featherweight.reference.constraints import Rows, spans, targets
from featherweight.reference.tree import WORLD, LinkState, evaluate, path


@dataclass(frozen=True, eq=False)
class ArticulatedBodies:
    """Links and joints, with all that lies beyond a joint taken into account."""

    links: list[LinkState]
    joints: list[Joint]
    Phi: list[Array]  # (6, 6) acceleration of each link per acceleration of its parent, its joint left to itself

    def path(self, i: int) -> list[int]:
        """Link i and the links between it and the world, nearest first."""
        return path(self.links, i)

    def meeting(self, i: int, j: int) -> int:
        """The link where the paths of two links to the world meet, or WORLD."""
        other = self.path(j)
        return next((link for link in self.path(i) if link in other), WORLD)


def articulated_bodies(model: ModelDescription, q: Array, stiffness: Array | float = 0.0) -> ArticulatedBodies:
    """Leaf to root, O(n). ``stiffness`` (n + 1, 6, 6) [force per acceleration] adds to the inertias of the links."""
    links = evaluate(model, q)
    inertia = np.zeros((len(links) + 1, 6, 6)) + stiffness
    inertia[:-1] += np.array([link.inertia for link in links])
    joints = articulate(links, inertia)
    return ArticulatedBodies(links, joints, [carry(link, joint) for link, joint in zip(links, joints, strict=True)])


def pairwise_matrix(bodies: ArticulatedBodies, ends: Sequence[Rows], block: Callable[[int, int, int], Array]) -> Array:
    """The symmetric matrix of ``block(e, f, g)`` for all ends e and f, g being the link where their paths meet."""
    at, m = spans(ends), targets(ends).size
    matrix = np.zeros((m, m))
    for e in range(len(ends)):
        for f in range(e + 1):
            g = bodies.meeting(ends[e].link, ends[f].link)
            if g != WORLD:
                matrix[at[e], at[f]] = block(e, f, g)
                matrix[at[f], at[e]] = matrix[at[e], at[f]].T
    return matrix
