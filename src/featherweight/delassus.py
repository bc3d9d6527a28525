"""Delassus matrices: how forces along constraint rows accelerate the rows, and the inverse of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from .constrained import activity
from .constraints import Constraint, ConstraintSet, compiled_for
from .description import Array
from .model import Model

DelassusMethod = Literal["auto", "ltl", "pv_osim", "pv_osim_base"]
InverseMethod = Literal["auto", "pv_osim_base", "dense", "ltl"]

#: Kernels whose name is not that of the method. Delta itself asks no more of a floating base than pv_osim does there;
#: its inverse by limbs is another matter.
_MATRIX_KERNELS = {"ltl": "ltl_osim", "pv_osim_base": "pv_osim"}
_INVERSE_KERNELS = {"ltl": "ltl_inverse", "dense": "pv_inverse"}

#: Mobility of a row over its pivot, beyond which a matrix counts as singular.
_SINGULAR = 1e10


def delassus(
    model: Model,
    q: ArrayLike,
    constraints: Sequence[Constraint] | ConstraintSet,
    *,
    method: DelassusMethod = "auto",
    active: ArrayLike | None = None,
    num_threads: int | None = None,
) -> Array:
    """The Delassus matrix J H^-1 J^T, (..., n_rows, n_rows): accelerations of the rows per force along each of them.

    q: (nq,) or a batch (batch, nq) of configurations. constraints: a list, or a ConstraintSet to reuse; on links, or
    between two. Their compliance is not part of the matrix. active: (n_constraints,) or (batch, n_constraints) of bool;
    rows and columns of inactive constraints are zero.
    method:
      "auto"          the one that takes the fewest operations
      "ltl"           O(n d^2 + m d^2 + m^2 d) for m rows under d joints, in joint space
      "pv_osim"       O(n + m^2 d)
      "pv_osim_base"  the same; the variant for floating bases differs in ``delassus_inverse`` only

    >>> robot = fw.models.quadruped()
    >>> feet = [fw.PointConstraint("front_left_foot"), fw.PointConstraint("front_right_foot")]
    >>> fw.delassus(robot, robot.neutral(), feet).shape
    (6, 6)
    """
    compiled = compiled_for(model, constraints)
    name = resolved(_known(method, DelassusMethod), compiled)
    return _core.delassus(model, q, compiled, activity(active), _MATRIX_KERNELS.get(name, name), num_threads)


def delassus_inverse(
    model: Model,
    q: ArrayLike,
    constraints: Sequence[Constraint] | ConstraintSet,
    *,
    damping: ArrayLike = 1e-6,
    method: InverseMethod = "auto",
    active: ArrayLike | None = None,
    num_threads: int | None = None,
) -> Array:
    """(J H^-1 J^T + R)^-1, (..., n_rows, n_rows): forces along the rows that bring about accelerations of them.

    damping: R > 0, a number, one per row (n_rows,), or per sample and row (batch, n_rows), in the rows' units of
    acceleration per force [1/kg, 1/(kg m^2)]. It makes the inverse exist where rows depend on each other; with
    independent rows :func:`operational_space_inertia` needs none. Rows and columns of inactive constraints are zero.
    method:
      "auto"          "pv_osim_base", or "dense" for constraints between two links
      "pv_osim_base"  limb by limb, each where it ends
      "dense"         the matrix by "pv_osim", then inverted, O(m^3)
      "ltl"           the matrix by "ltl", then inverted, O(m^3)

    A damped matrix of condition c is inverted to about 1e-15 c, as any inverse in double precision is.
    """
    compiled = compiled_for(model, constraints)
    numbers = _damping(damping, compiled)
    if numbers.min() <= 0:
        raise ValueError(f"damping: must be positive, got {damping!r}; operational_space_inertia needs none")
    return _inverse(model, q, compiled, numbers, method, active, num_threads)[0]


def operational_space_inertia(
    model: Model,
    q: ArrayLike,
    constraints: Sequence[Constraint] | ConstraintSet,
    *,
    method: InverseMethod = "auto",
    active: ArrayLike | None = None,
    num_threads: int | None = None,
) -> Array:
    """(J H^-1 J^T)^-1, (..., n_rows, n_rows): the inertia that forces along the rows feel, rows being independent.

    ValueError where they are not, naming the sample; :func:`delassus_inverse` with some damping takes any rows.
    """
    compiled = compiled_for(model, constraints)
    inverse, weakest = _inverse(model, q, compiled, np.zeros(compiled.n_rows), method, active, num_threads)
    singular = ~(weakest < _SINGULAR)
    if singular.any():
        where = "" if singular.ndim == 0 else f" in sample {np.flatnonzero(singular)[0]}"
        raise ValueError(
            f"constraints: their rows depend on each other{where}, so the Delassus matrix is singular; "
            "use delassus_inverse with some damping"
        )
    return inverse


def resolved(method: str, constraints: ConstraintSet) -> str:
    """The method that "auto" stands for."""
    return "pv_osim" if method == "auto" else method


def _inverse(
    model: Model,
    q: ArrayLike,
    constraints: ConstraintSet,
    damping: Array,
    method: InverseMethod,
    active: ArrayLike | None,
    num_threads: int | None,
) -> tuple[Array, Array]:
    """The inverse, and per sample the mobility of a row over its pivot, at most."""
    name = _known(method, InverseMethod)
    name = "pv_osim_base" if name == "auto" else name
    mask, n = activity(active), constraints.n_rows
    kernel = _INVERSE_KERNELS.get(name, name)
    result = _core.delassus_inverse(model, q, constraints, damping, mask, kernel, num_threads)
    return result[..., :-1].reshape(*result.shape[:-1], n, n), result[..., -1]


def _known(method: str, known: object) -> str:
    if method not in get_args(known):
        raise ValueError(f"method: unknown {method!r}, expected one of {', '.join(get_args(known))}")
    return method


def _damping(damping: ArrayLike, constraints: ConstraintSet) -> Array:
    numbers = np.asarray(damping, dtype=np.float64)
    if numbers.ndim == 0:
        numbers = np.full(constraints.n_rows, numbers)
    if not np.isfinite(numbers).all():
        raise ValueError(f"damping: must be finite, got {damping!r}")
    return numbers
