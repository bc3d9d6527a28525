"""Learning through steps: short windows of motion, differentiated, with a critic for what comes after them.

A window is a few dozen actions of a batch of environments. Its rewards, and what the critic makes of the state at its
end, are differentiated by the actions through contacts, servos and terms; the critic learns from what came of the
window. [Xu et al. 2022.]
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from ..checks import at_least
from ..progress import progress_bar
from ..records import Record
from .checkpoints import Checkpoint
from .policy import Policy

if TYPE_CHECKING:
    from .. import gym

Orders = Literal["first", "both"]

#: Of a spring on which a quarter of the mass rests, where nothing else is asked for: its share of critical damping.
_DAMPED = 0.25


@dataclass(frozen=True)
class Score(Record):
    """One look at the policy of :func:`shac`.

    >>> fw.learn.Score(4096, -120.0, 8.0, 0, reward=-1.2, gradient=0.5, first=1.0, cpu_seconds=2.0)
    <Score: -120 +- 8 after 4096 samples>
    """

    samples: int  # actions of all environments until then
    score: float  # return of held-out episodes, mean
    deviation: float  # of these returns
    fallen: int  # how many of them a termination ended
    reward: float  # of one action since the last look, mean
    gradient: float  # length of the actor's, before it is cut to one, mean since the last look
    first: float  # share of first-order gradients in it, mean since the last look
    cpu_seconds: float  # of all threads, since the last look

    def __repr__(self) -> str:
        return f"<Score: {self.score:.4g} +- {self.deviation:.2g} after {self.samples} samples>"


@dataclass(frozen=True)
class ActorCritic(Record):
    """What :func:`shac` returns: the policy that did best where it was looked at.

    >>> early = fw.learn.Score(4096, -120.0, 8.0, 0, reward=-1.2, gradient=0.5, first=1.0, cpu_seconds=2.0)
    >>> late = fw.learn.Score(8192, -60.0, 5.0, 0, reward=-0.7, gradient=0.4, first=1.0, cpu_seconds=2.0)
    >>> fw.learn.ActorCritic(fw.learn.Policy.initial(4, 1), (early, late), best=1)
    <ActorCritic: score -60 +- 5 after 8192 of 8192 samples, 4 s of CPU time>
    """

    policy: Policy
    scores: tuple[Score, ...]
    best: int  # the look at the policy that is returned

    @property
    def score(self) -> float:
        """Mean return of held-out episodes. The best of several looks: expect somewhat less of other episodes."""
        return self.scores[self.best].score

    @property
    def samples(self) -> int:
        """Actions of all environments, all in all."""
        return self.scores[-1].samples

    @property
    def cpu_seconds(self) -> float:
        """Of all threads, interruptions apart."""
        return sum(each.cpu_seconds for each in self.scores)

    def __repr__(self) -> str:
        best = self.scores[self.best]
        return (
            f"<ActorCritic: score {best.score:.4g} +- {best.deviation:.2g} after {best.samples} of {self.samples} "
            f"samples, {self.cpu_seconds:.0f} s of CPU time>"
        )


@dataclass(frozen=True)
class Asked:
    """What there is to choose."""

    samples: int
    num_envs: int
    horizon: int
    orders: Orders
    kappa: float | None
    hidden: tuple[int, ...]
    critic: tuple[int, ...]
    discount: float
    trace: float
    rate: float
    critic_rate: float
    std: float
    every: int
    episodes: int
    seed: int

    def __post_init__(self) -> None:
        at_least(1, num_envs=self.num_envs, horizon=self.horizon, every=self.every, episodes=self.episodes)
        at_least(self.num_envs * self.horizon, samples=self.samples)
        at_least(0, seed=self.seed)
        if self.orders not in get_args(Orders):
            raise ValueError(f"orders: expected one of {', '.join(get_args(Orders))}, got {self.orders!r}")
        if self.orders == "both" and self.num_envs < 2:
            raise ValueError("num_envs: variances need at least two environments, got 1")
        for name in ("discount", "trace"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name}: expected a number from 0 to 1, got {getattr(self, name)!r}")
        for name in ("rate", "critic_rate", "std"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise ValueError(f"{name}: expected a positive number, got {getattr(self, name)!r}")

    @property
    def windows(self) -> int:
        """So many make up the samples."""
        return self.samples // (self.num_envs * self.horizon)


def shac(
    task: gym.Task,
    *,
    training: gym.Task | None = None,
    samples: int = 500_000,
    num_envs: int = 16,
    horizon: int = 32,
    orders: Orders = "first",
    kappa: float | None = None,
    hidden: Sequence[int] = (128, 64),
    critic: Sequence[int] = (64, 64),
    discount: float = 0.99,
    trace: float = 0.95,
    rate: float = 5e-3,
    critic_rate: float = 1e-3,
    std: float = 0.4,
    every: int = 20,
    episodes: int = 16,
    seed: int = 0,
    directory: str | os.PathLike[str] | None = None,
    progress: bool = False,
    on_interrupt: Literal["raise", "return"] = "raise",
) -> ActorCritic:
    """A policy learnt by gradients through the exact steps of a task: short-horizon actor-critic.

    training: where it learns, by default the task itself. With rigid contacts, gradients say little about what is not
    touched yet: :func:`compliant` makes a task with springs in its contacts. Scores are always those of ``task``.
    kappa: [J] learn through relaxed steps instead, see :func:`featherweight.relaxed_step`.
    samples: actions of all environments together; horizon: actions of a window.
    orders: "first" follows derivatives; "both" averages them with what the score function says (zeroth order), weighted
    by the inverse of their variances over the environments, for every action of the window.
    hidden, critic: layers. discount: of rewards, for each action; trace: lambda of returns that the critic learns.
    rate, critic_rate: of Adam; that of the actor falls linearly. std: of actions at first, before tanh.
    every: windows between two looks at the policy, in ``episodes`` that are held out.

    directory: what was learnt is kept there, at every look and when Ctrl-C is pressed, and a call that was cut short is
    resumed by repeating it, with the same bits at the end. on_interrupt: whether Ctrl-C raises KeyboardInterrupt, or
    returns the best until then. PyTorch runs on one thread. Needs the extras ``featherweight[gym,torch]``.

    >>> from importlib.util import find_spec
    >>> if find_spec("torch") is not None:
    ...     result = fw.learn.shac(fw.gym.tasks.cart_pole(), samples=4096, num_envs=16, every=4)
    ...     assert result.samples == 4096 and len(result.scores) == 2
    """
    from ..gym import Task

    for name, given in (("task", task), ("training", training)):
        if not (isinstance(given, Task) or (given is None and name == "training")):
            raise ValueError(f"{name}: expected a fw.gym.Task, got {given!r}")
    if task.episode_length is None:
        raise ValueError("task: episodes that never end cannot be held out, give it an episode_length")
    asked = Asked(
        samples, num_envs, horizon, orders, kappa, tuple(hidden), tuple(critic), float(discount), float(trace),
        float(rate), float(critic_rate), float(std), every, episodes, seed,
    )  # fmt: skip
    from ..torch import Environment

    envs = Environment(training or task, num_envs, kappa=kappa)
    from .torch_shac import Learner

    learner = Learner(task, envs, asked)
    checkpoint = Checkpoint(directory, learner.plan())
    kept = checkpoint.load()
    if kept is not None:
        learner.restore(kept)
    with progress_bar(asked.windows * num_envs * horizon, "learning", enabled=progress) as advance:
        advance(learner.windows * num_envs * horizon)
        try:
            while learner.windows < asked.windows:
                learner.iterate()
                kept = learner.arrays()
                if learner.has_looked:
                    checkpoint.save(kept)
                advance(num_envs * horizon)
        except KeyboardInterrupt:
            if kept is not None:
                checkpoint.save(kept)
            if on_interrupt == "raise" or not learner.scores:
                raise
    return learner.result()


def compliant(task: gym.Task, stiffness: float = 2e4, damping: float | None = None) -> gym.Task:
    """The same task with springs in its contacts, to learn in: rigid ones get this stiffness [N/m].

    damping: [N s/m] beside the springs, by default a quarter of critical for four of them under all that moves.

    >>> soft = fw.learn.compliant(fw.gym.tasks.hopper(), stiffness=1e4)
    >>> soft.simulator.scene.laws[0].stiffness
    10000.0
    """
    from ..gym import Task
    from ..simulation.simulator import Simulator

    if not isinstance(task, Task):
        raise ValueError(f"task: expected a fw.gym.Task, got {task!r}")
    for name, value in (("stiffness", stiffness), ("damping", damping)):
        if value is not None and not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"{name}: expected a positive number, got {value!r}")
    sim = task.simulator
    if damping is None:
        damping = _DAMPED * 2.0 * float(np.sqrt(stiffness * 0.25 * sim.model.mass))
    springs = {"stiffness": float(stiffness), "damping": float(damping)}
    laws = tuple(law if np.isfinite(law.stiffness) else law.changed(springs) for law in sim.scene.laws)
    scene = replace(sim.scene, laws=laws)
    return replace(
        task,
        simulator=Simulator(scene, sim.dt, solver=sim.solver, integrator=sim.integrator, num_threads=sim.num_threads),
    )
