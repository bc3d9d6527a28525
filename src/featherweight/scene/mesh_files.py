"""Mesh files: vertices and triangles of every body in them, or what is wrong with them.

trimesh reads them; it is in the extra ``featherweight[mesh]``. It repairs and guesses where it can, and its readers
raise what they like, so that files are judged here before and after: nothing is dropped, expanded or made up silently.
"""

from __future__ import annotations

import io
import json
import os
import struct
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import files
from ..arrays import Array
from ..errors import ModelError, ModelImportError

INSTALL = 'pip install "featherweight[mesh]"'
#: What is read, by suffix. Archives are not: they may be a thousand times as large inside.
FORMATS = ("stl", "obj", "ply", "off", "dae", "glb", "gltf")

#: One body of a file: vertices (n, 3) [m], triangles (m, 3).
Part = tuple[Array, NDArray[np.int64]]


def mesh_vertices(what: str, path: str) -> Array:
    """Vertices (n, 3) [m] of all bodies in the mesh file at ``path``. Numbers are metres unless it states a unit."""
    return np.concatenate([vertices for vertices, _ in read_mesh(what, path)])


def read_mesh(what: str, path: str) -> list[Part]:
    """Vertices [m] and triangles of every body in the file, placed as the file says. ``what`` is named in errors."""
    if not os.path.isfile(path):
        raise ModelError(what, f"mesh file {path!r} does not exist")
    try:
        return _read_mesh(path, os.stat(path).st_mtime_ns)
    except ModelError as error:
        raise ModelError(what, f"mesh file {path!r} {error.problem}") from None


@lru_cache(maxsize=64)
def _read_mesh(path: str, modified: int) -> list[Part]:
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise ModelError("mesh", f"has no format that is read: {', '.join(FORMATS)}")
    try:
        import trimesh
    except ImportError:
        raise ImportError(f"reading meshes needs the trimesh package: {INSTALL}") from None
    try:
        data = files.read(Path(path))
    except ModelImportError as error:
        raise ModelError("mesh", error.problem) from None
    _CHECKS[suffix](data)
    if suffix == "stl" and _is_text_stl(data):
        data = data.lower()  # some write FACET NORMAL, which readers do not know
    source = path if suffix == "gltf" else io.BytesIO(data)  # which may have a second file
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            loaded = trimesh.load(source, file_type=suffix, process=False)  # what it would repair is judged below
            bodies = loaded.dump() if isinstance(loaded, trimesh.Scene) else [loaded]
    except ModuleNotFoundError as error:
        raise ModelError("mesh", f"cannot be read without the Python module {error.name!r}: {INSTALL}") from None
    except Exception as error:  # whatever a reader raises, it is about the file
        raise ModelError("mesh", f"cannot be read: {_first_line(error)}") from None
    parts = [_checked(body) for body in bodies if len(getattr(body, "faces", ()))]
    if not parts:
        raise ModelError("mesh", "holds no triangles")
    return parts


def _checked(body: Any) -> Part:
    vertices = _metres(body.units) * np.asarray(body.vertices, dtype=np.float64)
    faces = np.asarray(body.faces)
    if vertices.ndim != 2 or vertices.shape[1:] != (3,) or faces.ndim != 2 or faces.shape[1:] != (3,):
        raise ModelError("mesh", "does not hold points in space and triangles")
    for vertex in np.flatnonzero(~np.isfinite(vertices).all(axis=1))[:1].tolist():
        raise ModelError("mesh", f"has a vertex that is not finite: number {vertex}, {vertices[vertex].tolist()}")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise ModelError("mesh", f"has triangles of vertices that are not there: {faces.min()} to {faces.max()}")
    # vertices at one place are one, as they are in formats that name them
    points, merged = np.unique(vertices, axis=0, return_inverse=True)
    return points, np.asarray(merged.ravel()[faces], dtype=np.int64)


def _metres(units: object) -> float:
    """The unit that a Collada file states, "0.01 * meters" or "meters" as trimesh puts it. Others state none."""
    factor, times, _ = str(units).partition(" * ")
    try:
        scale = float(factor) if times else 1.0
    except ValueError:
        scale = 0.0
    if not 0.0 < scale < np.inf:
        raise ModelError("mesh", f"states a unit that is none: {units}")
    return scale


def _first_line(error: Exception) -> str:
    text = str(error).strip().partition("\n")[0]
    return text[:200] or type(error).__name__


# -- what readers would not notice ----------------------------------------------------------------------------------


def _check_stl(data: bytes) -> None:
    """A binary file says how many triangles it has; readers of one that lies take it for text."""
    start, n_bytes = 84, 50  # of the triangles, and of each
    stated = struct.unpack_from("<I", data, 80)[0] if len(data) >= start else 0
    if _is_text_stl(data):
        _check_text(data)
    elif len(data) < start:
        raise ModelError("mesh", "is neither text nor long enough for a binary STL file")
    elif len(data) != start + n_bytes * stated:
        room = (len(data) - start) / n_bytes
        raise ModelError("mesh", f"states {stated} triangles and is as long as {room:g} of them")


def _is_text_stl(data: bytes) -> bool:
    return data[:512].lstrip()[:5].lower() == b"solid" and b"facet" in data.lower() and b"\0" not in data


def _check_text(data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError:
        raise ModelError("mesh", "is not UTF-8 text") from None


def _check_off(data: bytes) -> None:
    _check_text(data)
    words = [word for line in data.decode().splitlines()[:100] for word in line.partition("#")[0].split()]
    counts = [int(word) for word in words[1:4] if word.isascii() and word.isdigit()]
    _check_counts(counts, len(data))


def _check_ply(data: bytes) -> None:
    header = data[:100_000].partition(b"end_header")[0].split(b"\n")
    _check_counts([int(line.split()[2]) for line in header if _is_element(line.split())], len(data))


def _is_element(words: list[bytes]) -> bool:
    return len(words) == 3 and words[0] == b"element" and words[2].isdigit()


def _check_glb(data: bytes) -> None:
    """The first chunk is JSON: its length, its kind, then the text."""
    if len(data) < 20 or data[:4] != b"glTF":
        raise ModelError("mesh", "is not a binary glTF file")
    (length,) = struct.unpack_from("<I", data, 12)
    _check_json(data[20 : 20 + length], len(data))


def _check_gltf(data: bytes) -> None:
    _check_json(data, files.MAX_BYTES)


def _check_json(text: bytes, n_bytes: int) -> None:
    try:
        document = json.loads(text)
        accessors = document.get("accessors", [])
        counts = [int(accessor.get("count", 0)) for accessor in accessors]
    except Exception:  # of any form whatever
        raise ModelError("mesh", "is not glTF") from None
    _check_counts(counts, n_bytes)


def _check_counts(counts: list[int], n_bytes: int) -> None:
    """Readers make room for what a file states before they look for it. Nothing takes less than a byte."""
    for count in counts:
        if not 0 <= count <= n_bytes:
            raise ModelError("mesh", f"states {count} elements, more than it has room for")


_CHECKS = {
    "stl": _check_stl,
    "obj": _check_text,
    "ply": _check_ply,
    "off": _check_off,
    "dae": lambda data: None,
    "glb": _check_glb,
    "gltf": _check_gltf,
}
