"""Masses from motion: an arm moves with an unknown load in its hand, and its joint forces tell what it carries.

Joint forces are linear in masses, first moments and inertias: tau = Y(q, v, a) p. The robot without the load is known,
so ten numbers of its last link are left, found by least squares.
"""

import numpy as np

import featherweight as fw

arm = fw.models.arm()
load = fw.ModelBuilder.from_description(arm.description)
load.solid("load", "box", (0.10, 0.06, 0.08), mass=1.8, placement=(0.02, -0.01, 0.12))
load.joint("held", "fixed", "link_7", "load")
loaded = load.build()

# what the robot did: a smooth path through random postures, sampled at 100 Hz
rng = np.random.default_rng(0)
path = fw.Spline(arm, np.arange(12) * 0.8, 0.6 * arm.random(rng, batch=12))
q, v, a = path(np.arange(0.0, path.duration, 0.01))
measured = fw.rnea(loaded, q, v, a) + rng.normal(scale=0.05, size=q.shape)  # [N m], noisy sensors

# what is left once the known robot is taken away comes from the last link
Y = fw.torque_regressor(arm, q, v, a)
last = arm.link_names.index("link_7")
columns = Y[..., 10 * last : 10 * last + 10].reshape(-1, 10)
rest = (measured - fw.rnea(arm, q, v, a)).reshape(-1)
found, *_ = np.linalg.lstsq(columns, rest, rcond=None)
center = found[1:4] / found[0]
print(f"the load: {found[0]:.3f} kg, its centre at {np.round(1e3 * center, 1)} mm (1.8 kg at [20, -10, 120])")
assert abs(found[0] - 1.8) < 0.02
assert np.abs(center - (0.02, -0.01, 0.12)).max() < 2e-3
