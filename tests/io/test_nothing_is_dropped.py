"""Everything in a file is honoured or listed: strange elements, attributes and texts are put everywhere, one at a time,
and each must be reported, with its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import featherweight as fw
from featherweight import Severity

DATA = Path(__file__).parents[1] / "data"

#: Inside these nothing is looked at: they are left out, and reported, as a whole.
WHOLE = ("transmission", "safety_controller", "calibration", "plugin", "texture", "light", "physics")
OPENING = re.compile(r"<([a-z_0-9:]+)(\s[^<>]*?)?(/?)>")


def places(text: str) -> list[re.Match[str]]:
    """Opening tags, without those inside elements that are left out whole."""
    inside = [m.span() for tag in WHOLE for m in re.finditer(rf"<{tag}\b[^<>]*(/>|>.*?</{tag}>)", text, re.DOTALL)]
    found = [m for m in OPENING.finditer(text) if not any(a < m.start() < b for a, b in inside)]
    return [m for m in found if m.group(1) not in WHOLE]


def with_element(text: str, place: re.Match[str], strange: str) -> str:
    tag, attributes, closed = place.group(1), place.group(2) or "", place.group(3)
    opened = f"<{tag}{attributes}>{strange}" + (f"</{tag}>" if closed else "")
    return text[: place.start()] + opened + text[place.end() :]


def with_attribute(text: str, place: re.Match[str]) -> str:
    tag, attributes, closed = place.group(1), place.group(2) or "", place.group(3)
    return text[: place.start()] + f'<{tag} strange="7"{attributes}{closed}>' + text[place.end() :]


FILES = {path.name: path.read_text() for path in sorted([*DATA.glob("features.urdf"), *DATA.glob("*.sdf")])}
FORMATS = {".urdf": "urdf", ".sdf": "sdf"}


def notes_of(name: str, text: str) -> list[fw.ImportNote]:
    return list(fw.loads(text, FORMATS[Path(name).suffix], directory=DATA).import_report)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FILES)
def test_strange_elements_and_attributes_are_listed_wherever_they_are(name: str) -> None:
    text = FILES[name]
    usual = notes_of(name, text)
    for place in places(text):
        line = text[: place.start()].count("\n") + 1
        for changed in (with_element(text, place, "<strange/>"), with_attribute(text, place)):
            notes = [note for note in notes_of(name, changed) if note not in usual]
            assert any("strange" in note.message and note.line == line for note in notes), (place.group(), notes)
            pictured = text.rfind("<visual", 0, place.end()) > text.rfind("</visual>", 0, place.end())
            pictured = pictured or place.group(1) in ("material", "color", "visual")
            expected = Severity.PICTURE if pictured else Severity.MOTION
            assert any(note.severity is expected for note in notes), (place.group(), notes)


@pytest.mark.parametrize(
    "element, severity",
    [
        ('<sensor name="s"/>', Severity.NOTHING),
        ("<self_filter/>", Severity.NOTHING),
        ('<transmission name="t"/>', Severity.NOTHING),
        ("<deformable/>", Severity.MOTION),
        ("<loop_joint/>", Severity.MOTION),
    ],
)
def test_known_elements_that_are_not_supported_are_listed(element: str, severity: Severity) -> None:
    text = FILES["features.urdf"]
    usual = notes_of("features.urdf", text)
    changed = text.replace("</robot>", f"{element}</robot>")
    [note] = [note for note in notes_of("features.urdf", changed) if note not in usual]
    assert (note.severity, note.line) == (severity, text.count("\n", 0, text.index("</robot>")) + 1)
