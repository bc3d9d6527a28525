"""``python -m benchmarks.update_docs``: put the last run (build/bench) into docs/benchmarks.md."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def main() -> None:
    run, page, images = ROOT / "build" / "bench", ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "images"
    before, rest = page.read_text().split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n{(run / 'benchmark.md').read_text()}{END}{after}")
    images.mkdir(exist_ok=True)
    for plot in run.glob("*.png"):
        shutil.copy(plot, images)


if __name__ == "__main__":
    main()
