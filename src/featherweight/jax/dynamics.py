"""Forward and inverse dynamics of JAX arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import numpy as np

from .. import _core
from ..arrays import Array
from ..derivatives.coordinates import coordinates_of
from ..derivatives.forward_dynamics import aba_derivatives, aba_vjp
from ..derivatives.inverse_dynamics import rnea_derivatives, rnea_vjp
from ..model.model import Model
from .linearised import Product, checked


class _Dynamics(Product):
    def __init__(self, model: Model, names: tuple[str, str], functions: tuple[Callable[..., Any], ...]) -> None:
        self.arguments = {"q": (model.nq,), "v": (model.nv,), names[0]: (model.nv,)}
        self.results = {names[1]: (model.nv,)}
        self._model, self._names = model, names
        self._function, self._derivatives, self._vjp = functions

    def value(self, given: dict[str, Array]) -> Sequence[Array]:
        return [np.asarray(self._function(self._model, *given.values(), None))]

    def push(self, given: dict[str, Array], tangents: dict[str, Array]) -> Sequence[Array]:
        d = self._derivatives(self._model, *given.values())
        along_q = coordinates_of(self._model).tangent(given["q"], tangents["q"])
        parts = ((d.dq, along_q), (d.dv, tangents["v"]), (getattr(d, f"d{self._names[0]}"), tangents[self._names[0]]))
        return [np.sum([(matrix @ x[..., None])[..., 0] for matrix, x in parts], axis=0)]

    def pull(self, given: dict[str, Array], cotangents: Sequence[Array]) -> dict[str, Array]:
        by_q, by_v, by_x = self._vjp(self._model, *given.values(), cotangents[0])
        return {"q": coordinates_of(self._model).gradient(given["q"], by_q), "v": by_v, self._names[0]: by_x}


@cache
def _forward(model: Model) -> _Dynamics:
    return _Dynamics(model, ("tau", "a"), (_core.aba, aba_derivatives, aba_vjp))


@cache
def _inverse(model: Model) -> _Dynamics:
    return _Dynamics(model, ("a", "tau"), (_core.rnea, rnea_derivatives, rnea_vjp))


def aba(model: Model, q: Any, v: Any, tau: Any) -> jax.Array:
    """Accelerations as of :func:`featherweight.aba`, differentiable by q, v and tau.

    q, v, tau: (nq,), (nv,), (nv,), or with the batch first; what has none is for all of it.

    >>> import jax
    >>> model = fw.models.pendulum()
    >>> slope = jax.grad(lambda q: fw.jax.aba(model, q, np.zeros(1), np.zeros(1))[0])(np.zeros(1))
    >>> bool(np.allclose(slope, fw.aba_derivatives(model, [0.0], [0.0], [0.0]).dq[0]))
    True
    """
    product = _forward(model)
    result: jax.Array = product.function(*checked({"q": q, "v": v, "tau": tau}, product.arguments))[0]
    return result


def rnea(model: Model, q: Any, v: Any, a: Any) -> jax.Array:
    """Joint forces as of :func:`featherweight.rnea`, differentiable by q, v and a. Arguments as in :func:`aba`.

    >>> model = fw.models.arm()
    >>> tau = fw.jax.rnea(model, np.zeros(7), np.zeros(7), np.zeros(7))
    >>> bool(np.allclose(tau, fw.gravity_forces(model, np.zeros(7)), atol=1e-5))
    True
    """
    product = _inverse(model)
    result: jax.Array = product.function(*checked({"q": q, "v": v, "a": a}, product.arguments))[0]
    return result
