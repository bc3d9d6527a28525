"""A cart-pole in code, checked against its textbook equations."""

import numpy as np

import featherweight as fw

cart_mass, pole_mass, length, rotor = 2.0, 0.5, 0.8, 0.01

builder = fw.ModelBuilder("cart_pole")
builder.solid("cart", "box", (0.4, 0.2, 0.15), mass=cart_mass)
builder.link("pole", mass=pole_mass, com=(0, 0, length))  # a point mass on a massless rod, upright at q = 0
builder.joint("track", "prismatic", "world", "cart", axis="x", lower=-2, upper=2, effort_limit=40)
builder.joint("pivot", "continuous", "cart", "pole", axis="y", damping=0.05, armature=rotor)
builder.frame("tip", "pole", (0, 0, length))
model = builder.build()
print(model)
for joint in model.joints:
    print(" ", joint)

# The textbook: x to the right, angle from upright, towards x.
x, angle, speed, rate = 0.3, 0.7, -0.4, 1.1
g = 9.81
H = [
    [cart_mass + pole_mass, pole_mass * length * np.cos(angle)],
    [pole_mass * length * np.cos(angle), pole_mass * length**2 + rotor],
]
h = [-pole_mass * length * np.sin(angle) * rate**2, -pole_mass * g * length * np.sin(angle)]

q, v = np.array([x, angle]), np.array([speed, rate])
print("H =", fw.crba(model, q).round(4).tolist())
print("h =", fw.bias_forces(model, q, v).round(4).tolist())
assert np.allclose(fw.crba(model, q), H, rtol=1e-14)
assert np.allclose(fw.bias_forces(model, q, v), h, rtol=1e-14)

# Damping, friction and limits are kept with the model; a force law is yours to apply.
force = np.array([5.0, 0.0]) - model.damping * v
a = fw.aba(model, q, v, force)
assert np.allclose(a, np.linalg.solve(H, force - h), rtol=1e-13)

# Invalid models are refused, with an error that names the element.
refusal = ""
try:
    fw.ModelBuilder("wrong").joint("pivot", "revolute", "world", "pole")
except ValueError as error:
    refusal = str(error)
print("refused:", refusal)
assert "joint 'pivot': axis is needed" in refusal
