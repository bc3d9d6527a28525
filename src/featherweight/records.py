"""Records compare by value, bit for bit, and pickle: the base class of all of them, and what other classes share.

A pickle states the format it was written in. One of another format is refused by name, since numbers that land in the
wrong field would go unnoticed.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from typing_extensions import Self

#: The format of all pickles of the package; to be raised whenever the contents of one of them change.
PICKLE_FORMAT = 4

#: The format, values by name, and the names of those whose arrays are read-only, which pickles do not tell otherwise.
Packed: TypeAlias = tuple[int, dict[str, Any], list[str]]


class Record:
    """Base class of dataclasses that compare by value and pickle with their fields and nothing else.

    Arrays that were read-only arrive read-only. The hash leaves arrays out: some of them may still be written to.
    """

    @classmethod
    def _of(cls, **values: Any) -> Self:
        """The record of these fields, all of them, at a third of the cost of its constructor."""
        record = object.__new__(cls)
        record.__dict__.update(values)
        return record

    def __eq__(self, other: object) -> bool:
        return same_fields(self, other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash_of(self)

    def __getstate__(self) -> Packed:
        return packed({name: getattr(self, name) for name in _names(self)})

    def __setstate__(self, state: object) -> None:
        self.__dict__.update(unpacked(type(self), state, _names(self)))


def same_values(a: Any, b: Any) -> bool:
    """Whether two values are the same bit for bit: numbers, arrays, records, and containers of them."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and same_bits(a, b)
    if isinstance(a, float) and isinstance(b, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if is_dataclass(a):
        return type(a) is type(b) and same_fields(a, b)
    if isinstance(a, tuple | list):
        alike = type(a) is type(b) and len(a) == len(b)
        return alike and all(same_values(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(same_values(a[key], b[key]) for key in a)
    return bool(a == b)


def same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays have the same type, shape and bits: a NaN equals itself."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def same_fields(a: object, b: object) -> bool:
    """Whether two dataclasses of one type have the same values in all of their fields."""
    return all(same_values(getattr(a, name), getattr(b, name)) for name in _names(a))


def hash_of(value: object) -> int:
    """A hash of all but the arrays in a value, the same for values that are the same."""
    if isinstance(value, np.ndarray):
        return hash((value.dtype.str, value.shape))
    if isinstance(value, float):
        return 0 if value != value else hash(value)  # Python gives every NaN a hash of its own
    if is_dataclass(value) and not isinstance(value, type):
        return hash((type(value), *(hash_of(getattr(value, name)) for name in _names(value))))
    if isinstance(value, tuple | list):
        return hash((len(value), *(hash_of(item) for item in value)))
    if isinstance(value, Mapping):
        return hash(frozenset((key, hash_of(item)) for key, item in value.items()))
    if isinstance(value, slice):
        return hash((value.start, value.stop, value.step))
    return hash(value)


def packed(values: dict[str, Any]) -> Packed:
    """What is pickled of an object that consists of ``values``."""
    return PICKLE_FORMAT, values, [name for name, value in values.items() if _is_read_only(value)]


def unpacked(kind: type, state: object, names: Collection[str]) -> dict[str, Any]:
    """The values in what :func:`packed` returned, which must be of these ``names``; anything else is refused.

    Arrays that were read-only are so again.
    """
    what = f"pickle of {kind.__name__}: expected"
    if not (isinstance(state, tuple) and state and isinstance(state[0], int)):
        got = f"{type(state).__name__} that states none"
        raise pickle.UnpicklingError(f"{what} format {PICKLE_FORMAT} of featherweight, got a {got}")
    if state[0] != PICKLE_FORMAT:
        raise pickle.UnpicklingError(f"{what} format {PICKLE_FORMAT} of featherweight, got format {state[0]}")
    if len(state) != 3 or not isinstance(state[1], dict) or state[1].keys() != set(names):
        got = ", ".join(map(str, state[1])) if len(state) == 3 and isinstance(state[1], dict) else repr(state[1:])
        raise pickle.UnpicklingError(f"{what} {', '.join(names)}, got {got or 'nothing'}")
    values: dict[str, Any] = state[1]
    for name in state[2]:
        for array in _arrays_in(values[name]):
            array.setflags(write=False)
    return values


def _names(record: Any) -> list[str]:
    return [field.name for field in fields(record)]


def _arrays_in(value: object) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays that a field holds directly; records look after their own."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _arrays_in(item)
    elif isinstance(value, Mapping):
        yield from _arrays_in(list(value.values()))


def _is_read_only(value: object) -> bool:
    arrays = list(_arrays_in(value))
    return bool(arrays) and not any(array.flags.writeable for array in arrays)
