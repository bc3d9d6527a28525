"""Where the files that a description refers to are: meshes, and models included by others."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

PackageDirs = Iterable[str | os.PathLike[str]] | str | os.PathLike[str] | None

#: Variables with directories of packages and models, and what stands between such a directory and a package.
_VARIABLES = {
    "ROS_PACKAGE_PATH": "",
    "AMENT_PREFIX_PATH": "share",
    "COLCON_PREFIX_PATH": "share",
    "CMAKE_PREFIX_PATH": "share",
    "GZ_SIM_RESOURCE_PATH": "",
    "IGN_GAZEBO_RESOURCE_PATH": "",
    "GAZEBO_MODEL_PATH": "",
    "GAZEBO_RESOURCE_PATH": "",
    "SDF_PATH": "",
}
_PACKAGE_NAME = re.compile(rb"<name>\s*([^<\s]+)\s*</name>")
_FIND = re.compile(r"\$\(find ([^)\s]+)\)/?")
#: How far above a file its package may start, where no package.xml says so.
_LEVELS = 4


class MeshFinder:
    """Resolves references of a file in ``directory`` to paths that exist.

    ``package://name/rest`` (``model://`` alike) is looked up in ``package_dirs``, in the directories that ROS and
    Gazebo have in environment variables, and above the file; a directory may hold the package, or be it by its own name
    or by the one in its package.xml. If no package of that name has it, ``rest`` is looked up around the file. Anything
    else is relative to ``directory``, or to one above it within the package.
    """

    def __init__(self, directory: Path | None, package_dirs: PackageDirs = None) -> None:
        if isinstance(package_dirs, str | os.PathLike):
            package_dirs = [package_dirs]
        self.directory = directory
        self._listed = [Path(entry).absolute() for entry in package_dirs or ()]
        self._named = [Path(entry).absolute() / below for entry, below in _variables()]
        self._above = [directory, *directory.parents] if directory else []
        self._names: dict[Path, str | None] = {}  # directory -> name in its package.xml
        self._mesh_directory: Path | None = None

    def use_mesh_directory(self, name: str) -> None:
        """Look first in the directory ``name``, as MuJoCo's ``meshdir`` has it, for the path and for the bare name."""
        if self.directory is not None:
            self._mesh_directory = self.directory / name

    def find(self, reference: str) -> str | None:
        """Absolute path of the file that ``reference`` names, or None when there is none."""
        return next((path for path in self._candidates(reference) if _is(os.path.isfile, path)), None)

    def find_directory(self, reference: str) -> str | None:
        """Absolute path of the directory that ``reference`` names, or None."""
        return next((path for path in self._candidates(reference) if _is(os.path.isdir, path)), None)

    def find_package(self, name: str) -> str | None:
        """Absolute path of the package called ``name``, or None."""
        for directory in (*self._listed, *self._named, *self._above):
            for path in (directory / name, directory):
                if name in (path.name, self._package_name(path)) and _is(os.path.isdir, str(path)):
                    return str(path)
        return None

    def _candidates(self, reference: str) -> Iterator[str]:
        reference = _FIND.sub(r"package://\1/", reference.strip().replace("\\", "/"))
        for text in dict.fromkeys((reference, unquote(reference))):
            scheme, separator, rest = text.partition("://")
            if not separator:
                paths = self._relative(text)
            elif scheme in ("package", "model"):
                paths = self._in_packages(rest.lstrip("/"))
            elif scheme == "file":
                paths = self._relative(rest)  # "file://dir/mesh.stl" is often written for a relative path
            else:
                return
            yield from (os.path.abspath(path) for path in paths)

    def _relative(self, reference: str) -> Iterator[Path]:
        if os.path.isabs(reference):
            yield Path(reference)
            reference = reference.lstrip("/")  # some mean the root of the package
        yield from self._in_mesh_directory(reference)
        for directory in (*self._around(), *self._listed):
            yield directory / reference

    def _in_packages(self, reference: str) -> Iterator[Path]:
        package, _, rest = reference.partition("/")
        yield from self._in_mesh_directory(rest)
        for directory in (*self._listed, *self._named, *self._above):
            if package in (directory.name, self._package_name(directory)):
                yield directory / rest
            yield directory / reference
        for directory in (*self._listed, *self._around()):
            yield directory / rest

    def _in_mesh_directory(self, reference: str) -> Iterator[Path]:
        if self._mesh_directory is not None:
            yield self._mesh_directory / reference
            yield self._mesh_directory / os.path.basename(reference)

    def _around(self) -> Iterator[Path]:
        """The directory of the file and those above it, up to the root of its package."""
        for directory in self._above[:_LEVELS]:
            yield directory
            if self._package_name(directory) is not None:
                return

    def _package_name(self, directory: Path) -> str | None:
        if directory not in self._names:
            self._names[directory] = _name_in(directory / "package.xml")
        return self._names[directory]


def _variables() -> Iterator[tuple[str, str]]:
    for variable, below in _VARIABLES.items():
        for entry in os.environ.get(variable, "").split(os.pathsep):
            if entry:
                yield entry, below


def _is(kind: Callable[[str], bool], path: str) -> bool:
    """os.path.isfile or isdir: False, not an error, for names that no file can have."""
    try:
        return kind(path)
    except ValueError:  # a zero byte
        return False


def _name_in(file: Path) -> str | None:
    if not _is(os.path.isfile, str(file)):
        return None
    try:
        with open(file, "rb") as opened:
            found = _PACKAGE_NAME.search(opened.read(20_000))
    except OSError:
        return None
    return found.group(1).decode("utf-8", "replace") if found else ""
