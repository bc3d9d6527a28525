"""Environments of one batch with parameters of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close, assert_same_bits

import featherweight as fw
from featherweight import Inertia
from featherweight.arrays import Array
from featherweight.simulation.core_arguments import Integrator


def block_on_a_slope() -> fw.Simulator:
    """At 0.3 rad with friction 0.5: sticks, and slides when friction is halved."""
    scene = fw.Scene(ground=fw.Plane(friction=0.5), gravity=9.81 * np.array([np.sin(0.3), 0.0, -np.cos(0.3)]))
    scene.add(fw.box((0.2, 0.2, 0.1)), name="block", pose=(0, 0, 0.05))
    return fw.Simulator(scene, dt=2e-3)


def walker(factors: Array | None = None) -> fw.Model:
    """A free trunk with a load welded to it, a tail on a ball, and two legs; factors on its links' masses."""
    builder = fw.ModelBuilder("walker")
    builder.solid("trunk", "box", (0.4, 0.2, 0.1), mass=4.0, placement=(0.02, 0.01, 0))
    builder.joint("root", "free", "world", "trunk")
    builder.solid("load", "box", (0.1, 0.1, 0.1), mass=1.0)
    builder.joint("weld", "fixed", "trunk", "load", placement=fw.pose((0.1, 0.03, 0.1), rpy=(0.2, 0.3, 0.4)))
    builder.solid("tail", "capsule", (0.03, 0.2), mass=0.3, placement=(0, 0, -0.15))
    builder.joint("tail", "spherical", "trunk", "tail", placement=(-0.25, 0, 0), damping=0.01)
    for side, y in (("left", 0.12), ("right", -0.12)):
        builder.solid(side, "capsule", (0.03, 0.2), mass=0.8, placement=(0, 0, -0.13))
        placement = fw.pose((0.0, y, -0.05), rpy=(0.1, 0, 0))
        builder.joint(side, "revolute", "trunk", side, axis="y", placement=placement, armature=0.01, lower=-1, upper=1)
        builder.link(f"{side}_foot", mass=0.2, com=(0.01, 0, 0), inertia=(1e-3, 2e-3, 2e-3))
        builder.joint(f"{side}_foot", "fixed", side, f"{side}_foot", placement=(0, 0, -0.26))
    description = builder.describe()
    if factors is None:
        return fw.Model(description)
    links = []
    for link, f in zip(description.links, factors, strict=True):
        body = link.inertia
        assert body is not None
        links.append(replace(link, inertia=Inertia(f * body.mass, body.com, f * body.matrix)))
    return fw.Model(replace(description, links=tuple(links)))


N_LINKS = 7


def scene(
    *,
    gravity: Any = (0.0, 0.0, -9.81),
    factors: Array | None = None,
    gain: float = 1.0,
    heights: Array | None = None,
    effort: float | None = None,
) -> fw.Scene:
    """The walker on bumpy ground, with servos."""
    ground = fw.HeightField(bumps(0) if heights is None else heights, (2.0, 1.5), friction=0.7)
    result = fw.Scene(ground=ground, gravity=gravity)
    robot = result.add(walker(factors), name="w", pose=fw.pose((0.05, 0.02, 0.45), rpy=(0.1, 0.05, 0.3)))
    options = {} if effort is None else {"effort": effort}
    result.servo([robot.joint("left"), robot.joint("right")], kp=30.0 * gain, kd=0.5 * gain, **options)
    return result


def bumps(seed: int) -> Array:
    return np.asarray(0.1 * np.random.default_rng(seed).uniform(-1, 0.5, (9, 7)))


def started(sim: fw.Simulator, batch: int) -> fw.State:
    v = np.stack([0.3 * np.random.default_rng([3, k]).normal(size=sim.model.nv) for k in range(batch)])
    return sim.state(batch, v=v)


def assert_each_as_alone(
    batch: fw.State, alone: Callable[[int], fw.Simulator], steps: int, control: Array, tolerance: float = 0.0
) -> None:
    """Every environment of the batch does what a scene built with its parameters does; touching the ground."""
    final = batch.simulator.rollout(batch, control=control, n_steps=steps).final
    assert len(final.contacts) > 0 and not final.failed.any()
    for k in range(batch.batch_size):
        sim = alone(k)
        own = sim.rollout(sim.state(q=batch.q[k], v=batch.v[k]), control=control, n_steps=steps).final
        mine = final.contacts.environment == k
        for what, got, want in (
            ("q", final.q[k], own.q),
            ("v", final.v[k], own.v),
            ("acceleration", final.acceleration[k], own.acceleration),
            ("impulse", final.contacts.impulse[mine], own.contacts.impulse),
        ):
            if tolerance == 0.0:
                assert_same_bits(got, want, f"{what} of environment {k}")
            else:
                assert_close(got, want, tolerance, f"{what} of environment {k}")


INTEGRATORS: list[Integrator] = ["semi_implicit", "implicit"]
CONTROL = np.array([0.2, -0.1])


# -- one by one ----------------------------------------------------------------------------------------------------


def test_friction_of_each_environment() -> None:
    sim = block_on_a_slope()
    state = sim.state(batch=5).randomised(friction=[1.0, 0.5, 1.0, 0.0, 0.25])
    final = sim.rollout(state, n_steps=250).final
    expected = [9.81 * max(0.0, np.sin(0.3) - mu * np.cos(0.3)) * 0.5 for mu in (0.5, 0.25, 0.5, 0.0, 0.125)]
    np.testing.assert_allclose(final.v[:, 0], expected, rtol=1e-8, atol=1e-9)


def test_gains_of_each_environment() -> None:
    """A motor on a free axis turns in proportion."""
    builder = fw.ModelBuilder("wheel")
    builder.solid("wheel", "cylinder", (0.1, 0.02), mass=1.0)
    builder.joint("axle", "continuous", "world", "wheel", axis=(0, 0, 1))
    builder.actuator("motor", "axle", kind="motor")
    sim = fw.Simulator(builder.build(), dt=1e-3)
    state = sim.state(batch=3).randomised(gains=[1.0, 2.0, 0.0])
    v = sim.rollout(state, control=[0.1], n_steps=100).final.v[:, 0]
    np.testing.assert_allclose(v, v[0] * np.array([1.0, 2.0, 0.0]), rtol=1e-12)
    assert v[0] > 0.0


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_gravity_of_each_environment(integrator: Integrator) -> None:
    gravity = np.array([[0, 0, -9.81], [1.0, 2.0, -9.0], [0, 0, -1.62], [0.5, 0, -25.0], [0, 0, -9.81]])
    sim = fw.Simulator(scene(), dt=2e-3, integrator=integrator)
    assert_each_as_alone(
        started(sim, 5).randomised(gravity=gravity),
        lambda k: fw.Simulator(scene(gravity=gravity[k]), dt=2e-3, integrator=integrator),
        150,
        CONTROL,
    )


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_masses_of_each_environment(integrator: Integrator) -> None:
    """Powers of two round nothing: the same bits, through welded links and contacts."""
    factors = 2.0 ** np.random.default_rng(0).integers(-2, 3, (5, N_LINKS))
    factors[1] = 1.0
    sim = fw.Simulator(scene(), dt=2e-3, integrator=integrator)
    assert_each_as_alone(
        started(sim, 5).randomised(masses=factors),
        lambda k: fw.Simulator(scene(factors=factors[k]), dt=2e-3, integrator=integrator),
        150,
        CONTROL,
    )


def test_masses_by_any_factor() -> None:
    """Rounded in another order than in a scene built with them."""
    factors = np.random.default_rng(1).uniform(0.5, 2.0, (5, N_LINKS))
    sim = fw.Simulator(scene(), dt=2e-3)
    state = started(sim, 5).replace(q=lowered(sim)).randomised(masses=factors)
    assert_each_as_alone(state, lambda k: fw.Simulator(scene(factors=factors[k]), dt=2e-3), 5, CONTROL, 1e-11)


def lowered(sim: fw.Simulator) -> Array:
    """Feet near the ground, so that it touches within a few steps."""
    q = sim.scene.q0.copy()
    q[2] = 0.27
    return q


@pytest.mark.parametrize("effort", [None, 3.0], ids=["unlimited", "limited"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_gains_as_of_servos_built_with_them(integrator: Integrator, effort: float | None) -> None:
    gains = np.array([1.0, 4.0, 0.25, 2.0, 0.5])
    sim = fw.Simulator(scene(effort=effort), dt=2e-3, integrator=integrator)
    assert_each_as_alone(
        started(sim, 5).randomised(gains=gains),
        lambda k: fw.Simulator(scene(gain=gains[k], effort=effort), dt=2e-3, integrator=integrator),
        150,
        CONTROL,
    )


@pytest.mark.parametrize("effort", [None, 3.0], ids=["unlimited", "limited"])
def test_implicit_servos_without_gains_have_no_force(effort: float | None) -> None:
    sim = fw.Simulator(scene(effort=effort), dt=2e-3, integrator="implicit")
    lame = sim.rollout(started(sim, 2).randomised(gains=[0.0, 1.0]), control=CONTROL, n_steps=100).final
    passive = fw.Simulator(scene(gain=0.0), dt=2e-3, integrator="implicit")
    alone = passive.rollout(passive.state(v=started(sim, 2).v[0]), control=CONTROL, n_steps=100).final
    assert_close(lame.q[0], alone.q, 1e-9)
    assert not lame.failed.any() and np.abs(lame.q[1] - lame.q[0]).max() > 1e-2


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_heights_of_each_environment(integrator: Integrator) -> None:
    heights = np.stack([bumps(k) - 0.3 * (k == 3) for k in range(5)])
    sim = fw.Simulator(scene(), dt=2e-3, integrator=integrator)
    assert_each_as_alone(
        started(sim, 5).randomised(heights={"ground": heights}),
        lambda k: fw.Simulator(scene(heights=heights[k]), dt=2e-3, integrator=integrator),
        250,
        CONTROL,
    )


def test_ground_that_rises_above_the_bounds_of_the_scenes() -> None:
    """A plateau far above the height field it replaces carries what stands on it."""
    world = fw.Scene(ground=fw.HeightField(np.zeros((3, 3)), (4.0, 4.0)))
    world.add(fw.sphere(0.1), name="ball", pose=(0.3, 0.2, 6.1))
    sim = fw.Simulator(world, dt=2e-3)
    heights = np.stack([np.full((3, 3), 6.0), np.zeros((3, 3))])
    final = sim.rollout(sim.state(2).randomised(heights={"ground": heights}), n_steps=200).final
    assert abs(final.q[0, 2] - 6.1) < 1e-9
    assert final.q[1, 2] < 5.5


def test_heights_where_pairs_are_swept() -> None:
    """So many shapes that pairs are not listed."""

    def many(heights: Array) -> fw.Simulator:
        world = fw.Scene(ground=fw.HeightField(heights, (4.0, 4.0)))
        for k in range(100):
            world.add(fw.sphere(0.05), name=f"ball_{k}", pose=(0.3 * (k % 10) - 1.4, 0.3 * (k // 10) - 1.4, 0.12))
        return fw.Simulator(world, dt=2e-3)

    heights = np.stack([bumps(k) for k in range(3)])
    sim = many(np.zeros((9, 7)))
    assert sim.scene.pair_table() is None
    final = sim.rollout(sim.state(3).randomised(heights={"ground": heights}), n_steps=60).final
    for k in range(3):
        alone = many(heights[k])
        assert_same_bits(final.q[k], alone.rollout(alone.state(), n_steps=60).final.q, f"environment {k}")
    assert len(final.contacts) > 20


def test_rk4_with_gravity_masses_and_gains() -> None:
    factors = 2.0 ** np.random.default_rng(0).integers(-2, 3, (3, N_LINKS))
    gravity = np.array([[0, 0, -9.81], [1.0, 2.0, -9.0], [0, 0, 0.0]])

    def flying(k: int | None) -> fw.Simulator:
        own = scene() if k is None else scene(gravity=gravity[k], factors=factors[k], gain=2.0**k)
        description = own.compile().model.description
        links = tuple(replace(link, geometries=()) for link in description.links)
        joints = tuple(replace(joint, lower=None, upper=None) for joint in description.joints)
        return fw.Simulator(fw.Model(replace(description, links=links, joints=joints)), dt=5e-3, integrator="rk4")

    sim = flying(None)
    state = started(sim, 3).randomised(gravity=gravity, masses=factors, gains=2.0 ** np.arange(3))
    final = sim.rollout(state, control=CONTROL, n_steps=50).final
    for k in range(3):
        alone = flying(k)
        own = alone.rollout(alone.state(q=state.q[k], v=state.v[k]), control=CONTROL, n_steps=50).final
        assert_same_bits(final.q[k], own.q, f"environment {k}")


# -- together ------------------------------------------------------------------------------------------------------


def everything(batch: int) -> dict[str, Any]:
    """Of environment k the same in every batch."""
    draws = [np.random.default_rng([7, k]) for k in range(batch)]
    return {
        "friction": [rng.uniform(0.3, 1.0) for rng in draws],
        "gains": np.stack([rng.uniform(0.5, 2.0, 2) for rng in draws]),
        "gravity": np.stack([rng.uniform(-1, 1, 3) - (0, 0, 9.81) for rng in draws]),
        "masses": np.stack([rng.uniform(0.5, 2.0, N_LINKS) for rng in draws]),
        "heights": {"ground": np.stack([bumps(k) for k in range(batch)])},
    }


def picked(parameters: dict[str, Any], which: list[int]) -> dict[str, Any]:
    chosen = {name: np.asarray(value)[which] for name, value in parameters.items() if name != "heights"}
    return chosen | {"heights": {name: value[which] for name, value in parameters["heights"].items()}}


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_any_batch_place_and_number_of_threads(integrator: Integrator) -> None:
    one, two = (fw.Simulator(scene(), dt=2e-3, integrator=integrator, num_threads=n) for n in (1, 2))
    whole = started(one, 40).randomised(**everything(40))
    final = one.rollout(whole, control=CONTROL, n_steps=150).final
    threaded = two.rollout(started(two, 40).randomised(**everything(40)), control=CONTROL, n_steps=150).final
    assert_same_bits(threaded.q, final.q)
    for which in ([0], [39], [7, 5, 6], [9, 3, 9, 1, 9]):
        part = one.state(len(which), q=whole.q[which], v=whole.v[which]).randomised(**picked(everything(40), which))
        assert_same_bits(one.rollout(part, control=CONTROL, n_steps=150).final.q, final.q[which])


def test_factors_of_one_change_nothing() -> None:
    sim = fw.Simulator(scene(), dt=2e-3, integrator="implicit")
    plain = started(sim, 3)
    ones = plain.randomised(
        friction=np.ones(3),
        gains=np.ones(3),
        gravity=np.tile(sim.model.gravity, (3, 1)),
        masses=np.ones((3, N_LINKS)),
        heights={"ground": np.stack([bumps(0)] * 3)},
    )
    a, b = (sim.rollout(state, control=CONTROL, n_steps=200).final for state in (plain, ones))
    assert_same_bits(a.q, b.q)
    assert_same_bits(a.contacts.impulse, b.contacts.impulse)


def test_parameters_stay_with_the_environment(tmp_path: Path) -> None:
    """Through steps, rollouts with a policy, resets, replacements and files."""
    sim = fw.Simulator(scene(), dt=2e-3, integrator="implicit")
    state = started(sim, 4).randomised(**everything(4))
    by_steps = state
    for _ in range(10):
        by_steps = sim.step(by_steps, control=CONTROL)
    by_policy = sim.rollout(state, policy=lambda _: (None, CONTROL), n_steps=10).final
    assert_same_bits(by_steps.q, by_policy.q)
    assert_same_bits(by_steps.q, sim.rollout(state, control=CONTROL, n_steps=10).final.q)

    by_steps.save(tmp_path / "state.npz")
    again = fw.State.load(sim, tmp_path / "state.npz")
    for name in ("friction", "gains", "gravity", "masses"):
        assert_same_bits(getattr(again.parameters, name), getattr(state.parameters, name), name)
    assert_same_bits(again.parameters.heights["ground"], state.parameters.heights["ground"])
    a, b = (sim.rollout(each, control=CONTROL, n_steps=150).final for each in (by_steps, again))
    assert_same_bits(a.q, b.q)
    assert_same_bits(a.contacts.impulse, b.contacts.impulse)

    anew = a.reset().replace(v=state.v)
    assert_same_bits(sim.rollout(anew, control=CONTROL, n_steps=150).final.q,
                     sim.rollout(state, control=CONTROL, n_steps=150).final.q)  # fmt: skip


def test_parameters_are_set_one_after_the_other() -> None:
    sim = fw.Simulator(scene(), dt=2e-3, integrator="implicit")
    at_once, one_by_one = started(sim, 2).randomised(**everything(2)), started(sim, 2)
    for name, value in reversed(everything(2).items()):
        one_by_one = one_by_one.randomised(**{name: value})
    a, b = (sim.rollout(state, control=CONTROL, n_steps=100).final for state in (at_once, one_by_one))
    assert_same_bits(a.q, b.q)


def test_a_single_environment_has_parameters_too() -> None:
    sim = fw.Simulator(scene(), dt=2e-3)
    single = sim.state().randomised(**picked(everything(1), [0]))
    batch = sim.state(1).randomised(**picked(everything(1), [0]))
    a, b = (sim.rollout(state, control=CONTROL, n_steps=50).final for state in (single, batch))
    assert_same_bits(a.q, b.q[0])
    assert sim.gravity_compensation(a).shape == (sim.model.nv,)


# -- what reads gravity and masses ---------------------------------------------------------------------------------


def test_sensors_and_compensation_use_each_environments_own() -> None:
    """What they read is what they read in scenes built with the parameters."""
    batch = 3
    gravity = np.array([[0, 0, -9.81], [1.0, 2.0, -9.0], [0, 0.5, -3.0]])
    factors = 2.0 ** np.random.default_rng(4).integers(-1, 2, (batch, N_LINKS))
    sim = fw.Simulator(scene(), dt=2e-3)
    state = started(sim, batch).randomised(gravity=gravity, masses=factors)
    final = sim.rollout(state, control=CONTROL, n_steps=100).final
    torque = sim.gravity_compensation(final)
    for k in range(batch):
        alone = fw.Simulator(scene(gravity=gravity[k], factors=factors[k]), dt=2e-3)
        own = alone.rollout(alone.state(v=state.v[k]), control=CONTROL, n_steps=100).final
        assert_close(torque[k], alone.gravity_compensation(own), 1e-13)
        assert_close(fw.IMU("w/trunk").read(final).accelerometer[k], fw.IMU("w/trunk").read(own).accelerometer, 1e-12)
        for joint in ("w/left", "w/tail"):
            ours, alones = fw.ForceTorque(joint).read(final), fw.ForceTorque(joint).read(own)
            assert_close(ours.force[k], alones.force, 1e-12)
            assert_close(ours.torque[k], alones.torque, 1e-12)


def test_an_imu_at_rest_reads_its_own_gravity() -> None:
    world = fw.Scene(ground=fw.Plane())
    world.add(fw.box((0.2, 0.2, 0.2)), name="box", pose=(0, 0, 0.1))
    sim = fw.Simulator(world, dt=2e-3)
    state = sim.state(2).randomised(gravity=[[0, 0, -9.81], [0, 0, -1.62]])
    reading = fw.IMU("box").read(sim.rollout(state, n_steps=100).final)
    np.testing.assert_allclose(reading.accelerometer, [[0, 0, 9.81], [0, 0, 1.62]], atol=1e-8)


def test_compensation_holds_arms_of_any_weight() -> None:
    sim = fw.Simulator(fw.models.arm(), dt=1e-3)
    rng = np.random.default_rng(0)
    state = sim.state(batch=4, q=0.3 * sim.model.random(rng, batch=4)).randomised(
        gravity=rng.normal(size=(4, 3)) * 5, masses=rng.uniform(0.2, 5.0, (4, sim.model.n_links))
    )
    after = sim.rollout(state, policy=sim.gravity_compensation, n_steps=100).final
    np.testing.assert_allclose(after.q, state.q, atol=1e-9)


# -- what is wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"friction": [1.0]}, r"friction: expected shape \(2,\), got \(1,\)"),
        ({"friction": [1.0, -1.0]}, "friction: factors must not be negative, they are in environment 1"),
        ({"friction": [np.nan, 1.0]}, "friction: contains numbers that are not finite, in environment 0"),
        ({"gains": np.ones((2, 3))}, r"gains: expected shape \(2, 2\), got \(2, 3\)"),
        ({"gravity": [0, 0, -9.81]}, r"gravity: expected shape \(2, 3\), got \(3,\)"),
        ({"gravity": [[0, 0, -9.81], [0, np.inf, 0]]}, "gravity: .* not finite, in environment 1"),
        ({"gravity": "down"}, "gravity: expected an array of numbers, got str"),
        ({"masses": np.ones(2)}, r"masses: expected shape \(2, 7\), got \(2,\)"),
        ({"masses": [[1.0] * 7, [1, 1, 0, 1, 1, 1, 1]]}, "masses: factors must be positive, got 0 for link 'w/tail' of environment 1"),  # noqa: E501
        ({"masses": [[1.0] * 6 + [np.nan], [1.0] * 7]}, "masses: .* not finite, in environment 0"),
        ({"heights": {"grund": np.zeros((2, 9, 7))}}, "heights: unknown shape 'grund'.*did you mean 'ground'"),
        ({"heights": {"w/trunk/trunk_collision": np.zeros((2, 9, 7))}}, "'w/trunk/trunk_collision' is a box, not a"),
        ({"heights": {"ground": np.zeros((2, 7, 9))}}, r"heights: 'ground': expected shape \(2, 9, 7\)"),
        ({"heights": {"ground": np.full((2, 9, 7), np.nan)}}, "heights: 'ground': .* not finite, in environment 0"),
        ({"heights": np.zeros((2, 9, 7))}, "heights: expected a dictionary"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    state = fw.Simulator(scene(), dt=2e-3).state(batch=2)
    with pytest.raises(ValueError, match=message):
        state.randomised(**parameters)


def test_parameters_cannot_be_written_to() -> None:
    state = block_on_a_slope().state(batch=2).randomised(friction=[1.0, 0.5])
    assert state.parameters.friction is not None
    with pytest.raises(ValueError, match="read-only"):
        state.parameters.friction[0] = 2.0
