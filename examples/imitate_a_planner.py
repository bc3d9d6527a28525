"""A pole on a cart goes where it is told: planned 1.6 s ahead at first, then by a small network that saw the plans."""

from dataclasses import replace

import numpy as np

import featherweight as fw

gym, terms = fw.gym, fw.gym.terms


@gym.term
def beside(world: gym.World) -> gym.Array:
    """How far the cart is from its place [m]."""
    return world.q[:, 0] - world.command("place")[:, 0]


balance = gym.tasks.cart_pole()
task = replace(
    balance,
    observations={**balance.observations, "beside": beside()},
    rewards={"there": -1.0 * terms.drift(beside())},
    commands={"place": gym.Repeated(terms.draw((-1.0,), (1.0,)), every=4.0)},
)


def planner() -> fw.mpc.ILQR:
    wanted = fw.mpc.Task(task.simulator, terminal=5.0)
    wanted.add("state", fw.mpc.joint_position(), weight=(1.0, 8.0))
    wanted.add("rates", fw.mpc.joint_velocity(), weight=0.3)
    wanted.add("effort", fw.mpc.control(), weight=0.3)
    return fw.mpc.ILQR(task.simulator, wanted, nodes=40, dt=0.04)


def aim(wanted: fw.mpc.Task, world: gym.World) -> None:
    wanted["state"].target = (world.command("place")[0, 0], 0.0)


expert = fw.learn.Planners(planner, aim=aim)
fit = fw.learn.Regression(hidden=(64, 32), blur=0.05, library="numpy")
result = fw.learn.imitate(task, expert, labels=1600, rounds=4, num_envs=8, learner=fit)
for each in result.rounds:
    print(each)
print(result)

envs = gym.VectorEnv(task, 32)  # that had no part in it
seen = envs.reset(seed=77)[0]
distance, falls = [], 0
for _ in range(round(3.9 / task.period)):
    distance.append(np.abs(seen[:, -1]))
    seen, rewards, fallen, over, infos = envs.step(result.policy(seen))
    falls += int(fallen.sum())
first, last = np.median(distance[0]), np.median(distance[-1])
print(f"distances [m]: {first:.2f} at first, {last:.2f} after four seconds; {falls} falls")
assert first > 0.3 and last < 0.1 and falls < 4
