"""Andrews' squeezer: seven bodies and three loops in a plane, driven at 1000 rad/s, with a published solution."""

from __future__ import annotations

import numpy as np

import featherweight as fw
from featherweight.arrays import Array

A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), np.array((0.014, 0.072))
MOMENT, STIFFNESS, REST = 0.033, 4530.0, 0.07785
SPRING = np.array((0.02, -0.018))  # where it acts on the third body
#: Joint by joint: parent, placement there, centre of mass, mass, inertia about it.
BODIES: dict[str, tuple[str, tuple[float, float], tuple[float, float], float, float]] = {
    "beta": ("world", (0.0, 0.0), (0.00092, 0.0), 0.04325, 2.194e-6),
    "theta": ("beta", (0.007, 0.0), (-0.0115, 0.0), 0.00365, 4.410e-7),
    "gamma": ("world", B, (0.01874, 0.01043), 0.02373, 5.255e-6),
    "delta": ("world", A, (0.02308, 0.00916), 0.07050, 1.169e-5),
    "phi": ("delta", (0.04, 0.0), (0.0, -(0.02 - 0.01421)), 0.00706, 5.667e-7),
    "epsilon": ("world", A, (-0.01228, 0.00449), 0.05498, 1.912e-5),
    "omega": ("epsilon", (0.0, -0.04), (0.02 - 0.01421, 0.0), 0.00706, 5.667e-7),
}
START = {
    "beta": -0.0617138900142764496,
    "theta": 0.0,
    "gamma": 0.455279819163070380,
    "phi": 0.222668390165885885,
    "delta": 0.487364979543842550,
    "omega": -0.222668390165885885,
    "epsilon": 1.23054744454982119,
}
#: After 0.03 s.
END = {
    "beta": 15.81077119629904,
    "theta": -15.75637105984298,
    "gamma": 0.04082224013073101,
    "phi": -0.5347301163226948,
    "delta": 0.5244099658805304,
    "omega": 0.5347301163226948,
    "epsilon": 1.048080741042263,
}


def squeezer() -> tuple[fw.Model, fw.ConstraintSet]:
    """Three bodies end where the second does."""
    builder = fw.ModelBuilder("squeezer", gravity=(0.0, 0.0, 0.0))
    for name, (parent, at, com, mass, inertia) in BODIES.items():
        builder.link(name, mass=mass, com=(*com, 0.0), inertia=(inertia, inertia, inertia))
        builder.joint(name, "continuous", parent, name, placement=(*at, 0.0), axis="z")
    ends = {"gamma": (0.0, -0.035, 0.0), "phi": (0.0, -0.02, 0.0), "omega": (0.02, 0.0, 0.0)}
    pins = [fw.PointConstraint("theta", ("x", "y"), (-0.028, 0.0, 0.0), to=to, to_offset=at) for to, at in ends.items()]
    model = builder.build()
    return model, fw.ConstraintSet(model, pins)


def in_order(model: fw.Model, angles: dict[str, float]) -> Array:
    return np.array([angles[joint.name] for joint in model.joints])


def forces(model: fw.Model, q: Array) -> Array:
    """Of the motor, and of the spring, which turns the third body about its pivot."""
    tau = np.zeros(model.nv)
    tau[model.joint("beta").v_slice] = MOMENT
    angle = float(q[model.joint("gamma").q_slice][0])
    turned = np.array(((np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle)))) @ SPRING
    apart = turned + B - C
    length = float(np.hypot(*apart))
    x, y = -STIFFNESS * (length - REST) / length * apart
    tau[model.joint("gamma").v_slice] = turned[0] * y - turned[1] * x
    return tau


def test_it_starts_as_published() -> None:
    model, pins = squeezer()
    q = in_order(model, START)
    assert fw.loop_error(model, q, pins).max() < 1e-15
    assert int(fw.mobility(model, q, pins).dof) == 1
    a = fw.constrained_dynamics(model, q, np.zeros(model.nv), forces(model, q), pins).a
    found = [float(a[model.joint(name).v_slice][0]) for name in ("beta", "theta")]
    np.testing.assert_allclose(found, [14222.4439199541139, -10666.8329399655854], rtol=1e-11)


def test_it_ends_as_published() -> None:
    """After two and a half turns of the crank, by Runge and Kutta's rule, without feedback against drift."""
    model, pins = squeezer()
    q, v, h = in_order(model, START), np.zeros(model.nv), 1e-5

    def accelerations(q: Array, v: Array) -> Array:
        return fw.constrained_dynamics(model, q, v, forces(model, q), pins).a

    for _ in range(3000):
        a1 = accelerations(q, v)
        a2 = accelerations(q + 0.5 * h * v, v + 0.5 * h * a1)
        a3 = accelerations(q + 0.5 * h * v + 0.25 * h**2 * a1, v + 0.5 * h * a2)
        a4 = accelerations(q + h * v + 0.5 * h**2 * a2, v + h * a3)
        q, v = q + h * v + h**2 / 6 * (a1 + a2 + a3), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    assert np.abs(q - in_order(model, END)).max() < 1e-6
    assert fw.loop_error(model, q, pins).max() < 1e-9
