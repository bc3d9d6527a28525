"""What a compiled MJCF file couples joints by: equalities of joints and of tendons that run over joints."""

from __future__ import annotations

import numpy as np

from ..model.description import Severity
from .mjcf_source import MjcfSource


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
