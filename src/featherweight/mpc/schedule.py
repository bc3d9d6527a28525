"""Schedules: which contacts are closed at which time, for plans in which that is decided beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import real_numbers
from ..constraints.constraint_set import ConstraintSet, FrameConstraint, PointConstraint
from ..model.model import Model

#: Of times (n,), which contacts are closed, (n, contacts); or one row for all times.
Closed: TypeAlias = ArrayLike | Callable[[NDArray[np.float64]], ArrayLike]

#: [1/s] by which velocities that are left of a contact decay.
DAMPING = 20.0


class Schedule:
    """Contacts with the ground, and when they are closed. A contact that closes takes its velocity away by an impulse.

    contacts: names of frames, whose origins stay where they are while they are closed; or a
    :class:`featherweight.PointConstraint` or :class:`featherweight.FrameConstraint` each, as for soles. closed: a
    function of times (n,) [s] that returns (n, contacts) of bool, as ``stands`` of a :class:`Gait`; or one row.
    friction: of the ground, which is level: forces of contacts that pull, or are beyond a pyramid within its cone, cost
    like one-sided residuals. tolerance: [N] by which one of them misses for a cost of a half; by default a twentieth of
    the robot's weight. sole: length and width [m] of the rectangles that contacts of six rows push with, about the
    origins of their frames, along their x and y: moments that would tip or twist them cost as well. None of it without
    friction.

    >>> feet = ["front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot"]
    >>> schedule = fw.mpc.Schedule(feet, fw.mpc.trot(period=0.5).stands, friction=0.7)
    >>> schedule.closed([0.1, 0.3])
    array([[False,  True,  True, False],
           [ True, False, False,  True]])
    """

    def __init__(
        self,
        contacts: Sequence[str | PointConstraint | FrameConstraint],
        closed: Closed = True,
        *,
        friction: float | None = None,
        sole: tuple[float, float] | None = None,
        tolerance: float | None = None,
    ) -> None:
        if isinstance(contacts, str) or not len(contacts):
            raise ValueError(f"contacts: expected names of frames or constraints, at least one, got {contacts!r}")
        self.contacts = tuple(PointConstraint(c, damping=DAMPING) if isinstance(c, str) else c for c in contacts)
        for k, contact in enumerate(self.contacts):
            if not isinstance(contact, PointConstraint | FrameConstraint) or contact.to is not None:
                raise ValueError(f"contacts: number {k}: expected a point or a frame that is held in the world")
        for name, value in (("friction", friction), ("tolerance", tolerance)):
            if value is not None and not (np.isfinite(value) and value > 0.0):
                raise ValueError(f"{name}: expected a positive number, got {value!r}")
        if sole is not None and (np.shape(sole) != (2,) or not np.isfinite(sole).all() or min(sole) <= 0.0):
            raise ValueError(f"sole: expected a length and a width, got {sole!r}")
        self.friction, self.tolerance = friction, tolerance
        self.sole = None if sole is None else (float(sole[0]), float(sole[1]))
        self._closed = closed if callable(closed) else self._row(closed)
        self.closed(np.zeros(2))  # of the right shape

    def _row(self, value: ArrayLike) -> NDArray[np.bool_]:
        return np.broadcast_to(np.asarray(value), (len(self.contacts),))

    def closed(self, times: ArrayLike) -> NDArray[np.bool_]:
        """(times, contacts)."""
        at = np.atleast_1d(real_numbers("times", times))
        mask = np.asarray(self._closed(at) if callable(self._closed) else self._closed)
        if mask.dtype != np.bool_ or mask.shape not in ((len(self.contacts),), (len(at), len(self.contacts))):
            raise ValueError(
                f"closed: expected {len(self.contacts)} of bool for each time, got {mask.dtype} of shape {mask.shape}"
            )
        return np.broadcast_to(mask, (len(at), len(self.contacts)))

    def compiled(self, model: Model) -> ConstraintSet:
        """The contacts of a model; errors name what it does not have."""
        return ConstraintSet(model, self.contacts)

    def __repr__(self) -> str:
        return f"<Schedule of {len(self.contacts)} contacts>"
