"""Items of work: a function of each, here or on workers, with results that are kept as they come."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Literal

import numpy as np

from ..progress import progress_bar
from .journal import Journal

#: An item by its place in the list, and what became of it: its result, or the exception that it ended with.
Outcome = tuple[int, Any, BaseException | None]
#: A call without arguments for each item, by its place.
Calls = Sequence[tuple[int, Callable[[], Any]]]


class ItemError(RuntimeError):
    """The function failed for an item; its exception is the cause. ``index``: the place of the item in the list.

    >>> try:
    ...     fw.cluster.map(lambda x: 1 / x, [1, 0])
    ... except fw.cluster.ItemError as error:
    ...     print(error, error.index)
    item 1: ZeroDivisionError: division by zero 1
    """

    def __init__(self, index: int, problem: str) -> None:
        super().__init__(f"item {index}: {problem}")
        self.index = index
        self.problem = problem

    def __reduce__(self) -> tuple[type[ItemError], tuple[int, str]]:
        return type(self), (self.index, self.problem)


def map(
    function: Callable[..., Any],
    items: Sequence[Any],
    *,
    seed: int | None = None,
    workers: int | None = None,
    directory: str | os.PathLike[str] | None = None,
    progress: bool = False,
    on_error: Literal["raise", "return"] = "raise",
    on_interrupt: Literal["raise", "return"] = "raise",
) -> list[Any]:
    """``[function(item) for item in items]``, on workers of a Ray cluster.

    seed: call ``function(item, rng)`` instead, with a random generator that depends on the seed and the item's place in
    the list, and on nothing else.
    workers: how many processes to use; Ray is started on this machine if it is not connected to a cluster. None: one
    for each machine of the cluster that Ray is connected to, or, without one, this process.
    directory: results are kept there as they come, and those found there are not computed again: a call that was cut
    short is resumed by repeating it. They are pickles, so use only directories you trust.
    on_error: whether the first item that fails raises an :class:`ItemError`, after those that run have ended, or is in
    the list as one. A worker that is lost is replaced; an item that ended three workers counts as failed.
    on_interrupt: whether Ctrl-C raises KeyboardInterrupt, or ends the call and leaves None in place of what is missing.

    >>> fw.cluster.map(lambda x: x * x, [1, 2, 3])
    [1, 4, 9]
    """
    _check("on_error", on_error)
    _check("on_interrupt", on_interrupt)
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise ValueError(f"seed must be a non-negative integer or None, got {seed!r}")
    journal = Journal(directory, function, len(items), seed)
    results: list[Any] = [None] * len(items)
    known = {index: journal.result(index) for index in journal.found()}
    for index, value in known.items():
        results[index] = value
    calls = [(index, _call(function, item, index, seed)) for index, item in enumerate(items) if index not in known]
    failed: ItemError | None = None
    with progress_bar(len(items), "items", enabled=progress) as advance:
        advance(len(known))
        try:
            with closing(outcomes(calls, workers)) as coming:
                for index, value, error in coming:
                    if error is None:
                        journal.keep(index, value)
                        results[index] = value
                    elif on_error == "return":
                        results[index] = _item_error(index, error)
                    else:
                        failed = _item_error(index, error)
                        break
                    advance(1)
        except KeyboardInterrupt:
            if on_interrupt == "raise":
                raise
    if failed is not None:
        raise failed
    return results


def outcomes(calls: Calls, workers: int | None) -> Generator[Outcome, None, None]:
    """What becomes of each item, as it comes."""
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 0):
        raise ValueError(f"workers must be a non-negative integer or None, got {workers!r}")
    if workers == 0 or (workers is None and not _is_connected()):
        return _here(calls)
    from .workers import on_workers

    return on_workers(calls, workers)


def _here(calls: Calls) -> Generator[Outcome, None, None]:
    for index, call in calls:
        try:
            value = call()
        except Exception as error:
            yield index, None, error
        else:
            yield index, value, None


def _is_connected() -> bool:
    """Whether this program has connected to Ray; one that did has imported it."""
    import sys

    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())


def _call(function: Callable[..., Any], item: Any, index: int, seed: int | None) -> Callable[[], Any]:
    return partial(function, item) if seed is None else partial(_with_generator, function, item, index, seed)


def _with_generator(function: Callable[..., Any], item: Any, index: int, seed: int) -> Any:
    return function(item, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,))))


def _item_error(index: int, error: BaseException) -> ItemError:
    failed = ItemError(index, f"{type(error).__name__}: {error}")
    failed.__cause__ = error
    return failed


def _check(name: str, value: str) -> None:
    if value not in ("raise", "return"):
        raise ValueError(f'{name} must be "raise" or "return", got {value!r}')
