"""Keyframes while models are put together: by joint and by actuator, whose order is known only in the end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import close_names, frozen, number, numbers
from ..errors import ModelError
from .description import JOINT_SIZES, Actuator, Joint, Keyframe, ModelDescription, start_of
from .joint_checks import checked_start


@dataclass
class KeyframeParts:
    """What has been said of a keyframe; the rest is where it starts, at rest and told zero."""

    name: str
    q: dict[str, ArrayLike] = field(default_factory=dict)  # by joint
    v: dict[str, ArrayLike] = field(default_factory=dict)
    control: dict[str, float] = field(default_factory=dict)  # by actuator
    activation: dict[str, float] = field(default_factory=dict)  # by actuator that has one

    def joined(self, joints: Sequence[Joint], actuators: Mapping[str, Actuator]) -> Keyframe:
        """The keyframe of a model with these joints and actuators, in their order."""
        element = f"keyframe {self.name!r}"
        self._check_names(element, "joint", (*self.q, *self.v), [joint.name for joint in joints])
        activated = [name for name, actuator in actuators.items() if actuator.activation is not None]
        self._check_names(element, "actuator", tuple(self.control), actuators)
        self._check_names(element, "actuator with an activation", tuple(self.activation), activated)
        q, v = [np.zeros(0)], [np.zeros(0)]
        for joint in joints:
            of_joint = f"{element}, joint {joint.name!r}"
            given = checked_start(of_joint, joint.type, self.q.get(joint.name))
            q.append(start_of(joint) if given is None else given)
            v.append(numbers(of_joint, "velocity", self.v.get(joint.name, np.zeros(joint.nv)), (joint.nv,)))
        control = [number(element, f"control of {name!r}", self.control.get(name, 0.0)) for name in actuators]
        activation = [number(element, f"activation of {name!r}", self.activation.get(name, 0.0)) for name in activated]
        told = (np.array(values, dtype=np.float64) for values in (control, activation))
        whole = (np.concatenate(q), np.concatenate(v), *told)
        return Keyframe(self.name, *(frozen(values) for values in whole))

    def _check_names(self, element: str, what: str, named: Sequence[str], known: Collection[str]) -> None:
        for name in named:
            if name not in known:
                raise ModelError(element, f"has an unknown {what} {name!r}{close_names(str(name), known)}")


def by_joint(description: ModelDescription, values: Array, which: int) -> dict[str, Array]:
    """Parts of q (which = 0) or v (1) that belong to each joint that moves."""
    parts, end = {}, 0
    for joint in description.joints:
        start, end = end, end + JOINT_SIZES[joint.type][which]
        if end > start:
            parts[joint.name] = values[start:end]
    return parts
