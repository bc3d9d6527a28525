"""One block solved exactly, all others fixed: friction by a secular equation in a viscous coefficient.

Sliding friction is viscous, sigma_T = -beta lambda_T. With the normal eliminated, Ghat = G_TT - G_TN G_NT / G_NN and
w = G_TN / G_NN, beta is the root of mu lambda_N(beta) = |lambda_T(beta)| on
    lambda_T = -(Ghat + beta)^-1 bhat,   lambda_N = n0 - w . lambda_T,
which lies between 0, where sticking leaves the cone, and |bhat| (1 + mu |w|) / (mu n0). Found by bisection here.
"""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.contact.laws import ConeBlock


def solve(A: Array, b: Array) -> Array:
    """Of least norm where rows depend on each other."""
    return np.asarray(np.linalg.lstsq(A, b, rcond=1e-14)[0], dtype=np.float64)


def slide(Ghat: Array, bhat: Array, w: Array, n0: float, mu: float) -> Array:
    """lambda_T on the cone."""

    def tangents(beta: float) -> Array:
        return -solve(Ghat + beta * np.eye(len(bhat)), bhat)

    low, high = 0.0, float(np.linalg.norm(bhat)) * (1 + mu * float(np.linalg.norm(w))) / (mu * n0)
    while low < (middle := (low + high) / 2) < high:
        t = tangents(middle)
        if mu * (n0 - w @ t) < np.linalg.norm(t):
            low = middle
        else:
            high = middle
    return tangents(high)


def solve_block(G: Array, b: Array, block: ConeBlock, radius: float = 0.0) -> Array:
    """Impulses of a block of mobility G that moves with b without them; radius: that of a disc."""
    if block.law == "equality":
        return -solve(G, b)
    if block.law == "unilateral":
        return np.array([max(-b[0] / G[0, 0], 0.0)])
    if block.law == "interval":
        return np.array([min(max(-b[0] / G[0, 0], block.lower), block.upper)])
    if block.law == "disc":
        sticking = -solve(G, b)
        if radius <= 0:
            return np.zeros(len(b))
        return sticking if np.linalg.norm(sticking) <= radius else slide(G, b, np.zeros(len(b)), radius, 1.0)
    if b[2] >= 0:
        return np.zeros(3)
    w, n0 = G[:2, 2] / G[2, 2], -b[2] / G[2, 2]
    Ghat, bhat = G[:2, :2] - np.outer(w, G[2, :2]), b[:2] + G[:2, 2] * n0
    t = -solve(Ghat, bhat)
    if np.linalg.norm(t) > block.mu * (n0 - w @ t):
        t = slide(Ghat, bhat, w, n0, block.mu) if block.mu > 0 else np.zeros(2)
    return np.append(t, n0 - w @ t)
