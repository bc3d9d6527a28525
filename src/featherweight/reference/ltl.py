"""Constrained forward dynamics by the sparse factorisation H = L^T L in joint space: O(n d^2 + m d^2 + m^2 d + m^3).

L is as sparse as the tree: row k is nonzero only at the degrees of freedom between k and the root. Source:
R. Featherstone, "Efficient factorization of the joint-space inertia matrix for branched kinematic trees". Oracle: kkt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.constraints import Rows, Solution, solution, solve_independent
from featherweight.reference.kkt import equations
from featherweight.reference.tree import evaluate, path


def ltl(
    model: ModelDescription, q: Array, v: Array, tau: Array, rows: Sequence[Rows], f_ext: Array | None = None
) -> Solution:
    """The acceleration and forces; ValueError if the rows are dependent."""
    H, h, J, b = equations(model, q, v, rows, f_ext)
    above = dofs_above(model, q)
    L = factorise(H, above)
    Z = solve_transposed(L, above, J.T)  # L^-T J^T
    w = solve_transposed(L, above, tau - h)
    f = solve_independent(Z.T @ Z, b - Z.T @ w)
    return solution(model, q, v, rows, solve_lower(L, above, w + Z @ f), f)


def dofs_above(model: ModelDescription, q: Array) -> list[list[int]]:
    """Per degree of freedom, those between it and the root, nearest first; those of one joint form a chain."""
    links, above = evaluate(model, q), []
    for link in links:
        beyond = [k for i in path(links, link.parent) for k in _downwards(links[i].dofs)]
        above += [_downwards(slice(link.dofs.start, k)) + beyond for k in range(link.dofs.start, link.dofs.stop)]
    return above


def factorise(H: Array, above: list[list[int]]) -> Array:
    """The lower triangular L of H = L^T L, from the leaves to the root, without fill-in."""
    L = np.tril(H)
    for k in reversed(range(len(L))):
        L[k, k] = np.sqrt(L[k, k])
        L[k, above[k]] /= L[k, k]
        for i in above[k]:
            L[i, : i + 1] -= L[k, i] * L[k, : i + 1]
    return L


def solve_transposed(L: Array, above: list[list[int]], x: Array) -> Array:
    """L^-T x."""
    x = x.copy()
    for k in reversed(range(len(L))):
        x[k] /= L[k, k]
        for i in above[k]:
            x[i] -= L[k, i] * x[k]
    return x


def solve_lower(L: Array, above: list[list[int]], x: Array) -> Array:
    """L^-1 x."""
    x = x.copy()
    for k in range(len(L)):
        x[k] = (x[k] - L[k, above[k]] @ x[above[k]]) / L[k, k]
    return x


def _downwards(dofs: slice) -> list[int]:
    return list(range(dofs.start, dofs.stop))[::-1]
