"""Physics with exact answers: what featherweight gets, beside MuJoCo in the same run and what others published.

``featherweight scoreboard`` prints the table. Every number is an error, so smaller is better and zero is exact.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks import machine
from benchmarks.report import markdown_table, plotting
from featherweight.arrays import Array
from featherweight.progress import progress_bar
from physics import incline, mujoco_peer
from physics.motion import position, run
from physics.scores import CASES, DEGREES, MUJOCO_SETTINGS, Score


@dataclass(frozen=True)
class Scoreboard:
    """What a run measured."""

    about: dict[str, str]
    scores: list[Score]

    def text(self) -> str:
        """The table and what it was measured on, as Markdown that reads as plain text too."""
        missed = [score for score in self.scores if score.missed]
        goals = sum(score.goal is not None for score in self.scores)
        head = "\n".join(f"- {key}: {value}" for key, value in self.about.items())
        verdict = f"{goals - len(missed)} of {goals} goals met."
        return "\n\n".join([head, markdown_table([score.cells() for score in self.scores]), verdict])

    def save(self, folder: Path) -> None:
        """Write ``scoreboard.json`` and ``scoreboard.md``."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {"about": self.about, "scores": [asdict(score) for score in self.scores]}
        (folder / "scoreboard.json").write_text(json.dumps(content, indent=2) + "\n")
        (folder / "scoreboard.md").write_text(self.text() + "\n")

    def plot(self, folder: Path) -> list[Path]:
        """Errors on a logarithmic scale, ``scoreboard.png``. Needs matplotlib (:class:`ImportError` without)."""
        plt = plotting()
        folder.mkdir(parents=True, exist_ok=True)
        rows = self.scores[::-1]
        figure, axis = plt.subplots(figsize=(9, 0.27 * len(rows) + 1.5), layout="constrained")
        smallest = 1e-17  # a logarithmic axis has no zero
        for what, style in (("published", "s"), ("mujoco", "D")):
            points = [(value, k) for k, row in enumerate(rows) for value in getattr(row, what).values()]
            if points:
                label = "MuJoCo, same run" if what == "mujoco" else "published by others"
                axis.plot(*zip(*points, strict=True), style, color={"published": "0.7", "mujoco": "#d95f02"}[what],
                          markersize=5, label=label)  # fmt: skip
        axis.plot(
            [max(row.ours, smallest) for row in rows], range(len(rows)), "o", color="#08519c", label="featherweight"
        )
        goals = [(row.goal, k) for k, row in enumerate(rows) if row.goal is not None]
        if goals:
            axis.plot(*zip(*goals, strict=True), "|", color="black", markersize=10, label="goal")
        axis.set_yticks(range(len(rows)), [f"{row.case}: {row.quantity}, dt {row.dt:g}" for row in rows], fontsize=7)
        axis.set(xscale="log", xlabel="error, in the units of the row (left is better)")
        axis.grid(axis="x", alpha=0.3)
        figure.legend(loc="outside lower center", ncols=4, frameon=False)
        file = folder / "scoreboard.png"
        figure.savefig(file, dpi=130)
        return [file]


def measure(names: Sequence[str] | None = None, *, progress: bool = True) -> Scoreboard:
    """Run the cases called ``names``, all by default, beside MuJoCo where it is installed."""
    chosen = list(CASES) if names is None else list(names)
    unknown = next((name for name in chosen if name not in CASES), None)
    if unknown is not None:
        raise ValueError(f"no case is called {unknown!r}: they are {', '.join(CASES)}")
    version = mujoco_peer.installed()
    about = machine.describe()
    if version is None:
        about["versions"] += ", mujoco not installed"
    scores: list[Score] = []
    with progress_bar(len(chosen), "measuring", enabled=progress) as advance:
        for name in chosen:
            scores += CASES[name](version is not None)
            advance(1)
    return Scoreboard(about, scores)


def plot_creep(folder: Path) -> Path:
    """How far a box that should stick moves over time, beside MuJoCo: ``scoreboard_creep.png``. Needs matplotlib."""
    plt = plotting()
    theta, mu, dt, seconds, samples = 20.0 * DEGREES, 0.5, 1e-3, 10.0, 100
    times = seconds / samples * np.arange(1, samples + 1)
    scene = incline.incline(theta, (mu,))
    motion = run(scene, dt, seconds, record=True)
    moved = position(motion, "body_0") - position(motion.simulator.state(), "body_0")
    ours = np.linalg.norm(moved, axis=1)[round(seconds / samples / dt) - 1 :: 100]
    distances: dict[str, Array] = {"featherweight": ours}
    if mujoco_peer.installed():
        for name, options in MUJOCO_SETTINGS.items():
            distances[f"MuJoCo, {name}"] = np.abs(mujoco_peer.path_downhill(theta, mu, dt=dt, options=options))
    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    for name, distance in distances.items():
        style = {"color": "#08519c", "lw": 2} if name == "featherweight" else {"lw": 1}
        axis.semilogy(times, np.maximum(distance, 1e-17), label=name, **style)
    axis.set(xlabel="time [s]", ylabel="distance downhill [m]", title="a box on 20 degrees, mu 0.5: it should stay")
    axis.legend(fontsize=8)
    axis.grid(alpha=0.3)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "scoreboard_creep.png", dpi=130)
    return folder / "scoreboard_creep.png"
