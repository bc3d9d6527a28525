"""All links at one configuration: poses, Jacobians, and from those the equation of motion, H a + h = tau.

H = sum J_i^T I_i J_i and h = sum J_i^T (I_i (a_i - g) + v_i x* I_i v_i), with a_i at zero joint acceleration: Newton
and Euler for each link, seen by the degrees of freedom. Only poses and Jacobians are found from link to link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.model.drag import drag
from featherweight.reference.joints import armature_bias
from featherweight.reference.kinematics import link_motion
from featherweight.reference.spatial import force_cross, quaternion_exp, quaternion_product, quaternion_rotation
from featherweight.reference.stages.scene import per_dof
from featherweight.reference.tree import LinkState, evaluate, slices


@dataclass(frozen=True, eq=False)
class Bodies:
    """Arrays of one entry per link and, at the end, for the world."""

    links: list[LinkState]
    poses: Array  # (n + 1, 4, 4) in the world
    jacobians: Array  # (n + 1, 6, nv) of the velocity of the link, in its own coordinates

    def turn(self, link: int) -> Array:
        """(3, nv) angular velocity, world axes."""
        J: Array = self.poses[link][:3, :3] @ self.jacobians[link][3:]
        return J

    def point(self, link: int, x: Array) -> Array:
        """(3, nv) velocity of the point of a link that is at x in the world, world axes."""
        R, p = self.poses[link][:3, :3], self.poses[link][:3, 3]
        J: Array = R @ self.jacobians[link][:3] + np.cross(self.turn(link), x - p, axisa=0, axisc=0)
        return J


def place(model: ModelDescription, q: Array) -> Bodies:
    """Root to leaf: where every link is, and how the degrees of freedom move it."""
    links = evaluate(model, q)
    n, nv = len(links), sum(joint.nv for joint in model.joints)
    poses, jacobians = np.tile(np.eye(4), (n + 1, 1, 1)), np.zeros((n + 1, 6, nv))
    for i, link in enumerate(links):
        poses[i] = poses[link.parent] @ link.pose
        jacobians[i] = link.X @ jacobians[link.parent]
        jacobians[i][:, link.dofs] += link.S
    return Bodies(links, poses, jacobians)


def mass_matrix(model: ModelDescription, bodies: Bodies) -> Array:
    """H, (nv, nv)."""
    H = np.diag(per_dof(model, "armature"))
    for link, J in zip(bodies.links, bodies.jacobians, strict=False):
        H = H + J.T @ link.inertia @ J
    return H


def bias(model: ModelDescription, bodies: Bodies, q: Array, v: Array, f_ext: Array | None) -> Array:
    """h, (nv,), less what the forces f_ext (n_links, 6) on links do."""
    velocity, acceleration = link_motion(model, q, v, np.zeros_like(v))
    h = np.zeros_like(v)
    for i, link in enumerate(bodies.links):
        h[link.dofs] += armature_bias(model.joints[i], v[link.dofs])
        felt = acceleration[i].copy()
        felt[:3] -= bodies.poses[i][:3, :3].T @ model.gravity
        force = link.inertia @ felt + force_cross(velocity[i]) @ link.inertia @ velocity[i]
        h += bodies.jacobians[i].T @ (force if f_ext is None else force - f_ext[i])
    return h


def medium_forces(model: ModelDescription, bodies: Bodies, v: Array, f_ext: Array | None) -> Array | None:
    """The forces f_ext (n_links, 6) on links and those of the medium, with the velocities v."""
    if model.medium is None:
        return f_ext
    forces = np.zeros((len(model.links), 6)) if f_ext is None else f_ext.copy()
    for i, link in enumerate(model.links):
        velocity = bodies.jacobians[i] @ v
        velocity[:3] -= bodies.poses[i][:3, :3].T @ model.medium.wind
        forces[i] += drag(link, model.medium, velocity)
    return forces


def lifts(model: ModelDescription, bodies: Bodies) -> Array:
    """What carries the weight of links, (nv,): at their centres of mass, against gravity."""
    total = np.zeros(bodies.jacobians[0].shape[1])
    for i, link in enumerate(model.links):
        if link.inertia is not None and link.gravity_compensation != 0.0:
            up = -link.gravity_compensation * link.inertia.mass * (bodies.poses[i][:3, :3].T @ model.gravity)
            total += bodies.jacobians[i].T @ np.concatenate([up, np.cross(link.inertia.com, up)])
    return total


def center_of_mass(model: ModelDescription, joint: int) -> Array:
    """Of what a joint carries rigidly, in the frame the joint moves.

    The armature of a free joint is a mass at its origin, which has no weight.
    """
    joints, links = model.joints, {link.name: link for link in model.links}
    placed = {joints[joint].child: joints[joint].child_placement}
    for each in joints[joint + 1 :]:  # parents come first
        if each.type == "fixed" and each.parent in placed:
            placed[each.child] = placed[each.parent] @ each.placement @ each.child_placement
    armature = joints[joint].armature
    moment, mass = np.zeros(3), 0.0 if armature is None else float(armature[0])
    for name, X in placed.items():
        inertia = links[name].inertia
        if inertia is not None:
            moment += inertia.mass * (X[:3, :3] @ inertia.com + X[:3, 3])
            mass += inertia.mass
    return np.asarray(moment / mass if mass > 0 else moment)


def advance(model: ModelDescription, q: Array, v: Array, path: Array) -> tuple[Array, Array]:
    """Coordinates moved by ``path`` (nv,), a velocity times a time, and v expressed in the axes they lead to.

    Ball joints turn by the exponential; the centre of mass of a free body goes straight.
    """
    q, v = q.copy(), v.copy()
    for i, (joint, (at_q, at_v)) in enumerate(zip(model.joints, slices(model), strict=True)):
        if joint.type not in ("spherical", "free"):
            q[at_q] += path[at_v]
            continue
        turned, w = quaternion_exp(path[at_v][-3:]), v[at_v][-3:]
        R, E = quaternion_rotation(q[at_q][-4:]), quaternion_rotation(turned)
        if joint.type == "free":
            c = center_of_mass(model, i)
            straight = path[at_v][:3] + np.cross(path[at_v][3:], c)
            q[at_q][:3] += R @ (straight + c - E @ c)
            v[at_v][:3] = E.T @ (v[at_v][:3] + np.cross(w, c)) - np.cross(E.T @ w, c)
        v[at_v][-3:] = E.T @ w
        orientation = quaternion_product(q[at_q][-4:], turned)
        q[at_q][-4:] = orientation / np.linalg.norm(orientation)
    return q, v
