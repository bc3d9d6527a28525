"""What ignoring rotors costs: a fast arm of two links with geared motors, three ways.

The motors are light, but spin a hundred times as fast as their joints. One model has them as bodies, one has what the
joints feel of them (``armature``), and one has none; all get the same torques.
"""

import numpy as np

import featherweight as fw

RATIO, INERTIA, MASS = 100.0, 3e-6, 0.05


def arm(rotors: str) -> fw.Simulator:
    builder = fw.ModelBuilder(rotors)
    armature = RATIO**2 * INERTIA if rotors == "armature" else 0.0
    parent, at = "world", (0.0, 0.0, 0.0)
    for k, axis in enumerate("zy"):
        builder.solid(f"link_{k}", "capsule", (0.03, 0.3), mass=1.0, placement=(0.0, 0.0, 0.15))
        builder.joint(f"joint_{k}", "continuous", parent, f"link_{k}", placement=at, axis=axis, armature=armature)
        if rotors == "bodies":
            builder.rotor(f"rotor_{k}", f"joint_{k}", RATIO, inertia=INERTIA, mass=MASS)
        parent, at = f"link_{k}", (0.0, 0.0, 0.3)
    return fw.Simulator(builder.build(), dt=1e-4)


def motion(rotors: str) -> np.ndarray:
    sim = arm(rotors)
    tau = np.zeros(sim.model.nv)
    joints = [sim.model.joint(f"{rotors}/joint_{k}") for k in range(2)]
    for joint, torque in zip(joints, (0.4, 0.8), strict=True):
        tau[joint.v_slice] = torque
    q = sim.rollout(sim.state(), tau=tau, n_steps=3000).q
    return np.stack([q[:, joint.q_slice.start] for joint in joints], axis=1)


def main() -> None:
    exact = motion("bodies")
    errors = {rotors: np.degrees(np.abs(motion(rotors) - exact).max(axis=0)) for rotors in ("armature", "none")}
    for rotors, error in errors.items():
        print(f"{rotors:>9}: joints are off by {error[0]:.3f} and {error[1]:.3f} degrees after 0.3 s")
    assert errors["none"].min() > 90.0
    assert 0.0 < errors["armature"].max() < 0.1


if __name__ == "__main__":
    main()
