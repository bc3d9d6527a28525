"""What the tests of frameworks have in common."""

from __future__ import annotations

from functools import cache

import numpy as np

import featherweight as fw
from featherweight.arrays import Array

#: Gradients of frameworks are ours, to rounding.
CLOSE = 1e-12


@cache
def _quadruped() -> tuple[fw.Simulator, fw.State, Array]:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    robot = scene.add(fw.models.quadruped(), pose=(0, 0, 0.4))
    scene.servo(robot, kp=60.0, kd=4.0)
    sim = fw.Simulator(scene, dt=2e-3, integrator="implicit")
    stance = np.tile([0.0, 0.7, -1.4], 4)
    return sim, sim.rollout(sim.state(), control=stance, n_steps=200).final, stance


def standing_quadruped(batch: int | None = None) -> tuple[fw.Simulator, fw.State, Array]:
    """On its feet, with a little motion, and what holds it there."""
    sim, state, control = _quadruped()
    if batch is None:
        return sim, state, control
    v = state.v + 0.05 * np.random.default_rng(0).normal(size=(batch, sim.model.nv))
    return sim, sim.state(batch, q=state.q, v=v), control


@cache
def loaded_scene() -> tuple[fw.Simulator, fw.State, Array]:
    """An arm that swings beside a ball that slides: smooth wherever differences look."""
    scene = fw.Scene(ground=fw.Plane(friction=0.3))
    arm = scene.add(fw.models.arm(), name="arm", pose=(2.0, 0, 3.0))
    scene.servo(arm, kp=5.0, kd=0.5)
    scene.add(fw.sphere(0.1, density=500.0), name="ball", pose=(0, 0, 0.0999))
    sim = fw.Simulator(scene, dt=5e-3, solver=fw.Newton(tolerance=1e-13))
    v = np.zeros(sim.model.nv)
    v[:7] = 0.4
    v[7:] = 1.5, 0.3, 0.0, 0.1, -0.2, 0.3
    return sim, sim.state(v=v), np.full(7, 0.3)


def coordinates_jacobian(model: fw.Model, q: Array) -> Array:
    """(nv, nq) of tangents by coordinates: 2 conj(quaternion) d quaternion, and changes of positions in body axes."""
    out = np.zeros((model.nv, model.nq))
    for joint in model.joints:
        if joint.type not in ("free", "spherical"):
            out[joint.v_slice, joint.q_slice] = np.eye(joint.nq)
            continue
        quaternion = q[joint.q_slice.stop - 4 : joint.q_slice.stop]
        conjugate = quaternion * [-1, -1, -1, 1]
        for k in range(4):
            turned = fw.quaternion_multiply(conjugate, np.eye(4)[k])
            out[joint.v_slice.stop - 3 : joint.v_slice.stop, joint.q_slice.stop - 4 + k] = 2 * turned[:3]
        if joint.type == "free":
            at_q, at_v = joint.q_slice.start, joint.v_slice.start
            out[at_v : at_v + 3, at_q : at_q + 3] = fw.rotation_from_quaternion(quaternion).T
    return out
