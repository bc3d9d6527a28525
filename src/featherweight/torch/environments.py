"""Environments of a task as functions of tensors: observations and rewards carry gradients back to actions.

A batch is stepped in place, as it is for Gymnasium. What goes on the tape of an action is the state before it; on the
way back its steps are taken once more, with what their derivatives need. Between two actions nothing but a token is
passed on, zeros whose gradient is that of the state: q in tangent space, v, controls and the last action.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import SimulationWarning
from ..gym.actions import Rule
from ..gym.moment import Moment, Sensitivities
from ..gym.task import Task
from ..gym.vector_env import BOUND, Episodes
from ..simulation.live import LiveEnvironments
from ..simulation.state import State
from ..smoothing.relaxed import RelaxedStep, relaxed_step
from .tensors import array_of, once, tensor_of

Booleans = NDArray[np.bool_]


class Transition(NamedTuple):
    """What an action leads to, in n environments.

    >>> import torch
    >>> envs = fw.torch.Environment(fw.gym.tasks.cart_pole(), 2)
    >>> first = envs.reset(seed=0)
    >>> envs.step(torch.zeros(2, 1)).observation.shape
    torch.Size([2, 4])
    """

    observation: torch.Tensor  # (n, n_observations), of environments that ended: the first one of a new episode
    reward: torch.Tensor  # (n,)
    terminated: torch.Tensor  # (n,) booleans: ended by a termination, or failed
    truncated: torch.Tensor  # (n,) booleans: ended by the time
    last: torch.Tensor  # (n, n_observations): the same observation before anything started anew


class Environment:
    """A batch of environments of a :class:`featherweight.gym.Task`, differentiable from actions to rewards.

    Ended environments start again at once, and gradients do not pass from one episode to the next. Values are those of
    :class:`featherweight.gym.VectorEnv` with the same seeds. Gradients are those of the steps, contacts included, of
    actions and of all terms: see :class:`Transition`. Contacts, joint forces and accelerations that terms read, and
    commands, events and ends, count as constants.

    kappa: [J] take relaxed steps, whose contacts act at a distance, see :func:`featherweight.relaxed_step`; by default
    steps are exact. dtype: of observations and rewards.

    >>> import torch
    >>> env = fw.torch.Environment(fw.gym.tasks.hopper(), 8)
    >>> observation = env.reset(seed=0)
    >>> action = torch.zeros(8, 3, requires_grad=True)
    >>> for _ in range(5):
    ...     done = env.step(action)
    >>> done.reward.sum().backward()
    >>> action.grad.shape
    torch.Size([8, 3])

    A window of motion ends where its past is forgotten; environments go on from arrays, as of a file:

    >>> observation, kept = env.detach(), env.arrays()
    >>> done = env.step(action)
    >>> torch.equal(env.restore(kept), observation)
    True
    """

    def __init__(
        self, task: Task, num_envs: int, *, kappa: float | None = None, dtype: torch.dtype = torch.float32
    ) -> None:
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise ValueError(f"num_envs must be a positive integer, got {num_envs!r}")
        if kappa is not None and not (np.ndim(kappa) == 0 and np.isfinite(kappa) and kappa > 0.0):
            raise ValueError(f"kappa: expected a positive number or None, got {kappa!r}")
        if task.simulator.na or task.simulator.integrator == "verlet":
            raise ValueError('task: gradients go neither through activations nor through integrator "verlet"')
        self.task, self.num_envs, self._kappa, self.dtype = task, num_envs, kappa, dtype
        self._episodes = Episodes(task, num_envs)
        self.n_observations, self.n_actions = self._episodes.n_observations, self._episodes.n_actions
        self._rules = _Rules(self._episodes.rules)
        self._size = 2 * task.simulator.model.nv + task.simulator.nu + self.n_actions
        self._observing: Sensitivities | None = None  # known, as that of rewards, after the first action
        self._token: torch.Tensor | None = None
        self._observed: torch.Tensor | None = None

    @property
    def state(self) -> State:
        """A copy of the physical state."""
        return self._episodes.live.state()

    def reset(self, seed: int = 0) -> torch.Tensor:
        """Start all environments, the k-th of them with the seed ``seed + k``; returns the first observations."""
        rows = np.arange(self.num_envs)
        self._episodes.random.seed(rows, [seed + k for k in range(self.num_envs)])
        self._episodes.start(rows)
        self._observed = self._observe(rows)
        return self.detach()

    def detach(self) -> torch.Tensor:
        """Forget how the present state came about: gradients end here. Returns the present observations."""
        if self._observed is None:
            raise ValueError("environment: call reset() first")
        self._token = torch.zeros(self.num_envs, self._size, dtype=torch.float64)
        self._observed = self._observed.detach()
        return self._observed

    def step(self, actions: torch.Tensor) -> Transition:
        """One action, (n, n_actions) between -1 and 1, for each environment."""
        if self._token is None:
            raise ValueError("environment: call reset() before step()")
        if not isinstance(actions, torch.Tensor) or actions.shape != (self.num_envs, self.n_actions):
            got = tuple(actions.shape) if isinstance(actions, torch.Tensor) else type(actions).__name__
            raise ValueError(f"actions: expected a tensor of shape {(self.num_envs, self.n_actions)}, got {got}")
        kept: list[_Taken] = []
        last, reward, token = _Act.apply(self, kept, self._token, actions)
        terminated, truncated = kept[0].terminated, kept[0].truncated
        over = np.flatnonzero(terminated | truncated)
        observation = last
        if len(over):
            self._episodes.start(over)
            going = torch.from_numpy(~(terminated | truncated))[:, None]
            observation = torch.where(going, last, self._observe(over))
            token = torch.where(going, token, torch.zeros_like(token))
        self._token, self._observed = token, observation
        return Transition(observation, reward, torch.from_numpy(terminated), torch.from_numpy(truncated), last)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that goes on from here, by name, gradients apart."""
        if self._observed is None:
            raise ValueError("environment: call reset() first")
        return {**self._episodes.arrays(), "observed": self._observed.detach().numpy().copy()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> torch.Tensor:
        """Go on, bit for bit, from what :meth:`arrays` gave; returns the present observations."""
        self._episodes.restore({name: x for name, x in arrays.items() if name != "observed"})
        self._observed = torch.from_numpy(np.array(arrays["observed"]))
        return self.detach()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _tensor(self, array: Array) -> torch.Tensor:
        return tensor_of(array, self.dtype)

    def _observe(self, rows: NDArray[np.int64]) -> torch.Tensor:
        """(n, n_observations), those of some rows among zeros."""
        result = np.zeros((self.num_envs, self.n_observations))
        result[rows] = self._episodes.observe_exactly(rows)
        return self._tensor(result)

    def _act(self, action: Array) -> _Taken:
        """Takes an action everywhere."""
        episodes, steps = self._episodes, _Steps(self.task, self._kappa)
        before = episodes.control
        rewards, terminated, truncated = episodes.act(action, lambda control: steps.take(episodes.live, control))
        rewarded = episodes.moment()
        episodes.repeat(terminated | truncated)
        seen = episodes.moment()
        if self._observing is None:
            terms = self.task.terms("observations").items()
            self._observing = Sensitivities([(term, episodes.slices[name]) for name, term in terms], seen)
            paid = self.task.terms("rewards").values()
            self._paying = Sensitivities([(term, slice(0, 1)) for term in paid], rewarded)
        observed = episodes.observe_exactly()
        return _Taken(action, before, steps, rewarded, seen, observed, rewards, terminated, truncated)

    def _pull(self, taken: _Taken, observed: Array, reward: Array, token: Array) -> tuple[Array, Array]:
        """From cotangents of what came of an action to those of the token before it and of the action."""
        assert self._observing is not None
        nv, nu = self.task.simulator.model.nv, self.task.simulator.nu
        q, v, control, action = np.split(token, [nv, 2 * nv, 2 * nv + nu], axis=1)
        seen = self._observing.pull(taken.seen, observed, BOUND)
        paid = self._paying.pull(taken.rewarded, reward)
        q, v, control, action = (
            x + seen[name] + paid[name] for name, x in (("q", q), ("v", v), ("control", control), ("action", action))
        )
        q, v, by_sent = taken.steps.pull(q, v)
        control = control + np.where(taken.steps.control == taken.seen.arrays["control"], by_sent, 0.0)
        control, by_rules = self._rules.pull(control, taken.before, taken.action)
        action = (action + by_rules) * (np.abs(taken.action) <= 1.0)
        previous = seen["previous_action"] + paid["previous_action"]
        return np.concatenate([q, v, control, previous], axis=1), action


class _Steps:
    """The steps of one action, and the way back through them."""

    def __init__(self, task: Task, kappa: float | None) -> None:
        self._sim, self._n, self._kappa = task.simulator, task.decimation, kappa
        self.control: Array = np.zeros((0, 0))  # (n, nu) that was sent
        self._start: State | None = None
        self._relaxed: list[RelaxedStep] = []

    def take(self, live: LiveEnvironments, control: Array) -> None:
        """Steps live environments, exactly or relaxed."""
        self.control, self._start = control.copy(), live.state()
        if self._kappa is None:
            live.step(control[:, None] if control.size else None, self._n)
            return
        state = self._start
        for _ in range(self._n):
            step = relaxed_step(self._sim, state, kappa=self._kappa, control=self.control, wrt=("q", "v", "control"))
            self._relaxed.append(step)
            state = step.state
        live.restore(state._arrays())

    def pull(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """From cotangents of q, in tangent space, and v after them to those before, and of the control."""
        by_control = np.zeros_like(self.control)
        for step in reversed(self._relaxed):
            both = np.concatenate([q, v], axis=1)[:, None]
            by_control += (both @ step.B)[:, 0]
            q, v = np.split((both @ step.A)[:, 0], 2, axis=1)
        if self._relaxed:
            return q, v, by_control
        assert self._start is not None
        with warnings.catch_warnings():  # the environments were told of already, as ends
            warnings.simplefilter("ignore", SimulationWarning)
            drive = self.control[:, None] if self.control.size else None
            trajectory = self._sim.rollout(self._start, control=drive, n_steps=self._n, tape="all")
        ends = np.zeros((2, len(q), self._n, q.shape[1]))
        ends[0, :, -1], ends[1, :, -1] = q, v
        g = self._sim.rollout_vjp(trajectory, *ends)
        return g.q0, g.v0, g.control.sum(axis=1)


@dataclass(frozen=True)
class _Taken:
    """An action that was taken."""

    action: Array  # (n, n_actions), as it was given
    before: Array  # (n, nu) the control
    steps: _Steps
    rewarded: Moment  # after its steps
    seen: Moment  # when the next observation was made, after commands and events
    observed: Array
    rewards: Array
    terminated: Booleans
    truncated: Booleans


class _Rules:
    """How controls follow from actions: clip(center + scale action, low, high), where centers may be the control."""

    def __init__(self, rules: list[Rule]) -> None:
        columns = zip(*rules, strict=True)
        self._control, self._action = (np.array(next(columns), dtype=np.int64) for _ in range(2))
        centers = next(columns)
        self._keeps = np.array([center is None for center in centers])
        self._center = np.array([0.0 if center is None else center for center in centers])
        self._scale, self._low, self._high = (np.array(column, dtype=np.float64) for column in columns)

    def pull(self, control: Array, before: Array, action: Array) -> tuple[Array, Array]:
        """From cotangents of the control to those of the control before and of the action."""
        center = np.where(self._keeps, before[:, self._control], self._center)
        value = center + self._scale * np.clip(action, -1.0, 1.0)[:, self._action]
        passed = control[:, self._control] * ((value >= self._low) & (value <= self._high))
        by_before, by_action = control.copy(), np.zeros_like(action)
        by_before[:, self._control] = passed * self._keeps
        np.add.at(by_action.T, self._action, (passed * self._scale).T)
        return by_before, by_action


class _Act(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, env: Environment, kept: list[_Taken], token: torch.Tensor, action: torch.Tensor) -> Any:
        taken = env._act(array_of(action))
        kept.append(taken)
        ctx.env, ctx.taken, ctx.dtype = env, taken, action.dtype
        return env._tensor(taken.observed), env._tensor(taken.rewards), torch.zeros_like(token)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        observed, reward, token = (array_of(x) for x in gradients)
        by_token, by_action = ctx.env._pull(ctx.taken, observed, reward[:, None], token)
        return None, None, *once([torch.from_numpy(by_token), tensor_of(by_action, ctx.dtype)])
