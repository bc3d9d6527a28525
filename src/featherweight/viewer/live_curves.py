"""Curves beside a live view: energies and the residual of the last steps."""

from __future__ import annotations

import time as clock
from collections import deque
from typing import Any

import numpy as np

from .. import _core
from ..arrays import Array
from ..model.model import Model

#: Points that are shown, and the least time between two drawings [s]: a browser need not be told every step.
LENGTH, PERIOD = 500, 0.1
_COLOURS = {"kinetic [J]": "#1f77b4", "potential [J]": "#ff7f0e", "log10 residual": "#7f7f7f"}


class LiveCurves:
    """What :meth:`add` was told, drawn at most ten times a second."""

    def __init__(self, viser: Any, server: Any, model: Model) -> None:
        self._model = model
        self._points: deque[tuple[float, ...]] = deque(maxlen=LENGTH)
        self._drawn = -np.inf
        names = tuple(_COLOURS)
        nothing = np.zeros(1)
        self._plots = [
            server.gui.add_uplot(
                (nothing, *(nothing for _ in shown)),
                (viser.uplot.Series(label="t [s]"), *(_series(viser, name) for name in shown)),
                scales={"x": viser.uplot.Scale(time=False)},
                title=title,
                aspect=2.0,
            )
            for title, shown in (("energy", names[:2]), ("residual", names[2:]))
        ]

    def add(self, q: Array, v: Array, time: float, residual: float) -> None:
        if self._points and time <= self._points[-1][0]:
            self._points.clear()  # it began anew
        kinetic = float(_core.kinetic_energy(self._model, q, v))
        potential = float(_core.potential_energy(self._model, q))
        self._points.append((time, kinetic, potential, float(np.log10(max(residual, 1e-17)))))
        if clock.monotonic() - self._drawn > PERIOD:
            self._draw()

    def _draw(self) -> None:
        self._drawn = clock.monotonic()
        t, kinetic, potential, residual = (np.array(column) for column in zip(*self._points, strict=True))
        energy, residuals = self._plots
        energy.data, residuals.data = (t, kinetic, potential), (t, residual)


def _series(viser: Any, name: str) -> Any:
    return viser.uplot.Series(label=name, stroke=_COLOURS[name], width=2)
