"""Dynamics, steps and rollouts as functions of PyTorch tensors, with the gradients of featherweight.

Needs the extra ``featherweight[torch]``; PyTorch is imported when the first function is asked for.

>>> import torch
>>> model = fw.models.arm()
>>> q, v = torch.zeros(7, dtype=torch.float64), torch.zeros(7, dtype=torch.float64)
>>> tau = torch.ones(7, dtype=torch.float64, requires_grad=True)
>>> fw.torch.aba(model, q, v, tau).sum().backward()
>>> torch.allclose(tau.grad, torch.tensor(fw.minverse(model, q.numpy()).sum(axis=0)))
True
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dynamics import aba, rnea
    from .environments import Environment, Transition
    from .steps import Rollout, Step, rollout, step

__all__ = ["Environment", "Rollout", "Step", "Transition", "aba", "rnea", "rollout", "step"]

_HOMES = {
    "Environment": "environments",
    "Transition": "environments",
    "aba": "dynamics",
    "rnea": "dynamics",
    "Rollout": "steps",
    "Step": "steps",
    "rollout": "steps",
    "step": "steps",
}


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        try:
            import torch  # noqa: F401
        except ImportError:
            raise ImportError('featherweight.torch needs PyTorch: pip install "featherweight[torch]"') from None
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
