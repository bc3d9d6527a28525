"""An MJCF file with a keyframe and sensors: a leg that lands, and what its sensors read, for a batch of drops."""

import numpy as np

import featherweight as fw

MJCF = """
<mujoco model="leg">
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" friction="0.8"/>
    <body name="trunk" pos="0 0 0.6">
      <joint name="rail" type="slide" axis="0 0 1"/>
      <geom type="box" size="0.1 0.05 0.05" mass="4"/>
      <site name="imu"/>
      <body name="thigh">
        <joint name="hip" type="hinge" axis="0 1 0" damping="0.1" range="-90 90"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.02" mass="0.5"/>
        <body name="shin" pos="0 0 -0.25">
          <joint name="knee" type="hinge" axis="0 1 0" damping="0.1" range="-150 0"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.015" mass="0.2"/>
          <geom name="foot" type="sphere" size="0.03" pos="0 0 -0.25" mass="0.1"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="hip_servo" joint="hip" kp="80" kv="4"/>
    <position name="knee_servo" joint="knee" kp="80" kv="4"/>
  </actuator>
  <sensor>
    <accelerometer name="acceleration" site="imu"/>
    <jointpos name="knee_angle" joint="knee"/>
  </sensor>
  <keyframe><key name="crouch" qpos="-0.1 0.5 -1.0" ctrl="0.5 -1.0"/></keyframe>
</mujoco>
"""

model = fw.loads(MJCF, "mjcf", strict=True)  # from a file: fw.load("leg.xml", strict=True)
print(model, "keyframes", list(model.keyframes), "sensors", [sensor.name for sensor in model.description.sensors])
sim = fw.Simulator(model, dt=0.002, integrator="implicit")
sensors = fw.named_sensors(sim)
crouch = sim.keyframe("crouch")

# 16 drops from the keyframe, from different heights
state = sim.state(batch=16, keyframe="crouch")
q = state.q.copy()
q[:, 0] += np.linspace(0.0, 0.15, 16)
landed = sim.rollout(state.replace(q=q), control=crouch.control, n_steps=1000).final

knee = sensors["leg/knee_angle"].read(landed)
acceleration = sensors["leg/acceleration"].read(landed)
print("knee angles at rest:", np.unique(np.round(knee, 4)), "rad; target", crouch.control[1])
print("accelerometer:", np.round(acceleration[0], 3), "m/s^2")
assert np.allclose(knee.ravel(), knee.ravel()[0], atol=1e-3)  # they all end in the same posture
assert np.allclose(acceleration, (0.0, 0.0, 9.81), atol=1e-2)  # which is at rest
foot = fw.ContactForceSensor("leg/shin").read(landed)
assert np.allclose(foot.force[:, 2], model.mass * 9.81, rtol=1e-3)
