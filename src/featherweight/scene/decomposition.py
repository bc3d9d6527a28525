"""Concave meshes as convex pieces, found once and kept.

CoACD finds them; it is in the extra ``featherweight[decompose]``. It takes seconds to minutes, so that pieces are kept
in the directory of :func:`cache_directory`, under a key made of the mesh, the concavity and the version of CoACD.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import files
from ..arrays import Array
from ..checks import number
from ..errors import ModelError
from ..model.description import Geometry
from ..model.model import Model
from ..progress import progress_bar
from . import coacd_process, hulls
from .mesh_files import read_mesh

INSTALL = 'pip install "featherweight[decompose]"'
#: [1] by which pieces may be deeper hollowed than the mesh, as a share of its size: what CoACD calls its threshold.
CONCAVITY = 0.05
#: Changes whenever the same mesh would be cut otherwise.
_FORMAT = 1


def decomposed(model: Model, concavity: float = CONCAVITY, *, progress: bool = False) -> Model:
    """A model whose collision meshes are decomposed into convex pieces; otherwise, each collides as its convex hull.

    concavity: the greatest depth of a hollow that a piece may fill, relative to the size of the mesh, from 0.01 to 1.
    The pieces of "name" are called "name_piece_0" and so on, have its material, and need no file. They are computed
    once, by CoACD, and cached on disk. Needs ``featherweight[decompose]``.

    >>> arm = fw.models.arm()
    >>> fw.decomposed(arm) == arm  # it has no meshes
    True
    """
    meshes = [g for link in model.description.links for g in link.geometries if _is_collision_mesh(g)]
    with progress_bar(len(meshes), "decomposing meshes", enabled=progress and bool(meshes)) as advance:
        links = []
        for link in model.description.links:
            geometries = list[Geometry]()
            for g in link.geometries:
                geometries += _pieces_of(f"link {link.name!r}: {g.name!r}", g, concavity, advance)
            links.append(replace(link, geometries=tuple(geometries)))
    return Model(replace(model.description, links=tuple(links)))


def _is_collision_mesh(geometry: Geometry) -> bool:
    return geometry.role == "collision" and geometry.shape == "mesh"


def _pieces_of(what: str, geometry: Geometry, concavity: float, advance: Callable[[int], None]) -> list[Geometry]:
    if not _is_collision_mesh(geometry):
        return [geometry]
    assert geometry.mesh is not None
    pieces = [
        piece
        for vertices, faces in read_mesh(what, geometry.mesh)
        for piece in convex_pieces(what, vertices * np.array(geometry.size), faces, concavity)
    ]
    advance(1)
    return [
        replace(geometry, name=f"{geometry.name}_piece_{k}", shape="convex", size=(), mesh=None, vertices=piece)
        for k, piece in enumerate(pieces)
    ]


def convex_pieces(what: str, vertices: Array, faces: NDArray[np.integer], concavity: float = CONCAVITY) -> list[Array]:
    """Corners (n, 3) [m] of convex pieces that together are the solid inside triangles; ``what`` is named in errors.

    The same mesh has the same pieces, in the same order.
    """
    threshold = number(what, "concavity", concavity)
    if not 0.01 <= threshold <= 1.0:
        raise ModelError(what, f"concavity must be from 0.01 to 1, got {threshold:g}")
    if len(faces) < 4:
        raise ModelError(what, f"pieces need the triangles around a solid, got {len(faces)}")
    points = np.ascontiguousarray(vertices, dtype=np.float64)
    triangles = np.ascontiguousarray(faces, dtype=np.int32)
    pieces = list(_kept_pieces(points.tobytes(), triangles.tobytes(), threshold))
    if not pieces:
        raise ModelError(what, "the mesh encloses no volume: no piece of it has any")
    return pieces


def cache_directory() -> Path:
    """Where pieces are kept: ``FEATHERWEIGHT_CACHE``, or ``featherweight`` in the user's directory for such files."""
    own = os.environ.get("FEATHERWEIGHT_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "featherweight"


@lru_cache(maxsize=256)
def _kept_pieces(vertices: bytes, faces: bytes, threshold: float) -> tuple[Array, ...]:
    key = hashlib.sha256(f"{_FORMAT} {_coacd_version()} {threshold!r} {len(vertices)} ".encode() + vertices + faces)
    path = cache_directory() / "pieces" / f"{key.hexdigest()}.npz"
    pieces = _read(path)
    if pieces is None:
        corners, triangles = np.frombuffer(vertices), np.frombuffer(faces, dtype=np.int32)
        pieces = coacd_process.cut(corners.reshape(-1, 3), triangles.reshape(-1, 3), threshold)
        _write(path, pieces)
    solid = [piece for piece in pieces if _has_volume(piece)]  # cuts may leave a skin
    for piece in solid:
        piece.setflags(write=False)
    return tuple(solid)


def _has_volume(piece: Array) -> bool:
    try:
        hulls.convex_hull("piece", piece)
    except ModelError:
        return False
    return True


def _coacd_version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and few need it

    try:
        return version("coacd")
    except PackageNotFoundError:
        raise ImportError(f"cutting meshes into convex pieces needs the coacd package: {INSTALL}") from None


def _read(path: Path) -> list[Array] | None:
    """What :func:`_write` kept; None if there is nothing, or nothing whole."""
    from zipfile import BadZipFile  # slow to import

    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            pieces = [np.array(file[f"piece_{k}"]) for k in range(len(file.files))]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None
    whole = all(p.ndim == 2 and p.shape[1:] == (3,) and p.dtype == np.float64 and np.isfinite(p).all() for p in pieces)
    return pieces if pieces and whole else None


def _write(path: Path, pieces: list[Array]) -> None:
    with suppress(OSError):  # a cache that cannot be written only costs time
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.replacing(path) as file:
            np.savez(file, **{f"piece_{k}": piece for k, piece in enumerate(pieces)})  # type: ignore[arg-type]
