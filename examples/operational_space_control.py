"""Operational-space control: the hand of an arm follows a circle as if it were a point mass, the elbow stays lazy.

tau = J^T Lambda (a* - J' v) + h, with Lambda the inertia that the hand feels and a* a spring and a damper towards the
circle; what forces cannot be felt at the hand are used to damp the arm [Khatib 1987].
"""

import numpy as np

import featherweight as fw

model = fw.models.arm()
sim = fw.Simulator(model, dt=1e-3)
arm, hand = sim.model, "arm/flange"
kp, kd, radius, turn = 900.0, 60.0, 0.1, 2.0 * np.pi / 4.0  # [1/s^2], [1/s], [m], [rad/s]

q_start = np.array([0.0, 0.4, 0.0, 1.4, 0.0, 0.8, 0.0])
center = fw.frame_placement(arm, q_start, hand)[:3, 3]


def circle(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration of the goal; the radius grows in the first second."""
    grown = fw.Spline(model, [0.0, 1.0], [np.zeros(7), np.full(7, radius)])(t)
    r, dr, ddr = (x[0] for x in grown)
    out, along = np.array([0, np.cos(turn * t), np.sin(turn * t)]), np.array([0, -np.sin(turn * t), np.cos(turn * t)])
    velocity = dr * out + r * turn * along
    return center + r * out, velocity, (ddr - r * turn**2) * out + 2 * dr * turn * along


def controller(state: fw.State) -> np.ndarray:
    q, v = state.q, state.v
    goal, goal_v, goal_a = circle(state.time)
    J = fw.jacobian(arm, q, hand, reference="local_world_aligned")[:3]
    drift = fw.frame_acceleration(arm, q, v, np.zeros(7), hand, reference="local_world_aligned", classical=True)[:3]
    Lambda = fw.operational_space_inertia(arm, q, [fw.PointConstraint(hand)])
    wanted = goal_a + kp * (goal - fw.frame_placement(arm, q, hand)[:3, 3]) + kd * (goal_v - J @ v)
    H_inverse = fw.minverse(arm, q)
    unseen = np.eye(7) - J.T @ Lambda @ J @ H_inverse  # joint forces that the hand does not feel
    own = arm.damping * v + arm.friction * np.tanh(v / 0.01)  # of the joints
    return np.asarray(J.T @ Lambda @ (wanted - drift) + fw.bias_forces(arm, q, v) + own + unseen @ (-5.0 * v))


trajectory = sim.rollout(sim.state(q=q_start), policy=controller, n_steps=2000)
places = fw.frame_placement(arm, trajectory.q, hand)[:, :3, 3]
errors = np.linalg.norm(places - [circle(t)[0] for t in trajectory.time], axis=1)
print(f"a circle of {100 * radius:.0f} cm, two seconds: the hand is off by {1e3 * errors.max():.2f} mm at most")
assert errors.max() < 2e-3
assert np.abs(trajectory.v[-1]).max() < 2.0
