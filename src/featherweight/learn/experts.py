"""Experts: whatever knows what to do in a batch of environments, and planners as such."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import mpc
from ..arrays import Array, real_numbers
from ..mpc.horizon import Planner

if TYPE_CHECKING:
    from .. import gym


class Planners:
    """Planners as an expert for :func:`imitate`: one for each environment, that follows its own plan up.

    make: a new planner, such as :class:`featherweight.mpc.ILQR`, with a task of its own. aim: is called before each
    update with the task of the planner and the :class:`featherweight.gym.World` of its one environment, for targets
    that follow commands.

    Plans begin with nothing where an episode begins. Environments for which no plan is found get no answer.

    >>> task = fw.gym.tasks.cart_pole()
    >>> def planner() -> fw.mpc.ILQR:
    ...     upright = fw.mpc.Task(task.simulator)
    ...     upright.add("upright", fw.mpc.joint_position(), weight=(0.3, 3.0))
    ...     upright.add("effort", fw.mpc.control(), weight=0.3)
    ...     return fw.mpc.ILQR(task.simulator, upright, nodes=25, dt=0.02)
    >>> expert = fw.learn.Planners(planner)
    >>> fit = fw.learn.Regression(hidden=(32,), library="numpy")
    >>> result = fw.learn.imitate(task, expert, labels=200, rounds=2, num_envs=4, learner=fit)
    >>> result.score > 100.0
    True
    >>> expert.reset()  # as before every round
    """

    def __init__(
        self, make: Callable[[], Planner], *, aim: Callable[[mpc.Task, gym.World], object] | None = None
    ) -> None:
        self._make, self._aim = make, aim
        self._planners: list[Any] = []

    def reset(self) -> None:
        """Forget all plans."""
        for planner in self._planners:
            planner.reset()

    def __call__(self, world: gym.World) -> Array:
        """Controls (n, nu) for the environments of a world; NaN where no plan was found."""
        while len(self._planners) < len(world):
            self._planners.append(_checked(self._make(), world))
        return np.array([self._answer(k, world) for k in range(len(world))])

    def _answer(self, k: int, world: gym.World) -> Array:
        planner, time = self._planners[k], float(world.time[k])
        if time == 0.0:
            planner.reset()
        if self._aim is not None:
            self._aim(planner.task, world.only(k))
        try:
            plan = planner.update(planner.sim.state(q=world.q[k], v=world.v[k]), time)
        except ValueError:
            planner.reset()
            return np.full(planner.sim.nu, np.nan)
        return np.asarray(plan.control[0])


def _checked(planner: Any, world: gym.World) -> Any:
    if not isinstance(planner, Planner):
        raise ValueError(f"expert: expected a planner such as fw.mpc.ILQR, got {planner!r}")
    own, other = planner.sim, world.simulator
    if own.model.joint_names != other.model.joint_names or own.nu != other.nu:
        raise ValueError("expert: the planner has other joints or actuators than the task")
    return planner


class Answers:
    """What an expert says, as actions of the task."""

    def __init__(self, rules: Sequence[gym.Rule], n_actions: int) -> None:
        self._n_actions = n_actions
        self._control, self._action = (np.array([getattr(r, x) for r in rules]) for x in ("control", "action"))
        self._keeps = np.array([r.center is None for r in rules])
        self._center = np.array([r.center or 0.0 for r in rules])
        self._scale = np.array([r.scale for r in rules])
        self._n_controls = np.bincount(self._action, minlength=n_actions)  # of each action

    def actions(self, answer: Any, before: Array) -> Array:
        """(n, n_actions), for answers that are controls, (n, nu); before: the control now, (n, nu)."""
        controls = _shaped(answer, before.shape, "controls")
        center = np.where(self._keeps, before[:, self._control], self._center)
        wanted = (controls[:, self._control] - center) / self._scale
        total = np.zeros((len(controls), self._n_actions))
        np.add.at(total.T, self._action, wanted.T)
        return np.clip(total / self._n_controls, -1.0, 1.0)

    def directly(self, answer: Any, n: int) -> Array:
        """(n, n_actions), for answers that are actions."""
        return np.clip(_shaped(answer, (n, self._n_actions), "actions"), -1.0, 1.0)


def _shaped(answer: Any, shape: tuple[int, ...], what: str) -> Array:
    array = real_numbers("expert", answer)
    if array.shape != shape:
        raise ValueError(f"expert: expected {what} of shape {shape}, got {array.shape}")
    return array
