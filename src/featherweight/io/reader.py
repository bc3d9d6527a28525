"""What the readers of XML formats share: numbers and names with the line they are on, notes, and a last look at what
nobody read.

An importer asks for everything it understands through :class:`Reader`. What is left of the tree when it is done is
reported, each thing with a severity from the importer's tables, so that nothing in a file is dropped silently.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

from ..errors import ModelImportError
from ..model.description import ImportNote, Severity
from . import xml
from .xml import Element

MOTION, PICTURE, NOTHING = Severity.MOTION, Severity.PICTURE, Severity.NOTHING

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITY = re.compile(r"([+-]?)inf(inity)?", re.IGNORECASE)
_SEPARATOR = re.compile(r"[\s,]+")

#: Says what leaving something out changes, and why it is left out: the path to an element, and its attribute or None.
Judge = Callable[[tuple[Element, ...], str | None], tuple[Severity, str]]


class Reader:
    """Reads elements of the file at ``path`` and keeps notes."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.notes: list[ImportNote] = []

    def note(self, element: Element, what: str, message: str, severity: Severity) -> None:
        self.notes.append(ImportNote(what, element.line, message, severity))

    def error(self, element: Element, what: str, problem: str) -> ModelImportError:
        return ModelImportError(what, problem, self.path, element.line)

    # -- elements and attributes ---------------------------------------------------------------------------------

    def one(self, element: Element, tag: str, severity: Severity = MOTION) -> Element | None:
        """The child called ``tag``. Of several the first counts; ``severity``: what it changes to leave out others."""
        found = element.all(tag)
        for extra in found[1:]:
            extra.settle()
            same = xml.same_content(found[0], extra)
            message = "is given twice" if same else "is given twice: the first one counts"
            self.note(extra, f"<{tag}> of {element.label()}", message, NOTHING if same else severity)
        return found[0] if found else None

    def attribute(self, element: Element, key: str) -> str:
        value = element.get(key)
        if not value:
            problem = "missing" if value is None else "empty"
            raise self.error(element, element.label(), f"attribute {key!r} is {problem}")
        return value

    # -- numbers -------------------------------------------------------------------------------------------------

    def number(
        self, element: Element, key: str, default: float | None = None, *, allow_infinite: bool = False
    ) -> float:
        """The number in the attribute ``key``, or ``default`` where there is none."""
        if default is not None and element.get(key) is None:
            return default
        return self.numbers(element, key, 1, allow_infinite=allow_infinite)[0]

    def numbers(
        self,
        element: Element,
        key: str,
        count: int,
        default: tuple[float, ...] | None = None,
        *,
        allow_infinite: bool = False,
        surplus: Severity = MOTION,
    ) -> tuple[float, ...]:
        """``count`` numbers in the attribute ``key``; ``surplus``: what it changes to leave out any beyond them."""
        if default is not None and element.get(key) is None:
            return default
        text = self.attribute(element, key)
        return self.parsed(element, f"attribute {key!r}", text, count, allow_infinite=allow_infinite, surplus=surplus)

    def parsed(
        self,
        element: Element,
        what: str,
        text: str,
        count: int,
        *,
        allow_infinite: bool = False,
        surplus: Severity = MOTION,
    ) -> tuple[float, ...]:
        """``count`` numbers in ``text``, which is ``what`` of ``element``."""
        values = tuple(_parsed(token, allow_infinite) for token in _SEPARATOR.split(text.strip()))
        if len(values) < count or any(math.isnan(value) for value in values):
            wanted = "a number" if count == 1 else f"{count} numbers"
            hint = " (is this a xacro file that was not expanded?)" if "$" in text else ""
            raise self.error(element, element.label(), f"{what} must be {wanted}, got {text[:100]!r}{hint}")
        if len(values) > count:
            message = f"{what} has {len(values)} numbers, {text[:100]!r}: the first {count} count"
            self.note(element, element.label(), message, surplus)
        if "," in text:
            self.note(element, element.label(), f"{what} has commas, {text[:100]!r}: taken as spaces", NOTHING)
        return values[:count]

    # -- the rest ------------------------------------------------------------------------------------------------

    def report_unread(self, root: Element, judge: Judge) -> None:
        """A note for everything below ``root`` that nobody asked for."""
        for path, key in xml.unread(root):
            element = path[-1]
            severity, why = judge(path, key)
            if key is None:
                part = f"<{element.tag}> is left out"
            elif key == xml.TEXT:
                part = f"text {element.text.strip()[:40]!r} in <{element.tag}> is left out"
            else:
                part = f"attribute {key!r} of <{element.tag}> is left out"
            self.note(element, _place(path), f"{part}: {why}", severity)


def _place(path: tuple[Element, ...]) -> str:
    """The element and the nearest one around it that has a name: "<limit> of joint 'knee'"."""
    element = path[-1]
    reference = element.attributes.get("reference")
    own = f"{element.tag} {reference!r}" if reference else element.label()
    if element.attributes.get("name") or len(path) <= 2:
        return own
    around = next((each for each in reversed(path[1:-1]) if each.attributes.get("name")), None)
    return own if around is None else f"{own} of {around.label()}"


def _parsed(token: str, allow_infinite: bool) -> float:
    """The number in ``token``, or NaN if it is not one. Python's float() would accept more than robot files do."""
    if _NUMBER.fullmatch(token):
        value = float(token)
        return value if math.isfinite(value) else math.nan
    infinity = _INFINITY.fullmatch(token) if allow_infinite else None
    return math.nan if infinity is None else (-math.inf if infinity.group(1) == "-" else math.inf)
