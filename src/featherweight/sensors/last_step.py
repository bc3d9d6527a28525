"""The last step as its equation of motion saw it: where it began, its acceleration, its gravity and masses."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..model.poses import rotation_from_quaternion
from ..simulation.state import State
from .reading import model_of


def last_step(state: State) -> tuple[Array, Array, Array]:
    """Coordinates and velocities at the beginning of the last step, and its acceleration, (batch, n) each.

    Undoes core/simulation/advance.hpp: the centre of a body on a free joint moved along a straight line, and velocities
    were then expressed in the new axes. With these, H(q) a + h(q, v) is the force of the step. (What moved overlapping
    shapes apart, without a velocity, is not undone.)
    """
    model, dt = model_of(state), state.simulator.dt
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


def gravity_of(state: State) -> Array:
    """Of each environment, (batch, 3)."""
    gravity = state.parameters.gravity
    return np.tile(model_of(state).gravity, (state.batch_size, 1)) if gravity is None else gravity


def mass_factor(state: State, k: int) -> Array:
    """Of link k in each environment, (batch, 1)."""
    masses = state.parameters.masses
    return np.ones((state.batch_size, 1)) if masses is None else masses[:, k : k + 1]


def _center(state: State, link: str) -> Array:
    """Centres of mass (batch, 3) of a link together with those on fixed joints, which the core takes for one."""
    description = model_of(state).description
    poses = {link: np.eye(4)}
    mass, moment = np.zeros((state.batch_size, 1)), np.zeros((state.batch_size, 3))
    for k, (joint, carried) in enumerate(zip(description.joints, description.links, strict=True)):  # parents come first
        if joint.type == "fixed" and joint.parent in poses:
            poses[carried.name] = poses[joint.parent] @ joint.placement @ joint.child_placement
        if carried.name in poses and carried.inertia is not None:
            X = poses[carried.name]
            share = mass_factor(state, k) * carried.inertia.mass
            mass += share
            moment += share * (X[:3, :3] @ carried.inertia.com + X[:3, 3])
    return np.divide(moment, mass, out=moment, where=mass > 0.0)


def _cross_matrix(w: Array) -> Array:
    x, y, z = w.T
    o = np.zeros_like(x)
    return np.moveaxis(np.array([[o, -z, y], [z, o, -x], [-y, x, o]]), -1, 0)
