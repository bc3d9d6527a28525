"""A quadruped jumps over a gap of 0.2 m: planned through constrained dynamics, on a schedule of standing and flight."""

import argparse
from pathlib import Path

import numpy as np

import featherweight as fw

STANCE = np.tile([0.0, 0.8, -1.6], 4)
FEET = [f"robot/{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]
EDGE, GAP, FAR = 0.24, 0.2, 0.7  # where the gap begins, how wide it is, and how far the robot jumps [m]
CROUCH, START, FLIGHT = 0.22, 0.4, 0.3  # how long it stretches, when it takes off, how long it flies [s]
HEIGHT, LIFT = 0.29, 0.07  # of the trunk that stands, and of the feet in the middle of the flight [m]
BACK, LEAN = -0.06, 0.08  # of the trunk, before the feet: lowest, and when they leave and reach the ground [m]


def world() -> fw.Scene:
    """Two platforms."""
    scene = fw.Scene()
    for name, x in (("near", EDGE - 1.0), ("far", EDGE + GAP + 1.0)):
        scene.add(fw.box((2, 1, 0.3), static=True, friction=0.8), name=name, pose=(x, 0, -0.15))
    robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.31), self_collision=False)
    scene.servo(robot, kp=80.0, kd=2.0)
    return scene


def jump(sim: fw.Simulator, standing: fw.State) -> fw.mpc.Task:
    """The trunk crouches, flies on a parabola and lands; the feet go along, to where there is ground again."""
    share = np.linspace(0.0, 1.0, 13)
    land = START + FLIGHT
    times = np.concatenate([[0.0, START - CROUCH], START + FLIGHT * share, [land + 0.1, land + 0.3]])
    parabola = HEIGHT + 0.5 * 9.81 * FLIGHT**2 * share * (1.0 - share)
    ahead = np.concatenate([[0.0, BACK], LEAN + (FAR - 2 * LEAN) * share, [FAR, FAR]])
    above = np.concatenate([[HEIGHT, 0.19], parabola, [0.24, HEIGHT]])
    trunk = np.stack([ahead, np.zeros(17), above], axis=1)
    along = np.concatenate([[0.0, 0.0], FAR * np.clip(1.15 * share, 0.0, 1.0), [FAR, FAR]])
    lift = np.concatenate([[0.0, 0.0], LIFT * np.sin(np.pi * share), [0.0, 0.0]])
    stand = np.array([fw.frame_placement(sim.model, standing.q, foot)[:3, 3] for foot in FEET])
    feet = stand + np.stack([along, np.zeros(17), lift], axis=1)[:, None]

    task = fw.mpc.Task(sim, terminal=3.0)
    task.add("trunk", fw.mpc.frame_position("robot/trunk"), times=times, target=trunk, weight=(6, 6, 12))
    feet_weight = np.tile([6, 6, 15], 4)
    task.add("feet", fw.mpc.frame_position(FEET), times=times, target=feet.reshape(17, 12), weight=feet_weight)
    task.add("level", fw.mpc.frame_axis("robot/trunk", "z", "xy"), weight=5)
    task.add("ahead", fw.mpc.frame_axis("robot/trunk", "x", "y"), weight=4)
    task.add("turn", fw.mpc.frame_angular_velocity("robot/trunk", axes="local"), weight=0.3)
    task.add("posture", fw.mpc.joint_position("robot"), target=STANCE, weight=0.5)
    task.add("rates", fw.mpc.joint_velocity("robot"), weight=0.02)
    task.add("effort", fw.mpc.control(), target=STANCE, weight=0.1)
    return task


def stands(times: np.ndarray) -> np.ndarray:
    """All feet, except in flight."""
    flies = (times > START - 1e-6) & (times < START + FLIGHT - 1e-6)
    return np.repeat(~flies[:, None], len(FEET), axis=1)


def attempt(seed: int) -> tuple[fw.mpc.ClosedLoop, bool]:
    """A robot lighter or heavier than the plan's, on ground of another friction, and whether it gets over."""
    scene = world()
    sim = fw.Simulator(scene, dt=0.02, integrator="implicit")
    plant = fw.Simulator(scene, dt=0.002, integrator="implicit")  # it finds its contacts itself
    q = plant.state().q.copy()
    q[7:] = STANCE
    standing = plant.state(q=plant.rollout(plant.state(q=q), control=STANCE, n_steps=250).final.q)
    rng = np.random.default_rng(seed)
    masses = np.full((1, plant.model.n_links), rng.uniform(0.95, 1.1))
    state = standing.randomised(masses=masses, friction=rng.uniform(0.8, 1.1, 1))

    schedule = fw.mpc.Schedule([fw.PointConstraint(foot, damping=20.0) for foot in FEET], stands, friction=0.6)
    mpc = fw.mpc.FDDP(sim, jump(sim, standing), schedule, nodes=45, control=STANCE, iterations=2)
    log = fw.mpc.run(mpc, plant, state, 1.6, delay=0.01)
    feet = np.array([[fw.frame_placement(sim.model, q, foot)[:3, 3] for foot in FEET] for q in log.q[::5]])
    over = (feet[..., 0] > EDGE) & (feet[..., 0] < EDGE + GAP)
    lowest, past = feet[over][:, 2].min(), feet[-1, :, 0].min() - EDGE - GAP
    print(f"{log}\nfeet are never below {1e3 * lowest:.0f} mm above the gap, and land {1e3 * past:.0f} mm past it")
    stands_again = log.q[-1, 2] > 0.25 and np.abs(log.v[-1, :6]).max() < 0.5
    return log, bool(lowest > 0.0 and past > 0.0 and stands_again)


def main(html: Path | None = None, seeds: int = 3) -> fw.mpc.ClosedLoop:
    attempts = [attempt(seed) for seed in range(2, 2 + seeds)]
    over = [log for log, is_over in attempts if is_over]
    print(f"{len(over)} of {seeds} robots get over the gap")
    assert over
    if html is not None:
        over[0].html(html)
    return over[0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--html", type=Path, metavar="FILE", help="where to save a page that plays the motion")
    parser.add_argument("--seeds", type=int, default=3, help="how many robots, of different mass and friction")
    options = parser.parse_args()
    main(options.html, options.seeds)
