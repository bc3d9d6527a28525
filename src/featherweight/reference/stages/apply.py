"""Stage 4, apply: the velocities that impulses lead to, and coordinates that move with velocities."""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.spatial import quaternion_exp, quaternion_product, quaternion_rotation
from featherweight.reference.stages.assemble import StepProblem
from featherweight.reference.stages.bodies import center_of_mass
from featherweight.reference.stages.predict import FreeMotion
from featherweight.reference.tree import slices


def apply(free: FreeMotion, problem: StepProblem, impulses: Array) -> Array:
    """(nv,) v_free + H^-1 J^T lambda, in the axes at the start of the step."""
    v: Array = free.v_free + free.response(problem.J) @ impulses
    return v


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
