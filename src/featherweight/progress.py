"""A progress bar for long work: one line on standard error, only where someone can see it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, label: str, *, enabled: bool = True, width: int = 30) -> Iterator[Callable[[int], None]]:
    """Yields a function to call with how much more is done. Draws at most ten times a second.

    Nothing is drawn where standard error is not a terminal, but for one line at the end.
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
