"""Loops beside a robot file: closures and couplings that URDF has no words for, in ``robot.loops.yaml``.

The file is YAML, or JSON (``robot.loops.json``), with two lists, both optional; docs/importing.md has the keys.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import files
from ..arrays import Array
from ..checks import checked_name, number, numbers
from ..errors import ModelError, ModelImportError
from ..model import poses
from ..model.builder import ModelBuilder
from ..model.description import WORLD, ImportNote, ModelDescription, Severity
from .urdf_loops import at_zero

#: Names beside ``robot.urdf``.
_SUFFIXES = (".loops.yaml", ".loops.yml", ".loops.json")
_TYPES = ("point", "hinge", "fixed")
_LOOP = ("name", "type", "link", "to", "xyz", "rpy", "to_xyz", "to_rpy", "axis")
_COUPLING = ("name", "joint", "to", "polynomial")


def find(robot: Path) -> Path | None:
    """The file about the loops of a robot, if it is there: its name without extensions, beside it."""
    stems = dict.fromkeys((robot.stem, robot.stem.removesuffix(".urdf")))
    candidates = (robot.with_name(stem + suffix) for stem in stems for suffix in _SUFFIXES)
    return next((path for path in candidates if path.is_file()), None)


def add_loops(description: ModelDescription, path: str | os.PathLike[str]) -> ModelDescription:
    """The description with the closures and couplings in the file at ``path``."""
    path = Path(path)
    document = _parsed(path)
    builder = ModelBuilder.from_description(replace(description, notes=()), allow_nonphysical=True)
    try:
        fields = _Fields("file", document, ("loops", "couplings"))
        loops, couplings = (fields.records(key) for key in ("loops", "couplings"))
        at = at_zero(description)
        for k, loop in enumerate(loops):
            _close(builder, _Fields(f"loop {k}", loop, _LOOP), f"loop_{k}", at)
        for k, coupling in enumerate(couplings):
            _couple(builder, _Fields(f"coupling {k}", coupling, _COUPLING), f"coupling_{k}")
        checked = builder.describe()
    except ModelImportError:
        raise
    except ModelError as error:
        raise ModelImportError(error.element, error.problem, path) from None
    what = f"{len(loops)} closures and {len(couplings)} couplings from {path.name}"
    note = ImportNote(f"file {path.name!r}", None, what, Severity.NOTHING)
    return replace(
        description,
        closures=checked.closures,
        couplings=checked.couplings,
        notes=(*description.notes, note),
    )


def _parsed(path: Path) -> Any:
    text = files.read(path)
    try:
        if path.suffix == ".json":
            return json.loads(text)
        import yaml
    except ImportError:
        problem = f'reading {path.name} needs PyYAML: pip install "featherweight[yaml]", or say it in JSON'
        raise ImportError(problem) from None
    except ValueError as error:
        raise ModelImportError("file", f"is not JSON: {error}", path) from None
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise ModelImportError("file", f"is not YAML: {getattr(error, 'problem', error)}", path, line) from None


def _close(builder: ModelBuilder, fields: _Fields, default: str, at: dict[str, Array]) -> None:
    """What is not said of the second frame is where the first is while no joint has moved."""
    kind = fields.get("type", "point")
    if kind not in _TYPES:
        raise ModelError(fields.element, f"type must be one of {', '.join(_TYPES)}, got {kind!r}")
    link, to = fields.name("link"), fields.name("to")
    for name in (link, to):
        if name != WORLD and name not in at:
            raise ModelError(fields.element, f"{name!r} is not a link")
    if link == WORLD:
        raise ModelError(fields.element, "the first link must not be the world")
    zero = (0.0, 0.0, 0.0)
    X = poses.pose(fields.vector("xyz", zero), rpy=fields.vector("rpy", zero))
    rows: Sequence[str] = ("x", "y", "z")
    if kind == "hinge":
        X[:3, :3] = X[:3, :3] @ _turned_to(fields, fields.vector("axis"))
        rows = ("x", "y", "z", "rx", "ry")
    elif fields.get("axis", None) is not None:
        raise ModelError(fields.element, f"an axis belongs to a hinge, not to a {kind}")
    elif kind == "fixed":
        rows = ("x", "y", "z", "rx", "ry", "rz")
    Y = poses.inverse(at.get(to, np.eye(4))) @ at[link] @ X
    if fields.get("to_xyz", None) is not None:
        Y[:3, 3] = fields.vector("to_xyz")
    if fields.get("to_rpy", None) is not None:
        Y[:3, :3] = poses.pose(zero, rpy=fields.vector("to_rpy"))[:3, :3]
        if kind == "hinge":
            Y[:3, :3] = Y[:3, :3] @ _turned_to(fields, fields.vector("axis"))
    builder.close(str(fields.get("name", default)), link, to, placement=X, to_placement=Y, rows=rows)


def _couple(builder: ModelBuilder, fields: _Fields, default: str) -> None:
    to = None if fields.get("to", None) is None else fields.name("to")
    polynomial = fields.get("polynomial", [0.0, 1.0])
    if not isinstance(polynomial, list) or not 1 <= len(polynomial) <= 8:
        raise ModelError(fields.element, f"polynomial must be 1 to 8 numbers, the constant first, got {polynomial!r}")
    coefficients = [number(fields.element, "polynomial", x) for x in polynomial]
    builder.couple(str(fields.get("name", default)), fields.name("joint"), to, coefficients)


def _turned_to(fields: _Fields, axis: Array) -> Array:
    """A rotation that takes z to ``axis``."""
    length = float(np.linalg.norm(axis))
    if not length > 1e-12:
        raise ModelError(fields.element, f"axis must not be zero, got {axis.tolist()}")
    z = axis / length
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


class _Fields:
    """A mapping of a file, with no keys but those that are known."""

    def __init__(self, element: str, value: object, known: Sequence[str]) -> None:
        self.element = element
        if value is None and element == "file":
            value = {}
        if not isinstance(value, Mapping):
            raise ModelError(element, f"must map names to values, got {type(value).__name__}")
        for key in value:
            if key not in known:
                raise ModelError(element, f"unknown key {key!r}; they are {', '.join(known)}")
        self._values = value

    def get(self, key: str, default: object) -> Any:
        return self._values.get(key, default)

    def records(self, key: str) -> list[Any]:
        found = self._values.get(key) or []
        if not isinstance(found, list):
            raise ModelError(self.element, f"{key} must be a list, got {type(found).__name__}")
        return found

    def name(self, key: str) -> str:
        if key not in self._values:
            raise ModelError(self.element, f"{key!r} is missing")
        return checked_name(f"{key} of {self.element}", self._values[key])

    def vector(self, key: str, default: object = None) -> Array:
        value = self._values.get(key, default)
        if value is None:
            raise ModelError(self.element, f"{key!r} is missing")
        return np.array(numbers(self.element, key, value, (3,)))
