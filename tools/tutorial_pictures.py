"""Pictures of the tutorials: runs the programs of their pages and films the motions they end with.

python -m tools.tutorial_pictures [words of their names]

Those of the quadruped that trots, among them ``trot.gif`` of the README, need the policy that
``python examples/learning/trot.py`` leaves in ``out/trot``.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import featherweight as fw
from featherweight.viewer.film import render

DOCS = Path(__file__).parents[1] / "docs"
#: Page, picture, and what it shows side by side: motions by name in the program of the page, and times [s].
PICTURES: dict[str, tuple[str, tuple[tuple[str, float], ...]]] = {
    "own-urdf": ("tutorial_rover", (("motion", 0.0), ("motion", 1.5), ("motion", 3.0))),
    "pick-a-cube": ("tutorial_cube", (("motion", 0.8), ("motion", 1.5), ("motion", 3.5))),
    "closed-loops": ("tutorial_five_bar", (("motion", 0.2), ("motion", 1.3), ("motion", 2.6))),
}


def program_of(page: Path) -> dict[str, Any]:
    """Names that the program of a page leaves behind."""
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S):
        exec(compile(code, str(page), "exec"), names)
    return names


def film(motion: fw.Trajectory, time: float, size: tuple[int, int] = (480, 360)) -> Any:
    """One frame (height, width, channels) of a motion."""
    motion.video("frame_%04d.png", fps=10.0, size=size)
    frames = sorted(Path().glob("frame_*.png"))
    image = matplotlib.image.imread(frames[min(round(10.0 * time), len(frames) - 1)])[..., :3]
    for frame in frames:
        frame.unlink()
    return image


def throw(names: dict[str, Any], file: Path) -> None:
    """How the ball flies before and after the throw is aimed."""
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for motion, style in ((names["first"], "0.6"), (names["motion"], "C0")):
        axes.plot(motion.q[:, 0], motion.q[:, 2], color=style)
    axes.plot(*names["mark"][[0, 2]], "rx")
    axes.axhline(0.0, color="0.3")
    axes.set(xlabel="x [m]", ylabel="z [m]", aspect="equal")
    axes.legend(["first throw", "after Newton's method", "the mark"], frameon=False)
    figure.savefig(file, dpi=110)


def trot(policy: Path, file: Path, animation: Path) -> None:
    """A few frames of one period of the trot, and two seconds of it, moving."""
    sys.path.insert(0, str(DOCS.parent / "examples" / "learning"))
    trot, ppo = importlib.import_module("trot"), importlib.import_module("ppo")
    learnt = ppo.Policy(*trot.sizes(), ppo.Settings())
    learnt.load(policy)
    motion, _ = trot.show(learnt, seconds=3.0)
    frames = [film(motion, time) for time in (0.9, 1.1, 1.3)]
    matplotlib.image.imsave(file, np.concatenate(frames, axis=1))
    moving = list(render(motion.animation().frames(25.0, 1000), size=(640, 360)))[-50:]
    # one palette for all frames, without dithering: what stands still compresses to nothing
    palette = Image.fromarray(np.concatenate(moving[::10])).quantize(96)
    pictures = [Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in moving]
    pictures[0].save(animation, save_all=True, append_images=pictures[1:], duration=40, loop=0)


def main(words: list[str]) -> None:
    images, policy = DOCS / "images", Path("out/trot/policy.npz").absolute()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for page, (picture, shown) in PICTURES.items():
            if all(word in page for word in words):
                names = program_of(DOCS / "tutorials" / f"{page}.md")
                frames = [film(names[name], time) for name, time in shown]
                matplotlib.image.imsave(images / f"{picture}.png", np.concatenate(frames, axis=1))
        if all(word in "gradients" for word in words):
            throw(program_of(DOCS / "tutorials" / "gradients.md"), images / "tutorial_throw.png")
        if all(word in "trot" for word in words) and policy.exists():
            trot(policy, images / "tutorial_trot.png", images / "trot.gif")
        os.chdir(DOCS)


if __name__ == "__main__":
    main(sys.argv[1:])
