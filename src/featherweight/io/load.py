"""Models from files: URDF, SDF, xacro, MJCF and our own saved format."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from .. import files
from ..errors import ModelImportError
from ..model import saved
from ..model.builder import ModelBuilder
from ..model.description import ModelDescription, Severity
from ..model.model import Model
from . import descriptions, loops_file, mjcf, remedies, sdf, urdf, xacro, xml
from .meshes import PackageDirs

__all__ = ["load", "loads"]

Format = Literal["urdf", "sdf", "xacro", "mjcf", "json"]

_SUFFIXES: dict[str, Format] = {".urdf": "urdf", ".sdf": "sdf", ".world": "sdf", ".xacro": "xacro", ".json": "json"}
_ROOTS: dict[str | None, Format] = {"robot": "urdf", "sdf": "sdf", "mujoco": "mjcf"}
_JOINT = re.compile(r"joint '(.*?)': (.*)", re.DOTALL)  # how the core starts its messages about one


def load(
    path: str | os.PathLike[str],
    *,
    floating_base: bool = False,
    strict: bool = False,
    package_dirs: PackageDirs = None,
    arguments: Mapping[str, str] | None = None,
    loops: str | os.PathLike[str] | None = None,
) -> Model:
    """Load a robot, or a world of them, from a file: URDF (.urdf), SDF (.sdf, .world), xacro (.xacro), MJCF (.xml,
    .mjcf) or a saved model (.json); .xml may hold any of the first three as well. Or by its name in the package
    robot_descriptions ("go2_description"), from its cache: nothing is downloaded.

    floating_base: let the base move freely, by a joint called "root_joint", instead of fixing it to the world.
    strict: raise an exception for the first element that changes the motion and is not honoured, instead of listing all
    of them in ``model.import_report``. What affects only the picture, or nothing, is listed in either case.
    package_dirs: folders to search for ``package://`` files, before ``ROS_PACKAGE_PATH`` and the surroundings of the
    file.
    arguments: arguments of xacro files, by name.
    loops: a file with the closures and couplings of a URDF or xacro file, by default ``robot.loops.yaml`` or
    ``robot.loops.json`` next to ``robot.urdf``, if it exists.
    Everything wrong with the content raises :class:`ModelImportError` with file, line and element.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "arm.json")
    >>> fw.models.arm().save(file)
    >>> fw.load(file)
    <Model 'arm': nq=7, nv=7, 7 moving joints, 8 links, 25.2 kg>
    """
    if descriptions.is_name(path):
        found = descriptions.find(str(path))
        path, arguments = found.path, {**found.arguments, **(arguments or {})} or None
        package_dirs = (*_each(package_dirs), *found.package_dirs)
    path = Path(path)
    if not path.suffix and not path.exists():
        others = "names of robot_descriptions end in _description, built-in robots are in fw.models"
        raise ModelImportError("file", f"does not exist ({others})", path)
    text = files.read(path)
    format, directory = _format(path, text), path.absolute().parent
    text, format = _expanded(text, format, path, package_dirs, directory, arguments)
    if format != "urdf" and loops is not None:
        raise ValueError(f"loops belong to URDF and xacro files, not to {format}")
    beside = Path(loops) if loops is not None else loops_file.find(path) if format == "urdf" else None
    return _model(text, format, path, floating_base, strict, package_dirs, directory, beside)


def loads(
    text: str | bytes,
    format: Format,
    *,
    floating_base: bool = False,
    strict: bool = False,
    package_dirs: PackageDirs = None,
    directory: str | os.PathLike[str] | None = None,
    arguments: Mapping[str, str] | None = None,
) -> Model:
    """Load a robot from text in ``format`` ("urdf", "sdf", "xacro", "mjcf" or "json"). Options as in :func:`load`.

    directory: where relative mesh paths start; without it they are not resolved.

    >>> fw.loads('<robot name="r"><link name="a"/></robot>', "urdf").name
    'r'
    """
    if format not in get_args(Format):
        raise ValueError(f"format must be one of {', '.join(get_args(Format))}, got {format!r}")
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
    where = None if directory is None else Path(directory).absolute()
    data, format = _expanded(data, format, None, package_dirs, where, arguments)
    return _model(data, format, None, floating_base, strict, package_dirs, where)


def _each(package_dirs: PackageDirs) -> tuple[str | os.PathLike[str], ...]:
    if package_dirs is None:
        return ()
    return (package_dirs,) if isinstance(package_dirs, str | os.PathLike) else tuple(package_dirs)


def _expanded(
    text: bytes,
    format: Format,
    path: Path | None,
    package_dirs: PackageDirs,
    directory: Path | None,
    arguments: Mapping[str, str] | None,
) -> tuple[bytes, Format]:
    """xacro as URDF, anything else as it is."""
    if format != "xacro":
        if arguments:
            raise ValueError(f"arguments belong to xacro files, not to {format}")
        return text, format
    return xacro.expand(text, path, arguments=arguments, package_dirs=package_dirs, directory=directory), "urdf"


def _format(path: Path, text: bytes) -> Format:
    suffix = path.suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if suffix in (".xml", ".mjcf"):
        root = xml.root_tag(text)
        if root in _ROOTS:
            return _ROOTS[root]
        found, known = f"<{root}>" if root else "none", ", ".join(f"<{each}>" for each in _ROOTS)
        raise ModelImportError("file", f"the outermost element must be one of {known}, got {found}", path)
    known = ", ".join((*_SUFFIXES, ".xml", ".mjcf"))
    found = f"has the unknown extension {path.suffix!r}" if path.suffix else "has no extension"
    raise ModelImportError("file", f"{found}: expected one of {known}", path)


def _model(
    text: bytes,
    format: Format,
    path: Path | None,
    floating_base: bool,
    strict: bool,
    package_dirs: PackageDirs,
    directory: Path | None,
    loops: Path | None = None,
) -> Model:
    with np.errstate(all="ignore"):  # numbers that overflow are refused afterwards, with their element
        description = _description(text, format, path, floating_base, package_dirs, directory)
        if loops is not None:
            description = loops_file.add_loops(description, loops)
    try:
        model = _compiled(description, text, format, path)
    except ValueError as error:
        if strict:
            _require_honoured(description, path)  # nearer to the cause than what follows from it
        raise _core_error(error, description, text, format, path) from None
    if strict:
        _require_honoured(model.description, path)
    return model


def _compiled(description: ModelDescription, text: bytes, format: Format, path: Path | None) -> Model:
    """The model; in files of other tools, joints along which nothing has inertia get some, one after the other."""
    while True:
        try:
            return Model._from_checked(description)
        except ValueError as error:
            idle = _JOINT.match(str(error))
            if idle is None or "nothing it moves has inertia" not in idle.group(2) or format == "json":
                raise
            line = _line(idle.group(1), text, format, path)
            remedied = remedies.carry_point_mass(description, idle.group(1), line)
            if remedied is None:
                raise
            description = remedied


def _description(
    text: bytes,
    format: Format,
    path: Path | None,
    floating_base: bool,
    package_dirs: PackageDirs,
    directory: Path | None,
) -> ModelDescription:
    if format == "urdf":
        return urdf.read(text, path, floating_base=floating_base, package_dirs=package_dirs, directory=directory)
    if format == "sdf":
        return sdf.read(text, path, floating_base=floating_base, package_dirs=package_dirs, directory=directory)
    if format == "mjcf":
        return mjcf.read(text, path, floating_base=floating_base, directory=directory)
    description = saved.decode(text, path)
    if not floating_base:
        return description
    builder = ModelBuilder(description.name, gravity=description.gravity, allow_nonphysical=True)
    return builder.add(description, floating=True).describe()


def _core_error(
    error: ValueError, description: ModelDescription, text: bytes, format: Format, path: Path | None
) -> ModelImportError:
    """The core refuses joints that move no mass; its message starts with the joint, whose line is looked up."""
    culprit = _JOINT.match(str(error))
    if culprit is None:
        return ModelImportError(f"model {description.name!r}", str(error), path)
    line = _line(culprit.group(1), text, format, path)
    return ModelImportError(f"joint '{culprit.group(1)}'", culprit.group(2), path, line)


def _line(joint: str, text: bytes, format: Format, path: Path | None) -> int | None:
    """Where the joint called ``joint`` is in a URDF file."""
    joints = xml.parse(text, path).all("joint") if format == "urdf" else []
    return next((element.line for element in joints if element.attributes.get("name") == joint), None)


def _require_honoured(description: ModelDescription, path: Path | None) -> None:
    broken = [note for note in description.notes if note.severity is Severity.MOTION]
    if not broken:
        return
    first, rest = broken[0], len(broken) - 1
    more = f" (strict; without it, import_report lists {rest} more that change the motion)" if rest else " (strict)"
    raise ModelImportError(first.element, first.message + more, path, first.line)
