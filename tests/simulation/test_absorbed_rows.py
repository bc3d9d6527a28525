"""Servos within their effort and friction of joints that slip are part of the prediction, not of the cone problem.

The solution must be that of all rows, which every solver but the automatic choice keeps.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array
from featherweight.cli.simulate import Drop
from featherweight.simulation.core_arguments import Integrator
from featherweight.simulation.solvers import Solver

SHARP = 1e-12


def robots(
    friction: float, kp: float, effort: float | None, velocity: float | None = None, gravity: float = -9.81
) -> fw.Scene:
    """A quadruped on servos, with dry friction in its joints, on ground so slippery that solutions are unique."""
    description = fw.models.quadruped().description
    joints = tuple(
        replace(joint, friction=np.array([friction]), velocity_limit=None if velocity is None else np.array([velocity]))
        if joint.type == "revolute"
        else joint
        for joint in description.joints
    )
    robot = fw.ModelBuilder.from_description(replace(description, joints=joints)).build()
    scene = fw.Scene(ground=fw.Plane(friction=0.2), gravity=(0.0, 0.0, gravity))
    scene.servo(scene.add(robot, name="robot", self_collision=False), kp=kp, kd=0.05 * kp, effort=effort)
    return scene


def start(sim: fw.Simulator, batch: int, seed: int) -> fw.State:
    """Robots near the ground, some of them still, others fast."""
    rng = np.random.default_rng(seed)
    q = np.tile(sim.scene.q0, (batch, 1))
    q[:, 2] = 0.6
    q[:, 7:] += rng.uniform(-0.3, 0.3, (batch, q.shape[1] - 7)) + np.tile((0.0, 0.8, -1.6), 4)
    q = np.clip(q, sim.model.lower + 0.01, sim.model.upper - 0.01)
    v = rng.standard_normal((batch, sim.model.nv)) * rng.choice((0.0, 0.3, 3.0), (batch, 1))
    q[:, 2] -= lowest(sim, q) - rng.choice((0.0, 1e-3, 1e-2), batch)
    return sim.state(batch, q=q, v=v)


def lowest(sim: fw.Simulator, q: Array) -> Array:
    """Height of the lowest foot, (batch,)."""
    feet = [name for name in sim.model.frame_names if name.endswith("_foot")]
    heights = [np.asarray(fw.frame_placement(sim.model, q, foot))[:, 2, 3] for foot in feet]
    return np.asarray(np.min(heights, axis=0) - 0.03)


def joint_forces(state: fw.State) -> Array:
    return np.stack([state.forces.friction, state.forces.servos])


CASES = {
    "within effort": {"friction": 0.2, "kp": 60.0, "effort": 30.0},
    "mostly saturated": {"friction": 0.2, "kp": 300.0, "effort": 3.0},
    "mostly sticking": {"friction": 5.0, "kp": 20.0, "effort": 30.0},
    "at their velocity limit": {"friction": 0.1, "kp": 300.0, "effort": 30.0, "velocity": 2.0},
}


def drive(sim: fw.Simulator, batch: int) -> Array:
    return np.asarray(np.random.default_rng(4).uniform(-0.4, 0.4, (batch, sim.nu)) + np.tile((0.0, 0.8, -1.6), 4))


@pytest.mark.parametrize("integrator", ["implicit", "semi_implicit"])
@pytest.mark.parametrize("case", CASES)
def test_solutions_are_those_of_all_rows(case: str, integrator: Integrator) -> None:
    """Velocities and joint forces of every step of a motion, each begun without a history."""
    batch, steps = 24, 60
    scene = robots(**CASES[case])
    solvers: tuple[Solver, ...] = (
        fw.Automatic(tolerance=SHARP),
        fw.Newton(tolerance=SHARP),
        fw.GaussSeidel(tolerance=SHARP, max_iterations=20_000),
    )
    sims = [fw.Simulator(scene, dt=2e-3, integrator=integrator, solver=solver) for solver in solvers]
    control = drive(sims[0], batch)
    compared = 0
    for k in range(steps):
        if k % 20 == 0:  # elsewhere, at other speeds
            state = start(sims[0], batch, seed=k)
        fresh = [sim.state(batch, q=state.q, v=state.v) for sim in sims]
        ours, newton, gauss_seidel = (sim.step(s, control=control) for sim, s in zip(sims, fresh, strict=True))
        # Not compared where solutions are not unique; nor where overlaps are taken out: coordinates move by more than
        # velocities do there, and with them the axes of the base.
        same = np.abs(newton.v - gauss_seidel.v).max(axis=1) < 1e-9
        well = same & np.all([s.converged for s in (ours, newton)], axis=0) & (np.asarray(ours.penetration) < 1e-10)
        compared += well.sum()
        speed = 1.0 + np.abs(newton.v[well]).max()
        assert np.abs(ours.v - newton.v)[well].max() < 1e-8 * speed, k
        assert np.abs(joint_forces(ours) - joint_forces(newton))[:, well].max() < 1e-6 * (1.0 + 30.0 * speed), k
        state = sims[0].step(state, control=control)
    assert compared > 0.6 * batch * steps


@pytest.mark.parametrize("case", CASES)
def test_laws_hold_along_a_motion(case: str) -> None:
    """Of every joint row, whether it was a row of the cone problem or not, with the history of a motion."""
    sim = fw.Simulator(robots(**CASES[case]), dt=2e-3, integrator="implicit")
    state, control = start(sim, 16, seed=1), drive(sim, 16)
    kinds = set()
    for _ in range(80):
        solution = sim.step_solution(state, control=control)
        rows, state = solution.rows, solution.state
        of_joints = np.isin(rows.source, ("dry_friction", "servo"))
        kinds |= set(rows.mode[of_joints].tolist())
        assert of_joints.sum() == 16 * 24  # none is lost
        well = of_joints & np.asarray(state.converged)[rows.environment]
        excess = rows.velocity + rows.shift + rows.compliance * rows.impulse
        scale = 1e-7 * (1.0 + np.abs(rows.velocity))
        upper, inside = rows.mode == "at_upper", rows.mode == "sticking"
        lower = rows.mode == "at_lower"
        assert np.all((excess < scale)[well & upper])
        assert np.all((excess > -scale)[well & lower])
        assert np.all((np.abs(excess) < scale)[well & inside])
        assert np.all((np.abs(rows.impulse) <= rows.bound * (1.0 + 1e-9))[well & (rows.source == "dry_friction")])
        ends = np.zeros((16, sim.model.nv))
        np.add.at(ends, (rows.environment[of_joints], rows.index[of_joints]), rows.impulse[of_joints])
        forces = joint_forces(state).sum(axis=0) * sim.dt
        assert np.allclose(ends, forces, rtol=1e-9, atol=1e-12)  # as they are read
    assert {"at_upper", "at_lower"} <= kinds


@pytest.mark.parametrize("seed", range(4))
def test_bits_do_not_depend_on_neighbours_or_on_calls(seed: int) -> None:
    """What is absorbed follows from the state alone: in a batch, alone, in one rollout or step by step.

    Steps are long and joints hit hard, so that in most packs some environment is predicted again.
    """
    batch, steps = 9, 40
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    scene.servo(scene.add(fw.models.quadruped(), name="robot"), kp=60.0, kd=4.0)
    sim = fw.Simulator(scene, dt=5e-3, integrator="implicit")
    rng = np.random.default_rng(seed)
    begin = start(sim, batch, seed)
    control = rng.uniform(-0.4, 0.4, (batch, steps, sim.nu)) + np.tile((0.0, 0.8, -1.6), 4)
    together = sim.rollout(begin, control=control).final
    state = begin
    for k in range(steps):
        state = sim.step(state, control=control[:, k])
    assert np.array_equal(together.v, state.v) and np.array_equal(together.q, state.q)
    for k in range(batch):
        alone = sim.rollout(sim.state(q=begin.q[k], v=begin.v[k]), control=control[k]).final
        assert np.array_equal(alone.v, together.v[k])


def test_servos_and_slipping_joints_are_no_rows_of_the_cone_problem() -> None:
    """A robot in the air whose joints move steadily has none: nothing is iterated for."""
    sim = fw.Simulator(robots(friction=0.1, kp=60.0, effort=30.0, gravity=0.0), dt=1e-3, integrator="implicit")
    q = sim.scene.q0.copy()
    q[2], q[7:] = 10.0, np.tile((0.0, 0.8, -1.6), 4)
    v = np.r_[np.zeros(6), np.full(sim.model.nv - 6, 0.3)]
    motion = sim.rollout(sim.state(q=q, v=v), control=q[7:] + 0.015, n_steps=5)
    assert motion.iterations["gauss_seidel"] == motion.iterations["newton"] == 0
    assert np.all(np.abs(motion.final.forces.friction[6:]) == pytest.approx(0.1))


def test_joints_that_creep_to_rest_are_absorbed() -> None:
    """They slip more and more slowly; to take them for sticking would solve every step with all rows."""
    drop = Drop(fw.models.quadruped(), dt=2e-3)
    standing = drop.simulator.rollout(drop.start(), control=drop.control, n_steps=1950, record=False).final
    assert 1e-10 < np.abs(standing.v).max() < 1e-8
    later = drop.simulator.rollout(standing, control=drop.control, n_steps=50, record=False)
    assert later.iterations["newton"].sum() < 75  # feet take one at most (ADR 55); with all rows there are three a step
    rows = drop.simulator.step_solution(later.final, control=drop.control).rows
    assert rows.absorbed[np.isin(rows.source, ("servo", "dry_friction"))].all()
