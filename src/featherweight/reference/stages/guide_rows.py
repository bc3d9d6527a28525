"""Rows of closures that are guided: e'' + damping e' + stiffness e + compliance f = acceleration, e the error of a row.

Over a step the speed of a row is (e+ - e) / dt; what it was before is e less the error a step back along v. With e and
e' of the law at the end of the step, it becomes aim - softness * impulse.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featherweight.arrays import Array
from featherweight.reference.stages.bodies import advance, place
from featherweight.reference.stages.closure_rows import closure_errors, closure_rows, integrable
from featherweight.reference.stages.predict import FreeMotion
from featherweight.reference.stages.scene import StepScene
from featherweight.scene.compiled import Guide


def guided(scene: StepScene) -> NDArray[np.bool_]:
    """(m,) the rows that are, of all of closures."""
    return np.array([not guide.holds for guide in scene.guides], dtype=bool)


def yielding(scene: StepScene) -> NDArray[np.bool_]:
    """(m,) those that are nowhere in particular: they yield, or have a velocity and no error."""
    rates = np.array([rate for closure in scene.closures for rate in integrable(closure)], dtype=bool)
    yields = np.array([guide.compliance > 0 for guide in scene.guides], dtype=bool)
    return np.asarray(guided(scene) & (yields | ~rates))


def softness(scene: StepScene) -> Array:
    """(m,) velocity by which a row yields, per impulse."""
    return np.array([guide.compliance / _scale(scene.dt, guide) for guide in scene.guides])


def aims(scene: StepScene, free: FreeMotion) -> Array:
    """(m,) speeds without impulses; zero of rows that are held."""
    model, dt = scene.model, scene.dt
    before = place(model, advance(model, free.q, free.v, -dt * free.v)[0])
    errors, earlier = (closure_errors(model, bodies, scene.closures) for bodies in (free.bodies, before))
    J = np.vstack([own.J for each in scene.closures for own in closure_rows(model, free.bodies, each)])
    rates = [rate for closure in scene.closures for rate in integrable(closure)]
    speeds = np.where(rates, (errors - earlier) / dt, J @ free.v)
    aim = [
        (speed + dt * guide.acceleration - dt * guide.stiffness * error) / _scale(dt, guide)
        for guide, speed, error in zip(scene.guides, speeds, errors, strict=True)
    ]
    return np.where(guided(scene), aim, 0.0)


def _scale(dt: float, guide: Guide) -> float:
    return 1.0 + dt * guide.damping + dt**2 * guide.stiffness
