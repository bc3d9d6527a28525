"""The Delassus matrix by the sparse factorisation H = L^T L in joint space: O(n d^2 + m d^2 + m^2 d).

J^T of an end is nonzero on the degrees of freedom of its path only, and stays so under L^-T. Source: R. Featherstone,
"Exploiting sparsity in operational-space dynamics". Oracle: J H^-1 J^T by dense algebra.
"""

from __future__ import annotations

from collections.abc import Sequence

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.constraints import row_jacobian
from featherweight.reference.crba import crba
from featherweight.reference.delassus.ends import Constraint, split
from featherweight.reference.ltl import dofs_above, factorise, solve_transposed


def ltl_osim(model: ModelDescription, q: Array, constraints: Sequence[Constraint]) -> Array:
    """J H^-1 J^T, (m, m)."""
    ends, P = split(constraints)
    above = dofs_above(model, q)
    L = factorise(crba(model, q), above)
    Z = solve_transposed(L, above, row_jacobian(model, q, ends).T)  # L^-T J^T
    delassus: Array = P @ (Z.T @ Z) @ P.T
    return delassus
