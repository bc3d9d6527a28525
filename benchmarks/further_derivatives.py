"""Times derivatives of all but plain dynamics: ``python -m benchmarks.further_derivatives [ROBOT ...]``.

Calls on a batch from Python, on one thread, with what they solve first; Pinocchio's wheel, sample by sample, has some
of them. Its functions for frames and momenta come with derivatives of more than is asked for. All take turns in one
run.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import featherweight as fw
from benchmarks.cases import Case, load_cases
from benchmarks.contenders import pin_twin
from benchmarks.race import take_turns, time_python
from benchmarks.robots import Samples, default_names, load_robots

OURS, THEIRS = "featherweight", "pin wheel"
BATCH, ROUNDS = 64, 20
Work = dict[tuple[str, str], Callable[[], object]]


def ours(case: Case, samples: Samples) -> Work:
    model, constraints = case.robot.model, fw.ConstraintSet(case.robot.model, case.constraints)
    q, v, x, frame = samples.q, samples.v, samples.x, case.constraints[0].frame
    calls: dict[str, Callable[..., object]] = {
        "constrained_dynamics": partial(fw.constrained_dynamics_derivatives, model, q, v, x, constraints),
        "impulse_dynamics": partial(fw.impulse_dynamics_derivatives, model, q, v, constraints),
        "frame_velocity": partial(fw.frame_velocity_derivatives, model, q, v, frame),
        "frame_acceleration": partial(fw.frame_acceleration_derivatives, model, q, v, x, frame),
        "center_of_mass": partial(fw.center_of_mass_derivatives, model, q),
        "centroidal_momentum": partial(fw.centroidal_momentum_derivatives, model, q, v),
    }
    return {(name, OURS): partial(call, num_threads=1) for name, call in calls.items()}


def theirs(case: Case, samples: Samples) -> Work:
    """Nothing where Pinocchio is not installed."""
    twin = pin_twin(case.robot)
    if twin is None:
        return {}
    pin: Any = importlib.import_module("pinocchio")
    model, data, states = twin.model, twin.model.createData(), twin.samples(samples)
    inputs = list(zip(states.q, states.v, states.x, strict=True))
    frame = model.getFrameId(case.constraints[0].frame)

    def frames(get: Any) -> None:
        for state in inputs:
            pin.computeForwardKinematicsDerivatives(model, data, *state)
            get(model, data, frame, pin.LOCAL)

    def whole(function: Any, n: int) -> None:
        for state in inputs:
            function(model, data, *state[:n])

    return {
        ("frame_velocity", THEIRS): partial(frames, pin.getFrameVelocityDerivatives),
        ("frame_acceleration", THEIRS): partial(frames, pin.getFrameAccelerationDerivatives),
        ("center_of_mass", THEIRS): partial(whole, pin.jacobianCenterOfMass, 1),
        ("centroidal_momentum", THEIRS): partial(whole, pin.computeCentroidalDynamicsDerivatives, 3),
    }


def main(names: list[str]) -> None:
    for case in load_cases(load_robots(names or default_names(), True)):
        samples = Samples.random(case.robot.model, BATCH)
        work = ours(case, samples) | theirs(case, samples)
        seconds = take_turns({key: partial(time_python, run) for key, run in work.items()}, ROUNDS)
        times = {key: 1e6 * time / BATCH for key, time in seconds.items()}
        for (name, who), time in times.items():
            if who != OURS:
                continue
            other = times.get((name, THEIRS))
            beside = "" if other is None else f"; {THEIRS} {other:.2f} us ({other / time:.1f}x)"
            print(f"{case.name:14} {name:20} {time:.2f} us{beside}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
