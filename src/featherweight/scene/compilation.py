"""From the parts of a scene to one model with shapes that may touch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from .. import _core
from ..arrays import Array
from ..checks import frozen
from ..constraints.constraint_set import (
    LEAST_LENGTH,
    ROWS,
    AnyConstraint,
    Constraint,
    DistanceConstraint,
    FrameConstraint,
    HingeConstraint,
    JointCombination,
    JointCoupling,
    PointConstraint,
    gains_of,
    rows_of,
)
from ..errors import ModelError
from ..model import poses
from ..model.builder import ModelBuilder
from ..model.description import WORLD, Actuator, Closure, Geometry, Joint, ModelDescription
from ..model.geometry_checks import checked_pose
from ..model.keyframes import by_joint
from ..model.materials import ContactLaw
from ..model.medium import Medium
from ..model.model import Model
from ..records import Record
from . import hulls
from .compiled import CompiledScene, CompiledShape, Guide, SceneConstraint, SceneCoupling, ScenePart, SurfaceTable
from .mesh_files import mesh_vertices
from .shapes import Body

OVERLAP = 1e-4  # [m] shapes that overlap by more count as overlapping by design
SelfCollision = bool | Literal["adjacent", "apart"]


@dataclass(frozen=True, eq=False)
class SceneObject(Record):
    """A handle to a part of a scene: pass it, or its name, to ``exclude`` and ``pair``.

    Handles can be pickled, and are equal if name and content are; they also work with a copy of the scene.

    >>> scene = fw.Scene()
    >>> robot = scene.add(fw.models.arm(), name="left")
    >>> robot.link("flange")
    'left/flange'
    """

    name: str
    content: Model | Body

    def link(self, name: str) -> str:
        """Name in the scene of the link or frame ``name`` of an added model."""
        if isinstance(self.content, Body):
            raise ValueError(f"{self.name!r} is a body: it is its only link, called {self.name!r}")
        return f"{self.name}/{self.content.frame(name).name}"

    def joint(self, name: str) -> str:
        """Name in the scene of the joint ``name`` of an added model.

        >>> fw.Scene().add(fw.models.arm(), name="left").joint("joint_1")
        'left/joint_1'
        """
        if isinstance(self.content, Body):
            raise ValueError(f"{self.name!r} is a body: its only joint is called {self.name!r}")
        return f"{self.name}/{self.content.joint(name).name}"

    def __repr__(self) -> str:
        return f"<SceneObject {self.name!r}: {self.content!r}>"


@dataclass(frozen=True, eq=False)
class SceneEntry(Record):
    """What was added to a scene, and where."""

    handle: SceneObject
    pose: Array
    q: Array | None  # models only
    self_collision: SelfCollision


class Compilation:
    """From entries to a :class:`CompiledScene`."""

    def __init__(
        self, entries: dict[str, SceneEntry], gravity: Array, medium: Medium | None, actuators: Iterable[Actuator]
    ) -> None:
        self._entries = list(entries.values())
        # Models were judged when they were built.
        builder = ModelBuilder("scene", gravity=gravity, medium=medium, allow_nonphysical=True)
        self._model = _forest(self._entries, builder, actuators)
        self._q0 = self._model.q0
        self._placements = _core.forward_kinematics(self._model, self._q0)
        self._bodies = _Bodies(self._model.description)
        self._surfaces = SurfaceTable()
        self._shapes: list[CompiledShape] = []
        # Name of a part, link or shape -> shapes; links first, so that no shape takes the name of one.
        self._found: dict[str, list[int]] = {link.name: [] for link in self._model.description.links}

    def run(
        self,
        excludes: list[tuple[str, str]],
        pairs: list[tuple[str, str, dict[str, Any]]],
        constraints: list[AnyConstraint],
        switches: dict[int, str],
    ) -> CompiledScene:
        parts = dict(self._parts())
        excluded = {pair for a, b in (*self._model.description.excludes, *excludes) for pair in self._between(a, b)}
        overrides = self._overrides(pairs)
        surfaces, laws, surface_laws = self._surfaces.tables()
        surface_laws.setflags(write=False)
        compiled = CompiledScene(
            model=self._model,
            q0=self._q0,
            shapes=tuple(self._shapes),
            surfaces=surfaces,
            laws=laws,
            surface_laws=surface_laws,
            excluded=frozenset(excluded),
            overrides=overrides,
            constraints=tuple(self._constraints(constraints, switches)),
            couplings=tuple(self._couplings(constraints)),
            parts=parts,
        )
        overlapping = self._overlapping(compiled)
        return replace(compiled, excluded=compiled.excluded | overlapping) if overlapping else compiled

    def _overlapping(self, scene: CompiledScene) -> set[tuple[int, int]]:
        """Shapes of one model that overlap where it starts, except those that ``pair`` names."""
        found: set[tuple[int, int]] = set()
        for entry in self._entries:
            if entry.self_collision == "apart" and isinstance(entry.handle.content, Model):
                all_shapes = scene.parts[entry.handle.name].shapes
                shapes = [k for k in all_shapes if not self._bodies.surrounds[self._shapes[k].body]]
                pairs = [(i, j) for n, i in enumerate(shapes) for j in shapes[n + 1 :] if scene.may_touch(i, j)]
                found |= {pair for pair in pairs if pair not in scene.overrides and self._depth(*pair) > OVERLAP}
        return found

    def _depth(self, i: int, j: int) -> float:
        a, b = self._shapes[i], self._shapes[j]
        X_a, X_b = (s.placement if s.static else self._placements[s.link] @ s.placement for s in (a, b))
        gaps = _core.collide(*a.for_core, X_a, *b.for_core, X_b, 0.0)[2]
        return float(-gaps.min(initial=0.0))

    # -- shapes --------------------------------------------------------------------------------------------------

    def _parts(self) -> Iterator[tuple[str, ScenePart]]:
        q = v = link = 0
        for number, entry in enumerate(self._entries):
            name, content = entry.handle.name, entry.handle.content
            first = len(self._shapes)
            if isinstance(content, Model):
                nq, nv, links = content.nq, content.nv, content.n_links
                for k in range(link, link + links):
                    self._add_link_shapes(entry, number, k)
            else:
                nq, nv, links = (0, 0, 0) if content.static else (7, 6, 1)
                for geometry in content.geometries:
                    single = name if len(content.geometries) == 1 else f"{name}/{geometry.name}"
                    where = (-1, entry.pose @ geometry.placement) if content.static else (link, geometry.placement)
                    body = self._model.n_links + number if content.static else link
                    self._add_shape(geometry, single, name, where, (body, -1, -1))
            shapes = tuple(range(first, len(self._shapes)))
            self._found[name] = list(shapes)
            yield name, ScenePart(name, slice(q, q + nq), slice(v, v + nv), slice(link, link + links), shapes)
            q, v, link = q + nq, v + nv, link + links

    def _add_link_shapes(self, entry: SceneEntry, number: int, k: int) -> None:
        link = self._model.description.links[k]
        body, parent = self._bodies.body[k], self._bodies.parent_body[k]
        # A floor or a table in the file of a robot is no part of the robot.
        family = -1 if entry.self_collision or self._bodies.surrounds[k] else number
        identity = (body, -1 if entry.self_collision == "adjacent" else parent, family)
        static = not self._bodies.moves[k]
        for geometry in link.geometries:
            if geometry.role == "collision":
                X = self._placements[k] @ geometry.placement if static else geometry.placement
                self._found[link.name].append(len(self._shapes))
                where = (-1 if static else k, X)
                self._add_shape(geometry, f"{link.name}/{geometry.name}", entry.handle.name, where, identity)

    def _add_shape(
        self,
        geometry: Geometry,
        name: str,
        part: str,
        where: tuple[int, Array],
        identity: tuple[int, int, int],  # body, parent body, family
    ) -> None:
        unique, number = name, 2
        while unique in self._found and unique != part:
            unique, number = f"{name}_{number}", number + 1
        self._found[unique] = [len(self._shapes)]
        kind, size, arrays = _compiled_geometry(f"shape {unique!r}", geometry)
        if kind in ("plane", "heightfield") and where[0] >= 0:
            raise ModelError(f"shape {unique!r}", f"a {kind} must not move: it has neither mass nor bounds")
        self._shapes.append(
            CompiledShape(
                name=unique,
                part=part,
                kind=kind,
                size=size,
                link=where[0],
                placement=frozen(np.array(where[1])),
                body=identity[0],
                parent_body=identity[1],
                family=identity[2],
                contype=geometry.contype,
                conaffinity=geometry.conaffinity,
                surface=self._surfaces.surface(geometry.material, geometry.margin, geometry.priority),
                rgba=geometry.rgba,
                **arrays,
            )
        )

    # -- pairs ---------------------------------------------------------------------------------------------------

    def _between(self, a: str, b: str) -> set[tuple[int, int]]:
        return {(min(i, j), max(i, j)) for i in self._found.get(a, ()) for j in self._found.get(b, ()) if i != j}

    def _overrides(self, pairs: list[tuple[str, str, dict[str, Any]]]) -> dict[tuple[int, int], int]:
        laws: dict[tuple[int, int], ContactLaw] = {}
        for own in self._model.description.pairs:
            names = f"{own.link}/{own.geometry}", f"{own.other_link}/{own.other_geometry}"
            laws |= dict.fromkeys(self._touching(*names), own.law)
        for a, b, changes in pairs:
            for i, j in self._touching(a, b):
                law = laws.get((i, j)) or self._surfaces.between(self._shapes[i].surface, self._shapes[j].surface)
                laws[i, j] = law.changed(changes)
        return {pair: self._surfaces.law(law) for pair, law in laws.items()}

    def _touching(self, a: str, b: str) -> list[tuple[int, int]]:
        """Pairs of shapes of ``a`` and ``b`` that can move relative to each other."""
        shapes = self._shapes
        pairs = [
            (i, j)
            for i, j in sorted(self._between(a, b))
            if shapes[i].body != shapes[j].body and not (shapes[i].static and shapes[j].static)
        ]
        if not pairs:
            raise ValueError(f"pair: {a!r} and {b!r} have no two collision shapes that move relative to each other")
        return pairs

    # -- constraints ---------------------------------------------------------------------------------------------

    def _constraints(self, constraints: list[AnyConstraint], switches: dict[int, str]) -> Iterator[SceneConstraint]:
        for closure in self._model.description.closures:
            yield self._closed(closure)
        for number, constraint in enumerate(constraints):
            if isinstance(constraint, JointCoupling | JointCombination):
                continue
            equality = (
                self._rod(constraint) if isinstance(constraint, DistanceConstraint) else self._closure(constraint)
            )
            if not any(link >= 0 and self._bodies.moves[link] for link in (equality.link, equality.to)):
                raise ValueError(f"constraint on {constraint.frame!r}: neither of its frames can move")
            yield replace(equality, guides=_guides(constraint, equality), switch=switches.get(number, ""))

    def _closed(self, closure: Closure) -> SceneConstraint:
        X, to = closure.placement, None if closure.to == WORLD else closure.to
        constraint: Constraint
        if set(closure.rows) <= set(ROWS[:3]):
            position = closure.to_placement[:3, 3] if to is None else None
            offset = (0.0, 0.0, 0.0) if to is None else closure.to_placement[:3, 3]
            constraint = PointConstraint(
                closure.link, closure.rows, X[:3, 3], position=position, to=to, to_offset=offset
            )
            X = poses.pose(X[:3, 3])  # the rows are along the axes of the link, as the constraint has them
        else:
            position = closure.to_placement if to is None else None
            constraint = FrameConstraint(closure.link, closure.rows, X, position=position, to=to)
        link = self._model.link(closure.link).index
        other = -1 if to is None else self._model.link(to).index
        return SceneConstraint(constraint, link, X, other, closure.to_placement)

    def _couplings(self, constraints: list[AnyConstraint]) -> Iterator[SceneCoupling]:
        description = self._model.description
        for joint in description.joints:
            if joint.mimic is not None:
                line = (joint.mimic.offset, joint.mimic.multiplier)
                yield self._follows(joint.name, joint.name, joint.mimic.joint, line)
        for coupling in description.couplings:
            yield self._follows(coupling.name, coupling.joint, coupling.to, coupling.polynomial, coupling.others)
        for each in constraints:
            if isinstance(each, JointCoupling):
                polynomial = np.atleast_1d(np.asarray(each.polynomial, dtype=np.float64)).tolist()
                follows = self._follows(each.joint, each.joint, each.to, tuple(polynomial))
                yield replace(follows, guide=_guide_rows(each, 1)[0])
            elif isinstance(each, JointCombination):
                terms = [(self._model.joint(name).v_slice.start, (0.0, float(x))) for name, x in each.pairs]
                terms[0] = (terms[0][0], (-float(each.value), terms[0][1][1]))
                name = " + ".join(name for name, _ in each.pairs)
                yield SceneCoupling(name, tuple(terms), _guide_rows(each, 1)[0])

    def _follows(
        self,
        name: str,
        joint: str,
        to: str | None,
        polynomial: tuple[float, ...],
        others: tuple[tuple[str, float], ...] = (),
    ) -> SceneCoupling:
        own, more = self._dof(joint), tuple((self._dof(other), (0.0, -x)) for other, x in others)
        if to is None:
            return SceneCoupling(name, ((own, (-polynomial[0], 1.0)), *more))
        return SceneCoupling(name, ((own, (0.0, 1.0)), (self._dof(to), tuple(-x for x in polynomial)), *more))

    def _dof(self, joint: str) -> int:
        return int(self._model.joint(joint).v_slice.start)

    def _rod(self, rod: DistanceConstraint) -> SceneConstraint:
        what = f"constraint on {rod.frame!r}"
        link, X = self._on_link(str(rod.frame), checked_pose(what, "offset", rod.offset))
        to_offset = checked_pose(what, "to_offset", rod.to_offset)
        to, Y = (-1, to_offset) if rod.to is None else self._on_link(str(rod.to), to_offset)
        apart = (self._world(link) @ X)[:3, 3] - (self._world(to) @ Y)[:3, 3]
        length = float(np.linalg.norm(apart)) if rod.length is None else float(rod.length)
        if not length >= LEAST_LENGTH:
            raise ValueError(f"{what}: a rod must have a positive length, got {length:g}; use a PointConstraint")
        point = PointConstraint(rod.frame, ("x",), X[:3, 3], to=rod.to)
        return SceneConstraint(point, link, frozen(X), to, frozen(Y), length)

    def _closure(self, given: Constraint | HingeConstraint) -> SceneConstraint:
        constraint = _as_frames(given) if isinstance(given, HingeConstraint) else given
        offset = checked_pose(f"constraint on {constraint.frame!r}", "offset", constraint.offset)
        link, X = self._on_link(str(constraint.frame), offset)
        now = self._world(link) @ X
        if constraint.to is None:
            target = now
            if constraint.position is not None:
                target = checked_pose(f"constraint on {constraint.frame!r}", "position", constraint.position)
            return SceneConstraint(constraint, link, frozen(X), -1, frozen(np.array(target)))
        if constraint.to_offset is not None:
            to_offset = checked_pose(f"constraint on {constraint.frame!r}", "to_offset", constraint.to_offset)
            to, Y = self._on_link(str(constraint.to), to_offset)
            return SceneConstraint(constraint, link, frozen(X), to, frozen(Y))
        to, _ = self._on_link(str(constraint.to), np.eye(4))
        return SceneConstraint(constraint, link, frozen(X), to, frozen(poses.inverse(self._world(to)) @ now))

    def _on_link(self, frame: str, offset: Array) -> tuple[int, Array]:
        found = self._model.frame(frame)
        link = -1 if found.link == WORLD else self._model.link(found.link).index
        return link, found.placement @ offset

    def _world(self, link: int) -> Array:
        return np.eye(4) if link < 0 else self._placements[link]


def _as_frames(hinge: HingeConstraint) -> FrameConstraint:
    rows = rows_of(f"constraint on {hinge.what}", hinge)
    return FrameConstraint(hinge.frame, rows, hinge.offset, to=hinge.to, to_offset=hinge.to_offset)


def _guides(given: AnyConstraint, equality: SceneConstraint) -> tuple[Guide, ...]:
    """Of the rows in rising order."""
    axes, rows = equality.axes, equality.constraint.rows
    guides = tuple(_guide_rows(given, len(axes)))
    if all(guide.holds for guide in guides):
        return ()
    return guides if equality.length > 0.0 else tuple(guides[list(rows).index(ROWS[axis])] for axis in axes)


def _guide_rows(constraint: AnyConstraint, n: int) -> list[Guide]:
    gains = gains_of(f"constraint on {constraint.what}", constraint, n)
    rows = zip(gains.acceleration, gains.stiffness, gains.damping, gains.compliance, strict=True)
    return [Guide(*row) for row in rows]


def _forest(entries: list[SceneEntry], builder: ModelBuilder, actuators: Iterable[Actuator]) -> Model:
    """One model of everything that moves, in the order it was added; static bodies are frames of the world."""
    for entry in entries:
        name, content = entry.handle.name, entry.handle.content
        if isinstance(content, Model):
            builder.add(_placed(entry, content), prefix=f"{name}/")
        elif content.static:
            builder.frame(name, WORLD, entry.pose)
        else:
            builder.link(name, inertia=content.inertia, geometries=content.geometries)
            builder.joint(name, "free", WORLD, name, start=_free_coordinates(entry.pose))
    for actuator in actuators:
        fields = {key: value for key, value in vars(actuator).items() if key not in ("name", "joint")}
        builder.actuator(actuator.name, actuator.joint, **fields)
    if not builder.link_names():
        raise ValueError("scene: nothing in it can move; add a model or a body that is not static")
    return builder.build()


def _placed(entry: SceneEntry, model: Model) -> ModelDescription:
    """The model with its world where the entry puts it, starting as the entry says.

    Free roots stay: it is their coordinates that start elsewhere, those of keyframes as well.
    """
    description, X = model.description, entry.pose
    moves = not np.array_equal(X, np.eye(4))
    start = by_joint(description, _moved_coordinates(model, model.q0 if entry.q is None else entry.q, X), 0)

    def joint(each: Joint) -> Joint:
        stays = each.parent != WORLD or each.type == "free"
        given = start.get(each.name) if entry.q is not None or moves else each.start
        return replace(each, placement=each.placement if stays or not moves else X @ each.placement, start=given)

    if not moves and entry.q is None:
        return description
    return replace(
        description,
        joints=tuple(joint(each) for each in description.joints),
        frames=tuple(replace(f, placement=X @ f.placement) if f.link == WORLD else f for f in description.frames),
        closures=tuple(
            replace(c, to_placement=X @ c.to_placement) if c.to == WORLD else c for c in description.closures
        ),
        keyframes=tuple(replace(k, q=_moved_coordinates(model, k.q, X)) for k in description.keyframes),
    )


def _moved_coordinates(model: Model, q: Array, X: Array) -> Array:
    """The coordinates ``q`` of a model whose world is at ``X``: those of free roots are in the world of the scene."""
    if np.array_equal(X, np.eye(4)):
        return q
    moved = q.copy()
    for joint in model.joints:
        if joint.type == "free" and joint.parent == WORLD:
            at, own = joint.description.placement, q[joint.q_slice]
            pose = poses.inverse(at) @ X @ at @ poses.pose(own[:3], xyzw=own[3:])
            moved[joint.q_slice] = _free_coordinates(pose)
    return moved


def _free_coordinates(X: Array) -> Array:
    return np.concatenate([X[:3, 3], poses.quaternion_from_rotation(X[:3, :3])])


class _Bodies:
    """Which links move as one, and which body carries which."""

    def __init__(self, description: ModelDescription) -> None:
        index = {link.name: k for k, link in enumerate(description.links)}
        parents = [-1 if joint.parent == WORLD else index[joint.parent] for joint in description.joints]
        self.moves: list[bool] = []  # per link: whether any joint above it moves
        self.body: list[int] = []  # per link: the first link of its body
        for k, (joint, parent) in enumerate(zip(description.joints, parents, strict=True)):
            self.moves.append(joint.nv > 0 or (parent >= 0 and self.moves[parent]))
            self.body.append(k if joint.nv > 0 or parent < 0 else self.body[parent])
        root: list[int] = []  # per link: the first link of its tree
        for k, parent in enumerate(parents):
            root.append(k if parent < 0 else root[parent])
        moving = {root[k] for k, moves in enumerate(self.moves) if moves}
        self.surrounds = [k not in moving for k in root]  # per link: whether nothing in its tree moves
        # Massless bodies without shapes stand between the joints of one body: the parent is beyond them.
        solid = {
            self.body[k]
            for k, link in enumerate(description.links)
            if link.inertia is not None or any(g.role == "collision" for g in link.geometries)
        }
        carrier: dict[int, int] = {}  # body -> the body that carries it
        for body in dict.fromkeys(self.body):  # parents come first
            above = -1 if parents[body] < 0 else self.body[parents[body]]
            carrier[body] = above if above < 0 or above in solid else carrier[above]
        touching = {k for k, joint in enumerate(description.joints) if joint.parent_contact}
        self.parent_body = [-1 if body in touching else carrier[body] for body in self.body]


def _compiled_geometry(what: str, geometry: Geometry) -> tuple[Any, tuple[float, ...], dict[str, Any]]:
    """Kind, size and arrays as :class:`CompiledShape` has them."""
    size, kind = geometry.size, geometry.shape
    half = tuple(0.5 * x for x in size)
    if kind == "mesh":
        assert geometry.mesh is not None
        points = mesh_vertices(what, geometry.mesh) * np.array(size)
        return "convex", (), _hull_arrays(what, points)
    if kind == "convex":
        assert geometry.vertices is not None
        return "convex", (), _hull_arrays(what, geometry.vertices)
    positive = size[:1] if kind == "capsule" else size
    if not all(x > 0.0 for x in positive):
        raise ModelError(what, f"a {kind} of size {size} has no volume")
    if kind == "heightfield":
        return kind, half, {"heights": geometry.heights}
    if kind == "box":
        return kind, half, {}
    return kind, (size[0], half[1]) if kind in ("capsule", "cylinder") else size, {}


def _hull_arrays(what: str, points: Array) -> dict[str, Any]:
    hull = hulls.convex_hull(what, points)
    return {"vertices": hull.vertices, "faces": hull.faces}
