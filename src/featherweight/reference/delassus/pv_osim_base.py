"""The inverse of the Delassus matrix where limbs meet at a base, O(n + m^2 d) and b^3 for each limb of b rows.

As in pv_osim the rows travel inwards, but only to the base. There L still has one block per limb, and the base adds no
more than the columns of its own degrees of freedom: by the matrix inversion lemma it takes the inverses of the blocks,
and one of as many rows as the base has degrees of freedom. Source: A. S. Sathya et al., "Efficient constrained dynamics
algorithms based on an equivalent LQR formulation using Gauss' principle of least constraint". Oracle: the inverse of
J H^-1 J^T + R.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.constraints import Rows, cholesky, rows_by_link, solve_factored, solve_independent, spans
from featherweight.reference.delassus.bodies import articulated_bodies
from featherweight.reference.tree import WORLD


def pv_osim_base(
    model: ModelDescription, q: Array, rows: Sequence[Rows], damping: Array | float = 0.0, *, pivot: float = 1e-3
) -> tuple[Array, Array]:
    """((Delta + R)^-1, Delta), Delta = J H^-1 J^T; R is the ``damping`` of all rows or of each.

    A limb counts as singular if its joints alone move one of its rows, those before it held, by no more than ``pivot``
    of what the whole robot moves it. Delta + R is then inverted as a whole; ValueError if that is singular too.
    """
    bodies, K = articulated_bodies(model, q), rows_by_link(rows, len(model.links))
    R = np.diag(np.broadcast_to(np.asarray(damping, dtype=np.float64), K.shape[1]))
    L, bases = np.zeros_like(R), list[tuple[Array, Array]]()
    for i, (link, joint) in reversed(list(enumerate(zip(bodies.links, bodies.joints, strict=True)))):
        G = K[i] @ link.S
        if link.parent == WORLD:
            bases.append((G, joint.D_inverse))
        else:
            L += G @ joint.D_inverse @ G.T
            K[link.parent] += K[i] @ bodies.Phi[i]
    delassus = L + sum((G @ D_inverse @ G.T for G, D_inverse in bases), np.zeros_like(L))

    limbs: dict[tuple[int, ...], list[int]] = {}  # rows, by the base and the first link of the limb
    for row, span in zip(rows, spans(rows), strict=True):
        limbs.setdefault(tuple(bodies.path(row.link)[-2:]), []).extend(range(span.start, span.stop))
    inverse = np.zeros_like(L)
    for at in limbs.values():
        factor = cholesky((L + R)[np.ix_(at, at)], pivot * np.diag(delassus + R)[at])
        if factor is None:
            return solve_independent(delassus + R, np.eye(len(R))), delassus
        inverse[np.ix_(at, at)] = solve_factored(factor, np.eye(len(at)))
    for G, D_inverse in bases:  # of one tree each: they share no rows
        Y = inverse @ G
        inverse = inverse - Y @ np.linalg.solve(np.linalg.inv(D_inverse) + G.T @ Y, Y.T)
    return inverse, delassus
