"""Bodies that turn fast in empty space keep their energy and momentum, however they are built."""

from __future__ import annotations

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array

AXIS = np.array([0.3, 0.9, 0.2]) / np.linalg.norm([0.3, 0.9, 0.2])


def body(mass: float, inertia: Array, com: tuple[float, float, float], armature: float = 0.0) -> fw.Model:
    """On a free joint."""
    builder = fw.ModelBuilder("body")
    builder.link("body", mass=mass, inertia=np.asarray(inertia), com=com)
    builder.joint("root", "free", "world", "body", armature=armature)
    return builder.build()


def drift(model: fw.Model, v: Array, dt: float, seconds: float, **options: object) -> tuple[float, float, float]:
    """Largest changes of kinetic energy and angular momentum, relative, and of the path of the mass from a line [m]."""
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(model, name="body", self_collision=False)
    sim = fw.Simulator(scene, dt=dt, **options)  # type: ignore[arg-type]
    start = sim.state(v=v)
    motion = sim.rollout(start, n_steps=round(seconds / dt))
    q, v = np.vstack([start.q, motion.q]), np.vstack([start.v, motion.v])
    energy, momentum = fw.kinetic_energy(sim.model, q, v), fw.centroidal_momentum(sim.model, q, v)
    center = fw.center_of_mass(sim.model, q)
    line = center[0] + np.outer(dt * np.arange(len(q)), momentum[0, :3] / model.mass)
    change = np.linalg.norm(momentum[:, 3:] - momentum[0, 3:], axis=1).max()
    return (
        float(np.abs(energy / energy[0] - 1).max()),
        float(change / np.linalg.norm(momentum[0, 3:])),
        float(np.abs(center - line).max()),
    )


BOX = np.diag([0.13, 0.10, 0.05]) / 12
KINDS = {
    "box": (1.0, BOX, (0.0, 0.0, 0.0)),
    "offset": (1.0, BOX, (0.4, -0.3, 0.2)),
    "rod": (0.1, np.diag([1.0, 1.0, 1e-6]), (0.0, 0.1, 0.0)),
    "disc": (3.0, np.diag([0.5, 0.5 + 1e-9, 1.0]), (0.0, 0.0, 0.0)),
    "plate": (1.0, np.diag([1.0, 0.1, 1.1]), (0.0, 0.0, 0.0)),
    "turned": (1.0, np.array([[3.0, 0.7, -0.4], [0.7, 2.0, 0.5], [-0.4, 0.5, 2.5]]), (0.0, 0.0, 0.1)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("speed", [0.5, 60.0, 300.0, 2000.0])
def test_a_tumbling_body_keeps_energy_momentum_and_course(kind: str, speed: float) -> None:
    """Both are quadratic, which the midpoint rule conserves: rounding of 5000 steps, a thousandfold for the rod."""
    v = np.concatenate([(0.5, -1.0, 2.0), speed * AXIS])
    energy, momentum, course = drift(body(*KINDS[kind]), v, 2e-3, 10.0)
    assert energy < 1e-10
    assert momentum < 1e-10 * max(1.0, speed / 1000), "fast turns are rounded more, and more so without fused products"
    assert course < 1e-10 * max(1.0, speed / 100), "half a metre of arm, and rounding of the turns"


def test_what_spins_about_a_principal_axis_turns_as_far_as_it_should() -> None:
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(body(1.0, BOX, (0, 0, 0)), name="body")
    sim = fw.Simulator(scene, dt=2e-3)
    end = sim.rollout(sim.state(v=[0, 0, 0, 0, 0, 100.0]), n_steps=1000).final
    assert abs(np.angle(np.exp(1j * (2 * np.arctan2(end.q[5], end.q[6]) - 200.0)))) < 1e-9


def test_many_bodies_and_gravity_change_nothing() -> None:
    """Each environment spins at another rate: slow ones keep their bits beside fast ones."""
    scene = fw.Scene()
    for k in range(5):
        scene.add(fw.box((0.1, 0.2, 0.3)), name=f"box_{k}", pose=(k, 0, 100))
    scene.add(fw.models.quadruped(), name="robot", pose=(0, 3, 100))
    sim = fw.Simulator(scene, dt=1e-3)
    speeds = np.array([0.0, 300.0, 1e-4, 3.0, 40.0, 0.1, 1.0, 150.0, 7.0])
    v = np.zeros((len(speeds), sim.model.nv))
    for k in range(5):
        v[:, 6 * k + 3 : 6 * k + 6] = np.outer(speeds, AXIS) * (k + 1) / 5
    v[:, 33:36] = 0.1 * np.outer(speeds, AXIS)
    many = sim.rollout(sim.state(batch=len(speeds), v=v), n_steps=50)
    for k in (0, 1, 3, 8):
        alone = sim.rollout(sim.state(v=v[k]), n_steps=50)
        np.testing.assert_array_equal(alone.q, many.q[k])
        np.testing.assert_array_equal(alone.v, many.v[k])
    spins = many.v[..., :30].reshape(len(speeds), 50, 5, 6)[..., 3:]
    inertia = 1000 * 0.1 * 0.2 * 0.3 / 12 * np.array([0.13, 0.10, 0.05])  # of boxes as dense as water
    energy = (inertia * spins**2).sum(axis=-1)
    np.testing.assert_allclose(energy, energy[:, :1] + np.zeros((1, 50, 1)), rtol=1e-12, atol=1e-20)


def top(spin: float, dt: float, seconds: float, gravity: float) -> tuple[float, float]:
    """A top on a ball joint, nearly upright: largest error of its energy, relative, and its rate of precession."""
    builder = fw.ModelBuilder("top")
    builder.link("top", mass=1.0, inertia=np.diag([0.01, 0.01, 0.02]), com=(0, 0, 0.1))
    builder.joint("ball", "spherical", "world", "top")
    scene = fw.Scene(gravity=(0, 0, -gravity))
    scene.add(builder.build(), name="top", self_collision=False)
    sim = fw.Simulator(scene, dt=dt)
    tilt = 0.3
    q = [np.sin(tilt / 2), 0, 0, np.cos(tilt / 2)]
    steady = gravity * 0.1 / (0.02 * spin)  # about the vertical, for fast spin
    v = [0, steady * np.sin(tilt), spin + steady * np.cos(tilt)]
    motion = sim.rollout(sim.state(q=q, v=v), n_steps=round(seconds / dt))
    energy = fw.kinetic_energy(sim.model, motion.q, motion.v) + fw.potential_energy(sim.model, motion.q)
    axis = fw.frame_placement(sim.model, motion.q, "top/top")[:, :3, 2]
    azimuth = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
    return float(np.abs(energy / energy[0] - 1).max()), float((azimuth[-1] - azimuth[0]) / (seconds - dt))


def test_a_top_on_a_ball_joint_precesses() -> None:
    energy, rate = top(150.0, 1e-3, 10.0, 9.81)
    assert energy < 1e-5
    assert rate == pytest.approx(9.81 * 0.1 / (0.02 * 150.0), rel=2e-2)  # mean of fast nutations, as tilted as it is
    assert top(300.0, 2e-3, 10.0, 0.0)[0] < 1e-9, "weightless, nothing changes its energy"


def test_a_light_top_keeps_its_energy_while_gravity_turns_it() -> None:
    """Its nutation is as fast as its spin: what gravity adds in a step must be turned with the rest."""
    builder = fw.ModelBuilder("top")
    disc = np.diag([0.000625 + 1e-4 / 3, 0.000625 + 1e-4 / 3, 0.00125])
    builder.link("disc", mass=1.0, inertia=disc, com=(0, 0, 0.1))
    builder.joint("tip", "spherical", "world", "disc")
    scene = fw.Scene()
    scene.add(builder.build(), name="top")
    sim = fw.Simulator(scene, dt=1e-3)
    start = sim.state(q=[np.sin(0.1), 0.0, 0.0, np.cos(0.1)], v=[0.0, 0.0, 150.0])
    motion = sim.rollout(start, n_steps=10_000)
    energy = fw.kinetic_energy(sim.model, motion.q, motion.v) + fw.potential_energy(sim.model, motion.q)
    first = fw.kinetic_energy(sim.model, start.q, start.v) + fw.potential_energy(sim.model, start.q)
    assert np.abs(energy / first - 1.0).max() < 1e-3


def test_a_gyroscope_in_gimbals_does_not_explode() -> None:
    """A wheel on two hinges: axes, no ball joint. Explicit, its nutation grows e-fold in 60 ms."""
    builder = fw.ModelBuilder("gyroscope")
    parent = "world"
    for name, axis in (("outer", "z"), ("inner", "x"), ("wheel", "y")):
        heavy = name == "wheel"
        builder.link(name, mass=0.1, inertia=np.diag([0.005, 0.01, 0.005]) if heavy else 1e-4 * np.eye(3))
        builder.joint(name, "continuous", parent, name, axis=axis)
        parent = name
    energy, _, _ = drift(builder.build(), np.array([0.3, 0.2, 100.0]), 1e-3, 10.0)
    assert energy < 1e-5


def test_a_floating_tree_that_tumbles_keeps_its_energy() -> None:
    """A box with an arm that turns freely. Of first order in dt, and without a trend."""
    builder = fw.ModelBuilder("tree")
    builder.link("base", mass=2.0, inertia=0.1 * np.diag([1.3, 1.0, 0.5]))
    builder.joint("root", "free", "world", "base")
    builder.link("arm", mass=0.3, inertia=np.diag([0.01, 0.01, 0.001]), com=(0, 0, 0.1))
    builder.joint("hinge", "continuous", "base", "arm", placement=(0.1, 0, 0.2), axis="x")
    v = np.concatenate([np.zeros(3), 20.0 * AXIS, [1.0]])
    energy, _, _ = drift(builder.build(), v, 2e-3, 10.0)
    assert energy < 0.1


def test_armature_of_a_free_joint_does_not_bend_a_course() -> None:
    """It is a mass at the origin of the link, and inertia about it: the centre of both together goes straight."""
    mass, armature, com = 2.0, 0.7, np.array([0.2, -0.1, 0.3])
    model = body(mass, BOX, tuple(com), armature)
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(model, name="body")
    for dt in (1e-3, 4e-3):
        sim = fw.Simulator(scene, dt=dt)
        start = sim.state(v=np.concatenate([(0.5, -1.0, 2.0), 40.0 * AXIS]))
        motion = sim.rollout(start, n_steps=1000)
        center = fw.frame_placement(sim.model, motion.q, "body/body") @ np.append(com * mass / (mass + armature), 1)
        steps = np.diff(center[:, :3], axis=0)
        assert np.abs(steps - steps[0]).max() < 1e-13 * 4 / 1e-3 * dt * 1e3
        energy = fw.kinetic_energy(sim.model, motion.q, motion.v)
        assert np.abs(energy / energy[0] - 1).max() < 1e-11
