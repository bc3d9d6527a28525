"""Gymnasium environments: a batch of them stepped by one call, and a single one as a batch of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array
from ..simulation.live import LiveEnvironments
from ..simulation.state import State
from ..viewer.film import Camera
from .actions import Rule, start_control
from .columns import Columns, Outside, add
from .moment import Moment
from .randomness import Randomness
from .task import Task
from .term import Term
from .world import Buffers, Names, Rows, World

Observations = NDArray[np.float32]
Booleans = NDArray[np.bool_]
Infos = dict[str, Any]

#: Observations stay within these bounds, so that nothing a simulation does can upset a network.
BOUND = 100.0


#: Of what environments keep beside the physics, what goes from one action to the next.
_KEPT = ("steps", "control", "action", "previous_action")
_GROUPS = ("observations", "rewards", "terminations", "resets", "events", "commands", "randomisation")


class VectorEnv(gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """``num_envs`` environments of a :class:`Task`, a ``gymnasium.vector.VectorEnv``.

    autoreset_mode: when environments that ended start again: "NextStep", "SameStep" (the last observation is in
    ``infos["final_obs"]``) or "Disabled" (use ``reset(options={"reset_mask": ...})``).

    The results of an environment depend on its seed and its actions, not on the other environments:
    ``reset(seed=s)`` gives environment k the seed s + k.

    >>> envs = fw.gym.VectorEnv(fw.gym.tasks.cart_pole(), num_envs=3)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations, rewards, terminations, truncations, infos = envs.step(np.zeros((3, 1)))
    >>> rewards
    array([1., 1., 1.])
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(
        self,
        task: Task,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        if not isinstance(task, Task):
            names = "gymnasium.make_vec takes names" if isinstance(task, str) else "see fw.gym.tasks"
            raise ValueError(f"task: expected a Task, got {task!r}; {names}")
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise ValueError(f"num_envs must be a positive integer, got {num_envs!r}")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f'render_mode must be None or "rgb_array", got {render_mode!r}')
        self.task, self.num_envs, self.render_mode = task, num_envs, render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self._episodes = Episodes(task, num_envs)
        n_obs, n_act = self._episodes.n_observations, self._episodes.n_actions
        self.metadata = {
            **type(self).metadata,
            "autoreset_mode": self.autoreset_mode,
            "render_fps": round(1.0 / task.period),
        }
        self.single_observation_space = gymnasium.spaces.Box(-BOUND, BOUND, (n_obs,), np.float32)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (n_act,), np.float32)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self._ended: Booleans | None = None  # by the last step; None: never reset
        self._camera: Camera | None = None

    @property
    def observation_slices(self) -> dict[str, slice]:
        """Where each term of the observation is."""
        return dict(self._episodes.slices)

    @property
    def reward_terms(self) -> Mapping[str, Array]:
        """The weighted value of each term in the last step, (num_envs,) each."""
        return self._episodes.reward_terms

    @property
    def control(self) -> Array:
        """The last controls of the actuators, (num_envs, nu); a copy."""
        return self._episodes.control

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Actions since each episode began, (num_envs,); a copy. May be set, for episodes that end at other times."""
        return self._episodes.lengths

    @lengths.setter
    def lengths(self, lengths: NDArray[np.int64]) -> None:
        self._episodes.lengths = lengths

    @property
    def state(self) -> State:
        """A copy of the physical state of all environments, for ``fw.view`` and other functions that take states."""
        return self._episodes.live.state()

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Start all environments, or those of ``options["reset_mask"]``, (num_envs,) booleans."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        rows = self._masked(options)
        self._seed(seed, rows)
        if self._ended is None:
            self._ended = np.zeros(self.num_envs, dtype=bool)
        self._ended[rows] = False
        self._episodes.start(rows)
        return self._episodes.observe(), {}

    def step(self, actions: ArrayLike) -> tuple[Observations, Array, Booleans, Booleans, Infos]:
        """One action, (num_envs, n), for each environment: observations, rewards, terminations, truncations, infos."""
        if self._ended is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        ended, episodes = self._ended, self._episodes
        if self.autoreset_mode is AutoresetMode.DISABLED and ended.any():
            at = np.flatnonzero(ended).tolist()
            raise gymnasium.error.ResetNeeded(f"environments {at[:5]} have ended: reset them with a reset_mask first")
        rewards, terminated, truncated = episodes.advance(actions, ended)
        infos: Infos = {}
        if self.autoreset_mode is AutoresetMode.NEXT_STEP and len(over := np.flatnonzero(ended)):
            rewards[over], terminated[over], truncated[over] = 0.0, False, False
            episodes.start(over)
        observations = episodes.observe()
        now = terminated | truncated
        if self.autoreset_mode is AutoresetMode.SAME_STEP and now.any():
            rows = np.flatnonzero(now)
            last = np.full(self.num_envs, None, dtype=object)
            for row in rows.tolist():
                last[row] = observations[row].copy()
            infos = {"final_obs": last, "_final_obs": now.copy(), "final_info": {}, "_final_info": now.copy()}
            episodes.start(rows)
            observations[rows] = episodes.observe(rows)
            now = np.zeros_like(now)
        self._ended = now
        return observations, rewards, terminated, truncated, infos

    def forget_ends(self) -> None:
        """Continue environments that ended as if they had not."""
        if self._ended is not None:
            self._ended[:] = False

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """A picture (height, width, 3) of each environment; ``render_mode="rgb_array"`` is needed.

        >>> envs = fw.gym.VectorEnv(fw.gym.tasks.cart_pole(), 2, render_mode="rgb_array")
        >>> _ = envs.reset(seed=0)
        >>> len(envs.render())  # doctest: +SKIP
        2
        """
        if self.render_mode is None:
            gymnasium.logger.warn('render: make the environment with render_mode="rgb_array" to get pictures')
            return None
        self._camera = self._camera or Camera(self.task.simulator.animation())
        return tuple(self._camera.picture(q) for q in self._episodes.live.q)

    def close_extras(self, **kwargs: Any) -> None:
        if self._camera is not None:
            self._camera.close()
            self._camera = None

    def __repr__(self) -> str:
        name = "" if self.spec is None else f"{self.spec.id}, "
        return f"{type(self).__name__}({name}num_envs={self.num_envs})"

    def _masked(self, options: dict[str, Any] | None) -> NDArray[np.int64]:
        if not options or "reset_mask" not in options:
            return np.arange(self.num_envs)
        mask = np.asarray(options["reset_mask"])
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"reset_mask: expected ({self.num_envs},) booleans, some of them true, got {mask.dtype} {mask.shape}"
            )
        if self._ended is None:
            raise gymnasium.error.ResetNeeded("reset all environments before some of them")
        return np.flatnonzero(mask)

    def _seed(self, seed: int | Sequence[int | None] | None, rows: NDArray[np.int64]) -> None:
        if isinstance(seed, Sequence):
            if len(seed) != self.num_envs:
                raise ValueError(f"seed: expected {self.num_envs} seeds, one for each environment, got {len(seed)}")
            given = {row: seed[row] for row in rows.tolist()}
        elif seed is not None:
            given = {row: seed + row for row in rows.tolist()}
        else:
            given = {}
        fresh = [] if self._ended is not None else [row for row in rows.tolist() if given.get(row) is None]
        if fresh:  # never seeded: from the generator that Gymnasium seeds
            start = self.np_random_seed if isinstance(self.np_random_seed, int) else 0
            given |= {row: start + row for row in fresh}
        known = {row: each for row, each in given.items() if each is not None}
        self._episodes.random.seed(list(known), [each for each in known.values() if each is not None])


class Env(gymnasium.Env):  # type: ignore[misc]
    """A single environment of a :class:`Task`: a :class:`VectorEnv` of one, without its first axis.

    >>> env = fw.gym.Env(fw.gym.tasks.cart_pole())
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step([0.5])
    >>> reward, terminated, truncated
    (1.0, False, False)
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, task: Task, *, render_mode: str | None = None) -> None:
        self._batch = VectorEnv(task, 1, autoreset_mode=AutoresetMode.DISABLED, render_mode=render_mode)
        self.task, self.render_mode = task, render_mode
        self.metadata = {**type(self).metadata, "render_fps": self._batch.metadata["render_fps"]}
        self.observation_space = self._batch.single_observation_space
        self.action_space = self._batch.single_action_space

    @property
    def observation_slices(self) -> dict[str, slice]:
        """Where each term of the observation is."""
        return self._batch.observation_slices

    @property
    def control(self) -> Array:
        """The last controls of the actuators, (nu,); a copy."""
        return np.asarray(self._batch.control[0])

    @property
    def state(self) -> State:
        """A copy of the physical state, as a batch of one."""
        return self._batch.state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observations, Infos]:
        """Start an episode: the first observation, and an empty dictionary."""
        super().reset(seed=seed)
        if seed is None and self._batch._ended is None:
            seed = self.np_random_seed
        observations, infos = self._batch.reset(seed=seed)
        return observations[0], infos

    def step(self, action: ArrayLike) -> tuple[Observations, float, bool, bool, Infos]:
        """One action (n,): observation, reward, terminated, truncated, and an empty dictionary."""
        self._batch.forget_ends()  # Gymnasium lets single environments be stepped beyond their end
        observations, rewards, terminated, truncated, _ = self._batch.step(np.asarray(action)[None])
        return observations[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), {}

    def render(self) -> NDArray[np.uint8] | None:
        """A picture (height, width, 3); ``render_mode="rgb_array"`` is needed.

        >>> env = fw.gym.Env(fw.gym.tasks.cart_pole(), render_mode="rgb_array")
        >>> _ = env.reset(seed=0)
        >>> env.render().shape  # doctest: +SKIP
        (480, 640, 3)
        >>> env.close()
        """
        pictures = self._batch.render()
        return None if pictures is None else pictures[0]

    def close(self) -> None:
        """Release the renderer."""
        self._batch.close()


class Episodes:
    """The terms of a task evaluated on a batch: starts, steps, rewards, ends and observations."""

    def __init__(self, task: Task, n: int) -> None:
        self.task = task
        simulator = task.simulator
        names = Names(simulator)
        self.live = LiveEnvironments(simulator, n)
        self.random = Randomness(n)
        self.random.seed(np.arange(n), list(range(n)))  # for the rehearsal
        self._center = start_control(simulator)
        sizes = {name: _size(name, action, names) for name, action in task.actions.items()}
        self.n_actions = sum(sizes.values())
        actions = np.zeros((n, self.n_actions))
        control = np.tile(self._center, (n, 1))
        steps = np.zeros(n, dtype=np.int64)
        self._buffers = Buffers(self.live, names, self.random, steps, control, actions, actions.copy(), {}, task.period)
        self._sent = control.copy()
        self._controls = _core.Controls(
            steps, actions, self._buffers.previous_action, control, self._sent, self._center, simulator._control_range
        )
        first = 0
        self.rules: list[Rule] = []  # of all actions together
        for name, action in task.actions.items():
            self.rules += [r._replace(action=first + r.action) for r in action.rules(names, self._center)]
            first += sizes[name]
        for rule in self.rules:
            limits = rule.scale, rule.low, rule.high
            self._controls.add_rule(rule.control, rule.action, rule.center is None, rule.center or 0.0, *limits)
        self._groups = {group: task.terms(group) for group in _GROUPS}
        self._repeats = {group: task.repeats(group) for group in ("events", "commands")}
        self._parameters: dict[str, Array] = {}
        self._last_step = np.inf if task.episode_length is None else round(task.episode_length / task.period)
        self.reward_terms: dict[str, Array] = {}
        self._rehearse()

    @property
    def control(self) -> Array:
        """(n, nu), a copy."""
        return self._buffers.control.copy()

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) actions since episodes began, a copy."""
        return self._buffers.steps.copy()

    @lengths.setter
    def lengths(self, lengths: NDArray[np.int64]) -> None:
        array = np.asarray(lengths)
        if array.dtype.kind not in "iu" or array.shape != self._buffers.steps.shape or (array < 0).any():
            shape = self._buffers.steps.shape
            raise ValueError(f"lengths: expected {shape} integers, not negative, got {array.dtype} {array.shape}")
        self._buffers.steps[...] = array

    def start(self, rows: NDArray[np.int64]) -> None:
        """New episodes in environments ``rows``."""
        buffers = self._buffers
        self._controls.start(rows)
        if self._groups["randomisation"]:
            self._randomise(rows)
        world = World(buffers, rows)
        world.q[...], world.v[...] = self.task.simulator.scene.q0, 0.0
        for name, term in self._groups["resets"].items():
            self._evaluate("resets", name, term, world)
        self.live.restart(rows, world.q, world.v)
        if self._groups["commands"]:
            world = World(buffers, rows)
            for name in self._groups["commands"]:
                self._draw(name, rows, world)

    def advance(self, actions: ArrayLike, resting: Booleans) -> tuple[Array, Booleans, Booleans]:
        """One action everywhere: rewards, terminations and truncations. resting: those whose results do not count."""
        rewards, terminated, truncated = self.act(actions)
        self.repeat(terminated | truncated | resting)
        return rewards, terminated, truncated

    def act(self, actions: ArrayLike, step: Callable[[Array], None] | None = None) -> tuple[Array, Booleans, Booleans]:
        """The same, before commands and events that are due. step: takes the controls (n, nu), in place of the live
        environments, and makes them what they are after the action."""
        buffers = self._buffers
        self._take(actions)
        self._controls.send()
        if step is None:
            self.live.step(self._sent[:, None] if self._sent.size else None, self.task.decimation)
        else:
            step(self._sent)
        buffers.steps += 1
        world = World(buffers)
        terminated = self.live.failed()
        for columns, low, high in self._bounds:
            columns.mark_outside(self.random.streams, None, low, high, terminated)
        for name, term in self._judged.items():
            terminated |= np.asarray(self._evaluate("terminations", name, term, world), dtype=bool)
        self.reward_terms = {
            name: self._evaluate("rewards", name, term, world) for name, term in self._groups["rewards"].items()
        }
        rewards = np.zeros(len(world))
        for value in self.reward_terms.values():
            rewards += value
        return rewards, terminated, buffers.steps >= self._last_step

    def observe(self, rows: Rows = slice(None)) -> Observations:
        """(n, n_observations) of some environments, or of all."""
        world = World(self._buffers, rows)
        result = np.empty((len(world), self.n_observations), dtype=np.float32)
        which = None if isinstance(rows, slice) else rows
        for part in self._observed:
            if isinstance(part.read, Term):
                value = np.asarray(self._evaluate("observations", part.name, part.read, world), dtype=np.float32)
                columns = result[:, self.slices[part.name]]
                np.clip(value.reshape(len(world), -1), -BOUND, BOUND, out=columns)
            else:
                part.read.read(self.random.streams, which, result, part.first, BOUND)
        return result

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that goes on from here, by name; the same array again is not written to."""
        buffers = self._buffers
        found = {f"state/{name}": x for name, x in self.live.state()._arrays().items()}
        found |= {name: getattr(buffers, name).copy() for name in _KEPT} | {"streams": self.random.streams.copy()}
        found |= {f"command/{name}": x.copy() for name, x in buffers.commands.items()}
        return found | {f"parameter/{name}": x.copy() for name, x in self._parameters.items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what :meth:`arrays` gave, of environments of the same task, as many of them."""
        if set(arrays) != (wanted := set(self.arrays())):
            odd = min(set(arrays) ^ wanted)
            raise ValueError(f"environments of another task: {odd!r} is {'missing' if odd in wanted else 'not theirs'}")
        buffers = self._buffers
        self.live.restore({n.removeprefix("state/"): x for n, x in arrays.items() if n.startswith("state/")})
        for name in _KEPT:
            getattr(buffers, name)[...] = arrays[name]
        self.random.streams[...] = arrays["streams"]
        for name, x in buffers.commands.items():
            x[...] = arrays[f"command/{name}"]
        self._parameters = {name: arrays[f"parameter/{name}"].copy() for name in self._parameters}

    def _take(self, actions: ArrayLike) -> None:
        array = np.asarray(actions)
        if array.dtype != np.float32:
            array = np.asarray(array, dtype=np.float64)
        shape = self._buffers.action.shape
        if array.shape != shape:
            raise ValueError(f"actions: expected shape {shape}, got {array.shape}")
        wrong = self._controls.take(np.ascontiguousarray(array))
        if wrong >= 0:
            row, column = divmod(wrong, shape[1])
            raise ValueError(f"actions: {array[row, column]} at number {column} of environment {row}")

    def world(self) -> World:
        """What terms see now."""
        return World(self._buffers)

    def moment(self) -> Moment:
        """Copies of all that terms see now."""
        return Moment.of(self._buffers)

    def observe_exactly(self, rows: Rows = slice(None)) -> Array:
        """The same as :meth:`observe`, from the same random numbers, in double precision: by the terms themselves."""
        world = World(self._buffers, rows)
        parts = [self._evaluate("observations", *part, world) for part in self._groups["observations"].items()]
        whole = np.concatenate([np.reshape(x, (len(world), -1)) for x in parts], axis=1)
        return np.asarray(np.clip(whole, -BOUND, BOUND), dtype=np.float64)

    def repeat(self, ended: Booleans) -> None:
        """Commands and events that are due, in episodes that go on."""
        for group, repeats in self._repeats.items():
            for name, every in repeats.items():
                rows = np.flatnonzero((self._buffers.steps % every == 0) & ~ended)
                if not len(rows):
                    continue
                world = World(self._buffers, rows)
                if group == "commands":
                    self._draw(name, rows, world)
                else:
                    self._evaluate(group, name, self._groups[group][name], world)
                    self.live.q[rows], self.live.v[rows] = world.q, world.v

    def _draw(self, name: str, rows: NDArray[np.int64], world: World) -> None:
        value = np.asarray(self._evaluate("commands", name, self._groups["commands"][name], world), dtype=np.float64)
        value = value.reshape(len(rows), -1)
        commands = self._buffers.commands
        if name not in commands:
            commands[name] = np.zeros((self.live.batch, value.shape[1]))
        commands[name][rows] = value

    def _randomise(self, rows: NDArray[np.int64]) -> None:
        world = World(self._buffers, rows)
        for name, term in self._groups["randomisation"].items():
            value = np.asarray(self._evaluate("randomisation", name, term, world), dtype=np.float64)
            if name not in self._parameters:
                self._parameters[name] = np.ones((self.live.batch, *value.shape[1:]))
            self._parameters[name][rows] = value
        if self._parameters:
            self.live.randomise(**self._parameters)

    def _rehearse(self) -> None:
        """Every term once, on one environment: what is wrong with it is found now, and how many numbers it gives."""
        first = np.zeros(1, dtype=np.int64)
        self.start(first)
        world = World(self._buffers, first)
        self.slices: dict[str, slice] = {}
        self.n_observations = 0
        for name, term in self._groups["observations"].items():
            size = int(np.asarray(self._evaluate("observations", name, term, world)).size)
            self.slices[name] = slice(self.n_observations, self.n_observations + size)
            self.n_observations += size
        for group in ("rewards", "terminations"):
            for name, term in self._groups[group].items():
                shape = np.shape(self._evaluate(group, name, term, world))
                if shape != (1,):
                    raise ValueError(f"{group} {name!r}: {term!r} must give one number for each environment, (n,), "
                                     f"got {shape} for n = 1")  # fmt: skip
        self._sort_out(world)

    def _sort_out(self, world: World) -> None:
        """Which observations and terminations the core reads, neighbours of them together, and which are computed."""
        arrays = self._buffers.by_source()
        self._observed: list[_Part] = []
        for name, term in self._groups["observations"].items():
            picked = term.picked(world)
            if not isinstance(picked, Columns):
                self._observed.append(_Part(name, self.slices[name].start, term))
                continue
            if not (self._observed and isinstance(self._observed[-1].read, _core.Columns)):
                self._observed.append(_Part(name, self.slices[name].start, _core.Columns()))
            add(self._observed[-1].read, picked, arrays)
        self._bounds: list[tuple[_core.Columns, float, float]] = []
        self._judged: dict[str, Term] = {}
        for name, term in self._groups["terminations"].items():
            picked = term.picked(world)
            if isinstance(picked, Outside):
                self._bounds.append((_core.Columns(), picked.low, picked.high))
                add(self._bounds[-1][0], picked.columns, arrays)
            else:
                self._judged[name] = term

    def _evaluate(self, group: str, name: str, term: Term, world: World) -> Any:
        try:
            value = term(world)
        except ValueError as error:
            raise ValueError(f"{group} {name!r}: {error}") from error
        if value is None and group in ("resets", "events"):
            return None
        if np.ndim(value) == 0 or len(value) != len(world):
            raise ValueError(f"{group} {name!r}: {term!r} must give a row for each of {len(world)} environments, "
                             f"got {np.shape(value)}")  # fmt: skip
        return value


class _Part(NamedTuple):
    """Some of the observation: columns that the core reads, or a term."""

    name: str
    first: int
    read: Any


def _size(name: str, action: Any, names: Names) -> int:
    if not (hasattr(action, "size") and hasattr(action, "rules")):
        raise ValueError(f"actions {name!r}: expected Targets, Increments or Grip, got {action!r}")
    try:
        return int(action.size(names))
    except ValueError as error:
        raise ValueError(f"actions {name!r}: {error}") from error
