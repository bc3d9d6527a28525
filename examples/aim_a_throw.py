"""A throw through a bounce, aimed by gradients that go through the impact: friction, restitution and spin included."""

import numpy as np

import featherweight as fw

scene = fw.Scene(ground=fw.Plane(friction=0.4, restitution=0.7))
scene.add(fw.sphere(0.05, mass=0.2, restitution=0.7), name="ball", pose=(0, 0, 1.0))
sim = fw.Simulator(scene, dt=2e-3)
n_steps = 450
mark = np.array([2.0, 0.5, 0.4])  # [m] where the ball should be after 0.9 s, having touched the ground


def throw(velocity: np.ndarray) -> fw.Trajectory:
    return sim.rollout(sim.state(v=np.r_[velocity, 0, 0, 0]), n_steps=n_steps, tape=True)


def gradient(trajectory: fw.Trajectory) -> np.ndarray:
    """Of half the squared distance from the mark, by the velocity of the throw."""
    turned = fw.frame_placement(sim.model, trajectory.final.q, "ball")[:3, :3]
    dq = np.zeros((n_steps, 6))
    dq[-1, :3] = turned.T @ (trajectory.q[-1, :3] - mark)  # in the axes of the ball, which spins
    return sim.rollout_vjp(trajectory, dq).v0[:3]


velocity = np.array([1.5, 0.0, -2.0])
first = np.linalg.norm(throw(velocity).q[-1, :3] - mark)
# By secants, as Barzilai and Borwein: the last two gradients say how long a step should be.
old_velocity = old = None
count = 0
while count < 60:
    trajectory = throw(velocity)
    g = gradient(trajectory)
    error = np.linalg.norm(trajectory.q[-1, :3] - mark)
    if error < 1e-6:
        break
    step = 0.5 if old is None else abs((velocity - old_velocity) @ (g - old)) / ((g - old) @ (g - old))
    old_velocity, old = velocity, g
    velocity, count = velocity - step * g, count + 1
print(f"{first:.2f} m off at first, {error:.0e} m after {count} gradients: throw with {velocity.round(3)} m/s")
assert error < 1e-6
assert trajectory.q[:, 2].min() < 0.07  # it did bounce
