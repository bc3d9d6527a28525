"""A humanoid steps up 0.1 m: where its feet should be and when, everything else is planned through its soles."""

import argparse
from pathlib import Path

import numpy as np
from walk_by_planning import FEET, posture_of, with_servos

import featherweight as fw

STEP, AHEAD, CLEAR = 0.1, 0.45, 0.08  # height, how far the feet go, and by how much they clear the edge [m]
START, SWING, BOTH = 0.3, 0.6, 0.3  # until the first foot lifts, of each swing, and between them [s]


def world() -> fw.Scene:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    scene.add(fw.box((1, 1, STEP), static=True, friction=0.8), name="step", pose=(0.75, 0, STEP / 2))
    return with_servos(scene)


def swing(foot: np.ndarray, start: float) -> tuple[np.ndarray, np.ndarray]:
    """Times and positions of a foot that goes up, ahead, and down on the step."""
    times = start + SWING * np.array([0.0, 0.35, 0.75, 1.0])
    ahead = AHEAD * np.array([0.0, 0.1, 0.9, 1.0])
    above = np.array([0.0, STEP + CLEAR, STEP + 0.7 * CLEAR, STEP])
    return times, foot + np.stack([ahead, np.zeros(4), above], axis=1)


def step_up(sim: fw.Simulator, standing: fw.State, posture: np.ndarray) -> fw.mpc.Task:
    left, right = (fw.frame_placement(sim.model, standing.q, foot)[:3, 3] for foot in FEET)
    torso = fw.frame_placement(sim.model, standing.q, "robot/torso")[2, 3]
    second = START + SWING + BOTH
    task = fw.mpc.Task(sim, terminal=5.0)
    for name, foot, at, start in (("left", FEET[0], left, START), ("right", FEET[1], right, second)):
        times, places = swing(at, start)
        task.add(name, fw.mpc.frame_position(foot), times=times, target=places, weight=12)
    # the centre of mass goes over the foot that stands, and up between the swings
    x, y = left[0] + 0.02, 0.75 * left[1]
    times = START + np.array([0.0, 0.5 * SWING, SWING, SWING + BOTH, 1.5 * SWING + BOTH, 2 * SWING + BOTH])
    ahead = x + AHEAD * np.array([0.0, 0.15, 0.3, 0.9, 0.95, 1.0])
    aside = y * np.array([-0.9, -1.0, 0.0, 0.9, 1.0, 0.0])
    above = torso + STEP * np.array([0.0, 0.15, 0.3, 0.6, 0.8, 1.0])
    task.add("balance", fw.mpc.center_of_mass("xy"), times=times, target=np.stack([ahead, aside], 1), weight=5)
    task.add("height", fw.mpc.frame_position("robot/torso", "z"), times=times, target=above[:, None], weight=6)
    task.add("upright", fw.mpc.frame_axis("robot/torso", "z", "xy"), weight=5)
    task.add("ahead", fw.mpc.frame_axis("robot/torso", "x", "y"), weight=3)
    task.add("turn", fw.mpc.frame_angular_velocity("robot/torso", axes="local"), weight=0.5)
    task.add("flat", fw.mpc.frame_axis(FEET, "z", "xy"), weight=4)
    task.add("posture", fw.mpc.joint_position("robot"), target=posture, weight=0.5)
    task.add("rates", fw.mpc.joint_velocity("robot"), weight=0.03)
    task.add("effort", fw.mpc.control(), target=posture, weight=0.25)
    return task


def main(html: Path | None = None) -> fw.mpc.ClosedLoop:
    scene = world()
    sim = fw.Simulator(scene, dt=0.02, integrator="implicit")
    plant = fw.Simulator(scene, dt=0.002, integrator="implicit")
    posture = posture_of(sim)
    q = plant.state().q.copy()
    q[7:] = posture
    q[2] -= min(fw.frame_placement(sim.model, q, foot)[2, 3] for foot in FEET) - 0.082
    standing = plant.state(q=plant.rollout(plant.state(q=q), control=posture, n_steps=200).final.q)
    state = standing.randomised(friction=[0.8], masses=np.full((1, plant.model.n_links), 1.1))

    task = step_up(sim, standing, posture)
    mpc = fw.mpc.ILQR(sim, task, smoothing=fw.mpc.Smoothing(std=0.01), control=posture)
    log = fw.mpc.run(mpc, plant, state, 2.6, delay=0.01)
    up, ahead = log.q[-1, 2] - standing.q[2], log.q[-1, 0] - standing.q[0]
    feet = [fw.frame_placement(sim.model, log.q[-1], foot)[2, 3] - 0.08 for foot in FEET]
    print(f"{log}\n{ahead:.2f} m ahead and {up:.2f} m up, feet at {feet[0]:.3f} and {feet[1]:.3f} m")
    assert abs(up - STEP) < 0.03 and abs(ahead - AHEAD) < 0.05 and min(feet) > STEP - 0.01
    assert np.abs(log.v[-1]).max() < 0.5
    if html is not None:
        log.html(html)
    return log


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--html", type=Path, metavar="FILE", help="where to save a page that plays the motion")
    main(parser.parse_args().html)
