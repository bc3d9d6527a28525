"""Bodies for scenes: solids of one shape, the ground, and how their surfaces behave.

>>> crate = fw.box((0.4, 0.3, 0.2), density=400.0, friction=0.6)
>>> float(crate.mass)
9.6
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked_name, close_names, frozen, not_negative, number, numbers, vector
from ..errors import ModelError
from ..model.description import Geometry, Inertia, identity_pose
from ..model.geometry_checks import checked_geometry, checked_heights, checked_points, checked_pose
from ..model.materials import Material
from ..model.poses import rotation_taking_z_to
from ..model.solids import solid_inertia
from ..records import Record
from . import hulls
from .decomposition import CONCAVITY, convex_pieces
from .mesh_files import read_mesh

if TYPE_CHECKING:
    from typing_extensions import Unpack

WATER = 1000.0  # [kg/m^3]


class Surface(TypedDict, total=False):
    """Options that every shape takes: a material, or its properties one by one, and what it may touch.

    Properties as in :class:`featherweight.Material`, the rest as in :class:`featherweight.Geometry`.
    """

    material: Material | None
    friction: float
    torsional: float
    rolling: float
    restitution: float
    tangential_restitution: float
    stiffness: float
    damping: float
    dim: int
    margin: float
    contype: int
    conaffinity: int
    priority: int


@dataclass(frozen=True, eq=False)
class Body(Record):
    """A rigid body for a scene, free to move unless ``static``. Created by :func:`box`, :func:`sphere` and so on.

    Bodies can be pickled and compare by value.

    >>> crate = fw.box((0.4, 0.3, 0.2), mass=5.0)
    >>> isinstance(crate, fw.Body), crate.static
    (True, False)
    """

    name: str | None  # None: the scene names it after its kind
    kind: str  # "box", "sphere", ...
    inertia: Inertia | None  # None: static
    geometries: tuple[Geometry, ...]  # to collide, in body coordinates
    pose: Array = field(default_factory=identity_pose)  # (4, 4) where it starts, or stays, in the world
    static: bool = False

    @property
    def mass(self) -> float:
        """[kg]; infinite if static."""
        return math.inf if self.inertia is None else self.inertia.mass

    def __repr__(self) -> str:
        name = "" if self.name is None else f" {self.name!r}"
        return f"<{self.kind}{name}: {'static' if self.static else f'{self.mass:g} kg'}>"


class Plane(Body):
    """A static half space: all points x with normal . x <= offset are inside.

    >>> scene = fw.Scene(ground=fw.Plane(friction=0.8))
    >>> scene
    <Scene: 'ground'>
    """

    def __init__(
        self,
        *,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        offset: float = 0.0,
        name: str | None = None,
        **surface: Unpack[Surface],
    ) -> None:
        direction = numbers("plane", "normal", normal, (3,))
        length = float(np.linalg.norm(direction))
        if not length > 0.0:
            raise ModelError("plane", "normal must not be zero")
        X = np.eye(4)
        X[:3, :3] = rotation_taking_z_to(direction / length)
        X[:3, 3] = number("plane", "offset", offset) * direction / length
        geometry = _geometry("plane", (), surface, solid=False)
        super().__init__(_name("plane", name), "plane", None, (geometry,), frozen(X), static=True)


class HeightField(Body):
    """A static landscape: ``heights`` (nx, ny) [m] over a rectangle of ``size`` (x, y) [m], solid below.

    ``heights[i, j]`` is at x = size_x (i / (nx - 1) - 1/2), y = size_y (j / (ny - 1) - 1/2) of its frame ``pose``.

    >>> hills = fw.HeightField(0.1 * np.random.default_rng(0).random((20, 30)), (4.0, 6.0), friction=0.7)
    >>> scene = fw.Scene(ground=hills)
    >>> hills.static
    True
    """

    def __init__(
        self,
        heights: ArrayLike,
        size: ArrayLike,
        *,
        pose: ArrayLike | None = None,
        name: str | None = None,
        **surface: Unpack[Surface],
    ) -> None:
        what = "height field"
        table = checked_heights(what, heights)
        geometry = _geometry("heightfield", _positive(what, "size", size, 2), surface, solid=False, heights=table)
        super().__init__(
            _name(what, name), "heightfield", None, (geometry,), checked_pose(what, "pose", pose), static=True
        )


class Solid(TypedDict, total=False):
    """Options that every body takes.

    mass [kg] or density [kg/m^3], that of water by default; pose: (4, 4) or a position, where the body starts;
    static: it never moves; rgba: its colour.
    """

    mass: float
    density: float
    name: str
    pose: ArrayLike
    static: bool
    rgba: tuple[float, float, float, float]


class Options(Surface, Solid, total=False):
    """All options of a body."""


def box(size: ArrayLike, **options: Unpack[Options]) -> Body:
    """A box with edges ``size`` (x, y, z) [m]. Options as in :class:`Solid` and :class:`Surface`.

    >>> fw.box((0.4, 0.3, 0.2), mass=5.0, friction=0.6).kind
    'box'
    """
    return _primitive("box", _positive("box", "size", size, 3), options)


def sphere(radius: float, **options: Unpack[Options]) -> Body:
    """A ball [m]. Options as in :class:`Solid` and :class:`Surface`.

    >>> fw.sphere(0.1, mass=0.5, restitution=0.8).kind
    'sphere'
    """
    return _primitive("sphere", _positive("sphere", "radius", radius, 1), options)


def capsule(radius: float, length: float, **options: Unpack[Options]) -> Body:
    """A cylinder of ``length`` along z with half balls at its ends [m]. Options as for :func:`box`.

    >>> fw.capsule(0.05, 0.3, mass=0.5).kind
    'capsule'
    """
    [r] = _positive("capsule", "radius", radius, 1)
    return _primitive("capsule", (r, not_negative("capsule", "length", length)), options)


def cylinder(radius: float, length: float, **options: Unpack[Options]) -> Body:
    """A cylinder along z [m]. Options as for :func:`box`.

    >>> fw.cylinder(0.05, 0.3, mass=0.5).kind
    'cylinder'
    """
    size = (*_positive("cylinder", "radius", radius, 1), *_positive("cylinder", "length", length, 1))
    return _primitive("cylinder", size, options)


def ellipsoid(radii: ArrayLike, **options: Unpack[Options]) -> Body:
    """An ellipsoid with ``radii`` (x, y, z) [m]. Options as for :func:`box`.

    >>> fw.ellipsoid((0.1, 0.2, 0.3), mass=0.5).kind
    'ellipsoid'
    """
    return _primitive("ellipsoid", _positive("ellipsoid", "radii", radii, 3), options)


def convex(vertices: ArrayLike, **options: Unpack[Options]) -> Body:
    """The convex hull of ``vertices`` (n, 3) [m], in the coordinates of the body. Options as for :func:`box`.

    >>> fw.convex(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), mass=1.0).kind
    'convex'
    """
    return _hulls("convex", [checked_points("convex", vertices)], options)


def mesh(
    source: str | os.PathLike[str] | ArrayLike,
    faces: ArrayLike | None = None,
    *,
    scale: ArrayLike = 1.0,
    pieces: bool = False,
    decompose: bool | float = False,
    **options: Unpack[Options],
) -> Body:
    """The convex hull of a mesh: of a file, or of vertices (n, 3) [m] and triangles ``faces`` (m, 3).

    scale: one or three factors of the coordinates of ``source``; pieces: one hull for each connected part, instead of
    one around everything; decompose: decompose a concave mesh into convex pieces, True or the concavity they may have
    (:func:`featherweight.decomposed`). Mass and inertia are those of the hulls. Options as for :func:`box`.

    >>> corners, faces = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    >>> body = fw.mesh(corners, faces, scale=0.1, mass=1.0)  # or a file: fw.mesh("part.stl", mass=1.0)
    >>> body.kind
    'mesh'
    """
    if pieces and decompose is not False:
        raise ModelError("mesh", "give pieces or decompose, not both")
    if isinstance(source, str | os.PathLike):
        if faces is not None:
            raise ModelError("mesh", "faces go with vertices; a file has its own")
        parts = read_mesh("mesh", os.path.abspath(os.fspath(source)))
    else:
        vertices = checked_points("mesh", source)
        if faces is None and (pieces or decompose is not False):
            raise ModelError("mesh", "pieces need faces, which say what is connected")
        parts = [(vertices, _triangles(faces, len(vertices)))]
    factor = numbers("mesh", "scale", np.broadcast_to(np.asarray(scale), (3,)) if np.ndim(scale) == 0 else scale, (3,))
    if decompose is not False:
        concavity = CONCAVITY if decompose is True else decompose
        found = [convex_pieces("mesh", part[0] * factor, part[1], concavity) for part in parts]
        return _hulls("mesh", [piece for of_part in found for piece in of_part], options)
    clouds = [hulls.connected_parts(*part) if pieces else [part[0]] for part in parts]
    points = [cloud * factor for clouds_of_part in clouds for cloud in clouds_of_part]
    return _hulls("mesh", points if pieces else [np.concatenate(points)], options)


# -- from options to records ----------------------------------------------------------------------------------------


def _primitive(kind: Any, size: tuple[float, ...], options: Options) -> Body:
    """A solid whose inertia has a formula."""
    return _body(
        kind, [_geometry(kind, size, options)], [_volume(kind, size)], [solid_inertia(kind, size, 1.0)], options
    )


def _hulls(kind: Literal["convex", "mesh"], clouds: Sequence[Array], options: Options) -> Body:
    """A solid of convex pieces, which are taken not to overlap."""
    pieces = [hulls.convex_hull(kind, cloud) for cloud in clouds]
    geometries = [
        replace(_geometry("convex", (), options, vertices=piece.vertices), name=f"piece_{k}")
        for k, piece in enumerate(pieces)
    ]
    return _body(
        kind, geometries, [piece.volume for piece in pieces], [piece.inertia(1.0) for piece in pieces], options
    )


def _body(kind: str, geometries: list[Geometry], volumes: list[float], units: list[Inertia], options: Options) -> Body:
    """``volumes`` and ``units``, the inertias for one kilogram each, of the pieces."""
    static = options.get("static", False)
    if not isinstance(static, bool):
        raise ModelError(kind, f"static must be True or False, got {static!r}")
    if static and ("mass" in options or "density" in options):
        raise ModelError(kind, "a static body has no mass and no density")
    return Body(
        _name(kind, options.get("name")),
        kind,
        None if static else _inertia(kind, volumes, units, options),
        tuple(geometries),
        checked_pose(kind, "pose", options.get("pose")),
        static,
    )


def _inertia(kind: str, volumes: list[float], units: list[Inertia], options: Options) -> Inertia:
    mass, density = options.get("mass"), options.get("density")
    if mass is not None and density is not None:
        raise ModelError(kind, "give mass or density, not both")
    total = sum(volumes)
    given, value = ("mass", mass) if mass is not None else ("density", WATER if density is None else density)
    weight = number(kind, given, value)
    if not weight > 0.0:
        raise ModelError(kind, f"{given} must be positive, got {weight:g}")
    whole = weight if given == "mass" else weight * total
    masses = [whole * volume / total for volume in volumes]
    com = sum((m * unit.com for m, unit in zip(masses, units, strict=True)), np.zeros(3)) / whole
    matrix = np.zeros((3, 3))
    for m, unit in zip(masses, units, strict=True):
        arm = unit.com - com
        matrix += m * (unit.matrix + arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Inertia(whole, frozen(com), frozen(matrix))


def _geometry(
    shape: Any, size: tuple[float, ...], options: Mapping[str, Any], *, solid: bool = True, **arrays: Any
) -> Geometry:
    known = [*Surface.__annotations__, *(Solid.__annotations__ if solid else ())]
    unknown = next((key for key in options if key not in known), None)
    if unknown is not None:
        raise ModelError(str(shape), f"unknown option {unknown!r}{close_names(unknown, known)}")
    contact = {key: options[key] for key in ("margin", "contype", "conaffinity", "priority") if key in options}
    material, rgba = surface_material(str(shape), options), options.get("rgba")
    geometry = Geometry(str(shape), "collision", shape, size, rgba=rgba, material=material, **arrays, **contact)
    return checked_geometry("body", geometry)


def surface_material(what: str, options: Mapping[str, Any]) -> Material | None:
    """The material in ``options``, whole or by its properties; None if they give none."""
    own = {key: options[key] for key in Material.__dataclass_fields__ if options.get(key) is not None}
    material: Material | None = options.get("material")
    if material is not None and own:
        raise ModelError(what, f"give material or {', '.join(own)}, not both")
    if material is not None and not isinstance(material, Material):
        raise ModelError(what, f"material must be a Material, got {material!r}")
    if not own:
        return material
    try:
        return Material(**own)
    except ValueError as error:
        raise ModelError(what, str(error)) from None


def _volume(kind: str, size: tuple[float, ...]) -> float:
    if kind == "box":
        return math.prod(size)
    if kind == "ellipsoid":
        return 4.0 / 3.0 * math.pi * math.prod(size)
    ball = 4.0 / 3.0 * math.pi * size[0] ** 3
    if kind == "sphere":
        return ball
    tube = math.pi * size[0] ** 2 * size[1]
    return tube if kind == "cylinder" else tube + ball


def _positive(what: str, field_: str, value: ArrayLike, n: int) -> tuple[float, ...]:
    given = np.atleast_1d(np.asarray(value)) if n == 1 else value
    sizes = numbers(what, field_, given, (n,), "one number" if n == 1 else f"{n} numbers")
    if not (sizes > 0.0).all():
        raise ModelError(what, f"{field_} must be positive, got {vector(sizes)}")
    return tuple(float(x) for x in sizes)


def _triangles(faces: ArrayLike | None, n: int) -> Any:
    if faces is None:
        return np.zeros((0, 3), dtype=np.int64)
    array = np.asarray(faces)
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iu":
        raise ModelError("mesh", f"faces must be triples of integers, got an array of shape {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= n):
        raise ModelError("mesh", f"faces must name vertices 0 to {n - 1}, got {array.min()} to {array.max()}")
    return array


def _name(kind: str, name: object) -> str | None:
    return None if name is None else checked_name(kind, name)
