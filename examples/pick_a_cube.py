"""An arm picks a cube from the ground and carries it into the air: inverse kinematics, a spline, and friction.

Nothing is glued: the cube is held by the friction of two fingers.
"""

from pathlib import Path

import numpy as np

import featherweight as fw

gym = fw.gym
env = gym.Env(gym.tasks.pick_and_place())
env.reset(seed=1)
sim = env.task.simulator
arm, start = sim.model, env.state
open_, closed = 0.045, 0.0

cube = start.q[0, 9:12]
goal = cube + np.array([0.0, 0.15, 0.25])
down = fw.frame_placement(arm, sim.scene.q0, "arm/grip")  # how the hand is held


def posture(place: np.ndarray) -> np.ndarray:
    """Joints (7,) that bring the grip to ``place``, the fingers pointing down."""
    target = down.copy()
    target[:3, 3] = place
    found = fw.inverse_kinematics(arm, {"arm/grip": target}, q0=sim.scene.q0)
    assert found.converged
    return np.asarray(found.q[:7])


# above the cube, down, hold, up and over, stay
above, at, end = posture(cube + np.array([0, 0, 0.1])), posture(cube), posture(goal)
robot = fw.models.arm()
times = [0.0, 0.8, 1.4, 1.8, 3.0, 3.5]
path = fw.Spline(robot, times, [start.q[0, :7], above, at, at, end, end], np.zeros((6, 7)))
t = sim.dt * np.arange(round(times[-1] / sim.dt))
fingers = np.where((t > 1.45)[:, None], closed, open_) * np.ones(2)
control = np.hstack([path(t).q, fingers])

# servos would sag under the weight of the arm: it is carried
weight = fw.gravity_forces(arm, np.hstack([control, np.tile(start.q[0, 9:], (len(t), 1))]))
weight[:, 9:] = 0.0  # nothing carries the cube

trajectory = sim.rollout(start, weight[None], control=control[None], record_contacts=True)
off = float(np.linalg.norm(trajectory.final.q[0, 9:12] - goal))
page = Path("out/pick_a_cube.html")
page.parent.mkdir(exist_ok=True)
trajectory.html(page)
print(f"the cube is {1e3 * off:.1f} mm from its goal, {trajectory.final.q[0, 11]:.3f} m above the ground: see {page}")
assert off < 0.02
