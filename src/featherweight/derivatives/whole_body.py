"""Derivatives of the centre of mass and of the momentum about it."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..model.model import Model
from ..records import Record


@dataclass(frozen=True, eq=False)
class CenterOfMassDerivatives(Record):
    """Of the centre of mass. Can be pickled; compares by value.

    >>> fw.center_of_mass_derivatives(fw.models.pendulum(), np.zeros(1)).dq[:, 0]  # along x, as it hangs
    array([-1.,  0.,  0.])
    """

    dq: Array  # (..., 3, nv) by the configuration, in its tangent space: dq @ v is its velocity


@dataclass(frozen=True, eq=False)
class CentroidalMomentumDerivatives(Record):
    """Of the momentum [linear; angular] about the centre of mass. Can be pickled; compares by value.

    >>> model = fw.models.quadruped()
    >>> d = fw.centroidal_momentum_derivatives(model, model.neutral(), np.zeros(model.nv))
    >>> d.dv.shape
    (6, 18)
    """

    dq: Array  # (..., 6, nv) by the configuration, in its tangent space
    dv: Array  # (..., 6, nv) by the velocity: the centroidal momentum matrix


def center_of_mass_derivatives(
    model: Model, q: ArrayLike, *, num_threads: int | None = None
) -> CenterOfMassDerivatives:
    """Derivative of :func:`featherweight.center_of_mass` by q, exact. q: (nq,) or (batch, nq).

    >>> model = fw.models.quadruped()
    >>> d = fw.center_of_mass_derivatives(model, model.neutral())
    >>> d.dq[:, :3]  # the base carries it along
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    return CenterOfMassDerivatives(dq=_core.center_of_mass_derivatives(model, q, num_threads))


def centroidal_momentum_derivatives(
    model: Model, q: ArrayLike, v: ArrayLike, *, num_threads: int | None = None
) -> CentroidalMomentumDerivatives:
    """Derivatives of :func:`featherweight.centroidal_momentum` by q and v, exact. q, v: (nq,), (nv,), or batches.

    >>> model = fw.models.quadruped()
    >>> q, v = model.neutral(), np.ones(model.nv)
    >>> d = fw.centroidal_momentum_derivatives(model, q, v)
    >>> bool(np.allclose(d.dv @ v, fw.centroidal_momentum(model, q, v)))
    True
    """
    table = _core.centroidal_momentum_derivatives(model, q, v, num_threads)
    return CentroidalMomentumDerivatives(dq=table[..., 0, :, :], dv=table[..., 1, :, :])
