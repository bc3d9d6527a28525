"""A humanoid walks where a schedule says which sole stands: planned through constrained dynamics, 25 nodes of 20 ms."""

import argparse
from pathlib import Path

from walk_by_planning import FEET, posture_of, walk, world

import featherweight as fw


def main(html: Path | None = None) -> None:
    scene = world()
    sim = fw.Simulator(scene, dt=0.02, integrator="implicit")
    plant = fw.Simulator(scene, dt=0.002, integrator="implicit")  # it finds its contacts itself
    posture = posture_of(sim)
    q = plant.state().q.copy()
    q[7:] = posture
    q[2] -= min(fw.frame_placement(sim.model, q, foot)[2, 3] for foot in FEET) - 0.082
    standing = plant.state(q=plant.rollout(plant.state(q=q), control=posture, n_steps=200).final.q)

    task = walk(sim, standing, posture)
    task["speed"].target = (0.4, 0.0, 0.0)
    height = float(fw.frame_placement(sim.model, standing.q, FEET[0])[2, 3])
    gait = task["feet"].target = fw.mpc.walk(0.8, 0.06, height=height, start=0.2)
    soles = [fw.FrameConstraint(f"robot/{side}_sole", damping=20.0) for side in ("left", "right")]
    schedule = fw.mpc.Schedule(soles, gait.stands, friction=0.6, sole=(0.2, 0.08))
    mpc = fw.mpc.FDDP(sim, task, schedule)

    log = fw.mpc.run(mpc, plant, standing, 2.0)
    speed, lowest = log.v[500:, 0].mean(), log.q[:, 2].min()
    print(f"{log}\n{speed:.2f} m/s, hips never below {lowest:.2f} m, {standing.q[2]:.2f} m at rest")
    assert log.failed_at is None and log.refused == 0
    assert lowest > 0.9 * standing.q[2] and 0.2 < speed < 0.6
    if html is not None:
        log.html(html)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--html", type=Path, metavar="FILE", help="where to save a page that plays the motion")
    main(parser.parse_args().html)
