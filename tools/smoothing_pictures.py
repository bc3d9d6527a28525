"""Pictures of docs/smoothing.md: landscapes of its three problems, and what gradients say of them.

python -m tools.smoothing_pictures
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import featherweight as fw
from tools.tutorial_pictures import DOCS, program_of


@dataclass(frozen=True)
class Problem:
    """A rollout with one input."""

    title: str
    sim: fw.Simulator
    steps: int
    inputs: Any
    sigma: float
    labels: tuple[str, str]
    throws: bool = False  # the input is the velocity upwards

    def given(self, x: Any) -> dict[str, Any]:
        """Of one rollout, or of a batch."""
        x = np.asarray(x)
        if not self.throws:
            state = self.sim.state() if x.ndim == 0 else self.sim.state(len(x))
            return {"state": state, "control": x[..., None], "n_steps": self.steps}
        v = np.zeros((*x.shape, 6))
        v[..., 0], v[..., 2] = 2.0, x
        return {"state": self.sim.state(None if x.ndim == 0 else len(x), v=v), "n_steps": self.steps}

    def exact(self, cost: Any) -> tuple[Any, Any]:
        """Values and gradients at all inputs."""
        given = self.given(self.inputs)
        trajectory = self.sim.rollout(given.pop("state"), **given, tape=True)
        values, dq, _ = cost(trajectory)
        g = self.sim.rollout_vjp(trajectory, dq)
        return values, g.v0[:, 2] if self.throws else g.control.sum(axis=(1, 2))

    def average(self, cost: Any, x: float, order: Any, samples: int) -> tuple[float, float]:
        """Value and gradient at one input."""
        sigma: Any = {"v": [0, 0, self.sigma, 0, 0, 0]} if self.throws else self.sigma
        given = self.given(x)
        found = fw.smooth(
            self.sim,
            given.pop("state"),
            cost,
            **given,
            sigma=sigma,
            samples=samples,
            order=order,
            seed=round(1e3 * abs(x)),
        )
        return found.value, float(found.gradient["v"][2] if self.throws else found.gradient["control"][0])


def draw(problem: Problem, cost: Any, axes: Any) -> None:
    above, below = axes
    values, gradients = problem.exact(cost)
    some = problem.inputs[:: len(problem.inputs) // 40]
    above.plot(problem.inputs, values, color="0.5", label="as it is")
    above.plot(some, [problem.average(cost, x, "zeroth", 512)[0] for x in some], color="C0", label="on average")
    above.set(title=problem.title, ylabel=problem.labels[1])
    below.plot(problem.inputs, gradients, color="0.5", label="exact")
    styles = {"zeroth": ("C1", "."), "first": ("C2", "x"), "mixed": ("C0", "o")}
    for order, (color, marker) in styles.items():
        found = [problem.average(cost, x, order, 64)[1] for x in some]
        below.plot(some, found, marker, color=color, markersize=3, label=order)
    size = 1.2 * max(abs(problem.average(cost, x, "zeroth", 512)[1]) for x in some)
    below.set(xlabel=problem.labels[0], ylabel="gradient", ylim=(-size, size))


def main() -> None:
    names = program_of(DOCS / "smoothing.md")
    problems = [
        (
            Problem(
                "box out of reach",
                names["push"](),
                60,
                np.linspace(0.0, 3.0, 241),
                0.3,
                ("force [N]", "box at [m]"),
            ),
            names["last"](1),
        ),
        (
            Problem(
                "ball and wall",
                names["wall"](),
                100,
                np.linspace(2.0, 5.0, 241),
                0.3,
                ("upward speed [m/s]", "ball at [m]"),
                True,
            ),
            names["last"](0),
        ),
        (
            Problem(
                "finger and lever",
                names["pivot"](),
                60,
                np.linspace(-10.0, 4.0, 241),
                0.5,
                ("force [N]", "lever at [rad]"),
            ),
            names["last"](0),
        ),
    ]
    figure, axes = plt.subplots(2, 3, figsize=(11, 5.5), layout="constrained")
    for k, (problem, cost) in enumerate(problems):
        draw(problem, cost, axes[:, k])
    axes[0, 0].legend(frameon=False)
    axes[1, 0].legend(frameon=False)
    figure.savefig(DOCS / "images" / "smoothing_landscapes.png", dpi=100)
    for friction in (0.3, 0.0):
        for dt in (0.01, 0.002, 0.0005):
            tooth, slope = names["slopes"](friction, dt)
            print(f"| {friction} | {1e3 * dt:g} | {tooth:.4f} | {slope:.4f} |")


if __name__ == "__main__":
    main()
