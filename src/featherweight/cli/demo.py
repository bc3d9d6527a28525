"""A first look: a batch of robots thrown into free fall, checked against what mechanics says, and drawn.

Whatever the limbs do, the centre of mass follows its parabola, the momentum about it stays, and so does the energy:
no simulation is needed to know the answer, which makes it a fair test of one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core, files
from ..arrays import Array
from ..model.model import Model
from ..viewer.draw import draw

STEP = 1e-3  # [s]
_LOOKS = 50  # times at which the motion is compared with the exact one


@dataclass(frozen=True)
class FreeFall:
    """``batch`` falls from random postures with random velocities, looked at ``n`` times."""

    model: Model
    times: Array  # (n,) [s]
    q: Array  # (n, nq) of the first robot
    fall: Array  # (n, batch) how far the centre of mass is below where it would be without gravity [m]
    com_error: Array  # (n,) largest distance of a centre of mass from its parabola [m]
    momentum_error: Array  # (n,) largest change of a momentum about the centre of mass [kg m^2/s]
    momentum_scale: float  # the largest such momentum
    energy_error: Array  # (n,) largest change of an energy [J]
    steps: int  # of every robot
    seconds: float  # it took to compute them

    @property
    def batch(self) -> int:
        return int(self.fall.shape[1])

    @property
    def depth(self) -> Array:
        """(n,) g t^2 / 2 [m]."""
        return np.asarray(0.5 * _norm(self.model.gravity) * self.times**2)

    @property
    def relative_errors(self) -> dict[str, float]:
        """Of the centre of mass to the depth fallen, of the momentum, of the energy to the work of gravity."""
        depth = float(self.depth[-1])
        return {
            "centre of mass off its parabola": float(self.com_error[-1]) / depth,
            "angular momentum changed": float(self.momentum_error[-1]) / self.momentum_scale,
            "energy changed": float(self.energy_error[-1]) / (self.model.mass * _norm(self.model.gravity) * depth),
        }


def free_fall(
    model: Model, batch: int, seconds: float, *, seed: int = 0, progress: Callable[[float], None] | None = None
) -> FreeFall:
    """Let ``batch`` robots fall for ``seconds``, in steps of a millisecond or less by the explicit midpoint rule.

    progress: called now and then with the fraction done.
    """
    rng = np.random.default_rng(seed)
    q, v = model.random(rng, batch=batch), rng.standard_normal((batch, model.nv))
    steps = max(_LOOKS, round(seconds / STEP))
    dt = seconds / steps
    com, momentum, energy = _observe(model, q, v)
    coasting = momentum[:, :3] / model.mass  # [m/s], of the centre of mass

    times, poses, falls, errors, spent = [0.0], [q[0]], [np.zeros(batch)], [(0.0, 0.0, 0.0)], 0.0
    for look in range(1, _LOOKS + 1):
        started = time.perf_counter()
        done, until = round(times[-1] / dt), round(look * steps / _LOOKS)
        for _ in range(until - done):
            q, v = _midpoint_step(model, q, v, dt)
        spent += time.perf_counter() - started
        t = until * dt
        com_now, momentum_now, energy_now = _observe(model, q, v)
        ahead = com_now - com - coasting * t
        com_error = np.linalg.norm(ahead - 0.5 * model.gravity * t**2, axis=1).max()
        momentum_error = np.linalg.norm(momentum_now[:, 3:] - momentum[:, 3:], axis=1).max()
        times.append(t)
        poses.append(q[0])
        falls.append(ahead @ model.gravity / _norm(model.gravity))
        errors.append((com_error, momentum_error, np.abs(energy_now - energy).max()))
        if progress is not None:
            progress(look / _LOOKS)
    com_errors, momentum_errors, energy_errors = np.array(errors).T
    return FreeFall(
        model=model,
        times=np.array(times),
        q=np.array(poses),
        fall=np.array(falls),
        com_error=com_errors,
        momentum_error=momentum_errors,
        momentum_scale=float(np.linalg.norm(momentum[:, 3:], axis=1).max()),
        energy_error=energy_errors,
        steps=steps,
        seconds=spent,
    )


def _midpoint_step(model: Model, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
    """Of second order: v and a of the middle of the step, found by half a step, move q and v over all of it."""
    no_force = np.zeros(model.nv)
    q_half = model.integrate(q, 0.5 * dt * v)
    v_half = v + 0.5 * dt * _core.aba(model, q, v, no_force)
    return model.integrate(q, dt * v_half), v + dt * _core.aba(model, q_half, v_half, no_force)


def _observe(model: Model, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """Centres of mass (batch, 3), momenta (batch, 6) and energies (batch,)."""
    energy = _core.kinetic_energy(model, q, v) + _core.potential_energy(model, q)
    return _core.center_of_mass(model, q), _core.centroidal_momentum(model, q, v), energy


def _norm(vector: Array) -> float:
    return float(np.linalg.norm(vector))


def save_picture(result: FreeFall, path: Path) -> None:
    """The first robot at five times, all falls beside the parabola, and the errors over time. Needs matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('the picture needs matplotlib: pip install "featherweight[plot]"') from None

    figure = Figure(figsize=(10, 6.5), layout="constrained")
    FigureCanvasAgg(figure)  # draws without a display, whatever backend the user has set
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.3))
    _draw_robots(result, figure.add_subplot(grid[:, 0], projection="3d"))
    _plot_fall(result, figure.add_subplot(grid[0, 1]))
    _plot_errors(result, figure.add_subplot(grid[1, 1]))
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.replacing(path) as file:
        figure.savefig(file, format=path.suffix.removeprefix(".") or "png", dpi=130)


def _draw_robots(result: FreeFall, ax: Any) -> None:
    for k in np.linspace(0, len(result.times) - 1, 5).astype(int):
        draw(result.model, result.q[k], ax)
    ax.view_init(elev=5, azim=-60)
    ax.set_title(f"one of {result.batch}, at five times")
    ax.locator_params(axis="x", nbins=3)
    ax.locator_params(axis="y", nbins=2)


def _plot_fall(result: FreeFall, ax: Any) -> None:
    ax.plot(result.times, -result.depth, "0.7", linewidth=5, label="$-g t^2 / 2$")
    ax.plot(result.times, -result.fall[:, :100], "C0", linewidth=0.5)
    ax.plot([], [], "C0", linewidth=0.5, label="centres of mass, simulated")
    ax.set(xlabel="t [s]", ylabel="height, less coasting [m]", title="every centre of mass on its parabola")
    ax.legend()


def _plot_errors(result: FreeFall, ax: Any) -> None:
    t = result.times[1:]
    ax.semilogy(t, result.com_error[1:], label="centre of mass [m]")
    ax.semilogy(t, result.momentum_error[1:], label="angular momentum [kg m$^2$/s]")
    ax.semilogy(t, result.energy_error[1:], label="energy [J]")
    ax.set(
        xlabel="t [s]", title=f"largest error of {result.batch} falls, steps of {result.times[-1] / result.steps:g} s"
    )
    ax.grid(alpha=0.3)
    ax.set_ylim(top=20 * max(result.com_error.max(), result.momentum_error.max(), result.energy_error.max()))
    ax.legend(ncols=3, fontsize="small", loc="upper left")  # in the room just made
