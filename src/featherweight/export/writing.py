"""What all parts of a written MJCF file share: numbers as text, names that are free, and what could not be said."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement

from ..arrays import Array
from ..model import poses


class MjcfText:
    """The elements written so far, the names that are taken, and what MJCF cannot express."""

    def __init__(self, name: str) -> None:
        self.root = Element("mujoco", model=name)
        self.left_out: list[str] = []
        self._sections: dict[str, Element] = {}
        self._taken: dict[str, set[str]] = {}

    def section(self, tag: str) -> Element:
        """The outermost element of this kind, made when it is first needed."""
        if tag not in self._sections:
            self._sections[tag] = SubElement(self.root, tag)
        return self._sections[tag]

    def new_name(self, kind: str, *wishes: str) -> str:
        """The first of the names that no element of this kind has, or the last one with a number."""
        taken = self._taken.setdefault(kind, set())
        name = next((wish for wish in wishes if wish not in taken), "")
        number = 2
        while not name:
            name = f"{wishes[-1]}_{number}" if f"{wishes[-1]}_{number}" not in taken else ""
            number += 1
        taken.add(name)
        return name

    def leave_out(self, what: str) -> None:
        """Something because of which the motion will differ."""
        if what not in self.left_out:
            self.left_out.append(what)


def text_of(values: Iterable[float]) -> str:
    """Numbers, with all their digits."""
    return " ".join(repr(float(value)) for value in values)


def place(X: Array) -> dict[str, str]:
    """Attributes of a pose."""
    x, y, z, w = poses.quaternion_from_rotation(X[:3, :3])
    return {"pos": text_of(X[:3, 3]), "quat": text_of((w, x, y, z))}
