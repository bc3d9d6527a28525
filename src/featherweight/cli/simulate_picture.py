"""The picture of a simulation: the robot at the start and at the end, and its motion and forces over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import files
from ..viewer.draw import draw
from .simulate import Record

_SHOWN = 50  # environments of a batch


def check_format(path: Path) -> None:
    """Raises ImportError, which says what to install, without Matplotlib; ValueError if it has no such format."""
    known = figure_class()().canvas.get_supported_filetypes()
    suffix = path.suffix.lower().removeprefix(".")
    if suffix and suffix not in known:
        raise ValueError(f"{path}: a picture's name ends in .{', .'.join(sorted(known))}")


def figure_class() -> Any:
    """Matplotlib's Figure, or an error that says what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('the picture needs matplotlib: pip install "featherweight[plot]"') from None
    return Figure


def save_picture(record: Record, path: Path) -> None:
    """Write a picture in the format that the name of ``path`` asks for. Needs matplotlib."""
    figure = figure_class()(figsize=(13, 7), layout="constrained")  # not pyplot's: no display is needed
    grid = figure.add_gridspec(2, 3, width_ratios=(1.2, 1, 1))
    _robots(record, figure.add_subplot(grid[:, 0], projection="3d"))
    _heights(record, figure.add_subplot(grid[0, 1]))
    _joints(record, figure.add_subplot(grid[0, 2]))
    _forces(record, figure.add_subplot(grid[1, 1]))
    _residuals(record, figure.add_subplot(grid[1, 2]))
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.replacing(path) as file:
        figure.savefig(file, format=path.suffix.removeprefix(".") or "png", dpi=120)


def _robots(record: Record, ax: Any) -> None:
    model, q = record.drop.simulator.model, record.columns["q"][:, 0]
    draw(model, q[0], ax, alpha=0.15)
    draw(model, q[-1], ax)
    ax.view_init(elev=12, azim=-60)
    ax.set_title(f"{record.drop.robot.name}, at the start (faint) and the end")


def _heights(record: Record, ax: Any) -> None:
    t, height = record.columns["time"], record.base_height
    if record.batch > 1:
        ax.plot(t, height[:, 1:_SHOWN], "0.7", linewidth=0.5)
    ax.plot(t, height[:, 0], "C0")
    ax.set(xlabel="t [s]", ylabel="[m]", title=f"height of the {'base' if record.drop.free else 'centre of mass'}")


def _joints(record: Record, ax: Any) -> None:
    model, q = record.drop.simulator.model, record.columns["q"][:, 0]
    at = [joint.q_slice.start for joint in model.joints if joint.nv == 1]
    ax.plot(record.columns["time"], q[:, at], linewidth=0.8)
    ax.set(xlabel="t [s]", ylabel="[rad] or [m]", title="joint positions")


def _forces(record: Record, ax: Any) -> None:
    model, t = record.drop.simulator.model, record.columns["time"]
    weight = model.mass * float(np.linalg.norm(model.gravity))
    ax.plot(t, record.columns["normal_force"][:, 0], linewidth=0.8, label="sum over contacts")
    if record.drop.free:
        ax.axhline(weight, color="0.6", linestyle="--", linewidth=0.8, label="weight")
        ax.set_ylim(0.0, max(4.0 * weight, 1e-9))  # an impact lasts one step and would dwarf the rest
    ax.legend(fontsize="small")
    ax.set(xlabel="t [s]", ylabel="[N]", title="total normal force")


def _residuals(record: Record, ax: Any) -> None:
    t, residual = record.columns["time"], record.columns["residual"].max(axis=1)
    ax.semilogy(t, np.maximum(residual, 1e-17), ".", markersize=2)
    ax.set(xlabel="t [s]", title="residual and number of contacts")
    counts = ax.twinx()
    counts.plot(t, record.columns["contacts"][:, 0], "C1", linewidth=0.8)
    counts.set_ylabel("contacts", color="C1")
    counts.set_ylim(bottom=0)
