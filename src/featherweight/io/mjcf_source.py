"""A compiled MJCF file while it is translated: MuJoCo's tables, the names that things get here, and notes."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np

from ..arrays import Array
from ..model import poses
from ..model.builder import ModelBuilder
from ..model.description import WORLD, ImportNote, Severity
from ..model.medium import Medium

_LINE = re.compile(r"[Ll]ine(?: number)?[ =](\d+)")

#: Lists of the specification and attributes of the compiled model by which elements are found, by kind.
_KINDS = {
    "body": ("bodies", "body"),
    "joint": ("joints", "joint"),
    "geom": ("geoms", "geom"),
    "site": ("sites", "site"),
    "equality": ("equalities", "equality"),
    "actuator": ("actuators", "actuator"),
    "tendon": ("tendons", "tendon"),
    "sensor": ("sensors", "sensor"),
    "key": ("keys", "key"),
    "contact pair": ("pairs", "pair"),
}


class MjcfSource:
    """The compiled MjModel ``m``, the MjSpec it came from, which knows the lines of the file, and the ``builder``."""

    def __init__(self, mujoco: Any, spec: Any, m: Any) -> None:
        self.mujoco, self.spec, self.m = mujoco, spec, m
        self._lines = {
            (kind, element.id): line_of(element)
            for kind, (elements, _) in _KINDS.items()
            for element in getattr(spec, elements)
        }
        self.bodies = [WORLD, *new_names([m.body(i).name or f"body_{i}" for i in range(1, m.nbody)], {WORLD})]
        self.joints = self._joint_names()
        self.sites: list[str] = []  # names of their frames
        self.struts: dict[int, str] = {}  # that spatial tendons are, by their numbers
        self.left_out_geoms: set[int] = set()
        self.world_link: str | None = None  # with the geoms of the world, where it has any
        self.builder = ModelBuilder(
            spec.modelname or "model",
            gravity=np.zeros(3) if self.disabled("GRAVITY") else m.opt.gravity,
            medium=self._medium(),
            allow_nonphysical=True,
        )

    def _medium(self) -> Medium | None:
        option = self.m.opt
        if (option.density == 0.0 and option.viscosity == 0.0) or not self.has_passive_forces:
            return None
        return Medium(option.density, option.viscosity, tuple(option.wind))

    @property
    def has_passive_forces(self) -> bool:
        """Without springs and dampers MuJoCo leaves out fluids and the like as well."""
        return not (self.disabled("SPRING") and self.disabled("DAMPER"))

    def disabled(self, flag: str) -> bool:
        """Whether the file disables a part of the physics, by itself or all constraints with it."""
        bits = int(getattr(self.mujoco.mjtDisableBit, f"mjDSBL_{flag}", 0))
        if flag in ("EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT"):
            bits |= int(self.mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        return bool(self.m.opt.disableflags & bits)

    def names(self, kind: str, count: int) -> list[str]:
        """A name for every element of a kind, unique."""
        table = getattr(self.m, _KINDS[kind][1])
        return new_names([table(i).name or f"{kind}_{i}" for i in range(count)], set())

    def geom_name(self, geom: int) -> str:
        return str(self.m.geom(geom).name) or f"geom_{geom}"

    def link_of(self, body: int) -> str | None:
        """The link with the geoms of a body."""
        return self.bodies[body] if body else self.world_link

    def actuators_on(self, joint: int) -> list[tuple[int, float]]:
        """Numbers of the actuators that act on a joint with one degree of freedom, and their gears."""
        m, kinds = self.m, self.mujoco.mjtTrn
        on_joint = np.isin(m.actuator_trntype, (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)))
        found = np.flatnonzero(on_joint & (m.actuator_trnid[:, 0] == joint)).tolist()
        return [(number, float(m.actuator_gear[self.output(number)][0])) for number in found]

    def output(self, actuator: int) -> int:
        """Row of the gear of an actuator."""
        return int(self.m.actuator_outadr[actuator]) if hasattr(self.m, "actuator_outadr") else actuator

    def control(self, actuator: int) -> int:
        """Row of the control of an actuator."""
        return int(self.m.actuator_ctrladr[actuator]) if hasattr(self.m, "actuator_ctrladr") else actuator

    def note(self, kind: str, number: int, message: str, severity: Severity) -> None:
        """A note on one element."""
        line = self._lines.get((kind, number))
        self.builder.note(ImportNote(self._label(kind, number), line, message, severity))

    def note_all(self, kind: str, numbers: Collection[int], message: str, severity: Severity) -> None:
        """One note on several elements, at the first of them."""
        if numbers:
            more = f" (and for {len(numbers) - 1} more)" if len(numbers) > 1 else ""
            self.note(kind, min(numbers), message + more, severity)

    def note_file(self, element: str, message: str, severity: Severity) -> None:
        """A note on the file as a whole."""
        self.builder.note(ImportNote(element, None, message, severity))

    def _label(self, kind: str, number: int) -> str:
        if kind in ("body", "joint"):
            return f"{kind} {(self.bodies if kind == 'body' else self.joints)[number]!r}"
        if kind == "geom":
            return f"geom {self.geom_name(number)!r}"
        name = getattr(self.m, _KINDS[kind][1])(number).name
        return f"{kind} {name!r}" if name else kind

    def _joint_names(self) -> list[str]:
        m = self.m
        names = []
        for joint in range(m.njnt):
            body = int(m.jnt_bodyid[joint])
            number = f"_{joint - int(m.body_jntadr[body])}" if m.body_jntnum[body] > 1 else ""
            names.append(m.joint(joint).name or f"{self.bodies[body]}_joint{number}")
        return new_names(names, set())


def line_of(element: Any) -> int | None:
    """The line in the main file; MuJoCo does not know it for what is included."""
    match = _LINE.search(element.info or "")
    return int(match.group(1)) or None if match else None


def line_in(message: str) -> int | None:
    """The line that a message of the compiler names."""
    match = _LINE.search(message)
    return int(match.group(1)) if match else None


def mjcf_pose(position: Array, wxyz: Array) -> Array:
    return poses.pose(position, xyzw=np.roll(wxyz, -1))


def new_names(wishes: list[str], taken: set[str]) -> list[str]:
    """The names asked for, each with a number appended if it is taken already."""
    taken, names = set(taken), []
    for wish in wishes:
        name, number = wish, 2
        while name in taken:
            name, number = f"{wish}_{number}", number + 1
        taken.add(name)
        names.append(name)
    return names


def within_margin(limits: Array, margin: float) -> tuple[float, float]:
    """The limits from which MuJoCo pushes back: nearer by the margin, in the middle where it is wider than they are."""
    lower, upper = float(limits[0]), float(limits[1])
    middle = 0.5 * (lower + upper)
    return (min(lower + margin, middle), max(upper - margin, middle)) if margin > 0.0 else (lower, upper)


def given(m: Any, field: str, index: Any) -> Any:
    """A field that older versions of MuJoCo do not have; zero there."""
    return getattr(m, field)[index] if hasattr(m, field) else np.zeros(1)
