"""A quadruped under constraints: torques to stand, torques to squat, a landing, and feet that do not drift."""

import numpy as np

import featherweight as fw

model = fw.models.quadruped()
names = [f"{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]
q, at_rest = model.neutral(), np.zeros(model.nv)
for joint in model.joints:
    if joint.name.endswith("thigh_joint"):
        q[joint.q_slice] = 0.7
    if joint.name.endswith("calf_joint"):
        q[joint.q_slice] = -1.4
feet = fw.ConstraintSet(model, [fw.PointConstraint(foot) for foot in names])

# Standing still. The base has no motor: the ground must carry it, with the smallest forces that do.
stand = fw.constrained_inverse_dynamics(model, q, at_rest, at_rest, feet)
print("torque of each motor [N m]:", stand.tau[6:].round(2))
pushes = [fw.frame_placement(model, q, foot)[:3, :3] @ stand.force(k) for k, foot in enumerate(names)]
print("force on each foot, upwards [N]:", np.round(pushes, 1)[:, 2])
assert not stand.tau[:6].any()
assert np.allclose(np.sum(pushes, axis=0), [0, 0, model.mass * 9.81])
assert np.allclose(fw.constrained_dynamics(model, q, at_rest, stand.tau, feet).a, 0, atol=1e-9)

# Squatting at 2 m/s^2, the feet staying where they are: the joints must move as J a + gamma = 0 says.
wanted = np.zeros(model.nv)
wanted[2] = -2.0
J, gamma = fw.constraint_jacobian(model, q, feet), fw.constraint_bias(model, q, at_rest, feet)
wanted[6:] = np.linalg.solve(J[:, 6:], -gamma - J @ wanted)
assert np.abs(fw.constraint_residual(model, q, at_rest, wanted, feet)).max() < 1e-12
squat = fw.constrained_inverse_dynamics(model, q, at_rest, wanted, feet)
print(f"the ground gives {np.linalg.norm(squat.forces) / np.linalg.norm(stand.forces):.2f} of the standing forces")
assert squat.residual < 1e-9
assert np.allclose(fw.constrained_dynamics(model, q, at_rest, squat.tau, feet).a, wanted, atol=1e-9)

# Landing at 1.5 m/s, on all feet, on the front feet, on one diagonal: a batch with feet of its own in each sample.
falling = np.zeros(model.nv)
falling[2] = -1.5
active = np.array([[True, True, True, True], [True, True, False, False], [True, False, False, True]])
landed = fw.impulse_dynamics(model, q, falling, feet, active=active)
before, after = fw.kinetic_energy(model, q, falling), fw.kinetic_energy(model, q, landed.v)
print("energy kept by the landing:", (after / before).round(2), "on four feet, on two, on a diagonal")
speed = fw.constraint_velocity(model, q, landed.v, feet).reshape(3, 4, 3)
assert np.abs(speed[active]).max() < 1e-9
assert np.all(after < before)

# Feet that missed their places by a centimetre are drawn to them, with a time constant of 20 ms.
T, step = 0.02, 1e-3
places = [fw.frame_placement(model, q, foot)[:3, 3] + [0.01, 0, 0] for foot in names]
drawn = fw.ConstraintSet(
    model,
    [
        fw.PointConstraint(foot, position=place, stiffness=1 / T**2, damping=2 / T)
        for foot, place in zip(names, places, strict=True)
    ],
)
v = at_rest
start = np.abs(fw.constraint_position_error(model, q, drawn)).max()
for _ in range(200):
    v = v + step * fw.constrained_dynamics(model, q, v, stand.tau, drawn).a
    q = model.integrate(q, step * v)
end = np.abs(fw.constraint_position_error(model, q, drawn)).max()
print(f"feet off by {1e3 * start:.1f} mm, 0.2 s later by {1e3 * end:.3f} mm")
assert end < 0.01 * start
