"""Motions with known answers: falling, swinging, tumbling; momentum and energy over time."""

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.forests import Forest, LinkPlan

import featherweight as fw
from featherweight import Inertia, ModelDescription
from featherweight.arrays import Array
from featherweight.model.description import Joint, Link
from featherweight.reference.spatial import quaternion_product, quaternion_rotation


def free_body(inertia: Inertia, gravity: float = 9.81) -> fw.Model:
    joint = Joint("flight", "free", "world", "body")
    return fw.Model(ModelDescription("body", (Link("body", inertia),), (joint,), gravity=np.array([0, 0, -gravity])))


def configuration_rate(model: fw.Model, q: Array, v: Array) -> Array:
    """dq/dt as numbers: quaternions and positions of free joints change with the body velocity, the rest is v."""
    rate = np.zeros(model.nq)
    for joint in model.joints:
        q_j, v_j, dq = q[joint.q_slice], v[joint.v_slice], rate[joint.q_slice]
        if joint.type in ("free", "spherical"):
            dq[-4:] = quaternion_product(q_j[-4:], np.append(v_j[-3:], 0.0)) / 2
            dq[:-4] = quaternion_rotation(q_j[-4:]) @ v_j[:3] if joint.type == "free" else 0.0
        else:
            dq[:] = v_j
    return rate


def simulate(model: fw.Model, q: Array, v: Array, duration: float, steps: int) -> tuple[Array, Array]:
    """Classical fourth-order Runge-Kutta of the unforced motion."""
    h, tau = duration / steps, np.zeros(model.nv)

    def rate(x: Array) -> Array:
        q, v = x[: model.nq], x[model.nq :]
        for joint in model.joints:  # stages leave the unit sphere a little
            if joint.type in ("free", "spherical"):
                q = q.copy()
                q[joint.q_slice][-4:] /= np.linalg.norm(q[joint.q_slice][-4:])
        return np.concatenate([configuration_rate(model, q, v), fw.aba(model, q, v, tau)])

    x = np.concatenate([q, v])
    for _ in range(steps):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        k4 = rate(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x[: model.nq], x[model.nq :]


def test_stone_falls_with_gravity_whatever_its_attitude() -> None:
    model = free_body(Inertia(2.0, np.array([0.1, -0.2, 0.3]), np.diag([0.1, 0.2, 0.25])))
    rng = np.random.default_rng(0)
    for q in model.random(rng, batch=10):
        a = fw.aba(model, q, np.zeros(6), np.zeros(6))
        assert_close(quaternion_rotation(q[3:]) @ a[:3], [0, 0, -9.81], 1e-14)
        assert_close(a[3:], np.zeros(3), 1e-14)


def test_thrown_body_follows_a_parabola() -> None:
    model = free_body(Inertia(0.5, np.zeros(3), np.diag([0.01, 0.02, 0.025])))
    v = np.array([3.0, 0, 4.0, 1.0, 2.0, -3.0])
    q, _ = simulate(model, model.neutral(), v, duration=1.0, steps=1000)
    assert_close(q[:3], [3.0, 0.0, 4.0 - 9.81 / 2], 1e-10)


def test_pendulum_released_horizontally_swings_back_in_its_period() -> None:
    bob = Link("bob", Inertia(1.0, np.array([0, 0, -1.0]), np.zeros((3, 3))))
    hinge = Joint("hinge", "revolute", "world", "bob", axis=np.array([0, 1.0, 0]))
    model = fw.Model(ModelDescription("pendulum", (bob,), (hinge,)))
    period = 2.367841947576237  # 4 K(sin(pi/4)) sqrt(L/g), K the complete elliptic integral
    start = np.array([np.pi / 2])
    half, _ = simulate(model, start, np.zeros(1), period / 2, steps=1000)
    whole, v = simulate(model, start, np.zeros(1), period, steps=2000)
    assert_close(half, -start, 1e-10)
    assert_close(whole, start, 1e-10)
    assert_close(v, np.zeros(1), 1e-9)


def test_tumbling_body_flips_with_the_dzhanibekov_period() -> None:
    model = free_body(Inertia(1.0, np.zeros(3), np.diag([1.0, 2.0, 3.0])), gravity=0.0)
    v = np.array([0, 0, 0, 0.01, 5.0, 0])
    period = 10.532110248183
    _, quarter = simulate(model, model.neutral(), v, period / 4, steps=1000)
    _, half = simulate(model, model.neutral(), v, period / 2, steps=2000)
    assert abs(quarter[4]) < 1e-8
    assert_close(half[4], -5.0, 1e-9)


def test_torque_free_body_keeps_its_angular_momentum_and_energy() -> None:
    model = free_body(Inertia(1.0, np.array([0.3, 0.1, -0.2]), np.diag([1.0, 2.0, 2.5])), gravity=0.0)
    q, v = model.neutral(), np.array([0.5, -0.3, 0.2, 1.0, 3.0, -2.0])
    q1, v1 = simulate(model, q, v, duration=5.0, steps=5000)
    assert_close(fw.centroidal_momentum(model, q1, v1), fw.centroidal_momentum(model, q, v), 1e-10)
    assert_close(fw.kinetic_energy(model, q1, v1), fw.kinetic_energy(model, q, v), 1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_floating_robot_in_vacuum_keeps_momentum_and_energy(seed: int) -> None:
    limbs = [LinkPlan("revolute", axis=axis, placement="shifted", armature=True) for axis in ("+x", "+y", "tilted")]
    forest = Forest((LinkPlan("free"), *limbs, LinkPlan("spherical", up=2, placement="general")), seed)
    description = forest.description
    weightless = ModelDescription("space", description.links, description.joints, gravity=np.zeros(3))
    model, s = fw.Model(weightless), forest.state()
    q1, v1 = simulate(model, s.q, s.v, duration=1.0, steps=1000)
    assert_close(fw.kinetic_energy(model, q1, v1), fw.kinetic_energy(model, s.q, s.v), 1e-8)
    # rotors behind an armature take part in the momentum along their joint only, which is not counted
    light = [
        Joint(j.name, j.type, j.parent, j.child, j.placement, j.child_placement, j.axis) for j in description.joints
    ]
    model = fw.Model(ModelDescription("space", description.links, tuple(light), gravity=np.zeros(3)))
    q1, v1 = simulate(model, s.q, s.v, duration=1.0, steps=1000)
    assert_close(fw.centroidal_momentum(model, q1, v1), fw.centroidal_momentum(model, s.q, s.v), 1e-8)


def test_energy_of_a_swinging_robot_is_conserved() -> None:
    model = fw.models.arm()
    q, v = model.neutral() + 0.4, np.zeros(model.nv)

    def energy(q: Array, v: Array) -> Array:
        return np.asarray(fw.kinetic_energy(model, q, v) + fw.potential_energy(model, q))

    q1, v1 = simulate(model, q, v, duration=0.5, steps=2000)
    assert np.max(np.abs(v1)) > 0.1
    assert_close(energy(q1, v1), energy(q, v), 1e-7)


def test_heavy_top_precesses_steadily() -> None:
    """Spin s, tilt t, precession p with I3 (s + p cos t) p - I1 p^2 cos t = m g l: nothing else accelerates."""
    m, g, length, i1, i3 = 1.0, 9.81, 0.5, 0.35, 0.1
    tilt, p = 0.6, 1.5
    spin = (m * g * length / p + i1 * p * np.cos(tilt)) / i3 - p * np.cos(tilt)
    about_com = np.diag([i1 - m * length**2, i1 - m * length**2, i3])
    top = Link("top", Inertia(m, np.array([0, 0, length]), about_com))
    model = fw.Model(ModelDescription("top", (top,), (Joint("tip", "spherical", "world", "top"),)))
    q = np.array([0.0, np.sin(tilt / 2), 0.0, np.cos(tilt / 2)])  # tilted about y
    w = quaternion_rotation(q).T @ np.array([0, 0, p]) + np.array([0, 0, spin])
    # in the body, w = p e_z turned back by the spin, plus the constant spin: dw/dt = (w_p) x (s z)
    expected = np.cross(w - [0, 0, spin], [0, 0, spin])
    assert_close(fw.aba(model, q, w, np.zeros(3)), expected, 1e-12)


def test_external_force_at_the_centre_of_mass_pushes_without_turning() -> None:
    com = np.array([0.1, 0.2, 0.3])
    model = free_body(Inertia(2.0, com, np.diag([0.1, 0.2, 0.25])), gravity=0.0)
    force = np.array([3.0, -1.0, 2.0])
    f_ext = np.concatenate([force, np.cross(com, force)])[None]
    a = fw.aba(model, model.neutral(), np.zeros(6), np.zeros(6), f_ext)
    assert_close(a, np.concatenate([force / 2.0, np.zeros(3)]), 1e-14)
