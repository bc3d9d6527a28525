"""Whether every link, joint, frame and shape that a model names is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..checks import close_names
from ..errors import ModelError
from .coupling_checks import check_couplings
from .description import WORLD, Actuator, Closure, ContactPair, Coupling, Frame, Joint, Link, Sensor, Strut, Tendon


@dataclass(frozen=True)
class References:
    """What may be named."""

    links: Mapping[str, Link]
    joints: Mapping[str, Joint]
    frames: Mapping[str, Frame]
    struts: Mapping[str, Strut]

    def check_tree(self) -> None:
        for joint in self.joints.values():
            element = f"joint {joint.name!r}"
            self._link(element, joint.child, "child", or_world=False)
            self._link(element, joint.parent, "parent")
            if joint.mimic is not None:
                self._check_mimic(element, joint, joint.mimic.joint)
        for frame in self.frames.values():
            self._link(f"frame {frame.name!r}", frame.link)

    def check_actuator(self, actuator: Actuator) -> None:
        element = f"actuator {actuator.name!r}"
        for joint, _ in actuator.joints:
            self._axis_joint(element, "acts on", joint)
        known = {**self.links, **self.frames}
        if actuator.frame is not None and actuator.frame not in known:
            problem = f"{actuator.frame!r} is neither a link nor a frame{close_names(actuator.frame, known)}"
            raise ModelError(element, problem)
        if actuator.sticky is not None:
            self._link(element, actuator.sticky, "sticky link", or_world=False)
        if actuator.strut is not None and actuator.strut not in self.struts:
            hint = close_names(actuator.strut, self.struts)
            raise ModelError(element, f"acts along an unknown strut {actuator.strut!r}{hint}")

    def check_couplings(self, couplings: Iterable[Coupling]) -> None:
        couplings = list(couplings)
        for coupling in couplings:
            for name in filter(None, (coupling.joint, coupling.to, *(name for name, _ in coupling.others))):
                self._axis_joint(f"coupling {coupling.name!r}", "couples", name)
        mimics = [
            (f"joint {joint.name!r}", joint.mimic.as_coupling(joint.name))
            for joint in self.joints.values()
            if joint.mimic is not None
        ]
        check_couplings([*mimics, *((f"coupling {each.name!r}", each) for each in couplings)])

    def check_tendon(self, tendon: Tendon) -> None:
        for name in tendon.joints:
            self._axis_joint(f"tendon {tendon.name!r}", "runs over", name)

    def check_strut(self, strut: Strut) -> None:
        sides = [bend.side[0] for bend in strut.bends if bend.side is not None]
        for link in (*(link for link, _ in strut.points), *(bend.link for bend in strut.bends), *sides):
            self._link(f"strut {strut.name!r}", link, or_world=True)

    def check_sensor(self, sensor: Sensor) -> None:
        of_joint = sensor.quantity in ("joint_position", "joint_velocity")
        known: Mapping[str, object] = self.joints if of_joint else {**self.links, **self.frames}
        if sensor.of not in known:
            what = "is not a joint" if of_joint else "is neither a link nor a frame"
            raise ModelError(f"sensor {sensor.name!r}", f"{sensor.of!r} {what}{close_names(sensor.of, known)}")

    def check_exclusion(self, link: str, other: str) -> None:
        for name in (link, other):
            self._link(f"contact exclusion of {link!r} and {other!r}", name, or_world=False)

    def check_pair(self, pair: ContactPair) -> None:
        element = f"contact pair of {pair.geometry!r} and {pair.other_geometry!r}"
        for link, geometry in ((pair.link, pair.geometry), (pair.other_link, pair.other_geometry)):
            self._link(element, link, or_world=False)
            shapes = [each.name for each in self.links[link].geometries if each.role == "collision"]
            if geometry not in shapes:
                hint = close_names(geometry, shapes)
                raise ModelError(element, f"link {link!r} has no collision shape {geometry!r}{hint}")

    def check_closure(self, closure: Closure) -> None:
        self._link(f"closure {closure.name!r}", closure.link, or_world=False)
        self._link(f"closure {closure.name!r}", closure.to)

    def _link(self, element: str, name: str, role: str = "link", *, or_world: bool = True) -> None:
        if name not in self.links and not (or_world and name == WORLD):
            raise ModelError(element, f"{role} {name!r} is not a link{close_names(name, self.links)}")

    def _axis_joint(self, element: str, verb: str, name: str) -> None:
        joint = self.joints.get(name)
        if joint is None:
            raise ModelError(element, f"{verb} an unknown joint {name!r}{close_names(name, self.joints)}")
        if joint.nv != 1:
            raise ModelError(element, f"{verb} joint {name!r}, which has {joint.nv} degrees of freedom, not one")

    def _check_mimic(self, element: str, joint: Joint, name: str) -> None:
        if name == joint.name:
            raise ModelError(element, "mimics itself")
        self._axis_joint(element, "mimics", name)
