"""What a compiled MJCF file couples joints by: equalities of joints, and tendons."""

from __future__ import annotations

import numpy as np

from ..model.description import Severity
from .mjcf_source import MjcfSource, given


def add_couplings(source: MjcfSource) -> None:
    """Equalities between joints, and whatever other equalities are not closures."""
    m, types = source.m, source.mujoco.mjtEq
    names = source.names("equality", m.neq)
    for number in range(m.neq):
        kind = int(m.eq_type[number])
        if kind in (int(types.mjEQ_CONNECT), int(types.mjEQ_WELD)):
            continue  # mjcf_contact.py
        if source.disabled("EQUALITY") or not m.eq_active0[number]:
            source.note("equality", number, "is not active: left out", Severity.NOTHING)
        elif kind == int(types.mjEQ_JOINT):
            _add_coupling(source, number, names[number])
        elif kind == int(types.mjEQ_TENDON) and _are_fixed(source, number):
            _add_tendon_coupling(source, number, names[number])
        else:
            what = types(kind).name[5:].lower()
            source.note("equality", number, f"an equality of type {what} is not imported", Severity.MOTION)


def _add_coupling(source: MjcfSource, number: int, name: str) -> None:
    """MuJoCo has y - y0 = p(x - x0), with the references of both joints."""
    m, types = source.m, source.mujoco.mjtJoint
    first, second = int(m.eq_obj1id[number]), int(m.eq_obj2id[number])
    ends = [joint for joint in (first, second) if joint >= 0]
    if any(int(m.jnt_type[joint]) not in (int(types.mjJNT_HINGE), int(types.mjJNT_SLIDE)) for joint in ends):
        source.note("equality", number, "couples a joint with several degrees of freedom: left out", Severity.MOTION)
        return
    reference = [float(m.qpos0[m.jnt_qposadr[joint]]) for joint in ends]
    about = np.polynomial.Polynomial(m.eq_data[number][:5] if len(ends) == 2 else m.eq_data[number][:1])
    shifted = about(np.polynomial.Polynomial([-reference[-1], 1.0])) if len(ends) == 2 else about
    coefficients = [float(x) for x in np.atleast_1d(shifted.coef)]
    coefficients[0] += reference[0]
    to = source.joints[second] if second >= 0 else None
    source.builder.couple(name, source.joints[first], to, coefficients)


def _are_fixed(source: MjcfSource, number: int) -> bool:
    """Whether an equality is one of tendons that run over joints, and linear."""
    m = source.m
    tendons = [int(x) for x in (m.eq_obj1id[number], m.eq_obj2id[number]) if x >= 0]
    over_joints = all(m.wrap_type[m.tendon_adr[t]] == int(source.mujoco.mjtWrap.mjWRAP_JOINT) for t in tendons)
    return over_joints and (len(tendons) == 1 or not np.any(m.eq_data[number][2:5]))


def _add_tendon_coupling(source: MjcfSource, number: int, name: str) -> None:
    """MuJoCo has L1 - L1_0 = p0 + p1 (L2 - L2_0), with the lengths that tendons start with: linear in all joints."""
    m = source.m
    first, second = int(m.eq_obj1id[number]), int(m.eq_obj2id[number])
    constant, slope = (float(x) for x in m.eq_data[number][:2])
    terms = dict(_coefficients(source, first))
    value = float(m.tendon_length0[first]) + constant
    if second >= 0:
        value -= slope * float(m.tendon_length0[second])
        for joint, x in _coefficients(source, second):
            terms[joint] = terms.get(joint, 0.0) - slope * x
    terms = {joint: x for joint, x in terms.items() if x != 0.0}
    if not terms:
        source.note("equality", number, "holds whatever the joints do, or never: left out", Severity.NOTHING)
        return
    joint = max(terms, key=lambda each: abs(terms[each]))
    others = [(other, -x / terms[joint]) for other, x in terms.items() if other != joint]
    source.builder.couple(name, joint, None, (value / terms[joint],), others)


def _coefficients(source: MjcfSource, tendon: int) -> list[tuple[str, float]]:
    m = source.m
    wraps = range(int(m.tendon_adr[tendon]), int(m.tendon_adr[tendon] + m.tendon_num[tendon]))
    return [(source.joints[int(m.wrap_objid[k])], float(m.wrap_prm[k])) for k in wraps]


def add_tendons(source: MjcfSource) -> None:
    """Fixed tendons, and spatial ones over sites as struts; others only as notes."""
    m = source.m
    wraps, names = source.mujoco.mjtWrap, source.names("tendon", m.ntendon)
    for number in range(m.ntendon):
        first, count = int(m.tendon_adr[number]), int(m.tendon_num[number])
        on_joints = m.wrap_type[first] == int(wraps.mjWRAP_JOINT)
        over_sites = all(int(kind) == int(wraps.mjWRAP_SITE) for kind in m.wrap_type[first : first + count])
        forces = _forces(source, number, springs_act=on_joints or over_sites, rows_act=on_joints)
        if on_joints:
            forces += _add_fixed(source, number, names[number], range(first, first + count))
        is_strut = over_sites and _is_spring(source, number)
        if is_strut:
            _add_strut(source, number, names[number], range(first, first + count))
        if forces:
            what = "a fixed tendon" if on_joints else "a spatial tendon"
            why = "what it has of that is not imported" if on_joints else "only its spring is imported"
            why = why if on_joints or is_strut else "it is not imported"
            source.note("tendon", number, f"{what} with {', '.join(forces)}: {why}", Severity.MOTION)
        elif not on_joints and not is_strut:
            source.note(
                "tendon", number, "a spatial tendon that exerts no force of its own is not shown", Severity.PICTURE
            )


def _forces(source: MjcfSource, tendon: int, *, springs_act: bool, rows_act: bool) -> list[str]:
    """By what a tendon acts on the motion, and not here."""
    m = source.m
    of_springs = {} if springs_act else {"stiffness": "stiffness"}
    of_dampers = {} if springs_act else {"damping": "damping"}
    of_friction = {} if rows_act or source.disabled("FRICTIONLOSS") else {"frictionloss": "dry friction"}
    of_limits = {} if rows_act or source.disabled("LIMIT") else {"limited": "limits"}
    of_springs = {} if source.disabled("SPRING") else {**of_springs, "stiffnesspoly": "stiffness that grows"}
    of_dampers = {} if source.disabled("DAMPER") else {**of_dampers, "dampingpoly": "damping that grows"}
    fields = {**of_limits, **of_springs, **of_dampers, **of_friction, "armature": "armature"}
    found = [what for field, what in fields.items() if np.any(given(m, f"tendon_{field}", tendon))]
    return list(dict.fromkeys(found))


def _is_spring(source: MjcfSource, tendon: int) -> bool:
    """Whether a tendon has a spring or a damper that acts."""
    spring = not source.disabled("SPRING") and source.m.tendon_stiffness[tendon] > 0.0
    return bool(spring or (not source.disabled("DAMPER") and source.m.tendon_damping[tendon] > 0.0))


def _add_strut(source: MjcfSource, number: int, name: str, wraps: range) -> None:
    m = source.m
    points = []
    for k in wraps:
        site = int(m.wrap_objid[k])
        points.append((source.bodies[int(m.site_bodyid[site])], [float(x) for x in m.site_pos[site]]))
    low, up = (float(x) for x in m.tendon_lengthspring[number])
    source.builder.strut(
        name,
        points,
        stiffness=0.0 if source.disabled("SPRING") else float(m.tendon_stiffness[number]),
        damping=0.0 if source.disabled("DAMPER") else float(m.tendon_damping[number]),
        rest_length=(low, up),
    )


def _add_fixed(source: MjcfSource, number: int, name: str, wraps: range) -> list[str]:
    """What of it has no place here."""
    m = source.m
    low, up = (float(x) for x in m.tendon_lengthspring[number])
    stiffness = 0.0 if source.disabled("SPRING") else float(m.tendon_stiffness[number])
    limits = _limits(source, number)
    friction = 0.0 if source.disabled("FRICTIONLOSS") else float(m.tendon_frictionloss[number])
    left_out = []
    if (limits is not None or friction > 0.0) and _branches(source, wraps) > 2:
        left_out = (["limits"] if limits is not None else []) + (["dry friction"] if friction > 0.0 else [])
        left_out = [f"{what} over joints of more than two branches" for what in left_out]
        limits, friction = None, 0.0
    source.builder.tendon(
        name,
        {source.joints[int(m.wrap_objid[k])]: float(m.wrap_prm[k]) for k in wraps},
        range=limits,
        stiffness=stiffness,
        rest_range=(low, up) if stiffness > 0.0 else None,
        damping=0.0 if source.disabled("DAMPER") else float(m.tendon_damping[number]),
        friction=friction,
    )
    return left_out


def _limits(source: MjcfSource, tendon: int) -> tuple[float, float] | None:
    """MuJoCo pushes back from the margin on, as at joints."""
    m = source.m
    if not m.tendon_limited[tendon] or source.disabled("LIMIT"):
        return None
    shortest, longest = (float(x) for x in m.tendon_range[tendon])
    margin = max(min(float(m.tendon_margin[tendon]), 0.5 * (longest - shortest)), 0.0)
    return shortest + margin, longest - margin


def _branches(source: MjcfSource, wraps: range) -> int:
    """How many of the bodies that a tendon moves carry no other of them."""
    m = source.m
    bodies = {int(m.jnt_bodyid[int(m.wrap_objid[k])]) for k in wraps if m.wrap_prm[k] != 0.0}
    inboard: set[int] = set()
    for body in bodies:
        while (body := int(m.body_parentid[body])) > 0:
            inboard.add(body)
    return len(bodies - inboard)
