"""Proximal policy optimisation [Schulman et al. 2017] in NumPy: short enough to read, fast enough to learn in minutes.

    python examples/learning/ppo.py featherweight/CartPole-v0 --steps 300_000

A Gaussian policy and a value function, two small networks; advantages by GAE(lambda); Adam, whose rate follows the
divergence between the policy before and after.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import featherweight as fw

gymnasium.register_envs(fw.gym)

Array = NDArray[np.float32]


@dataclass
class Settings:
    """What there is to choose."""

    num_envs: int = 512
    horizon: int = 24  # actions of every environment between two updates
    epochs: int = 4  # passes over them
    minibatches: int = 4
    gamma: float = 0.99  # discount
    decay: float = 0.95  # lambda of GAE
    clip: float = 0.2  # of the ratio of probabilities
    rate: float = 1e-3  # of Adam, to begin with
    divergence: float = 0.015  # aimed at, of the policy from one update to the next
    entropy: float = 0.002  # weight of its bonus
    std: float = 0.6  # of actions, to begin with
    hidden: tuple[int, ...] = (128, 64)
    seed: int = 0


class Network:
    """Layers with the smooth elu between them; all parameters are one vector."""

    def __init__(self, sizes: tuple[int, ...], rng: np.random.Generator, last_gain: float) -> None:
        shapes = list(itertools.pairwise(sizes))
        self.parameters: Array = np.zeros(sum((a + 1) * b for a, b in shapes), dtype=np.float32)
        self.gradient: Array = np.zeros_like(self.parameters)
        self.layers, self._slots = _split(self.parameters, shapes), _split(self.gradient, shapes)
        for k, (W, _) in enumerate(self.layers):
            gain = last_gain if k == len(shapes) - 1 else np.sqrt(2.0)
            Q, _ = np.linalg.qr(rng.normal(size=(max(W.shape), min(W.shape))))
            W[:] = gain * (Q if W.shape[0] >= W.shape[1] else Q.T)

    def __call__(self, x: Array) -> Array:
        """Of a batch (n, inputs); what ``backward`` needs is kept."""
        self._inputs = []
        for k, (W, b) in enumerate(self.layers):
            self._inputs.append(x)
            x = x @ W + b
            if k < len(self.layers) - 1:
                x = np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0)))
        return x

    def backward(self, slope: Array) -> None:
        """Sets the gradient, for the slope (n, outputs) of the loss with respect to the outputs of the last call."""
        for k in reversed(range(len(self.layers))):
            x = self._inputs[k]
            W_slot, b_slot = self._slots[k]
            W_slot[:], b_slot[:] = x.T @ slope, slope.sum(axis=0)
            if k:
                slope = (slope @ self.layers[k][0].T) * np.where(x > 0.0, np.float32(1.0), x + np.float32(1.0))


def _split(vector: Array, shapes: list[tuple[int, int]]) -> list[tuple[Array, Array]]:
    parts, start = [], 0
    for a, b in shapes:
        middle, end = start + a * b, start + (a + 1) * b
        parts.append((vector[start:middle].reshape(a, b), vector[middle:end]))
        start = end
    return parts


class Adam:
    """[Kingma and Ba 2015], with the gradient's norm bounded."""

    def __init__(self, n: int) -> None:
        self._m, self._v, self._t = np.zeros(n, np.float32), np.zeros(n, np.float32), 0

    def step(self, parameters: Array, gradient: Array, rate: float, bound: float = 1.0) -> None:
        norm = float(np.linalg.norm(gradient))
        gradient = gradient * np.float32(min(1.0, bound / (norm + 1e-8)))
        self._t += 1
        self._m += 0.1 * (gradient - self._m)
        self._v += 0.001 * (gradient**2 - self._v)
        corrected = np.sqrt(self._v / (1.0 - 0.999**self._t)) + 1e-8
        parameters -= (rate / (1.0 - 0.9**self._t) * self._m / corrected).astype(np.float32)


class Normaliser:
    """Mean and variance of observations so far."""

    def __init__(self, n: int) -> None:
        self.count, self.mean, self.variance = 1e-4, np.zeros(n), np.ones(n)

    def learn(self, x: Array) -> None:
        n, mean, variance = len(x), x.mean(axis=0, dtype=np.float64), x.var(axis=0, dtype=np.float64)
        total, off = self.count + n, mean - self.mean
        self.variance = (self.count * self.variance + n * variance + off**2 * self.count * n / total) / total
        self.mean = self.mean + off * n / total
        self.count = total

    def __call__(self, x: Array) -> Array:
        return np.clip((x - self.mean) / np.sqrt(self.variance + 1e-6), -10.0, 10.0).astype(np.float32)


class Policy:
    """A Gaussian with a mean from a network, and a standard deviation of its own for each number of the action."""

    def __init__(self, n_observations: int, n_actions: int, settings: Settings) -> None:
        rng = np.random.default_rng(settings.seed)
        self.normaliser = Normaliser(n_observations)
        self.mean = Network((n_observations, *settings.hidden, n_actions), rng, 0.01)
        self.value = Network((n_observations, *settings.hidden, 1), rng, 1.0)
        self.log_std: Array = np.full(n_actions, np.log(settings.std), dtype=np.float32)

    def __call__(self, observations: Array) -> Array:
        """The mean action: what to do when there is nothing left to learn."""
        return np.clip(self.mean(self.normaliser(observations)), -1.0, 1.0)

    def log_probability(self, mean: Array, action: Array) -> Array:
        z = (action - mean) * np.exp(-self.log_std)
        return np.asarray(-0.5 * (z * z).sum(axis=1) - self.log_std.sum() - 0.5 * len(self.log_std) * np.log(2 * np.pi))

    def save(self, path: str | Path) -> None:
        np.savez(
            path,
            mean=self.mean.parameters,
            value=self.value.parameters,
            log_std=self.log_std,
            normaliser=np.stack([self.normaliser.mean, self.normaliser.variance]),
        )

    def load(self, path: str | Path) -> None:
        with np.load(path) as file:
            self.mean.parameters[:], self.value.parameters[:] = file["mean"], file["value"]
            self.log_std[:] = file["log_std"]
            self.normaliser.mean, self.normaliser.variance = file["normaliser"]


@dataclass
class Samples:
    """What one rollout of the policy gave, (horizon, num_envs, ...)."""

    observations: list[Array] = field(default_factory=list)  # normalised
    actions: list[Array] = field(default_factory=list)
    means: list[Array] = field(default_factory=list)
    log_probabilities: list[Array] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    rewards: list[Array] = field(default_factory=list)
    ended: list[Array] = field(default_factory=list)


class Learner:
    """A policy, the environments it learns in, and one update after the other."""

    def __init__(self, envs: Any, settings: Settings) -> None:
        self.envs, self.settings = envs, settings
        self.policy = Policy(envs.single_observation_space.shape[0], envs.single_action_space.shape[0], settings)
        self._rng = np.random.default_rng(settings.seed + 1)
        n = len(self.policy.log_std)
        self._adams = [Adam(len(self.policy.mean.parameters)), Adam(len(self.policy.value.parameters)), Adam(n)]
        self.rate = settings.rate
        self.observations, _ = envs.reset(seed=settings.seed)
        self._returns, self._lengths = np.zeros(envs.num_envs), np.zeros(envs.num_envs)
        self.finished: list[tuple[float, float]] = []  # return and length of episodes, the last hundred

    def iterate(self) -> None:
        """Act for a while, then learn from it."""
        samples = self._act()
        advantages, targets = self._advantages(samples)
        flat = [np.concatenate(x) for x in (samples.observations, samples.actions, samples.means,
                                            samples.log_probabilities)]  # fmt: skip
        self._learn(flat, advantages.ravel(), targets.ravel())

    def _act(self) -> Samples:
        policy, samples = self.policy, Samples()
        for _ in range(self.settings.horizon):
            policy.normaliser.learn(self.observations)
            x = policy.normaliser(self.observations)
            mean = policy.mean(x)
            noise = self._rng.standard_normal(mean.shape, dtype=np.float32)
            action: Array = (mean + np.exp(policy.log_std) * noise).astype(np.float32)
            self.observations, reward, terminated, truncated, infos = self.envs.step(action)
            reward = reward.astype(np.float32)
            self._count(reward, terminated | truncated)
            if truncated.any():  # cut off, not over: what was still to come is estimated
                rows = np.flatnonzero(truncated & ~terminated)
                last = policy.normaliser(np.stack([infos["final_obs"][row] for row in rows])) if len(rows) else x[:0]
                reward[rows] += self.settings.gamma * policy.value(last)[:, 0]
            samples.observations.append(x)
            samples.actions.append(action)
            samples.means.append(mean)
            samples.log_probabilities.append(policy.log_probability(mean, action))
            samples.values.append(policy.value(x)[:, 0])
            samples.rewards.append(reward)
            samples.ended.append((terminated | truncated).astype(np.float32))
        return samples

    def _count(self, reward: Array, ended: NDArray[np.bool_]) -> None:
        self._returns += reward
        self._lengths += 1
        self.finished += zip(self._returns[ended].tolist(), self._lengths[ended].tolist(), strict=True)
        self.finished = self.finished[-100:]
        self._returns[ended] = self._lengths[ended] = 0.0

    def _advantages(self, samples: Samples) -> tuple[Array, Array]:
        """Generalised advantage estimates, and the values to learn."""
        gamma, decay = self.settings.gamma, self.settings.decay
        values = np.stack(samples.values)
        following = self.policy.value(self.policy.normaliser(self.observations))[:, 0]
        advantages, running = np.zeros_like(values), np.zeros_like(following)
        for t in reversed(range(len(values))):
            going_on = 1.0 - samples.ended[t]
            delta = samples.rewards[t] + gamma * following * going_on - values[t]
            running = delta + gamma * decay * going_on * running
            advantages[t], following = running, values[t]
        return advantages, advantages + values

    def _learn(self, taken: list[Array], advantage: Array, target: Array) -> None:
        x, action, old_mean, old_log = taken
        chosen, old_std = self.settings, np.exp(self.policy.log_std)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        for _ in range(chosen.epochs):
            for rows in np.array_split(self._rng.permutation(len(x)), chosen.minibatches):
                mean = self._step(x[rows], action[rows], old_log[rows], advantage[rows], target[rows])
                self._adapt_rate(mean, old_mean[rows], old_std)

    def _step(self, x: Array, action: Array, old_log: Array, advantage: Array, target: Array) -> Array:
        """One step of Adam on one minibatch; returns the mean actions before it."""
        policy, n = self.policy, len(x)
        mean = policy.mean(x)
        ratio = np.exp(policy.log_probability(mean, action) - old_log)
        clipped = np.clip(ratio, 1.0 - self.settings.clip, 1.0 + self.settings.clip)
        counts = ratio * advantage <= clipped * advantage  # elsewhere the bound is flat
        weight = np.where(counts, -ratio * advantage, 0.0).astype(np.float32)[:, None] / n
        z = (action - mean) * np.exp(-policy.log_std)
        policy.mean.backward((weight * z * np.exp(-policy.log_std)).astype(np.float32))
        log_std_slope = (weight * (z * z - 1.0)).sum(axis=0) - self.settings.entropy
        value = policy.value(x)
        policy.value.backward(((value - target[:, None]) / n).astype(np.float32))
        slopes = (policy.mean.gradient, policy.value.gradient, log_std_slope)
        parameters = (policy.mean.parameters, policy.value.parameters, policy.log_std)
        for adam, parameter, slope in zip(self._adams, parameters, slopes, strict=True):
            adam.step(parameter, slope, self.rate)
        return mean

    def _adapt_rate(self, mean: Array, old_mean: Array, old_std: Array) -> None:
        """Slower where the policy changes much, faster where it hardly does."""
        std = np.exp(self.policy.log_std)
        square = (old_std**2 + (mean - old_mean) ** 2) / (2.0 * std**2)
        divergence = float((np.log(std / old_std) + square - 0.5).sum(axis=1).mean())
        if divergence > 2.0 * self.settings.divergence:
            self.rate = max(self.rate / 1.5, 1e-5)
        elif divergence < 0.5 * self.settings.divergence:
            self.rate = min(self.rate * 1.5, 5e-3)


@dataclass
class Curve:
    """How learning went: after each update, the mean over the last hundred episodes that ended."""

    steps: list[int] = field(default_factory=list)  # of all environments together
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)  # [s] of all threads
    returns: list[float] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)  # [actions]


def learn(
    name: str, steps: int, settings: Settings | None = None, tell: Callable[[str], None] = print, **arguments: Any
) -> tuple[Policy, Curve]:
    """A policy for the environment ``name`` after some million steps; ``arguments`` are those of the environment."""
    settings = settings or Settings()
    envs = gymnasium.make_vec(name, num_envs=settings.num_envs, autoreset_mode="SameStep", **arguments)
    learner, curve = Learner(envs, settings), Curve()
    start, cpu_start = time.perf_counter(), time.process_time()
    per_update = settings.num_envs * settings.horizon
    for k in range(1, max(1, steps // per_update) + 1):
        learner.iterate()
        if not learner.finished:
            continue
        returned, lasted = np.mean(learner.finished, axis=0)
        curve.steps.append(k * per_update)
        curve.seconds.append(time.perf_counter() - start)
        curve.cpu.append(time.process_time() - cpu_start)
        curve.returns.append(float(returned))
        curve.lengths.append(float(lasted))
        if k % 10 == 0:
            std = float(np.exp(learner.policy.log_std).mean())
            tell(f"{k * per_update:>10,} steps  {curve.seconds[-1]:6.1f} s ({curve.cpu[-1]:.0f} of CPU)  "
                 f"return {returned:8.2f}  length {lasted:6.1f}  std {std:.2f}  rate {learner.rate:.1e}")  # fmt: skip
    envs.close()
    return learner.policy, curve


def main() -> None:
    parser = argparse.ArgumentParser(description="Learn a task by proximal policy optimisation.")
    parser.add_argument("name", nargs="?", default="featherweight/CartPole-v0", help="of the environment (%(default)s)")
    parser.add_argument("--steps", type=int, default=300_000, help="of all environments together (%(default)s)")
    parser.add_argument("--num-envs", type=int, default=512, help="(%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument("--out", type=Path, help="where to save the policy")
    options = parser.parse_args()
    policy, curve = learn(options.name, options.steps, Settings(num_envs=options.num_envs, seed=options.seed))
    print(f"return {curve.returns[-1]:.2f} after {curve.seconds[-1]:.0f} s")
    if options.out is not None:
        policy.save(options.out)
        print(f"policy: {options.out}")


if __name__ == "__main__":
    main()
