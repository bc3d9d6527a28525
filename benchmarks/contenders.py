"""featherweight itself, from C++ and from Python, and Pinocchio from its wheel."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

import featherweight as fw
from benchmarks.race import Contender, time_python
from benchmarks.robots import Array, Robot, Samples
from featherweight import ModelDescription, _testing
from featherweight.model.description import Joint

#: The algorithms timed, and which samples each takes.
ALGORITHMS: dict[str, tuple[str, ...]] = {"aba": ("q", "v", "x"), "rnea": ("q", "v", "x"), "crba": ("q",)}


def arguments(algorithm: str, samples: Samples, dtype: str = "float64") -> list[Any]:
    """What the algorithm takes after the model, for all samples at once."""
    return [np.ascontiguousarray(getattr(samples, name), dtype=dtype) for name in ALGORITHMS[algorithm]]


def split(algorithm: str, samples: Samples) -> Iterator[tuple[Any, ...]]:
    """The arguments of one sample after the other."""
    return zip(*arguments(algorithm, samples), strict=True)


def in_core(robot: Robot, samples: Samples, dtype: str) -> Contender:
    """The kernel called back to back inside C++, lanes over the samples."""
    same = in_python(robot, samples, dtype)
    return Contender(f"core {dtype}", _kernel_seconds(robot, samples, dtype), same.result)


def in_core_one_by_one(robot: Robot, samples: Samples) -> Contender:
    """The kernel's build for plain doubles, called inside C++ sample by sample."""

    def result(algorithm: str) -> Any:
        with instruction_set("scalar"):
            return in_python(robot, samples).result(algorithm)

    return Contender("core single", _kernel_seconds(robot, samples, "float64", single=True, isa="scalar"), result)


@contextmanager
def instruction_set(name: str) -> Iterator[None]:
    """All kernels on another one for a while."""
    active = fw.build_info()["isa"]
    _testing.use_isa(name)
    try:
        yield
    finally:
        _testing.use_isa(active)


def _kernel_seconds(robot: Robot, samples: Samples, dtype: str, **options: Any) -> Callable[[str, int], float]:
    q, v, x = (np.ascontiguousarray(part, dtype=dtype) for part in (samples.q, samples.v, samples.x))

    def seconds(algorithm: str, repeats: int) -> float:
        timing = _testing.benchmark(robot.model, algorithm, q, v, x, dtype=dtype, repeats=repeats, **options)
        return float(timing["seconds_min"])

    return seconds


def in_python(robot: Robot, samples: Samples, dtype: str = "float64", num_threads: int = 1) -> Contender:
    """One call from Python for all samples."""

    def call(algorithm: str) -> Callable[[], Any]:
        function, inputs = getattr(fw, algorithm), arguments(algorithm, samples, dtype)
        return lambda: function(robot.model, *inputs, num_threads=num_threads)

    def seconds(algorithm: str, repeats: int) -> float:
        return time_python(call(algorithm), repeats)

    threads = "" if num_threads == 1 else f" {num_threads} threads"
    return Contender(f"python {dtype}{threads}", seconds, lambda algorithm: np.asarray(call(algorithm)(), np.float64))


def in_python_one_by_one(robot: Robot, samples: Samples) -> Contender:
    """One call from Python for each sample."""

    def seconds(algorithm: str, repeats: int) -> float:
        function, model, calls = getattr(fw, algorithm), robot.model, list(split(algorithm, samples))

        def work() -> None:
            for inputs in calls:
                function(model, *inputs)

        return time_python(work, repeats)

    def result(algorithm: str) -> Array:
        return np.array([getattr(fw, algorithm)(robot.model, *inputs) for inputs in split(algorithm, samples)])

    return Contender("python batch 1", seconds, result)


class PinRobot:
    """A robot as Pinocchio has it. Its joints may come in another order: coordinates are matched by joint name."""

    def __init__(self, robot: Robot) -> None:
        self.pin: Any = importlib.import_module("pinocchio")
        if robot.urdf is None:
            self.model = pin_model(robot.model.description)
        elif robot.floating_base:
            self.model = self.pin.buildModelFromUrdf(str(robot.urdf), self.pin.JointModelFreeFlyer())
        else:
            self.model = self.pin.buildModelFromUrdf(str(robot.urdf))
        if (self.model.nq, self.model.nv) != (robot.model.nq, robot.model.nv):
            raise ValueError(
                f"robot {robot.name!r}: Pinocchio has nq, nv = {self.model.nq}, {self.model.nv}, "
                f"featherweight {robot.model.nq}, {robot.model.nv}"
            )
        root = next((joint.name for joint in robot.model.joints if joint.type == "free"), "")
        names = [root if name == "root_joint" else name for name in list(self.model.names)[1:]]
        #: Pinocchio's indices by featherweight's names.
        self.joint_ids = {name: i for i, name in enumerate(names, start=1)}
        joints = [robot.model.joint(name) for name in names]
        self._q = np.concatenate([np.r_[joint.q_slice] for joint in joints])
        self._v = np.concatenate([np.r_[joint.v_slice] for joint in joints])

    def samples(self, samples: Samples) -> Samples:
        """The same states in Pinocchio's coordinates."""
        return Samples(samples.q[:, self._q].copy(), samples.v[:, self._v].copy(), samples.x[:, self._v].copy())

    def in_our_order(self, result: Array) -> Array:
        """(n, nv) or (n, nv, nv) from Pinocchio's order to featherweight's."""
        order = np.argsort(self._v)
        return result[:, order] if result.ndim == 2 else result[:, order][:, :, order]

    def contender(self, samples: Samples) -> Contender:
        """The wheel called from Python, sample by sample (it has no batch), in the faster convention."""
        pin, model, data = self.pin, self.model, self.model.createData()
        states = self.samples(samples)

        def seconds(algorithm: str, repeats: int) -> float:
            function = getattr(pin, algorithm)
            calls = list(split(algorithm, states))

            def work(*convention: Any) -> None:
                for inputs in calls:
                    function(model, data, *inputs, *convention)

            if algorithm == "rnea":  # the only one without a choice
                return time_python(work, repeats)
            return min(time_python(partial(work, c), repeats) for c in (pin.Convention.LOCAL, pin.Convention.WORLD))

        def result(algorithm: str) -> Array:
            function = getattr(pin, algorithm)
            results = [np.array(function(model, data, *inputs)) for inputs in split(algorithm, states)]
            return self.in_our_order(np.array(results))

        return Contender("pin wheel", seconds, result)


def pin_installed() -> bool:
    return importlib.util.find_spec("pinocchio") is not None


def pin_twin(robot: Robot) -> PinRobot | None:
    """The robot as Pinocchio has it; None where that is not installed or, with a note, has another robot."""
    if not pin_installed():
        return None
    try:
        return PinRobot(robot)
    except ValueError as error:
        print(f"note: {robot.name} is timed without Pinocchio: {error}", file=sys.stderr)
        return None


def pin_model(description: ModelDescription) -> Any:
    """The ``pin.Model`` of a description; links behind fixed joints are merged into the link that carries them."""
    pin: Any = importlib.import_module("pinocchio")
    model = pin.Model()
    model.gravity.linear = description.gravity
    carrier = {"world": (0, pin.SE3.Identity())}  # link -> Pinocchio joint that moves it, pose in that joint's frame
    armature: list[float] = []
    for joint, link in zip(description.joints, description.links, strict=True):
        parent, pose = carrier[joint.parent]
        pose = pose * pin.SE3(joint.placement)
        if joint.type != "fixed":
            parent, pose = model.addJoint(parent, _pin_joint(pin, joint), pose, joint.name), pin.SE3.Identity()
            armature += [0.0] * joint.nv if joint.armature is None else list(joint.armature)
        carrier[link.name] = parent, pose * pin.SE3(joint.child_placement)
        if link.inertia is not None:
            inertia = pin.Inertia(link.inertia.mass, link.inertia.com, link.inertia.matrix)
            model.appendBodyToJoint(parent, inertia, carrier[link.name][1])
    model.armature = np.array(armature)
    return model


def _pin_joint(pin: Any, joint: Joint) -> Any:
    """Axis joints become Pinocchio's axis joints, which it treats faster."""
    if joint.type == "free":
        return pin.JointModelFreeFlyer()
    if joint.type == "spherical":
        return pin.JointModelSpherical()
    kind = {"revolute": "R", "continuous": "R", "prismatic": "P"}.get(joint.type)
    if kind is None or joint.axis is None:
        raise ValueError(f"joint {joint.name!r}: no counterpart in Pinocchio for a {joint.type} joint")
    for letter, axis in zip("XYZ", np.eye(3), strict=True):
        if np.array_equal(joint.axis, axis):
            return getattr(pin, f"JointModel{kind}{letter}")()
    unaligned = {"R": pin.JointModelRevoluteUnaligned, "P": pin.JointModelPrismaticUnaligned}[kind]
    return unaligned(*joint.axis)
