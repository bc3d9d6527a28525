"""What SDF has instead of attributes: numbers, flags and poses as text of elements."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ..arrays import Array
from ..model import poses
from ..model.description import Severity
from .meshes import MeshFinder
from .reader import MOTION, Reader
from .surfaces import flag
from .xml import Element

_NO_NAMES = ("", "__default__")


class SdfReader(Reader):
    """Reads one SDF file, of version ``version``; included files have readers of their own."""

    def __init__(self, path: Path | None, files: MeshFinder, version: tuple[int, int]) -> None:
        super().__init__(path)
        self.files = files
        self.version = version

    def text(self, holder: Element, tag: str, default: str = "") -> str:
        """The text of the child called ``tag``."""
        child = self.one(holder, tag)
        return default if child is None else child.content() or default

    def flag(self, holder: Element, tag: str, default: bool = False) -> bool:
        child = self.one(holder, tag)
        return default if child is None else flag(child)

    def value(self, holder: Element, tag: str, default: float, *, allow_infinite: bool = False) -> float:
        """The number in the child called ``tag``."""
        child = self.one(holder, tag)
        if child is None or not child.content():
            return default
        return self.parsed(child, "value", child.content(), 1, allow_infinite=allow_infinite)[0]

    def values(
        self, holder: Element, tag: str, count: int, default: tuple[float, ...] | None, severity: Severity = MOTION
    ) -> tuple[float, ...]:
        """``count`` numbers in the child called ``tag``."""
        child = self.one(holder, tag, severity)
        if child is None or not child.content():
            if default is None:
                raise self.error(holder, holder.label(), f"<{tag}> is missing")
            return default
        return self.parsed(child, f"<{tag}>", child.content(), count, surplus=severity)

    def pose(self, holder: Element, severity: Severity = MOTION) -> tuple[Array, str]:
        """The pose of ``holder`` and the name of the frame it is relative to, "" for the default."""
        element = self.one(holder, "pose", severity)
        if element is None:
            return np.eye(4), ""
        relative_to = element.get("relative_to") or element.get("frame") or ""
        degrees, quaternion = element.get("degrees") in ("true", "1"), element.get("rotation_format") == "quat_xyzw"
        text = element.content()
        if not text:
            return np.eye(4), "" if relative_to in _NO_NAMES else relative_to
        numbers = self.parsed(element, "<pose>", text, 7 if quaternion else 6, surplus=severity)
        if quaternion:
            if not any(numbers[3:]):
                raise self.error(element, holder.label(), "<pose> has a quaternion of length zero")
            X = poses.pose(numbers[:3], xyzw=numbers[3:])
        else:
            scale = math.pi / 180.0 if degrees else 1.0
            X = poses.pose(numbers[:3], rpy=tuple(scale * angle for angle in numbers[3:]))
        return X, "" if relative_to in _NO_NAMES else relative_to
