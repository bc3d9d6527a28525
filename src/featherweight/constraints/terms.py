"""What constraints say about a motion: Jacobian, bias, velocity, and how far it is from what they ask for.

All rows of all constraints in the order given, (..., n_rows): those of a point in the axes of its frame, those of a
frame [linear; angular] in its own axes, one for each rod and coupling.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array
from ..model.model import Model
from .compiled_sets import compiled_for
from .constraint_set import AnyConstraint, ConstraintSet


def constraint_jacobian(
    model: Model,
    q: ArrayLike,
    constraints: Sequence[AnyConstraint] | ConstraintSet,
    *,
    num_threads: int | None = None,
) -> Array:
    """J, (..., n_rows, nv): the rows' velocity is J v, and forces f along them act on the joints as J^T f.

    >>> fw.constraint_jacobian(fw.models.pendulum(), [0.0], [fw.PointConstraint("tip", rows="x")])
    array([[-1.]])
    """
    return _core.constraint_jacobian(model, q, compiled_for(model, constraints), num_threads)


def constraint_bias(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    constraints: Sequence[AnyConstraint] | ConstraintSet,
    *,
    num_threads: int | None = None,
) -> Array:
    """gamma, (..., n_rows): the rows' acceleration is J a + gamma, gravity not included.

    >>> model = fw.models.pendulum()
    >>> fw.constraint_bias(model, [0.0], [2.0], [fw.PointConstraint("tip", rows="z")])
    array([4.])
    """
    return _core.constraint_bias(model, q, v, compiled_for(model, constraints), num_threads)


def constraint_velocity(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    constraints: Sequence[AnyConstraint] | ConstraintSet,
    *,
    num_threads: int | None = None,
) -> Array:
    """J v, (..., n_rows) [m/s, rad/s].

    >>> fw.constraint_velocity(fw.models.pendulum(), [0.0], [2.0], [fw.PointConstraint("tip", rows="x")])
    array([-2.])
    """
    return _core.constraint_velocity(model, q, v, compiled_for(model, constraints), num_threads)


def constraint_residual(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    constraints: Sequence[AnyConstraint] | ConstraintSet,
    *,
    num_threads: int | None = None,
) -> Array:
    """J a + gamma - desired, (..., n_rows): by how much the accelerations a differ from those asked for.

    Asked for are the constraints' accelerations with their feedback, as in :func:`featherweight.constrained_dynamics`.

    >>> model = fw.models.pendulum()
    >>> tip = [fw.PointConstraint("tip", rows="x")]
    >>> fw.constraint_residual(model, [0.0], [0.0], [3.0], tip)
    array([-3.])
    """
    compiled = compiled_for(model, constraints)
    targets = row_targets(model, q, v, compiled, num_threads)
    return _core.constraint_residual(model, q, v, a, compiled, targets, num_threads)


def constraint_position_error(
    model: Model,
    q: ArrayLike,
    constraints: Sequence[AnyConstraint] | ConstraintSet,
    *,
    num_threads: int | None = None,
) -> Array:
    """How far the constraints' frames are from their ``position`` or second frame, (..., n_rows) [m, rad].

    In the axes of the constraint's frame: R^T (p - p_wanted), and for the angular rows of a frame the rotation vector
    of R_wanted^T R. A hinge, with two of these rows, has the shortest rotation that brings its axis back; a single one
    has the rotation about its axis. Of a rod it is the length less the wanted one, of a coupling the joint's coordinate
    less the wanted one. Every constraint on a frame must have a position or a second frame.

    >>> tip = [fw.PointConstraint("tip", position=(0, 0, -0.9))]
    >>> fw.constraint_position_error(fw.models.pendulum(), [0.0], tip).round(6) + 0.0
    array([ 0. ,  0. , -0.1])
    """
    return position_errors(model, q, compiled_for(model, constraints), slice(None), num_threads)


def position_errors(
    model: Model,
    q: ArrayLike,
    constraints: ConstraintSet,
    samples: slice | NDArray[np.int64],
    num_threads: int | None = None,
) -> Array:
    """The same for the given samples of those that the constraints have positions for; q has only them."""
    for k, constraint in enumerate(constraints.constraints):
        if getattr(constraint, "position", True) is None and getattr(constraint, "to", None) is None:
            raise ValueError(
                f"constraint {k} on {constraint.what}: has neither a position nor a second frame, so it has no error"
            )
    positions = constraints.positions
    if positions is None:
        positions = np.tile(np.eye(4), (len(constraints.constraints), 1, 1))  # in the second frames
    elif positions.ndim > 3:
        positions = positions[samples]
    return _core.constraint_position_error(model, q, constraints, positions, num_threads)


def row_targets(
    model: Model, q: ArrayLike, v: ArrayLike, constraints: ConstraintSet, num_threads: int | None = None
) -> Array:
    """The accelerations desired of the rows: those of the constraints, plus their feedback."""
    targets = constraints.targets
    if constraints.positions is not None and constraints.is_stiff:
        error = _core.constraint_position_error(model, q, constraints, constraints.positions, num_threads)
        targets = targets - constraints.stiffness * error
    if constraints.is_damped:
        velocity = _core.constraint_velocity(model, q, v, constraints, num_threads)
        targets = targets - constraints.damping * velocity
    return targets
