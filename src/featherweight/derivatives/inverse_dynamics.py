"""Derivatives of inverse dynamics."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..core_tables import Layout
from ..model.model import Model
from ..records import Record


@dataclass(frozen=True, eq=False)
class RneaDerivatives(Record):
    """Joint forces and their derivatives: row i of a matrix is that of tau[i].

    Column k of ``dq`` is the derivative along the k-th velocity: of ``rnea(model, model.integrate(q, t e_k), v, a)`` at
    t = 0. Can be pickled; compares by value.

    >>> model = fw.models.pendulum()
    >>> fw.rnea_derivatives(model, [0.0], [0.0], [0.0]).dq.round(2)
    array([[9.81]])
    """

    tau: Array  # (..., nv) joint forces, as of rnea [N, N m]
    dq: Array  # (..., nv, nv) by the configuration, in its tangent space
    dv: Array  # (..., nv, nv) by the velocity
    da: Array  # (..., nv, nv) by the acceleration: the joint-space inertia H(q)


def rnea_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    num_threads: int | None = None,
) -> RneaDerivatives:
    """Inverse dynamics tau = H(q) a + h(q, v) - J^T f_ext, and its derivatives by q, v and a, exact, in O(nv depth).

    q, v, a: (nq,), (nv,), (nv,), or batches of them. f_ext: forces on the links, (n_links, 6), which turn with them.

    >>> model = fw.models.arm()
    >>> q, v, a = model.neutral() + 0.5, np.full(model.nv, 0.2), np.ones(model.nv)
    >>> d = fw.rnea_derivatives(model, q, v, a)
    >>> step = 1e-6 * np.ones(model.nv)
    >>> change = fw.rnea(model, model.integrate(q, step), v, a) - d.tau
    >>> bool(np.abs(change - d.dq @ step).max() < 1e-9)
    True
    >>> bool(np.allclose(d.da, fw.crba(model, q)))
    True
    """
    table = _core.rnea_derivatives(model, q, v, a, f_ext, num_threads)
    n = model.nv
    return RneaDerivatives(**Layout(tau=(n,), dq=(n, n), dv=(n, n), da=(n, n)).split(table))


def rnea_vjp(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    w: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    num_threads: int | None = None,
) -> tuple[Array, Array, Array]:
    """w^T times the derivatives of inverse dynamics by q, v and a, (..., nv) each, in O(nv): no matrix is formed.

    With w the gradient of some cost by the joint forces, these are its gradients by configuration, velocity and
    acceleration: about twice the work of rnea.

    >>> model = fw.models.quadruped()
    >>> rng = np.random.default_rng(0)
    >>> v, a, w = rng.normal(size=(3, model.nv))
    >>> by_q, by_v, by_a = fw.rnea_vjp(model, model.neutral(), v, a, w)
    >>> d = fw.rnea_derivatives(model, model.neutral(), v, a)
    >>> bool(np.allclose(by_q, w @ d.dq) and np.allclose(by_v, w @ d.dv) and np.allclose(by_a, w @ d.da))
    True
    """
    table = _core.rnea_vjp(model, q, v, a, w, f_ext, num_threads)
    n = model.nv
    return table[..., :n], table[..., n : 2 * n], table[..., 2 * n :]
