"""Plans for the six puzzles of benchmarks/puzzles.py from above, for docs/planning.md.

python -m tools.planning_pictures [layout]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import featherweight as fw
from benchmarks.puzzles import PUZZLES
from featherweight.arrays import Array
from featherweight.planning import Plan, solve

IMAGES = Path(__file__).parents[1] / "docs" / "images"
GHOSTS = 14


def outline(kind: str, size: tuple[float, ...], X: Array) -> Array:
    """Of a shape from above, (n, 2)."""
    if kind == "box":
        x, y = size[0], size[1]
        corners = np.array([[-x, -y, 0.0], [x, -y, 0.0], [x, y, 0.0], [-x, y, 0.0]])
        return np.asarray((corners @ X[:3, :3].T + X[:3, 3])[:, :2])
    angle = np.linspace(0.0, 2.0 * np.pi, 25)
    return np.asarray(X[:2, 3] + size[0] * np.stack([np.cos(angle), np.sin(angle)], axis=1))


def draw(plan: Plan, ax: Any) -> None:
    """Where things are on the way, the later the darker, the path of the hand, and the goal."""
    problem, trajectory = plan.problem, plan.trajectory
    sim, goal = problem.sim, problem.goal
    for shape in sim.scene.shapes:
        if shape.static and shape.kind == "box":
            ax.fill(*outline(shape.kind, shape.size, shape.placement).T, color="0.7")
    steps = np.unique(np.linspace(0, len(trajectory.q) - 1, GHOSTS).astype(int))
    for n, k in enumerate(steps):
        X = fw.forward_kinematics(sim.model, trajectory.q[k])
        for shape in sim.scene.shapes:
            if shape.link < 0 or shape.part == "arm":
                continue
            colour = "tab:red" if sim.model.link_names[shape.link] == goal.body else "tab:brown"
            points = outline(shape.kind, shape.size, X[shape.link] @ shape.placement)
            ax.fill(*points.T, color=colour, alpha=0.12 + 0.7 * (n / len(steps)) ** 2, linewidth=0)
    hand = np.array([fw.frame_placement(sim.model, q, problem.hand)[:2, 3] for q in trajectory.q[::5]])
    ax.plot(*hand.T, color="tab:blue", linewidth=0.8)
    ax.plot(*problem.base, "ks", markersize=6)
    angle = np.linspace(0.0, 2.0 * np.pi, 60)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ax.plot(*(np.array(goal.place[:2]) + goal.within * ring).T, color="tab:green", linewidth=1.2)
    ax.plot(*(problem.base + problem.reach * ring).T, color="0.8", linewidth=0.8, zorder=0)
    ax.set_aspect("equal")
    ax.axis("off")


def main() -> None:
    import matplotlib.pyplot as plt

    layout = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    figure, axes = plt.subplots(2, 3, figsize=(10.5, 6.5))
    for ax, (name, (make, seconds)) in zip(axes.flat, PUZZLES.items(), strict=True):
        plan = solve(make(np.random.default_rng(layout)), seconds=seconds, seed=0)
        draw(plan, ax)
        ax.set_title(f"{name}: " + ",\n".join(plan.skeleton).replace("/bar", ""), fontsize=7)
    figure.tight_layout()
    figure.savefig(IMAGES / "planning_puzzles.png", dpi=110)


if __name__ == "__main__":
    main()
