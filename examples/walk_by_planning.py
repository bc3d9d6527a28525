"""A humanoid steps in place, walks on, is pushed and turns: 33 degrees of freedom, planned through its soles."""

import argparse
from pathlib import Path

import numpy as np

import featherweight as fw

FEET = ("robot/left_foot", "robot/right_foot")
BENT = {"thigh": -0.3, "shin": 0.6, "ankle": -0.3}


def world() -> fw.Scene:
    return with_servos(fw.Scene(ground=fw.Plane(friction=0.8)))


def with_servos(scene: fw.Scene) -> fw.Scene:
    """A humanoid besides what there is; its servos are as stiff as their motors are strong."""
    model = fw.models.humanoid()
    scene.add(model, name="robot", pose=(0, 0, 1), self_collision=False)
    for joint in model.joints:
        if joint.nv == 1:
            stiffness = 5.0 * float(joint.effort_limit[0])
            scene.servo([f"robot/{joint.name}"], kp=stiffness, kd=stiffness / 50.0)
    return scene


def posture_of(sim: fw.Simulator) -> np.ndarray:
    """Knees bent a little, arms at rest, (nu,)."""
    joints = [actuator.joint or "" for actuator in sim.actuators]
    return np.array([sum(x for part, x in BENT.items() if joint.endswith(f"_{part}_joint")) for joint in joints])


def walk(sim: fw.Simulator, standing: fw.State, posture: np.ndarray) -> fw.mpc.Task:
    def height(frame: str) -> float:
        return float(fw.frame_placement(sim.model, standing.q, frame)[2, 3])

    task = fw.mpc.Task(sim, terminal=5.0)
    task.add("height", fw.mpc.frame_position("robot/torso", "z"), target=height("robot/torso"), weight=8)
    task.add("upright", fw.mpc.frame_axis("robot/torso", "z", "xy"), weight=5)
    task.add("speed", fw.mpc.frame_velocity("robot/torso", axes="local"), weight=2)
    task.add("turn", fw.mpc.frame_angular_velocity("robot/torso", axes="local"), weight=(0.5, 0.5, 1.5))
    task.add("posture", fw.mpc.joint_position("robot"), target=posture, weight=0.7)
    task.add("rates", fw.mpc.joint_velocity("robot"), weight=0.03)
    task.add("feet", fw.mpc.frame_position(FEET, "z"), target=fw.mpc.walk(0.8, 0.06, height=height(FEET[0])), weight=30)
    task.add("flat", fw.mpc.frame_axis(FEET, "z", "xy"), weight=4)
    task.add("balance", fw.mpc.center_of_mass("xy", above=FEET), weight=6)
    task.add("effort", fw.mpc.control(), target=posture, weight=0.3)
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

    task = walk(sim, standing, posture)
    mpc = fw.mpc.ILQR(sim, task, smoothing=fw.mpc.Smoothing(std=0.01), control=posture)

    def push(t: float, s: fw.State) -> np.ndarray | None:
        task["speed"].target = (0.4 if t > 0.4 else 0.0, 0.0, 0.0)
        task["turn"].target = (0.0, 0.0, 0.6 if t > 1.6 else 0.0)
        return plant.push(s, "robot/torso", (300, 0, 0)) if 1.2 <= t < 1.3 else None

    log = fw.mpc.run(mpc, plant, standing, 3.2, delay=0.01, push=push)
    gone, lowest = log.q[-1, 0] - standing.q[0], log.q[:, 2].min()
    forward = fw.frame_placement(sim.model, log.q[-1], "robot/pelvis")[:2, 0]
    turned = float(np.arctan2(forward[1], forward[0]))
    print(f"{log}\n{gone:.2f} m ahead, {turned:.2f} rad to the left, hips never below {lowest:.2f} m", end="")
    print(f", {standing.q[2]:.2f} m at rest")
    assert log.failed_at is None and lowest > 0.8 * standing.q[2] and 0.4 < gone < 1.8 and turned > 0.4
    if html is not None:
        log.html(html)
    return log


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--html", type=Path, metavar="FILE", help="where to save a page that plays the motion")
    main(parser.parse_args().html)
