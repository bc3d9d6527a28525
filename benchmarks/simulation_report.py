"""Tables, plots and the JSON file of simulation."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.anchored_report import header, save
from benchmarks.report import markdown_table, plotting
from benchmarks.settling import Pile, growth_exponent
from benchmarks.simulation import OURS, THEIRS, SimulationRow

LEGEND = """\
Microseconds per step of one environment on one core, called from Python for the whole batch and all steps, the states
recorded: the smallest of ten turns (and the median), both engines in turn for equally long, featherweight to a relative
residual of 1e-8. MuJoCo: mujoco.rollout in the calling thread, elliptic cones, Newton, default tolerance, the scene
exported from the same description; its contacts are soft, featherweight's rigid. Pairs of figures are featherweight /
MuJoCo: contacts that carry force / that overlap; mean height of the base, or of the topmost box. worst residual: the
largest natural residual of any step, relative to the velocities of its problem. 2 threads: how much faster than one, by
the smallest of single runs. setting: the integrator, with servos explicit in semi_implicit and implicit in implicit (in
MuJoCo Euler and implicitfast); dry friction in the joints and pairs of the robot's own shapes, where they are named;
friction is 0.8 everywhere. free acceleration: the relative difference of both engines on random states without
contact."""
PILE_LEGEND = """\
Spheres settling in a pit, one environment, means over all steps and the median of their residuals; MuJoCo as above,
where it takes less than minutes. Time of a step of featherweight over contacts: """


@dataclass
class SimulationReport:
    """On robots and a stack, and over the size of a pile."""

    machine: dict[str, str]
    rows: list[SimulationRow] = field(default_factory=list)
    piles: list[Pile] = field(default_factory=list)

    def table(self) -> str:
        return markdown_table([row.cells() for row in self.rows])

    def pile_table(self) -> str:
        cells = [
            {
                "pile": pile.shape,
                "spheres": str(pile.spheres),
                "steps": str(pile.steps),
                "contacts": f"{pile.contacts:.0f}",
                "ms per step": f"{pile.milliseconds:.3g}",
                "us per contact": f"{pile.per_contact:.3g}",
                "MuJoCo [ms]": "" if pile.mujoco is None else f"{pile.mujoco:.3g}",
                "Gauss-Seidel": f"{pile.gauss_seidel:.0f}",
                "residual": f"{pile.residual:.1e}",
                "worst residual": f"{pile.worst:.1e}",
                "unconverged": f"{100 * pile.unconverged:.3g} %",
            }
            for pile in self.piles
        ]
        growth = "; ".join(self._growth(shape) for shape in dict.fromkeys(pile.shape for pile in self.piles))
        return f"{PILE_LEGEND}{growth}.\n\n{markdown_table(cells)}"

    def _growth(self, shape: str) -> str:
        piles = [pile for pile in self.piles if pile.shape == shape]
        alike = len({pile.steps for pile in piles}) == 1  # else some have not settled: their contacts are others
        return f"{shape} n^{growth_exponent(piles):.2f}" if alike else f"{shape} not fitted, steps were cut short"

    def text(self) -> str:
        parts = [header(self.machine), self.table(), LEGEND]
        return "\n\n".join([*parts, self.pile_table()] if self.piles else parts)

    def save(self, folder: Path) -> None:
        """Write ``simulation.json`` and ``simulation.md``."""
        save(folder, "simulation", self, self.text())

    def plot(self, folder: Path) -> None:
        """As a PNG file. Needs matplotlib (:class:`ImportError` without)."""
        plt = plotting()
        largest = [row for row in self.rows if row.batch == max(r.batch for r in self.rows if r.case == row.case)]
        figure, axis = plt.subplots(figsize=(7, 1.5 + 0.5 * len(largest)), layout="constrained")
        for shift, name, colour in ((-0.2, THEIRS, "0.6"), (0.2, OURS, "#4292c6")):
            times = [row.microseconds.get(name, float("nan")) for row in largest]
            bars = axis.barh([k + shift for k in range(len(largest))], times, 0.4, color=colour, label=name)
            axis.bar_label(bars, fmt="%.3g", padding=2, fontsize=7)
        axis.set_yticks(range(len(largest)), [f"{row.case} x{row.batch}" for row in largest])
        axis.invert_yaxis()
        axis.set(xscale="log", xlabel="microseconds per step of one environment, one core")
        axis.margins(x=0.2)
        axis.legend(frameon=False)
        figure.savefig(folder / "simulation_times.png", dpi=110)
