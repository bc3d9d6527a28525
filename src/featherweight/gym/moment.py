"""What a batch of environments was at one moment, and how the values of terms would change if it had been another.

Terms are functions of NumPy arrays, whatever a user made of them, so that they are differentiated by central
differences: along all that they read in one call, as so many more environments. Those that only pick columns are
linear, and known exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..derivatives.coordinates import coordinates_of
from ..simulation.simulator import Simulator
from .columns import Columns
from .randomness import Randomness
from .term import Term
from .world import Buffers, Names, World

#: What terms are differentiated by. Contacts, joint forces and accelerations count as they were, and so does time.
READ = ("q", "v", "action", "previous_action", "control")
#: [rad], [m] and so on. The error is its square times a third derivative, plus rounding over it: 1e-10 and 1e-11.
STEP = 1e-5


@dataclass(frozen=True)
class Moment:
    """Copies of all that terms see of a batch."""

    simulator: Simulator
    names: Names
    period: float
    arrays: dict[str, NDArray[Any]]  # (batch, ...) each, as worlds and buffers call them

    @classmethod
    def of(cls, buffers: Buffers) -> Moment:
        """As it is now."""
        arrays: dict[str, NDArray[Any]] = {name: x.copy() for name, x in buffers.by_source().items()}
        arrays |= {"steps": buffers.steps.copy(), "streams": buffers.random.streams.copy()}
        arrays["pushed"] = buffers.live.pushed()
        return cls(buffers.live.simulator, buffers.names, buffers.period, arrays)

    def ways(self, name: str) -> int:
        """In how many ways something of what may be READ can change: q along its tangent space."""
        return self.simulator.model.nv if name == "q" else int(self.arrays[name].shape[1])

    def changed(self, changes: Mapping[str, Array]) -> _Imagined:
        """Some copies of the batch, one after the other, with changes (copies, batch, ways) of what may be READ."""
        copies = next((len(x) for x in changes.values()), 1)
        arrays = {name: np.tile(x, (copies, *[1] * (x.ndim - 1))) for name, x in self.arrays.items()}
        for name, change in changes.items():
            flat = change.reshape(len(arrays[name]), -1)
            value = self.simulator.model.integrate(arrays[name], flat) if name == "q" else arrays[name] + flat
            arrays[name] = np.asarray(value)
        random = Randomness(0)
        random.streams = arrays["streams"]
        commands = {name.removeprefix("command "): x for name, x in arrays.items() if name.startswith("command ")}
        live: Any = _Still(self.simulator, arrays)
        steps, control, action, before = (arrays[n] for n in ("steps", "control", "action", "previous_action"))
        return _Imagined(Buffers(live, self.names, random, steps, control, action, before, commands, self.period))


class _Still:
    """What worlds ask of live environments, for some that are only thought of."""

    def __init__(self, simulator: Simulator, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.simulator = simulator
        self.q, self.v = arrays["q"], arrays["v"]
        self.joint_forces, self.acceleration = arrays["joint_forces"], arrays["acceleration"]
        self._pushed = arrays["pushed"]

    def pushed(self) -> NDArray[np.bool_]:
        return self._pushed


class _Imagined(World):
    """A world that remembers what was read of it."""

    def __init__(self, buffers: Buffers) -> None:
        self.read: set[str] = set()
        self._count = len(buffers.live.q)
        super().__init__(buffers)

    def __len__(self) -> int:
        return self._count  # which is not to read q

    def __getattribute__(self, name: str) -> Any:
        if name in READ:
            self.read.add(name)
        return super().__getattribute__(name)


class Sensitivities:
    """Products of cotangents with the derivatives of some terms.

    terms: each with the columns of the cotangents that are its own; moment: one of some environments that they are for.
    """

    def __init__(self, terms: Sequence[tuple[Term, slice]], moment: Moment) -> None:
        self._picked: list[tuple[Columns, slice]] = []
        self._computed: dict[tuple[str, ...], list[tuple[Term, slice]]] = {}
        for term, columns in terms:
            world = moment.changed({})
            picked = term.picked(world)
            if isinstance(picked, Columns):
                self._picked.append((picked, columns))
            elif read := tuple(name for name in READ if name in world.read):
                self._computed.setdefault(read, []).append((replace(term, noise=0.0), columns))

    def pull(self, moment: Moment, cotangents: Array, bound: float = np.inf) -> dict[str, Array]:
        """From (batch, columns) of the values to (batch, ways) of what may be READ.

        bound: values beyond it are cut there, and do not change.
        """
        result = {name: np.zeros((len(cotangents), moment.ways(name))) for name in READ}
        at_q = np.zeros(moment.arrays["q"].shape)
        for picked, columns in self._picked:
            source = moment.arrays[picked.source]
            indices = np.arange(source.shape[1]) if picked.columns is None else picked.columns
            offsets = 0.0 if picked.offsets is None else picked.offsets
            value = picked.scale * (source[:, indices] - offsets)
            target = at_q if picked.source == "q" else result.get(picked.source)
            if target is not None:
                change = picked.scale * cotangents[:, columns] * (abs(value) < bound)
                np.add.at(target.T, indices, change.T)
        result["q"] += coordinates_of(moment.simulator.model).cotangent(moment.arrays["q"], at_q)
        for read, terms in self._computed.items():
            self._pull_computed(read, terms, moment, cotangents, bound, result)
        return result

    def _pull_computed(
        self,
        read: tuple[str, ...],
        terms: list[tuple[Term, slice]],
        moment: Moment,
        cotangents: Array,
        bound: float,
        result: dict[str, Array],
    ) -> None:
        n, ways = len(cotangents), [moment.ways(name) for name in read]
        ahead = STEP * np.eye(sum(ways))
        every = np.repeat(np.concatenate([ahead, -ahead])[:, None], n, axis=1)
        parts = np.split(every, np.cumsum(ways)[:-1], axis=2)
        world = moment.changed(dict(zip(read, parts, strict=True)))
        total = np.zeros(len(every) * n)
        for term, columns in terms:
            value = np.clip(np.reshape(term(world), (len(every), n, -1)), -bound, bound)
            total += (value * cotangents[:, columns]).sum(axis=2).ravel()
        there, back = total.reshape(2, sum(ways), n)
        slopes = np.split((there - back).T / (2.0 * STEP), np.cumsum(ways)[:-1], axis=1)
        for name, slope in zip(read, slopes, strict=True):
            result[name] += slope
