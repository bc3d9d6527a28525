"""A simulator's scene and contacts as the twin takes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featherweight.core_tables import ContactTable
from featherweight.model.description import Closure, ModelDescription
from featherweight.reference.stages.scene import ContactPoint, StepScene
from featherweight.scene.compiled import CompiledShape
from featherweight.simulation.contacts import Contacts
from featherweight.simulation.simulator import Simulator
from featherweight.simulation.state import State


def step_scene(sim: Simulator) -> StepScene:
    """What ``sim`` steps."""
    if sim.integrator == "rk4":
        raise ValueError('integrator "rk4" knows no contacts and has no twin')
    if any(actuator.sticky is not None for actuator in sim.model.description.actuators):
        raise ValueError("scenes with sticky links have no twin: they know what touched a step before")
    names = [*sim.model.link_names, "world"]
    closures = tuple(
        Closure(f"closure_{k}", names[c.link], names[c.to], c.placement, c.to_placement, tuple(c.constraint.rows))
        for k, c in enumerate(sim.scene.constraints)
    )
    guides = sim.scene.guides[: len(sim.scene.guides) - len(sim.scene.couplings)]
    return StepScene(sim.model.description, sim.dt, sim.integrator, closures, guides)


def contact_points(sim: Simulator, before: State, after: State) -> list[ContactPoint]:
    """The points that ``after = sim.step(before)`` of a single environment looked at."""
    scene, found, points = sim.scene, after.contacts, list[ContactPoint]()
    negligible = 0.01 * sim.dt**2 * float(np.linalg.norm(sim.model.description.gravity))
    bodies = _single_bodies(sim.model.description)
    pushed = ContactTable.of(before._core).numbers("impulse")[:, 2] > 0  # as the step left it, not as it is read
    for k in range(len(found)):
        a, b = int(found.shape_a[k]), int(found.shape_b[k])
        link, to, law, gap = scene.shapes[a].link, scene.shapes[b].link, scene.law(a, b), float(found.gap[k])
        stays = law.restitution == law.tangential_restitution == 0 and gap <= negligible and {link, to} <= bodies
        was_loaded = _was_loaded(before.contacts, pushed, found, k)
        radii = _radius(scene.shapes[a]), _radius(scene.shapes[b])
        points.append(
            ContactPoint(link, to, found.position[k], found.frame[k], gap, law, stays and was_loaded, was_loaded, radii)
        )
    return points


def _radius(shape: CompiledShape) -> float:
    """Of the sphere around a shape [m]; of what has no end, zero."""
    if shape.vertices is not None:
        center = (shape.vertices.min(axis=0) + shape.vertices.max(axis=0)) / 2
        return float(np.linalg.norm(shape.vertices - center, axis=1).max())
    if shape.kind == "capsule":
        return sum(shape.size)
    if shape.kind in ("sphere", "ellipsoid"):
        return max(shape.size)
    return float(np.linalg.norm(shape.size))


def _was_loaded(earlier: Contacts, pushed: NDArray[np.bool_], found: Contacts, k: int) -> bool:
    """Whether the nearest point of the same shapes pushed in the step before."""
    same = np.flatnonzero((earlier.shape_a == found.shape_a[k]) & (earlier.shape_b == found.shape_b[k]))
    if len(same) == 0:
        return False
    distances = np.linalg.norm(earlier.position[same] - found.position[k], axis=1)
    return bool(pushed[same[np.argmin(distances)]])


def _single_bodies(model: ModelDescription) -> set[int]:
    """Links of trees in which only one joint moves, and the world."""
    root, moving = dict[str, str](), dict[str, int]()
    for joint in model.joints:  # parents come first
        root[joint.child] = root.get(joint.parent, joint.child)
        moving[root[joint.child]] = moving.get(root[joint.child], 0) + (joint.nv > 0)
    return {-1} | {i for i, link in enumerate(model.links) if moving[root[link.name]] <= 1}
