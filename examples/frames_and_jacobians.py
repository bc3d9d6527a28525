"""Frames, their velocities and Jacobians; and inverse kinematics for a hundred targets at once."""

import numpy as np

import featherweight as fw

model = fw.models.arm()
rng = np.random.default_rng(0)
q, v = model.random(rng), rng.standard_normal(model.nv)

# One motion, three references: seen in the frame, in the world, or at the frame's origin with the world's axes.
for reference in ("local", "world", "local_world_aligned"):
    J = fw.jacobian(model, q, "flange", reference=reference)  # (6, nv), [linear; angular]
    velocity = fw.frame_velocity(model, q, v, "flange", reference=reference)
    print(f"{reference:<20}", velocity.round(3))
    assert np.allclose(J @ v, velocity, atol=1e-14)

# local_world_aligned is what a finite difference of the position gives.
h = 1e-6
ahead, behind = (fw.frame_placement(model, model.integrate(q, s * h * v), "flange")[:3, 3] for s in (1, -1))
assert np.allclose((ahead - behind) / (2 * h), velocity[:3], atol=1e-8)

# Inverse kinematics: damped Gauss-Newton on the position of the flange, for all targets in each call.
targets = fw.frame_placement(model, model.random(rng, batch=100), "flange")[:, :3, 3]
q = model.random(rng, batch=100)
for _ in range(60):
    error = targets - fw.frame_placement(model, q, "flange")[:, :3, 3]
    J = fw.jacobian(model, q, "flange", reference="local_world_aligned")[:, :3]
    JJ = J @ J.transpose(0, 2, 1) + 1e-4 * np.eye(3)
    step = (J.transpose(0, 2, 1) @ np.linalg.solve(JJ, error[..., None]))[..., 0]
    q = model.integrate(q, step)
distance = np.linalg.norm(error, axis=1)
print(f"inverse kinematics: {np.sum(distance < 1e-6)} of {len(targets)} targets within a micrometre")
assert np.all(distance < 1e-6)
