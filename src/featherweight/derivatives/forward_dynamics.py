"""Derivatives of forward dynamics."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..core_tables import Layout
from ..model.model import Model
from ..records import Record


@dataclass(frozen=True, eq=False)
class AbaDerivatives(Record):
    """Accelerations and their derivatives: row i of a matrix is that of a[i], columns of ``dq`` are along velocities.

    Can be pickled; compares by value.

    >>> model = fw.models.pendulum()
    >>> d = fw.aba_derivatives(model, np.zeros(1), np.zeros(1), np.zeros(1))  # hanging: a = -g q
    >>> d.dq
    array([[-9.81]])
    """

    a: Array  # (..., nv) accelerations, as of aba
    dq: Array  # (..., nv, nv) by the configuration, in its tangent space
    dv: Array  # (..., nv, nv) by the velocity
    dtau: Array  # (..., nv, nv) by the joint forces: the inverse of the joint-space inertia


def aba_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    num_threads: int | None = None,
) -> AbaDerivatives:
    """Forward dynamics a = H(q)^-1 (tau + J^T f_ext - h(q, v)), and its derivatives by q, v and tau, exact.

    q, v, tau: (nq,), (nv,), (nv,), or batches of them. f_ext: forces on the links, (n_links, 6), which turn with them.

    >>> model = fw.models.quadruped()
    >>> q, v, tau = model.neutral(), np.full(model.nv, 0.2), np.ones(model.nv)
    >>> d = fw.aba_derivatives(model, q, v, tau)
    >>> step = 1e-6 * np.ones(model.nv)
    >>> change = fw.aba(model, model.integrate(q, step), v, tau) - d.a
    >>> bool(np.abs(change - d.dq @ step).max() < 1e-7)
    True
    """
    table = _core.aba_derivatives(model, q, v, tau, f_ext, num_threads)
    n = model.nv
    return AbaDerivatives(**Layout(a=(n,), dq=(n, n), dv=(n, n), dtau=(n, n)).split(table))


def aba_vjp(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    w: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    num_threads: int | None = None,
) -> tuple[Array, Array, Array]:
    """w^T times the derivatives of forward dynamics by q, v and tau, (..., nv) each, in O(nv): no matrix is formed.

    With w the gradient of some cost by the accelerations, these are its gradients by configuration, velocity and joint
    forces.

    >>> model = fw.models.quadruped()
    >>> rng = np.random.default_rng(0)
    >>> v, tau, w = rng.normal(size=(3, model.nv))
    >>> by_q, by_v, by_tau = fw.aba_vjp(model, model.neutral(), v, tau, w)
    >>> d = fw.aba_derivatives(model, model.neutral(), v, tau)
    >>> bool(np.allclose(by_q, w @ d.dq) and np.allclose(by_v, w @ d.dv) and np.allclose(by_tau, w @ d.dtau))
    True
    """
    table = _core.aba_vjp(model, q, v, tau, w, f_ext, num_threads)
    n = model.nv
    return table[..., :n], table[..., n : 2 * n], table[..., 2 * n :]
