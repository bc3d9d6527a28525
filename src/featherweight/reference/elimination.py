"""Constraint forces eliminated from rows K a + L f = k, one by one or a block at once, and recovered afterwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array


@dataclass(frozen=True, eq=False)
class Turn:
    """Some rows replaced by as many orthogonal combinations of them."""

    rows: list[int]
    Q: Array

    def recover(self, f: Array, _: Array) -> None:
        f[self.rows] = self.Q @ f[self.rows]


@dataclass(frozen=True, eq=False)
class Removal:
    """The equation of one row, when it went."""

    row: int
    others: list[int]
    K: Array  # (6,)
    k: float
    L: Array  # (number of others,)
    pivot: float

    def recover(self, f: Array, acceleration: Array) -> None:
        f[self.row] = (self.k - self.K @ acceleration - self.L @ f[self.others]) / self.pivot


@dataclass(frozen=True, eq=False)
class RowSystem:
    """All rows, each on the acceleration of the link it has come to; rows on different links share no entry of L."""

    K: Array  # (m, 6)
    L: Array  # (m, m) symmetric, positive definite
    k: Array  # (m,)

    def remove(self, row: int, others: list[int]) -> Removal:
        """Eliminates the force of ``row`` from ``others``, the rows that stay on its link."""
        gone = Removal(row, others, self.K[row].copy(), self.k[row], self.L[row, others], self.L[row, row])
        share = gone.L / gone.pivot
        self.K[others] -= np.outer(share, gone.K)
        self.k[others] -= share * gone.k
        self.L[np.ix_(others, others)] -= np.outer(share, gone.L)
        return gone

    def fold(self, rows: list[int]) -> tuple[list[int], list[Turn | Removal]]:
        """(at most six of the rows, how they were made): six combinations hold all that is said about the link.

        The others, turned so that they see no acceleration of it, are equations between forces alone.
        """
        if len(rows) <= 6:
            return rows, []
        Q, R = np.linalg.qr(self.K[rows], mode="complete")
        self.K[rows] = R
        self.k[rows] = Q.T @ self.k[rows]
        self.L[np.ix_(rows, rows)] = Q.T @ self.L[np.ix_(rows, rows)] @ Q
        steps: list[Turn | Removal] = [Turn(rows, Q)]
        while len(rows) > 6:
            *rows, last = rows
            steps.append(self.remove(last, rows))
        return rows, steps


def recover(f: Array, steps: list[Turn | Removal], acceleration: Array) -> None:
    """Fills ``f`` with the forces that the steps eliminated, from those that were left."""
    for step in reversed(steps):
        step.recover(f, acceleration)


@dataclass(frozen=True, eq=False)
class Block:
    """Rows that are eliminated together, with L = F diag(d) F^T between them."""

    at: list[int]  # the rows
    K: Array  # (m, 6)
    F: Array
    d: Array

    def solve(self, x: Array) -> Array:
        """L^-1 x."""
        half = np.linalg.solve(self.F, x).T / self.d
        return np.asarray(np.linalg.solve(self.F.T, half.T), dtype=np.float64)


def ldl(A: Array) -> tuple[Array, Array]:
    """(F, d) of A = F diag(d) F^T, F unit lower triangular, in the order of the rows."""
    F, rest = np.eye(len(A)), A.copy()
    for r in range(len(A)):
        F[r:, r] = rest[r:, r] / rest[r, r]
        rest[r + 1 :, r + 1 :] -= np.outer(F[r + 1 :, r], rest[r, r + 1 :])
    return F, np.diag(rest)
