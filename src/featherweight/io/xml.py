"""A small XML tree with line numbers, safe to run on files from anywhere.

Document type declarations are rejected, and with them entities: no expansion bombs, no reading of other files.
Depth is limited. Text between elements is dropped: robot descriptions keep everything in attributes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ..errors import ModelImportError

MAX_DEPTH = 200

_ROOT_TAG = re.compile(rb"<([A-Za-z_][\w.:-]*)")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)


@dataclass(eq=False)
class Element:
    """An XML element: its attributes, its children in file order, and the line it starts on."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The children called ``tag``."""
        return [child for child in self.children if child.tag == tag]


def root_tag(text: bytes) -> str | None:
    """Name of the outermost element, found without parsing."""
    match = _ROOT_TAG.search(_COMMENT.sub(b"", text))
    return match.group(1).decode("ascii", "replace") if match else None


def parse(text: bytes, path: Path | None = None) -> Element:
    """The tree of ``text``; raises :class:`ModelImportError` with the line of what is wrong."""
    document = Element("", {}, 0)
    open_elements = [document]
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

    def reject_doctype(*_: Any) -> None:
        line = parser.CurrentLineNumber
        raise ModelImportError("<!DOCTYPE>", "is not allowed: entities are not expanded", path, line)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
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
    return document.children[0]
