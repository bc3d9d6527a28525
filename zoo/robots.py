"""The robots: files of packages that were unpacked into a folder, each robot once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Format = Literal["mjcf", "urdf", "sdf"]

FOLDER = Path(__file__).parents[1] / "build" / "zoo"

_FORMATS: dict[str, tuple[Format, bytes]] = {
    ".xml": ("mjcf", b"<mujoco"),
    ".urdf": ("urdf", b"<robot"),
    ".sdf": ("sdf", b"<sdf"),
}

#: Files that are no robots: test data of packages, things to grasp.
_SKIPPED = re.compile(r"/(tests?|test_data|testdata|_test|random_urdfs)/")


@dataclass(frozen=True)
class Robot:
    """A file of a package."""

    package: str
    path: Path
    format: Format
    name: str  # unique, and the same on every machine: the package and the path in it


def find(folder: Path = FOLDER, package: str | None = None) -> Iterator[Robot]:
    """All files that may be robots; the same content in two places is one. Of the packages in a folder, or of one."""
    seen: set[bytes] = set()
    for path in sorted(path for pattern in ("*.xml", "*.urdf", "*.sdf") for path in folder.rglob(pattern)):
        if _SKIPPED.search(path.as_posix()):
            continue
        data = path.read_bytes()
        format_, root = _FORMATS[path.suffix]
        if root not in data:
            continue
        # A file that includes others is the same only beside the same others.
        place = path.parent.as_posix().encode() if b"<include" in data or b"file=" in data else b""
        digest = hashlib.sha256(data + place).digest()
        if digest not in seen:
            seen.add(digest)
            place_in = path.relative_to(folder)
            name = place_in.as_posix() if package is None else f"{package}/{place_in.as_posix()}"
            yield Robot(package or place_in.parts[0], path, format_, name)
