"""Dynamics, steps and rollouts as functions of JAX arrays, under ``jit``, ``vmap`` and derivatives in both directions.

Needs the extra ``featherweight[jax]``; JAX is imported when the first function is asked for. They run on the CPU, in
the precision of their arguments: ``jax.config.update("jax_enable_x64", True)`` for all of it.

>>> import jax, jax.numpy as jnp
>>> jax.config.update("jax_enable_x64", True)
>>> model = fw.models.arm()
>>> gradient = jax.jit(jax.grad(lambda tau: fw.jax.aba(model, jnp.zeros(7), jnp.zeros(7), tau).sum()))
>>> bool(jnp.allclose(gradient(jnp.ones(7)), fw.minverse(model, np.zeros(7)).sum(axis=0)))
True
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dynamics import aba, rnea
    from .steps import rollout, step

__all__ = ["aba", "rnea", "rollout", "step"]

_HOMES = {"aba": "dynamics", "rnea": "dynamics", "rollout": "steps", "step": "steps"}


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        try:
            import jax  # noqa: F401
        except ImportError:
            raise ImportError('featherweight.jax needs JAX: pip install "featherweight[jax]"') from None
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
