"""Tries inputs that nobody would write, by the hundred thousand: no crash, no hang, no silent nonsense.

    python -m tools.fuzz                          some of everything
    python -m tools.fuzz scenes --inputs 100000   many of one kind
    python -m tools.fuzz states --seed 255 --inputs 1

Each fuzzer (tests/helpers/fuzzing.py) works in a process of its own, which leaves the seed it is at in shared memory.
Where the process dies or takes too long, that is the culprit, and the next process goes on behind it.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import multiprocessing.process
import sys
import time
import warnings
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

LONGEST = 10.0  # [s] for one input, before its process is killed
SLOW = 2.0  # [s] of computing for one input, which is reported


def work(name: str, first: int, last: int, at: Synchronized[int], found: Any) -> None:
    from helpers.fuzzing import FUZZERS

    warnings.simplefilter("error", RuntimeWarning)
    logging.disable()  # trimesh tells what it tries
    for seed in range(first, last):
        at.value = seed
        start = time.process_time()
        try:
            FUZZERS[name](np.random.default_rng(seed))
        except Exception as error:
            found.put(f"{name}, seed {seed}: {error!r}"[:1000])
        if time.process_time() - start > SLOW:
            found.put(f"{name}, seed {seed}: took {time.process_time() - start:.1f} s")
    at.value = last


def watch(worker: multiprocessing.process.BaseProcess, at: Synchronized[int]) -> str | None:
    """What became of a worker that did not reach its end."""
    seed, since = at.value, time.monotonic()
    while worker.is_alive():
        worker.join(0.2)
        if at.value != seed:
            seed, since = at.value, time.monotonic()
        if time.monotonic() - since > LONGEST:
            worker.kill()
            worker.join()
            return f"takes more than {LONGEST:g} s"
    return None if worker.exitcode == 0 else f"ended the process with {worker.exitcode}"


def fuzz(name: str, first: int, n: int) -> int:
    """The number of inputs that something is wrong with."""
    context = multiprocessing.get_context("spawn")
    found = context.Queue()
    at = context.Value("q", first)
    n_found = 0
    while at.value < first + n:
        worker = context.Process(target=work, args=(name, at.value, first + n, at, found))
        worker.start()
        trouble = watch(worker, at)
        if trouble:
            print(f"{name}, seed {at.value}: {trouble}", flush=True)
            n_found += 1
            at.value += 1
        while not found.empty():
            print(found.get(), flush=True)
            n_found += 1
    return n_found


def main() -> int:
    from helpers.fuzzing import FUZZERS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FUZZERS)}; all by default")
    parser.add_argument("--inputs", type=int, default=20_000, help="of each")
    parser.add_argument("--seed", type=int, default=0, help="of the first")
    options = parser.parse_args()
    n_found = 0
    for name in options.names or FUZZERS:
        start = time.monotonic()
        n = fuzz(name, options.seed, options.inputs)
        print(f"{name}: {options.inputs} inputs, {n} with trouble, {time.monotonic() - start:.0f} s", flush=True)
        n_found += n
    return 1 if n_found else 0


if __name__ == "__main__":
    sys.exit(main())
