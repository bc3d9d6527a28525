"""The Delassus matrix as an operator, never formed: products and damped solutions by sweeps over the bodies.

Delta x is what the rows see of the accelerations under forces x. (Delta + R) x = b is one sweep over bodies that carry
the rows as springs of stiffness 1 / R. Springs too stiff for that are made softer, and conjugate gradients lead from
the softened system to the wanted one: all eigenvalues are then near one where something moves the rows, and R over the
softer damping where nothing does. Source: A. S. Sathya and J. Carpentier, "Constrained articulated body dynamics
algorithms". Oracle: dense algebra.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.articulated import accelerate, mobilities
from featherweight.reference.constraints import row_values, rows_by_link, solve_factored
from featherweight.reference.delassus.bodies import ArticulatedBodies, articulated_bodies
from featherweight.reference.delassus.ends import Constraint, row_damping, split
from featherweight.reference.tree import sizes


class DelassusOperator:
    """Delta = J H^-1 J^T, and Delta + R with R > 0 the ``damping`` of all rows or of each; O(n + m) per sweep.

    Springs are softened to ``softness`` times the mobility of their rows. Rows between two links are kept apart, as a
    spring would couple the links beyond the tree: l of them cost a factorisation once, and l^2 in every solution.
    """

    def __init__(
        self,
        model: ModelDescription,
        q: Array,
        constraints: Sequence[Constraint],
        damping: Array | float,
        *,
        softness: float = 1e-4,
    ) -> None:
        ends, P = split(constraints)
        self.nv = sizes(model)[1]
        self.K, self.R = P @ rows_by_link(ends, len(model.links)), row_damping(damping, len(P))
        self.bodies = articulated_bodies(model, q)
        self.rigid = P.sum(axis=1) > 1
        mobility = mobilities(self.bodies.links, self.bodies.joints, self.K)
        self.W = np.where(self.rigid, 0.0, 1 / np.maximum(self.R, softness * mobility))
        self.stiffened = articulated_bodies(model, q, self.K.transpose(0, 2, 1) * self.W @ self.K)
        seen = [self._seen(self.stiffened, unit) for unit in np.eye(len(P))[self.rigid]]
        D = np.vstack([np.zeros((0, len(P))), *seen])[:, self.rigid]
        self.factor = np.linalg.cholesky(D + np.diag(np.maximum(self.R[self.rigid], softness * np.diag(D))))

    def apply(self, x: Array) -> Array:
        """Delta x, (m,)."""
        return self._seen(self.bodies, x)

    def solve(self, b: Array, *, tolerance: float = 1e-15, max_iterations: int = 200) -> Array:
        """(Delta + R)^-1 b, (m,), by conjugate gradients: one or two steps if no spring is too stiff."""
        x, r = np.zeros_like(b), b
        p = z = self._solve_softened(r)
        rest = whole = float(r @ z)
        for _ in range(max_iterations):
            if rest <= tolerance**2 * whole:
                return x
            Ap = self.apply(p) + self.R * p
            step = rest / (p @ Ap)
            x, r = x + step * p, r - step * Ap
            z = self._solve_softened(r)
            rest, before = float(r @ z), rest
            p = z + rest / before * p
        raise RuntimeError(f"(Delta + R) x = b is not solved after {max_iterations} iterations")

    def _solve_softened(self, b: Array) -> Array:
        """(Delta + R)^-1 b, small R made larger."""
        f = self.W * b
        if self.rigid.any():
            f[self.rigid] = solve_factored(self.factor, (b - self._seen(self.stiffened, f))[self.rigid])
        return np.where(self.rigid, f, self.W * (b - self._seen(self.stiffened, f)))

    def _seen(self, bodies: ArticulatedBodies, f: Array) -> Array:
        """What the rows see of the accelerations under their forces ``f``."""
        still = np.zeros((len(bodies.links) + 1, 6))
        _, acceleration = accelerate(bodies.links, bodies.joints, np.zeros(self.nv), still, -f @ self.K)
        return row_values(self.K, acceleration)
