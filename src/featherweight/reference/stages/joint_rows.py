"""Rows of joints: limits, dry friction, servos of limited effort. From the last degree of freedom to the first; then
limits and dry friction of tendons and struts."""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.contact.laws import ConeBlock
from featherweight.reference.stages.predict import FreeMotion
from featherweight.reference.stages.rows import RowBlock, Surface
from featherweight.reference.stages.scene import StepScene, axis_coordinates, limits, per_dof
from featherweight.reference.stages.servos import brake_row, servo_row
from featherweight.reference.stages.struts import strut_length
from featherweight.reference.tree import slices

UNILATERAL = ConeBlock("unilateral", 1)


def joint_rows(scene: StepScene, free: FreeMotion) -> list[RowBlock]:
    model, dt = scene.model, scene.dt
    (lower, upper), friction, blocks = limits(model), per_dof(model, "friction"), list[RowBlock]()
    restitution = per_dof(model, "limit_restitution")
    for dof, coordinate in reversed(axis_coordinates(model).items()):
        x, along = free.q[coordinate], np.eye(len(free.v))[[dof]]
        for sign, bound in ((1.0, lower[coordinate]), (-1.0, upper[coordinate])):
            if np.isfinite(bound):
                gap = sign * (x - bound)
                shift, e, before = max(gap, 0.0) / dt, float(restitution[dof]), sign * float(free.v[dof])
                strikes = e > 0 and before < 0 and gap + dt * sign * free.v_free[dof] <= 0
                surface = Surface(e, 0.0, (dof, -2), shift, was_loaded=False)
                own = e * before if strikes else shift
                blocks.append(
                    RowBlock("limit", UNILATERAL, sign * along, own, gap=gap, bounces=strikes, surface=surface)
                )
        if friction[dof] > 0:
            law = ConeBlock("interval", 1, lower=-dt * friction[dof], upper=dt * friction[dof])
            blocks.append(RowBlock("dry_friction", law, along))
        for s in free.servos:
            if s.dof == dof and (s.is_row or np.isfinite(s.fastest)):
                v = float(free.v[dof])
                row = servo_row(s, dt, x, v) if s.is_row else brake_row(s, scene, x, v)
                blocks.append(RowBlock("servo", row[0], along, *row[1:]))
    return blocks + tendon_rows(scene, free)


def tendon_rows(scene: StepScene, free: FreeMotion) -> list[RowBlock]:
    """Of tendons, then of struts."""
    model, dt, blocks = scene.model, scene.dt, list[RowBlock]()
    lines = list[tuple[float, Array, tuple[float, float] | None, float]]()  # length, change, limits, dry friction
    at = {joint.name: (q.start, v.start) for joint, (q, v) in zip(model.joints, slices(model), strict=True)}
    for tendon in model.tendons:
        change, length = np.zeros(len(free.v)), 0.0
        for name, x in zip(tendon.joints, tendon.coefficients, strict=True):
            change[at[name][1]] += x
            length += x * float(free.q[at[name][0]])
        lines.append((length, change, tendon.range, tendon.friction))
    for strut in model.struts:
        lines.append((*strut_length(model, free.bodies, strut, len(free.v)), strut.range, strut.friction))
    for length, change, limited, friction in lines:
        along = change[None]
        lower, upper = limited or (-np.inf, np.inf)
        for sign, gap in ((1.0, length - lower), (-1.0, upper - length)):
            if np.isfinite(gap):
                shift = max(gap, 0.0) / dt
                surface = Surface(0.0, 0.0, (len(free.v) + len(blocks), -2), shift, was_loaded=False)
                blocks.append(RowBlock("limit", UNILATERAL, sign * along, shift, gap=gap, surface=surface))
        if friction > 0.0:
            law = ConeBlock("interval", 1, lower=-dt * friction, upper=dt * friction)
            blocks.append(RowBlock("dry_friction", law, along))
    return blocks
