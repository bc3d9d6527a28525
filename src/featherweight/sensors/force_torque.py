"""Load cells in joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array, real_numbers
from ..model.description import WORLD
from ..model.drag import drag
from ..model.model import Model
from ..records import Record
from ..simulation.state import State
from ..simulation.switches import is_held, second_frames
from .contact_forces import contact_wrench
from .last_step import gravity_of, last_step, mass_factor
from .reading import WrenchReading, model_of, squeezed


@dataclass(frozen=True)
class ForceTorque(Record):
    """The wrench that a joint transmits, by motors, friction and bearings together, from its inner to its outer side.

    In the axes of the joint's child link, at its origin. It is the rate of momentum of everything outboard, less
    gravity and the forces of contacts, constraints and the medium on it; ``f_ext`` that was given to the step must be
    given to ``read`` as well.

    >>> scene = fw.Scene()
    >>> arm = scene.add(fw.models.arm(), name="arm")
    >>> sim = fw.Simulator(scene)
    >>> reading = fw.ForceTorque("arm/joint_7").read(sim.step(sim.state()))
    >>> reading.force.shape, reading.torque.shape
    ((3,), (3,))
    """

    joint: str

    def read(self, state: State, f_ext: ArrayLike | None = None) -> WrenchReading:
        """In the last step of ``state``: force (..., 3) [N] and torque (..., 3) [N m]."""
        model, scene = model_of(state), state.simulator.scene
        child = model.link(model.joint(self.joint).child).index
        outer = _outer_links(model, child)
        q, v, a = last_step(state)
        # where something holds, products of velocities are those of the mean over the step
        v = np.where(is_held(state)[:, None], 0.5 * (v + np.atleast_2d(state.v)), v)
        X = np.asarray(_core.forward_kinematics(model, q))
        origin = X[:, child, :3, 3]
        shapes = [k for k, shape in enumerate(scene.shapes) if shape.link in outer]
        touching, held = contact_wrench(state, shapes, origin), _closure_wrench(state, outer, X, origin)
        force, torque = (-a - b for a, b in zip(touching, held, strict=True))
        forces = np.zeros((1, model.n_links, 6)) if f_ext is None else _forces(f_ext, model, state)
        for k in outer:
            f = _momentum_rate(state, k, q, v, a) - forces[:, k] - _drag(state, k, q, v)
            F, arm = _turned(X[:, k], f[:, :3]), X[:, k, :3, 3] - origin
            force += F
            torque += _turned(X[:, k], f[:, 3:]) + np.cross(arm, F)
        R = X[:, child, :3, :3]
        inside = [np.einsum("bji,bj->bi", R, part) for part in (force, torque)]
        return WrenchReading(squeezed(inside[0], state), squeezed(inside[1], state))


def _closure_wrench(state: State, links: set[int], X: Array, origin: Array) -> tuple[Array, Array]:
    """Force and torque about ``origin`` (batch, 3) of the scene's constraints on the links, world axes. X: of links."""
    force, torque = np.zeros(origin.shape), np.zeros(origin.shape)
    constraints = state.simulator.scene.constraints
    if not constraints:
        return force, torque
    closures, shape = state.closures, (len(X), len(constraints), 3)
    F, M = closures.force.reshape(shape), closures.moment.reshape(shape)
    seconds = second_frames(state, X)
    for k, c in enumerate(constraints):
        first = X[:, c.link] @ c.placement if c.link >= 0 else np.tile(c.placement, (len(X), 1, 1))
        second = seconds[:, k]
        pulls, turns = _turned(first, F[:, k]), _turned(first, M[:, k])
        if c.length > 0.0:  # a rod
            line = first[:, :3, 3] - second[:, :3, 3]
            pulls = F[:, k, :1] * line / np.maximum(np.linalg.norm(line, axis=1, keepdims=True), 1e-300)
        arm = second[:, :3, 3] - origin  # both are pushed there
        for link, sign in ((c.link, 1.0), (c.to, -1.0)):
            if link in links:
                force += sign * pulls
                torque += sign * (turns + np.cross(arm, pulls))
    return force, torque


def _momentum_rate(state: State, k: int, q: Array, v: Array, a: Array) -> Array:
    """Rate of momentum of link k less its weight, (batch, 6) in its axes at its origin."""
    model = model_of(state)
    link = model.description.links[k]
    if link.inertia is None:
        return np.zeros((len(q), 6))
    m, c, frame = link.inertia.mass, link.inertia.com, link.name
    R = np.asarray(_core.frame_placement(model, q, frame))[:, :3, :3]
    twist = np.asarray(_core.frame_velocity(model, q, v, frame))
    acceleration = np.asarray(_core.frame_acceleration(model, q, v, a, frame, classical=True))
    w, dw = twist[:, 3:], acceleration[:, 3:]
    of_com = acceleration[:, :3] + np.cross(dw, c) + np.cross(w, np.cross(w, c))
    f = m * (of_com - np.einsum("bji,bj->bi", R, gravity_of(state)))
    inertia = link.inertia.matrix
    about_com = dw @ inertia.T + np.cross(w, w @ inertia.T)
    return np.asarray(mass_factor(state, k) * np.concatenate([f, about_com + np.cross(c, f)], axis=1))


def _drag(state: State, k: int, q: Array, v: Array) -> Array:
    """What the medium does to link k, (batch, 6) in its axes at its origin."""
    model = model_of(state)
    medium, link = model.description.medium, model.description.links[k]
    if medium is None:
        return np.zeros((len(q), 6))
    R = np.asarray(_core.frame_placement(model, q, link.name))[:, :3, :3]
    velocity = np.array(_core.frame_velocity(model, q, v, link.name))
    velocity[:, :3] -= np.einsum("bji,j->bi", R, medium.wind)
    return drag(link, medium, velocity)


def _outer_links(model: Model, child: int) -> set[int]:
    """The link and everything that it carries."""
    index = {name: k for k, name in enumerate(model.link_names)}
    outer = {child}
    for k, joint in enumerate(model.description.joints):  # parents come first
        if joint.parent != WORLD and index[joint.parent] in outer:
            outer.add(k)
    return outer


def _forces(f_ext: ArrayLike, model: Model, state: State) -> Array:
    array = real_numbers("f_ext", f_ext)
    single, many = (model.n_links, 6), (state.batch_size, model.n_links, 6)
    if array.shape not in (single, many):
        raise ValueError(f"f_ext: expected shape {single} or {many}, got {array.shape}")
    return array.reshape(-1, *single)


def _turned(X: Array, vector: Array) -> Array:
    return np.asarray(np.einsum("bij,bj->bi", X[:, :3, :3], vector))
