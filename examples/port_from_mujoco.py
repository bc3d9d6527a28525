"""The same script for MuJoCo and for featherweight: an arm pushes a crate over the ground, and stops.

The file, the controls and the quantities that are read are the same; the crate ends in the same place.
"""

import mujoco
import numpy as np

import featherweight as fw

MJCF = """
<mujoco model="pusher">
  <option timestep="0.002" impratio="10" cone="elliptic"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" friction="0.5"/>
    <body name="pusher" pos="-0.3 0 0.1">
      <joint name="slide" type="slide" axis="1 0 0" damping="5"/>
      <geom name="plate" type="box" size="0.02 0.1 0.05" mass="1" friction="0.5"/>
    </body>
    <body name="crate" pos="0 0 0.1">
      <freejoint name="crate"/>
      <geom name="crate" type="box" size="0.1 0.1 0.1" mass="2" friction="0.5"/>
    </body>
  </worldbody>
  <actuator><position name="drive" joint="slide" kp="400" kv="40"/></actuator>
</mujoco>
"""
STEPS = 1000
target = 0.6 * np.clip(np.arange(STEPS) / 750.0, 0.0, 1.0)  # [m], a ramp of 1.5 s

# -- MuJoCo ----------------------------------------------------------------------------------------------------------
m = mujoco.MjModel.from_xml_string(MJCF)
d = mujoco.MjData(m)
highest = 0.0
for k in range(STEPS):
    d.ctrl[0] = target[k]
    mujoco.mj_step(m, d)
    highest = max(highest, abs(d.qfrc_actuator[0]))
crate = d.body("crate").xpos.copy()

# -- featherweight ---------------------------------------------------------------------------------------------------
model = fw.loads(MJCF, "mjcf")
sim = fw.Simulator(model, dt=0.002)
trajectory = sim.rollout(sim.state(), control=target[:, None])
final = trajectory.final
place = fw.frame_placement(model, final.q, "crate")[:3, 3]

print(f"the crate moved {crate[0]:.4f} m in MuJoCo, {place[0]:.4f} m here")
print(f"{len(final.contacts)} contacts, residual {float(final.residual):.1e}; MuJoCo's drive: up to {highest:.1f} N")
assert abs(place[0] - crate[0]) < 5e-3

# Coordinates of the two differ in conventions: the order of quaternions, the axes of free velocities.
q, v = fw.convert.from_mujoco(model, d.qpos, d.qvel)
assert np.allclose(q, final.q, atol=1e-2)

# What MuJoCo needs a second model and data for: 64 crates of different masses, at once.
masses = np.ones((64, model.n_links))
masses[:, model.link_names.index("crate")] = np.linspace(0.5, 1.5, 64)
many = sim.rollout(sim.state(batch=64).randomised(masses=masses), control=target[:, None]).final
print(f"crates of 1 to 3 kg moved {many.q[:, 1].min():.4f} to {many.q[:, 1].max():.4f} m")
assert np.ptp(many.q[:, 1]) < 0.02
