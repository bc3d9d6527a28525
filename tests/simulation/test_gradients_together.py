"""Products with cotangents of environments that touch with balls alone are found for a pack at a time.

Asked for the gradient by friction as well, they are found one by one: both are the same to rounding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array

Kind = Literal["standing", "sliding", "landing", "flying", "at limits", "overlapping", "tumbling"]
KINDS: tuple[Kind, ...] = ("standing", "sliding", "landing", "flying", "at limits", "overlapping", "tumbling")


def robot(**joints: float) -> tuple[fw.Simulator, Array, Array]:
    """A quadruped, its posture on its feet, and the control that keeps it there."""
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    part = scene.add(fw.models.quadruped(), name="r", pose=(0, 0, 0.45))
    scene.servo(part, kp=60.0, kd=4.0, **joints)
    sim = fw.Simulator(scene, dt=2e-3, integrator="implicit", solver=fw.Newton(tolerance=1e-13))
    control = np.tile([0.0, 0.7, -1.4], 4)
    q = np.r_[sim.scene.q0[:7], control]
    return sim, sim.rollout(sim.state(q=q), control=control, n_steps=500).final.q, control


def states(sim: fw.Simulator, standing: Array, kind: Kind, n: int) -> fw.State:
    rng = np.random.default_rng(4)
    q, v = np.tile(standing, (n, 1)), rng.normal(scale=0.1, size=(n, 18))
    if kind == "sliding":
        v[:, :2] += rng.normal(scale=2.0, size=(n, 2))
    elif kind == "landing":
        q[:, 2] += rng.uniform(1e-4, 1e-2, n)
        q[:, 7:] += rng.normal(scale=0.02, size=(n, 12))
        v[:, 2] -= 1.0
    elif kind == "flying":
        q[:, 2] += 1.0
    elif kind == "at limits":
        q[:, 7:] = np.where(rng.random((n, 12)) < 0.3, sim.model.upper[7:], q[:, 7:])
        v[:, 6:] = rng.normal(scale=3.0, size=(n, 12))
    elif kind == "overlapping":
        q[:, 2] -= 1e-3
    elif kind == "tumbling":
        v[:, 3:6] = 200.0
    return sim.state(n, q=q, v=v)


def gradients(sim: fw.Simulator, state: fw.State, control: Array, w: Array, *parameters: str) -> Array:
    g = sim.step_vjp(state, control=control, parameters=parameters)[1](w[:, :18], w[:, 18:])
    return np.concatenate([g.q, g.v, g.tau, g.control], axis=1)


@pytest.mark.parametrize("joints", [{}, {"effort": 12.0}], ids=["servos", "servos with little effort"])
@pytest.mark.filterwarnings("ignore::featherweight.SimulationWarning")
def test_gradients_together_are_those_one_by_one(joints: dict[str, float]) -> None:
    sim, standing, control = robot(**joints)
    rng = np.random.default_rng(5)
    batches = [states(sim, standing, kind, 9) for kind in KINDS]
    order = rng.permutation(9 * len(KINDS))  # neighbours in a pack are of all kinds
    state = sim.state(
        len(order),
        q=np.concatenate([s.q for s in batches])[order],
        v=np.concatenate([s.v for s in batches])[order],
    )
    for _ in range(3):
        w = rng.normal(size=(len(order), 36))
        together = gradients(sim, state, control, w)
        scale = np.abs(together).max(axis=1, keepdims=True)
        assert scale.min() > 0
        np.testing.assert_allclose(
            together / scale, gradients(sim, state, control, w, "friction") / scale, rtol=0, atol=1e-11
        )
        for k in (0, 13, 40):
            alone = gradients(sim, sim.state(1, q=state.q[k : k + 1], v=state.v[k : k + 1]), control, w[k : k + 1])
            again = gradients(sim, sim.state(len(order), q=state.q, v=state.v), control, w)
            np.testing.assert_array_equal(alone[0], again[k])
        state = sim.step(state, control=control)


@pytest.mark.parametrize("kind", ["standing", "sliding"])
def test_gradients_together_are_those_of_the_matrices(kind: Kind) -> None:
    sim, standing, control = robot()
    state = sim.rollout(states(sim, standing, kind, 5), control=control, n_steps=3).final
    w = np.random.default_rng(6).normal(size=(5, 36))
    d = sim.step_derivatives(state, control=control, wrt=("q", "v", "tau", "control"))
    columns = np.concatenate([np.concatenate([d.dq[x], d.dv[x]], axis=1) for x in d.dq], axis=2)
    expected = np.einsum("bi,bij->bj", w, columns)
    np.testing.assert_allclose(gradients(sim, state, control, w), expected, rtol=1e-10, atol=1e-10)


def test_gradients_together_through_dry_joints() -> None:
    description = fw.models.quadruped().description
    joints = tuple(
        replace(joint, friction=np.array([0.5])) if joint.friction is not None else joint
        for joint in description.joints
    )
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    part = scene.add(fw.Model(replace(description, joints=joints)), name="r", pose=(0, 0, 0.45))
    scene.servo(part, kp=60.0, kd=4.0)
    sim = fw.Simulator(scene, dt=2e-3, integrator="implicit", solver=fw.Newton(tolerance=1e-13))
    control = np.tile([0.0, 0.7, -1.4], 4)
    state = sim.rollout(sim.state(9, q=np.r_[sim.scene.q0[:7], control]), control=control, n_steps=300).final
    rng = np.random.default_rng(7)
    state = sim.state(9, q=state.q, v=rng.normal(scale=0.02, size=(9, 18)) * (rng.random((9, 18)) < 0.5))
    w = rng.normal(size=(9, 36))
    np.testing.assert_allclose(
        gradients(sim, state, control, w), gradients(sim, state, control, w, "friction"), rtol=1e-9, atol=1e-11
    )
