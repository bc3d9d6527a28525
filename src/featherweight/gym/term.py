"""Terms: small functions of a :class:`World`, from which tasks are assembled."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, ParamSpec

import numpy as np

from ..arrays import Array
from .columns import Columns, Outside
from .world import World

P = ParamSpec("P")


@dataclass(frozen=True)
class Term:
    """A function of a :class:`World` with its arguments; called with a world, it returns an array with one row for each
    of its environments.

    ``0.5 * term`` scales the term; ``term.noisy(0.1)`` adds noise, uniformly distributed between -0.1 and 0.1.

    >>> -0.5 * fw.gym.Term(lambda world: world.q[:, 2]).noisy(0.1)
    -0.5 * <lambda>().noisy(0.1)
    """

    function: Callable[..., Any]  # of a world and the arguments, or what ``term`` made of it
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    scale: float = 1.0
    noise: float = 0.0

    def __call__(self, world: World) -> Any:
        value = self._value(world)
        if isinstance(value, (Columns, Outside)):
            value = value.read(world)
        if self.noise:
            value = value + world.random.uniform(-self.noise * np.ones(np.shape(value)[1:]), self.noise)
        return value if self.scale == 1.0 else self.scale * np.asarray(value)

    def picked(self, world: World) -> Columns | Outside | None:
        """What the term picks of a world, for the core to read; None for terms that compute."""
        value = self._value(world)
        if isinstance(value, Columns):
            return replace(value, scale=self.scale, noise=self.noise)
        return value if isinstance(value, Outside) and self.scale == 1.0 and not self.noise else None

    def _value(self, world: World) -> Any:
        return getattr(self.function, "__wrapped__", self.function)(world, *self.args, **self.kwargs)

    def __mul__(self, factor: float) -> Term:
        return replace(self, scale=self.scale * float(factor))

    __rmul__ = __mul__

    def __neg__(self) -> Term:
        return self * -1.0

    def noisy(self, size: float) -> Term:
        """Adds uniform noise between -size and size, in the units of the term before it is scaled."""
        if not size >= 0.0:
            raise ValueError(f"noise must not be negative, got {size!r}")
        return replace(self, noise=float(size))

    def __repr__(self) -> str:
        given = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        name = getattr(self.function, "__name__", repr(self.function))
        scale = "" if self.scale == 1.0 else f"{self.scale:g} * "
        noise = f".noisy({self.noise:g})" if self.noise else ""
        return f"{scale}{name}({', '.join(given)}){noise}"


def term(function: Callable[Concatenate[World, P], Array | Columns | Outside | None]) -> Callable[P, Term]:
    """Turns a function of a world and some arguments into one that takes the arguments and returns a :class:`Term`.

    A function that only picks columns may return :class:`featherweight.gym.Columns`, which is faster.

    >>> @fw.gym.term
    ... def height(world: fw.gym.World, part: str) -> fw.gym.Array:
    ...     return world.q[:, world.names.base(part).q_slice.start + 2]
    >>> 2.0 * height("robot")
    2 * height('robot')
    """

    @functools.wraps(function)
    def make(*args: P.args, **kwargs: P.kwargs) -> Term:
        return Term(make, args, kwargs)

    signature = inspect.signature(function)
    shown = signature.replace(parameters=list(signature.parameters.values())[1:], return_annotation="Term")
    make.__signature__ = shown  # type: ignore[attr-defined]
    return make


def as_term(what: str, value: object) -> Term:
    """A term, made of a plain function of a world if need be."""
    if isinstance(value, Term):
        return value
    if callable(value):
        return Term(value)
    raise ValueError(f"{what}: expected a term or a function of a world, got {value!r}")
