"""Your own Gymnasium environment, declared from terms: an arm that holds its hand still although it is hit.

Gymnasium's own checker accepts it, and simple feedback does better than none.
"""

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

import featherweight as fw

gym, terms = fw.gym, fw.gym.terms

scene = fw.Scene()
arm = scene.add(fw.models.arm(), name="arm", q=[0.0, 0.5, 0.0, 1.0, 0.0, 0.5, 0.0], self_collision=False)
scene.servo(arm, kp=200, kd=20)
simulator = fw.Simulator(scene, dt=5e-3, integrator="implicit")
still = fw.frame_placement(simulator.model, simulator.scene.q0, "arm/flange")[:3, 3]


@gym.term
def off(world, frame, place):  # type: ignore[no-untyped-def]
    """Distance of a frame from a place [m], (n,)."""
    return np.linalg.norm(world.placement(frame)[:, :3, 3] - place, axis=1)


@gym.term
def shake(world, joint, speed):  # type: ignore[no-untyped-def]
    """A blow: the velocity of a joint changes by up to ``speed`` [rad/s]."""
    world.v[:, world.names.dofs(joint)] += world.random.uniform(np.full(1, -speed), speed)


task = gym.Task(
    simulator,
    decimation=4,
    episode_length=4.0,
    actions={"targets": gym.Targets("arm", scale=0.3)},
    observations={
        "positions": terms.joint_positions("arm").noisy(0.005),
        "velocities": 0.1 * terms.joint_velocities("arm"),
    },
    rewards={"still": 1.0 * terms.alive(), "off": -10.0 * off("arm/flange", still)},
    terminations={"far": lambda world: np.asarray(off("arm/flange", still)(world) > 0.5)},
    resets={"posture": terms.scatter_joints("arm", position=0.05)},
    events={"blow": gym.Repeated(shake("arm/joint_2", 2.0), every=0.5)},
)


def mean_return(gain: float, num_envs: int = 64) -> float:
    """Of one episode each: actions are joint positions and velocities, fed back with a gain."""
    envs = gym.VectorEnv(task, num_envs)
    observations, _ = envs.reset(seed=0)
    where = envs.observation_slices
    total, running = np.zeros(num_envs), np.ones(num_envs, dtype=bool)
    for _ in range(round(4.0 / task.period)):
        action = -gain * (observations[:, where["positions"]] + observations[:, where["velocities"]])
        observations, rewards, terminated, truncated, _ = envs.step(action)
        total += rewards * running
        running &= ~(terminated | truncated)
    return float(total.mean())


gymnasium.register("Still-v0", entry_point=lambda **options: gym.Env(task, **options))
env = gymnasium.make("Still-v0")
check_env(env.unwrapped, skip_render_check=True)
nothing, feedback = mean_return(0.0), mean_return(2.0)
print(f"observations {env.observation_space.shape}, actions {env.action_space.shape}")
print(f"mean return of an episode: {nothing:.1f} without feedback, {feedback:.1f} with it")
assert feedback > nothing
