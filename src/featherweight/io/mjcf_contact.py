"""Contact, closures and motors of a compiled MJCF model: what our records can hold, and notes about the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..model import poses
from ..model.builder import WORLD, ModelBuilder
from ..model.description import Severity
from ..model.materials import ContactLaw, Material

#: note(kind of element, its number, message, severity)
Note = Callable[[str, int, str, Severity], None]

#: How MuJoCo's solver softens contacts; another value than the default is reported, not carried over.
_SOFT_CONTACT: dict[str, Any] = {"solref": (0.02, 1.0), "solimp": (0.9, 0.95, 0.001, 0.5, 2.0), "solmix": 1.0}
_SOFT = "contact is rigid here: the softness of MuJoCo's solver"


def material(m: Any, geom: int) -> Material:
    slide, spin, roll = (float(x) for x in m.geom_friction[geom])
    return Material(friction=slide, torsional=spin, rolling=roll, dim=int(m.geom_condim[geom]))


def hull_vertices(m: Any, mesh: int) -> Array:
    """Corners (n, 3) of the hull that MuJoCo made of the mesh; all vertices where it made none."""
    first, count, graph = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh]), int(m.mesh_graphadr[mesh])
    vertices = np.asarray(m.mesh_vert[first : first + count], dtype=np.float64)
    if graph < 0:
        return vertices
    n = int(m.mesh_graph[graph])  # the graph starts: corners, faces, an address and a vertex for each corner
    return np.asarray(vertices[m.mesh_graph[graph + 2 + n : graph + 2 + 2 * n]])


def heights(m: Any, field: int) -> tuple[tuple[float, float], Array]:
    """Full extents (x, y) and the table (nx, ny) of heights."""
    x, y, z, _ = (float(value) for value in m.hfield_size[field])
    rows, columns, first = int(m.hfield_nrow[field]), int(m.hfield_ncol[field]), int(m.hfield_adr[field])
    table = np.asarray(m.hfield_data[first : first + rows * columns], dtype=np.float64).reshape(rows, columns)
    return (2.0 * x, 2.0 * y), z * table.T  # its rows go along y


class ContactTranslation:
    """Adds contact, closures and motors of ``m`` to ``builder``, under the names that ``builder`` has."""

    def __init__(
        self, mujoco: Any, m: Any, builder: ModelBuilder, bodies: Sequence[str], world_link: str | None, note: Note
    ) -> None:
        self._mujoco, self._m, self._builder, self._note = mujoco, m, builder, note
        self._bodies = bodies  # names by number; the first is the world
        self._links = [world_link, *bodies[1:]]  # links with the geoms of each body; None: the world has none

    # -- contact -------------------------------------------------------------------------------------------------

    def add_excludes(self) -> None:
        for signature in self._m.exclude_signature:
            a, b = self._links[int(signature) >> 16], self._links[int(signature) & 0xFFFF]
            if a is not None and b is not None:
                self._builder.exclude(a, b)

    def add_pairs(self, geom_name: Callable[[int], str], left_out: set[int]) -> None:
        m = self._m
        for pair in range(m.npair):
            ends = int(m.pair_geom1[pair]), int(m.pair_geom2[pair])
            if left_out & set(ends):
                self._note("contact pair", pair, "is left out with one of its shapes", Severity.MOTION)
                continue
            slide, slide2, spin, roll, roll2 = (float(x) for x in m.pair_friction[pair])
            if slide != slide2 or roll != roll2:
                message = f"friction that depends on direction is taken as {slide:g} (sliding), {roll:g} (rolling)"
                self._note("contact pair", pair, message, Severity.MOTION)
            law = ContactLaw(slide, spin, roll, margin=float(m.pair_margin[pair]), dim=int(m.pair_dim[pair]))
            (a, name_a), (b, name_b) = ((self._links[m.geom_bodyid[geom]], geom_name(geom)) for geom in ends)
            assert a is not None and b is not None  # they have these geoms
            self._builder.pair(a, name_a, b, name_b, law)
            changed = [key for key in ("solref", "solimp") if not _is_default(m, "pair", pair, key)]
            if changed or m.pair_gap[pair] != 0.0:
                listed = ", ".join([*changed, *(["gap"] if m.pair_gap[pair] != 0.0 else [])])
                self._note("contact pair", pair, f"{_SOFT} ({listed}) is not imported", Severity.MOTION)

    def report_softness(self, geoms: list[int]) -> None:
        """One note for all geoms that differ from the defaults in the same way."""
        groups: dict[str, list[int]] = {}
        for geom in geoms:
            changed = [key for key in _SOFT_CONTACT if not _is_default(self._m, "geom", geom, key)]
            if self._m.geom_gap[geom] != 0.0:
                changed.append("gap")
            if changed:
                groups.setdefault(", ".join(changed), []).append(geom)
        for listed, members in groups.items():
            more = f" (and for {len(members) - 1} more geoms)" if len(members) > 1 else ""
            self._note("geom", members[0], f"{_SOFT} ({listed}) is not imported{more}", Severity.MOTION)

    # -- closures ------------------------------------------------------------------------------------------------

    def add_closures(self, name: Callable[[int], str]) -> None:
        m, types = self._m, self._mujoco.mjtEq
        known = {int(types.mjEQ_CONNECT), int(types.mjEQ_WELD)}
        for number in range(m.neq):
            if int(m.eq_type[number]) not in known:
                kind = types(int(m.eq_type[number])).name[5:].lower()
                self._note("equality", number, f"equality constraints of type {kind} are not imported", Severity.MOTION)
            elif not m.eq_active0[number]:
                self._note("equality", number, "is not active: left out", Severity.NOTHING)
            else:
                self._add_closure(number, name(number))

    def _add_closure(self, number: int, name: str) -> None:
        m = self._m
        weld = m.eq_type[number] == self._mujoco.mjtEq.mjEQ_WELD
        (link, X), (to, Y) = self._ends(number, weld)
        if link == WORLD:
            link, X, to, Y = to, Y, link, X
        if link == WORLD:
            self._note("equality", number, "connects the world to itself: left out", Severity.NOTHING)
            return
        rows = ("x", "y", "z", "rx", "ry", "rz")[: 6 if weld else 3]
        self._builder.close(name, link, to, placement=X, to_placement=Y, rows=rows)
        if not (_is_default(m, "eq", number, "solref") and _is_default(m, "eq", number, "solimp")):
            message = "the closure is rigid here: the softness of MuJoCo's solver (solref, solimp) is not imported"
            self._note("equality", number, message, Severity.MOTION)

    def _ends(self, number: int, weld: bool) -> list[tuple[str, Array]]:
        """Body and frame in it, of both sides."""
        m = self._m
        ids = int(m.eq_obj1id[number]), int(m.eq_obj2id[number])
        if m.eq_objtype[number] == self._mujoco.mjtObj.mjOBJ_SITE:
            frames = [poses.pose(m.site_pos[site], xyzw=np.roll(m.site_quat[site], -1)) for site in ids]
            return [(self._bodies[m.site_bodyid[site]], X) for site, X in zip(ids, frames, strict=True)]
        data = m.eq_data[number]
        if weld:  # the anchor of the second body comes first, then the pose that the first one has for it
            X, Y = poses.pose(data[3:6], xyzw=np.roll(data[6:10], -1)), poses.pose(data[0:3])
        else:
            X, Y = poses.pose(data[0:3]), poses.pose(data[3:6])
        return [(self._bodies[ids[0]], X), (self._bodies[ids[1]], Y)]

    # -- motors --------------------------------------------------------------------------------------------------

    def add_actuators(self, joints: Sequence[str], name: Callable[[int], str]) -> None:
        m, transmissions, types = self._m, self._mujoco.mjtTrn, self._mujoco.mjtJoint
        on_joint = {int(transmissions.mjTRN_JOINT), int(transmissions.mjTRN_JOINTINPARENT)}
        single = {int(types.mjJNT_HINGE), int(types.mjJNT_SLIDE)}
        for number in range(len(m.actuator_trntype)):
            joint = int(m.actuator_trnid[number][0])
            if int(m.actuator_trntype[number]) not in on_joint or int(m.jnt_type[joint]) not in single:
                message = "is not imported: only motors on joints with one degree of freedom are"
                self._note("actuator", number, message, Severity.MOTION)
                continue
            law = self._control_law(number)
            if law is None:
                message = "is not imported: only motor, position and velocity actuators without dynamics are"
                self._note("actuator", number, message, Severity.MOTION)
                continue
            self._builder.actuator(
                name(number),
                joints[joint],
                law[0],
                gear=float(m.actuator_gear[number][0]),
                kp=law[1],
                kd=law[2],
                ctrl_range=self._range(number, "ctrl"),
                force_range=self._range(number, "force"),
            )
            extra = [key for key in ("armature", "damping", "delay") if np.any(_given(m, f"actuator_{key}", number))]
            if extra:
                self._note("actuator", number, f"{', '.join(extra)} of the actuator is not imported", Severity.MOTION)

    def _control_law(self, number: int) -> tuple[Any, float, float] | None:
        """Kind, kp and kd of an actuator with the force ``gain u + b0 + b1 length + b2 rate``, if it is one of ours."""
        m, mujoco = self._m, self._mujoco
        gain = float(m.actuator_gainprm[number][0])
        has_state = m.actuator_dyntype[number] != mujoco.mjtDyn.mjDYN_NONE
        if has_state or m.actuator_gaintype[number] != mujoco.mjtGain.mjGAIN_FIXED or gain < 0.0:
            return None
        if m.actuator_biastype[number] == mujoco.mjtBias.mjBIAS_NONE:
            return "motor", gain, 0.0
        b0, b1, b2 = (float(x) for x in m.actuator_biasprm[number][:3])
        if m.actuator_biastype[number] != mujoco.mjtBias.mjBIAS_AFFINE or b0 != 0.0 or b2 > 0.0:
            return None
        if b1 == -gain:
            return "position", gain, -b2
        return ("velocity", 0.0, gain) if (b1, b2) == (0.0, -gain) else None

    def _range(self, number: int, what: str) -> tuple[float, float] | None:
        if not getattr(self._m, f"actuator_{what}limited")[number]:
            return None
        low, up = getattr(self._m, f"actuator_{what}range")[number]
        return float(low), float(up)


def _is_default(m: Any, prefix: str, number: int, key: str) -> bool:
    return np.array_equal(getattr(m, f"{prefix}_{key}")[number], _SOFT_CONTACT[key])


def _given(m: Any, field: str, number: int) -> Any:
    """A field that older versions of MuJoCo do not have."""
    return getattr(m, field)[number] if hasattr(m, field) else 0.0
