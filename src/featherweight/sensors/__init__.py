"""Sensors: small frozen objects that read a state, for a whole batch at once and without noise.

>>> scene = fw.Scene(ground=fw.Plane())
>>> crate = scene.add(fw.box((0.4, 0.3, 0.2)), name="crate", pose=(0, 0, 0.1))
>>> sim = fw.Simulator(scene)
>>> state = sim.rollout(sim.state(), n_steps=100).final
>>> fw.IMU("crate").read(state).accelerometer.round(6) + 0.0
array([0.  , 0.  , 9.81])

Forces and accelerations are means over the last step, at the posture of its beginning, where the equation of motion of
the step holds exactly; before the first step they are zero. Positions and velocities are those of the state itself.
Arrays are (...) for a single environment and (batch, ...) for several. Frames, links and joints are named as in the
scene: "robot/foot". Sensors and what they read pickle, and compare by value.
"""
