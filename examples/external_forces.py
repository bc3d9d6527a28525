"""Forces on links: a quadruped standing on two feet, a push, and the joint torques that balance them."""

import numpy as np

import featherweight as fw

model = fw.models.quadruped()
q, at_rest = model.neutral(), np.zeros(model.nv)
for joint in model.joints:
    if joint.name.endswith("thigh_joint"):
        q[joint.q_slice] = 0.7
    if joint.name.endswith("calf_joint"):
        q[joint.q_slice] = -1.4

# Diagonal feet carry half of the weight each. f_ext: (n_links, 6), force then moment, in each link's own axes at its
# own origin; a force known in the world is turned into the link first.
feet = ("front_left_foot", "hind_right_foot")
upwards = np.array([0.0, 0.0, 0.5 * model.mass * 9.81])
f_ext = np.zeros((model.n_links, 6))
for foot in feet:
    R = fw.frame_placement(model, q, foot)[:3, :3]
    f_ext[model.link(foot).index, :3] = R.T @ upwards

# The forces at which nothing accelerates. Those of the base would have to come from a hand: it has no motor. The feet
# carry the weight but are not exactly below the centre of mass, so there is a moment left that would tip the robot.
tau = fw.rnea(model, q, at_rest, at_rest, f_ext)
motors = slice(6, None)
print("torque of each motor [N m]:", tau[motors].round(2))
print("the hand at the base [N, N m]:", tau[:6].round(2))
assert np.abs(tau[:3]).max() < 1e-12

# The same by virtual work: a force on a link acts on the joints through its Jacobian.
by_jacobians = fw.gravity_forces(model, q)
for foot in feet:
    by_jacobians -= fw.jacobian(model, q, foot).T @ f_ext[model.link(foot).index]
assert np.allclose(tau, by_jacobians, atol=1e-12)

# A batch of sideways pushes on the trunk, with all other forces as before: the accelerations differ by H^-1 J^T f.
pushes = np.repeat(f_ext[None], 5, axis=0)
pushes[:, model.link("trunk").index, 1] = np.linspace(0.0, 40.0, 5)
a = fw.aba(model, q, at_rest, tau, pushes)
print("sideways acceleration of the trunk [m/s^2]:", a[:, 1].round(3))
J = fw.jacobian(model, q, "trunk")
expected = fw.minverse(model, q) @ J.T @ np.array([0, 40.0, 0, 0, 0, 0])
assert np.allclose(a[0], 0.0, atol=1e-10)
assert np.allclose(a[4], expected, atol=1e-10)
