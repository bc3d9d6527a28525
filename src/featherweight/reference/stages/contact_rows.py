"""Rows of a contact: two tangents and the normal, then spin and roll. The law of the normal, with its gap d:

apart      0 <= lambda _|_ sigma + d / dt >= 0            it touches at the end of the step at the earliest
touching   0 <= lambda _|_ sigma >= 0                     an overlap is left to the last stage
impact     0 <= lambda _|_ sigma + e sigma_before >= 0    if it would touch within the step
compliant  0 <= lambda _|_ sigma + k d / r + lambda / (dt r) >= 0, r = k dt + c      a spring at the end of the step
"""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.contact.laws import ConeBlock
from featherweight.reference.stages.predict import FreeMotion
from featherweight.reference.stages.rows import RowBlock, TouchingEnd
from featherweight.reference.stages.scene import ContactPoint, StepScene, rigid_masses


def contact_rows(scene: StepScene, free: FreeMotion, contact: ContactPoint, first: int) -> list[RowBlock]:
    """first: index in the problem of the first of its rows."""
    bodies, x = free.bodies, contact.position
    slide = contact.frame @ (bodies.point(contact.link, x) - bodies.point(contact.to, x))
    turn = contact.frame @ (bodies.turn(contact.link) - bodies.turn(contact.to))
    shift, compliance, bounces = _normal(scene, free, contact, slide[2])
    masses = rigid_masses(scene.model)
    ends = tuple(
        TouchingEnd(bodies.point(link, x), bodies.turn(link), radius, float(masses[link]))
        for link, radius in zip((contact.link, contact.to), contact.radii, strict=True)
    )
    rubs, gap = contact.friction > 0, np.nan if compliance > 0 else contact.gap
    law, own = (ConeBlock("point", 3, contact.friction), slide) if rubs else (ConeBlock("unilateral", 1), slide[2:])

    def at_normal(value: float, elsewhere: float = 0.0) -> Array:
        return np.append(np.full(law.rows - 1, elsewhere), value)

    blocks = [
        RowBlock("contact", law, own, at_normal(shift), at_normal(compliance), at_normal(gap, np.nan), bounces, ends)
    ]
    normal = first + law.rows - 1
    if contact.torsional > 0:
        blocks.append(RowBlock("contact", ConeBlock("disc", 1, contact.torsional, normal), turn[2:]))
    if contact.rolling > 0:
        blocks.append(RowBlock("contact", ConeBlock("disc", 2, contact.rolling, normal), turn[:2]))
    return blocks


def _normal(scene: StepScene, free: FreeMotion, contact: ContactPoint, J: Array) -> tuple[float, float, bool]:
    """Shift, compliance, and whether it bounces."""
    law, dt, gap = contact.law, scene.dt, contact.gap
    before, coming = float(J @ free.v), float(J @ free.v_free)
    if np.isfinite(law.stiffness):  # lambda = -dt (k (d + dt sigma) + c sigma), if that pushes
        rate = law.stiffness * dt + law.damping
        return gap / dt if gap > 0 else law.stiffness * gap / rate, 1 / (dt * rate), False
    if law.restitution > 0 and before < 0 and gap + dt * coming <= 0:
        return law.restitution * before, 0.0, True
    return 0.0 if contact.rolls_open else max(gap, 0.0) / dt, 0.0, False
