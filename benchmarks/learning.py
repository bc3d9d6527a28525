"""How much it takes to learn: ``python -m benchmarks.learning [imitation] [swing-up] [--seeds 5]``.

``imitation``: a policy that trots at 0.6 m/s, learnt from a planner (``fw.learn.imitate``), scored by the return of 64
episodes of 5 s that had no part in its choice; the largest is 250, that of standing still 112. ``swing-up``: a pole on
a cart is swung up and balanced, by ``fw.learn.shac`` and by PPO of Stable-Baselines3, until the mean return of 16 held
out episodes passes -500; both are looked at every 10,240 samples. Times are CPU times of one thread: networks
are small.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

import numpy as np

import featherweight as fw
from benchmarks.report import markdown_table

gym, terms = fw.gym, fw.gym.terms

#: [m/s] to trot at, and where the trunk is then [m].
SPEED, HEIGHT = 0.6, 0.29
STANCE = np.tile([0.0, 0.8, -1.6], 4)
FEET = [f"robot/{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]
TROT = 0.5  # [s] its period

#: Of the pole: the return that counts as having learnt it, samples between two looks and at most, held-out seeds.
GOAL, EVERY, MOST, HELD_OUT = -500.0, 10_240, 409_600, 1_000_000


# -- imitation --------------------------------------------------------------------------------------------------------


def quadruped(dt: float) -> fw.Simulator:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    start = np.concatenate([[0, 0, 0, 0, 0, 0, 1.0], STANCE])
    robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, HEIGHT + 0.005), q=start, self_collision=False)
    scene.servo(robot, kp=60.0, kd=1.5)
    return fw.Simulator(scene, dt=dt, integrator="implicit", num_threads=1)


@gym.term
def quality(world: gym.World) -> gym.Array:
    """One, less what is wrong with speed, height, tilt and effort."""
    v, up = world.v, np.asarray(terms.up("robot")(world))[:, 2]
    speed = 1.5 * (v[:, 0] - SPEED) ** 2 + 0.7 * v[:, 1] ** 2 + 0.3 * v[:, 2] ** 2 + 0.05 * (v[:, 3:6] ** 2).sum(1)
    place = 15.0 * (world.q[:, 2] - HEIGHT) ** 2 + 2.0 * (1.0 - up)
    return np.asarray(1.0 - speed - place - 0.03 * (world.action**2).sum(1))


@gym.term
def shaken(world: gym.World) -> None:
    world.v[...] = world.random.uniform(np.full(18, -0.1), 0.1)
    world.q[:, 2] += 0.02


def trotting() -> gym.Task:
    return gym.Task(
        quadruped(5e-3),
        decimation=4,
        episode_length=5.0,
        actions={"legs": gym.Targets("robot", scale=0.5)},
        observations={
            "height": 10.0 * terms.base_height("robot"),
            "up": terms.up("robot"),
            "velocity": terms.base_velocity("robot"),
            "spin": terms.base_spin("robot"),
            "positions": terms.joint_positions("robot"),
            "rates": 0.1 * terms.joint_velocities("robot"),
            "clock": terms.phase(TROT),
        },
        rewards={"quality": quality()},
        terminations={"fell": terms.fell_over("robot", float(np.arccos(0.6))), "low": terms.below("robot", 0.15)},
        resets={"joints": terms.scatter_joints("robot", position=0.1), "shaken": shaken()},
    )


def planner(sim: fw.Simulator) -> fw.mpc.ILQR:
    task = fw.mpc.Task(sim, terminal=5.0)
    task.add("height", fw.mpc.frame_position("robot/trunk", "z"), target=HEIGHT, weight=15)
    task.add("upright", fw.mpc.frame_axis("robot/trunk", "z", "xy"), weight=6)
    task.add("speed", fw.mpc.frame_velocity("robot/trunk", axes="local"), target=(SPEED, 0, 0), weight=2)
    task.add("turn", fw.mpc.frame_angular_velocity("robot/trunk", axes="local"), weight=(0.6, 0.6, 1.5))
    task.add("posture", fw.mpc.joint_position("robot"), target=STANCE, weight=0.6)
    task.add("rates", fw.mpc.joint_velocity("robot"), weight=0.02)
    task.add("feet", fw.mpc.frame_position(FEET, "z"), target=fw.mpc.trot(TROT, 0.06, height=0.022), weight=40)
    task.add("effort", fw.mpc.control(), target=STANCE, weight=0.4)
    return fw.mpc.ILQR(sim, task, nodes=25, smoothing=fw.mpc.Smoothing(std=0.01), control=STANCE)


def imitation(seed: int) -> list[dict[str, str]]:
    sim = quadruped(0.02)
    result = fw.learn.imitate(
        trotting(), fw.learn.Planners(lambda: planner(sim)), labels=4800, rounds=12, mixing=0.85, seed=seed,
        learner=fw.learn.Regression(steps=800, blur=0.4), progress=True,
    )  # fmt: skip
    fresh = fw.cluster.evaluate(trotting(), result.policy, episodes=64, seed=5 * HELD_OUT)
    best = result.rounds[result.best]
    return [
        {
            "seed": str(seed),
            "return of 64 episodes": f"{fresh.returns.mean():.1f} +- {fresh.returns.std():.1f}",
            "falls": str(int(fresh.terminated.sum())),
            "held-out score": f"{result.score:.1f}",
            "labels": str(result.labels),
            "labels of the best round": str(best.labels),
            "CPU [s]": f"{result.cpu_seconds:.0f}",
        }
    ]


# -- swinging up ------------------------------------------------------------------------------------------------------


@gym.term
def where(world: gym.World) -> gym.Array:
    x, angle = world.q.T
    return np.stack([x, np.sin(angle), np.cos(angle), 0.2 * world.v[:, 0], 0.2 * world.v[:, 1]], axis=1)


@gym.term
def missing(world: gym.World) -> gym.Array:
    """The square of the angle from upright, and a little of all else."""
    angle = np.arctan2(np.sin(world.q[:, 1]), np.cos(world.q[:, 1]))
    rest = 0.05 * world.q[:, 0] ** 2 + 0.1 * (world.v**2).sum(axis=1)
    return np.asarray(angle**2 + rest)


@gym.term
def anywhere(world: gym.World) -> None:
    most = np.array([0.1, np.pi, 0.5, 0.5])
    drawn = world.random.uniform(-most, most)
    world.q[...], world.v[...] = drawn[:, :2], drawn[:, 2:]


def swing_up() -> gym.Task:
    builder = fw.ModelBuilder("cart_pole")
    builder.solid("cart", "box", (0.4, 0.2, 0.15), mass=1.0)
    builder.link("pole", mass=0.3, com=(0, 0, 0.8))
    builder.joint("track", "prismatic", "world", "cart", axis="x")
    builder.joint("pivot", "continuous", "cart", "pole", axis="y", damping=0.02, armature=0.005)
    scene = fw.Scene()
    scene.add(builder.build(), name="robot")
    scene.motor(["robot/track"], gain=15.0)
    return gym.Task(
        fw.Simulator(scene, dt=1.0 / 120.0, num_threads=1),
        decimation=2,
        episode_length=4.0,
        actions={"push": gym.Targets("robot/track")},
        observations={"where": where()},
        rewards={"missing": -1.0 * missing()},
        resets={"anywhere": anywhere()},
    )


def by_gradients(seed: int) -> dict[str, str]:
    result = fw.learn.shac(
        swing_up(), samples=81_920, num_envs=8, horizon=32, rate=1e-2, critic_rate=2e-3, every=EVERY // 256, seed=seed
    )
    spent = np.cumsum([each.cpu_seconds for each in result.scores])
    looks = [(each.samples, each.score, float(cpu)) for each, cpu in zip(result.scores, spent, strict=True)]
    return _row("shac", seed, looks)


def by_ppo(seed: int) -> dict[str, str]:
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecNormalize

    torch.set_num_threads(1)
    task = swing_up()
    looks: list[tuple[int, float, float]] = []
    envs = VecNormalize(fw.learn.stable_baselines3(task, 16), gamma=0.99)
    model = PPO(
        "MlpPolicy", envs, n_steps=128, batch_size=256, n_epochs=10, learning_rate=1e-3, gamma=0.99, gae_lambda=0.95,
        policy_kwargs={"net_arch": [128, 64], "activation_fn": torch.nn.ELU}, seed=seed, device="cpu",
    )  # fmt: skip

    def policy(seen: Any) -> Any:
        return model.predict(envs.normalize_obs(seen), deterministic=True)[0]

    began = time.process_time()
    while model.num_timesteps < MOST and not (looks and looks[-1][1] >= GOAL):
        model.learn(EVERY, reset_num_timesteps=False)
        held = fw.cluster.evaluate(task, policy, episodes=16, seed=seed + HELD_OUT)
        looks.append((model.num_timesteps, float(held.returns.mean()), time.process_time() - began))
    return _row("PPO", seed, looks)


def _row(name: str, seed: int, looks: Sequence[tuple[int, float, float]]) -> dict[str, str]:
    reached = next((each for each in looks if each[1] >= GOAL), None)
    return {
        "seed": str(seed),
        "": name,
        f"samples to {GOAL:.0f}": "-" if reached is None else f"{reached[0]:,}",
        "CPU until then [s]": "-" if reached is None else f"{reached[2]:.0f}",
        "best return": f"{max(each[1] for each in looks):.0f}",
        "samples in all": f"{looks[-1][0]:,}",
    }


def swinging_up(seed: int) -> list[dict[str, str]]:
    return [by_gradients(seed), by_ppo(seed)]


PARTS = {"imitation": imitation, "swing-up": swinging_up}


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(prog="python -m benchmarks.learning", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--seeds", type=int, default=5, help="(default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="seed (default: %(default)s)")
    options = parser.parse_args(argv)
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"parts: expected some of {', '.join(PARTS)}, got {part!r}")
        rows = []
        for seed in range(options.first, options.first + options.seeds):
            rows += (found := PARTS[part](seed))
            print(*found, sep="\n", file=sys.stderr, flush=True)
        print(f"{part}\n\n{markdown_table(rows)}\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
