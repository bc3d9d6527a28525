"""Actuators of a compiled MJCF file."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.description import Activation, ActivationKind, Muscle, Severity
from .mjcf_contact import gap_only_lists
from .mjcf_source import MjcfSource, given
from .mjcf_tendons import joints_under

#: Activations by what MuJoCo calls their dynamics, without "mjDYN_".
_ACTIVATIONS: dict[str, ActivationKind] = {
    "INTEGRATOR": "integrator",
    "FILTER": "filter",
    "FILTEREXACT": "exact_filter",
    "MUSCLE": "muscle",
}
_SHORTEST = 1e-15  # time constant [s] and length that MuJoCo divides by instead of smaller ones


class ActuatorTranslation:
    """Motors, servos and muscles on joints, fixed tendons and sites."""

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
            try:
                options = self._law(number) | self._transmission(number) | self._activation(number)
            except _NotImportedError as problem:
                source.note("actuator", number, f"is not imported: {problem}", Severity.MOTION)
                continue
            self._add(number, names[number], options)

    def _add(self, number: int, name: str, options: dict[str, Any]) -> None:
        m = self._m
        limits = None if self._source.disabled("CLAMPCTRL") else self._range(number, "ctrl")
        self._source.builder.actuator(name, ctrl_range=limits, **options)
        self.names[number] = name
        extra = [key for key in ("dampingpoly", "delay") if np.any(given(m, f"actuator_{key}", number))]
        if any(options.get(key) for key in ("others", "frame", "strut", "sticky")):  # those on a joint are added to it
            extra += [key for key in ("armature", "damping") if np.any(given(m, f"actuator_{key}", number))]
        if extra:
            message = f"{', '.join(extra)} of the actuator is not imported"
            self._source.note("actuator", number, message, Severity.MOTION)

    # -- the force -----------------------------------------------------------------------------------------------

    def _law(self, number: int) -> dict[str, Any]:
        """Kind and gains; raises if the force is none that an actuator has here."""
        m, mujoco = self._m, self._mujoco
        if hasattr(m, "actuator_plugin") and m.actuator_plugin[number] >= 0:
            raise _NotImportedError("plugins are not supported")
        gain = mujoco.mjtGain(int(m.actuator_gaintype[number])).name.removeprefix("mjGAIN_")
        bias = mujoco.mjtBias(int(m.actuator_biastype[number])).name.removeprefix("mjBIAS_")
        if gain == "MUSCLE" and bias in ("NONE", "MUSCLE"):
            return {"kind": "muscle", "muscle": self._muscle(number, has_bias=bias == "MUSCLE")}
        for kind in (gain, bias):
            if kind not in ("FIXED", "NONE", "AFFINE"):
                raise _NotImportedError(f"its force ({kind.lower()}) is not a gain times the control plus a bias")
        affine = tuple(float(x) for x in m.actuator_biasprm[number][:3]) if bias == "AFFINE" else (0.0, 0.0, 0.0)
        slopes = tuple(float(x) for x in m.actuator_gainprm[number][1:3]) if gain == "AFFINE" else (0.0, 0.0)
        return _kind(float(m.actuator_gainprm[number][0]), affine, slopes)

    def _muscle(self, number: int, *, has_bias: bool) -> Muscle:
        """MuJoCo gives lengths of fibres as fractions, for the shortest and the longest that the muscle can be."""
        m = self._m
        low, up, force, scale, shortest, longest, fastest, passive, eccentric = (
            float(x) for x in m.actuator_gainprm[number][:9]
        )
        least, most = (float(x) for x in m.actuator_lengthrange[number])
        optimal = (most - least) / max(up - low, _SHORTEST)
        if has_bias and not np.array_equal(m.actuator_gainprm[number][:9], m.actuator_biasprm[number][:9]):
            raise _NotImportedError("the parameters of its active and of its passive force differ")
        sensible = optimal > 0.0 and shortest < 1.0 < longest and fastest > 0.0 and passive >= 0.0 and eccentric >= 1.0
        if not sensible:
            raise _NotImportedError("its muscle has lengths or velocities without sense")
        peak = force if force >= 0.0 else scale / max(float(m.actuator_acc0[number]), _SHORTEST)
        if peak < 0.0:
            raise _NotImportedError("its muscle pushes")
        slack = least - low * optimal
        return Muscle(peak, slack, optimal, shortest, longest, fastest, passive if has_bias else 0.0, eccentric)

    def _activation(self, number: int) -> dict[str, Any]:
        m = self._m
        name = self._mujoco.mjtDyn(int(m.actuator_dyntype[number])).name.removeprefix("mjDYN_")
        if name == "NONE":
            return {}
        if name not in _ACTIVATIONS or self._activations(number) != 1:
            raise _NotImportedError(f"its dynamics ({name.lower()}) are not supported")
        kind = _ACTIVATIONS[name]
        count = {"integrator": 0, "muscle": 3}.get(kind, 1)
        times = [float(x) for x in m.actuator_dynprm[number][:count]]
        times[:2] = [max(x, _SHORTEST) for x in times[:2]]
        early = bool(given(m, "actuator_actearly", number))
        return {"activation": Activation(kind, tuple(times), self._range(number, "act"), early)}

    def _activations(self, number: int) -> int:
        return int(self._m.actuator_actnum[number]) if hasattr(self._m, "actuator_actnum") else 1

    # -- what it acts on -----------------------------------------------------------------------------------------

    def _transmission(self, number: int) -> dict[str, Any]:
        """Joints with their gears, or a frame with a wrench; and the range of the force, which depends on them."""
        m, kinds = self._m, self._mujoco.mjtTrn
        kind, (target, other) = int(m.actuator_trntype[number]), (int(x) for x in m.actuator_trnid[number])
        gears = [float(x) for x in m.actuator_gear[self._source.output(number)]]
        if kind == int(kinds.mjTRN_SITE):
            return self._on_site(number, target, other, gears)
        if kind == int(kinds.mjTRN_BODY):
            return self._on_body(number, target)
        if kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
            return self._on_joints(number, [(target, gears[0])], self._force_range(number, target, gears[0]))
        if kind != int(kinds.mjTRN_TENDON):
            raise _NotImportedError(f"it acts on a {kinds(kind).name[6:].lower()}, not on joints")
        if target in self._source.struts:
            return self._on_strut(number, target, gears[0])
        wraps = range(int(m.tendon_adr[target]), int(m.tendon_adr[target] + m.tendon_num[target]))
        pulled = [(int(m.wrap_objid[k]), gears[0] * float(m.wrap_prm[k])) for k in wraps]
        return self._on_joints(number, pulled, self._tendon_range(number, target, gears[0]))

    def _on_strut(self, number: int, tendon: int, gear: float) -> dict[str, Any]:
        if np.any(self._m.jnt_actfrclimited[joints_under(self._source, tendon)]):
            message = "the force range of a joint does not limit its actuators along spatial tendons"
            self._source.note("actuator", number, message, Severity.MOTION)
        force_range = self._tendon_range(number, tendon, gear)
        return {"joint": None, "strut": self._source.struts[tendon], "gear": gear, "force_range": force_range}

    def _on_body(self, number: int, body: int) -> dict[str, Any]:
        """It sticks to what it touches. MuJoCo adds the gaps of both geoms; that of the body alone counts here."""
        m = self._m
        law = self._law(number)
        if law["kind"] not in ("motor", "general") or any(law.get("bias", (0.0,))[1:]) or "slopes" in law:
            raise _NotImportedError("it acts on a body, and its force depends on how that moves")
        gaps = m.geom_gap[m.geom_bodyid == body] if gap_only_lists(self._mujoco) else np.zeros(0)
        reach = float(np.max(gaps, initial=0.0))
        sticky = m.actuator_trnid[m.actuator_trntype == int(self._mujoco.mjtTrn.mjTRN_BODY), 0]
        if np.any(m.geom_gap[~np.isin(m.geom_bodyid, sticky)]):
            message = "how far it reaches does not count the gaps of geoms that it sticks to"
            self._source.note("actuator", number, message, Severity.MOTION)
        force = self._range(number, "force")
        return {"joint": None, "sticky": self._source.bodies[body], "reach": reach, "force_range": force}

    def _on_site(self, number: int, site: int, reference: int, gears: list[float]) -> dict[str, Any]:
        if reference >= 0:
            raise _NotImportedError("it acts on a site relative to another")
        law = self._law(number)
        if law["kind"] not in ("motor", "general") or any(law.get("bias", (0.0,))[1:]) or "slopes" in law:
            raise _NotImportedError("it acts on a site, and its force depends on how that moves")
        force = self._range(number, "force")
        return {"joint": None, "frame": self._source.sites[site], "wrench": gears, "force_range": force}

    def _on_joints(
        self, number: int, pulled: list[tuple[int, float]], force_range: tuple[float, float] | None
    ) -> dict[str, Any]:
        m, types = self._m, self._mujoco.mjtJoint
        axes = int(types.mjJNT_HINGE), int(types.mjJNT_SLIDE)
        if any(int(m.jnt_type[joint]) not in axes for joint, _ in pulled):
            raise _NotImportedError("it acts on a joint with several degrees of freedom")
        (first, gear), *others = [(joint, scale) for joint, scale in pulled if scale != 0.0] or pulled[:1]
        if others and any(m.jnt_actfrclimited[joint] for joint, _ in pulled):
            message = "the force range of a joint limits the actuator, not its force on that joint"
            self._source.note("actuator", number, message, Severity.MOTION)
        names = self._source.joints
        return {
            "joint": names[first],
            "gear": gear,
            "others": [(names[joint], scale / gear) for joint, scale in others],
            "force_range": force_range,
        }

    # -- ranges --------------------------------------------------------------------------------------------------

    def _force_range(self, number: int, joint: int, gear: float) -> tuple[float, float] | None:
        """Its own, within that of its joint where it alone drives that."""
        own, m = self._range(number, "force"), self._m
        low, up = (float(x) for x in m.jnt_actfrcrange[joint])
        alone = len(self._source.actuators_on(joint)) == 1
        if not m.jnt_actfrclimited[joint] or low == -up or not alone:
            return own
        return _within(own, low, up, gear)

    def _tendon_range(self, number: int, tendon: int, gear: float) -> tuple[float, float] | None:
        """Its own, within that of its tendon."""
        own, m = self._range(number, "force"), self._m
        if not np.any(given(m, "tendon_actfrclimited", tendon)):
            return own
        on_tendon = m.actuator_trntype == int(self._mujoco.mjtTrn.mjTRN_TENDON)
        if np.count_nonzero(on_tendon & (m.actuator_trnid[:, 0] == tendon)) > 1:
            raise _NotImportedError("its tendon limits the force of several actuators")
        low, up = (float(x) for x in m.tendon_actfrcrange[tendon])
        return _within(own, low, up, gear)

    def _range(self, number: int, what: str) -> tuple[float, float] | None:
        row = self._source.control(number) if what == "ctrl" else number
        if not getattr(self._m, f"actuator_{what}limited")[row]:
            return None
        low, up = getattr(self._m, f"actuator_{what}range")[row]
        return float(low), float(up)


class _NotImportedError(Exception):
    """What our actuators cannot do."""


def _within(own: tuple[float, float] | None, low: float, up: float, gear: float) -> tuple[float, float] | None:
    """A range of forces within another, that of the force behind the gear."""
    if gear == 0.0:
        return own
    low, up = sorted((low / gear, up / gear))
    weakest, strongest = (low, up) if own is None else own
    return min(max(low, weakest), up), max(min(up, strongest), low)


def _kind(gain: float, bias: tuple[float, ...], slopes: tuple[float, ...]) -> dict[str, Any]:
    """The kind of actuator that has this law, and its gains."""
    constant, per_length, per_rate = bias
    if gain >= 0.0 and constant == 0.0 and not any(slopes):
        if per_length == 0.0 and per_rate == 0.0:
            return {"kind": "motor", "kp": gain}
        if per_length == -gain and per_rate <= 0.0:
            return {"kind": "position", "kp": gain, "kd": -per_rate}
        if (per_length, per_rate) == (0.0, -gain):
            return {"kind": "velocity", "kp": 0.0, "kd": gain}
    law: dict[str, Any] = {"kind": "general", "kp": gain, "bias": bias}
    return law | ({"slopes": slopes} if any(slopes) else {})
