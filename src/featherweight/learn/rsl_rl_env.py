"""The ``VecEnv`` of RSL-RL; see :func:`.libraries.rsl_rl`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from ..gym import VectorEnv

if TYPE_CHECKING:
    from .. import gym

#: Actions of an episode that never ends, for those who ask.
_ENDLESS = 2**31 - 1


class RslRlEnv(VecEnv):  # type: ignore[misc]
    """A :class:`featherweight.gym.VectorEnv` behind the interface of the library."""

    def __init__(self, task: gym.Task, num_envs: int, seed: int) -> None:
        self.envs = VectorEnv(task, num_envs, autoreset_mode="SameStep")
        self.num_envs, self.num_actions = num_envs, self.envs.single_action_space.shape[0]
        length = task.episode_length
        self.max_episode_length = _ENDLESS if length is None else round(length / task.period)
        self.device, self.cfg = "cpu", {"task": repr(task)}
        self._observations, _ = self.envs.reset(seed=seed)

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """(num_envs,) actions since each episode began."""
        return torch.from_numpy(self.envs.lengths)

    @episode_length_buf.setter
    def episode_length_buf(self, lengths: torch.Tensor) -> None:
        self.envs.lengths = lengths.numpy()

    def get_observations(self) -> TensorDict:
        """Of all environments, as they are now."""
        return TensorDict({"policy": torch.from_numpy(self._observations)}, batch_size=[self.num_envs])

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """One action of all environments: observations, rewards, which of them ended, and extras."""
        self._observations, rewards, terminated, truncated, _ = self.envs.step(actions.detach().cpu().numpy())
        log = {f"/reward/{name}": float(np.mean(x)) for name, x in self.envs.reward_terms.items()}
        extras = {"time_outs": torch.from_numpy(truncated & ~terminated), "log": log}
        ended = torch.from_numpy(terminated | truncated)
        return self.get_observations(), torch.from_numpy(rewards.astype(np.float32)), ended, extras
