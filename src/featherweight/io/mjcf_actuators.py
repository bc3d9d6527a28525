"""Actuators of a compiled MJCF file."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.description import Severity
from .mjcf_source import MjcfSource, given


class ActuatorTranslation:
    """Motors and servos on joints."""

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
        m, transmissions, types = self._m, self._mujoco.mjtTrn, self._mujoco.mjtJoint
        kind = int(m.actuator_trntype[number])
        if given(m, "actuator_plugin", number) >= 0 and hasattr(m, "actuator_plugin"):
            return "plugins are not supported"
        if kind not in (int(transmissions.mjTRN_JOINT), int(transmissions.mjTRN_JOINTINPARENT)):
            return f"it acts on a {transmissions(kind).name[6:].lower()}, and only motors on joints are"
        joint = int(m.actuator_trnid[number][0])
        if int(m.jnt_type[joint]) not in (int(types.mjJNT_HINGE), int(types.mjJNT_SLIDE)):
            return "only motors on joints with one degree of freedom are"
        if m.actuator_dyntype[number] != self._mujoco.mjtDyn.mjDYN_NONE:
            name = self._mujoco.mjtDyn(int(m.actuator_dyntype[number])).name[6:].lower()
            return f"its dynamics ({name}) are not supported"
        return None if self._law(number) is not None else "only motor, position and velocity actuators are"

    def _add(self, number: int, name: str) -> None:
        m = self._m
        law = self._law(number)
        assert law is not None
        joint = int(m.actuator_trnid[number][0])
        self._source.builder.actuator(
            name,
            self._source.joints[joint],
            law[0],
            gear=float(m.actuator_gear[self._source.output(number)][0]),
            kp=law[1],
            kd=law[2],
            ctrl_range=None if self._source.disabled("CLAMPCTRL") else self._range(number, "ctrl"),
            force_range=self._range(number, "force"),
        )
        self.names[number] = name
        extra = [key for key in ("dampingpoly", "delay") if np.any(given(m, f"actuator_{key}", number))]
        if extra:
            message = f"{', '.join(extra)} of the actuator is not imported"
            self._source.note("actuator", number, message, Severity.MOTION)

    def _law(self, number: int) -> tuple[Any, float, float] | None:
        """Kind, kp and kd of an actuator with the force ``gain u + b0 + b1 length + b2 rate``, if it is one of ours."""
        m, mujoco = self._m, self._mujoco
        gain = float(m.actuator_gainprm[number][0])
        if m.actuator_gaintype[number] != mujoco.mjtGain.mjGAIN_FIXED or gain < 0.0:
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
        row = self._source.control(number) if what == "ctrl" else number
        if not getattr(self._m, f"actuator_{what}limited")[row]:
            return None
        low, up = getattr(self._m, f"actuator_{what}range")[row]
        return float(low), float(up)
