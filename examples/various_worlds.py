"""Quadrupeds that land in worlds of their own: other ground, gravity, friction, masses and motors in each."""

import numpy as np

import featherweight as fw

BATCH, NX, NY = 64, 30, 30
rng = np.random.default_rng(0)

scene = fw.Scene(ground=fw.HeightField(np.zeros((NX, NY)), (6, 6)))
robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.5))
scene.servo(robot, kp=60, kd=4)
sim = fw.Simulator(scene, dt=2e-3, integrator="implicit")

gravity = np.zeros((BATCH, 3))
gravity[:, 2] = -rng.uniform(1.6, 9.81, BATCH)  # from the Moon to the Earth
state = sim.state(batch=BATCH).randomised(
    friction=rng.uniform(0.4, 1.2, BATCH),
    gains=rng.uniform(0.8, 1.2, (BATCH, sim.nu)),
    gravity=gravity,
    masses=rng.uniform(0.8, 1.2, (BATCH, sim.model.n_links)),
    heights={"ground": 0.05 * rng.random((BATCH, NX, NY))},
)
trajectory = sim.rollout(state, control=np.zeros(sim.nu), n_steps=1000)
final = trajectory.final

# What carries a robot at rest is its own weight: masses and gravity differ, the balance does not.
factors = state.parameters.masses
assert factors is not None
masses = factors @ np.array([link.inertia.mass if link.inertia else 0.0 for link in sim.model.description.links])
contacts = final.contacts
carried = np.zeros((BATCH, 3))
np.add.at(carried, contacts.environment, contacts.force_world)
weight = -masses[:, None] * gravity
at_rest = np.abs(final.v).max(axis=1) < 1e-3
print(f"{at_rest.sum()} of {BATCH} lie or stand still after {final.time:g} s")
print(f"their weights: {weight[at_rest, 2].min():.0f} to {weight[at_rest, 2].max():.0f} N")
print(f"carried but for {np.abs(carried - weight)[at_rest].max():.1e} N")
print(f"worst residual {trajectory.residual.max():.1e}, steps that missed it: {int(trajectory.unconverged.sum())}")
assert at_rest.sum() > BATCH // 2
assert np.abs(carried - weight)[at_rest].max() < 0.02
assert not final.failed.any()
