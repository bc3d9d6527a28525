"""Drop a quadruped on the ground, let servos hold it, and push it: it sways and comes back."""

import numpy as np

import featherweight as fw

scene = fw.Scene(ground=fw.Plane(friction=0.8))
robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.35))
scene.servo(robot, kp=80.0, kd=5.0)
sim = fw.Simulator(scene, dt=2e-3, integrator="implicit")

standing = np.tile((0.0, 0.7, -1.4), 4)  # hip, thigh and calf of each leg
q = sim.scene.q0.copy()
q[7:] = standing
landed = sim.rollout(sim.state(q=q), control=standing, n_steps=1000).final
print(f"landed: base {landed.q[2]:.3f} m high on {len(landed.contacts)} contacts, residual {landed.residual:.0e}")

# 60 N to the side for a tenth of a second
pushed = landed
for _ in range(50):
    push = sim.push(pushed, "robot/trunk", (0.0, 60.0, 0.0))
    pushed = sim.step(pushed, control=standing, f_ext=push)
recovered = sim.rollout(pushed, control=standing, n_steps=1000).final
print(f"pushed: {np.abs(pushed.v[:6]).max():.2f} m/s or rad/s at most, 2 s later {np.abs(recovered.v).max():.0e}")

weight = sim.model.mass * 9.81
pressed = sum(fw.ContactForceSensor(f"robot/{leg}_foot").read(recovered).force[2]
              for leg in ("front_left", "front_right", "hind_left", "hind_right"))  # fmt: skip
assert abs(pressed - weight) < 1e-3 * weight  # the feet carry it
assert abs(recovered.q[2] - landed.q[2]) < 0.01  # it stands as before
assert landed.converged and recovered.converged
