"""The inverse of the joint-space mass matrix from articulated bodies, O(n^2), H never formed.

Column k is the response of the robot, at rest and without gravity, to a unit force at degree of freedom k; all columns
run through the sweeps of aba side by side. Source: J. Carpentier, "Analytical inverse of the joint space inertia
matrix".
"""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.tree import evaluate, sizes


def minverse(model: ModelDescription, q: Array) -> Array:
    """H(q)^-1, (nv, nv), full and symmetric."""
    links = evaluate(model, q)
    n, nv = len(links), sizes(model)[1]
    I_A = np.zeros((n + 1, 6, 6))
    I_A[:-1] = [link.inertia for link in links]
    p, acceleration = np.zeros((2, n + 1, 6, nv))  # one column per unit force

    # sweep 1, leaf to root: articulated inertias, and the pushes that reach link i from its subtree
    factors = {}
    for i, link in reversed(list(enumerate(links))):
        U = I_A[i] @ link.S
        D_inverse = np.linalg.inv(link.S.T @ U + np.diag(link.armature))
        u = np.eye(nv)[link.dofs] - link.S.T @ p[i]
        factors[i] = U, D_inverse, u
        I_A[link.parent] += link.X.T @ (I_A[i] - U @ D_inverse @ U.T) @ link.X
        p[link.parent] += link.X.T @ (p[i] + U @ D_inverse @ u)

    # sweep 2, root to leaf: accelerations
    result = np.zeros((nv, nv))
    for i, link in enumerate(links):
        U, D_inverse, u = factors[i]
        carried = link.X @ acceleration[link.parent]
        result[link.dofs] = D_inverse @ (u - U.T @ carried)
        acceleration[i] = carried + link.S @ result[link.dofs]
    return result
