"""4096 quadrupeds dropped at once, each from its own posture and with its own push; the same calls as for one."""

import time

import numpy as np

import featherweight as fw

BATCH, STEPS = 4096, 100
scene = fw.Scene(ground=fw.Plane(friction=0.8))
model = fw.models.quadruped()
crouch = np.concatenate([model.q0[:7], np.tile((0.0, 0.6, -1.2), 4)])
robot = scene.add(model, name="robot", pose=(0, 0, 0.4), q=crouch, self_collision=False)
scene.servo(robot, kp=60, kd=4)
sim = fw.Simulator(scene, dt=4e-3, integrator="implicit")

rng = np.random.default_rng(0)
state = sim.state(batch=BATCH)
q, v = state.q.copy(), state.v.copy()  # (4096, nq), (4096, nv)
q[:, 7:] += rng.uniform(-0.2, 0.2, (BATCH, 12))
v[:, :2] = rng.uniform(-0.3, 0.3, (BATCH, 2))
start = state.replace(q=q, v=v)
targets = q[:, 7:]  # every robot holds its own posture

began = time.perf_counter()
trajectory = sim.rollout(start, control=targets, n_steps=STEPS, record=False)
seconds = time.perf_counter() - began
final = trajectory.final
print(f"{BATCH} robots for {STEPS * sim.dt:g} s in {seconds:.2f} s: {BATCH * STEPS / seconds:,.0f} steps a second")
print(f"heights of the trunks: {final.q[:, 2].min():.2f} to {final.q[:, 2].max():.2f} m")
print(f"worst residual {trajectory.residual.max():.1e}, failed: {int(final.failed.sum())}")
assert not final.failed.any()
assert final.converged.all()

# A result does not depend on the rest of the batch: robot 17 alone moves in the same way, bit for bit.
alone = sim.rollout(sim.state(q=q[17], v=v[17]), control=targets[17], n_steps=STEPS).final
assert np.array_equal(alone.q, final.q[17])

# Restart those that fell, and go on with all of them.
fell = final.q[:, 2] < 0.2
again = sim.rollout(final.reset(fell), control=targets, n_steps=10, record=False).final
print(f"{int(fell.sum())} restarted")
assert again.batch_size == BATCH
