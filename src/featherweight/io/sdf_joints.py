"""Joints of SDF as edges of a graph: type, frames, axes, limits and dynamics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import Array
from ..model import poses
from ..model.description import WORLD, JointType, Mimic
from .joint_graph import GraphJoint
from .reader import MOTION, NOTHING
from .sdf_frames import MODEL, Scope
from .sdf_gearboxes import Gearbox
from .xml import Element

TYPES: dict[str, JointType] = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "ball": "spherical",
    "universal": "universal",
    "revolute2": "universal",
    "screw": "helical",
}
#: Limits this far away are none [rad or m].
_NO_LIMIT = 1e16
_ONE_DOF = ("revolute", "continuous", "prismatic", "helical")


class JointReader:
    """A joint in ``scope``, called ``name`` in the whole file, which has its links at ``link_poses`` in the world."""

    def __init__(self, scope: Scope, joint: Element, name: str, link_poses: Mapping[str, Array]) -> None:
        self._scope, self._reader, self._joint, self._link_poses = scope, scope.reader, joint, link_poses
        self._name, self._what = name, f"joint {name!r}"

    @property
    def is_gearbox(self) -> bool:
        """Whether it holds no links together, but couples the joints of two with a third."""
        return self._joint.attributes.get("type") == "gearbox"

    def read_gearbox(self) -> Gearbox:
        reader, joint = self._reader, self._joint
        reader.attribute(joint, "type")
        X = self._scope.absolute(joint.attributes["name"])
        driving, driven, reference = (
            self._scope.link_of(self.end(joint, role)) for role in ("parent", "child", "gearbox_reference_body")
        )
        first, second = (X[:3, :3] @ self._axis(reader.one(joint, tag), X, "z") for tag in ("axis", "axis2"))
        return Gearbox(reference, driving, driven, (first, second), reader.value(joint, "gearbox_ratio", 1.0))

    def read(self) -> GraphJoint | None:
        """The joint, or None if it is not one that holds two links together."""
        reader, joint = self._reader, self._joint
        declared = reader.attribute(joint, "type")
        if declared not in TYPES:
            raise reader.error(
                joint, self._what, f"unknown type {declared!r}, the types are {', '.join(TYPES)}, gearbox"
            )
        type_ = TYPES[declared]
        parent, child = (self.end(joint, role) for role in ("parent", "child"))
        links = [self._scope.link_of(end) for end in (parent, child)]
        if links[0] == links[1]:
            reader.note(joint, self._what, f"holds {links[0]!r} to itself: left out", NOTHING)
            joint.settle()
            return None
        X = self._scope.absolute(joint.attributes["name"])
        edge = GraphJoint(
            self._name,
            type_,
            links[0],
            links[1],
            poses.inverse(self._pose_of(links[0])) @ X,
            poses.inverse(X) @ self._pose_of(links[1]),
            **self._freedoms(type_, X),
        )
        return edge.turned() if edge.child == WORLD else edge

    def end(self, joint: Element, role: str) -> str:
        element = self._reader.one(joint, role)
        name = "" if element is None else element.content() or element.get("link") or ""
        if not name:
            raise self._reader.error(joint, self._what, f"has no <{role}>")
        return name

    def _pose_of(self, link: str) -> Array:
        return np.eye(4) if link == WORLD else self._link_poses[link]

    # -- axes ----------------------------------------------------------------------------------------------------

    def _freedoms(self, type_: JointType, X: Array) -> dict[str, Any]:
        joint, reader = self._joint, self._reader
        axes = [reader.one(joint, tag) for tag in ("axis", "axis2")]
        if type_ in ("fixed", "spherical"):
            for axis in axes:
                if axis is not None:
                    self._leave_out(axis, type_)
            return {}
        if type_ == "universal":
            each = [self._axis_options(axis, type_) for axis in axes]
            keys = [key for key in {**each[0], **each[1]} if key != "mimic"]
            options = {key: np.array([one.get(key, 0.0) for one in each]) for key in keys}
            first, second = (self._axis(axis, X, default) for axis, default in zip(axes, "xy", strict=True))
            return {"axis": first, "axis2": second, "options": options}
        if axes[1] is not None:
            self._leave_out(axes[1], type_)
        options = {
            key: np.array([value]) if key != "mimic" else value
            for key, value in self._axis_options(axes[0], type_).items()
        }
        found: dict[str, Any] = {"axis": self._axis(axes[0], X, "z"), "options": options}
        if type_ == "helical":
            found["pitch"] = self._pitch()
        return found

    def _leave_out(self, axis: Element, type_: JointType) -> None:
        """An axis that the joint has no use for. Exporters write one for every joint, and Gazebo reads none there."""
        axis.settle()
        self._reader.note(axis, self._what, f"<{axis.tag}> of a {type_} joint: left out", NOTHING)

    def _axis(self, axis: Element | None, X: Array, default: str) -> Array:
        """The direction in the joint frame; the file may have it in another one."""
        reader, scope = self._reader, self._scope
        given = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}[default]
        frame = ""
        if axis is not None:
            by_model = reader.flag(axis, "use_parent_model_frame", reader.version < (1, 5))
            frame = MODEL if by_model and reader.version < (1, 7) else ""
            xyz = reader.one(axis, "xyz")
            if xyz is not None:
                frame = xyz.get("expressed_in") or frame
                given = reader.parsed(xyz, "<xyz>", xyz.content(), 3)  # type: ignore[assignment]
        direction = np.array(given)
        length = float(np.linalg.norm(direction))
        if not 0.0 < length < math.inf:
            raise reader.error(axis or self._joint, self._what, "the axis is zero")
        direction = direction / length
        return X[:3, :3].T @ scope.absolute(frame)[:3, :3] @ direction if frame else direction

    def _pitch(self) -> float:
        """Travel per radian [m]: from that per turn, or from the older turns per travel, with the opposite sign."""
        thread = self._reader.one(self._joint, "screw_thread_pitch")
        if thread is not None:
            return self._reader.parsed(thread, "value", thread.content(), 1)[0] / (2.0 * math.pi)
        old = self._reader.value(self._joint, "thread_pitch", 1.0)
        if old == 0.0:
            raise self._reader.error(self._joint, self._what, "<thread_pitch> is zero")
        return -1.0 / old

    # -- limits and dynamics -------------------------------------------------------------------------------------

    def _axis_options(self, axis: Element | None, type_: JointType) -> dict[str, Any]:
        options: dict[str, Any] = {"lower": -math.inf, "upper": math.inf}
        options |= {"effort_limit": math.inf, "velocity_limit": math.inf}
        options |= {"damping": 0.0, "friction": 0.0, "stiffness": 0.0, "rest_position": 0.0}
        if axis is None:
            return options
        reader = self._reader
        for limit in axis.all("limit")[:1]:
            options |= self._limits(limit, type_)
        for dynamics in axis.all("dynamics")[:1]:
            names = {"damping": "damping", "friction": "friction"}
            names |= {"spring_stiffness": "stiffness", "spring_reference": "rest_position"}
            options |= {name: reader.value(dynamics, tag, 0.0) for tag, name in names.items()}
        start = reader.one(axis, "initial_position")
        if start is not None:
            options["start"] = reader.parsed(start, "value", start.content(), 1)[0]
        mimic = reader.one(axis, "mimic")
        if mimic is not None:
            options |= self._mimic(mimic, type_)
        return options

    def _limits(self, limit: Element, type_: JointType) -> dict[str, Any]:
        reader = self._reader
        lower, upper = (
            reader.value(limit, tag, default, allow_infinite=True)
            for tag, default in (("lower", -math.inf), ("upper", math.inf))
        )
        options = {}
        for key in ("effort", "velocity"):
            value = reader.value(limit, key, -1.0, allow_infinite=True)
            options[f"{key}_limit"] = math.inf if value < 0.0 else value
        for tag, usual in (("stiffness", 1e8), ("dissipation", 1.0)):
            if reader.value(limit, tag, usual) != usual:
                reader.note(limit, self._what, f"limits are rigid: their {tag} is left out", MOTION)
        lower, upper = -math.inf if lower <= -_NO_LIMIT else lower, math.inf if upper >= _NO_LIMIT else upper
        if lower > upper:
            message = f"lower limit {lower:g} is above the upper limit {upper:g}: taken as unlimited, as Gazebo does"
            reader.note(limit, self._what, message, MOTION)
            return options
        if type_ == "continuous":
            if math.isfinite(lower) or math.isfinite(upper):
                reader.note(limit, self._what, "a continuous joint has no position limits: left out", NOTHING)
            return options
        return options | {"lower": lower, "upper": upper}

    def _mimic(self, mimic: Element, type_: JointType) -> dict[str, Any]:
        reader = self._reader
        target = reader.attribute(mimic, "joint")
        mimic.get("axis")
        multiplier, offset, reference = (reader.value(mimic, tag, d) for tag, d in _MIMIC)
        if type_ not in _ONE_DOF:
            reader.note(mimic, self._what, "mimics with two degrees of freedom: left out", MOTION)
            return {}
        reader.note(mimic, self._what, f"mimics {target!r}: scenes hold it, functions of the model do not", NOTHING)
        return {"mimic": Mimic(self._scope.full(target), multiplier, offset - multiplier * reference)}


_MIMIC = (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
