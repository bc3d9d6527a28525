"""Pinocchio's methods for constrained dynamics, each with the settings that suit it best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import featherweight as fw
from benchmarks.cases import Case, mount
from benchmarks.contenders import PinRobot
from benchmarks.race import relative_errors, time_python
from benchmarks.robots import Array, Samples

#: The error every method is to reach on every sample, relative to 1 + the largest acceleration.
TARGET_ERROR = 1e-9


@dataclass(frozen=True)
class Proximal:
    """Pinocchio's ProximalSettings: damping of the rows, and how often the damped system is solved."""

    mu: float
    iterations: int


#: What is tried for each method. A solve costs time, the damping does not.
ITERATIONS, DAMPINGS = (1, 2, 3, 5, 10, 20), (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)


@dataclass(frozen=True)
class Peer:
    """One build of one method on fixed samples.

    ``seconds(settings, repeats)`` is the smallest time of one pass over all samples, ``result(settings)`` the
    accelerations, in featherweight's coordinates.
    """

    build: str
    method: str
    seconds: Callable[[Proximal, int], float]
    result: Callable[[Proximal], Array]

    @property
    def name(self) -> str:
        return f"{self.build} {self.method}"


def best_settings(peer: Peer, reference: Array) -> tuple[Proximal, Array]:
    """The fewest solves that meet the target, else the most exact settings; with the error of every sample."""
    tried = []
    for n in ITERATIONS:
        trials = [(settings, _errors(peer, settings, reference)) for settings in (Proximal(mu, n) for mu in DAMPINGS)]
        tried.append(min(trials, key=_worst))
        if _worst(tried[-1]) <= TARGET_ERROR:
            return tried[-1]
    return min(tried, key=_worst)


def _errors(peer: Peer, settings: Proximal, reference: Array) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):  # undamped, some methods answer with NaN
        return np.nan_to_num(relative_errors(peer.result(settings)[: len(reference)], reference), nan=np.inf)


def _worst(trial: tuple[Proximal, Array]) -> float:
    return float(trial[1].max())


def anchored_joints(robot: PinRobot, case: Case) -> list[tuple[int, Array]]:
    """Per constraint, Pinocchio's index of the joint that carries it, and its pose there."""
    mounts = (mount(case.robot.model, str(constraint.frame)) for constraint in case.constraints)
    return [(robot.joint_ids[joint], pose) for joint, pose in mounts]


def contacts_of(robot: PinRobot, case: Case) -> tuple[Any, Any]:
    """The anchors, as the wheel's RigidConstraintModels, and their Data."""
    pin = robot.pin
    frames = isinstance(case.constraints[0], fw.FrameConstraint)
    kind = pin.ContactType.CONTACT_6D if frames else pin.ContactType.CONTACT_3D
    contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for joint, pose in anchored_joints(robot, case):
        contact = pin.RigidConstraintModel(kind, robot.model, joint, pin.SE3(pose), pin.ReferenceFrame.LOCAL)
        contacts.append(contact)
        datas.append(contact.createData())
    return contacts, datas


def wheel(robot: PinRobot, case: Case, samples: Samples) -> Peer:
    """The one method that the wheel has from Python."""
    pin, model, data, states = robot.pin, robot.model, robot.model.createData(), robot.samples(samples)
    contacts, datas = contacts_of(robot, case)
    pin.initConstraintDynamics(model, data, contacts, datas)

    def call(settings: Any, q: Array, v: Array, tau: Array) -> Any:
        return pin.constraintDynamics(model, data, q, v, tau, contacts, datas, settings)

    def seconds(settings: Proximal, repeats: int) -> float:
        proximal = pin.ProximalSettings(0.0, settings.mu, settings.iterations)
        calls = list(zip(states.q, states.v, states.x, strict=True))

        def work() -> None:
            for inputs in calls:
                call(proximal, *inputs)

        return time_python(work, repeats)

    def result(settings: Proximal) -> Array:
        proximal = pin.ProximalSettings(0.0, settings.mu, settings.iterations)
        states_in_turn = zip(states.q, states.v, states.x, strict=True)
        return robot.in_our_order(np.array([np.array(call(proximal, *state)) for state in states_in_turn]))

    return Peer("pin wheel", "constraintDynamics", seconds, result)
