"""Gearboxes of SDF: two links turn about a third one by angles in a ratio, of which each has a joint of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..model.description import WORLD
from .joint_graph import GraphJoint

#: Cosines of axes that are parallel differ from one by less: angles in files are rounded.
_PARALLEL = 1e-6


@dataclass(frozen=True)
class Gearbox:
    """``angle of driven = -ratio * angle of driving``, about axes in the world, as seen from ``reference``."""

    reference: str
    driving: str
    driven: str
    axes: tuple[Array, Array]  # of driving, of driven
    ratio: float

    def coupling(self, joints: Iterable[GraphJoint], at: Mapping[str, Array]) -> tuple[str, str, float] | None:
        """The joint that follows, the one that it follows, and the factor. None if they are not hinges about the axes.

        ``at``: poses of links in the world, where all angles are zero.
        """
        followed, follows = (
            _hinge(joints, self.reference, link, axis, at)
            for link, axis in zip((self.driving, self.driven), self.axes, strict=True)
        )
        if followed is None or follows is None:
            return None
        return follows[0], followed[0], -self.ratio * followed[1] * follows[1]


def _hinge(
    joints: Iterable[GraphJoint], reference: str, link: str, axis: Array, at: Mapping[str, Array]
) -> tuple[str, float] | None:
    """The joint by which ``link`` turns about ``axis`` as seen from ``reference``, and the sign of its coordinate."""
    for joint in joints:
        if {joint.parent, joint.child} != {reference, link} or joint.type not in ("revolute", "continuous"):
            continue
        assert joint.axis is not None
        X = np.eye(4) if joint.parent == WORLD else at[joint.parent]
        along = float(axis @ (X @ joint.placement)[:3, :3] @ joint.axis)
        if abs(along) > 1.0 - _PARALLEL:
            return joint.name, np.sign(along) * (1.0 if joint.parent == reference else -1.0)
    return None
