"""The window, the actor and the critic of :func:`featherweight.learn.shac`, in PyTorch on one thread."""

from __future__ import annotations

import time as clock
from collections.abc import Iterable
from dataclasses import asdict, astuple, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from ..arrays import Array
from .actor_critic import ActorCritic, Asked, Score
from .checkpoints import Arrays, part, under
from .imitation import HELD_OUT
from .policy import BOUND, Policy
from .torch_networks import adam_arrays, layers_of, network, one_thread, restore_adam

if TYPE_CHECKING:
    from .. import gym
    from ..torch import Environment

#: Of Adam: gradients of one window to the next have little in common.
BETAS = (0.7, 0.95)
#: Passes over a window by which the critic learns, the parts of each, and the share of the critic that it is judged by
#: in which the last one has no part.
PASSES, PARTS, OLD = 16, 4, 0.2
#: Gradients are cut to this length; the rate of the actor falls to this share; variances of observations are no less.
LONGEST, LAST, LEAST = 1.0, 0.01, 1e-4


class Window(NamedTuple):
    """(horizon, n, ...) each."""

    observed: torch.Tensor
    noise: torch.Tensor  # of actions before tanh, in standard deviations
    slopes: torch.Tensor  # of the return by actions before tanh
    discounts: torch.Tensor  # with which that return counts what comes of an action
    rewards: torch.Tensor
    following: torch.Tensor  # what the critic expects after the action; zero after a termination
    ended: torch.Tensor  # booleans


class Learner:
    """An actor, a critic, and the environments they learn in."""

    def __init__(self, task: gym.Task, envs: Environment, asked: Asked) -> None:
        self._task, self._envs, self._asked = task, envs, asked
        n, m = envs.n_observations, envs.n_actions
        first = Policy.initial(n, m, hidden=asked.hidden, seed=asked.seed)
        judge = Policy.initial(n, 1, hidden=asked.critic, seed=asked.seed + 1)
        self._actor = network(list(zip(first.weights, first.biases, strict=True)), "elu")
        self._critic, self._target = (
            network(list(zip(judge.weights, judge.biases, strict=True)), "elu") for _ in range(2)
        )
        self._log_std = torch.nn.Parameter(torch.full((m,), float(np.log(asked.std))))
        self._adam = torch.optim.Adam([*self._actor.parameters(), self._log_std], betas=BETAS)
        self._critic_adam = torch.optim.Adam(self._critic.parameters(), asked.critic_rate, betas=BETAS)
        self._count, self._mean, self._variance = 0.0, np.zeros(n), np.ones(n)
        self.windows = 0
        self.scores: list[Score] = []
        self._best = first
        self._since = np.zeros(5)  # the last look: windows, rewards, gradients, shares of first order, CPU time
        envs.reset(seed=asked.seed)

    @property
    def has_looked(self) -> bool:
        """At the policy, after the last window."""
        return bool(self.scores) and self.scores[-1].samples == self._samples

    @property
    def _samples(self) -> int:
        return self.windows * self._asked.num_envs * self._asked.horizon

    def plan(self) -> dict[str, Any]:
        """What the call was asked for."""
        sizes = {"n_observations": self._envs.n_observations, "n_actions": self._envs.n_actions}
        return {"function": "shac", **sizes, **asdict(self._asked)}

    def iterate(self) -> None:
        """One window: act, follow the slopes, teach the critic; and look at the policy now and then."""
        began = clock.process_time()
        with one_thread():
            rng = np.random.default_rng((self._asked.seed, self.windows))
            window = self._act(rng)
            targets = self._targets(window)
            with torch.no_grad():
                gradient, share = self._follow(window, targets)
            self._teach(self._normal(window.observed), targets, rng)
            self._learn_scale(window.observed)
        self.windows += 1
        self._since += (1.0, float(window.rewards.mean()), gradient, share, clock.process_time() - began)
        if self.windows % self._asked.every == 0 or self.windows == self._asked.windows:
            self._look()

    def result(self) -> ActorCritic:
        """Of the looks until now."""
        return ActorCritic(self._best, tuple(self.scores), int(np.argmax([each.score for each in self.scores])))

    def arrays(self) -> Arrays:
        """All that goes on from here."""
        nets = {"actor": self._actor, "critic": self._critic, "target": self._target}
        found: Arrays = {"windows": np.array(self.windows), "since": self._since.copy()}
        for name, net in nets.items():
            found |= under(name, {str(k): p.detach().numpy().copy() for k, p in enumerate(net.parameters())})
        found["log_std"] = self._log_std.detach().numpy().copy()
        found |= {"count": np.array(self._count), "mean": self._mean.copy(), "variance": self._variance.copy()}
        found |= under("actor_adam", adam_arrays(self._adam)) | under("critic_adam", adam_arrays(self._critic_adam))
        found["scores"] = np.array([astuple(each) for each in self.scores], dtype=np.float64).reshape(-1, 8)
        return found | under("best", self._best.arrays()) | under("environments", self._envs.arrays())

    def restore(self, arrays: Arrays) -> None:
        """Go on from what :meth:`arrays` gave."""
        self.windows, self._since = int(arrays["windows"]), arrays["since"].copy()
        for name, net in (("actor", self._actor), ("critic", self._critic), ("target", self._target)):
            _restore(net.parameters(), part(name, arrays))
        _restore([self._log_std], {"0": arrays["log_std"]})
        self._count, self._mean, self._variance = float(arrays["count"]), arrays["mean"], arrays["variance"]
        restore_adam(self._adam, part("actor_adam", arrays))
        restore_adam(self._critic_adam, part("critic_adam", arrays))
        kinds: list[Any] = [int if each.type == "int" else float for each in fields(Score)]
        for row in arrays["scores"].tolist():
            self.scores.append(Score(*[kind(x) for kind, x in zip(kinds, row, strict=True)]))
        self._best = Policy.from_arrays(part("best", arrays))
        self._envs.restore(part("environments", arrays))

    # -- inside ------------------------------------------------------------------------------------------------------

    def _normal(self, observed: torch.Tensor) -> torch.Tensor:
        mean, deviation = (torch.tensor(x, dtype=torch.float32) for x in (self._mean, self._deviation))
        return ((observed - mean) / deviation).clamp(-BOUND, BOUND)

    @property
    def _deviation(self) -> Array:
        return np.asarray(np.sqrt(np.maximum(self._variance, LEAST)))

    def _act(self, rng: np.random.Generator) -> Window:
        """A window of the policy, and how its return would change with the actions."""
        asked, envs, n = self._asked, self._envs, self._asked.num_envs
        observed, std = envs.detach(), self._log_std.detach().exp()
        total, discount = torch.zeros(()), torch.ones(n)
        inputs, rows = [], []
        for k in range(asked.horizon):
            noise = torch.from_numpy(rng.standard_normal((n, envs.n_actions), dtype=np.float32))
            wanted = self._actor(self._normal(observed)) + std * noise
            done = envs.step(torch.tanh(wanted))
            ended = done.terminated | done.truncated
            following = self._target(self._normal(done.last))[:, 0] * ~done.terminated
            closes = ended | (k == asked.horizon - 1)
            total = total + (discount * (done.reward + asked.discount * following * closes)).sum()
            inputs.append(wanted)
            rows.append([observed, noise, discount, done.reward, following, ended])
            discount = torch.where(ended, torch.ones(n), asked.discount * discount)
            observed = done.observation
        slopes = torch.stack(torch.autograd.grad(total, inputs)).nan_to_num(0.0, 0.0, 0.0)
        envs.detach()
        seen, noises, discounts, *rest = (
            torch.stack([x.detach() for x in column]) for column in zip(*rows, strict=True)
        )
        return Window(seen, noises, slopes, discounts, *rest)

    def _targets(self, window: Window) -> torch.Tensor:
        """What the critic should have said, (horizon, n): lambda returns [Sutton 1988]."""
        asked = self._asked
        targets = torch.empty_like(window.rewards)
        later = window.following[-1]
        for k in reversed(range(asked.horizon)):
            mixed = (1.0 - asked.trace) * window.following[k] + asked.trace * later
            later = window.rewards[k] + asked.discount * torch.where(window.ended[k], window.following[k], mixed)
            targets[k] = later
        return targets

    def _follow(self, window: Window, targets: torch.Tensor) -> tuple[float, float]:
        """One step of the actor; returns the length of its gradient, and the share of first order in it."""
        asked, std = self._asked, self._log_std.exp()
        by_mean, by_log_std = window.slopes, window.slopes * std * window.noise
        x, share = self._normal(window.observed), 1.0
        if asked.orders == "both":
            better = (window.discounts * (targets - self._critic(x)[:, :, 0]))[:, :, None]
            by_score, spread = better * window.noise / std, better * (window.noise**2 - 1.0)
            weights = first_order_shares(by_mean, by_score)
            by_mean = weights * by_mean + (1.0 - weights) * by_score
            by_log_std, share = weights * by_log_std + (1.0 - weights) * spread, float(weights.mean())
        self._adam.zero_grad()
        with torch.enable_grad():
            gained = (by_mean * self._actor(x)).sum() + (by_log_std * self._log_std).sum()
            (-gained / by_mean[..., 0].numel()).backward()
        length = torch.nn.utils.clip_grad_norm_([*self._actor.parameters(), self._log_std], LONGEST)
        self._adam.param_groups[0]["lr"] = asked.rate * (1.0 - (1.0 - LAST) * self.windows / asked.windows)
        self._adam.step()
        return float(length), share

    def _teach(self, x: torch.Tensor, targets: torch.Tensor, rng: np.random.Generator) -> None:
        x, targets = x.reshape(-1, x.shape[-1]), targets.reshape(-1)
        for _ in range(PASSES):
            for rows in np.array_split(rng.permutation(len(x)), PARTS):
                chosen = torch.from_numpy(rows)
                loss = (self._critic(x[chosen])[:, 0] - targets[chosen]).square().mean()
                self._critic_adam.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self._critic.parameters(), LONGEST)
                self._critic_adam.step()
        with torch.no_grad():
            for old, new in zip(self._target.parameters(), self._critic.parameters(), strict=True):
                old.mul_(OLD).add_((1.0 - OLD) * new)

    def _learn_scale(self, observed: torch.Tensor) -> None:
        """Mean and variance of all observations so far."""
        x = observed.reshape(-1, observed.shape[-1]).numpy().astype(np.float64)
        n, off = len(x), x.mean(axis=0) - self._mean
        total = self._count + n
        spread = self._count * self._variance + n * x.var(axis=0) + off**2 * self._count * n / total
        self._count, self._mean, self._variance = total, self._mean + off * n / total, spread / total

    def _look(self) -> None:
        from ..cluster import evaluate

        began = clock.process_time()
        weights, biases = zip(*layers_of(self._actor), strict=True)
        policy = Policy(weights, biases, self._mean, self._deviation)
        held = evaluate(self._task, policy, episodes=self._asked.episodes, seed=self._asked.seed + HELD_OUT, workers=0)
        score, spread = float(held.returns.mean()), float(held.returns.std())
        if not self.scores or score > max(each.score for each in self.scores):
            self._best = policy
        windows, *sums, spent = self._since.tolist()
        reward, gradient, share = (x / windows for x in sums)
        spent += clock.process_time() - began
        fallen = int(held.terminated.sum())
        self.scores.append(Score(self._samples, score, spread, fallen, reward, gradient, share, spent))
        self._since[:] = 0.0


def first_order_shares(first: torch.Tensor, zeroth: torch.Tensor) -> torch.Tensor:
    """Weights (horizon, 1, k) of estimates (horizon, n, k) by slopes, beside others of the same: those of least
    variance for estimates that do not depend on each other. [Suh et al. 2022]"""
    own, other = (x.var(dim=1, keepdim=True) for x in (first, zeroth))
    return other / (own + other).clamp_min(torch.finfo(own.dtype).tiny)


def _restore(parameters: Iterable[torch.Tensor], arrays: Arrays) -> None:
    with torch.no_grad():
        for k, parameter in enumerate(parameters):
            parameter.copy_(torch.from_numpy(arrays[str(k)]))
