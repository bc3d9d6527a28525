"""Stage 1, predict: velocities at the end of the step if nothing touched, v_free = v + dt H^-1 (tau - h).

Dampers act with the velocity at the end of the step, (H + dt B) a = ... - B v, and so do springs and servos of the
implicit integrator, with k dt (v + dt a) for what the step stretches them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.stages.activations import activate
from featherweight.reference.stages.bodies import (
    Bodies,
    bias,
    center_of_mass,
    lifts,
    mass_matrix,
    medium_forces,
    place,
)
from featherweight.reference.stages.scene import StepScene, axis_coordinates, per_dof
from featherweight.reference.stages.servos import Servo, add_forces, servos
from featherweight.reference.stages.struts import add_struts
from featherweight.reference.stages.transmissions import add_tendons, add_transmissions
from featherweight.reference.stages.tumble import turn
from featherweight.reference.tree import slices


@dataclass(frozen=True, eq=False)
class FreeMotion:
    """A step without impulses, and what it takes to add them."""

    q: Array  # (nq,) at the start
    v: Array  # (nv,) at the start
    v_free: Array  # (nv,) at the end, ball joints in the axes at the start
    H: Array  # (nv, nv) with what acts at the end of the step
    bodies: Bodies
    servos: list[Servo]
    bend: Array  # (nv,) what coordinates move with beside velocities, where something turns fast

    def response(self, J: Array) -> Array:
        """H^-1 J^T, (nv, m): what unit impulses along rows J do to velocities."""
        return np.asarray(np.linalg.solve(self.H, J.T))


def predict(
    scene: StepScene,
    q: Array,
    v: Array,
    *,
    tau: Array | None = None,
    control: Array | None = None,
    activation: Array | None = None,
    f_ext: Array | None = None,
    mean: Array | None = None,
) -> FreeMotion:
    """mean: (nv,) of the velocities at the start and at the end of the step, ball joints in the axes they have there.

    In scenes with closures trees take products of velocities at that.
    """
    model, dt = scene.model, scene.dt
    bodies = place(model, q)
    H, force = mass_matrix(model, bodies), np.zeros_like(v) if tau is None else tau.copy()
    damping, stiffness, rest = (per_dof(model, field) for field in ("damping", "stiffness", "rest_position"))
    force -= damping * v
    H += dt * np.diag(damping)
    ahead = dt if scene.implicit else 0.0
    for dof, coordinate in axis_coordinates(model).items():
        force[dof] -= stiffness[dof] * (q[coordinate] + ahead * v[dof] - rest[dof])
        H[dof, dof] += ahead**2 * stiffness[dof]
    told, _ = activate(scene, control, activation)
    motors = servos(scene, told)
    add_forces(scene, motors, q, v, H, force)
    for dof, along, fastest in add_transmissions(model, bodies, told, q, v, force):
        motors.append(Servo(dof, 0, along, 0.0, 0.0, -np.inf, np.inf, fastest, False))  # of which a row takes back
    add_tendons(model, q, v, force)
    add_struts(model, bodies, v, force)
    force += lifts(model, bodies)
    f_ext = medium_forces(model, bodies, v, f_ext)
    weight = bias(model, bodies, q, np.zeros_like(v), None)
    mean = None if not scene.closures else v if mean is None else mean
    turned = turn(
        model,
        dt,
        v,
        H,
        lambda m: bias(model, bodies, q, m, None) - weight,
        lambda u: np.asarray(dt * np.linalg.solve(H, force - bias(model, bodies, q, u, f_ext))),
        mean,
    )
    v_free = turned.v.copy()
    for i, (joint, (_, at_v)) in enumerate(zip(model.joints, slices(model), strict=True)):
        if joint.type == "free":  # components in axes that turn; within a step they are those at its start
            u, w = turned.explicit[at_v][:3], turned.explicit[at_v][3:]
            v_free[at_v][:3] += dt * np.cross(w, u + np.cross(w, center_of_mass(model, i)))
    return FreeMotion(q, v, v_free, H, bodies, motors, turned.bend)
