"""Between tensors and arrays: without a copy where the numbers are float64 already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ..arrays import Array

_FLOATS = (torch.float64, torch.float32)
_SECOND = (
    "featherweight has first derivatives only: this gradient was asked for its own derivative (create_graph=True, "
    "or gradgradcheck). Use differences of gradients, or detach it."
)


def checked(tensors: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Those that are given; raises if one is no tensor of floats on the CPU, or if they are not all of one dtype."""
    out = {name: x for name, x in tensors.items() if x is not None}
    first = ""
    for name, x in out.items():
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"{name}: expected a torch.Tensor, got {type(x).__name__}")
        if x.dtype not in _FLOATS:
            raise TypeError(f"{name}: expected float64 or float32, got {x.dtype}")
        if x.device.type != "cpu":
            raise ValueError(f"{name}: expected a tensor on the CPU, got one on {x.device}")
        first = first or name
        if x.dtype != out[first].dtype:
            raise TypeError(f"{name}: is {x.dtype}, but {first} is {out[first].dtype}")
    return out


def array_of(tensor: torch.Tensor) -> Array:
    """Its numbers as float64, contiguous: the tensor's own memory if it has them so."""
    array: Array = tensor.detach().numpy()
    if not array.flags.c_contiguous or array.dtype != np.float64:
        array = np.array(array, dtype=np.float64, order="C")
    return array


def tensor_of(array: Array, dtype: torch.dtype) -> torch.Tensor:
    """The array as a tensor; a copy of what is read-only, since tensors may be written to."""
    if dtype != torch.float64:
        return torch.from_numpy(array.astype(np.float32))
    return torch.from_numpy(array if array.flags.writeable else array.copy())


class _Once(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, anchor: torch.Tensor, *gradients: torch.Tensor) -> Any:
        return tuple(x.view_as(x) for x in gradients)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise NotImplementedError(_SECOND)


def once(gradients: Sequence[torch.Tensor | None]) -> tuple[torch.Tensor | None, ...]:
    """The same; where a graph of them is kept, one that refuses to be differentiated."""
    if not torch.is_grad_enabled():
        return tuple(gradients)
    given = [x for x in gradients if x is not None]
    refusing = iter(_Once.apply(torch.zeros((), requires_grad=True), *given))
    return tuple(None if x is None else next(refusing) for x in gradients)
