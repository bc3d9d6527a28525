"""Everything of a model that refers to its joints, links and shapes by name, as MJCF: actuators, tendons, equalities,
sensors and keyframes."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ..model.convert import to_mujoco
from ..model.description import Actuator, Bend, Closure, Coupling, ModelDescription, Strut, start_of
from ..model.model import Model
from ..model.poses import pose
from .mjcf_bodies import BodyWriter
from .mjcf_geoms import HIDDEN
from .writing import MjcfText, place, text_of

_DYNAMICS = {"integrator": "integrator", "filter": "filter", "exact_filter": "filterexact", "muscle": "muscle"}
_SENSORS = {
    "gyro": "gyro",
    "accelerometer": "accelerometer",
    "velocimeter": "velocimeter",
    "joint_position": "jointpos",
    "joint_velocity": "jointvel",
    "frame_position": "framepos",
    "frame_rotation": "framequat",
    "frame_velocity": "framelinvel",
    "frame_angular_velocity": "frameangvel",
}
_TWO_POINTS = 0.1  # [m] between the points by which a hinge is held


class DriveWriter:
    def __init__(self, text: MjcfText, description: ModelDescription, bodies: BodyWriter) -> None:
        self._text, self._description, self._bodies = text, description, bodies
        self._joints = {joint.name: joint for joint in description.joints}
        self._struts: dict[str, str] = {}  # tendons that they are

    # -- tendons and equalities ----------------------------------------------------------------------------------

    def write_tendons(self) -> None:
        for tendon in self._description.tendons:
            options = {"name": self._text.new_name("tendon", tendon.name)}
            if tendon.range is not None:
                options |= {"limited": "true", "range": text_of(tendon.range)}
            if tendon.stiffness:
                rest = (0.0, 0.0) if tendon.rest_range is None else tendon.rest_range
                options |= {"stiffness": repr(tendon.stiffness), "springlength": text_of(rest)}
            for name, value in (("damping", tendon.damping), ("frictionloss", tendon.friction)):
                if value:
                    options[name] = repr(value)
            self._add_fixed(options, list(zip(tendon.joints, tendon.coefficients, strict=True)))

    def write_struts(self) -> None:
        for strut in self._description.struts:
            name = self._struts[strut.name] = self._text.new_name("tendon", strut.name)
            options = {"name": name, "springlength": text_of(strut.rest_range)}
            options |= {"stiffness": repr(strut.stiffness), "damping": repr(strut.damping)}
            if strut.range is not None:
                options |= {"limited": "true", "range": text_of(strut.range)}
            if strut.friction:
                options["frictionloss"] = repr(strut.friction)
            self._add_way(SubElement(self._text.section("tendon"), "spatial", options), strut)

    def _add_way(self, element: Element, strut: Strut) -> None:
        """A pulley begins another part of the way, by whose divisor lengths count less."""
        sites = [
            self._bodies.add_site(f"{strut.name}/{k}", link, pose(point))
            for k, (link, point) in enumerate(strut.points)
        ]
        bends = {bend.span: bend for bend in strut.bends}
        SubElement(element, "site", {"site": sites[0]})
        share = 1.0
        for span, site in enumerate(sites[1:]):
            own = strut.shares[span] if strut.shares else 1.0
            if own == 0.0:
                follows = next((x for x in strut.shares[span:] if x), 1.0)
                SubElement(element, "pulley", {"divisor": repr(1.0 / follows)})
                share = follows
            elif own != share:
                SubElement(element, "pulley", {"divisor": repr(1.0 / own)})
                SubElement(element, "site", {"site": sites[span]})
                share = own
            if span in bends and own:
                SubElement(element, "geom", self._bend(f"{strut.name}/{span}", bends[span]))
            SubElement(element, "site", {"site": site})

    def _bend(self, name: str, bend: Bend) -> dict[str, str]:
        length = () if bend.shape == "sphere" else (bend.radius,)
        options = {"name": self._text.new_name("geom", name), "type": bend.shape, "group": HIDDEN}
        options |= {"size": text_of((bend.radius, *length)), "contype": "0", "conaffinity": "0"}
        SubElement(self._bodies.bodies[bend.link], "geom", options | place(bend.placement))
        way = {"geom": options["name"]}
        if bend.side is not None:
            way["sidesite"] = self._bodies.add_site(f"{name}/side", bend.side[0], pose(bend.side[1]))
        return way

    def _add_fixed(self, options: dict[str, str], joints: list[tuple[str, float]]) -> str:
        element = SubElement(self._text.section("tendon"), "fixed", options)
        for joint, coefficient in joints:
            SubElement(element, "joint", {"joint": joint, "coef": repr(float(coefficient))})
        return options["name"]

    def write_couplings(self) -> None:
        mimics = [joint.mimic.as_coupling(joint.name) for joint in self._description.joints if joint.mimic is not None]
        for coupling in (*self._description.couplings, *mimics):
            self._add_coupling(coupling)

    def _add_coupling(self, coupling: Coupling) -> None:
        """MuJoCo counts both joints from where they start: y - y0 = p(x - x0)."""
        if coupling.others:
            self._add_combination(coupling)
            return
        if len(coupling.polynomial) > 5:
            self._text.leave_out(f"coupling {coupling.name!r}: a polynomial of a degree above four")
            return
        y0 = self._start(coupling.joint)
        about = np.polynomial.Polynomial(coupling.polynomial)
        options = {"name": self._text.new_name("equality", coupling.name), "joint1": coupling.joint}
        if coupling.to is not None:
            options["joint2"] = coupling.to
            about = about(np.polynomial.Polynomial([self._start(coupling.to), 1.0]))
        coefficients = [float(x) for x in np.atleast_1d(about.coef)]
        coefficients[0] -= y0
        padded = coefficients + [0.0] * (5 - len(coefficients))
        SubElement(self._text.section("equality"), "joint", {**options, "polycoef": text_of(padded)})

    def _add_combination(self, coupling: Coupling) -> None:
        """Of several joints: a tendon over them that keeps its length, which MuJoCo counts from that at the start."""
        name = self._add_fixed({"name": self._text.new_name("tendon", coupling.name)}, list(coupling.terms))
        length = sum(x * self._start(joint) for joint, x in coupling.terms)
        values = [coupling.polynomial[0] - length, 0.0, 0.0, 0.0, 0.0]
        options = {"name": self._text.new_name("equality", coupling.name), "tendon1": name}
        SubElement(self._text.section("equality"), "tendon", {**options, "polycoef": text_of(values)})

    def _start(self, joint: str) -> float:
        return float(start_of(self._joints[joint])[0])

    def write_closures(self, closures: Iterable[Closure]) -> None:
        for closure in closures:
            self._add_closure(closure)

    def _add_closure(self, closure: Closure) -> None:
        """Between sites, since bodies would be held as they are where they start."""
        turns = [row for row in closure.rows if row.startswith("r")]
        if set(closure.rows) < {"x", "y", "z"} or len(turns) == 1 or not {"x", "y", "z"} <= set(closure.rows):
            self._text.leave_out(f"closure {closure.name!r}: only the rows {', '.join(closure.rows)} of a frame")
            return
        shifts = [np.zeros(3)]
        if len(turns) == 2:  # a hinge: two points of its axis
            [free] = [k for k, row in enumerate(("rx", "ry", "rz")) if row not in turns]
            shifts.append(_TWO_POINTS * np.eye(3)[free])
        for k, shift in enumerate(shifts):
            name = self._text.new_name("equality", closure.name if k == 0 else f"{closure.name}_axis")
            sites = []
            for end, link, X in ((1, closure.link, closure.placement), (2, closure.to, closure.to_placement)):
                moved = X.copy()
                moved[:3, 3] += X[:3, :3] @ shift
                sites.append(self._bodies.add_site(f"{name}/{end}", link, moved))
            tag = "weld" if len(turns) == 3 else "connect"
            SubElement(self._text.section("equality"), tag, {"name": name, "site1": sites[0], "site2": sites[1]})

    # -- actuators -----------------------------------------------------------------------------------------------

    def write_actuators(self) -> None:
        for actuator in self._description.actuators:
            self._add_actuator(actuator)

    def _add_actuator(self, actuator: Actuator) -> None:
        options = {"name": self._text.new_name("actuator", actuator.name)}
        options |= self._law(actuator) | self._activation(actuator)
        for name in ("ctrl_range", "force_range"):
            limits = getattr(actuator, name)
            if limits is not None:
                options[name.replace("_", "")] = text_of(limits)
        if actuator.frame is not None:
            options |= {"site": self._bodies.site_of(actuator.frame), "gear": text_of(actuator.wrench)}
        elif actuator.sticky is not None:
            options |= {"body": actuator.sticky}
            if actuator.reach:
                self._text.leave_out(f"actuator {actuator.name!r}: the reach of a sticky link")
        elif actuator.strut is not None:
            options |= {"tendon": self._struts[actuator.strut], "gear": repr(actuator.gear)}
        elif actuator.others:
            name = self._text.new_name("tendon", f"{actuator.name}_joints")
            options |= {"tendon": self._add_fixed({"name": name}, list(actuator.joints)), "gear": "1"}
        else:
            assert actuator.joint is not None
            options |= {"joint": actuator.joint, "gear": repr(actuator.gear)}
        SubElement(self._text.section("actuator"), "general", options)

    def _law(self, actuator: Actuator) -> dict[str, str]:
        if actuator.muscle is not None:
            m = actuator.muscle
            numbers = (0.0, 1.0, m.peak, 200.0, m.shortest, m.longest, m.fastest, m.passive, m.eccentric)
            options = {
                "gaintype": "muscle",
                "gainprm": text_of(numbers),
                "lengthrange": text_of((m.slack, m.slack + m.optimal)),
            }
            return options | ({"biastype": "muscle", "biasprm": text_of(numbers)} if m.passive else {})
        gain, *bias = actuator.law
        slopes = actuator.slopes if actuator.kind == "general" else (0.0, 0.0)
        options = {"gaintype": "affine" if any(slopes) else "fixed", "gainprm": text_of((gain, *slopes))}
        return options | ({"biastype": "affine", "biasprm": text_of(bias)} if any(bias) else {"biastype": "none"})

    def _activation(self, actuator: Actuator) -> dict[str, str]:
        if actuator.activation is None:
            return {}
        activation = actuator.activation
        options = {"dyntype": _DYNAMICS[activation.kind], "actearly": "true" if activation.early else "false"}
        if activation.time_constants:
            options["dynprm"] = text_of(activation.time_constants)
        if activation.range is not None:
            options["actrange"] = text_of(activation.range)
        return options

    # -- sensors and keyframes -----------------------------------------------------------------------------------

    def write_sensors(self) -> None:
        links = {link.name for link in self._description.links}
        for sensor in self._description.sensors:
            options = {"name": self._text.new_name("sensor", sensor.name)}
            if sensor.quantity.startswith("joint"):
                if self._joints[sensor.of].nv != 1:
                    continue  # MuJoCo reads hinges and slides; a sensor changes no motion
                options["joint"] = sensor.of
            elif sensor.quantity.startswith("frame"):
                on_link = sensor.of in links
                options |= {"objtype": "xbody" if on_link else "site"}
                options["objname"] = sensor.of if on_link else self._bodies.site_of(sensor.of)
            else:
                options["site"] = self._bodies.site_of(sensor.of)
            SubElement(self._text.section("sensor"), _SENSORS[sensor.quantity], options)


def write_keyframes(text: MjcfText, model: Model) -> None:
    for keyframe in model.keyframes.values():
        qpos, qvel = to_mujoco(model, keyframe.q, keyframe.v)
        options = {"name": keyframe.name, "qpos": text_of(qpos), "qvel": text_of(qvel)}
        for name, values in (("ctrl", keyframe.control), ("act", keyframe.activation)):
            if len(values):
                options[name] = text_of(values)
        SubElement(text.section("keyframe"), "key", options)
