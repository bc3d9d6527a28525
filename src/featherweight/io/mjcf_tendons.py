"""Tendons of a compiled MJCF file: fixed ones, and spatial ones as struts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.description import Bend, Severity
from .mjcf_source import MjcfSource, given, mjcf_pose, within_margin


def add_tendons(source: MjcfSource) -> None:
    """All that act on the motion, by themselves or by actuators; what of them has no place here as notes."""
    m = source.m
    names = source.names("tendon", m.ntendon)
    pulled = m.actuator_trnid[m.actuator_trntype == int(source.mujoco.mjtTrn.mjTRN_TENDON), 0]
    for number in range(m.ntendon):
        is_fixed = m.wrap_type[m.tendon_adr[number]] == int(source.mujoco.mjtWrap.mjWRAP_JOINT)
        law = _Law(source, number)
        if not (is_fixed or law.acts or number in pulled):
            message = "a spatial tendon that exerts no force of its own is not shown"
            source.note("tendon", number, message, Severity.PICTURE)
            continue
        law.keep_to_branches(source, _bodies(source, number))
        if is_fixed:
            source.builder.tendon(names[number], _coefficients(source, number), **law.fixed)
        else:
            points, way = _way(source, number)
            source.builder.strut(names[number], points, **way, **law.spatial)
            source.struts[number] = names[number]
        if law.left_out:
            what = f"a {'fixed' if is_fixed else 'spatial'} tendon with {', '.join(law.left_out)}"
            source.note("tendon", number, f"{what}: that is not imported", Severity.MOTION)


class _Law:
    """What a tendon does by itself, where the file does not disable it."""

    def __init__(self, source: MjcfSource, tendon: int) -> None:
        m = source.m
        has_spring, has_damper = not source.disabled("SPRING"), not source.disabled("DAMPER")
        self.stiffness = float(m.tendon_stiffness[tendon]) if has_spring else 0.0
        self.damping = float(m.tendon_damping[tendon]) if has_damper else 0.0
        self.friction = 0.0 if source.disabled("FRICTIONLOSS") else float(m.tendon_frictionloss[tendon])
        self.range = _limits(source, tendon)
        low, up = (float(x) for x in m.tendon_lengthspring[tendon])
        self.rest = low, up
        growing = {"stiffnesspoly": has_spring, "dampingpoly": has_damper}
        names = {"stiffnesspoly": "stiffness that grows", "dampingpoly": "damping that grows", "armature": "armature"}
        self.left_out = [
            what
            for field, what in names.items()
            if growing.get(field, True) and np.any(given(m, f"tendon_{field}", tendon))
        ]

    @property
    def acts(self) -> bool:
        forces = self.stiffness, self.damping, self.friction
        return any(forces) or self.range is not None or bool(self.left_out)

    def keep_to_branches(self, source: MjcfSource, bodies: set[int]) -> None:
        """Limits and dry friction are those of tendons over two branches at most."""
        if _branches(source, bodies) <= 2:
            return
        where = "over more than two branches"
        self.left_out += [f"limits {where}"] * (self.range is not None) + [f"dry friction {where}"] * bool(
            self.friction
        )
        self.range, self.friction = None, 0.0

    @property
    def _shared(self) -> dict[str, Any]:
        return {
            "stiffness": self.stiffness,
            "damping": self.damping,
            "range": self.range,
            "friction": self.friction,
        }

    @property
    def fixed(self) -> dict[str, Any]:
        return self._shared | {"rest_range": self.rest if self.stiffness else None}

    @property
    def spatial(self) -> dict[str, Any]:
        return self._shared | {"rest_length": self.rest}


def _wraps(source: MjcfSource, tendon: int) -> range:
    m = source.m
    return range(int(m.tendon_adr[tendon]), int(m.tendon_adr[tendon] + m.tendon_num[tendon]))


def _coefficients(source: MjcfSource, tendon: int) -> dict[str, float]:
    m = source.m
    return {source.joints[int(m.wrap_objid[k])]: float(m.wrap_prm[k]) for k in _wraps(source, tendon)}


def _way(source: MjcfSource, tendon: int) -> tuple[list[Any], dict[str, Any]]:
    """Points, shares of the spans between them, and what these bend around. A pulley begins another part of the way."""
    m, kinds = source.m, source.mujoco.mjtWrap
    points: list[Any] = []
    shares: list[float] = []
    bends: list[Bend] = []
    share, begins, around = 1.0, True, -1
    for k in _wraps(source, tendon):
        kind, number = int(m.wrap_type[k]), int(m.wrap_objid[k])
        if kind == int(kinds.mjWRAP_PULLEY):
            share, begins = 1.0 / float(m.wrap_prm[k]), True
        elif kind == int(kinds.mjWRAP_SITE):
            if points:
                shares.append(0.0 if begins else share)
            if around >= 0:
                bends.append(_bend(source, len(points) - 1, around))
            points.append(_site(source, number))
            begins, around = False, -1
        else:
            around = k
    return points, {"shares": shares if any(x != 1.0 for x in shares) else (), "bends": bends}


def _site(source: MjcfSource, site: int) -> tuple[str, list[float]]:
    m = source.m
    return source.bodies[int(m.site_bodyid[site])], [float(x) for x in m.site_pos[site]]


def _bend(source: MjcfSource, span: int, wrap: int) -> Bend:
    m, geom, side = source.m, int(source.m.wrap_objid[wrap]), round(float(source.m.wrap_prm[wrap]))
    is_ball = int(m.wrap_type[wrap]) == int(source.mujoco.mjtWrap.mjWRAP_SPHERE)
    return Bend(
        span,
        source.bodies[int(m.geom_bodyid[geom])],
        "sphere" if is_ball else "cylinder",
        float(m.geom_size[geom][0]),
        mjcf_pose(m.geom_pos[geom], m.geom_quat[geom]),
        None if side < 0 else _site(source, side),  # type: ignore[arg-type]
    )


def _limits(source: MjcfSource, tendon: int) -> tuple[float, float] | None:
    m = source.m
    if not m.tendon_limited[tendon] or source.disabled("LIMIT"):
        return None
    return within_margin(m.tendon_range[tendon], float(m.tendon_margin[tendon]))


def _bodies(source: MjcfSource, tendon: int) -> set[int]:
    """That a tendon runs over, each as the one that moves it; without the world."""
    m, kinds = source.m, source.mujoco.mjtWrap
    found = set()
    for k in _wraps(source, tendon):
        kind, number = int(m.wrap_type[k]), int(m.wrap_objid[k])
        if kind == int(kinds.mjWRAP_JOINT) and m.wrap_prm[k] != 0.0:
            found.add(int(m.jnt_bodyid[number]))
        elif kind == int(kinds.mjWRAP_SITE):
            found.add(int(m.site_bodyid[number]))
        elif kind in (int(kinds.mjWRAP_SPHERE), int(kinds.mjWRAP_CYLINDER)):
            found.add(int(m.geom_bodyid[number]))
            if m.wrap_prm[k] >= 0:
                found.add(int(m.site_bodyid[round(float(m.wrap_prm[k]))]))
    return {int(m.body_weldid[body]) for body in found} - {0}


def joints_under(source: MjcfSource, tendon: int) -> list[int]:
    """Joints that move something that a tendon runs over."""
    m, carriers = source.m, set[int]()
    for body in _bodies(source, tendon):
        while body > 0:
            carriers.add(body)
            body = int(m.body_parentid[body])
    return [joint for joint in range(m.njnt) if int(m.jnt_bodyid[joint]) in carriers]


def _branches(source: MjcfSource, bodies: set[int]) -> int:
    """How many of the bodies that a tendon moves carry no other of them."""
    inboard: set[int] = set()
    for body in bodies:
        while (body := int(source.m.body_parentid[body])) > 0:
            inboard.add(body)
    return len(bodies - inboard)
