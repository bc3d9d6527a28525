"""Thousands of robots in one call: arrays (batch, n) run on the lanes of the CPU and on all its cores."""

import time

import numpy as np

import featherweight as fw

model = fw.models.humanoid()
rng = np.random.default_rng(0)
batch = 4096
q = model.random(rng, batch=batch)  # (4096, nq), within the limits of the joints
v = rng.standard_normal((batch, model.nv))
tau = 10.0 * rng.standard_normal((batch, model.nv))

start = time.perf_counter()
a = fw.aba(model, q, v, tau)  # (4096, nv)
seconds = time.perf_counter() - start
print(
    f"{model.name}, {model.nv} degrees of freedom: {batch} forward dynamics in {1e3 * seconds:.1f} ms, "
    f"{fw.build_info()['isa']}"
)

# Arguments without a batch are shared: the same torque in all samples, one posture at many velocities, ...
falling = fw.aba(model, q, v, np.zeros(model.nv))
stopped = fw.rnea(model, q[0], v, np.zeros(model.nv))
assert falling.shape == stopped.shape == (batch, model.nv)

# Inverse dynamics undo forward dynamics.
error = np.abs(fw.rnea(model, q, v, a) - tau).max()
print(f"rnea(aba(tau)) - tau: {error:.1e} N m at most")
assert error < 1e-8

# A result depends neither on the rest of the batch nor on the number of threads: the bits are the same.
assert np.array_equal(fw.aba(model, q[7], v[7], tau[7]), a[7])
assert np.array_equal(fw.aba(model, q, v, tau, num_threads=1), a)

# float32 arrays run in float32, with twice the lanes.
single = fw.aba(model, *(x.astype(np.float32) for x in (q, v, tau)))
assert single.dtype == np.float32
relative = np.abs(single - a).max() / np.abs(a).max()
print(f"float32 differs by {relative:.1e} of the largest acceleration")
assert relative < 1e-3
