"""What the demonstrations of whole-body control do, as strips of pictures, for docs/demonstrations.md.

python -m tools.control_pictures [NAME ...], names as in DEMONSTRATIONS.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

from featherweight.viewer.film import render

ROOT = Path(__file__).parents[1]
#: By name of a picture: the example, and when its pictures are taken [s].
DEMONSTRATIONS = {
    "walk": ("walk_by_planning", (0.3, 1.0, 1.4, 2.0, 2.6, 3.2)),
    "step_up": ("step_up_by_planning", (0.1, 0.6, 0.9, 1.2, 1.6, 2.4)),
    "jump": ("jump_by_planning", (0.1, 0.3, 0.42, 0.55, 0.7, 1.4)),
    "get_up": ("get_up_by_planning", (0.02, 0.2, 0.36, 0.5, 0.8, 2.4)),
    "push": ("push_by_planning", (0.1, 0.8, 1.4, 1.8, 2.1, 2.5)),
}
SIZE, COLOURS = (260, 230), 48


def strip(example: str, times: tuple[float, ...], path: Path) -> None:
    from PIL import Image

    animation = import_module(example).main().animation()
    at = [int(np.argmin(np.abs(animation.time - t))) for t in times]
    chosen = replace(animation, time=animation.time[at], q=animation.q[:, at])
    row = np.concatenate(list(render(chosen, size=SIZE)), axis=1)
    Image.fromarray(row).quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    sys.path.insert(0, str(ROOT / "examples"))
    for name in sys.argv[1:] or DEMONSTRATIONS:
        strip(*DEMONSTRATIONS[name], ROOT / "docs" / "images" / f"control_{name}.png")


if __name__ == "__main__":
    main()
