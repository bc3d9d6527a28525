"""The joint-space mass matrix by the composite-rigid-body algorithm, O(n d). Source: [RBDA] chapter 6."""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.tree import WORLD, evaluate, sizes


def crba(model: ModelDescription, q: Array) -> Array:
    """H(q), (nv, nv), full and symmetric, with the armature on its diagonal."""
    links = evaluate(model, q)
    nv = sizes(model)[1]
    H = np.zeros((nv, nv))
    composite = [link.inertia.copy() for link in links]

    # leaf to root: the subtree from link i on, as one rigid body, is pushed by joint i ...
    for i, link in reversed(list(enumerate(links))):
        force = composite[i] @ link.S
        H[link.dofs, link.dofs] = link.S.T @ force + np.diag(link.armature)
        # ... and every joint between it and the root feels that push
        ancestor = i
        while links[ancestor].parent != WORLD:
            force = links[ancestor].X.T @ force
            ancestor = links[ancestor].parent
            above = links[ancestor]
            H[above.dofs, link.dofs] = above.S.T @ force
            H[link.dofs, above.dofs] = H[above.dofs, link.dofs].T
        if link.parent != WORLD:
            composite[link.parent] += link.X.T @ composite[i] @ link.X
    return H
