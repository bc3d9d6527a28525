"""Friction and mass from a motion: gradient steps through every contact of a rollout, without differences."""

import numpy as np

import featherweight as fw

# A crate is pulled over the floor by a rope; what is seen is where it is at every step.
scene = fw.Scene(ground=fw.Plane(friction=0.5))
scene.add(fw.box((0.3, 0.2, 0.1), density=500.0), name="crate", pose=(0, 0, 0.05))
sim = fw.Simulator(scene, dt=5e-3)
start = sim.state(v=[1.2, 0, 0, 0, 0, 0])
n_steps = 60
pull = np.zeros((n_steps, sim.model.nv))
pull[:, 0] = 12.0 * np.sin(np.linspace(0, 3, n_steps))  # [N]


def rollout(friction: float, mass: float, tape: bool = False) -> fw.Trajectory:
    """Factors on the friction and the mass that the scene has."""
    one = sim.state(1, q=start.q, v=start.v).randomised(friction=[friction], masses=[[mass]])
    return sim.rollout(one, pull[None], tape=tape)


true = np.array([0.7, 1.6])
seen = rollout(true[0], true[1]).q[0, :, 0]

guess = np.array([1.0, 1.0])
for iteration in range(30):
    trajectory = rollout(guess[0], guess[1], tape=True)
    error = trajectory.q[0, :, 0] - seen
    # Gauss and Newton: one column of the Jacobian of what is seen, each from a product with the rollout
    rows = []
    for k in range(9, n_steps, 10):
        dq = np.zeros((1, n_steps, sim.model.nv))
        dq[0, k, 0] = 1.0  # along x of the crate, which does not turn
        g = sim.rollout_vjp(trajectory, dq, parameters=("friction", "masses"))
        rows.append(np.concatenate([g.parameters["friction"][0], g.parameters["masses"][0]]))
    change = np.linalg.lstsq(np.array(rows), error[9::10], rcond=None)[0]
    guess = guess - change
    print(f"{iteration}: friction {guess[0]:.6f}, mass {guess[1]:.6f}, error {np.abs(error).max():.1e} m")
    if np.abs(change).max() < 1e-10:
        break

assert np.allclose(guess, true, rtol=1e-6)
