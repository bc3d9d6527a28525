"""Contact and closures of a compiled MJCF file: what our records can hold, and notes about the rest."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from ..model import poses
from ..model.description import WORLD, Severity
from ..model.materials import ContactLaw
from .mjcf_shapes import ShapeTranslation
from .mjcf_source import MjcfSource, given, mjcf_pose

#: How MuJoCo's solver softens what is rigid here; other values than these are told, as settings.
_SOFT: dict[str, Any] = {
    "solref": (0.02, 1.0),
    "solimp": (0.9, 0.95, 0.001, 0.5, 2.0),
    "solmix": 1.0,
    "solreffriction": (0.0, 0.0),
}
_SETTING = "is rigid here: how soft MuJoCo's solver makes it ({}) is a setting of that solver"


class ContactTranslation:
    """Excluded pairs, pairs with laws of their own, closures; and what softness the file asks for."""

    def __init__(self, source: MjcfSource, shapes: ShapeTranslation) -> None:
        self._source, self._m, self._shapes = source, source.m, shapes

    def add(self) -> None:
        if not self._source.disabled("CONTACT"):
            self._add_excludes()
            self._add_pairs()
            self._report_surfaces()
        self._add_closures()
        self._report_softness()

    # -- contact -------------------------------------------------------------------------------------------------

    def _add_excludes(self) -> None:
        for signature in self._m.exclude_signature:
            a, b = (self._source.link_of(body) for body in (int(signature) >> 16, int(signature) & 0xFFFF))
            if a is not None and b is not None:
                self._source.builder.exclude(a, b)

    def _add_pairs(self) -> None:
        m, source = self._m, self._source
        for pair in range(m.npair):
            ends = int(m.pair_geom1[pair]), int(m.pair_geom2[pair])
            if source.left_out_geoms & set(ends):
                source.note("contact pair", pair, "is left out with one of its shapes", Severity.MOTION)
                continue
            welded = [int(m.body_weldid[m.geom_bodyid[geom]]) for geom in ends]
            if welded[0] == welded[1]:
                source.note("contact pair", pair, "cannot move relative to each other: left out", Severity.NOTHING)
                continue
            slide, slide2, spin, roll, roll2 = (float(x) for x in m.pair_friction[pair])
            if slide != slide2 or roll != roll2:
                message = f"friction that depends on direction is taken as {slide:g} (sliding), {roll:g} (rolling)"
                source.note("contact pair", pair, message, Severity.MOTION)
            if np.any(given(m, "pair_adhesion", pair)):
                source.note("contact pair", pair, "adhesion is not imported", Severity.MOTION)
            slide, spin, roll = (max(x, 0.0) for x in (slide, spin, roll))  # MuJoCo takes less for next to none
            try:
                law = ContactLaw(slide, spin, roll, margin=float(m.pair_margin[pair]), dim=int(m.pair_dim[pair]))
            except ValueError as error:
                raise ModelError(f"contact pair {pair}", str(error)) from None
            (a, name_a), (b, name_b) = (
                (source.link_of(int(m.geom_bodyid[geom])), source.geom_name(geom)) for geom in ends
            )
            assert a is not None and b is not None  # they have these geoms
            source.builder.pair(a, name_a, b, name_b, law)

    def _report_surfaces(self) -> None:
        m, colliding = self._m, self._shapes.colliding()
        for field, what in (("surfacevel", "the velocity of the surface (surfacevel)"), ("adhesion", "adhesion")):
            found = [geom for geom in colliding if np.any(given(m, f"geom_{field}", geom))]
            self._source.note_all("geom", found, f"{what} is not imported", Severity.MOTION)
        message = "contacts that exert no force are not listed in the gap beyond the margin"
        for kind, prefix, numbers in (("geom", "geom", colliding), ("contact pair", "pair", list(range(m.npair)))):
            wide = [number for number in numbers if getattr(m, f"{prefix}_gap")[number] != 0.0]
            severity = Severity.NOTHING if gap_only_lists(self._source.mujoco) else Severity.MOTION
            self._source.note_all(kind, wide, message, severity)

    def _report_softness(self) -> None:
        m = self._m
        contact = self._shapes.colliding()
        limited = [joint for joint in range(m.njnt) if m.jnt_limited[joint]]
        self._report_soft("geom", "contact", "geom", contact, ("solref", "solimp", "solmix"))
        self._report_soft("contact pair", "contact", "pair", range(m.npair), ("solref", "solimp", "solreffriction"))
        self._report_soft("joint", "the limit", "jnt", limited, ("solref", "solimp"))
        self._report_soft("equality", "the closure", "eq", range(m.neq), ("solref", "solimp"))
        rubbing = [dof for dof in range(m.nv) if m.dof_frictionloss[dof] > 0.0]
        soft = {key: [dof for dof in rubbing if not _is_default(m, "dof", dof, key)] for key in ("solref", "solimp")}
        listed = ", ".join(f"{key}friction" for key, dofs in soft.items() if dofs)
        joints = {int(m.dof_jntid[dof]) for dofs in soft.values() for dof in dofs}
        self._source.note_all("joint", joints, f"dry friction {_SETTING.format(listed)}", Severity.NOTHING)

    def _report_soft(self, kind: str, what: str, prefix: str, numbers: Any, keys: tuple[str, ...]) -> None:
        """One note for all elements that differ from the defaults in the same way."""
        groups: dict[str, list[int]] = {}
        for number in numbers:
            changed = [key for key in keys if not _is_default(self._m, prefix, number, key)]
            if changed:
                groups.setdefault(", ".join(changed), []).append(number)
        for listed, members in groups.items():
            self._source.note_all(kind, members, f"{what} {_SETTING.format(listed)}", Severity.NOTHING)

    # -- closures ------------------------------------------------------------------------------------------------

    def _add_closures(self) -> None:
        m, types = self._m, self._source.mujoco.mjtEq
        names = self._source.names("equality", m.neq)
        for number in range(m.neq):
            if int(m.eq_type[number]) not in (int(types.mjEQ_CONNECT), int(types.mjEQ_WELD)):
                continue  # mjcf_couplings.py
            if self._source.disabled("EQUALITY") or not m.eq_active0[number]:
                self._source.note("equality", number, "is not active: left out", Severity.NOTHING)
            else:
                self._add_closure(number, names[number])

    def _add_closure(self, number: int, name: str) -> None:
        source = self._source
        weld = self._m.eq_type[number] == source.mujoco.mjtEq.mjEQ_WELD
        (link, X), (to, Y) = self._ends(number, weld)
        if link == WORLD:
            link, X, to, Y = to, Y, link, X
        if link == to:
            source.note("equality", number, f"connects {link!r} to itself: left out", Severity.NOTHING)
            return
        if weld and self._m.eq_data[number][10] != 1.0:
            message = "a weld is as rigid about axes as along them here: torquescale is not imported"
            source.note("equality", number, message, Severity.NOTHING)
        rows = ("x", "y", "z", "rx", "ry", "rz")[: 6 if weld else 3]
        source.builder.close(name, link, to, placement=X, to_placement=Y, rows=rows)

    def _ends(self, number: int, weld: bool) -> list[tuple[str, Array]]:
        """Body and frame in it, of both sides."""
        m, bodies = self._m, self._source.bodies
        ids = int(m.eq_obj1id[number]), int(m.eq_obj2id[number])
        if m.eq_objtype[number] == self._source.mujoco.mjtObj.mjOBJ_SITE:
            frames = [mjcf_pose(m.site_pos[site], m.site_quat[site]) for site in ids]
            return [(bodies[m.site_bodyid[site]], X) for site, X in zip(ids, frames, strict=True)]
        data = m.eq_data[number]
        if weld:  # the anchor of the second body comes first, then the pose that the first one has for it
            X, Y = mjcf_pose(data[3:6], data[6:10]), poses.pose(data[0:3])
        else:
            X, Y = poses.pose(data[0:3]), poses.pose(data[3:6])
        return [(bodies[ids[0]], X), (bodies[ids[1]], Y)]


@cache
def gap_only_lists(mujoco: Any) -> bool:
    """Whether MuJoCo's gap widens the list of contacts, instead of taking from the margin as it once did."""
    geom = '<geom size="1" margin="0.2" gap="0.1"/>'
    m = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody>{geom}<body pos="2.3 0 0"><freejoint/>{geom}</body></worldbody></mujoco>'
    )
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    return bool(data.contact[0].includemargin > 0.3)  # 0.2 if it takes, 0.4 if not


def _is_default(m: Any, prefix: str, number: int, key: str) -> bool:
    return np.array_equal(given(m, f"{prefix}_{key}", number), _SOFT[key])
