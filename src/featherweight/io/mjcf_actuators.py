"""Actuators of a compiled MJCF file."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.description import Severity
from .mjcf_source import MjcfSource, given


class ActuatorTranslation:
    """Motors and servos on joints and fixed tendons."""

    def __init__(self, source: MjcfSource) -> None:
        self._source, self._m, self._mujoco = source, source.m, source.mujoco
        self.names: dict[int, str] = {}  # of those imported, by number

    def add(self) -> None:
        m, source = self._m, self._source
        count = len(m.actuator_trntype)
        names = source.names("actuator", count)
        if source.disabled("ACTUATION"):
            source.note_all("actuator", range(count), "exerts no force: the file disables actuation", Severity.NOTHING)
            return
        groups = [int(group) for group in m.actuator_group]
        idle = [k for k, group in enumerate(groups) if 0 <= group < 31 and m.opt.disableactuator >> group & 1]
        source.note_all("actuator", idle, "exerts no force: the file disables its group; left out", Severity.NOTHING)
        for number in range(count):
            if number in idle:
                continue
            problem = self._problem(number)
            if problem is not None:
                source.note("actuator", number, f"is not imported: {problem}", Severity.MOTION)
                continue
            self._add(number, names[number])

    def _problem(self, number: int) -> str | None:
        """What our actuators cannot do."""
        m, mujoco = self._m, self._mujoco
        if hasattr(m, "actuator_plugin") and m.actuator_plugin[number] >= 0:
            return "plugins are not supported"
        if m.actuator_dyntype[number] != mujoco.mjtDyn.mjDYN_NONE:
            name = mujoco.mjtDyn(int(m.actuator_dyntype[number])).name[6:].lower()
            return f"its dynamics ({name}) are not supported"
        law = self._law(number)
        if law is None:
            return "its force is not a gain times the control plus a bias that falls with length and rate"
        joints = self._joints(number)
        if isinstance(joints, str):
            return joints
        if len(joints) > 1 and (law[2] != 0.0 or law[3] != 0.0):
            return "it acts on several joints, and its force depends on where they are"
        return None

    def _joints(self, number: int) -> list[tuple[int, float]] | str:
        """Joints that an actuator acts on, and by how much of its force; or why there are none."""
        m, kinds, types = self._m, self._mujoco.mjtTrn, self._mujoco.mjtJoint
        kind, target = int(m.actuator_trntype[number]), int(m.actuator_trnid[number][0])
        gear = float(m.actuator_gear[self._source.output(number)][0])
        if kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
            found = [(target, gear)]
        elif kind == int(kinds.mjTRN_TENDON):
            wraps = range(int(m.tendon_adr[target]), int(m.tendon_adr[target] + m.tendon_num[target]))
            if any(m.wrap_type[k] != int(self._mujoco.mjtWrap.mjWRAP_JOINT) for k in wraps):
                return "it acts on a spatial tendon"
            if np.any(given(m, "tendon_actfrclimited", target)):
                return "its tendon limits the force"
            found = [(int(m.wrap_objid[k]), gear * float(m.wrap_prm[k])) for k in wraps]
        else:
            return f"it acts on a {kinds(kind).name[6:].lower()}, not on joints"
        if any(int(m.jnt_type[joint]) not in (int(types.mjJNT_HINGE), int(types.mjJNT_SLIDE)) for joint, _ in found):
            return "it acts on a joint with several degrees of freedom"
        if any(scale == 0.0 for _, scale in found):
            found = [(joint, scale) for joint, scale in found if scale != 0.0] or found[:1]
        return found

    def _add(self, number: int, name: str) -> None:
        m, law, joints = self._m, self._law(number), self._joints(number)
        assert law is not None and not isinstance(joints, str)
        (first, gear), *others = joints
        self._source.builder.actuator(
            name,
            self._source.joints[first],
            gear=gear,
            ctrl_range=None if self._source.disabled("CLAMPCTRL") else self._range(number, "ctrl"),
            force_range=self._force_range(number, joints),
            others=[(self._source.joints[joint], scale / gear) for joint, scale in others],
            **_kind(*law),
        )
        self.names[number] = name
        extra = [key for key in ("dampingpoly", "delay") if np.any(given(m, f"actuator_{key}", number))]
        if extra:
            message = f"{', '.join(extra)} of the actuator is not imported"
            self._source.note("actuator", number, message, Severity.MOTION)

    def _law(self, number: int) -> tuple[float, float, float, float] | None:
        """The gain, and the bias: constant, per length and per rate; None if the force is another."""
        m, mujoco = self._m, self._mujoco
        if m.actuator_gaintype[number] == mujoco.mjtGain.mjGAIN_AFFINE and np.any(m.actuator_gainprm[number][1:3]):
            return None
        if int(m.actuator_gaintype[number]) not in (
            int(mujoco.mjtGain.mjGAIN_FIXED),
            int(mujoco.mjtGain.mjGAIN_AFFINE),
        ):
            return None
        gain = float(m.actuator_gainprm[number][0])
        if m.actuator_biastype[number] == mujoco.mjtBias.mjBIAS_NONE:
            return gain, 0.0, 0.0, 0.0
        constant, per_length, per_rate = (float(x) for x in m.actuator_biasprm[number][:3])
        falls = per_length <= 0.0 and per_rate <= 0.0
        if m.actuator_biastype[number] != mujoco.mjtBias.mjBIAS_AFFINE or not falls:
            return None
        return gain, constant, per_length, per_rate

    def _force_range(self, number: int, joints: list[tuple[int, float]]) -> tuple[float, float] | None:
        """Its own, within that of its joint where it alone drives that."""
        own, (joint, gear), m = self._range(number, "force"), joints[0], self._m
        alone = len(joints) == 1 and len(self._source.actuators_on(joint)) == 1
        low, up = (float(x) for x in m.jnt_actfrcrange[joint])
        if not m.jnt_actfrclimited[joint] or low == -up or not alone or gear == 0.0:
            return own
        low, up = sorted((low / gear, up / gear))
        weakest, strongest = (low, up) if own is None else own
        return min(max(low, weakest), up), max(min(up, strongest), low)

    def _range(self, number: int, what: str) -> tuple[float, float] | None:
        row = self._source.control(number) if what == "ctrl" else number
        if not getattr(self._m, f"actuator_{what}limited")[row]:
            return None
        low, up = getattr(self._m, f"actuator_{what}range")[row]
        return float(low), float(up)


def _kind(gain: float, constant: float, per_length: float, per_rate: float) -> dict[str, Any]:
    """The kind of actuator that has this law, and its gains."""
    if gain >= 0.0 and constant == 0.0:
        if per_length == 0.0 and per_rate == 0.0:
            return {"kind": "motor", "kp": gain}
        if per_length == -gain:
            return {"kind": "position", "kp": gain, "kd": -per_rate}
        if (per_length, per_rate) == (0.0, -gain):
            return {"kind": "velocity", "kp": 0.0, "kd": gain}
    return {"kind": "general", "kp": gain, "bias": (constant, per_length, per_rate)}
