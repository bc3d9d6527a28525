"""Rows of a contact: two tangents and the normal, then spin and roll. The law of the normal, with its gap d:

apart      0 <= lambda _|_ sigma + d / dt >= 0            it touches at the end of the step at the earliest
touching   0 <= lambda _|_ sigma >= 0                     an overlap is left to the last stage
impact     0 <= lambda _|_ sigma + e sigma_before >= 0    if it would touch within the step; its tangents obey Coulomb's
           law with sigma + e_t sigma_before
compliant  0 <= lambda _|_ sigma + k d / r + lambda / (dt r) >= 0, r = k dt + c      a spring at the end of the step
"""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.contact.laws import ConeBlock
from featherweight.reference.stages.predict import FreeMotion
from featherweight.reference.stages.rows import RowBlock, Surface, TouchingEnd
from featherweight.reference.stages.scene import ContactPoint, StepScene, rigid_masses


def contact_rows(scene: StepScene, free: FreeMotion, contact: ContactPoint, first: int) -> list[RowBlock]:
    """first: index in the problem of the first of its rows."""
    bodies, x = free.bodies, contact.position
    slide = contact.frame @ (bodies.point(contact.link, x) - bodies.point(contact.to, x))
    turn = contact.frame @ (bodies.turn(contact.link) - bodies.turn(contact.to))
    masses = rigid_masses(scene.model)
    ends = tuple(
        TouchingEnd(bodies.point(link, x), bodies.turn(link), radius, float(masses[link]))
        for link, radius in zip((contact.link, contact.to), contact.radii, strict=True)
    )
    rubs = contact.friction > 0
    law, own = (ConeBlock("point", 3, contact.friction), slide) if rubs else (ConeBlock("unilateral", 1), slide[2:])
    shift, compliance, surface, strikes = _law(scene, free, contact, slide)
    shift = shift[3 - law.rows :]
    soft, gap = np.zeros(law.rows), np.full(law.rows, np.nan)
    soft[-1], gap[-1] = compliance, np.nan if compliance > 0 else contact.gap
    blocks = [RowBlock("contact", law, own, shift, soft, gap, strikes, ends, surface)]
    normal = first + law.rows - 1
    if contact.torsional > 0:
        blocks.append(RowBlock("contact", ConeBlock("disc", 1, contact.torsional, normal), turn[2:]))
    if contact.rolling > 0:
        blocks.append(RowBlock("contact", ConeBlock("disc", 2, contact.rolling, normal), turn[:2]))
    return blocks


def _law(
    scene: StepScene, free: FreeMotion, contact: ContactPoint, slide: Array
) -> tuple[Array, float, Surface | None, bool]:
    """Shifts of t1, t2 and the normal, compliance of the normal, what happens if it is struck, and whether it is."""
    law, dt, gap = contact.law, scene.dt, contact.gap
    before, coming = slide @ free.v, float(slide[2] @ free.v_free)
    if np.isfinite(law.stiffness):  # lambda = -dt (k (d + dt sigma) + c sigma), if that pushes
        rate = law.stiffness * dt + law.damping
        return np.array([0, 0, gap / dt if gap > 0 else law.stiffness * gap / rate]), 1 / (dt * rate), None, False
    open_shift = 0.0 if contact.rolls_open else max(gap, 0.0) / dt
    between = (contact.link, contact.to)
    surface = Surface(law.restitution, law.tangential_restitution, between, open_shift, contact.was_loaded)
    strikes = surface.is_elastic and before[2] < 0 and gap + dt * coming <= 0
    if not strikes:
        return np.array([0, 0, open_shift]), 0.0, surface, False
    lies = -before[2] <= dt * float(np.linalg.norm(scene.model.gravity))  # slower than gravity makes it in a step
    turning = 0.0 if lies else law.tangential_restitution
    return np.array([turning, turning, law.restitution]) * before, 0.0, surface, True
