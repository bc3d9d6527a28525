"""The robots: files of packages that were unpacked into a folder, each robot once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).parents[1] / "build" / "zoo"

#: Files that are no robots: test data of packages.
_SKIPPED = re.compile(r"/(tests?|test_data|testdata|_test)/")


@dataclass(frozen=True)
class Robot:
    """A file of a package."""

    package: str
    path: Path
    format: Literal["mjcf", "urdf"]

    @property
    def name(self) -> str:
        """Unique, and the same on every machine: the package and the path in it."""
        return self.path.relative_to(FOLDER).as_posix()


def find(folder: Path = FOLDER) -> Iterator[Robot]:
    """All files that may be robots; the same content in two places is one."""
    seen: set[bytes] = set()
    for path in sorted((*folder.rglob("*.xml"), *folder.rglob("*.urdf"))):
        if _SKIPPED.search(path.as_posix()):
            continue
        data = path.read_bytes()
        format_: Literal["mjcf", "urdf"] = "mjcf" if path.suffix == ".xml" else "urdf"
        if (b"<mujoco" if format_ == "mjcf" else b"<robot") not in data:
            continue
        # A file that includes others is the same only beside the same others.
        place = path.parent.as_posix().encode() if b"<include" in data or b"file=" in data else b""
        digest = hashlib.sha256(data + place).digest()
        if digest not in seen:
            seen.add(digest)
            yield Robot(path.relative_to(folder).parts[0], path, format_)
