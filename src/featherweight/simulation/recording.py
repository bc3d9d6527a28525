"""What a rollout records. The core writes it down as it steps; forces of contacts are read when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..core_tables import ContactTable
from ..records import Packed, packed, same_values, unpacked
from .contacts import Contacts

if TYPE_CHECKING:
    from .simulator import Simulator
    from .state import State


class RecordedContacts(Sequence[Contacts]):
    """The contacts of every row of a trajectory, each a :class:`Contacts`. Can be pickled; compares by value.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> ball = scene.add(fw.sphere(0.1, mass=1.0), name="ball", pose=(0, 0, 0.1))
    >>> sim = fw.Simulator(scene)
    >>> contacts = sim.rollout(sim.state(), n_steps=3, record_contacts=True).contacts
    >>> [len(each) for each in contacts], contacts.normal_force.round(2)
    ([1, 1, 1], array([[9.81],
           [9.81],
           [9.81]]))
    """

    def __init__(self, simulator: Simulator, records: _core.StepRecords, start: _core.Environments, n: int) -> None:
        """records: of a rollout from ``start``, of which n rows were recorded."""
        self._batch = start.batch
        self._names = tuple(shape.name for shape in simulator.scene.shapes)
        self._dt = simulator.dt
        self._n = n
        self._source = records, start, simulator.num_threads

    @cached_property
    def _table(self) -> ContactTable:
        records, start, _ = self._source
        return ContactTable(*records.contacts(start, self._n))

    @cached_property
    def _impulse(self) -> Array:
        records, start, num_threads = self._source
        return records.read_impulses(start, self._n, num_threads)[0]

    @cached_property
    def _columns(self) -> dict[str, NDArray[Any]]:
        """Of the contacts of all rows, (n, ...)."""
        integers = {name: self._table.integers(name) for name in ("shape_a", "shape_b")}
        numbers = {name: self._table.numbers(name) for name in ("position", "frame", "gap")}
        environment = np.repeat(np.tile(np.arange(self._batch), self._n), self._table.counts)
        return {"environment": environment, **integers, **numbers, "impulse": self._impulse}

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """(rows + 1,) of the rows, in all contacts."""
        return np.concatenate([[0], np.cumsum(self.counts.sum(axis=1))])

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(rows, batch) how many there are."""
        return self._table.counts.reshape(self._n, self._batch)

    @cached_property
    def normal_force(self) -> Array:
        """(rows, batch) [N]: of all contacts together."""
        of = np.repeat(np.arange(self._n * self._batch), self._table.counts)
        sums = np.bincount(of, weights=self._impulse[:, 2], minlength=self._n * self._batch)
        return (sums / self._dt).reshape(self._n, self._batch)

    @overload
    def __getitem__(self, row: int) -> Contacts: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[Contacts, ...]: ...
    def __getitem__(self, row: int | slice) -> Contacts | tuple[Contacts, ...]:
        if isinstance(row, slice):
            return tuple(self[k] for k in range(*row.indices(self._n)))
        k = range(self._n)[row]
        part = slice(int(self._starts[k]), int(self._starts[k + 1]))
        return Contacts(names=self._names, dt=self._dt, **{name: x[part] for name, x in self._columns.items()})

    def __len__(self) -> int:
        return self._n

    def __eq__(self, other: object) -> bool:
        return same_values(self._values(), other._values()) if isinstance(other, RecordedContacts) else NotImplemented

    def __hash__(self) -> int:
        return hash((self._n, self._batch, self._dt, self._names))

    def _values(self) -> dict[str, Any]:
        return {
            "batch": self._batch, "names": self._names, "dt": self._dt, "n": self._n,
            "table": self._table.arrays(), "impulse": self._impulse,
        }  # fmt: skip

    def __getstate__(self) -> Packed:
        return packed(self._values())

    def __setstate__(self, state: object) -> None:
        values = unpacked(type(self), state, ("batch", "names", "dt", "n", "table", "impulse"))
        table = ContactTable.from_arrays(values.pop("table"))
        self.__dict__.update({f"_{name}": value for name, value in values.items()}, _table=table)

    def __repr__(self) -> str:
        return f"<RecordedContacts: {int(self.counts.sum())} in {self._n} rows>"


class Recording:
    """Where a rollout is recorded: a row for each environment and every ``every`` steps, and for the last step."""

    def __init__(self, simulator: Simulator, state: State, steps: int, every: int, *, contacts: bool) -> None:
        self._simulator, self._start = simulator, state._core
        self._steps, self._every, self._with_contacts = steps, every, contacts
        batch, n_rows = state.batch_size, -(-steps // every)
        self._arrays = {
            "q": np.empty((batch, n_rows, simulator.model.nq)),
            "v": np.empty((batch, n_rows, simulator.model.nv)),
            "residuals": np.empty((batch, n_rows)),
            "penetrations": np.empty((batch, n_rows)),
        }
        q, v, residuals, penetrations = self._arrays.values()
        self.core = _core.StepRecords(
            simulator._core, batch, steps, every, q, v, residuals, penetrations, contacts=contacts
        )

    def rows(self, done: int) -> int:
        """How many were recorded by the first ``done`` steps."""
        return done // self._every if done < self._steps else -(-done // self._every)

    def time(self, start: float, done: int) -> Array:
        """(rows,) [s]."""
        ends = self._every * np.arange(1, self.rows(done) + 1)
        if self._every > 1:
            ends = np.minimum(ends, self._steps)
        return np.asarray(start + self._simulator.dt * ends)

    def arrays(self, done: int) -> dict[str, Array]:
        """By name, (batch, rows, ...)."""
        return {name: values[:, : self.rows(done)] for name, values in self._arrays.items()}

    def contacts(self, done: int) -> Sequence[Contacts]:
        if not self._with_contacts:
            return ()
        return RecordedContacts(self._simulator, self.core, self._start, self.rows(done))
