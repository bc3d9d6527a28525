"""Tasks: declarations from which environments are created."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..records import Record
from ..simulation.simulator import Simulator
from .actions import Action
from .term import Term, as_term

#: A term, or a plain function of a world.
TermLike = Term | Callable[..., Any]

_RANDOM = ("friction", "gains", "gravity", "masses")


@dataclass(frozen=True)
class Repeated(Record):
    """A term that is evaluated at the start of an episode and then periodically.

    >>> fw.gym.Repeated(fw.gym.terms.kick("robot", linear=0.5), every=5.0).every
    5.0
    """

    term: TermLike
    every: float  # [s]


@dataclass(frozen=True)
class Task(Record):
    """A simulator and what is to be learnt in it, assembled from named terms.

    A term is a function of a :class:`World`, which has one row per environment; ``fw.gym.terms`` contains many, and any
    function of a world can be used. The order of the dictionaries is kept.

    - actions: ``fw.gym.Targets``, ``Increments`` or ``Grip``; together they form the action space, from -1 to 1.
    - observations: terms (n,) or (n, k), concatenated as float32.
    - rewards: terms (n,), multiplied by their weights (``0.5 * term``) and summed in every step.
    - terminations: boolean terms (n,) that end an episode.
    - resets: terms that change ``world.q`` and ``world.v`` of environments that start, in order.
    - events: ``Repeated`` terms that do so during an episode, for example pushes.
    - commands: terms (n, k), or ``Repeated`` ones that are drawn again; read with ``world.command(name)``.
    - randomisation: arguments of ``State.randomised``, by name: friction (n,), gains (n,) or (n, nu), gravity (n, 3),
      masses (n, n_links); drawn at the start of every episode.

    decimation: simulation steps between two actions. episode_length: time after which an episode is truncated [s];
    None: never.

    >>> scene = fw.Scene()
    >>> robot = scene.add(fw.models.pendulum(), name="robot")
    >>> motors = scene.motor(["robot/hinge"], gain=20.0)
    >>> swing = fw.gym.Task(
    ...     fw.Simulator(scene, dt=0.01),
    ...     actions={"torque": fw.gym.Targets("robot/hinge")},
    ...     observations={"angle": fw.gym.terms.joint_positions("robot")},
    ...     rewards={"still": -1.0 * fw.gym.terms.drift(fw.gym.terms.joint_velocities("robot"))},
    ... )
    >>> swing.period
    0.04
    """

    simulator: Simulator
    actions: Mapping[str, Action]
    observations: Mapping[str, TermLike]
    rewards: Mapping[str, TermLike]
    terminations: Mapping[str, TermLike] = field(default_factory=dict)
    resets: Mapping[str, TermLike] = field(default_factory=dict)
    events: Mapping[str, Repeated] = field(default_factory=dict)
    commands: Mapping[str, TermLike | Repeated] = field(default_factory=dict)
    randomisation: Mapping[str, TermLike] = field(default_factory=dict)
    decimation: int = 4
    episode_length: float | None = 20.0

    def __post_init__(self) -> None:
        if not isinstance(self.simulator, Simulator):
            raise ValueError(f"task: simulator must be a Simulator, got {self.simulator!r}")
        if isinstance(self.decimation, bool) or not isinstance(self.decimation, int) or self.decimation < 1:
            raise ValueError(f"task: decimation must be a positive integer, got {self.decimation!r}")
        if self.episode_length is not None and not self.episode_length > 0.0:
            raise ValueError(f"task: episode_length must be positive or None, got {self.episode_length!r}")
        for group in fields(self):
            terms = getattr(self, group.name)
            if group.type.startswith("Mapping") and not isinstance(terms, Mapping):
                raise ValueError(f"task: {group.name} must be a dictionary from names to terms, got {terms!r}")
        for name in ("actions", "observations", "rewards"):
            if not getattr(self, name):
                raise ValueError(f"task: {name} must not be empty")
        for name in self.randomisation:
            if name not in _RANDOM:
                raise ValueError(f"task: randomisation of {name!r} is not known; there are {', '.join(_RANDOM)}")
        for name, event in self.events.items():
            if not isinstance(event, Repeated):
                raise ValueError(f"task: event {name!r} must be Repeated(term, every=seconds), got {event!r}")

    @property
    def period(self) -> float:
        """Time between two actions [s]."""
        return self.decimation * self.simulator.dt

    def terms(self, group: str) -> dict[str, Term]:
        """The terms of a group, by name; of those that are repeated, what is."""
        found = getattr(self, group).items()
        return {name: as_term(f"{group} {name!r}", each.term if isinstance(each, Repeated) else each)
                for name, each in found}  # fmt: skip

    def repeats(self, group: str) -> dict[str, int]:
        """After how many actions repeated terms of a group are evaluated again, by name."""
        repeated = {name: each for name, each in getattr(self, group).items() if isinstance(each, Repeated)}
        for name, each in repeated.items():
            if not each.every > 0.0:
                raise ValueError(f"{group} {name!r}: every must be a positive time, got {each.every!r}")
        return {name: max(1, round(each.every / self.period)) for name, each in repeated.items()}
