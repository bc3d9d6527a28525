"""A block lies out of reach, a hook within: a plan is searched for, tried at half the step and with other friction."""

from pathlib import Path

import numpy as np

import featherweight as fw

# the hook: a bar, and across its end a claw
builder = fw.ModelBuilder("hook")
builder.solid("bar", "box", (0.5, 0.025, 0.025), mass=0.15).joint("root", "free", "world", "bar")
builder.solid("claw", "box", (0.025, 0.14, 0.025), mass=0.06)
builder.joint("claw", "fixed", "bar", "claw", placement=(0.25, -0.06, 0.0))

scene = fw.Scene(ground=fw.Plane(friction=0.5))
start = [0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0]  # the hand points down in front of the arm
arm = scene.add(fw.models.arm(), name="arm", q=start, self_collision=False)
scene.servo(arm, kp=4000, kd=200)
scene.add(fw.box((0.08, 0.08, 0.08), mass=0.3), name="block", pose=(0.95, 0.1, 0.04))
scene.add(builder.build(), name="hook", pose=fw.pose((0.35, -0.5, 0.0126), rpy=(0, 0, -0.8)))

# what the hand can hold has a weld to it with a switch
scene.constrain(fw.FrameConstraint("arm/flange", to="hook/bar"), switch="hold hook")
sim = fw.Simulator(scene, dt=4e-3, integrator="implicit")

hook = fw.planning.Tool("hook/bar", grip=(-0.2, 0.0, 0.0125), tip=(0.2375, -0.07, 0.0), faces=("-x",))
goal = fw.planning.Near("block", (0.69, 0.07), within=0.06)
problem = fw.planning.Problem(sim, hand="arm/flange", goal=goal, tools=[hook])
plan = fw.planning.solve(problem, samples=1500, seed=1)
print(plan)

page = Path("out/fetch_with_a_hook.html")
page.parent.mkdir(exist_ok=True)
plan.html(page)
print(f"{plan.statistics.samples} samples of skills; see {page}")
ends = plan.trajectory.q[-1][sim.scene.parts["block"].q][:2]
assert np.linalg.norm(ends - problem.goal.place) < 0.06
assert plan.verdict.worst < 0.06
