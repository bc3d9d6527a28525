"""Sensors: small frozen objects that read a state, for a whole batch at once and without noise.

>>> scene = fw.Scene(ground=fw.Plane())
>>> crate = scene.add(fw.box((0.4, 0.3, 0.2)), name="crate", pose=(0, 0, 0.1))
>>> sim = fw.Simulator(scene)
>>> state = sim.rollout(sim.state(), n_steps=100).final
>>> fw.IMU("crate").read(state).accelerometer.round(6) + 0.0
array([0.  , 0.  , 9.81])

Forces and accelerations are means over the last step, at the posture of its beginning, where the equation of motion of
the step holds exactly; before the first step they are zero. Positions and velocities are those of the state itself.
Arrays are (...) for a single environment and (batch, ...) for several. Frames, links and joints are named as in the
scene: "robot/foot".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from .builder import WORLD
from .checks import close_names
from .description import Array
from .model import Model
from .poses import rotation_from_quaternion
from .state import State


@dataclass(frozen=True, eq=False)
class ImuReading:
    gyro: Array  # (..., 3) angular velocity [rad/s], in the axes of the frame
    accelerometer: Array  # (..., 3) [m/s^2], in the axes of the frame: acceleration less gravity, so +g upward at rest


@dataclass(frozen=True)
class IMU:
    """Gyroscope and accelerometer at a frame or link."""

    frame: str

    def read(self, state: State) -> ImuReading:
        model = _model(state)
        model.frame(self.frame)  # an unknown name is refused here
        velocity = _core.frame_velocity(model, state.q, state.v, self.frame)
        q, v, a = last_step(state)
        classical = np.asarray(_core.frame_acceleration(model, q, v, a, self.frame, classical=True))[..., :3]
        R = np.asarray(_core.frame_placement(model, q, self.frame))[..., :3, :3]
        proper = classical - np.einsum("...ji,...j->...i", R, _gravity(state))
        return ImuReading(np.array(velocity[..., 3:]), _squeezed(proper, state))


@dataclass(frozen=True, eq=False)
class JointReading:
    position: Array  # (..., nq of the joint) [rad] or [m]
    velocity: Array  # (..., nv of the joint) [rad/s] or [m/s]


@dataclass(frozen=True)
class JointSensor:
    """Encoder of a joint."""

    joint: str

    def read(self, state: State) -> JointReading:
        joint = _model(state).joint(self.joint)
        return JointReading(np.array(state.q[..., joint.q_slice]), np.array(state.v[..., joint.v_slice]))


@dataclass(frozen=True, eq=False)
class FrameReading:
    pose: Array  # (..., 4, 4) in the world
    velocity: Array  # (..., 6) of the frame's origin, then angular, world axes [m/s, rad/s]


@dataclass(frozen=True)
class FrameSensor:
    """Where a frame or link is and how it moves, as motion capture sees it."""

    frame: str

    def read(self, state: State) -> FrameReading:
        model = _model(state)
        model.frame(self.frame)
        pose = np.array(_core.frame_placement(model, state.q, self.frame))
        velocity = _core.frame_velocity(model, state.q, state.v, self.frame, reference="local_world_aligned")
        return FrameReading(pose, np.array(velocity))


@dataclass(frozen=True, eq=False)
class WrenchReading:
    force: Array  # (..., 3) [N]
    torque: Array  # (..., 3) [N m]


@dataclass(frozen=True)
class ContactForceSensor:
    """Sum of the contact forces on a link, or on one shape: world axes, torque about the link's origin.

    of: a link ("robot/foot"), a body, or a shape; what never moves ("ground") has its origin in the world's.
    """

    of: str

    def read(self, state: State) -> WrenchReading:
        scene, model = state.simulator.scene, _model(state)
        links = set(model.link_names)
        shapes = [
            k for k, s in enumerate(scene.shapes) if self.of == (s.name if s.link < 0 else model.link_names[s.link])
        ]
        shapes = shapes or [k for k, s in enumerate(scene.shapes) if self.of == s.name]
        if not shapes and self.of not in links:
            known = links | {shape.name for shape in scene.shapes}
            raise ValueError(f"unknown link or shape {self.of!r}{close_names(self.of, known)}")
        link = scene.shapes[shapes[0]].link if shapes else -1
        q, _, _ = last_step(state)
        origin = np.zeros((len(q), 3)) if link < 0 else np.asarray(_core.forward_kinematics(model, q))[:, link, :3, 3]
        force, torque = _contact_wrench(state, shapes, origin)
        return WrenchReading(_squeezed(force, state), _squeezed(torque, state))


@dataclass(frozen=True)
class ForceTorque:
    """What passes through a joint, motors, friction and bearings together: the wrench on its outer side by its inner.

    In the axes of the joint's child link, at its origin. It is the rate of momentum of everything further out, less
    gravity and contact forces on it; ``f_ext`` that was given to the step must be given to ``read`` as well.
    """

    joint: str

    def read(self, state: State, f_ext: ArrayLike | None = None) -> WrenchReading:
        model, scene = _model(state), state.simulator.scene
        child = model.link(model.joint(self.joint).child).index
        outer = _outer_links(model, child)
        if any((c.link in outer) != (c.to in outer) for c in scene.constraints):
            raise ValueError(
                f"ForceTorque({self.joint!r}): a constraint holds what is beyond it, with forces unknown here"
            )
        q, v, a = last_step(state)
        X = np.asarray(_core.forward_kinematics(model, q))
        origin = X[:, child, :3, 3]
        shapes = [k for k, shape in enumerate(scene.shapes) if shape.link in outer]
        force, torque = (-part for part in _contact_wrench(state, shapes, origin))
        forces = np.zeros((1, model.n_links, 6)) if f_ext is None else _forces(f_ext, model, state)
        for k in outer:
            f = _momentum_rate(state, k, q, v, a) - forces[:, k]
            F, arm = _turned(X[:, k], f[:, :3]), X[:, k, :3, 3] - origin
            force += F
            torque += _turned(X[:, k], f[:, 3:]) + np.cross(arm, F)
        R = X[:, child, :3, :3]
        inside = [np.einsum("bji,bj->bi", R, part) for part in (force, torque)]
        return WrenchReading(_squeezed(inside[0], state), _squeezed(inside[1], state))


# -- the last step ---------------------------------------------------------------------------------------------------


def last_step(state: State) -> tuple[Array, Array, Array]:
    """Coordinates and velocities at the beginning of the last step, and its acceleration, (batch, n) each.

    Undoes core/simulation/advance.hpp: the centre of a body on a free joint moved along a straight line, and velocities
    were then expressed in the new axes. With these, H(q) a + h(q, v) is the force of the step. (What moved overlapping
    shapes apart, without a velocity, is not undone.)
    """
    model, dt = _model(state), state.simulator.dt
    q1, v1, a = (np.atleast_2d(x) for x in (state.q, state.v, state.acceleration))
    if not np.any(a) and not np.any(v1):  # at rest, or never stepped
        return np.array(q1), np.array(v1), np.array(a)
    q0, v0 = np.array(model.integrate(q1, -dt * v1)), v1 - dt * a
    for joint in model.joints:
        if joint.type != "free":
            continue
        at, linear = joint.q_slice.start, slice(joint.v_slice.start, joint.v_slice.start + 3)
        angular = slice(linear.stop, linear.stop + 3)
        R1, R0 = (rotation_from_quaternion(q[:, at + 3 : at + 7]) for q in (q1, q0))
        E = np.einsum("bji,bjk->bik", R0, R1)  # the turn of the step
        c, w0, w1 = _center(state, joint.child), v0[:, angular], v1[:, angular]
        flown = np.einsum("bij,bj->bi", E, v1[:, linear] + np.cross(w1, c))  # velocity of the centre, in the old axes
        q0[:, at : at + 3] = q1[:, at : at + 3] - np.einsum(
            "bij,bj->bi", R0, dt * flown + c - np.einsum("bij,bj->bi", E, c)
        )
        # a = (v1 - v0) / dt - w0 x (v0 + w0 x c), with v1 in the old axes
        known = flown - np.cross(w1, c) - dt * (a[:, linear] + np.cross(w0, np.cross(w0, c)))
        v0[:, linear] = np.linalg.solve(np.eye(3) + dt * _cross_matrix(w0), known[..., None])[..., 0]
    return q0, v0, np.array(a)


def _center(state: State, link: str) -> Array:
    """Centres of mass (batch, 3) of a link together with those on fixed joints, which the core takes for one."""
    description = _model(state).description
    poses = {link: np.eye(4)}
    mass, moment = np.zeros((state.batch_size, 1)), np.zeros((state.batch_size, 3))
    for k, (joint, carried) in enumerate(zip(description.joints, description.links, strict=True)):  # parents come first
        if joint.type == "fixed" and joint.parent in poses:
            poses[carried.name] = poses[joint.parent] @ joint.placement @ joint.child_placement
        if carried.name in poses and carried.inertia is not None:
            X = poses[carried.name]
            share = _mass_factor(state, k) * carried.inertia.mass
            mass += share
            moment += share * (X[:3, :3] @ carried.inertia.com + X[:3, 3])
    return np.divide(moment, mass, out=moment, where=mass > 0.0)


def _mass_factor(state: State, k: int) -> Array:
    """Of link k in each environment, (batch, 1)."""
    masses = state.parameters.masses
    return np.ones((state.batch_size, 1)) if masses is None else masses[:, k : k + 1]


def _gravity(state: State) -> Array:
    """Of each environment, (batch, 3)."""
    gravity = state.parameters.gravity
    return np.tile(_model(state).gravity, (state.batch_size, 1)) if gravity is None else gravity


def _cross_matrix(w: Array) -> Array:
    x, y, z = w.T
    o = np.zeros_like(x)
    return np.moveaxis(np.array([[o, -z, y], [z, o, -x], [-y, x, o]]), -1, 0)


def _contact_wrench(state: State, shapes: list[int], origin: Array) -> tuple[Array, Array]:
    """Force and torque about ``origin`` (batch, 3) on the shapes, (batch, 3) each, world axes."""
    contacts = state.contacts
    sign = np.isin(contacts.shape_a, shapes).astype(float) - np.isin(contacts.shape_b, shapes).astype(float)
    F = sign[:, None] * contacts.force_world
    spin = np.einsum("nij,ni->nj", contacts.frame, contacts.impulse[:, 3:] / contacts.dt)
    T = sign[:, None] * spin + np.cross(contacts.position - origin[contacts.environment], F)
    force, torque = np.zeros(origin.shape), np.zeros(origin.shape)
    np.add.at(force, contacts.environment, F)
    np.add.at(torque, contacts.environment, T)
    return force, torque


def _momentum_rate(state: State, k: int, q: Array, v: Array, a: Array) -> Array:
    """Rate of momentum of link k less its weight, (batch, 6) in its axes at its origin."""
    model = _model(state)
    link = model.description.links[k]
    if link.inertia is None:
        return np.zeros((len(q), 6))
    m, c, frame = link.inertia.mass, link.inertia.com, link.name
    R = np.asarray(_core.frame_placement(model, q, frame))[:, :3, :3]
    twist = np.asarray(_core.frame_velocity(model, q, v, frame))
    acceleration = np.asarray(_core.frame_acceleration(model, q, v, a, frame, classical=True))
    w, dw = twist[:, 3:], acceleration[:, 3:]
    of_com = acceleration[:, :3] + np.cross(dw, c) + np.cross(w, np.cross(w, c))
    f = m * (of_com - np.einsum("bji,bj->bi", R, _gravity(state)))
    inertia = link.inertia.matrix
    about_com = dw @ inertia.T + np.cross(w, w @ inertia.T)
    return np.asarray(_mass_factor(state, k) * np.concatenate([f, about_com + np.cross(c, f)], axis=1))


def _outer_links(model: Model, child: int) -> set[int]:
    """The link and all that it carries."""
    index = {name: k for k, name in enumerate(model.link_names)}
    outer = {child}
    for k, joint in enumerate(model.description.joints):  # parents come first
        if joint.parent != WORLD and index[joint.parent] in outer:
            outer.add(k)
    return outer


def _forces(f_ext: ArrayLike, model: Model, state: State) -> Array:
    array = np.asarray(f_ext, dtype=np.float64)
    single, many = (model.n_links, 6), (state.batch_size, model.n_links, 6)
    if array.shape not in (single, many):
        raise ValueError(f"f_ext: expected shape {single} or {many}, got {array.shape}")
    return array.reshape(-1, *single)


def _turned(X: Array, vector: Array) -> Array:
    return np.asarray(np.einsum("bij,bj->bi", X[:, :3, :3], vector))


def _squeezed(values: Array, state: State) -> Array:
    return np.asarray(values[0] if state.single else values)


def _model(state: State) -> Model:
    if not isinstance(state, State):
        raise ValueError(f"state must come from a simulator, got {state!r}")
    return state.simulator.model
