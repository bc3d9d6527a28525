"""Items on processes of a Ray cluster: one at a time on each of them, and another process where one is lost."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

from .items import Calls, Outcome

#: Workers that one item may end before it counts as failed.
_MOST_LOST = 3
#: [s] Between looks for Ctrl-C.
_PATIENCE = 0.1


class WorkerLostError(RuntimeError):
    """A worker process ended while it worked on an item."""


class _Worker:
    """What runs on a worker, as a Ray actor: calls, one after the other."""

    def __init__(self, threads: int) -> None:
        # read when the core is first asked for threads, later than this
        os.environ["FEATHERWEIGHT_THREADS"] = str(threads)

    def run(self, call: bytes) -> tuple[Any, BaseException | None]:
        try:
            return pickle.loads(call)(), None
        except Exception as error:
            return None, _portable(error)


def _portable(error: Exception) -> Exception:
    """The exception itself if it can travel, else one that says the same."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


@dataclass
class _Slot:
    """A place for one worker: how to start one there, and the one that is there."""

    start: Callable[[], Any]
    actor: Any


def on_workers(calls: Calls, workers: int | None) -> Generator[Outcome, None, None]:
    """The outcome of each item, in the order in which they end. Workers are stopped at the end, however it comes."""
    ray = _ray()
    if not ray.is_initialized():
        address = os.environ.get("RAY_ADDRESS", "local")
        ray.init(address=address, include_dashboard=False if address == "local" else None, log_to_driver=False)
    waiting = [(index, _packed(index, call)) for index, call in reversed(calls)]
    slots = [_Slot(start, start()) for start in _starts(ray, workers)[: len(calls)]]
    running: dict[Any, tuple[int, bytes, _Slot]] = {}
    lost: dict[int, int] = {}

    def give(slot: _Slot) -> None:
        if waiting:
            index, call = waiting.pop()
            running[slot.actor.run.remote(call)] = index, call, slot

    try:
        for slot in slots:
            give(slot)
        while running:
            ended, _ = ray.wait(list(running), num_returns=1, timeout=_PATIENCE)
            for reference in ended:
                index, call, slot = running.pop(reference)
                try:
                    value, error = ray.get(reference)
                except (ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError) as reason:
                    slot.actor = slot.start()
                    lost[index] = lost.get(index, 0) + 1
                    if lost[index] < _MOST_LOST:
                        waiting.append((index, call))
                        give(slot)
                        continue
                    value, error = None, WorkerLostError(f"its worker ended {_MOST_LOST} times")
                    error.__cause__ = reason
                give(slot)
                yield index, value, error
    finally:
        for slot in slots:
            ray.kill(slot.actor)


def _starts(ray: Any, workers: int | None) -> list[Callable[[], Any]]:
    """How to start each worker: as many as were asked for, or one with all cores on each machine."""
    machines = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
    if not machines:
        raise RuntimeError("cluster: no machine of the Ray cluster has a CPU to offer")
    actor = ray.remote(max_restarts=0)(_Worker)
    if workers is not None:
        cores = int(sum(node["Resources"]["CPU"] for node in machines))
        threads = max(1, cores // workers)
        return [partial(_start, actor, threads, "SPREAD") for _ in range(workers)]
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # soft: if the machine is lost, its worker starts on another one
    return [
        partial(_start, actor, int(node["Resources"]["CPU"]), NodeAffinitySchedulingStrategy(node["NodeID"], soft=True))
        for node in machines
    ]


def _start(actor: Any, threads: int, strategy: Any) -> Any:
    # no share of a CPU is reserved: more workers than cores were asked for, or other tasks run beside them
    return actor.options(num_cpus=0, scheduling_strategy=strategy).remote(threads)


def _packed(index: int, call: Callable[[], Any]) -> bytes:
    try:
        packed: bytes = _ray().cloudpickle.dumps(call)
    except Exception as error:
        raise ValueError(f"item {index}: cannot be sent to a worker: {error}") from error
    return packed


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ImportError('workers need Ray: pip install "featherweight[cluster]"') from None
    return ray
