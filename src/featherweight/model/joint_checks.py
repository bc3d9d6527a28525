"""What a joint is given, checked: axes, limits, springs, numbers per degree of freedom."""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import counted, frozen, numbers, vector
from ..errors import ModelError
from .description import JOINT_SIZES, JointType

AxisLike = ArrayLike | Literal["x", "y", "z"]

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_AXIS_TYPES = ("revolute", "continuous", "prismatic", "helical", "universal")


def checked_range(element: str, field: str, value: tuple[float, float] | None) -> tuple[float, float] | None:
    if value is None:
        return None
    low, up = (float(x) for x in numbers(element, field, value, (2,), "a lower and an upper number"))
    if low > up:
        raise ModelError(element, f"{field} must have its lower bound first, got ({low:g}, {up:g})")
    return low, up


def checked_axes(
    element: str, type: JointType, axis: AxisLike | None, axis2: AxisLike | None
) -> tuple[Array | None, Array | None]:
    if axis is not None and type not in _AXIS_TYPES:
        raise ModelError(element, f"a {type} joint has no axis")
    if axis2 is not None and type != "universal":
        raise ModelError(element, f"a {type} joint has no axis2")
    first = _checked_axis(element, "axis", axis) if type in _AXIS_TYPES else None
    if type != "universal":
        return first, None
    second = _checked_axis(element, "axis2", axis2)
    assert first is not None
    if float(np.linalg.norm(np.cross(first, second))) < 1e-6:
        raise ModelError(element, "axis and axis2 are parallel")
    return first, second


def _checked_axis(element: str, field: str, axis: AxisLike | None) -> Array:
    if axis is None:
        raise ModelError(element, f'{field} is needed: "x", "y", "z" or three numbers')
    if isinstance(axis, str):
        if axis not in _AXES:
            raise ModelError(element, f'{field} must be "x", "y", "z" or three numbers, got {axis!r}')
        return frozen(np.array(_AXES[axis]))
    direction = numbers(element, field, axis, (3,))
    scale = float(np.abs(direction).max())
    if scale == 0.0:
        raise ModelError(element, f"{field} is zero")
    norm = float(np.linalg.norm(direction / scale)) * scale
    if abs(norm - 1.0) <= 1e-15:  # already a unit vector: keep its bits
        return direction
    return frozen((direction / scale) / (norm / scale))


def checked_limits(
    element: str, type: JointType, lower: ArrayLike | None, upper: ArrayLike | None
) -> tuple[Array | None, Array | None]:
    if lower is None and upper is None:
        return None, None
    nq = JOINT_SIZES[type][0]
    low = _spread(element, "lower", -np.inf if lower is None else lower, nq)
    up = _spread(element, "upper", np.inf if upper is None else upper, nq)
    crossed = np.flatnonzero(low > up)
    if crossed.size:
        i = int(crossed[0])
        raise ModelError(element, f"lower limit {low[i]:g} is above the upper limit {up[i]:g}")
    if (low == np.inf).any() or (up == -np.inf).any():
        raise ModelError(element, "a lower limit of +inf or an upper limit of -inf leaves no range")
    unlimited = {"continuous": slice(0, 1), "spherical": slice(0, 4), "free": slice(3, 7)}.get(type)
    if unlimited is not None and (np.isfinite(low[unlimited]).any() or np.isfinite(up[unlimited]).any()):
        raise ModelError(element, f"a {type} joint cannot have limits on its rotation")
    return low, up


def checked_spring(
    element: str, type: JointType, stiffness: ArrayLike | None, rest_position: ArrayLike | None
) -> tuple[Array | None, Array | None]:
    nv = JOINT_SIZES[type][1]
    k = per_dof(element, "stiffness", stiffness, nv)
    rest = None if rest_position is None else _spread(element, "rest_position", rest_position, nv)
    if rest is not None and not np.isfinite(rest).all():
        raise ModelError(element, f"rest_position must be finite, got {vector(rest)}")
    if k is not None and k.any() and type in ("spherical", "free"):
        raise ModelError(element, f"a {type} joint cannot have a spring: use joints with one degree of freedom each")
    return k, rest


def checked_start(element: str, type: JointType, start: ArrayLike | None) -> Array | None:
    if start is None:
        return None
    nq = JOINT_SIZES[type][0]
    given = np.atleast_1d(np.asarray(start)) if nq == 1 else start
    values = numbers(element, "start", given, (nq,), counted(nq, "coordinate"))
    if type not in ("spherical", "free"):
        return values
    length = float(np.linalg.norm(values[-4:]))
    if abs(length - 1.0) > 1e-6:  # as everywhere: rounding is corrected, nothing else
        raise ModelError(element, f"start has a quaternion of length {length:g}, expected 1")
    if abs(length - 1.0) <= 1e-15:  # keep its bits
        return values
    return frozen(np.concatenate([values[:-4], values[-4:] / length]))


def per_dof(
    element: str, field: str, value: ArrayLike | None, nv: int, *, allow_infinite: bool = False, most: float = np.inf
) -> Array | None:
    if value is None:
        return None
    result = _spread(element, field, value, nv)
    if (result < 0.0).any():
        raise ModelError(element, f"{field} must not be negative, got {vector(result)}")
    if not allow_infinite and not np.isfinite(result).all():
        raise ModelError(element, f"{field} must be finite, got {vector(result)}")
    if (result > most).any():
        raise ModelError(element, f"{field} must be at most {most:g}, got {vector(result)}")
    return result


def _spread(element: str, field: str, value: ArrayLike, n: int) -> Array:
    """``n`` numbers from one or from ``n``; infinities pass, NaN does not."""
    if n == 0 and np.size(cast(Any, value)):
        raise ModelError(element, f"{field} has no meaning for a fixed joint")
    if np.ndim(cast(Any, value)) == 0:
        value = np.repeat(np.asarray(value), n)
    return numbers(element, field, value, (n,), f"one number or {n}", allow_infinite=True)
