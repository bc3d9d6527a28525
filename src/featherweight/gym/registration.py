"""The names under which ``gymnasium.make`` and ``gymnasium.make_vec`` know the tasks."""

from __future__ import annotations

from typing import Any

import gymnasium

from . import tasks
from .vector_env import Env, VectorEnv

#: By the name after ``featherweight/``: the function in ``tasks``, and its arguments.
TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "CartPole-v0": ("cart_pole", {}),
    "Hopper-v0": ("hopper", {}),
    "Ant-v0": ("ant", {}),
    "QuadrupedFlat-v0": ("quadruped", {"ground": "flat"}),
    "QuadrupedRough-v0": ("quadruped", {"ground": "rough"}),
    "HumanoidStand-v0": ("humanoid", {"goal": "stand"}),
    "HumanoidWalk-v0": ("humanoid", {"goal": "walk"}),
    "ArmReach-v0": ("reach", {}),
    "ArmPickAndPlace-v0": ("pick_and_place", {}),
}


def make_env(task: str, *, render_mode: str | None = None, **arguments: Any) -> Env:
    """A single environment of a task; arguments are those of the task's function."""
    return Env(getattr(tasks, task)(**arguments), render_mode=render_mode)


def make_vector_env(
    task: str, *, num_envs: int = 1, autoreset_mode: Any = "NextStep", render_mode: str | None = None, **arguments: Any
) -> VectorEnv:
    """A batch of environments of a task."""
    made = getattr(tasks, task)(**arguments)
    return VectorEnv(made, num_envs, autoreset_mode=autoreset_mode, render_mode=render_mode)


make_env.metadata = Env.metadata  # type: ignore[attr-defined]  # where Gymnasium looks for render modes
make_vector_env.metadata = VectorEnv.metadata  # type: ignore[attr-defined]


def register() -> None:
    """Tell Gymnasium of all tasks; once is enough, more do no harm.

    >>> import gymnasium
    >>> fw.gym.register()
    >>> gymnasium.make("featherweight/CartPole-v0").action_space.shape
    (1,)
    """
    for name, (task, arguments) in TASKS.items():
        if (full := f"featherweight/{name}") not in gymnasium.registry:
            gymnasium.register(
                full,
                entry_point=f"{__name__}:make_env",
                vector_entry_point=f"{__name__}:make_vector_env",
                kwargs={"task": task, **arguments},
            )
