"""Surfaces of contact as other simulators describe them, as our :class:`Material`.

Gazebo, PyBullet and Drake each have words of their own; :class:`SurfaceReader` collects what they say about one shape
or link under the names of our material. Stiffness and damping are taken as the SI numbers they are.
"""

from __future__ import annotations

import math
from typing import Any

from ..model.materials import Material
from .reader import MOTION, NOTHING, Reader
from .xml import Element

#: Stiffer contacts are rigid [N/m]. Gazebo's default is 1e12.
_RIGID = 1e10
#: Torque of spin on a patch of radius a by Gazebo's rule: 3 pi / 16 a mu per newton.
_PATCH = 3.0 * math.pi / 16.0

#: No impact is as fast [m/s].
_NO_IMPACT = 1e4

_TRUE = ("1", "true", "True", "TRUE")


def value(element: Element) -> str:
    """What a setting says, in its attribute ``value`` or as text: both are in use."""
    given = element.get("value")
    return element.content() if given is None else given.strip()


def flag(element: Element) -> bool:
    """Whether a setting says yes."""
    return value(element) in _TRUE


class Surface:
    """Properties of a surface under the names of :class:`Material`, from as many elements as there are."""

    def __init__(self, reader: Reader, what: str) -> None:
        self._reader = reader
        self._what = what
        self._values: dict[str, float] = {}
        self._bits: dict[str, int] = {}

    def copy(self) -> Surface:
        """The same surface, to add to for one shape."""
        new = Surface(self._reader, self._what)
        new._values, new._bits = dict(self._values), dict(self._bits)
        return new

    def number(self, element: Element) -> float:
        return self._reader.parsed(element, "value", value(element), 1, allow_infinite=True)[0]

    def material(self) -> Material | None:
        """The material of all that was read, None if nothing was."""
        values = dict(self._values)
        if values.get("stiffness", math.inf) >= _RIGID:
            values.pop("stiffness", None)
            values.pop("damping", None)  # acts beside a spring
        return Material(**values) if values else None  # type: ignore[arg-type]

    def bits(self) -> dict[str, Any]:
        """Which shapes it can touch, as ``contype`` and ``conaffinity``; empty if nothing says so."""
        return dict(self._bits)

    def _take(self, element: Element, name: str) -> None:
        """``element`` as the property ``name``; numbers that no surface has are brought into range and noted."""
        given = self.number(element)
        top = 1.0 if name == "restitution" else 1e9 if name == "friction" else math.inf
        kept = min(max(given, 0.0), top)
        if name == "stiffness" and kept == 0.0:
            kept = math.inf
        if kept != given and not (name == "stiffness" and given == 0.0):
            self._reader.note(element, self._what, f"{name} {given:g} is taken as {kept:g}", MOTION)
        self._values[name] = kept

    # -- Gazebo --------------------------------------------------------------------------------------------------

    def read_friction(self, holder: Element, first: tuple[str, ...], second: str) -> None:
        """Coefficients in two directions, which are one here."""
        coefficients = [each for tag in (*first, second) for each in holder.all(tag)]
        for direction in holder.all("fdir1"):
            direction.settle()
        if not coefficients:
            return
        numbers = [max(self.number(each), 0.0) for each in coefficients]
        mean = min(sum(numbers) / len(numbers), 1e9)
        if max(numbers) != min(numbers):
            message = f"friction {min(numbers):g} to {max(numbers):g} by direction is taken as {mean:g} in all"
            self._reader.note(coefficients[0], self._what, message, MOTION)
        self._values["friction"] = mean

    def read_gazebo(self, holder: Element) -> None:
        """``<mu1>``, ``<mu2>``, ``<kp>``, ``<kd>`` of a ``<gazebo>`` element."""
        self.read_friction(holder, ("mu", "mu1"), "mu2")
        self._read_softness(holder)

    def _read_softness(self, holder: Element) -> None:
        for tag, name in (("kp", "stiffness"), ("kd", "damping")):
            for each in holder.all(tag):
                self._take(each, name)

    def read_sdf(self, surface: Element) -> None:
        """``<surface>`` of SDF. What ODE says counts; Bullet's settings only where it is silent."""
        for friction in surface.all("friction"):
            self._read_sdf_friction(friction)
        for bounce in surface.all("bounce"):
            self._read_bounce(bounce)
        for contact in surface.all("contact"):
            self._read_bits(contact)
            engines = contact.all("ode") or contact.all("bullet")
            for engine in engines:
                self._read_softness(engine)
                for each in engine.all("soft_cfm"):
                    if self.number(each) != 0.0:
                        self._reader.note(each, self._what, "softness of another solver is left out", MOTION)

    def _read_bits(self, contact: Element) -> None:
        """Shapes touch if the category of one has a bit of the other's mask; without a category the mask is both."""
        for mask in contact.all("collide_bitmask"):
            bits = int(min(max(self.number(mask), 0.0), 2.0**32 - 1.0))
            self._bits = {"contype": bits, "conaffinity": bits}
        for category in contact.all("category_bitmask"):
            self._bits["contype"] = int(min(max(self.number(category), 0.0), 2.0**32 - 1.0))

    def _read_bounce(self, bounce: Element) -> None:
        """Impacts slower than a threshold do not bounce; by default that is far beyond any."""
        coefficients, thresholds = bounce.all("restitution_coefficient"), bounce.all("threshold")
        threshold = self.number(thresholds[0]) if thresholds else 1e5
        for each in coefficients:
            if threshold >= _NO_IMPACT and self.number(each) != 0.0:
                message = f"restitution is left out: only impacts faster than {threshold:g} m/s would bounce"
                self._reader.note(each, self._what, message, NOTHING)
                continue
            self._take(each, "restitution")
            if threshold > 0.0 and self._values["restitution"]:
                message = f"impacts slower than {threshold:g} m/s bounce as well: there is no threshold"
                self._reader.note(each, self._what, message, MOTION)

    def _read_sdf_friction(self, friction: Element) -> None:
        engines = friction.all("ode") or friction.all("bullet")
        for engine in engines:
            self.read_friction(engine, ("mu", "mu1", "friction"), "mu2" if engine.tag == "ode" else "friction2")
            for each in engine.all("rolling_friction"):
                self._take(each, "rolling")
            for tag in ("slip1", "slip2"):
                for each in engine.all(tag):
                    if self.number(each) != 0.0:
                        self._reader.note(each, self._what, "slip that grows with force is left out", MOTION)
        for torsional in friction.all("torsional"):
            self._read_torsional(torsional)

    def _read_torsional(self, torsional: Element) -> None:
        given = {each.tag: each for each in torsional.children}
        torsional.settle()
        coefficient = self.number(given["coefficient"]) if "coefficient" in given else 1.0
        by_patch = "use_patch_radius" not in given or flag(given["use_patch_radius"])
        if not by_patch:
            self._reader.note(torsional, self._what, "friction against spin that grows with depth is left out", MOTION)
        elif "patch_radius" in given:
            self._values["torsional"] = _PATCH * max(coefficient * self.number(given["patch_radius"]), 0.0)

    # -- PyBullet ------------------------------------------------------------------------------------------------

    def read_bullet(self, contact: Element) -> None:
        """``<contact>`` of a link: friction of three kinds, restitution, a spring and a damper."""
        names = {
            "lateral_friction": "friction",
            "spinning_friction": "torsional",
            "rolling_friction": "rolling",
            "restitution": "restitution",
            "stiffness": "stiffness",
            "damping": "damping",
        }
        for tag, name in names.items():
            for each in contact.all(tag):
                self._take(each, name)
        for each in contact.all("contact_cfm"):
            if self.number(each) != 0.0:
                self._reader.note(each, self._what, "softness of another solver is left out", MOTION)
        for each in contact.all("contact_erp"):
            each.settle()
            message = "how fast another solver undoes overlaps is left out"
            self._reader.note(each, self._what, message, NOTHING)

    # -- Drake ---------------------------------------------------------------------------------------------------

    def read_drake(self, properties: Element) -> None:
        """``<drake:proximity_properties>`` of a collision shape."""
        dynamic, static = properties.all("drake:mu_dynamic"), properties.all("drake:mu_static")
        for each in (dynamic or static)[:1]:
            self._take(each, "friction")
        if dynamic and static and self.number(dynamic[0]) != self.number(static[0]):
            message = "sticking and sliding have one coefficient: that of sliding"
            self._reader.note(static[0], self._what, message, MOTION)
        for each in properties.all("drake:point_contact_stiffness"):
            self._take(each, "stiffness")
        for tag in ("drake:hunt_crossley_dissipation", "drake:relaxation_time"):
            for each in properties.all(tag):
                if self.number(each) != 0.0:
                    self._reader.note(each, self._what, f"<{tag}> is left out: contacts here are rigid", MOTION)
