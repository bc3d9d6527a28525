"""Derivatives of forward dynamics: where H a + h = tau, a change of either side leaves H da = dtau - d(H a + h).

Source: J. Carpentier and N. Mansard, "Analytical derivatives of rigid body dynamics algorithms", 2018.
"""

from __future__ import annotations

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.aba import aba
from featherweight.reference.minverse import minverse
from featherweight.reference.rnea_derivatives import rnea_derivatives


def aba_derivatives(
    model: ModelDescription, q: Array, v: Array, tau: Array, f_ext: Array | None = None
) -> tuple[Array, Array, Array, Array]:
    """(a, its derivatives by q, v and tau), (nv,) and (nv, nv) each; by q in the tangent space."""
    a = aba(model, q, v, tau, f_ext)
    _, dq, dv, _ = rnea_derivatives(model, q, v, a, f_ext)
    H_inverse = minverse(model, q)
    return a, -H_inverse @ dq, -H_inverse @ dv, H_inverse
