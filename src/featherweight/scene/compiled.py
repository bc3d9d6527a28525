"""A scene as the core takes it: one model of all that moves, shapes on its links, and which of them may touch how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..constraints.constraint_set import ROWS, Constraint
from ..model.materials import ContactLaw, Material, combine
from ..model.model import Model
from ..records import Record

Integers: TypeAlias = NDArray[np.int32]
ShapeKind = Literal["sphere", "capsule", "cylinder", "ellipsoid", "box", "plane", "convex", "heightfield"]

#: The columns of ``CompiledScene.law_values``.
LAW_COLUMNS = (
    *("friction", "torsional", "rolling", "restitution", "stiffness", "damping", "margin", "dim"),
    "tangential_restitution",
)


@dataclass(frozen=True)
class SurfaceProperties(Record):
    """What decides the law between two shapes."""

    material: Material
    margin: float  # [m]
    priority: int


@dataclass(frozen=True, eq=False)
class CompiledShape(Record):
    """A collision shape on a link. Arrays are read-only.

    ``size`` [m] by ``kind``: sphere (radius); capsule and cylinder (radius, half length along z); ellipsoid: three
    radii; box: half edges; plane: (), solid below z = 0; convex: (); heightfield: half extents (x, y).

    >>> scene = fw.Scene()
    >>> ball = scene.add(fw.sphere(0.1), name="ball")
    >>> shape = scene.compile().shapes[0]
    >>> shape.kind, shape.size, shape.link
    ('sphere', (0.1,), 0)
    """

    name: str  # unique in the scene
    part: str  # the name of what was added with it
    kind: ShapeKind
    size: tuple[float, ...]
    link: int  # index of the link in the model, as in forward_kinematics; -1: fixed to the world
    placement: Array  # (4, 4) pose of the shape in that link, or in the world
    body: int  # the same for shapes that cannot move relative to each other, across fixed joints
    parent_body: int  # body on the other side of the joint that carries this one, never touched; -1: none
    family: int  # shapes of one family never touch each other; -1: none
    contype: int  # i and j may touch if contype_i & conaffinity_j or contype_j & conaffinity_i
    conaffinity: int
    surface: int  # index in CompiledScene.surfaces
    vertices: Array | None = None  # convex: (n, 3) corners in shape coordinates [m]
    faces: Integers | None = None  # convex: (m, 3) triangles, counter-clockwise from outside
    heights: Array | None = None  # heightfield: (nx, ny) [m], at x = -hx .. hx and y = -hy .. hy, solid below
    rgba: tuple[float, float, float, float] | None = None

    @property
    def static(self) -> bool:
        """Whether it is part of the world, and never moves."""
        return self.link < 0

    @cached_property
    def for_core(self) -> tuple[str, Any]:
        """Kind, and lengths or what else says how large it is, as the core has them."""
        if self.vertices is not None and self.faces is not None:
            return self.kind, _core.ConvexHull(self.vertices, self.faces.tolist())
        if self.heights is not None:
            heights = np.ascontiguousarray(self.heights.T)
            return "height_field", _core.HeightField(heights, (*self.size, thickness(heights)))
        return self.kind, list(self.size)


def thickness(heights: Array) -> float:
    """Of the ground below z = 0 [m]: a metre more than its deepest point."""
    return 1.0 + max(0.0, -float(heights.min()))


@dataclass(frozen=True)
class Guide(Record):
    """What the error e of a row obeys: e'' + damping e' + stiffness e + compliance f = acceleration, f its force.

    Where all four are zero the row is held instead, e = 0.
    """

    acceleration: float = 0.0  # [m/s^2] or [rad/s^2]
    stiffness: float = 0.0  # [1/s^2]
    damping: float = 0.0  # [1/s]
    compliance: float = 0.0  # [1/kg] or [1/(kg m^2)]

    @property
    def holds(self) -> bool:
        """Whether there is none."""
        return not (self.acceleration or self.stiffness or self.damping or self.compliance)

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """As the core takes it."""
        return self.acceleration, self.stiffness, self.damping, self.compliance


@dataclass(frozen=True, eq=False)
class SceneConstraint(Record):
    """An equality between a frame on ``link`` and one on ``to``: they coincide, along the rows of the constraint."""

    constraint: Constraint  # its frames are names in CompiledScene.model: ConstraintSet takes it
    link: int  # index in the model; -1: the world
    placement: Array  # (4, 4) of the constraint's frame in the link; rows are along its axes
    to: int  # index in the model; -1: the world
    to_placement: Array  # (4, 4) of the frame it must coincide with
    length: float = 0.0  # of a rod between the origins [m]: its one row is along it; 0: no rod
    guides: tuple[Guide, ...] = ()  # of each row, in the order of ``axes``; none: all rows are held
    switch: str = ""  # by which environments turn it on and off; "": it always holds

    @property
    def axes(self) -> list[int]:
        """Of each row, rising: 0 to 2 along the axes of the first frame, 3 to 5 about them; 0 of a rod."""
        return [0] if self.length > 0.0 else sorted(ROWS.index(row) for row in self.constraint.rows)

    @property
    def name(self) -> str:
        a, b = self.constraint.frame, self.constraint.to
        return f"{a}" if b is None else f"{a} - {b}"


@dataclass(frozen=True)
class SceneCoupling(Record):
    """Polynomials of the coordinates of joints that add up to zero: of each a degree of freedom and coefficients."""

    name: str
    terms: tuple[tuple[int, tuple[float, ...]], ...]  # the constant first
    guide: Guide = Guide()


@dataclass(frozen=True)
class ScenePart(Record):
    """Where something that was added is: its coordinates, links and shapes. Static bodies have no coordinates."""

    name: str
    q: slice  # in the configuration of the whole scene
    v: slice
    links: slice  # of the model's links
    shapes: tuple[int, ...]  # indices


@dataclass(frozen=True, eq=False)
class LimitTable(Record):
    """Coordinates with limits, one row each: ``lower <= q[q_index] <= upper``, and dq/dt is ``v[v_index]``."""

    q_index: Integers  # (n,)
    v_index: Integers  # (n,)
    lower: Array  # (n,) [m] or [rad]; -inf: none
    upper: Array  # (n,)


@dataclass(frozen=True, eq=False)
class SpringTable(Record):
    """Coordinates on springs, one row each: the force on v[v_index] is ``-stiffness (q[q_index] - rest_position)``."""

    q_index: Integers  # (n,)
    v_index: Integers  # (n,)
    stiffness: Array  # (n,) [N/m] or [N m/rad]
    rest_position: Array  # (n,) [m] or [rad]

    def energy(self, q: Array) -> Array:
        """The energy of the springs at q (..., nq), (...) [J]."""
        stretched = q[..., self.q_index] - self.rest_position
        return np.asarray(0.5 * (self.stiffness * stretched**2).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class PairTable(Record):
    """All pairs of shapes that can touch.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> balls = [scene.add(fw.sphere(0.1), pose=(k, 0, 1)) for k in range(3)]
    >>> table = scene.compile().pair_table()
    >>> 0 if table is None else len(table)
    6
    """

    first: Integers  # (n,) index of a shape; first < second, in rising order
    second: Integers  # (n,)
    law: Integers  # (n,) row of CompiledScene.laws

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class CompiledScene(Record):
    """Made by :meth:`featherweight.Scene.compile`. Everything is read-only, and refers to everything by index.

    Limits of q, and dry friction, damping, springs, effort and velocity limits and rotor inertia per degree of freedom,
    are arrays of ``model``; motors are ``model.description.actuators``. The filter of pairs is in the shapes (see
    :class:`CompiledShape`), ``excluded`` and ``overrides``; :meth:`pair_table` applies it.

    Compiled scenes pickle with all numbers, so that no mesh is read or wrapped in a hull again, and compare by value.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> ball = scene.add(fw.sphere(0.1), name="ball")
    >>> compiled = scene.compile()
    >>> compiled.parts["ball"].q, len(compiled.shapes)
    (slice(0, 7, None), 2)
    """

    model: Model  # the forest of everything that moves
    q0: Array  # (nq,) where everything was put
    shapes: tuple[CompiledShape, ...]
    surfaces: tuple[SurfaceProperties, ...]
    laws: tuple[ContactLaw, ...]  # every law that occurs
    surface_laws: Integers  # (n_surfaces, n_surfaces) law of two surfaces, row of laws; symmetric
    excluded: frozenset[tuple[int, int]]  # pairs of shapes (i < j) that never touch
    overrides: Mapping[tuple[int, int], int]  # pairs (i < j) that may touch whatever the filter says -> row of laws
    constraints: tuple[SceneConstraint, ...]
    parts: Mapping[str, ScenePart]  # by the name given to Scene.add; "ground" for the ground
    couplings: tuple[SceneCoupling, ...] = ()  # of models, mimic joints included, and of the scene

    @cached_property
    def law_values(self) -> Array:
        """(n_laws, 9) float64, the columns as in ``LAW_COLUMNS``; stiffness is infinite where contact is rigid."""
        values = np.array([[getattr(law, column) for column in LAW_COLUMNS] for law in self.laws], dtype=np.float64)
        values = values.reshape(-1, len(LAW_COLUMNS))
        values.setflags(write=False)
        return values

    @cached_property
    def guides(self) -> tuple[Guide, ...]:
        """Of all rows of constraints, then of couplings."""
        closures = [guide for each in self.constraints for guide in each.guides or (Guide(),) * len(each.axes)]
        return (*closures, *(each.guide for each in self.couplings))

    @cached_property
    def held_rows(self) -> NDArray[np.bool_]:
        """(rows,) those of constraints and couplings that are not guided but held."""
        return np.array([guide.holds for guide in self.guides], dtype=bool)

    @cached_property
    def limits(self) -> LimitTable:
        """Limits of all joints but ball and free joints."""
        q, v = self._rates
        limited = np.isfinite(self.model.lower[q]) | np.isfinite(self.model.upper[q])
        q, v = q[limited], v[limited]
        return LimitTable(q, v, self.model.lower[q], self.model.upper[q])

    @cached_property
    def springs(self) -> SpringTable:
        """Springs of joints."""
        q, v = self._rates
        sprung = self.model.stiffness[v] > 0.0
        q, v = q[sprung], v[sprung]
        return SpringTable(q, v, self.model.stiffness[v], self.model.rest_position[v])

    @cached_property
    def _rates(self) -> tuple[Integers, Integers]:
        """Coordinates whose rates are velocities, and those: of all joints but ball and free joints."""
        axes = [joint for joint in self.model.joints if joint.type not in ("spherical", "free")]
        q = [i for joint in axes for i in range(joint.q_slice.start, joint.q_slice.stop)]
        v = [i for joint in axes for i in range(joint.v_slice.start, joint.v_slice.stop)]
        return np.array(q, dtype=np.int32), np.array(v, dtype=np.int32)

    @cached_property
    def rules(self) -> _core.PairRules:
        """The filter, as the core has it."""
        exceptions = dict.fromkeys(self.excluded, -1) | dict(self.overrides)
        return _core.PairRules(
            [
                (*_signed(s.contype, s.conaffinity), s.body, s.parent_body, s.family, s.surface, int(s.static))
                for s in self.shapes
            ],
            self.surface_laws.tolist(),
            [(i, j, law) for (i, j), law in exceptions.items()],
        )

    def may_touch(self, i: int, j: int) -> bool:
        """Whether shapes ``i`` and ``j`` are a pair of the scene.

        >>> scene = fw.Scene(ground=fw.Plane())
        >>> ball = scene.add(fw.sphere(0.1), name="ball")
        >>> compiled = scene.compile()
        >>> [shape.name for shape in compiled.shapes], compiled.may_touch(0, 1)
        (['ground', 'ball'], True)
        """
        return i != j and self.rules.law(i, j) >= 0

    def law(self, i: int, j: int) -> ContactLaw:
        """The law of shapes ``i`` and ``j`` where they touch.

        >>> scene = fw.Scene(ground=fw.Plane(friction=0.5))
        >>> ball = scene.add(fw.sphere(0.1, friction=0.8), name="ball")
        >>> scene.compile().law(0, 1).friction
        0.8
        """
        row = self.overrides.get((min(i, j), max(i, j)))
        return self.laws[self.surface_laws[self.shapes[i].surface, self.shapes[j].surface] if row is None else row]

    def pair_table(self, max_pairs: int = 4096) -> PairTable | None:
        """All pairs that may touch, or None if there are more than ``max_pairs``: then filter what is found near.

        >>> scene = fw.Scene(ground=fw.Plane())
        >>> for name in ("one", "two"):
        ...     ball = scene.add(fw.sphere(0.1), name=name)
        >>> table = scene.compile().pair_table()
        >>> list(zip(table.first.tolist(), table.second.tolist()))
        [(0, 1), (0, 2), (1, 2)]
        """
        pairs = self.rules.pairs(max_pairs)
        if pairs is None:
            return None
        first, second, law = np.array(pairs, dtype=np.int32).reshape(-1, 3).T
        return PairTable(*(np.ascontiguousarray(column) for column in (first, second, law)))

    def __hash__(self) -> int:
        return hash((self.model, len(self.shapes), len(self.constraints)))

    def __repr__(self) -> str:
        return (
            f"<CompiledScene: nq={self.model.nq}, nv={self.model.nv}, {len(self.shapes)} shapes, "
            f"{len(self.constraints)} constraints>"
        )


class SurfaceTable:
    """Collects surfaces and laws, each once."""

    def __init__(self) -> None:
        self._surfaces: dict[SurfaceProperties, int] = {}
        self._laws: dict[ContactLaw, int] = {}

    def surface(self, material: Material | None, margin: float, priority: int) -> int:
        key = SurfaceProperties(material or Material(), margin, priority)
        return self._surfaces.setdefault(key, len(self._surfaces))

    def law(self, law: ContactLaw) -> int:
        return self._laws.setdefault(law, len(self._laws))

    def between(self, a: int, b: int) -> ContactLaw:
        surfaces = list(self._surfaces)
        return law_between(surfaces[a], surfaces[b])

    def tables(self) -> tuple[tuple[SurfaceProperties, ...], tuple[ContactLaw, ...], Integers]:
        surfaces = list(self._surfaces)
        matrix = [[self.law(law_between(a, b)) for b in surfaces] for a in surfaces]
        laws = np.array(matrix, dtype=np.int32).reshape(len(surfaces), len(surfaces))
        return tuple(surfaces), tuple(self._laws), laws


def law_between(a: SurfaceProperties, b: SurfaceProperties) -> ContactLaw:
    """The law of two surfaces: combined, or that of the higher priority alone; margins add in any case."""
    margin = a.margin + b.margin
    if a.priority == b.priority:
        return combine(a.material, b.material, margin)
    return combine(max(a, b, key=lambda surface: surface.priority).material, Material(), margin)


def _signed(*bits: int) -> tuple[int, ...]:
    """The same 32 bits as the core takes them, as integers with a sign."""
    return tuple((each ^ 1 << 31) - (1 << 31) for each in bits)
