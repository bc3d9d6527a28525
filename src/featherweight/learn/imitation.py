"""Imitation of an expert, whatever that is: a planner, a controller, another policy.

Policy and expert share the actions of a batch of environments; the expert says everywhere what it would have done. The
policy is fitted to all of that so far, and shares more of the actions in the next round: it learns what to do where it
gets to by itself. [Ross et al. 2011]
"""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, real_numbers
from ..checks import at_least
from ..progress import progress_bar
from ..records import Record
from .checkpoints import Arrays, Checkpoint, part, under
from .experts import Answers
from .policy import Policy
from .regression import Learner, Regression

if TYPE_CHECKING:
    from .. import gym

Sees = Literal["world", "observations"]
Gives = Literal["controls", "actions"]

#: From a :class:`featherweight.gym.World` of n environments, or from observations (n, k), to controls (n, nu) or
#: actions (n, k). Rows of NaN are no answers. If it has a method ``reset``, that is called before every round.
Expert = Callable[[Any], ArrayLike]

#: What seeds of held-out episodes are away from those of environments in which labels are gathered.
HELD_OUT = 1_000_000


@dataclass(frozen=True)
class Round(Record):
    """One round of :func:`imitate`.

    >>> fw.learn.Round(
    ...     800, 0, share=0.5, reward=0.9, ends=2, loss=0.1234, score=120.0, deviation=3.0, fallen=1, cpu_seconds=2.0
    ... )
    <Round: 800 labels, loss 0.123, score 120 +- 3>
    """

    labels: int  # answers of the expert so far
    refused: int  # questions of this round without an answer
    share: float  # of actions of this round that the expert took
    reward: float  # of one action of this round, mean
    ends: int  # episodes that a termination ended in this round
    loss: float  # root of the mean square of what the new policy misses, on all labels
    score: float  # return of held-out episodes with the new policy, mean
    deviation: float  # of these returns
    fallen: int  # how many of the held-out episodes a termination ended
    cpu_seconds: float  # of all threads, for this round

    def __repr__(self) -> str:
        return f"<Round: {self.labels} labels, loss {self.loss:.3g}, score {self.score:.4g} +- {self.deviation:.2g}>"


@dataclass(frozen=True)
class Imitation(Record):
    """What :func:`imitate` returns: the policy of the best round.

    >>> only = fw.learn.Round(
    ...     800, 0, share=0.5, reward=0.9, ends=2, loss=0.1234, score=120.0, deviation=3.0, fallen=1, cpu_seconds=2.0
    ... )
    >>> fw.learn.Imitation(fw.learn.Policy.initial(4, 1), (only,), best=0, library="numpy").score
    120.0
    """

    policy: Policy
    rounds: tuple[Round, ...]
    best: int  # the round that made the policy: the first one of the highest score
    library: str  # what policies were fitted with: "torch", "numpy", or the name of a learner

    @property
    def score(self) -> float:
        """Mean return of held-out episodes. The best of several rounds: expect somewhat less of other episodes."""
        return self.rounds[self.best].score

    @property
    def labels(self) -> int:
        """Answers of the expert, all in all."""
        return self.rounds[-1].labels

    @property
    def cpu_seconds(self) -> float:
        """Of all threads and rounds, interruptions apart."""
        return sum(each.cpu_seconds for each in self.rounds)

    def __repr__(self) -> str:
        best = self.rounds[self.best]
        return (
            f"<Imitation: score {best.score:.4g} +- {best.deviation:.2g} after round {self.best + 1} of "
            f"{len(self.rounds)}, {self.labels} labels, {self.cpu_seconds:.0f} s of CPU time by {self.library}>"
        )


def imitate(
    task: gym.Task,
    expert: Expert,
    *,
    sees: Sees = "world",
    gives: Gives = "controls",
    labels: int = 2000,
    rounds: int = 10,
    num_envs: int = 10,
    mixing: float | Sequence[float] = 0.8,
    noise: float = 0.05,
    learner: Learner | None = None,
    episodes: int = 16,
    seed: int = 0,
    directory: str | os.PathLike[str] | None = None,
    progress: bool = False,
    on_interrupt: Literal["raise", "return"] = "raise",
) -> Imitation:
    """A policy that does what an expert would have done, learnt from at most so many ``labels`` of it.

    expert: called with a :class:`featherweight.gym.World` of all environments, or with what the policy ``sees``, for
    controls (n, nu) of the actuators, or actions (n, k) of the task. :class:`Planners` makes one of planners.
    rounds: the policy is fitted anew after each; num_envs: environments in which labels are gathered side by side.
    mixing: probability that the expert takes an action, to the power of the round, or one for each round.
    noise: standard deviation of what is added to actions while labels are gathered, between -1 and 1.
    learner: fits policies, by default :class:`Regression`.
    episodes: held out to choose the best of the rounds.

    directory: what is known after each round is kept there, and a call that was cut short is resumed by repeating it,
    with the same bits at the end. on_interrupt: whether Ctrl-C raises KeyboardInterrupt, or returns what the rounds
    until then gave. Needs the extra ``featherweight[gym]``.

    >>> def upright(world: fw.gym.World) -> fw.gym.Array:  # balance a pole: (n, 1) controls
    ...     return np.asarray(np.hstack([world.q, world.v]) @ [[0.1], [3.0], [0.2], [0.8]], dtype=np.float64)
    >>> fit = fw.learn.Regression(hidden=(32,), library="numpy")
    >>> result = fw.learn.imitate(fw.gym.tasks.cart_pole(), upright, labels=500, rounds=2, learner=fit)
    >>> result.score, result.labels
    (500.0, 500)
    """
    run = _Run(task, expert, sees, gives, labels, rounds, num_envs, mixing, noise, learner, episodes, seed)
    checkpoint = Checkpoint(directory, run.plan())
    kept = checkpoint.load()
    if kept is not None:
        run.restore(kept)
    with progress_bar(run.questions * rounds, "imitating", enabled=progress) as advance:
        advance(run.questions * len(run.rounds))
        try:
            while len(run.rounds) < rounds:
                run.iterate(advance)
                checkpoint.save(run.arrays())
        except KeyboardInterrupt:
            if on_interrupt == "raise" or not run.rounds:
                raise
    return run.result()


@dataclass
class _Run:
    """As far as it is."""

    task: gym.Task
    expert: Expert
    sees: Sees
    gives: Gives
    labels: int
    n_rounds: int
    num_envs: int
    mixing: float | Sequence[float]
    noise: float
    learner: Learner | None
    episodes: int
    seed: int
    rounds: list[Round] = field(default_factory=list)

    def __post_init__(self) -> None:
        from ..gym import Task
        from ..gym.vector_env import Episodes

        if not isinstance(self.task, Task):
            raise ValueError(f"task: expected a fw.gym.Task, got {self.task!r}")
        if not callable(self.expert):
            raise ValueError(f"expert: expected a function of a world or of observations, got {self.expert!r}")
        for name, value, known in (("sees", self.sees, Sees), ("gives", self.gives, Gives)):
            if value not in get_args(known):
                raise ValueError(f"{name}: expected one of {', '.join(get_args(known))}, got {value!r}")
        at_least(1, rounds=self.n_rounds, num_envs=self.num_envs, episodes=self.episodes)
        at_least(self.n_rounds * self.num_envs, labels=self.labels)
        at_least(0, seed=self.seed)
        if self.task.episode_length is None:
            raise ValueError("task: episodes that never end cannot be held out, give it an episode_length")
        if not (np.isfinite(self.noise) and self.noise >= 0.0):
            raise ValueError(f"noise: expected a number of at least 0, got {self.noise!r}")
        self.learner = Regression() if self.learner is None else self.learner
        self._shares = self._schedule()
        self._envs = Episodes(self.task, self.num_envs)
        self._answers = Answers(self._envs.rules, self._envs.n_actions)
        self._envs.random.seed(np.arange(self.num_envs), [self.seed + k for k in range(self.num_envs)])
        self._envs.start(np.arange(self.num_envs))
        self._observations: list[Array] = []  # of each round, (m, n_observations)
        self._actions: list[Array] = []
        self._last: Policy | None = None
        self._best: Policy | None = None

    @property
    def questions(self) -> int:
        """To the expert, in a round."""
        return self.num_envs * (self.labels // (self.n_rounds * self.num_envs))

    def plan(self) -> dict[str, Any]:
        """What the call was asked for."""
        sizes = {"n_observations": self._envs.n_observations, "n_actions": self._envs.n_actions}
        asked = {name: getattr(self, name) for name in ("sees", "gives", "labels", "noise", "episodes", "seed")}
        shares = {"rounds": self.n_rounds, "num_envs": self.num_envs, "mixing": self._shares}
        return {"function": "imitate", **sizes, **asked, **shares, "learner": self._library}

    def iterate(self, advance: Callable[[int], None]) -> None:
        """One more round."""
        began, number = clock.process_time(), len(self.rounds)
        share = self._shares[number]
        refused, reward, ends = self._gather(share, np.random.default_rng((self.seed, number)), advance)
        x, y = np.concatenate(self._observations), np.concatenate(self._actions)
        if not len(x):
            raise ValueError("expert: it answered none of the questions of the first round")
        policy = self._fit(x, y, number)
        loss = float(np.sqrt(np.mean((policy(x) - y) ** 2)))
        from ..cluster import evaluate

        held = evaluate(self.task, policy, episodes=self.episodes, seed=self.seed + HELD_OUT, workers=0)
        score, deviation = float(held.returns.mean()), float(held.returns.std())
        if not self.rounds or score > max(each.score for each in self.rounds):
            self._best = policy
        self._last = policy
        fallen, spent = int(held.terminated.sum()), clock.process_time() - began
        self.rounds.append(Round(len(x), refused, share, reward, ends, loss, score, deviation, fallen, spent))

    def result(self) -> Imitation:
        """Of the rounds until now."""
        assert self._best is not None
        best = int(np.argmax([each.score for each in self.rounds]))
        return Imitation(self._best, tuple(self.rounds), best, self._library.partition(" ")[0])

    def arrays(self) -> Arrays:
        """All that goes on from here."""
        assert self._last is not None and self._best is not None
        data = {"observations": np.concatenate(self._observations), "actions": np.concatenate(self._actions)}
        rows = {"rounds": np.array([astuple(each) for each in self.rounds], dtype=np.float64)}
        policies = under("last", self._last.arrays()) | under("best", self._best.arrays())
        return {**data, **rows, **policies, **under("environments", self._envs.arrays())}

    def restore(self, arrays: Arrays) -> None:
        """Go on from what :meth:`arrays` gave."""
        kinds: list[Any] = [int if each.type == "int" else float for each in fields(Round)]
        for row in arrays["rounds"].tolist():
            self.rounds.append(Round(*[kind(x) for kind, x in zip(kinds, row, strict=True)]))
        self._observations, self._actions = [arrays["observations"]], [arrays["actions"]]
        self._last, self._best = (Policy.from_arrays(part(name, arrays)) for name in ("last", "best"))
        self._envs.restore(part("environments", arrays))

    # -- inside ------------------------------------------------------------------------------------------------------

    @property
    def _library(self) -> str:
        learner = self.learner
        if isinstance(learner, Regression):
            return f"{learner.chosen} {asdict(learner)}"
        return str(getattr(learner, "__qualname__", type(learner).__qualname__))

    def _schedule(self) -> list[float]:
        given = self.mixing
        powers = np.arange(self.n_rounds)
        shares = real_numbers("mixing", given) if np.ndim(given) else real_numbers("mixing", given) ** powers
        if shares.shape != (self.n_rounds,) or not ((shares >= 0.0) & (shares <= 1.0)).all():
            raise ValueError(f"mixing: expected a share from 0 to 1, or one for each round, got {given!r}")
        return [float(x) for x in shares]

    def _gather(self, share: float, rng: np.random.Generator, advance: Callable[[int], None]) -> tuple[int, float, int]:
        """Labels of one round: how many questions had none, the mean reward, and how many episodes ended early."""
        envs, n = self._envs, self.num_envs
        seen, said, total, ends, refused = [], [], 0.0, 0, 0
        if callable(reset := getattr(self.expert, "reset", None)):
            reset()
        for _ in range(self.questions // n):
            observed = envs.observe().astype(np.float64)
            answer = self._ask(observed)
            known = np.isfinite(answer).all(axis=1)
            seen.append(observed[known])
            said.append(answer[known])
            refused += int(n - known.sum())
            own = np.zeros_like(answer) if self._last is None else self._last(observed)
            by_expert = known & (rng.uniform(size=n) < share)
            taken = np.where(by_expert[:, None], answer, own) + self.noise * rng.standard_normal(answer.shape)
            rewards, terminated, truncated = envs.advance(np.clip(taken, -1.0, 1.0), np.zeros(n, dtype=bool))
            total += float(rewards.sum())
            ends += int(terminated.sum())
            if len(over := np.flatnonzero(terminated | truncated)):
                envs.start(over)
            advance(n)
        self._observations.append(np.concatenate(seen))
        self._actions.append(np.concatenate(said))
        return refused, total / self.questions, ends

    def _ask(self, observed: Array) -> Array:
        """Actions (n, n_actions) of the expert, with NaN where it has none."""
        answer = self.expert(self._envs.world() if self.sees == "world" else observed)
        if self.gives == "controls":
            return self._answers.actions(answer, self._envs.control)
        return self._answers.directly(answer, self.num_envs)

    def _fit(self, x: Array, y: Array, number: int) -> Policy:
        assert self.learner is not None
        policy = self.learner(x, y, seed=int(np.random.SeedSequence((self.seed, number)).generate_state(1)[0]))
        sizes = x.shape[1], y.shape[1]
        if not isinstance(policy, Policy) or (policy.n_observations, policy.n_actions) != sizes:
            raise ValueError(
                f"learner: expected a Policy of {sizes[0]} observations and {sizes[1]} actions, got {policy!r}"
            )
        return policy
