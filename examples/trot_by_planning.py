"""A quadruped trots, turns and is pushed: planned through its contacts, 25 nodes of 20 ms ahead, nothing scheduled."""

import argparse
from pathlib import Path

import numpy as np

import featherweight as fw

STANCE = np.tile([0.0, 0.8, -1.6], 4)
FEET = [f"robot/{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]


def world(friction: float) -> fw.Scene:
    scene = fw.Scene(ground=fw.Plane(friction=friction))
    robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.31), self_collision=False)
    scene.servo(robot, kp=60.0, kd=1.5)
    return scene


def trot(sim: fw.Simulator) -> fw.mpc.Task:
    """Weights are one over the deviation that counts as one."""
    task = fw.mpc.Task(sim, terminal=5.0)
    task.add("height", fw.mpc.frame_position("robot/trunk", "z"), target=0.29, weight=15)
    task.add("upright", fw.mpc.frame_axis("robot/trunk", "z", "xy"), weight=6)
    task.add("speed", fw.mpc.frame_velocity("robot/trunk", axes="local"), target=(0.6, 0, 0), weight=2)
    task.add("turn", fw.mpc.frame_angular_velocity("robot/trunk", axes="local"), weight=(0.6, 0.6, 1.5))
    task.add("posture", fw.mpc.joint_position("robot"), target=STANCE, weight=0.6)
    task.add("rates", fw.mpc.joint_velocity("robot"), weight=0.02)
    task.add("feet", fw.mpc.frame_position(FEET, "z"), target=fw.mpc.trot(0.5, 0.06, height=0.022), weight=40)
    task.add("effort", fw.mpc.control(), target=STANCE, weight=0.4)
    return task


def main(html: Path | None = None) -> fw.mpc.ClosedLoop:
    sim = fw.Simulator(world(friction=0.8), dt=0.02, integrator="implicit")
    task = trot(sim)
    mpc = fw.mpc.ILQR(sim, task, smoothing=fw.mpc.Smoothing(std=0.01), control=STANCE)

    plant = fw.Simulator(world(friction=0.65), dt=0.002, integrator="implicit")  # what the plan does not know
    q = sim.state().q.copy()
    q[7:] = STANCE
    state = plant.rollout(plant.state(q=q), control=STANCE, n_steps=300).final
    heavier = np.full((1, plant.model.n_links), 1.1)
    state = plant.state(q=state.q).randomised(masses=heavier)

    def push(t: float, s: fw.State) -> np.ndarray | None:
        task["turn"].target = (0.0, 0.0, 0.5 if t > 1.0 else 0.0)  # targets may change at any time
        return plant.push(s, "robot/trunk", (0, 100, 0)) if 1.5 <= t < 1.6 else None

    log = fw.mpc.run(mpc, plant, state, 2.5, delay=0.01, push=push)
    speed, turn = log.v[600:, 0].mean(), log.v[1000:, 5].mean()
    print(f"{log}\n{speed:.2f} m/s ahead, {turn:.2f} rad/s, trunk never below {log.q[:, 2].min():.2f} m")
    assert log.failed_at is None and log.q[:, 2].min() > 0.18
    assert 0.4 < speed < 0.8 and turn > 0.2
    if html is not None:
        log.html(html)
    return log


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--html", type=Path, metavar="FILE", help="where to save a page that plays the motion")
    main(parser.parse_args().html)
