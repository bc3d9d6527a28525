"""An arm balanced by a regulator made from derivatives, and the posture that needs the least torque."""

import numpy as np

import featherweight as fw

arm = fw.models.arm()
n, dt = arm.nv, 0.01
rng = np.random.default_rng(0)

# Around a posture the arm is x' = A x + B u, with x the deviation of q and v, and u that of the joint forces.
q0, rest = arm.neutral() + 0.4, np.zeros(n)
tau0 = fw.gravity_forces(arm, q0)
d = fw.aba_derivatives(arm, q0, rest, tau0)
A = np.eye(2 * n) + dt * np.block([[dt * d.dq, np.eye(n) + dt * d.dv], [d.dq, d.dv]])
B = dt * np.vstack([dt * d.dtau, d.dtau])

# The regulator that costs least (Riccati's equation, iterated).
Q, R = np.diag(np.r_[np.full(n, 100.0), np.ones(n)]), 1e-3 * np.eye(n)
P = Q
for _ in range(1000):
    K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    P = Q + A.T @ P @ (A - B @ K)

# It brings the arm back, all nonlinearity included.
q, v = arm.integrate(q0, 0.2 * rng.normal(size=n)), rest
before = np.abs(arm.difference(q0, q)).max()
for _ in range(500):
    x = np.r_[arm.difference(q0, q), v]
    v = v + dt * fw.aba(arm, q, v, tau0 - K @ x)
    q = arm.integrate(q, dt * v)
after = np.abs(arm.difference(q0, q)).max()
print(f"Five seconds later the arm is {after:.0e} rad from its posture, from {before:.2f} rad.")
assert after < 1e-3

# A posture that needs little torque to hold: the gradient of |tau|^2 / 2 is a product with tau, in O(n).
q = q0
for _ in range(2000):
    tau = fw.gravity_forces(arm, q)
    by_q = fw.rnea_vjp(arm, q, rest, rest, tau)[0]
    q = arm.integrate(q, -2e-4 * by_q)
held, start = np.linalg.norm(fw.gravity_forces(arm, q)), np.linalg.norm(tau0)
print(f"Holding it takes {held:.2f} N m in the best posture nearby, {start:.2f} N m in the first.")
assert held < 0.5 * start
