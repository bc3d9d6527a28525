"""What Gazebo, PyBullet, Drake, MuJoCo and ros_control add to URDF, as far as it says how the robot moves.

:class:`Extensions` collects it from the whole file first, because it may stand anywhere in it, and hands it out link by
link and joint by joint. What is not taken here stays unread and is reported by the reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Array
from ..model import poses
from ..model.builder import ModelBuilder
from ..model.solids import nonphysical
from .meshes import MeshFinder
from .reader import MOTION, NOTHING, Reader
from .surfaces import Surface, flag, value
from .xml import Element

_EARTH = (0.0, 0.0, -9.81)
_ROTORS = ("rotorInertia", "motorInertia", "rotor_inertia", "motor_inertia", "drake:rotor_inertia")
_GEARS = ("mechanicalReduction", "mechanical_reduction", "drake:gear_ratio")


class Extensions:
    """Everything in ``robot`` that is not URDF's own and is honoured."""

    def __init__(self, reader: Reader, robot: Element, meshes: MeshFinder) -> None:
        self._reader = reader
        self.gravity: tuple[float, ...] = _EARTH
        self.loops: list[Element] = []  # SDF joints that close loops
        self._starts: dict[str, float] = {}  # joint -> position
        self._balance = False  # MuJoCo's balanceinertia
        self._gazebo: dict[str, list[Element]] = {}  # link or joint -> elements about it
        self._armatures: dict[str, float] = {}
        self._springs: dict[str, dict[str, float]] = {}
        self._scales: dict[str, float] = {}  # link -> factor of its inertia
        self._alone: list[str] = []  # links that touch no other link of the robot
        self._weightless: set[str] = set()  # links that gravity does not pull
        self._excludes: list[tuple[str, str]] = []
        self._frames: list[Element] = robot.all("frame")
        self._links = [link.attributes.get("name", "") for link in robot.all("link")]
        self._touchable = [
            link.attributes.get("name", "")
            for link in robot.all("link")
            if any(child.tag == "collision" for child in link.children)
        ]
        self._joints = {joint.attributes.get("name", "") for joint in robot.all("joint", "drake:joint")}
        self._read_mujoco(robot, meshes)
        for gazebo in robot.all("gazebo"):
            self._read_gazebo(gazebo)
        for transmission in robot.all("transmission"):
            self._read_transmission(transmission)
        for control in robot.all("ros2_control"):
            self._read_control(control)
        self._read_filters(robot)

    # -- what is asked for ---------------------------------------------------------------------------------------

    def surface(self, link: str, what: str, element: Element) -> Surface:
        """The surface of all collision shapes of a link."""
        surface = Surface(self._reader, what)
        for gazebo in self._gazebo.get(link, ()):
            surface.read_gazebo(gazebo)
            for collision in gazebo.all("collision"):
                for each in collision.all("surface"):
                    surface.read_sdf(each)
        for each in element.all("surface"):
            surface.read_sdf(each)
        for contact in element.all("contact"):
            surface.read_bullet(contact)
            for scaling in contact.all("inertia_scaling"):
                self._scales[link] = surface.number(scaling)
            for anchor in contact.all("friction_anchor"):
                anchor.settle()
                self._reader.note(anchor, what, "a setting of another solver: left out", NOTHING)
        self._weightless |= {link for setting in element.all("gravity") if not flag(setting)}
        for setting in element.all("kinematic"):
            message = "<kinematic> of a link is left out"
            self._reader.note(setting, what, message, MOTION if flag(setting) else NOTHING)
        return surface

    def read_shape(self, shape: Element, surface: Surface) -> None:
        """What a collision shape says about itself."""
        for properties in shape.all("drake:proximity_properties"):
            surface.read_drake(properties)
        for each in shape.all("surface"):
            surface.read_sdf(each)

    def carried(self, link: str) -> float:
        """The share of the weight of a link that does not count. To be asked after its surface."""
        return 1.0 if link in self._weightless else 0.0

    def changed_moments(self, link: str, mass: float, moments: Array) -> Array:
        """The inertia of a link as PyBullet scales and MuJoCo balances it."""
        moments = moments * self._scales.get(link, 1.0)
        if self._balance and nonphysical(mass, moments) is not None:
            return np.asarray(np.trace(moments) / 3.0 * np.eye(3))
        return moments

    def joint_options(self, joint: str) -> dict[str, Any]:
        """Rotor, spring and start of a joint with one degree of freedom."""
        rotor = {"armature": self._armatures[joint]} if joint in self._armatures else {}
        start = {"start": [self._starts[joint]]} if joint in self._starts else {}
        return {**self._springs.get(joint, {}), **rotor, **start}

    def pitch(self, joint: Element) -> float:
        """Travel of a screw per radian [m]; the file has it per turn."""
        thread = self._reader.one(joint, "drake:screw_thread_pitch")
        if thread is None:
            raise self._reader.error(joint, joint.label(), "a screw needs <drake:screw_thread_pitch>")
        return self._reader.number(thread, "value") / (2.0 * np.pi)

    def add_to(self, builder: ModelBuilder, renamed: dict[str, str]) -> None:
        """Frames and pairs of links that never touch."""
        known = dict.fromkeys(self._links)
        pairs = [(a, b) for a, b in self._excludes if a in known and b in known]
        pairs += [(link, other) for link in dict.fromkeys(self._alone) for other in self._touchable]
        for link, other in dict.fromkeys((min(pair), max(pair)) for pair in pairs):
            if link != other:
                builder.exclude(renamed.get(link, link), renamed.get(other, other))
        for frame in self._frames:
            name, link = (self._reader.attribute(frame, key) for key in ("name", "link"))
            zero = (0.0, 0.0, 0.0)
            xyz, rpy = (self._reader.numbers(frame, key, 3, zero) for key in ("xyz", "rpy"))
            builder.frame(name, renamed.get(link, link), poses.pose(xyz, rpy=rpy))

    # -- Gazebo --------------------------------------------------------------------------------------------------

    def _read_gazebo(self, gazebo: Element) -> None:
        reference = gazebo.get("reference") or ""
        if reference in self._links:
            self._gazebo.setdefault(reference, []).append(gazebo)
            self._read_gazebo_link(gazebo, reference)
        elif reference in self._joints:
            self._read_gazebo_joint(gazebo, reference)
        elif reference:
            gazebo.settle()
            self._reader.note(gazebo, f"gazebo {reference!r}", "is about nothing in this file: left out", NOTHING)
        else:
            self._read_gazebo_model(gazebo)

    def _read_gazebo_link(self, gazebo: Element, link: str) -> None:
        what = f"gazebo {link!r}"
        for setting in gazebo.all("selfCollide", "self_collide"):
            if not flag(setting):
                self._alone.append(link)
        self._weightless |= {link for setting in gazebo.all("turnGravityOff") if flag(setting)}
        self._weightless |= {link for setting in gazebo.all("gravity") if not flag(setting)}
        for setting in gazebo.all("dampingFactor", "kinematic", "static", "velocity_decay", "enable_wind"):
            self._leave_out_unless_zero(setting, what)

    def _read_gazebo_joint(self, gazebo: Element, joint: str) -> None:
        spring = self._springs.setdefault(joint, {})
        for tag, name in (("springStiffness", "stiffness"), ("springReference", "rest_position")):
            for setting in gazebo.all(tag):
                spring[name] = self._number(setting)
        for setting in gazebo.all("initial_joint_position", "initial_position"):
            self._starts[joint] = self._number(setting)
        for setting in gazebo.all("stopCfm"):
            self._leave_out_unless_zero(setting, f"gazebo {joint!r}")

    def _read_gazebo_model(self, gazebo: Element) -> None:
        self.loops += gazebo.all("joint")
        for setting in gazebo.all("static", "enable_wind"):
            self._leave_out_unless_zero(setting, "gazebo")
        for setting in gazebo.all("self_collide", "selfCollide"):
            if not flag(setting):
                self._alone += self._touchable

    def _leave_out_unless_zero(self, setting: Element, what: str) -> None:
        text = value(setting)
        if setting.children or (text not in ("false", "False", "") and self._number_or_one(text) != 0.0):
            setting.settle()
            self._reader.note(setting, what, f"<{setting.tag}> is left out", MOTION)

    def _number(self, setting: Element) -> float:
        return self._reader.parsed(setting, "value", value(setting), 1)[0]

    @staticmethod
    def _number_or_one(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            return 1.0

    # -- drives --------------------------------------------------------------------------------------------------

    def _read_transmission(self, transmission: Element) -> None:
        """The inertia of a rotor, seen through its gear; anything else is about control."""
        what = transmission.label()
        inside = list(_descendants(transmission))
        transmission.settle()
        joints = [e.attributes.get("name", "") for e in inside if e.tag == "joint"]
        rotors = [self._number(e) for e in inside if e.tag in _ROTORS]
        gears = [self._number(e) for e in inside if e.tag in _GEARS and value(e)] if any(rotors) else []
        if not any(rotors):
            self._reader.note(transmission, what, "left out: actuation is not part of the model", NOTHING)
        elif len(joints) != 1 or joints[0] not in self._joints or len(rotors) > 1 or len(gears) > 1:
            message = "left out, with a rotor inertia: only one rotor on one joint is understood"
            self._reader.note(transmission, what, message, MOTION)
        else:
            gear = gears[0] if gears else 1.0
            self._armatures[joints[0]] = self._armatures.get(joints[0], 0.0) + gear * gear * rotors[0]
            message = f"joint {joints[0]!r} has the armature {gear * gear * rotors[0]:g} of its rotor"
            self._reader.note(transmission, what, message, NOTHING)

    def _read_control(self, control: Element) -> None:
        """ros2_control: where joints start. Hardware and interfaces are not part of the model."""
        for joint in (each for each in _descendants(control) if each.tag == "joint"):
            for state in (each for each in joint.children if each.tag == "state_interface"):
                if state.attributes.get("name") != "position":
                    continue
                for param in (each for each in state.children if each.attributes.get("name") == "initial_value"):
                    self._starts[joint.attributes.get("name", "")] = self._number(param)
        control.settle()
        self._reader.note(control, control.label(), "left out: control is not part of the model", NOTHING)

    # -- MuJoCo and Drake ----------------------------------------------------------------------------------------

    def _read_mujoco(self, robot: Element, meshes: MeshFinder) -> None:
        for mujoco in robot.all("mujoco"):
            for compiler in mujoco.all("compiler"):
                directory = compiler.get("meshdir")
                if directory is not None:
                    meshes.use_mesh_directory(directory)
                self._balance = self._balance or compiler.get("balanceinertia") == "true"
                for key in compiler.attributes:
                    if key in ("boundmass", "boundinertia") and self._reader.number(compiler, key) > 0.0:
                        self._reader.note(compiler, "mujoco compiler", f"{key} is left out", MOTION)
                compiler.settle()
            for option in mujoco.all("option"):
                self.gravity = self._reader.numbers(option, "gravity", 3, self.gravity)
                rest = ", ".join(key for key in option.attributes if key != "gravity")
                if rest:
                    self._reader.note(option, "mujoco option", f"settings of another solver ({rest}) left out", NOTHING)
                option.settle()
            for size in mujoco.all("size"):
                size.settle()

    def _read_filters(self, robot: Element) -> None:
        """Drake's groups of links that ignore each other."""
        groups: dict[str, list[str]] = {}
        ignored: list[tuple[str, str]] = []
        for group in robot.all("drake:collision_filter_group"):
            name = self._reader.attribute(group, "name")
            members = groups.setdefault(name, [])
            members += [self._reader.attribute(member, "link") for member in group.all("drake:member")]
            for other in group.all("drake:ignored_collision_filter_group"):
                ignored.append((name, self._reader.attribute(other, "name")))
        for one, another in ignored:
            self._excludes += [(a, b) for a in groups[one] for b in groups.get(another, ())]


def _descendants(element: Element) -> Iterator[Element]:
    pending = element.children[::-1]
    while pending:
        child = pending.pop()
        yield child
        pending += reversed(child.children)
