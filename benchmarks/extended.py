"""Linear algebra in extended precision, which NumPy has for doubles only; for matrices of some dozen rows."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Exact: TypeAlias = NDArray[np.longdouble]

#: Directions that a matrix stretches less than this, relative to its largest column, count as singular.
CUTOFF = 1e-9


def cholesky(H: Exact) -> Exact:
    """The lower C of H = C C^T."""
    C = np.zeros_like(H)
    for k in range(len(H)):
        C[k:, k] = H[k:, k] - C[k:, :k] @ C[k, :k]
        C[k:, k] /= np.sqrt(C[k, k])
    return C


def forward_substitute(C: Exact, right: Exact) -> Exact:
    """C^-1 right for a lower C."""
    x = np.array(right, np.longdouble)
    for k in range(len(C)):
        x[k] = (x[k] - C[k, :k] @ x[:k]) / C[k, k]
    return x


def back_substitute(T: Exact, right: Exact) -> Exact:
    """T^-1 right for an upper T."""
    return forward_substitute(T[::-1, ::-1], right[::-1])[::-1]


def pseudo_inverse(Y: Exact) -> Exact:
    """Y^+, singular directions left out: Y = W Q^T with orthonormal Q, then W^+ by the same means."""
    Q, _ = orthonormal_basis(Y.T)
    W = Y @ Q
    P, order = orthonormal_basis(W)
    inverse = np.zeros((W.shape[1], W.shape[0]), np.longdouble)
    inverse[order] = back_substitute(P.T @ W[:, order], P.T)
    pseudo: Exact = Q @ inverse
    return pseudo


def orthonormal_basis(A: Exact) -> tuple[Exact, list[int]]:
    """Of the columns of A, largest remainder first, and the columns in that order: Gram and Schmidt, twice."""
    basis, order, rest = np.zeros((len(A), 0), np.longdouble), list[int](), A.copy()
    smallest = CUTOFF * np.sqrt((A**2).sum(axis=0)).max()
    while len(order) < min(A.shape):
        k = int(np.argmax((rest**2).sum(axis=0)))
        if np.sqrt(rest[:, k] @ rest[:, k]) <= smallest:
            break
        direction = rest[:, k] - basis @ (basis.T @ rest[:, k])
        direction /= np.sqrt(direction @ direction)
        rest -= np.outer(direction, direction @ rest)
        basis, order = np.column_stack([basis, direction]), [*order, k]
    return basis, order
