"""Networks that learn in PyTorch, on one thread: small ones are no faster on more, and have their bits from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch

from ..arrays import Array
from .checkpoints import Arrays, part
from .regression import EPSILON, FIRST, SECOND, Single

Layers = list[tuple[Single, Single]]

_ACTIVATIONS = {"elu": torch.nn.ELU, "tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}


@contextmanager
def one_thread() -> Iterator[None]:
    """For as long as this lasts."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def network(layers: Sequence[tuple[Array | Single, Array | Single]], activation: str) -> torch.nn.Sequential:
    """Of these weights (inputs, outputs) and biases, in single precision."""
    parts: list[torch.nn.Module] = []
    for W, b in layers:
        linear = torch.nn.utils.skip_init(torch.nn.Linear, *W.shape)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(np.ascontiguousarray(W.T)))
            linear.bias.copy_(torch.tensor(b))
        parts += [linear, _ACTIVATIONS[activation]()]
    return torch.nn.Sequential(*parts[:-1])


def layers_of(net: torch.nn.Sequential) -> Layers:
    """Weights and biases."""
    linear = [part for part in net if isinstance(part, torch.nn.Linear)]
    return [(part.weight.detach().numpy().T.copy(), part.bias.detach().numpy().copy()) for part in linear]


def fit(layers: Layers, activation: str, steps: Iterable[tuple[Single, Single, float]]) -> Layers:
    """As in :mod:`.numpy_networks`."""
    with one_thread():
        net = network(layers, activation)
        adam = torch.optim.Adam(net.parameters(), betas=(FIRST, SECOND), eps=EPSILON)
        for x, y, rate in steps:
            adam.param_groups[0]["lr"] = rate
            loss = (net(torch.from_numpy(x)) - torch.from_numpy(y)).square().mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
        return layers_of(net)


def adam_arrays(adam: torch.optim.Adam) -> Arrays:
    """What Adam remembers of its parameters."""
    states = (adam.state[p] for group in adam.param_groups for p in group["params"])
    return {f"{k}/{name}": x.numpy().copy() for k, state in enumerate(states) for name, x in state.items()}


def restore_adam(adam: torch.optim.Adam, arrays: Arrays) -> None:
    """Go on from what :func:`adam_arrays` gave."""
    for k, parameter in enumerate(p for group in adam.param_groups for p in group["params"]):
        adam.state[parameter] = {name: torch.from_numpy(x.copy()) for name, x in part(str(k), arrays).items()}
