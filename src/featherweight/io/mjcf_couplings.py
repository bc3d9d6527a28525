"""What a compiled MJCF file couples joints by: equalities of joints, and tendons."""

from __future__ import annotations

import numpy as np

from ..model.description import Severity
from .mjcf_source import MjcfSource, given

_NOT_ENFORCED = "recorded in the model, but nothing enforces it yet"


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
    source.note("equality", number, f"couples joints: {_NOT_ENFORCED}", Severity.MOTION)


def add_tendons(source: MjcfSource) -> None:
    """Fixed tendons as records; spatial ones only as notes."""
    m = source.m
    wraps, names = source.mujoco.mjtWrap, source.names("tendon", m.ntendon)
    for number in range(m.ntendon):
        first, count = int(m.tendon_adr[number]), int(m.tendon_num[number])
        on_joints = m.wrap_type[first] == int(wraps.mjWRAP_JOINT)
        forces = _forces(source, number, spatial=not on_joints)
        if on_joints:
            _add_fixed(source, number, names[number], range(first, first + count))
        if forces:
            what = "a fixed tendon" if on_joints else "a spatial tendon"
            why = _NOT_ENFORCED if on_joints else "it is not imported"
            source.note("tendon", number, f"{what} with {', '.join(forces)}: {why}", Severity.MOTION)
        elif not on_joints:
            source.note(
                "tendon", number, "a spatial tendon that exerts no force of its own is not shown", Severity.PICTURE
            )


def _forces(source: MjcfSource, tendon: int, *, spatial: bool) -> list[str]:
    """By what a tendon acts on the motion, and not here."""
    m = source.m
    springs = {"stiffness": "stiffness"} if spatial else {}  # of fixed ones that acts here
    dampers = {"damping": "damping"} if spatial else {}
    of_springs = {} if source.disabled("SPRING") else {**springs, "stiffnesspoly": "stiffness that grows"}
    of_dampers = {} if source.disabled("DAMPER") else {**dampers, "dampingpoly": "damping that grows"}
    of_friction = {} if source.disabled("FRICTIONLOSS") else {"frictionloss": "dry friction"}
    of_limits = {} if source.disabled("LIMIT") else {"limited": "limits"}
    fields = {**of_limits, **of_springs, **of_dampers, **of_friction, "armature": "armature"}
    found = [what for field, what in fields.items() if np.any(given(m, f"tendon_{field}", tendon))]
    return list(dict.fromkeys(found))


def _add_fixed(source: MjcfSource, number: int, name: str, wraps: range) -> None:
    m = source.m
    low, up = (float(x) for x in m.tendon_lengthspring[number])
    shortest, longest = (float(x) for x in m.tendon_range[number])
    stiffness = 0.0 if source.disabled("SPRING") else float(m.tendon_stiffness[number])
    source.builder.tendon(
        name,
        {source.joints[int(m.wrap_objid[k])]: float(m.wrap_prm[k]) for k in wraps},
        range=(shortest, longest) if m.tendon_limited[number] else None,
        stiffness=stiffness,
        rest_range=(low, up) if stiffness > 0.0 else None,
        damping=0.0 if source.disabled("DAMPER") else float(m.tendon_damping[number]),
        friction=float(m.tendon_frictionloss[number]),
    )
