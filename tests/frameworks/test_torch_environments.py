"""Environments as functions of tensors: the values of Gymnasium's, and gradients that are those of differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import featherweight as fw

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install featherweight[torch]")
gym, terms = fw.gym, fw.gym.terms


def reacher() -> gym.Task:
    """A compound pendulum whose targets are incremented within limits, one column for both, and pushed on the way."""
    scene = fw.Scene()
    arm = scene.add(fw.models.arm(), name="arm", q=[0.0, 0.5, 0.0, 1.0, 0.0, 0.5, 0.0], self_collision=False)
    scene.servo(arm, kp=200, kd=20)
    names = [f"arm/joint_{k}" for k in range(1, 8)]
    return gym.Task(
        fw.Simulator(scene, dt=5e-3, integrator="implicit"),
        decimation=3,
        actions={
            "moving": gym.Increments(names[0], scale=0.1, low=-0.15, high=0.3),
            "both": gym.Grip("arm/joint_[23]", low=0.4, high=0.9),
            "others": gym.Targets("arm/joint_[4567]", scale=(0.1, 0.2, 0.3, 0.4)),
        },
        observations={
            "joints": terms.joint_positions("arm").noisy(0.01),
            "hand": terms.frame_position("arm/flange"),
            "rates": 0.1 * terms.joint_velocities("arm"),
            "last": terms.action(),
        },
        rewards={"rate": -0.1 * terms.action_rate(), "still": -1.0 * terms.drift(terms.joint_velocities("arm"))},
        resets={"posture": terms.scatter_joints("arm", position=0.05)},
        events={"blow": gym.Repeated(_shake("arm/joint_2"), every=0.03)},
    )


@gym.term
def _shake(world: gym.World, joint: str) -> None:
    world.v[:, world.names.dofs(joint)] += world.random.uniform(np.full(1, -1.0), 1.0)


def loss_of(env: Any, weight: Any, steps: int) -> Any:
    observation, loss = env.reset(seed=4), 0.0
    for k in range(steps):
        done = env.step(1.4 * torch.tanh(observation @ weight))  # beyond 1 now and then
        observation, loss = done.observation, loss + done.reward.sum() + 0.1 * (done.last**2).sum() / (k + 1)
    return loss


@pytest.mark.parametrize("task", ["cart_pole", "reacher"])
def test_gradients_are_those_of_differences(task: str) -> None:
    """Of smooth motion, along the gradient itself and along any direction: through actions, terms and steps."""
    made = reacher() if task == "reacher" else gym.tasks.cart_pole()
    env = fw.torch.Environment(made, 3, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    shape = (env.n_observations, env.n_actions)
    weight = torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
    loss_of(env, weight, 8).backward()
    assert weight.grad is not None
    for direction in (weight.grad, torch.randn(shape, generator=generator, dtype=torch.float64)):
        unit = direction / direction.norm()
        with torch.no_grad():
            ends = [float(loss_of(env, weight + s * 1e-5 * unit, 8)) for s in (1.0, -1.0)]
        exact = float((weight.grad * unit).sum())
        # differences at 1e-5, of terms and of the whole: 1e-10 of it squared, and 1e-11 of the loss for rounding
        assert abs((ends[0] - ends[1]) / 2e-5 - exact) < 1e-6 * float(weight.grad.norm())


def test_relaxed_steps_have_gradients_of_contacts_to_come() -> None:
    """Of a ball above the ground: differences agree, and it feels the ground before it touches it."""
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    ball = fw.ModelBuilder("ball")
    ball.solid("foot", "sphere", (0.05,), mass=1.0)
    ball.joint("rail", "prismatic", "world", "foot", axis="z")
    scene.add(ball.build(), name="robot", pose=(0, 0, 0.1))
    scene.motor(["robot/rail"], gain=5.0)
    task = gym.Task(
        fw.Simulator(scene, dt=5e-3),
        actions={"push": gym.Targets("robot/rail")},
        observations={"state": terms.joint_positions("robot"), "rate": terms.joint_velocities("robot")},
        rewards={"height": -1.0 * terms.drift(terms.joint_velocities("robot"))},
    )
    gradients = {}
    for kappa in (None, 1e-3):
        env = fw.torch.Environment(task, 2, kappa=kappa, dtype=torch.float64)
        weight = torch.full((2, 1), 0.3, dtype=torch.float64, requires_grad=True)
        loss_of(env, weight, 3).backward()
        assert weight.grad is not None
        gradients[kappa] = float(weight.grad.sum())
        with torch.no_grad():
            ends = [float(loss_of(env, weight + s, 3)) for s in (1e-5, -1e-5)]
        assert abs((ends[0] - ends[1]) / 2e-5 - gradients[kappa]) < 1e-5 * abs(gradients[kappa])
    assert abs(gradients[None] - gradients[1e-3]) > 1e-3 * abs(gradients[None])


@pytest.mark.parametrize("name", ["quadruped", "hopper"])
def test_values_are_those_of_gymnasium(name: str) -> None:
    """Of the same seeds, noise, commands and pushes included, across ends of episodes."""
    task = replace(getattr(gym.tasks, name)(), episode_length=0.3)
    env, envs = fw.torch.Environment(task, 4), gym.VectorEnv(task, 4, autoreset_mode="SameStep")
    seen, expected = env.reset(seed=7), envs.reset(seed=7)[0]
    rng, ends = np.random.default_rng(0), 0
    for _ in range(25):
        assert np.array_equal(seen.numpy(), expected)
        action = rng.uniform(-1, 1, envs.action_space.shape)
        done = env.step(torch.tensor(action))
        expected, rewards, terminated, truncated, infos = envs.step(action)
        assert np.array_equal(done.reward.numpy(), rewards.astype(np.float32))
        assert np.array_equal(done.terminated.numpy(), terminated)
        assert np.array_equal(done.truncated.numpy(), truncated)
        for row in np.flatnonzero(terminated | truncated):
            assert np.array_equal(done.last[row].numpy(), infos["final_obs"][row])
            ends += 1
        seen = done.observation.detach()
    assert ends >= 4


def test_gradients_end_where_episodes_and_windows_do() -> None:
    task = replace(gym.tasks.cart_pole(), episode_length=0.04)
    env = fw.torch.Environment(task, 2)
    env.reset(seed=0)
    first, second = (torch.zeros(2, 1, requires_grad=True) for _ in range(2))
    env.step(first)
    done = env.step(second)  # ends the episode
    assert bool(done.truncated.all())
    (gradient,) = torch.autograd.grad(done.last.sum(), first, retain_graph=True)
    assert bool((gradient != 0.0).all())
    third = env.step(torch.zeros(2, 1))
    reached = torch.autograd.grad(third.last.sum(), (first, second), allow_unused=True)
    assert all(each is None or not each.any() for each in reached)
    fourth = torch.zeros(2, 1, requires_grad=True)
    env.step(fourth)
    env.detach()
    assert not env.step(torch.zeros(2, 1)).last.requires_grad


def test_environments_go_on_from_their_arrays() -> None:
    task = gym.tasks.quadruped()
    env, other = fw.torch.Environment(task, 3), fw.torch.Environment(task, 3)
    env.reset(seed=0)
    env.step(torch.full((3, 12), 0.3))
    other.reset(seed=5)
    assert torch.equal(other.restore(env.arrays()), env.detach())
    for _ in range(5):
        one, two = env.step(torch.full((3, 12), -0.2)), other.step(torch.full((3, 12), -0.2))
        assert torch.equal(one.observation, two.observation) and torch.equal(one.reward, two.reward)


def test_wrong_arguments_are_named() -> None:
    task = gym.tasks.hopper()
    with pytest.raises(ValueError, match="num_envs must be a positive integer, got 0"):
        fw.torch.Environment(task, 0)
    with pytest.raises(ValueError, match="kappa: expected a positive number or None, got -1"):
        fw.torch.Environment(task, 1, kappa=-1.0)
    env = fw.torch.Environment(task, 2)
    with pytest.raises(ValueError, match="call reset"):
        env.step(torch.zeros(2, 3))
    env.reset()
    with pytest.raises(ValueError, match=r"actions: expected a tensor of shape \(2, 3\), got \(3, 3\)"):
        env.step(torch.zeros(3, 3))
