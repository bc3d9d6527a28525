"""Boxes on a slope, each environment with a push of its own: they stop after exactly v^2 / (2 g (mu cos - sin))."""

import numpy as np

import featherweight as fw

G, MU, SLOPE = 9.81, 0.6, np.radians(20.0)
down = np.array([np.cos(SLOPE), 0.0, -np.sin(SLOPE)])

scene = fw.Scene(ground=fw.Plane(normal=(np.sin(SLOPE), 0.0, np.cos(SLOPE)), friction=MU))
at = 0.05 * np.array([np.sin(SLOPE), 0.0, np.cos(SLOPE)])
scene.add(fw.box((0.4, 0.4, 0.1), mass=2.0), name="box", pose=fw.pose(at, rpy=(0.0, SLOPE, 0.0)))
sim = fw.Simulator(scene, dt=1e-3)

speeds = np.array([0.0, 0.5, 1.0, 2.0])  # [m/s] down the slope, the x axis of the box
v = np.zeros((len(speeds), 6))
v[:, 0] = speeds
start = sim.state(batch=len(speeds), v=v)
end = sim.rollout(start, n_steps=1500).final

slid = (end.q[:, :3] - start.q[:, :3]) @ down
expected = speeds**2 / (2.0 * G * (MU * np.cos(SLOPE) - np.sin(SLOPE)))
for speed, distance, theory in zip(speeds, slid, expected, strict=True):
    print(f"{speed:.1f} m/s: slid {distance:.4f} m, theory {theory:.4f} m")
assert np.allclose(slid, expected, atol=2e-3)
assert abs(slid[0]) < 1e-9  # the one that was not pushed sticks, without creep
assert np.abs(end.v).max() < 1e-8  # all of them have come to rest
