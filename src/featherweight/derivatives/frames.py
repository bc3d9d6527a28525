"""Derivatives of the motion of frames.

That of a placement needs no function of its own: as q moves along the k-th velocity, the frame moves by column k of
``fw.jacobian``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..model.model import Model
from ..records import Record

Reference = Literal["local", "world", "local_world_aligned"]


@dataclass(frozen=True, eq=False)
class FrameVelocityDerivatives(Record):
    """Of the six numbers of a frame's velocity, in the reference asked for. Can be pickled; compares by value.

    >>> model = fw.models.arm()
    >>> d = fw.frame_velocity_derivatives(model, model.neutral(), np.ones(7), "flange")
    >>> np.array_equal(d.dv, fw.jacobian(model, model.neutral(), "flange"))
    True
    """

    dq: Array  # (..., 6, nv) by the configuration, in its tangent space
    dv: Array  # (..., 6, nv) by the velocity: the Jacobian


@dataclass(frozen=True, eq=False)
class FrameAccelerationDerivatives(Record):
    """Of the six numbers of a frame's acceleration, in the reference asked for. Can be pickled; compares by value.

    >>> model = fw.models.arm()
    >>> d = fw.frame_acceleration_derivatives(model, model.neutral(), np.ones(7), np.zeros(7), "flange")
    >>> np.array_equal(d.da, fw.jacobian(model, model.neutral(), "flange"))
    True
    """

    dq: Array  # (..., 6, nv) by the configuration, in its tangent space
    dv: Array  # (..., 6, nv) by the velocity
    da: Array  # (..., 6, nv) by the acceleration: the Jacobian


def frame_velocity_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    frame: str | int,
    *,
    reference: Reference = "local",
    num_threads: int | None = None,
) -> FrameVelocityDerivatives:
    """Derivatives of :func:`featherweight.frame_velocity` by q and v, exact.

    q, v: (nq,), (nv,), or batches of them. reference: see :func:`featherweight.frame_velocity`.

    >>> model = fw.models.arm()
    >>> q, v = model.neutral() + 0.3, np.ones(model.nv)
    >>> d = fw.frame_velocity_derivatives(model, q, v, model.link_names[-1])
    >>> bool(np.allclose(d.dv, fw.jacobian(model, q, model.link_names[-1])))
    True
    """
    table = _core.frame_velocity_derivatives(model, q, v, frame, reference, num_threads)
    return FrameVelocityDerivatives(dq=table[..., 0, :, :], dv=table[..., 1, :, :])


def frame_acceleration_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    frame: str | int,
    *,
    reference: Reference = "local",
    classical: bool = False,
    num_threads: int | None = None,
) -> FrameAccelerationDerivatives:
    """Derivatives of :func:`featherweight.frame_acceleration` by q, v and a, exact.

    q, v, a: (nq,), (nv,), (nv,), or batches of them. reference, classical: see
    :func:`featherweight.frame_acceleration`.

    >>> model = fw.models.arm()
    >>> q, v = model.neutral() + 0.3, np.ones(model.nv)
    >>> d = fw.frame_acceleration_derivatives(model, q, v, v, model.link_names[-1], classical=True)
    >>> d.dq.shape == d.dv.shape == d.da.shape == (6, model.nv)
    True
    """
    table = _core.frame_acceleration_derivatives(model, q, v, a, frame, reference, classical, num_threads)
    return FrameAccelerationDerivatives(dq=table[..., 0, :, :], dv=table[..., 1, :, :], da=table[..., 2, :, :])
