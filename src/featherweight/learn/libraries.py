"""Environments for libraries that learn by themselves: Stable-Baselines3 and RSL-RL, each by its own interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .. import gym


def stable_baselines3(task: gym.Task, num_envs: int = 64, *, render_mode: str | None = None) -> Any:
    """A batch of environments as a ``VecEnv`` of Stable-Baselines3.

    Ended environments start again at once: ``infos[k]["terminal_observation"]`` is the last observation, and
    ``infos[k]["TimeLimit.truncated"]`` says that the time alone ended the episode. Values are those of
    :class:`featherweight.gym.VectorEnv`, which is its ``envs``; ``seed(s)`` counts from the next ``reset()`` on.
    Needs Stable-Baselines3: ``pip install stable-baselines3``.

    >>> from importlib.util import find_spec
    >>> if find_spec("stable_baselines3") is not None:
    ...     envs = fw.learn.stable_baselines3(fw.gym.tasks.cart_pole(), num_envs=8)
    ...     print(envs.reset().shape)  # for instance stable_baselines3.PPO("MlpPolicy", envs).learn(100_000)
    ... else:
    ...     print((8, 4))
    (8, 4)
    """
    try:
        import stable_baselines3  # noqa: F401
    except ImportError:
        raise ImportError("this needs Stable-Baselines3: pip install stable-baselines3") from None
    from .stable_baselines3_env import StableBaselines3Env

    return StableBaselines3Env(task, num_envs, render_mode)


def rsl_rl(task: gym.Task, num_envs: int = 64, *, seed: int = 0) -> Any:
    """A batch of environments as a ``VecEnv`` of RSL-RL, version 4 or newer, on the CPU.

    Observations are a ``TensorDict`` with the one group "policy"; ``extras["time_outs"]`` says which episodes the time
    alone ended, and ``extras["log"]`` has the mean of every reward term. Ended environments start again at once. Values
    are those of :class:`featherweight.gym.VectorEnv`, which is its ``envs``. Needs RSL-RL: ``pip install rsl-rl-lib``.

    >>> from importlib.util import find_spec
    >>> if find_spec("rsl_rl") is not None:
    ...     envs = fw.learn.rsl_rl(fw.gym.tasks.cart_pole(), num_envs=8)
    ...     print(envs.get_observations()["policy"].shape)
    ... else:
    ...     print("torch.Size([8, 4])")
    torch.Size([8, 4])
    """
    try:
        import rsl_rl  # noqa: F401
    except ImportError:
        raise ImportError("this needs RSL-RL: pip install rsl-rl-lib") from None
    from .rsl_rl_env import RslRlEnv

    return RslRlEnv(task, num_envs, seed)
