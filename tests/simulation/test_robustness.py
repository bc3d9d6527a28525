"""What goes wrong stays where it is, is reported, and ends well: NaN, overlaps, absurd speeds, long random runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits
from helpers.scenes import KINDS, drop, energy, random_body, tumbled

import featherweight as fw
from featherweight import Body, _testing
from featherweight.model.poses import quaternion_from_rotation, rotation_from_rpy


def humanoid_scene() -> fw.Scene:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    scene.add(fw.models.humanoid(), name="robot", pose=(0, 0, 1.0))
    return scene


@pytest.mark.parametrize("what", ["tau", "control", "f_ext"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_environment_that_fails_leaves_its_neighbours_alone(what: str, bad: float) -> None:
    builder = fw.ModelBuilder("arm")
    builder.solid("rod", "capsule", (0.05, 0.5), mass=1.0, placement=(0, 0, -0.25))
    builder.joint("hinge", "revolute", "world", "rod", axis="y", placement=(0, 0, 0.6))
    builder.actuator("motor", "hinge")
    scene = fw.Scene(ground=fw.Plane())
    scene.add(builder.build(), name="arm")
    scene.add(fw.box((0.1, 0.1, 0.1)), pose=(0.3, 0, 0.05))
    sim = fw.Simulator(scene, dt=2e-3)
    n, steps = 7, 30
    shape = {"tau": (sim.model.nv,), "control": (1,), "f_ext": (sim.model.n_links, 6)}[what]
    forces = np.random.default_rng(0).normal(size=(n, steps, *shape))
    state = sim.state(n)
    well: dict[str, Any] = {what: forces}
    expected = sim.rollout(state, **well)
    broken = forces.copy()
    broken[3, 10] = bad
    ill: dict[str, Any] = {what: broken}
    got = sim.rollout(state, **ill)
    others = np.delete(np.arange(n), 3)
    assert got.final.failed.tolist() == [k == 3 for k in range(n)]
    assert_same_bits(got.q[others], expected.q[others])
    assert_same_bits(got.v[others], expected.v[others])
    assert_same_bits(got.final.contacts.impulse[got.final.contacts.environment != 3],
                     expected.final.contacts.impulse[expected.final.contacts.environment != 3])  # fmt: skip
    assert_same_bits(got.q[3, :10], expected.q[3, :10])
    for k in range(10, steps):  # frozen where it was
        assert_same_bits(got.q[3, k], expected.q[3, 9])
        assert_same_bits(got.v[3, k], expected.v[3, 9])
    still = sim.rollout(got.final, n_steps=5).final
    assert still.failed[3] and np.abs(still.q[3] - got.final.q[3]).max() < 1e-15

    revived = got.final.reset(got.final.failed)
    assert not revived.failed.any()
    assert_same_bits(revived.q[others], got.final.q[others])
    fresh = sim.rollout(sim.state(), n_steps=5).final
    assert_same_bits(sim.rollout(revived, n_steps=5).final.q[3], fresh.q)


def test_overlapping_start_is_reported_and_resolved_softly() -> None:
    """Two boxes half inside one another and the ground come apart without gaining speed."""
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(fw.box((0.2, 0.2, 0.2)), name="low", pose=(0, 0, 0.05))
    scene.add(fw.box((0.2, 0.2, 0.2)), name="high", pose=(0.02, 0.01, 0.2))
    sim = fw.Simulator(scene, dt=2e-3)
    state = sim.step(sim.state())
    assert state.penetration == pytest.approx(0.05, abs=1e-12)
    contacts = state.contacts
    depth = {
        tuple(sorted((contacts.names[a], contacts.names[b]))): -gap
        for a, b, gap in zip(contacts.shape_a, contacts.shape_b, contacts.gap, strict=True)
    }
    assert depth[("ground", "low")] == pytest.approx(0.05) and depth[("high", "low")] == pytest.approx(0.05)
    trajectory = sim.rollout(sim.state(), n_steps=1500)
    speed = np.abs(trajectory.v).max()
    assert speed < 0.5, f"separation left a speed of {speed:.2f} m/s"
    final = trajectory.final
    assert np.abs(final.v).max() < 1e-3
    assert sim.step(final).penetration < 1e-3
    assert final.q[2] == pytest.approx(0.1, abs=1e-3) and final.q[9] == pytest.approx(0.3, abs=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_deep_overlap_gains_no_speed(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    scene = fw.Scene(gravity=(0, 0, 0))
    for k in range(2):
        scene.add(random_body(rng, kind), name=f"body_{k}", pose=tumbled(rng, (0.02 * k, 0, 0)))
    sim = fw.Simulator(scene, dt=2e-3)
    trajectory = sim.rollout(sim.state(), n_steps=500)
    assert trajectory.penetration > 0.01
    assert np.abs(trajectory.v).max() < 1e-9, "at rest and without forces, it stays without speed"
    assert sim.step(trajectory.final).penetration < 1e-4


@pytest.mark.parametrize("speed", [1e2, 1e4])
def test_absurd_speeds(speed: float) -> None:
    rng = np.random.default_rng(0)
    scene = drop(rng)
    scene.add(fw.models.quadruped(), name="robot", pose=(2, 0, 0.5))
    sim = fw.Simulator(scene, dt=1e-3)
    state = sim.state(3, v=speed * rng.normal(size=(3, sim.model.nv)))
    for _ in range(10):
        state = sim.step(state)
        assert np.isfinite(state.q).all() and np.isfinite(state.v).all()


def test_warm_steps_do_not_allocate() -> None:
    sim = fw.Simulator(humanoid_scene(), dt=2e-3, num_threads=1)
    state = sim.rollout(sim.state(8), n_steps=300).final
    core = state._core.copy()
    tau = np.zeros((1, 1, sim.model.nv))
    sim._run(core, 0, 50, (tau, None, None), None)
    core = state._core.copy()
    sim._run(core, 0, 1, (tau, None, None), None)
    before = _testing.allocation_count()
    sim._run(core, 0, 49, (tau, None, None), None)
    assert _testing.allocation_count() == before


def random_run(steps: int, batch: int, dt: float, size: float) -> tuple[fw.Simulator, fw.State, dict[str, float]]:
    """A humanoid driven by random torques, new ones every 20 steps."""
    sim = fw.Simulator(humanoid_scene(), dt=dt)
    rng = np.random.default_rng(0)
    state = sim.state(batch)
    unconverged, deepest, worst, fastest = 0.0, 0.0, 0.0, 0.0
    for _ in range(steps // 20):
        tau = rng.normal(size=(batch, sim.model.nv)) * size
        tau[:, :6] = 0.0
        trajectory = sim.rollout(state, tau, n_steps=20, record=False)
        state = trajectory.final
        unconverged += float(trajectory.unconverged.sum())
        deepest = max(deepest, float(trajectory.penetration.max()))
        worst = max(worst, float(trajectory.residual.max()))
        fastest = max(fastest, float(np.abs(state.v).max()))
    share = unconverged / (steps * batch)
    return sim, state, {"unconverged": share, "penetration": deepest, "residual": worst, "speed": fastest}


def test_a_million_random_steps() -> None:
    """Humanoids that fall over and thrash about."""
    _, state, figures = random_run(steps=2000, batch=512, dt=2e-3, size=20.0)
    assert not state.failed.any() and np.isfinite(state.q).all() and np.isfinite(state.v).all()
    assert figures["unconverged"] <= 3e-4, figures
    # 30 mm: limbs turn at up to 190 rad/s, and move along lines in a step
    assert figures["penetration"] < 0.05, figures
    assert figures["speed"] < 1e3, figures


@pytest.mark.parametrize("shape", [fw.box((0.4, 0.3, 0.1)), fw.capsule(0.05, 0.4), fw.cylinder(0.1, 0.3)])
def test_bodies_that_land_on_an_edge_and_tip_over_are_solved_in_every_step(shape: Body) -> None:
    """Points of one patch whose gaps close in the same step agree on how: no step is missed, and few are long."""
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    scene.add(shape, name="body", pose=(0, 0, 0.3))
    sim = fw.Simulator(scene, dt=2e-3)
    rng = np.random.default_rng(0)
    q = np.tile(sim.scene.q0, (64, 1))
    q[:, 3:] = [quaternion_from_rotation(rotation_from_rpy(rpy)) for rpy in rng.normal(size=(64, 3))]
    trajectory = sim.rollout(sim.state(64, q=q, v=rng.normal(size=(64, 6))), n_steps=500, record=False)
    assert trajectory.unconverged.sum() == 0
    assert trajectory.iterations["newton"].sum() < 0.1 * 64 * 500


def test_energy_is_finite_after_overlaps_of_a_robot_with_itself() -> None:
    """Random configurations, in which limbs cross: separated without flying apart."""
    sim = fw.Simulator(humanoid_scene(), dt=2e-3)
    rng = np.random.default_rng(0)
    q = sim.model.random(rng, batch=32)
    q[:, :7] = [0, 0, 1.5, 0, 0, 0, 1]
    start = sim.state(32, q=q)
    final = sim.rollout(start, n_steps=200, record=False).final
    assert not final.failed.any()
    before, after = (energy(sim.model, s.q, s.v) for s in (start, final))
    assert (after < before + 20.0).all(), f"gained {np.max(after - before):.1f} J"


def test_overlaps_are_named_with_their_depths() -> None:
    scene = fw.Scene(ground=fw.Plane())
    scene.add(fw.sphere(0.1), name="sunk", pose=(0, 0, 0.07))
    scene.add(fw.box((0.2, 0.2, 0.2)), name="crate", pose=(1, 0, 0.1))
    scene.add(fw.sphere(0.1), name="in_it", pose=(1.15, 0, 0.1))
    sim = fw.Simulator(scene, dt=1e-3)
    overlaps = sim.overlaps(sim.state())
    assert [{each.shape_a, each.shape_b} for each in overlaps] == [{"crate", "in_it"}, {"sunk", "ground"}]
    np.testing.assert_allclose([each.depth for each in overlaps], (0.05, 0.03), atol=1e-12)
    final = sim.rollout(sim.state(), n_steps=400).final
    assert not sim.overlaps(final, 1e-6)
    assert np.abs(final.v).max() < 1e-3, "nothing was thrown"


@pytest.mark.filterwarnings("ignore:environment . starts with")
def test_links_that_overlap_across_a_hinge_jam_and_are_not_thrown() -> None:
    """A humanoid whose thighs and shoulders, drawn into each other, count as touching: normals pass the hinges, and
    friction locks them with impulses of any size."""
    description = fw.models.humanoid().description
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    jammed = replace(description, excludes=())
    robot = scene.add(fw.ModelBuilder.from_description(jammed).build(), name="robot", pose=(0, 0, 0.9))
    scene.servo(robot, kp=100.0, kd=2.0)
    sim = fw.Simulator(scene, dt=2e-3, integrator="implicit")
    n = 4
    v = 0.3 * np.random.default_rng(0).normal(size=(n, sim.model.nv))
    motion = sim.rollout(sim.state(n, v=v), control=np.zeros((n, 120, sim.nu)))
    assert not motion.final.failed.any()
    assert np.abs(motion.v).max() < 60.0
    assert motion.final.contacts.impulse.max() < 1e3


def drawn_into_each_other(rng: np.random.Generator) -> fw.Model:
    """A few links of any shape about joints of any kind, as careless files have them."""
    builder, names = fw.ModelBuilder("careless"), ["world"]
    for k in range(int(rng.integers(2, 7))):
        kind: Any = str(rng.choice(["box", "sphere", "capsule", "cylinder"]))
        size = {"box": rng.uniform(0.05, 0.3, 3), "sphere": rng.uniform(0.05, 0.15, 1)}.get(kind)
        size = rng.uniform((0.03, 0.05), (0.08, 0.3)) if size is None else size
        name, parent = f"link{k}", names[-1] if len(names) < 3 else names[int(rng.integers(-2, 0))]
        builder.solid(
            name, kind, tuple(size), mass=10.0 ** rng.uniform(-1, 1), placement=tuple(0.05 * rng.normal(size=3))
        )
        at = tuple(0.1 * rng.normal(size=3) * rng.integers(0, 2))
        if rng.random() < 0.25:
            builder.joint(f"joint{k}", "spherical", parent, name, placement=at)
        else:
            joint: Any = str(rng.choice(["revolute", "prismatic"]))
            axis = "xyz"[int(rng.integers(3))]
            builder.joint(f"joint{k}", joint, parent, name, axis=axis, placement=at, lower=-3, upper=3, friction=0.1)
        names.append(name)
    return builder.build()


@pytest.mark.filterwarnings("ignore:environment . starts with")
@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_robots_drawn_into_themselves_are_not_thrown(integrator: Any) -> None:
    """Of such robots one in ten failed within a second: normals that pass hinges, and friction that locks them."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scene = fw.Scene(ground=fw.Plane(friction=0.8))
        scene.add(drawn_into_each_other(rng), name="robot", pose=(0, 0, 0.5), self_collision="adjacent")
        sim = fw.Simulator(scene, dt=2e-3, integrator=integrator)
        motion = sim.rollout(sim.state(v=0.5 * rng.normal(size=sim.model.nv)), n_steps=100)
        assert not motion.final.failed, seed
        assert np.abs(motion.v).max() < 100.0, seed
