"""A small XML tree with line numbers, safe to run on files from anywhere.

Document type declarations are rejected, and with them entities: no expansion bombs, no reading of other files.
Depth is limited. Elements remember what of them was read, so that an importer can report all the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ..errors import ModelImportError

MAX_DEPTH = 200

_ROOT_TAG = re.compile(rb"<([A-Za-z_][\w.:-]*)")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_DECLARATION = re.compile(rb"<\?xml\s[^<>]*\?>")
_BOM = b"\xef\xbb\xbf"

#: Stands for the text of an element among the names of its attributes.
TEXT = ""


@dataclass(eq=False)
class Element:
    """An XML element: its attributes, its children in file order, the text between them, and the line it starts on."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""
    visited: bool = False  # whether anybody asked for the element
    read: set[str] = field(default_factory=set)  # attributes that somebody asked for, and TEXT

    def all(self, *tags: str) -> list[Element]:
        """The children called one of ``tags``."""
        found = [child for child in self.children if child.tag in tags]
        for child in found:
            child.visited = True
        return found

    def get(self, key: str) -> str | None:
        """The attribute ``key``, or None."""
        self.read.add(key)
        return self.attributes.get(key)

    def content(self) -> str:
        """The text of the element, without the white space around it."""
        self.read.add(TEXT)
        return self.text.strip()

    def settle(self) -> None:
        """Count the element and everything inside as read."""
        pending = [self]
        while pending:
            element = pending.pop()
            element.visited = True
            element.read |= {TEXT, *element.attributes}
            pending += element.children

    def label(self) -> str:
        """What to call it in a message: its tag, and its name if it has one."""
        name = self.attributes.get("name")
        return f"{self.tag} {name!r}" if name else f"<{self.tag}>"


def same_content(a: Element, b: Element) -> bool:
    """Whether two elements say the same, wherever they are."""
    if (a.tag, a.attributes, a.text.strip(), len(a.children)) != (b.tag, b.attributes, b.text.strip(), len(b.children)):
        return False
    return all(same_content(x, y) for x, y in zip(a.children, b.children, strict=True))


def unread(root: Element) -> Iterator[tuple[tuple[Element, ...], str | None]]:
    """What nobody asked for: the path from ``root`` to an element, and its attribute (or TEXT), or None for all of it.

    Declarations of name spaces say nothing by themselves and are passed over.
    """
    pending: list[tuple[Element, ...]] = [(root,)]
    while pending:
        path = pending.pop()
        element = path[-1]
        for key in element.attributes:
            if key not in element.read and key.partition(":")[0] != "xmlns":
                yield path, key
        if element.text.strip() and TEXT not in element.read:
            yield path, TEXT
        for child in element.children:
            if not child.visited:
                yield (*path, child), None
        pending += [(*path, child) for child in reversed(element.children) if child.visited]


def root_tag(text: bytes) -> str | None:
    """Name of the outermost element, found without parsing."""
    match = _ROOT_TAG.search(_COMMENT.sub(b"", text))
    return match.group(1).decode("ascii", "replace") if match else None


def _tidied(text: bytes) -> bytes:
    """Text that other readers accept: a declaration behind blank lines and comments goes to the start, where it
    belongs, and zero bytes at the end go. Lines keep their numbers."""
    if text[:2] not in (b"\xff\xfe", b"\xfe\xff"):  # not UTF-16
        text = text.rstrip(b"\0")
    place = len(_BOM) if text.startswith(_BOM) else 0
    while True:
        place += len(text[place:]) - len(text[place:].lstrip())
        if not text.startswith(b"<!--", place):
            break
        end = text.find(b"-->", place)
        if end < 0:
            return text
        place = end + 3
    declaration = _DECLARATION.match(text, place)
    if declaration is None or place == 0:
        return text
    before, found, after = text[:place].removeprefix(_BOM), declaration.group(), text[declaration.end() :]
    return found.replace(b"\n", b" ") + before + b"\n" * found.count(b"\n") + after


def parse(text: bytes, path: Path | None = None) -> Element:
    """The tree of ``text``; raises :class:`ModelImportError` with the line of what is wrong."""
    document = Element("", {}, 0)
    open_elements = [document]
    text = _tidied(text)
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > MAX_DEPTH:
            raise ModelImportError(f"<{tag}>", f"is nested deeper than {MAX_DEPTH}", path, parser.CurrentLineNumber)
        element = Element(tag, attributes, parser.CurrentLineNumber)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_: str) -> None:
        open_elements.pop()

    def characters(text: str) -> None:
        open_elements[-1].text += text

    def reject_doctype(*_: Any) -> None:
        line = parser.CurrentLineNumber
        raise ModelImportError("<!DOCTYPE>", "is not allowed: entities are not expanded", path, line)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = reject_doctype
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        problem = f"is malformed: {expat.errors.messages[error.code]}, column {error.offset + 1}"
        raise ModelImportError("XML", problem, path, error.lineno) from None
    except ModelImportError:
        raise
    except (ValueError, LookupError) as error:  # an encoding that is unknown or that expat cannot use
        raise ModelImportError("XML", f"is malformed: {error}", path) from None
    document.children[0].visited = True
    return document.children[0]
