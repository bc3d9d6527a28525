"""How heavy a robot feels to a hand that pushes it, and what forces hold its feet: the Delassus matrix at work."""

import numpy as np

import featherweight as fw

robot = fw.models.quadruped()
rng = np.random.default_rng(0)
q = robot.random(rng, batch=1000)

# Inertia felt at a foot, in each direction: the inverse of the foot's Delassus matrix.
foot = [fw.PointConstraint("front_left_foot")]
inertia = fw.operational_space_inertia(robot, q, foot)
felt = np.linalg.eigvalsh(inertia)
print(f"A foot feels like {felt[:, 0].min():.2f} to {felt[:, 2].max():.2f} kg, the robot weighs {robot.mass:.1f} kg.")
assert felt[:, 0].min() > 0
assert felt[:, 2].max() < robot.mass

# All four feet at once: forces that give them the wanted accelerations, without forming a matrix.
feet = [fw.PointConstraint(f"{end}_{side}_foot") for end in ("front", "hind") for side in ("left", "right")]
delassus = fw.DelassusOperator(robot, q, feet, damping=1e-8)
wanted = rng.standard_normal((1000, 12))
forces = delassus.solve(wanted)
worst = np.abs(delassus.apply(forces) - wanted).max()
print(f"Forces at all feet reach the wanted accelerations to {worst:.0e} m/s^2.")
assert worst < 1e-5

# A rod between two feet couples them: a constraint between two links.
rod = [fw.PointConstraint("front_left_foot", to="front_right_foot", rows=("y",))]
mobility = fw.delassus(robot, q, rod)[:, 0, 0]
print(f"A newton along the rod moves its ends apart by {mobility.min():.2f} to {mobility.max():.2f} m/s^2.")
assert mobility.min() > 0
