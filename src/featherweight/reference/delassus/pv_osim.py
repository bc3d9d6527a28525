"""The Delassus matrix as what the sweep of Popov and Vereshchagin has gathered at the world, O(n + m^2 d).

The rows travel from their links to the world, and every joint on the way gives in to their forces. Source:
A. S. Sathya et al., "Efficient constrained dynamics algorithms based on an equivalent LQR formulation using Gauss'
principle of least constraint". Oracle: J H^-1 J^T by dense algebra.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.constraints import rows_by_link
from featherweight.reference.delassus.bodies import articulated_bodies
from featherweight.reference.delassus.ends import Constraint, split


def pv_osim(model: ModelDescription, q: Array, constraints: Sequence[Constraint]) -> Array:
    """J H^-1 J^T, (m, m)."""
    bodies = articulated_bodies(model, q)
    ends, P = split(constraints)
    # a link holds what it sees of each row: ends that meet on the way are added up there, and go on as one
    K = P @ rows_by_link(ends, len(bodies.links))
    L = np.zeros((len(P), len(P)))
    for i, (link, joint) in reversed(list(enumerate(zip(bodies.links, bodies.joints, strict=True)))):
        G = K[i] @ link.S
        L += G @ joint.D_inverse @ G.T
        K[link.parent] += K[i] @ bodies.Phi[i]
    return L
