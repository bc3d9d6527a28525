"""The ``VecEnv`` of Stable-Baselines3; see :func:`.libraries.stable_baselines3`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from ..gym import VectorEnv

if TYPE_CHECKING:
    from .. import gym


class StableBaselines3Env(VecEnv):  # type: ignore[misc]
    """A :class:`featherweight.gym.VectorEnv` behind the interface of the library."""

    def __init__(self, task: gym.Task, num_envs: int, render_mode: str | None) -> None:
        self.envs = VectorEnv(task, num_envs, autoreset_mode="SameStep", render_mode=render_mode)
        super().__init__(num_envs, self.envs.single_observation_space, self.envs.single_action_space)
        self._actions: Any = None

    def reset(self) -> NDArray[np.float32]:
        """Starts all environments; seeds count once."""
        observations, _ = self.envs.reset(seed=self._seeds)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[np.float32]) -> None:
        """Keeps the actions for :meth:`step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """One action of all environments."""
        observations, rewards, terminated, truncated, found = self.envs.step(self._actions)
        ended = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for k in np.flatnonzero(ended).tolist():
            infos[k]["terminal_observation"] = found["final_obs"][k]
            infos[k]["TimeLimit.truncated"] = bool(truncated[k] and not terminated[k])
        return observations, rewards.astype(np.float32), ended, infos

    def close(self) -> None:
        """Releases the renderer."""
        self.envs.close()

    def get_images(self) -> Sequence[Any]:
        """A picture of each environment."""
        return self.envs.render() or ()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of the batch, for each of the environments."""
        return [getattr(self.envs, attr_name) for _ in self._each(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Of the whole batch: its environments have no attributes of their own."""
        if len(list(self._each(indices))) != self.num_envs:
            raise ValueError(f"{attr_name}: environments of a batch share their attributes, set it for all of them")
        setattr(self.envs, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Calls a method of the batch once; what it returns is that of each environment."""
        value = getattr(self.envs, method_name)(*args, **kwargs)
        return [value for _ in self._each(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """None of them is."""
        return [False for _ in self._each(indices)]

    def _each(self, indices: Any) -> Iterable[int]:
        return self._get_indices(indices)  # type: ignore[no-any-return]
