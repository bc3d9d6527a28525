"""SDF (1.4 to 1.12), read by a parser of our own: models, nested and included ones, and worlds of them.

Poses and names follow http://sdformat.org/tutorials?tut=pose_frame_semantics; joints may form loops and lead in any
direction, see :mod:`.joint_graph`. What is honoured, decided and reported is documented in docs/importing.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import files
from ..arrays import Array
from ..errors import ModelError, ModelImportError
from ..model import poses
from ..model.builder import ROOT_JOINT, ModelBuilder
from ..model.description import WORLD, ImportNote, ModelDescription
from . import remedies, xml
from .joint_graph import GraphJoint, acts_on_motion, grow
from .meshes import MeshFinder, PackageDirs
from .reader import MOTION, NOTHING, PICTURE
from .sdf_frames import Placed, Scope
from .sdf_gearboxes import Gearbox
from .sdf_joints import JointReader
from .sdf_left_out import judge
from .sdf_links import add_link
from .sdf_reader import SdfReader
from .surfaces import flag
from .xml import Element

#: How deep files may include each other.
MAX_INCLUDES = 20
_VERSION = re.compile(r"(\d+)\.(\d+)")
_EARTH = (0.0, 0.0, -9.81)

#: Models that nearly every world includes, for machines without Gazebo.
_GROUND = b"""<sdf version="1.6"><model name="ground_plane"><static>true</static><link name="link">
<collision name="collision"><geometry><plane><normal>0 0 1</normal></plane></geometry>
<surface><friction><ode><mu>100</mu><mu2>100</mu2></ode></friction></surface></collision></link></model></sdf>"""
_SUN = b'<sdf version="1.6"><light name="sun" type="directional"/></sdf>'
_USUAL = {"ground_plane": _GROUND, "ground plane": _GROUND, "ground%20plane": _GROUND, "sun": _SUN}


def read(
    text: bytes,
    path: Path | None = None,
    *,
    floating_base: bool = False,
    package_dirs: PackageDirs = None,
    directory: Path | None = None,
) -> ModelDescription:
    """The description in SDF ``text``; ``directory`` is where relative paths start."""
    try:
        return _File(path, package_dirs, directory).read(xml.parse(text, path), floating_base)
    except RecursionError:
        raise ModelImportError("<sdf>", "poses or models lead through too many others", path) from None


@dataclass
class _Parts:
    """Everything in the file, by the names it has in the whole of it."""

    links: dict[str, tuple[Scope, Element]] = field(default_factory=dict)
    joints: dict[str, tuple[Scope, Element]] = field(default_factory=dict)
    frames: dict[str, tuple[Scope, str]] = field(default_factory=dict)
    models: list[Scope] = field(default_factory=list)  # outermost ones

    def add(self, scope: Scope) -> None:
        for name, placed in scope.frames.items():
            full = scope.full(name)
            if placed.kind == "link":
                self.links[full] = scope, placed.element
            elif placed.kind == "joint":
                self.joints[full] = scope, placed.element
            else:
                self.frames[full] = scope, name
        for nested in scope.models.values():
            self.add(nested)


class _File:
    def __init__(self, path: Path | None, package_dirs: PackageDirs, directory: Path | None) -> None:
        self._path, self._package_dirs, self._directory = path, package_dirs, directory
        self._readers: list[
            tuple[SdfReader, Element, Element | None]
        ] = []  # with root and the <include> that led there
        self._lines: dict[str, int] = {}

    def read(self, root: Element, floating_base: bool) -> ModelDescription:
        if root.tag != "sdf":
            problem = "an SDF file must have <sdf> as its outermost element"
            raise ModelImportError(f"<{root.tag}>", problem, self._path, root.line)
        reader = self._reader_of(root, self._path, self._directory, None)
        try:
            return self._description(reader, root, floating_base)
        except ModelImportError:
            raise
        except ModelError as error:
            line = self._lines.get(error.element, root.line)
            raise ModelImportError(error.element, error.problem, self._path, line) from None

    def _description(self, reader: SdfReader, root: Element, floating_base: bool) -> ModelDescription:
        world = self._world(reader, root)
        alone = list(world.models.values())
        single = len(alone) == 1 and not world.frames
        parts = _Parts()
        for scope in alone:
            self._name_scopes(scope, "" if single else f"{scope.name}::")
        parts.add(world)
        parts.models = alone
        if not parts.links:
            raise reader.error(root, "<sdf>", "holds no links")
        self._lines |= {f"link {name!r}": element.line for name, (_, element) in parts.links.items()}
        self._lines |= {f"joint {name!r}": element.line for name, (_, element) in parts.joints.items()}
        name = alone[0].name if single else world.name
        builder = ModelBuilder(name or "model", gravity=self._gravity(reader, root), allow_nonphysical=True)
        builder.check_size(len(parts.links))
        for full, (scope, element) in parts.links.items():
            add_link(builder, scope, element, full)
        self._add_joints(builder, parts, floating_base)
        self._add_frames(builder, parts)
        self._exclude_own(builder, parts)
        self._check_state(reader, root, world, parts)
        for each, top, _ in self._readers:
            each.report_unread(top, judge)
        return self._finished(builder.describe())

    def _finished(self, description: ModelDescription) -> ModelDescription:
        """All notes with their lines in the main file, and a model that can be simulated."""
        notes: list[ImportNote] = []
        for reader, _, include in self._readers:
            for note in reader.notes:
                if include is not None:
                    where = f"{reader.path.name}:{note.line}: " if reader.path is not None else ""
                    note = replace(note, line=include.line, message=where + note.message)
                notes.append(note)
        description = remedies.settle_inertias(description)
        notes += [replace(n, line=n.line or self._lines.get(n.element)) for n in description.notes]
        description = remedies.carry_massless(replace(description, notes=tuple(notes)), self._lines.get)
        description = remedies.ground_planes(description, self._lines.get)
        return replace(description, notes=tuple(sorted(description.notes, key=lambda note: note.line or 0)))

    # -- scopes --------------------------------------------------------------------------------------------------

    def _reader_of(
        self, root: Element, path: Path | None, directory: Path | None, include: Element | None
    ) -> SdfReader:
        found = _VERSION.fullmatch((root.get("version") or "").strip())
        version = (int(found.group(1)), int(found.group(2))) if found else (1, 12)
        reader = SdfReader(path, MeshFinder(directory, self._package_dirs), version)
        self._readers.append((reader, root, include))
        if found is None or not (1, 4) <= version <= (1, 12):
            shown = root.attributes.get("version")
            reader.note(root, "<sdf>", f"version {shown!r} is read as {version[0]}.{version[1]}", NOTHING)
        return reader

    def _world(self, reader: SdfReader, root: Element) -> Scope:
        """The world, or what stands for it around models that are alone in their file."""
        world = reader.one(root, "world")
        holder = root if world is None else world
        scope = Scope(reader, holder, holder.get("name") or "world", None, np.eye(4))
        self._read_scope(scope, holder, depth=0)
        return scope

    def _name_scopes(self, scope: Scope, prefix: str) -> None:
        scope.prefix = prefix
        for nested in scope.models.values():
            self._name_scopes(nested, prefix if nested.merged else f"{prefix}{nested.name}::")

    def _read_scope(self, scope: Scope, element: Element, depth: int) -> None:
        reader = scope.reader
        for kind in ("link", "frame", "joint"):
            for each in element.all(kind):
                name = reader.attribute(each, "name")
                _check_name(reader, each, name)
                if name in scope.frames or name in scope.models:
                    raise reader.error(each, each.label(), "the name is used twice")
                if name == WORLD and kind == "link":
                    message = f"is called {WORLD}_link: the name is reserved"
                    reader.note(each, f"link {name!r}", message, NOTHING)
                scope.frames[name] = self._placed(reader, each, kind)
        for model in element.all("model"):
            self._add_model(
                scope, model, self._model_scope(scope, reader, model, reader.attribute(model, "name")), depth
            )
        for include in element.all("include"):
            self._include(scope, include, depth)

    @staticmethod
    def _placed(reader: SdfReader, element: Element, kind: str) -> Placed:
        X, relative_to = reader.pose(element)
        attached_to = (element.get("attached_to") or "") if kind == "frame" else ""
        if kind == "joint":
            child = reader.one(element, "child")
            attached_to = "" if child is None else child.content() or child.get("link") or ""
        if kind != "link":
            relative_to = relative_to or attached_to
        return Placed(element, kind, X, relative_to, attached_to)

    @staticmethod
    def _model_scope(parent: Scope, reader: SdfReader, model: Element, name: str) -> Scope:
        X, relative_to = reader.pose(model)
        return Scope(
            reader,
            model,
            name,
            parent,
            X,
            relative_to,
            placement_frame=model.get("placement_frame") or "",
            static=parent.static or reader.flag(model, "static"),
            canonical=model.get("canonical_link") or "",
        )

    def _add_model(self, parent: Scope, element: Element, scope: Scope, depth: int) -> None:
        _check_name(parent.reader, element, scope.name)
        if scope.name in parent.models and parent.is_world:
            old, scope.name = scope.name, _new_name(scope.name, {*parent.models, *parent.frames})
            message = f"is called {scope.name!r}: another model has its name"
            parent.reader.note(element, f"model {old!r}", message, NOTHING)
        if scope.name in parent.models or scope.name in parent.frames:
            raise parent.reader.error(element, element.label(), f"the name {scope.name!r} is used twice")
        parent.models[scope.name] = scope
        self._read_scope(scope, scope.element, depth)

    def _include(self, parent: Scope, include: Element, depth: int) -> None:
        """The model in another file, with the name, pose and stillness that the inclusion gives it."""
        reader = parent.reader
        uri = reader.text(include, "uri")
        file, usual = _model_file(reader.files, uri), _USUAL.get(re.split(r"[/:]", uri.rstrip("/").lower())[-1])
        if depth >= MAX_INCLUDES:
            raise reader.error(include, f"include {uri!r}", f"files include each other more than {MAX_INCLUDES} times")
        if file is None and usual is None:
            include.settle()
            reader.note(include, f"include {uri!r}", "not found: left out", MOTION)
            return
        if file is None:
            reader.note(include, f"include {uri!r}", "not found: taken as Gazebo has it", NOTHING)
        path = None if file is None else Path(file)
        root = xml.parse(usual or b"" if path is None else files.read(path), path)
        inner = self._reader_of(root, path, None if path is None else path.absolute().parent, include)
        model = inner.one(root, "model") if root.tag == "sdf" else None
        if model is None:
            lights = bool(root.all("light"))
            include.settle()
            root.settle()
            message = "is a light: left out" if lights else "holds no SDF model: left out"
            reader.note(include, f"include {uri!r}", message, PICTURE if lights else MOTION)
            return
        name = reader.text(include, "name") or inner.attribute(model, "name")
        scope = self._model_scope(parent, inner, model, name)
        model.get("name")
        if include.all("pose"):
            scope.pose, scope.relative_to = reader.pose(include)
        scope.placement_frame = reader.text(include, "placement_frame") or scope.placement_frame
        still = reader.one(include, "static")
        scope.static = parent.static or (scope.static if still is None else flag(still))
        scope.merged = include.get("merge") in ("true", "1")
        self._add_model(parent, include, scope, depth + 1)

    # -- joints --------------------------------------------------------------------------------------------------

    def _add_joints(self, builder: ModelBuilder, parts: _Parts, floating_base: bool) -> None:
        at = {name: scope.absolute(element.attributes["name"]) for name, (scope, element) in parts.links.items()}
        still = {name for name, (scope, _) in parts.links.items() if scope.static}
        graph: list[GraphJoint] = []
        gearboxes: dict[str, Gearbox] = {}
        for name, (scope, element) in parts.joints.items():
            reader = JointReader(scope, element, name, at)
            if reader.is_gearbox:
                gearboxes[name] = reader.read_gearbox()
                continue
            edge = reader.read()
            if edge is None:
                continue
            if {edge.parent, edge.child} & still:
                scope.reader.note(element, f"joint {name!r}", "belongs to a static model: it does not move", NOTHING)
                continue
            graph.append(edge)
        taken = {*parts.joints}
        for link in (link for link in parts.links if link in still):
            builder.joint(_new_name(f"{link}_fixed", taken), "fixed", WORLD, link, placement=at[link])
        moving = [link for link in parts.links if link not in still]
        canonical = [model.canonical_link() for model in parts.models if not model.static]
        tree = grow(moving, graph, [link for link in canonical if link in parts.links and link not in still])
        for joint in tree.carrying:
            if floating_base and joint.type == "fixed" and joint.parent == WORLD:
                builder.joint(joint.name, "free", WORLD, joint.child, start=_free_coordinates(at[joint.child]))
            else:
                self._add_joint(builder, joint)
        for link in tree.roots:
            name = ROOT_JOINT if len(tree.roots) == 1 else f"{link}_{ROOT_JOINT}"
            builder.joint(_new_name(name, taken), "free", WORLD, link, start=_free_coordinates(at[link]))
        freed = any(joint.type == "fixed" and joint.parent == WORLD for joint in tree.carrying)
        if floating_base and not tree.roots and not freed:
            raise ModelError("<sdf>", "floating_base needs a link that is welded to the world, or free already")
        self._report_tree(parts, tree.turned, tree.closing)
        for joint in tree.closing:
            rows, X_child, X_parent, _ = joint.closure()
            link, to = joint.child, joint.parent
            builder.close(joint.name, link, to, placement=X_child, to_placement=X_parent, rows=rows)
        for name, gearbox in gearboxes.items():
            self._add_gearbox(builder, parts, name, gearbox.coupling(tree.carrying, at))

    @staticmethod
    def _add_joint(builder: ModelBuilder, joint: GraphJoint) -> None:
        options: dict[str, Any] = {key: value for key, value in joint.options.items() if value is not None}
        if joint.type == "continuous":
            options = {key: value for key, value in options.items() if key not in ("lower", "upper")}
        builder.joint(
            joint.name,
            joint.type,
            joint.parent,
            joint.child,
            placement=joint.placement,
            child_placement=joint.child_placement,
            axis=joint.axis,
            axis2=joint.axis2,
            pitch=joint.pitch,
            **options,
        )

    @staticmethod
    def _add_gearbox(builder: ModelBuilder, parts: _Parts, name: str, coupling: tuple[str, str, float] | None) -> None:
        scope, element = parts.joints[name]
        what = f"joint {name!r}"
        if coupling is None:
            message = "a gearbox without hinges about its axes between its links and its reference body: left out"
            scope.reader.note(element, what, message, MOTION)
            return
        joint, to, factor = coupling
        builder.couple(name, joint, to, (0.0, factor))
        scope.reader.note(
            element, what, f"{joint!r} follows {to!r}: scenes hold it, functions of the model do not", NOTHING
        )

    def _report_tree(self, parts: _Parts, turned: list[str], closing: list[GraphJoint]) -> None:
        for name in turned:
            scope, element = parts.joints[name]
            message = "leads towards the root of the tree: turned around, with the same coordinates"
            scope.reader.note(element, f"joint {name!r}", message, NOTHING)
        for joint in closing:
            scope, element = parts.joints[joint.name]
            exact = joint.closure()[3]
            lost = [key for key, value in joint.options.items() if acts_on_motion(key, value)]
            message = "closes a loop: a closure, which acts in scenes"
            if lost:
                message += f"; its {', '.join(lost)} are left out"
            if not exact:
                message += f"; only a point of the {joint.type} joint is held"
            scope.reader.note(element, f"joint {joint.name!r}", message, NOTHING if exact and not lost else MOTION)

    # -- the rest ------------------------------------------------------------------------------------------------

    def _add_frames(self, builder: ModelBuilder, parts: _Parts) -> None:
        for full, (scope, name) in parts.frames.items():
            link = scope.link_of(name)
            X = scope.absolute(name)
            if link != WORLD:
                owner, element = parts.links[link]
                X = poses.inverse(owner.absolute(element.attributes["name"])) @ X
            builder.frame(full, link, X)

    def _exclude_own(self, builder: ModelBuilder, parts: _Parts) -> None:
        """Links of a model touch each other only if they say so."""
        groups: dict[int, list[tuple[str, bool]]] = {}
        for name, (scope, element) in parts.links.items():
            shaped = any(child.tag == "collision" for child in element.children)
            outermost = scope
            while outermost.parent is not None and outermost.parent.parent is not None:
                outermost = outermost.parent
            touches = scope.reader.flag(outermost.element, "self_collide")
            if scope is not outermost:
                touches = scope.reader.flag(scope.element, "self_collide", touches)
            touches = scope.reader.flag(element, "self_collide", touches)
            if shaped and not scope.static:
                groups.setdefault(id(outermost), []).append((name, touches))
        for group in groups.values():
            for k, (link, touches) in enumerate(group):
                for other, other_touches in group[k + 1 :]:
                    if not (touches and other_touches):
                        builder.exclude(link, other)

    @staticmethod
    def _gravity(reader: SdfReader, root: Element) -> tuple[float, ...]:
        world = reader.one(root, "world")
        if world is None:
            return _EARTH
        physics = [
            each for each in world.children if each.tag == "physics" and any(c.tag == "gravity" for c in each.children)
        ]
        holder = world if not physics or world.all("gravity") else physics[0]
        earth = (0.0, 0.0, -9.8)  # the specification's
        return reader.values(holder, "gravity", 3, earth)

    @staticmethod
    def _check_state(reader: SdfReader, root: Element, world: Scope, parts: _Parts) -> None:
        """A recorded state of the world, which may be another one than the models start in."""
        holder = reader.one(root, "world")
        for state in () if holder is None else holder.all("state"):
            differs = any(not _is_there(reader, model, world) for model in state.all("model"))
            state.settle()
            message = "the recorded state is left out: everything starts where its model says"
            reader.note(state, "state", message, MOTION if differs else NOTHING)


def _free_coordinates(X: Array) -> Array:
    return np.concatenate([X[:3, 3], poses.quaternion_from_rotation(X[:3, :3])])


def _check_name(reader: SdfReader, element: Element, name: str) -> None:
    """Names like __model__ stand for what the specification says, wherever they are used."""
    if name.startswith("__") and name.endswith("__"):
        raise reader.error(element, element.label(), f"the name {name!r} is reserved")


def _is_there(reader: SdfReader, model: Element, world: Scope) -> bool:
    """Whether a model in a recorded state is where it starts."""
    scope = world.models.get(model.attributes.get("name", ""))
    if scope is None:
        return False
    X, _ = reader.pose(model)
    return bool(np.abs(X - scope.absolute()).max() < 1e-3)


def _model_file(finder: MeshFinder, uri: str) -> str | None:
    """The SDF file that an address leads to: itself, or the one that the model.config of a directory names."""
    if not uri:
        return None
    directory = finder.find_directory(uri)
    if directory is None:
        return finder.find(uri)
    folder = Path(directory)
    try:
        config = xml.parse(files.read(folder / "model.config"))
        named = [each for each in config.all("sdf") if each.content()]
        newest = max(named, key=lambda each: _version_key(each.get("version") or ""))
        return str(folder / newest.content())
    except (ModelImportError, ValueError):
        candidate = folder / "model.sdf"
        return str(candidate) if candidate.is_file() else None


def _version_key(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _new_name(wish: str, taken: set[str]) -> str:
    name, number = wish, 2
    while name in taken:
        name, number = f"{wish}_{number}", number + 1
    taken.add(name)
    return name
