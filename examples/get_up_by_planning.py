"""A quadruped lies on its back and gets up: samples turn it over, derivatives make it stand."""

import argparse
from pathlib import Path

import numpy as np

import featherweight as fw

STANCE = np.tile([0.0, 0.8, -1.6], 4)
FOLDED = np.tile([0.0, 1.2, -2.2], 4)


def world(friction: float) -> fw.Scene:
    scene = fw.Scene(ground=fw.Plane(friction=friction))
    robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.31), self_collision=False)
    scene.servo(robot, kp=60.0, kd=1.5)
    return scene


def stand(sim: fw.Simulator) -> fw.mpc.Task:
    """It says how the robot should be in the end, and nothing of how it gets there."""
    task = fw.mpc.Task(sim, terminal=5.0)
    task.add("up", fw.mpc.frame_axis("robot/trunk", "z"), target=(0, 0, 1), weight=3)
    task.add("height", fw.mpc.frame_position("robot/trunk", "z"), target=0.29, weight=8)
    task.add("speed", fw.mpc.frame_velocity("robot/trunk"), weight=0.2)
    task.add("posture", fw.mpc.joint_position("robot"), target=STANCE, weight=0.25)
    task.add("rates", fw.mpc.joint_velocity("robot"), weight=0.01)
    task.add("effort", fw.mpc.control(), target=STANCE, weight=0.1)
    return task


def is_up(state: fw.State) -> bool:
    """Whether the trunk is within 40 degrees of upright."""
    return bool(fw.frame_placement(state.simulator.model, state.q, "robot/trunk")[2, 2] > np.cos(np.radians(40.0)))


class GetUp:
    """Plans from samples as long as the robot is not up: on its back, slopes do not say which way to turn."""

    def __init__(self, sim: fw.Simulator, seed: int) -> None:
        self.sim, self.dt = sim, sim.dt
        task = stand(sim)
        self._turn = fw.mpc.DIAL(sim, task, nodes=40, samples=64, knots=8, noise=1.0, control=STANCE, seed=seed)
        self._stand = fw.mpc.ILQR(sim, task, smoothing=fw.mpc.Smoothing(std=0.01), control=STANCE)
        self.up_at: float | None = None

    def update(self, state: fw.State, time: float = 0.0) -> fw.mpc.Plan:
        if self.up_at is None and is_up(state):
            self.up_at = time
        return (self._turn if self.up_at is None else self._stand).update(state, time)


def on_its_back(plant: fw.Simulator, rng: np.random.Generator) -> fw.State:
    """At rest, legs folded as they happen to be."""
    q = plant.state().q.copy()
    q[2], q[3:7], q[7:] = 0.1, (1, 0, 0, 0), FOLDED
    legs = FOLDED + 0.05 * rng.standard_normal(12)
    return plant.state(q=plant.rollout(plant.state(q=q), control=legs, n_steps=300).final.q)


def main(html: Path | None = None, seed: int = 0) -> fw.mpc.ClosedLoop:
    sim = fw.Simulator(world(friction=0.8), dt=0.02, integrator="implicit")
    plant = fw.Simulator(world(friction=0.65), dt=0.002, integrator="implicit")
    mpc = GetUp(sim, seed)
    log = fw.mpc.run(mpc, plant, on_its_back(plant, np.random.default_rng(seed)), 2.5)
    height = float(log.q[-1, 2])
    print(f"{log}\nfrom {log.q[0, 2]:.2f} m on its back, upright after {mpc.up_at} s, {height:.2f} m high in the end")
    assert is_up(log.final) and height > 0.25 and np.abs(log.v[-1]).max() < 0.5
    if html is not None:
        log.html(html)
    return log


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--html", type=Path, metavar="FILE", help="where to save a page that plays the motion")
    parser.add_argument("--seed", type=int, default=0, help="of the samples and of how the legs lie")
    options = parser.parse_args()
    main(options.html, options.seed)
