"""Models and scenes as MJCF text, for MuJoCo and everything that reads its files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Comment, SubElement

import numpy as np

from ..arrays import Array
from ..model.description import WORLD, Closure, Geometry, ModelDescription
from ..model.medium import Medium
from ..model.model import Model
from ..scene.compiled import CompiledScene
from ..scene.scene import Scene
from .mjcf_bodies import BodyWriter
from .mjcf_drives import DriveWriter, write_keyframes
from .mjcf_filter import write_filter
from .mjcf_geoms import GeomWriter
from .writing import MjcfText, text_of

_PART = "model"  # what a model alone is called in its scene


def to_mjcf(
    content: Model | Scene | CompiledScene, *, dt: float = 2e-3, strict: bool = False, fuse: bool = False
) -> str:
    """A model or a scene as MJCF text. Coordinates are the same, in the same order, but for the order of quaternions.

    dt: the step of MuJoCo's option [s]; cones are elliptic, all other settings at their defaults.
    strict: raise ValueError for the first element that changes the motion and cannot be expressed in MJCF, instead of
    warning about all of them and adding a comment to the text.
    fuse: let MuJoCo merge links connected by fixed joints, which is faster but loses their names.

    Collision shapes are written as they are compiled: hulls of meshes by their vertices. Visual meshes stay files, if
    MuJoCo reads their format. Free joints that are not attached to the world, and helical joints, raise ValueError.

    >>> text = fw.to_mjcf(fw.models.pendulum())
    >>> bool(np.isclose(fw.loads(text, "mjcf").mass, fw.models.pendulum().mass))
    True
    """
    if isinstance(content, Model):
        # the file's own description has plain names; only the shapes, and which of them touch, are the scene's
        scene = Scene(gravity=content.gravity, medium=content.description.medium)
        scene.add(content, name=_PART)
        compiled, model = scene.compile(), content
    elif isinstance(content, Scene | CompiledScene):
        compiled = content.compile() if isinstance(content, Scene) else content
        model = compiled.model
    else:
        raise ValueError(f"to_mjcf: expected a Model or a Scene, got {content!r}")
    if not (np.isfinite(dt) and dt > 0.0):
        raise ValueError(f"to_mjcf: dt must be positive and finite, got {dt!r}")
    text = MjcfText(model.name)
    _write(text, model, compiled, dt, fuse)
    if text.left_out and strict:
        raise ValueError(f"to_mjcf: MJCF cannot express {text.left_out[0]} (strict)")
    if text.left_out:
        text.root.insert(0, Comment(" Not in this file: " + "; ".join(text.left_out).replace("--", "- -") + ". "))
        listed = "; ".join(text.left_out[:5]) + ("; ..." if len(text.left_out) > 5 else "")
        warnings.warn(f"to_mjcf: the motion in MuJoCo will differ, since MJCF cannot express {listed}", stacklevel=2)
    ElementTree.indent(text.root)
    return ElementTree.tostring(text.root, encoding="unicode") + "\n"


def _write(text: MjcfText, model: Model, scene: CompiledScene, dt: float, fuse: bool) -> None:
    description = model.description
    options = {"angle": "radian", "inertiafromgeom": "false", "autolimits": "true"}
    SubElement(text.root, "compiler", options | ({"fusestatic": "true"} if fuse else {}))
    _write_option(text, description.gravity, description.medium, dt)
    text.section("asset")
    bodies = BodyWriter(text, description)
    bodies.write()
    links, names = _write_shapes(text, model, scene, bodies)
    write_filter(text, scene, description, links, names)
    drives = DriveWriter(text, description, bodies)
    drives.write_tendons()
    drives.write_struts()
    drives.write_couplings()
    drives.write_closures((*description.closures, *_constraints(text, scene, description)))
    drives.write_actuators()
    drives.write_sensors()
    write_keyframes(text, model)


def _write_option(text: MjcfText, gravity: Array, medium: Medium | None, dt: float) -> None:
    option = {"timestep": repr(float(dt)), "gravity": text_of(gravity), "cone": "elliptic"}
    if medium is not None:
        option |= {"density": repr(medium.density), "viscosity": repr(medium.viscosity), "wind": text_of(medium.wind)}
    SubElement(text.root, "option", option)


def _write_shapes(
    text: MjcfText, model: Model, scene: CompiledScene, bodies: BodyWriter
) -> tuple[list[str], list[str]]:
    """Geoms; of each shape of the scene the link that it is on, and its geom."""
    geoms, description = GeomWriter(text), model.description
    on_links = dict(_shapes_on_links(scene, description))
    links, names = [], []
    for number, shape in enumerate(scene.shapes):
        link, geometry = on_links.get(number, (WORLD, None))
        wishes: tuple[str, ...] = (shape.name,)
        visible = True
        if geometry is not None:
            shape = replace(shape, placement=geometry.placement)  # what never moves was compiled into the world
            wishes = (geometry.name, f"{link}/{geometry.name}") if model is not scene.model else wishes
            visible = not any(each.role == "visual" for each in model.link(link).geometries)
        names.append(geoms.add_collision(bodies.bodies[link], wishes, shape, scene.surfaces[shape.surface], visible))
        links.append(link)
    for each in description.links:
        for geometry in each.geometries:
            if geometry.role == "visual":
                geoms.add_visual(bodies.bodies[each.name], each.name, geometry)
        for fluid in each.fluid_shapes if description.medium is not None else ():
            geoms.add_fluid(bodies.bodies[each.name], each.name, fluid)
    return links, names


def _shapes_on_links(scene: CompiledScene, description: ModelDescription) -> Iterator[tuple[int, tuple[str, Geometry]]]:
    """Numbers of shapes that belong to links, with the geometry they were compiled from."""
    for part in scene.parts.values():
        geometries = [
            (link.name, geometry)
            for link in description.links[part.links]
            for geometry in link.geometries
            if geometry.role == "collision"
        ]
        if geometries:  # a static body has no link
            yield from zip(part.shapes, geometries, strict=True)


def _constraints(text: MjcfText, scene: CompiledScene, description: ModelDescription) -> Iterator[Closure]:
    """What the scene holds beside the closures of its models."""
    names = [*(link.name for link in description.links), WORLD]  # -1 is the world
    for number, each in enumerate(scene.constraints[len(description.closures) :]):
        if each.guides or each.length > 0.0 or each.switch:
            what = "with gains of its own" if each.guides else "of a distance"
            what = f"with the switch {each.switch!r}" if each.switch else what
            text.leave_out(f"the constraint {each.name!r}, {what}")
            continue
        rows = tuple(each.constraint.rows)
        yield Closure(f"constraint_{number}", names[each.link], names[each.to], each.placement, each.to_placement, rows)
