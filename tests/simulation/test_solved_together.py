"""Environments that touch with balls and rub in few joints are solved together, on lanes: each as if it were alone.

Solvers that are chosen by name take one environment after the other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array

SHARP = 1e-12
BATCH, STEPS = 21, 40
#: Robots, whether with dry friction in their joints, and whether some of them lie on their backs and sides: together
#: they touch with more balls than are solved on lanes.
ROBOTS = {
    "quadruped": ("quadruped", False, False),
    "humanoid": ("humanoid", False, False),
    "dry quadruped": ("quadruped", True, False),
    "dry humanoid": ("humanoid", True, False),
    "turned quadruped": ("quadruped", True, True),
}


def legged(robot_name: str, friction: float) -> fw.Simulator:
    """A robot on spheres: a quadruped on four, or a humanoid on the eight corners of its feet."""
    name, dry, turned = ROBOTS[robot_name]
    description = getattr(fw.models, name)().description
    spheres: dict[str, list[tuple[float, float, float]]] = {}
    if name == "quadruped":
        spheres = {link.name: [(0.0, 0.0, 0.0)] for link in description.links if link.name.endswith("_foot")}
    else:
        corners = [(x, y, -0.08) for x in (-0.07, 0.15) for y in (-0.05, 0.05)]
        spheres = {link.name: corners for link in description.links if link.name.endswith("_foot")}
    if turned:
        back = [(x, y, 0.1) for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
        sides = [(x, y, z) for x in (-0.2, 0.2) for y in (-0.2, 0.2) for z in (-0.05, 0.05)]
        spheres["trunk"] = back + sides
    links = tuple(
        replace(
            link,
            geometries=tuple(
                fw.Geometry(f"sphere_{k}", "collision", "sphere", (0.02,), fw.pose(place))
                for k, place in enumerate(spheres.get(link.name, []))
            ),
        )
        for link in description.links
    )
    joints = tuple(
        replace(joint, friction=joint.friction if dry else None, velocity_limit=None) for joint in description.joints
    )
    robot = fw.ModelBuilder.from_description(replace(description, links=links, joints=joints)).build()
    scene = fw.Scene(ground=fw.Plane(friction=friction))
    scene.servo(scene.add(robot, name="robot", self_collision=False), kp=60.0, kd=3.0)
    return fw.Simulator(scene, dt=2e-3, integrator="semi_implicit", solver=fw.Automatic(tolerance=SHARP))


def bent(sim: fw.Simulator) -> Array:
    """A stance that is far from all limits."""
    q = np.array(sim.scene.q0)
    for joint in sim.model.joints:
        if joint.nv == 1:
            q[joint.q_slice] = np.clip(0.0, joint.lower + 0.2, joint.upper - 0.2)
        if joint.name.endswith("_thigh_joint") and sim.model.nv == 18:
            q[joint.q_slice] = 0.8
        if joint.name.endswith("_calf_joint"):
            q[joint.q_slice] = -1.6
    return q


def start(sim: fw.Simulator, seed: int) -> fw.State:
    """Robots on the ground or just above it, some of them slow, others fast."""
    rng = np.random.default_rng(seed)
    q = np.tile(bent(sim), (BATCH, 1))
    q[:, 7:] += rng.uniform(-0.1, 0.1, (BATCH, q.shape[1] - 7))
    v = rng.standard_normal((BATCH, sim.model.nv)) * rng.choice((0.1, 1.0), (BATCH, 1))
    if len(sim.scene.shapes) > 1 + 8:
        q[::3, 3:7] = (1.0, 0.0, 0.0, 0.0)
        q[1::3, 3:7] = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
    places = np.asarray(fw.forward_kinematics(sim.model, q))
    shapes = [shape for shape in sim.scene.shapes if shape.kind == "sphere"]
    bottoms = [(places[:, shape.link] @ shape.placement)[:, 2, 3] - shape.size[0] for shape in shapes]
    q[:, 2] -= np.min(bottoms, axis=0) - rng.choice((0.0, 1e-4, 1e-2), BATCH)
    return sim.state(BATCH, q=q, v=v)


def targets(sim: fw.Simulator, seed: int) -> Array:
    return np.tile(bent(sim)[7:], (BATCH, 1)) + np.random.default_rng(seed).uniform(-0.2, 0.2, (BATCH, sim.nu))


@pytest.mark.parametrize("friction", [0.2, 0.8])
@pytest.mark.parametrize("name", ROBOTS)
def test_velocities_are_those_of_environments_that_are_solved_alone(name: str, friction: float) -> None:
    """And so are the forces on feet, summed over those of a link, which may share them in many ways."""
    ours = legged(name, friction)
    others = [
        fw.Simulator(ours.scene, dt=2e-3, integrator="semi_implicit", solver=solver)
        for solver in (fw.Newton(tolerance=SHARP), fw.GaussSeidel(tolerance=SHARP, max_iterations=20_000))
    ]
    state, control = start(ours, seed=1), targets(ours, seed=2)
    compared = together = other = 0
    for _ in range(STEPS):
        fresh = [sim.state(BATCH, q=state.q, v=state.v) for sim in (ours, *others)]
        a, b, c = (sim.step(s, control=control) for sim, s in zip((ours, *others), fresh, strict=True))
        well = np.all([s.converged for s in (a, b, c)], axis=0)
        well &= np.abs(b.v - c.v).max(axis=1) < 1e-9  # else there are several solutions
        speed = 1.0 + np.abs(b.v[well]).max(axis=1)
        other += int(np.sum(np.abs(a.v - b.v)[well].max(axis=1) >= 1e-8 * speed))
        compared += int(well.sum())
        together += int(np.sum((a.iterations["gauss_seidel"] == 0) & (a.iterations["newton"] > 0)))
        state = ours.step(state, control=control)
    assert compared > 0.7 * BATCH * STEPS
    assert other <= (3 if name.startswith("turned") else 0)  # four corners that slide: not always one solution
    assert together > 0.4 * BATCH * STEPS  # that is what this file is about


@pytest.mark.parametrize("name", ROBOTS)
def test_company_changes_no_bits(name: str) -> None:
    """Alone, in a batch, at another place of it, and among others that are elsewhere."""
    sim = legged(name, 0.8)
    state, control = start(sim, seed=3), targets(sim, seed=4)
    steps = np.repeat(control[:, None], STEPS, axis=1)
    whole = sim.rollout(state, control=steps)
    order = np.random.default_rng(5).permutation(BATCH)
    shuffled = sim.rollout(sim.state(BATCH, q=state.q[order], v=state.v[order]), control=steps[order])
    assert np.array_equal(whole.q[order], shuffled.q) and np.array_equal(whole.v[order], shuffled.v)
    for k in range(0, BATCH, 4):
        alone = sim.rollout(sim.state(q=state.q[k], v=state.v[k]), control=steps[k])
        assert np.array_equal(alone.q, whole.q[k]) and np.array_equal(alone.v, whole.v[k])
        pair = [k, (k + 1) % BATCH]
        both = sim.rollout(sim.state(2, q=state.q[pair], v=state.v[pair]), control=steps[pair])
        assert np.array_equal(both.v, whole.v[pair])


def test_standing_robots_take_one_step() -> None:
    """Modes stay from step to step, and within them a step of Newton's method is exact."""
    sim = legged("quadruped", 0.8)
    sim = fw.Simulator(sim.scene, dt=2e-3, integrator="semi_implicit")
    q = np.tile(bent(sim), (BATCH, 1))
    q[:, 2] = 0.33
    settled = sim.rollout(sim.state(BATCH, q=q), control=np.tile(bent(sim)[7:], (BATCH, 300, 1))).final
    standing = sim.rollout(settled, control=np.tile(bent(sim)[7:], (BATCH, 50, 1)))
    assert len(standing.final.contacts.impulse) == 4 * BATCH
    assert np.mean(standing.iterations["newton"]) / 50 < 1.6


@pytest.mark.parametrize("name", ["quadruped", "dry quadruped"])
def test_rows_that_are_kept_obey_their_laws(name: str) -> None:
    """The solution of a step is asked for: the same step to the bit, and its rows are complete."""
    sim = legged(name, 0.4)
    state, control = start(sim, seed=6), targets(sim, seed=7)
    rows_seen = 0
    for _ in range(STEPS):
        solution = sim.step_solution(state, control=control)
        rows, plain = solution.rows, sim.step(state, control=control)
        assert np.array_equal(solution.state.v, plain.v)
        contact = rows.source == "contact"
        normal = contact & (rows.component == 2)
        excess = rows.velocity + rows.shift
        scale = 1e-8 * (1.0 + np.abs(rows.velocity).max(initial=0.0))
        assert np.all(rows.impulse[normal] > -scale) and np.all(excess[normal] > -scale)
        assert np.all(np.abs(rows.impulse * excess)[normal] < scale)
        rows_seen += int(normal.sum())
        state = plain
    assert rows_seen > BATCH * STEPS
