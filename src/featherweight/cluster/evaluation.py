"""How well a policy does in a task, over many episodes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..records import Record
from .items import map as map_items

if TYPE_CHECKING:
    from .. import gym

#: From observations (n, n_observations) to actions (n, n_actions).
Policy = Callable[[NDArray[np.float32]], Any]


@dataclass(frozen=True, eq=False)
class Evaluation(Record):
    """The episodes of an evaluation, in the order of their seeds.

    >>> result = fw.cluster.evaluate(fw.gym.tasks.cart_pole(), lambda seen: np.zeros((len(seen), 1)), episodes=4)
    >>> result.returns.shape, bool((result.steps <= 500).all())
    ((4,), True)
    """

    returns: Array  # (episodes,) sums of rewards
    steps: NDArray[np.int64]  # (episodes,) actions until the end
    terminated: NDArray[np.bool_]  # (episodes,) whether a termination ended them, not the time

    def __repr__(self) -> str:
        mean, deviation = float(self.returns.mean()), float(self.returns.std())
        return f"<Evaluation: {len(self.returns)} episodes, return {mean:.4g} +- {deviation:.2g}>"


def evaluate(
    task: gym.Task,
    policy: Policy,
    *,
    episodes: int = 64,
    seed: int = 0,
    size: int = 64,
    workers: int | None = None,
    directory: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Evaluation:
    """One episode for each of the seeds ``seed``, ``seed + 1``, ..., ``size`` of them in a batch.

    policy: from observations (n, n_observations) to actions (n, n_actions), each row by itself. Results depend neither
    on the number of workers nor, if rows of the policy's answer do not depend on each other, on ``size``.
    workers, directory, progress: as in :func:`map`. Needs the extra ``featherweight[gym]``.

    >>> task = fw.gym.tasks.cart_pole()
    >>> fw.cluster.evaluate(task, lambda seen: np.sign(seen[:, 1:2] + 0.2 * seen[:, 3:]), episodes=8)
    <Evaluation: 8 episodes, return 500 +- 0>
    """
    for name, value in (("episodes", episodes), ("size", size)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a positive integer, got {value!r}")
    if task.episode_length is None:
        raise ValueError("evaluate: episodes of this task never end, give it an episode_length")
    blocks = [(seed + first, min(size, episodes - first)) for first in range(0, episodes, size)]
    done = map_items(partial(_episodes, task, policy), blocks, workers=workers, directory=directory, progress=progress)
    returns, steps, terminated = (np.concatenate(column) for column in zip(*done, strict=True))
    return Evaluation(returns, steps, terminated)


def _episodes(
    task: gym.Task, policy: Policy, block: tuple[int, int]
) -> tuple[Array, NDArray[np.int64], NDArray[np.bool_]]:
    """One episode of each environment; those that have ended start again and no longer count."""
    from ..gym import VectorEnv

    seed, n = block
    envs = VectorEnv(task, n)
    observations, _ = envs.reset(seed=seed)
    returns, steps = np.zeros(n), np.zeros(n, dtype=np.int64)
    going, by_terms = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    while going.any():
        observations, rewards, terminated, truncated, _ = envs.step(policy(observations))
        returns += np.where(going, rewards, 0.0)
        steps += going
        by_terms |= going & terminated
        going &= ~(terminated | truncated)
    return returns, steps, by_terms
