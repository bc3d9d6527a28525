"""Pinocchio's ways to Delassus matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.contenders import PinRobot
from benchmarks.pin_constrained import contacts_of
from benchmarks.race import time_python
from benchmarks.robots import Array, Samples


@dataclass(frozen=True)
class Way:
    """One build of one function on fixed samples, to J H^-1 J^T or to the inverse of a damped one.

    ``seconds(repeats)`` is the smallest time of one pass over all samples, ``result()`` the matrices (samples, m, m).
    """

    name: str
    inverse: bool
    seconds: Callable[[int], float]
    result: Callable[[], Array]


def wheel(robot: PinRobot, case: Case, samples: Samples) -> Way:
    """The one function that the wheel has from Python and that is right without preparations."""
    model, data, states = robot.model, robot.model.createData(), robot.samples(samples)
    contacts, datas = contacts_of(robot, case)

    def call(q: Array) -> Any:
        return robot.pin.computeDelassusMatrix(model, data, q, contacts, datas)

    def work() -> None:
        for q in states.q:
            call(q)

    def result() -> Array:
        upper = np.triu([np.array(call(q)) for q in states.q])  # the rest is not guaranteed
        matrices: Array = upper + np.triu(upper, 1).swapaxes(1, 2)
        return matrices

    return Way("pin wheel computeDelassusMatrix", False, lambda repeats: time_python(work, repeats), result)
