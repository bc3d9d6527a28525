"""Names and poses of SDF: what a pose is relative to, and what a frame moves with.

Every model, and the world, is a :class:`Scope` of names: its links, joints, frames and nested models, the latter with
scopes of their own, reached by "model::name". A pose without ``relative_to`` is in the frame of its scope, that of a
joint in its child, and that of a frame in what it is attached to. http://sdformat.org/tutorials?tut=pose_frame_semantics
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arrays import Array
from ..checks import close_names
from ..model import poses
from ..model.description import WORLD
from .sdf_reader import SdfReader
from .xml import Element

MODEL = "__model__"
ROOT = "__root__"


@dataclass
class Placed:
    """A name in a scope: raw pose, what that is relative to, and what it moves with (both names in the scope)."""

    element: Element
    kind: str  # link, joint or frame
    pose: Array
    relative_to: str
    attached_to: str


@dataclass
class Scope:
    """A model, or the world if it has no parent and no element of its own."""

    reader: SdfReader
    element: Element
    name: str
    parent: Scope | None
    pose: Array  # of the frame that `placement_frame` names
    relative_to: str = ""
    placement_frame: str = ""
    static: bool = False
    merged: bool = False  # into its parent: its names are the parent's
    frames: dict[str, Placed] = field(default_factory=dict)
    models: dict[str, Scope] = field(default_factory=dict)
    canonical: str = ""
    prefix: str = ""  # before names of the scope in the whole file
    _local: dict[str, Array] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)

    @property
    def is_world(self) -> bool:
        return self.parent is None

    def full(self, name: str) -> str:
        """What is called ``name`` here, in the whole file. "world" is the name of what does not move."""
        return f"{WORLD}_link" if self.prefix + name == WORLD else self.prefix + name

    # -- poses ---------------------------------------------------------------------------------------------------

    def absolute(self, name: str = "") -> Array:
        """Pose of ``name`` in the world."""
        if name == WORLD:
            return np.eye(4)
        X = self.local(name)
        scope: Scope | None = self
        while scope is not None and scope.parent is not None:
            X = scope.in_parent() @ X
            scope = scope.parent
        return X

    def in_parent(self) -> Array:
        """Pose of the scope's own frame in that of its parent."""
        assert self.parent is not None
        X = self.parent.local(self.relative_to) @ self.pose
        return X @ poses.inverse(self.local(self.placement_frame)) if self.placement_frame else X

    def local(self, name: str) -> Array:
        """Pose of ``name`` in the frame of the scope."""
        if name in ("", MODEL, ROOT) or (self.is_world and name == WORLD):
            return np.eye(4)
        if name not in self._local:
            if name in self._open:
                raise self.reader.error(self._element_of(name), f"frame {name!r}", "its pose is relative to itself")
            self._open.add(name)
            self._local[name] = self._computed(name)
            self._open.discard(name)
        return self._local[name]

    def _computed(self, name: str) -> Array:
        if name in self.frames:
            placed = self.frames[name]
            return self.local(placed.relative_to) @ placed.pose
        nested, inner = self._nested(name)
        return nested.in_parent() @ nested.local(inner)

    # -- what moves with what ------------------------------------------------------------------------------------

    def link_of(self, name: str) -> str:
        """The link that ``name`` moves with, as it is called in the whole file, or "world"."""
        seen: set[str] = set()
        while True:
            if name in ("", MODEL, ROOT):
                return WORLD if self.is_world else self.canonical_link()
            if name == WORLD:
                return WORLD
            if name not in self.frames:
                nested, inner = self._nested(name)
                return nested.link_of(inner)
            placed = self.frames[name]
            if placed.kind == "link":
                return self.full(name)
            if name in seen:
                raise self.reader.error(placed.element, f"frame {name!r}", "is attached to itself")
            seen.add(name)
            name = placed.attached_to

    def canonical_link(self) -> str:
        """The link that the model's own frame moves with: the one it names, or its first, nested ones included."""
        if self.canonical:
            name, self.canonical = self.canonical, ""  # a name that leads back here finds the first link
            try:
                return self.link_of(name)
            finally:
                self.canonical = name
        links = [name for name, placed in self.frames.items() if placed.kind == "link"]
        if links:
            return self.full(links[0])
        for nested in self.models.values():
            found = nested.canonical_link()
            if found != WORLD:
                return found
        return WORLD

    def _nested(self, name: str) -> tuple[Scope, str]:
        first, _, rest = name.partition("::")
        if first in self.models:
            return self.models[first], rest
        known = [*self.frames, *self.models]
        problem = f"there is no link, joint, frame or model {name!r} here{close_names(name, known)}"
        raise self.reader.error(self.element, self.element.label(), problem)

    def _element_of(self, name: str) -> Element:
        return self.frames[name].element if name in self.frames else self.element
