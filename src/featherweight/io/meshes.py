"""Where the mesh files of a description are."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

PackageDirs = Iterable[str | os.PathLike[str]] | str | os.PathLike[str] | None


class MeshFinder:
    """Resolves mesh references of a file in ``directory`` to paths that exist.

    ``package://name/rest`` is looked up in ``package_dirs``, then ``ROS_PACKAGE_PATH``, then in the directories
    above the file; a directory may hold the package or be it. Anything else is relative to ``directory``.
    """

    def __init__(self, directory: Path | None, package_dirs: PackageDirs = None) -> None:
        self._directory = directory
        ros_path = os.environ.get("ROS_PACKAGE_PATH", "")
        above = [directory, *directory.parents] if directory else []
        if isinstance(package_dirs, str | os.PathLike):
            package_dirs = [package_dirs]
        listed = [*(package_dirs or ()), *filter(None, ros_path.split(os.pathsep)), *above]
        self._package_dirs = [Path(entry).absolute() for entry in listed]

    def find(self, reference: str) -> str | None:
        """Absolute path of the file that ``reference`` names, or None when there is none."""
        scheme, separator, rest = reference.partition("://")
        if not separator:
            candidates = self._relative(reference)
        elif scheme == "package":
            candidates = self._in_packages(rest.lstrip("/"))
        elif scheme == "file":
            # "file://dir/mesh.stl" is often written for a relative path.
            candidates = [Path(rest), *self._relative(rest), *self._relative(unquote(rest))]
        else:
            return None
        for candidate in candidates:
            if os.path.isfile(candidate):  # False, not an error, for names no file can have
                return os.path.abspath(candidate)
        return None

    def _relative(self, reference: str) -> list[Path]:
        return [self._directory / reference] if self._directory else []

    def _in_packages(self, reference: str) -> list[Path]:
        package, _, rest = reference.partition("/")
        candidates = []
        for directory in self._package_dirs:
            if directory.name == package:
                candidates.append(directory / rest)
            candidates.append(directory / reference)
        return candidates
