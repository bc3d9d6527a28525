"""One step of one environment: predict, assemble, solve, apply, correct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.stages.activations import activate
from featherweight.reference.stages.apply import apply
from featherweight.reference.stages.assemble import StepProblem, assemble
from featherweight.reference.stages.bodies import advance
from featherweight.reference.stages.correct import correct
from featherweight.reference.stages.predict import FreeMotion, predict
from featherweight.reference.stages.scene import ContactPoint, StepScene
from featherweight.reference.stages.solve import solve_exactly


@dataclass(frozen=True, eq=False)
class StepSolution:
    """Everything that a step computed."""

    q: Array  # (nq,) at its end
    v: Array  # (nv,) at its end
    activation: Array  # (na,) at its end
    free: FreeMotion
    problem: StepProblem
    impulses: Array  # (m,) along the rows of the problem
    residual: float  # natural, relative to the scale of the problem


def step(
    scene: StepScene,
    q: Array,
    v: Array,
    contacts: Sequence[ContactPoint] = (),
    *,
    tau: Array | None = None,
    control: Array | None = None,
    activation: Array | None = None,
    f_ext: Array | None = None,
) -> StepSolution:
    """A step from q and v with the points that may touch in it.

    tau (nv,), control (nu,) and f_ext (n_links, 6) act as in :meth:`featherweight.Simulator.step`; activation (na,) is
    that at the start.
    """
    v_end, mean = v, v
    for _ in range(30 if scene.closures else 1):  # until closures hold at the end of the step
        free = predict(scene, q, v, tau=tau, control=control, activation=activation, f_ext=f_ext, mean=mean)
        before, problem = v_end, assemble(scene, free, contacts, v_end)
        impulses, residual = solve_exactly(problem)
        v_end = apply(free, problem, impulses)
        mean = 0.5 * (v + advance(scene.model, q, v_end, scene.dt * (v_end + free.bend))[1])
        if np.abs(v_end - before).max() <= 1e-12 * (1.0 + np.abs(v_end).max()):
            break
    q_next, v_next = correct(scene, free, problem, impulses, v_end)
    _, after = activate(scene, control, activation)
    return StepSolution(q_next, v_next, after, free, problem, impulses, residual / problem.scale)
