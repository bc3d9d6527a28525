"""Networks that learn in NumPy: backpropagation and Adam, for where PyTorch is not installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .policy import ACTIVATIONS
from .regression import EPSILON, FIRST, SECOND, Single

Layers: TypeAlias = list[tuple[Single, Single]]
#: Of single precision, or of double.
Floats: TypeAlias = NDArray[Any]

#: Slopes of activations, by what came of them.
_SLOPES: dict[str, Callable[[Floats], Floats]] = {
    "elu": lambda y: np.where(y > 0.0, np.float32(1.0), y + np.float32(1.0)),
    "tanh": lambda y: 1.0 - y * y,
    "relu": lambda y: (y > 0.0).astype(y.dtype),
}


def fit(layers: Layers, activation: str, steps: Iterable[tuple[Single, Single, float]]) -> Layers:
    """The layers, after steps on the mean square of what is missed: of inputs and targets at a rate."""
    parameters = [array.copy() for layer in layers for array in layer]
    first, second = ([np.zeros_like(p) for p in parameters] for _ in range(2))
    for k, (x, y, rate) in enumerate(steps, start=1):
        slopes = gradient(list(zip(parameters[::2], parameters[1::2], strict=True)), activation, x, y)
        for p, m, v, g in zip(parameters, first, second, slopes, strict=True):
            m += np.float32(1.0 - FIRST) * (g - m)
            v += np.float32(1.0 - SECOND) * (g * g - v)
            scale = np.sqrt(v / np.float32(1.0 - SECOND**k)) + np.float32(EPSILON)
            p -= np.float32(rate / (1.0 - FIRST**k)) * m / scale
    return list(zip(parameters[::2], parameters[1::2], strict=True))


def gradient(layers: list[tuple[Floats, Floats]], activation: str, x: Floats, y: Floats) -> list[Floats]:
    """Of the mean square by weights and biases, in their order."""
    act, slope = ACTIVATIONS[activation], _SLOPES[activation]
    inputs = []
    for k, (W, b) in enumerate(layers):
        inputs.append(x)
        x = x @ W + b
        if k < len(layers) - 1:
            x = act(x)
    back = 2.0 * (x - y) / np.float32(y.size)
    found: list[Floats] = []
    for k in reversed(range(len(layers))):
        found = [inputs[k].T @ back, back.sum(axis=0), *found]
        if k:
            back = (back @ layers[k][0].T) * slope(inputs[k])
    return found
