"""A progress bar for long work: one line on standard error, only where someone can see it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

#: [s] Of work between two looks at a bar, or of what Ctrl-C may cost.
_STRETCH = 0.05


@contextmanager
def progress_bar(total: int, label: str, *, enabled: bool = True, width: int = 30) -> Iterator[Callable[[int], None]]:
    """Yields a function to call with the amount of further work done. Draws at most ten times a second.

    Where standard error is not a terminal, only one line is written, at the end.
    """
    done, start, drawn = 0, time.monotonic(), 0.0
    interactive = enabled and sys.stderr.isatty()

    def draw(end: str) -> None:
        share = done / total if total else 1.0
        elapsed = time.monotonic() - start
        left = f"{elapsed / share - elapsed:.0f} s left" if 0.0 < share < 1.0 else f"{elapsed:.1f} s"
        bar = "#" * int(share * width)
        sys.stderr.write(f"\r{label} [{bar:<{width}}] {100 * share:3.0f} %  {done}/{total}  {left}   {end}")
        sys.stderr.flush()

    def advance(n: int) -> None:
        nonlocal done, drawn
        done += n
        now = time.monotonic()
        if interactive and now - drawn > 0.1:
            drawn = now
            draw("")

    try:
        yield advance
    finally:
        if enabled:
            draw("\n")


def stretches(steps: int, *, most: int, watched: bool, first: int | None = None) -> Iterator[int]:
    """Splits steps into stretches of at most ``most``: as long as can be, or, if someone watches, short in time.

    first: the most for the first of them.
    """
    left, n = steps, 1 if watched else steps if first is None else first
    while left > 0:
        n = min(n, most, left)
        started = time.monotonic()
        yield n
        left -= n
        if not watched:
            n = left
        else:
            pace = n / max(time.monotonic() - started, 1e-9)
            n = max(1, min(10 * n, int(_STRETCH * pace)))


class ProgressBar:
    """A line that fills up, on a terminal; nothing elsewhere."""

    WIDTH = 40

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = stream.isatty()
        self._start = time.monotonic()

    def update(self, fraction: float) -> None:
        if not self._shown:
            return
        done = round(self.WIDTH * fraction)
        left = (time.monotonic() - self._start) * (1.0 - fraction) / fraction
        bar = "#" * done + "." * (self.WIDTH - done)
        self._stream.write(f"\r[{bar}] {100 * fraction:3.0f} %, {left:.1f} s left ")
        self._stream.flush()

    def clear(self) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
