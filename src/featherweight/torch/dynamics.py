"""Forward and inverse dynamics of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..derivatives.coordinates import coordinates_of
from ..derivatives.forward_dynamics import aba_vjp
from ..derivatives.inverse_dynamics import rnea_vjp
from ..model.model import Model
from .tensors import array_of, checked, once, tensor_of


class _Dynamics(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(
        ctx: Any,
        function: Callable[..., Array],
        vjp: Callable[..., tuple[Array, Array, Array]],
        model: Model,
        f_ext: Array | None,
        *tensors: torch.Tensor,
    ) -> torch.Tensor:
        arrays = [array_of(x) for x in tensors]
        out = np.asarray(function(model, *arrays, f_ext))
        ctx.save_for_backward(*tensors)
        ctx.call = vjp, model, f_ext
        return tensor_of(out, tensors[0].dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        vjp, model, f_ext = ctx.call
        tensors = ctx.saved_tensors
        arrays = [array_of(x) for x in tensors]
        w = array_of(gradients[0])
        parts = vjp(model, *arrays, w, f_ext)
        parts = (
            coordinates_of(model).gradient(np.broadcast_to(arrays[0], (*parts[0].shape[:-1], model.nq)), parts[0]),
            *parts[1:],
        )
        found = [
            tensor_of(_summed(part, x.shape), x.dtype) if needed else None
            for part, x, needed in zip(parts, tensors, ctx.needs_input_grad[4:], strict=True)
        ]
        return (None,) * 4 + once(found)


def _summed(gradient: Array, shape: torch.Size) -> Array:
    """Over samples, where one was given for all of them."""
    return gradient if gradient.shape == tuple(shape) else np.ascontiguousarray(gradient.sum(axis=0))


def aba(
    model: Model, q: torch.Tensor, v: torch.Tensor, tau: torch.Tensor, f_ext: ArrayLike | None = None
) -> torch.Tensor:
    """Accelerations as of :func:`featherweight.aba`, differentiable by q, v and tau.

    q, v, tau: (nq,), (nv,), (nv,), or batches of them, of float64 or float32, all alike; f_ext: as there, an array, by
    which there is no gradient.

    >>> import torch
    >>> model = fw.models.pendulum()
    >>> q, v, tau = (torch.zeros(1, dtype=torch.float64, requires_grad=True) for _ in range(3))
    >>> fw.torch.aba(model, q, v, tau).sum().backward()
    >>> torch.allclose(q.grad, torch.tensor(fw.aba_derivatives(model, [0.0], [0.0], [0.0]).dq[0]))
    True
    """
    return _applied("tau", _core.aba, aba_vjp, model, q, v, tau, f_ext)


def rnea(
    model: Model, q: torch.Tensor, v: torch.Tensor, a: torch.Tensor, f_ext: ArrayLike | None = None
) -> torch.Tensor:
    """Joint forces as of :func:`featherweight.rnea`, differentiable by q, v and a. Arguments as in :func:`aba`.

    >>> import torch
    >>> model = fw.models.pendulum()
    >>> q = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    >>> fw.torch.rnea(model, q, torch.zeros(1).double(), torch.zeros(1).double()).sum().backward()
    >>> q.grad  # stiffness of gravity
    tensor([9.8100], dtype=torch.float64)
    """
    return _applied("a", _core.rnea, rnea_vjp, model, q, v, a, f_ext)


def _applied(
    name: str,
    function: Callable[..., Array],
    vjp: Callable[..., tuple[Array, Array, Array]],
    model: Model,
    q: torch.Tensor,
    v: torch.Tensor,
    x: torch.Tensor,
    f_ext: ArrayLike | None,
) -> torch.Tensor:
    tensors = checked({"q": q, "v": v, name: x})
    if isinstance(f_ext, torch.Tensor):
        if f_ext.requires_grad:
            raise ValueError("f_ext: requires a gradient, which these dynamics do not have")
        f_ext = array_of(f_ext)
    forces = None if f_ext is None else np.asarray(f_ext, dtype=np.float64)
    out: torch.Tensor = _Dynamics.apply(function, vjp, model, forces, *tensors.values())
    return out
