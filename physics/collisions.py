"""Bodies that hit each other in empty space: whatever happens between them, their momentum together stays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherweight import Body, Model, Plane, Scene, Simulator, State, _core, box, models, sphere
from featherweight.arrays import Array
from featherweight.model.poses import rotation_from_quaternion
from physics.motion import position, run


@dataclass(frozen=True)
class Hit:
    """Changes of the momentum of everything over a hit, relative to before."""

    linear: float
    angular: float  # about the origin
    impulse: float  # of the hit [N s]
    kept: float  # kinetic energy after over before


def robot_hit_by_ball(model: Model | None = None, *, restitution: float = 0.0, dt: float = 1e-3) -> Hit:
    """A ball flies off-centre into a floating robot at rest, with friction. The built-in quadruped by default."""
    return _hit(models.quadruped() if model is None else model, restitution, dt)


def box_hit_by_ball(*, restitution: float = 0.0, dt: float = 1e-3) -> Hit:
    """A ball flies off-centre into a box at rest, with friction."""
    return _hit(box((0.4, 0.6, 0.3), mass=5.0), restitution, dt)


def _hit(target: Model | Body, restitution: float, dt: float) -> Hit:
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(target, name="target")
    scene.add(sphere(0.1, mass=2.0, friction=0.7, restitution=restitution), name="ball", pose=(-1.5, 0.05, 0.03))
    hit = first_hit(scene, (4.0, 0.2, 0.1, 3.0, -5.0, 2.0), dt=dt)
    if hit is None:
        raise RuntimeError("the ball missed")
    return hit


def first_hit(scene: Scene, velocity: tuple[float, ...], *, dt: float = 1e-3, seconds: float = 0.6) -> Hit | None:
    """What the first contact does after the body "ball" is thrown with ``velocity`` [m/s, rad/s]; None if it misses.

    The momentum of a step is that of its end velocities where it began: impulses act there.
    """
    simulator = Simulator(scene, dt)
    v = np.zeros(simulator.model.nv)
    v[simulator.scene.parts["ball"].v] = velocity
    state = simulator.state(v=v)
    for _ in range(round(seconds / dt)):
        after = simulator.step(state)
        impulse = float(np.abs(after.contacts.impulse).max(initial=0.0))
        if impulse > 0.0:
            return _change(simulator, state, after, impulse)
        state = after
    return None


def _change(simulator: Simulator, state: State, after: State, impulse: float) -> Hit:
    before_h, after_h = (momentum(simulator, state.q, v) for v in (state.v, _at_start(state, after)))
    linear, angular = (
        float(np.linalg.norm(after_h[k] - before_h[k]) / np.linalg.norm(before_h[k]))
        for k in (slice(0, 3), slice(3, 6))
    )
    energies = [float(_core.kinetic_energy(simulator.model, state.q, v)) for v in (state.v, _at_start(state, after))]
    return Hit(linear, angular, impulse, energies[1] / energies[0])


def momentum(simulator: Simulator, q: Array, v: Array) -> Array:
    """Of everything in the scene, linear and angular about the origin, (6,) world axes."""
    h = _core.centroidal_momentum(simulator.model, q, v)
    h[3:] += np.cross(_core.center_of_mass(simulator.model, q), h[:3])
    return np.asarray(h)


def _at_start(before: State, after: State) -> Array:
    """Velocities after a step, those of free bodies in the axes that they had before it."""
    v = np.array(after.v)
    for joint in before.simulator.model.joints:
        if joint.type == "free":
            new, old = (rotation_from_quaternion(q[joint.q_slice][3:]) for q in (after.q, before.q))
            linear = slice(joint.v_slice.start, joint.v_slice.start + 3)
            v[linear] = old.T @ new @ v[linear]
    return v


def struck_at_wall(speed: float, *, gap: float = 2e-3, dt: float = 1e-3) -> float:
    """How deep a light ball gets into a wall ``gap`` [m] behind it when a heavy one hits it at ``speed`` [m/s]: [m].

    Both contacts close within one step: the second only because of the impulse of the first.
    """
    radius = 0.1
    scene = Scene(ground=Plane(normal=(-1.0, 0.0, 0.0), friction=0.0), gravity=(0.0, 0.0, 0.0))
    scene.add(sphere(radius, mass=10.0), name="heavy", pose=(-3.0 * radius - gap - 1e-4, 0.0, 0.0))
    scene.add(sphere(radius, mass=0.1), name="light", pose=(-radius - gap, 0.0, 0.0))
    motion = run(scene, dt, 20 * dt, v={"heavy": (speed, 0, 0, 0, 0, 0)}, record=True)
    return max(0.0, float(position(motion, "light")[:, 0].max()) + radius)
