"""An arm slides a box and tips it over with a paddle: a box pushed low slides, pushed high it pivots on its edge."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import featherweight as fw

KP = np.array([2000.0, 2000.0, 1200.0, 1200.0, 600.0, 400.0, 150.0])
BOX = (0.1, 0.1, 0.2)
START, SLIDE = 0.64, 0.15  # where the box stands, and how far it slides [m]
LOW, HIGH = 0.05, 0.17  # of the paddle: with friction 0.6, a box slides if it is pushed below 0.083 m
POSTURE = np.array([0.0, 0.5, 0.0, 1.7, 0.0, 0.9, 0.0])  # the paddle points down behind the box


def world(friction: float) -> fw.Scene:
    builder = fw.ModelBuilder.from_description(fw.models.arm().description)
    builder.solid("paddle", "box", (0.024, 0.1, 0.12), mass=0.15, placement=(0, 0, 0.06))
    builder.joint("wrist", "fixed", "link_7", "paddle", placement=(0, 0, 0.06))
    builder.frame("tip", "paddle", (0, 0, 0.12))
    builder.exclude("link_7", "paddle")  # one in the other
    scene = fw.Scene(ground=fw.Plane(friction=friction))
    scene.add(builder.build(), name="arm", self_collision=False, q=POSTURE)
    scene.servo([f"arm/joint_{k}" for k in range(1, 8)], kp=KP, kd=0.1 * KP)
    scene.add(fw.box(BOX, mass=0.8, friction=friction), name="box", pose=(START, 0, BOX[2] / 2))
    return scene


def lean(times: np.ndarray) -> np.ndarray:
    """Where the box's axis points: up, from 1.5 s on it leans ahead, and lies after 0.6 s."""
    angle = 0.5 * np.pi * np.clip((times - 1.5) / 0.6, 0.0, 1.0)
    return np.stack([np.sin(angle), 0.0 * angle, np.cos(angle)], axis=1)


def push(sim: fw.Simulator) -> fw.mpc.Task:
    """What the box should do, and on the way there which height the paddle pushes at."""
    behind = START - 0.062
    times = np.array([0.0, 0.3, 1.1, 1.2, 1.5, 2.1])
    x = behind + np.array([-0.035, 0.0, SLIDE, SLIDE - 0.03, SLIDE - 0.02, SLIDE + 0.1])
    paddle = np.stack([x, [0.1, LOW, LOW, LOW, HIGH, HIGH + 0.01]], axis=1)
    box = START + np.array([0.0, 0.0, SLIDE, SLIDE, SLIDE, 2 * SLIDE])
    task = fw.mpc.Task(sim, terminal=4.0)
    task.add("paddle", fw.mpc.frame_position("arm/tip", "xz"), times=times, target=paddle, weight=6)
    task.add("aside", fw.mpc.frame_position(["arm/tip", "box"], "y"), weight=(6, 12))
    task.add("ahead", fw.mpc.frame_axis("box", "y", "x"), weight=3)
    task.add("box", fw.mpc.frame_position("box", "x"), times=times, target=box[:, None], weight=6)
    task.add("calm", fw.mpc.frame_velocity("box"), weight=2)
    task.add("lean", fw.mpc.frame_axis("box", "z"), target=lean, weight=5)
    task.add("posture", fw.mpc.joint_position("arm"), target=POSTURE, weight=0.3)
    task.add("rates", fw.mpc.joint_velocity("arm"), weight=0.3)
    task.add("effort", fw.mpc.control(), target=POSTURE, weight=0.1)
    return task


def attempt(friction: float) -> tuple[fw.mpc.ClosedLoop, bool]:
    """On a floor of another friction than the plan's, and whether the box slides and then lies."""
    sim = fw.Simulator(world(friction=0.6), dt=0.02, integrator="implicit")
    plant = fw.Simulator(world(friction=friction), dt=0.002, integrator="implicit")
    mpc = fw.mpc.ILQR(sim, push(sim), smoothing=fw.mpc.Smoothing(std=0.01), control=POSTURE)
    log = fw.mpc.run(mpc, plant, plant.state(), 2.6, delay=0.01)
    box = np.array([fw.frame_placement(sim.model, q, "box") for q in log.q])
    slides = box[:, 2, 2] > np.cos(np.radians(3.0))
    slid = box[slides, 0, 3].max() - START
    axis, end = box[-1, :3, 2], box[-1, :3, 3]
    print(f"{log}\nfriction {friction}: slides by {slid:.3f} m, leaning less than 3 degrees; ", end="")
    print(f"in the end at {end.round(2)}, its axis along {axis.round(2)}")
    return log, bool(0.07 < slid < 0.2 and axis[0] > 0.95 and abs(end[2] - BOX[0] / 2) < 0.005)


def main(html: Path | None = None, frictions: Sequence[float] = (0.45, 0.5, 0.55, 0.65, 0.7)) -> fw.mpc.ClosedLoop:
    attempts = [attempt(friction) for friction in frictions]
    done = [log for log, is_done in attempts if is_done]
    print(f"{len(done)} of {len(attempts)} boxes slide and are tipped over")
    assert done
    if html is not None:
        done[-1].html(html)
    return done[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--html", type=Path, metavar="FILE", help="where to save a page that plays the motion")
    main(parser.parse_args().html)
