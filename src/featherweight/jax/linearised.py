"""Functions of NumPy with products of their derivatives, as functions of JAX with derivatives in both directions.

The function itself is a ``jax.custom_jvp``. What its rule returns is linear in the tangents, and JAX has to know how to
turn that around: so it is a primitive of its own, whose transpose is itself with the other product. One rule serves
``jvp``, ``vjp``, ``jacfwd`` and ``jacrev``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from numpy.typing import NDArray

from ..arrays import Array
from . import host_calls

Shape: TypeAlias = tuple[int, ...]

_SECOND = "featherweight has first derivatives only: that of a derivative was asked for (jax.hessian, or grad of grad)"


class Product(ABC):
    """A function of named arrays, with leading dimensions () or (batch,), and products of its derivatives."""

    #: Shapes of arguments and results without leading dimensions, by name.
    arguments: Mapping[str, Shape]
    results: Mapping[str, Shape]

    @abstractmethod
    def value(self, given: dict[str, Array]) -> Sequence[Array]:
        """The results."""

    @abstractmethod
    def push(self, given: dict[str, Array], tangents: dict[str, Array]) -> Sequence[Array]:
        """Tangents of the results."""

    @abstractmethod
    def pull(self, given: dict[str, Array], cotangents: Sequence[Array]) -> dict[str, Array]:
        """Cotangents of the arguments."""

    # -- as JAX calls it ---------------------------------------------------------------------------------------------

    @cached_property
    def numbers(self) -> tuple[int, int, int]:
        """Under which the three are known to :func:`host_calls.call`."""
        return tuple(host_calls.register(each) for each in (self._run_value, self._run_push, self._run_pull))  # type: ignore[return-value]

    @cached_property
    def function(self) -> Any:
        """Of arrays in the order of ``arguments``."""
        value = jax.custom_jvp(lambda *given: tuple(_call(self, 0, self.results, given)))

        def rule(primals: Any, tangents: Any) -> Any:
            return value(*primals), tuple(_linear.bind(*primals, *tangents, product=self, reverse=False))

        value.defjvp(rule)
        return value

    def _run_value(self, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]) -> None:
        given, _ = self._split(inputs, self.arguments)
        _fill(outputs, self.value(given))

    def _run_push(self, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]) -> None:
        given, rest = self._split(inputs, self.arguments)
        _fill(outputs, self.push(given, self._split(rest, self.arguments)[0]))

    def _run_pull(self, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]) -> None:
        given, rest = self._split(inputs, self.arguments)
        parts = self.pull(given, list(self._split(rest, self.results)[0].values()))
        _fill(outputs, [parts[name] for name in self.arguments])

    @staticmethod
    def _split(
        inputs: Sequence[NDArray[Any]], shapes: Mapping[str, Shape]
    ) -> tuple[dict[str, Array], Sequence[NDArray[Any]]]:
        """The first of them by name, as float64 with all leading dimensions made one, and the rest."""
        out = {}
        for (name, shape), x in zip(shapes.items(), inputs, strict=False):
            lead = x.ndim - len(shape)
            flat = x if lead <= 1 else x.reshape(-1, *shape)
            out[name] = np.asarray(flat, dtype=np.float64)
        return out, inputs[len(shapes) :]


def _fill(outputs: Sequence[NDArray[Any]], results: Sequence[Array]) -> None:
    for out, result in zip(outputs, results, strict=True):
        out[...] = result.reshape(out.shape)


def _call(product: Product, which: int, shapes: Mapping[str, Shape], arguments: Sequence[Any]) -> list[Any]:
    first = arguments[0]
    lead = first.shape[: first.ndim - len(next(iter(product.arguments.values())))]
    results = [jax.ShapeDtypeStruct((*lead, *shape), first.dtype) for shape in shapes.values()]
    return host_calls.call(product.numbers[which], results, arguments)


# -- the primitive -----------------------------------------------------------------------------------------------------

_linear = Primitive("featherweight_linear")
_linear.multiple_results = True


def _run(*args: Any, product: Product, reverse: bool) -> list[Any]:
    return _call(product, 2 if reverse else 1, product.arguments if reverse else product.results, args)


def _shapes(*args: Any, product: Product, reverse: bool) -> list[Any]:
    first = args[0]
    lead = first.shape[: len(first.shape) - len(next(iter(product.arguments.values())))]
    shapes = product.arguments if reverse else product.results
    return [first.update(shape=(*lead, *shape)) for shape in shapes.values()]


def _tangent(primals: Sequence[Any], tangents: Sequence[Any], *, product: Product, reverse: bool) -> Any:
    n = len(product.arguments)
    if any(type(x) is not ad.Zero for x in tangents[:n]):
        raise NotImplementedError(_SECOND)
    along = [ad.instantiate_zeros(x) for x in tangents[n:]]
    bind = partial(_linear.bind, *primals[:n], product=product, reverse=reverse)
    return bind(*primals[n:]), bind(*along)


def _transposed(cotangents: Sequence[Any], *args: Any, product: Product, reverse: bool) -> list[Any]:
    n = len(product.arguments)
    given, linear = args[:n], args[n:]
    if any(ad.is_undefined_primal(x) for x in given):
        raise NotImplementedError(_SECOND)
    back = _linear.bind(*given, *map(ad.instantiate_zeros, cotangents), product=product, reverse=not reverse)
    found = [x if ad.is_undefined_primal(each) else None for x, each in zip(back, linear, strict=True)]
    return [None] * n + found


def _batched(args: Sequence[Any], dims: Sequence[Any], *, product: Product, reverse: bool) -> Any:
    size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    moved = [
        jnp.broadcast_to(x, (size, *x.shape)) if d is None else jnp.moveaxis(x, d, 0)
        for x, d in zip(args, dims, strict=True)
    ]
    out = _linear.bind(*moved, product=product, reverse=reverse)
    return out, [0] * len(out)


_linear.def_impl(_run)
_linear.def_abstract_eval(_shapes)
ad.primitive_jvps[_linear] = _tangent
ad.primitive_transposes[_linear] = _transposed
batching.primitive_batchers[_linear] = _batched
mlir.register_lowering(_linear, mlir.lower_fun(_run, multiple_results=True), platform="cpu")


# -- arguments ---------------------------------------------------------------------------------------------------------


def checked(given: Mapping[str, Any], shapes: Mapping[str, Shape]) -> list[Any]:
    """All as arrays of one dtype and with the same leading dimensions, () or (batch,); what has none is for all."""
    arrays: dict[str, Any] = {}
    for name, x in given.items():
        array = jnp.asarray(x)
        if not jnp.issubdtype(array.dtype, jnp.floating) and not jnp.issubdtype(array.dtype, jnp.integer):
            raise TypeError(f"{name}: expected an array of real numbers, got {array.dtype}")
        arrays[name] = array
    dtype = jnp.result_type(*arrays.values(), jnp.float32)
    if dtype not in (jnp.float32, jnp.float64):
        raise TypeError(f"expected float64 or float32, got {dtype}")
    lead: Shape = max((x.shape[: x.ndim - len(shapes[name])] for name, x in arrays.items()), key=len)[-1:]
    for name, x in arrays.items():
        shape = shapes[name]
        if x.shape not in (shape, (*lead, *shape)):
            batched = str((*(lead or ("batch",)), *shape)).replace("'", "")
            raise ValueError(f"{name}: expected shape {shape} or {batched}, got {x.shape}")
    return [jnp.broadcast_to(x.astype(dtype), (*lead, *shapes[name])) for name, x in arrays.items()]
