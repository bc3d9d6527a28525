"""``python -m zoo``: compare all robots, print the table, fail on what got worse."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from featherweight.progress import ProgressBar

from . import mjcf, report, robots, urdf

COMPARE: dict[str, Callable[[robots.Robot], mjcf.Result | None]] = {
    "mjcf": mjcf.compare,
    "urdf": urdf.compare,
    "sdf": urdf.compare,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m zoo", description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="robots whose name contains this")
    parser.add_argument("--update", action="store_true", help="expect from now on what is found, and write docs/zoo.md")
    parser.add_argument("--also", type=Path, default=[], nargs="*", help="folders of more robots, as mujoco_menagerie")
    options = parser.parse_args()
    more = [robot for folder in options.also for robot in robots.find(folder.resolve(), folder.resolve().name)]
    found = [robot for robot in (*robots.find(), *more) if options.only in robot.name]
    if not found:
        print(f"no robots in {robots.FOLDER}: run `make zoo`", file=sys.stderr)
        return 2
    results, bar = [], ProgressBar(sys.stderr)
    for k, robot in enumerate(found):
        bar.update(k / len(found))
        result = COMPARE[robot.format](robot)
        if result is not None:
            results.append(result)
    bar.clear()
    print(report.table(results))
    print()
    print(report.summary(results))
    if options.update:
        report.update(results)
        return 0
    worse = report.regressions(results)
    print("\n".join(("", "got worse:", *worse)) if worse else "\nnothing got worse")
    return 1 if worse else 0


if __name__ == "__main__":
    raise SystemExit(main())
