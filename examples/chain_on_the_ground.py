"""A chain that lies on the ground with every link: what an iteration of ADMM costs, with the matrix and without."""

import time

import numpy as np

import featherweight as fw


def lying_chain(links: int) -> fw.Scene:
    builder = fw.ModelBuilder()
    for k in range(links):
        builder.solid(f"link_{k}", "sphere", (0.05,), mass=0.3, placement=(0.1, 0, 0))
        if k == 0:
            builder.joint("base", "free", "world", "link_0", placement=(0, 0, 0.05))
        else:
            place = (0.2, 0, 0)
            builder.joint(f"hinge_{k}", "revolute", f"link_{k - 1}", f"link_{k}", axis="yz"[k % 2], placement=place)
    scene = fw.Scene(ground=fw.Plane(friction=0.6))
    scene.add(builder.build(), name="chain")
    return scene


def microseconds(links: int, *, matrix_free: bool) -> float:
    """What 500 more iterations add to a step, each."""
    medians = []
    for iterations in (100, 600):
        solver = fw.ADMM(tolerance=1e-30, max_iterations=iterations, matrix_free=matrix_free)  # never reached
        sim = fw.Simulator(lying_chain(links), dt=2e-3, solver=solver, num_threads=1)
        state, taken = sim.state(), []
        for _ in range(9):
            start = time.process_time()
            after = sim.step(state)
            taken.append(time.process_time() - start)
        assert len(after.contacts) == links and after.iterations["admm"] == iterations
        medians.append(float(np.median(taken)))
    return 1e6 * (medians[1] - medians[0]) / 500


print("links and contacts   with the matrix [us]   without [us]")
for links in (20, 40, 80, 160):
    dense, free = (min(microseconds(links, matrix_free=free) for _ in range(3)) for free in (False, True))
    print(f"{links:18d}   {dense:20.1f}   {free:12.1f}")

# They are the same steps: the impulses differ by less than the tolerance.
ends = []
for free in (False, True):
    solver = fw.ADMM(tolerance=1e-10, max_iterations=5000, matrix_free=free)
    sim = fw.Simulator(lying_chain(40), dt=2e-3, solver=solver)
    ends.append(sim.rollout(sim.state(), n_steps=20).final)
assert all(end.converged for end in ends)
print(f"velocities after 20 steps differ by {np.abs(ends[0].v - ends[1].v).max():.0e}")
assert np.abs(ends[0].v - ends[1].v).max() < 1e-8
