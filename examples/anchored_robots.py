"""Accelerations and forces of robots with anchored feet: one call for a batch, with other feet in each sample."""

import numpy as np

import featherweight as fw

model = fw.models.quadruped()
legs = ("front_left", "front_right", "hind_left", "hind_right")
feet = fw.ConstraintSet(model, [fw.PointConstraint(f"{leg}_foot") for leg in legs])

# a trot: diagonal pairs of feet take turns, sample by sample
batch = 1000
rng = np.random.default_rng(0)
q = model.random(rng, batch=batch)
v = 0.1 * rng.standard_normal((batch, model.nv))
tau = rng.standard_normal((batch, model.nv)) * np.r_[np.zeros(6), np.ones(12)]
on_the_ground = np.zeros((batch, 4), dtype=bool)
on_the_ground[::2, [0, 3]] = True
on_the_ground[1::2, [1, 2]] = True

solution = fw.constrained_dynamics(model, q, v, tau, feet, active=on_the_ground)
print(solution)
assert solution.converged.all()

# feet on the ground do not accelerate, those in the air exert nothing
accelerations = fw.constraint_residual(model, q, v, solution.a, feet).reshape(batch, 4, 3)
assert np.abs(accelerations[on_the_ground]).max() < 1e-9
forces = solution.forces.reshape(batch, 4, 3)
assert not forces[~on_the_ground].any()

# eight methods behind one signature
for method in ("pv", "prox_pv", "pv_early", "constrained_aba", "ltl", "kkt"):
    other = fw.constrained_dynamics(model, q, v, tau, feet, active=on_the_ground, method=method)
    difference = np.abs(other.a - solution.a).max() / np.abs(solution.a).max()
    print(f"{method:16s} differs by {difference:.0e}, {other.iterations.mean():.1f} iterations")
    assert difference < 1e-8
