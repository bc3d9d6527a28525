"""Times another commit of featherweight beside this one, in turns: ``python -m benchmarks.against COMMIT``.

The commit is built from a copy of its sources below ``build/against``. Both run the work of this checkout
(:mod:`benchmarks.workload`), each in a process of its own on the same core, one after the other. A figure is the
smallest CPU time of all turns. On a quiet machine ratios repeat to some percent; beside other work, to ten or twenty.
"""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from benchmarks.workload import ALL, names

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "against"


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(prog="python -m benchmarks.against", description=__doc__.splitlines()[0])
    parser.add_argument("commit", help="any name git knows: a hash, a tag, HEAD~3")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each (default: %(default)s)")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="work whose name contains one of these")
    parser.add_argument("--bound", type=float, help="fail where this checkout takes more than so many times as long")
    options = parser.parse_args(argv)
    wanted = [name for name in names() if not options.only or any(word in name for word in options.only)]
    if not wanted:
        parser.error(f"--only {' '.join(options.only)}: none of {', '.join(ALL)}")
    try:
        site = install(options.commit)
        with ExitStack() as stack:
            then, now = (stack.enter_context(Worker(path)) for path in (site, None))
            rows = list(compare(then, now, wanted, options.rounds))
    except (RuntimeError, OSError) as error:
        print(f"benchmarks.against: {error}", file=sys.stderr)
        return 1
    slow = [row for row in rows if options.bound is not None and row.ratio > options.bound]
    for row in slow:
        print(f"slower than allowed: {row.name}, {row.ratio:.3f} > {options.bound}", file=sys.stderr)
    return 1 if slow else 0


@dataclass(frozen=True)
class Row:
    name: str
    then: float  # CPU time per sample or step of one environment [us]
    now: float

    @property
    def ratio(self) -> float:
        """Time of this checkout over that of the other commit."""
        return self.now / self.then


def compare(then: Worker, now: Worker, wanted: Sequence[str], rounds: int) -> Iterator[Row]:
    """Row by row, printed as they come."""
    print(f"{'':44} {'then [us]':>10} {'now [us]':>10} {'now / then':>10}")
    for name in wanted:
        best = {worker: worker.time(name) for worker in (then, now)}  # warms up
        for _ in range(rounds):
            for worker in best:
                best[worker] = min(best[worker], worker.time(name))
        row = Row(name, best[then], best[now])
        print(f"{row.name:44} {row.then:10.4g} {row.now:10.4g} {row.ratio:10.3f}", flush=True)
        yield row


class Worker:
    """A process with a featherweight of its own: that of the checkout, or one installed in the folder ``site``."""

    def __init__(self, site: Path | None) -> None:
        command = [sys.executable, "-m", "benchmarks.workload", *([str(site)] if site else [])]
        one_thread = {**os.environ, "FEATHERWEIGHT_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=one_thread, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def time(self, name: str) -> float:
        """CPU microseconds per sample of one turn."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{name}: one of the processes has died; its message is above")
        return float(answer)


def install(commit: str) -> Path:
    """A folder with the package of that commit, built for this CPU; built once."""
    found = subprocess.run(
        ["git", "rev-parse", "--short=12", f"{commit}^{{commit}}"], cwd=ROOT, text=True, capture_output=True
    )
    if found.returncode:
        raise RuntimeError(f"git knows no commit {commit!r}")
    place = PLACE / found.stdout.strip()
    site = place / "site"
    if (site / "featherweight").exists():
        return site
    print(f"building {commit} in {place.relative_to(ROOT)}: one to three minutes", file=sys.stderr)
    sources = place / "sources"
    sources.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "archive", found.stdout.strip()], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(sources)], input=archive.stdout, check=True)
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    build = ["-Ccmake.define.FEATHERWEIGHT_ISAS=native", f"-Cbuild-dir={place / 'build'}"]
    built = subprocess.run(
        [sys.executable, "-m", "pip", "-q", "install", "--no-build-isolation", "--no-deps", *build,
         "--target", str(place / "unfinished"), str(sources)],
        env={**os.environ, "PATH": tools}, text=True, capture_output=True,
    )  # fmt: skip
    if built.returncode:
        raise RuntimeError(f"{commit} does not build:\n{built.stdout[-2000:]}{built.stderr[-2000:]}")
    (place / "unfinished").rename(site)  # so that what is there is whole
    return site


if __name__ == "__main__":
    sys.exit(main())
