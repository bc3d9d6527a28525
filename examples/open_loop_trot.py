"""A quadruped that trots without sensing anything: diagonal legs swing in turn, and friction carries it forward."""

from pathlib import Path

import numpy as np

import featherweight as fw

PERIOD, STRIDE, LIFT, HEIGHT = 0.4, 0.08, 0.08, 0.3  # [s], [m] of a step, [m] of a swinging foot, [m] of the hips
SECONDS = 4.0

model = fw.models.quadruped()
scene = fw.Scene(ground=fw.Plane(friction=0.8))
robot = scene.add(model, name="robot", pose=(0, 0, HEIGHT + 0.025), self_collision=False)
scene.servo(robot, kp=300, kd=6)
sim = fw.Simulator(scene, dt=2e-3, integrator="implicit")
feet = [f"robot/{end}_{side}_foot" for end in ("front", "hind") for side in ("left", "right")]


def feet_at(phase: float) -> np.ndarray:
    """Of the four feet, (4, 2): forward and up from where they stand [m], by the phase of the gait from 0 to 1."""
    own = (phase + np.array([0.0, 0.5, 0.5, 0.0])) % 1.0  # diagonal feet together
    stance = own < 0.5
    forward = np.where(stance, 0.5 - 2.0 * own, 2.0 * own - 1.5) * STRIDE
    return np.stack([forward, np.where(stance, 0.0, LIFT * np.sin(np.pi * (2.0 * own - 1.0)))], axis=1)


# Inverse kinematics of a whole period at once, a batch with a row for each phase: four feet move, the trunk does not.
q0 = sim.scene.q0.copy()
q0[7:] = np.tile((0.0, 0.6, -1.2), 4)
phases = np.arange(0.0, 1.0, sim.dt / PERIOD)
shifts = np.array([feet_at(phase) for phase in phases])  # (phases, 4, 2)
targets = {"robot/trunk": fw.frame_placement(sim.model, q0, "robot/trunk")}
for k, foot in enumerate(feet):
    place = np.tile(fw.frame_placement(sim.model, q0, foot)[:3, 3], (len(phases), 1))
    place[:, 0] += shifts[:, k, 0]
    place[:, 2] = q0[2] - HEIGHT + shifts[:, k, 1]
    targets[foot] = place
found = fw.inverse_kinematics(sim.model, targets, q0=np.tile(q0, (len(phases), 1)))
assert found.converged.all()
gait = found.q[:, 7:]  # (phases, 12)

start = sim.state(q=np.concatenate([q0[:7], gait[0]]))
steps = round(SECONDS / sim.dt)
control = gait[np.arange(steps) % len(gait)]
trajectory = sim.rollout(start, control=control, record_contacts=True)

x, z = trajectory.q[:, 0], trajectory.q[:, 2]
speed = (x[-1] - x[steps // 2]) / (0.5 * SECONDS)
print(f"it trots at {speed:.2f} m/s, the trunk {z[steps // 2 :].min():.2f} to {z[steps // 2 :].max():.2f} m high")
page = Path("out/open_loop_trot.html")
page.parent.mkdir(exist_ok=True)
trajectory.html(page)
print(f"see {page}")
assert 0.6 < speed / (STRIDE / (0.5 * PERIOD)) < 1.2  # of the speed of feet that neither slip nor sag
assert z[steps // 2 :].min() > 0.28
