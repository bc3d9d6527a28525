"""Policies: small networks from observations to actions, in NumPy, for use where nothing was learnt."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import files
from ..arrays import Array, real_numbers
from ..records import Record

#: Between layers, and after the last one.
Activation = Literal["elu", "tanh", "relu"]
Output = Literal["tanh", "clip"]

#: Normalised observations stay within these bounds, so that one that hardly ever changed cannot drown the others.
BOUND = 10.0
#: Deviations are at least this.
LEAST = 1e-6

#: Of saved files.
_FORMAT = 1


def _elu(x: Array) -> Array:
    return np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0)))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "elu": _elu,
    "tanh": lambda x: np.asarray(np.tanh(x)),
    "relu": lambda x: np.maximum(x, 0.0),
}


@dataclass(frozen=True, eq=False)
class Policy(Record):
    """A multilayer perceptron that normalises what it observes. It runs on NumPy alone, in double precision.

    Called with observations (n, n_observations), or (n_observations,), it returns actions (n, n_actions) between -1 and
    1. Each row is computed by itself: the result has the same bits alone and in a batch of any size.

    >>> policy = fw.learn.Policy.initial(4, 2, hidden=(8, 8), seed=1)
    >>> policy(np.zeros((3, 4))).shape, policy(np.zeros(4)).shape
    ((3, 2), (2,))
    >>> policy
    <Policy: 4 observations, elu layers of 8, 8, 2 actions by tanh>
    """

    weights: tuple[Array, ...]  # of each layer, (inputs, outputs)
    biases: tuple[Array, ...]  # of each layer, (outputs,)
    mean: Array  # (n_observations,), subtracted first
    deviation: Array  # (n_observations,), divided by then; the quotient is cut to 10
    activation: Activation = "elu"  # between layers
    output: Output = "tanh"  # how the last layer is brought between -1 and 1

    def __post_init__(self) -> None:
        for name, known in (("activation", get_args(Activation)), ("output", get_args(Output))):
            if getattr(self, name) not in known:
                raise ValueError(f"policy: {name} must be one of {', '.join(known)}, got {getattr(self, name)!r}")
        if not self.weights or len(self.weights) != len(self.biases):
            raise ValueError(f"policy: {len(self.weights)} weights and {len(self.biases)} biases, expected one of each")
        arrays = {"weights": tuple(map(_numbers, self.weights)), "biases": tuple(map(_numbers, self.biases))}
        for k, (weight, bias) in enumerate(zip(*arrays.values(), strict=True)):
            inputs = arrays["weights"][k - 1].shape[-1] if k else np.size(self.mean)
            if weight.ndim != 2 or weight.shape[0] != inputs or bias.shape != weight.shape[1:]:
                raise ValueError(
                    f"policy: layer {k}: expected weights ({inputs}, outputs) and biases (outputs,), "
                    f"got {weight.shape} and {bias.shape}"
                )
        self.__dict__.update(arrays, mean=_numbers(self.mean), deviation=_numbers(self.deviation))
        if self.mean.ndim != 1 or self.mean.shape != self.deviation.shape:
            raise ValueError(f"policy: mean is {self.mean.shape} and deviation {self.deviation.shape}, not alike")
        if not (self.deviation > 0.0).all():
            raise ValueError("policy: deviations must be positive")

    @classmethod
    def initial(
        cls,
        n_observations: int,
        n_actions: int,
        *,
        hidden: Sequence[int] = (128, 64),
        activation: Activation = "elu",
        output: Output = "tanh",
        seed: int = 0,
    ) -> Policy:
        """What learning begins with: orthogonal layers, of which the last is small."""
        sizes = [n_observations, *hidden, n_actions]
        if any(isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1 for n in sizes):
            raise ValueError(f"policy: sizes of layers must be positive integers, got {sizes}")
        rng = np.random.default_rng(seed)
        gains = [np.sqrt(2.0)] * len(hidden) + [0.01]
        weights = tuple(gain * _orthogonal(rng, a, b) for gain, (a, b) in zip(gains, itertools.pairwise(sizes)))  # noqa: B905
        biases = tuple(np.zeros(n) for n in sizes[1:])
        return cls(weights, biases, np.zeros(n_observations), np.ones(n_observations), activation, output)

    @classmethod
    def from_torch(
        cls,
        layers: Iterable[Any],
        *,
        mean: ArrayLike | None = None,
        deviation: ArrayLike | None = None,
        output: Output = "clip",
    ) -> Policy:
        """The policy that PyTorch's linear layers make, with one kind of activation between them.

        layers: a ``torch.nn.Sequential``, or the layers in their order, of other libraries as well; mean, deviation: of
        observations, by default 0 and 1; output: how the numbers of the last layer are brought between -1 and 1.

        >>> import torch  # doctest: +SKIP
        >>> layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ELU(), torch.nn.Linear(8, 2))  # doctest: +SKIP
        >>> fw.learn.Policy.from_torch(layers)  # doctest: +SKIP
        <Policy: 4 observations, elu layers of 8, 2 actions by clip>
        """
        found = list(_flat(layers))
        linear = [layer for layer in found if hasattr(layer, "weight") and hasattr(layer, "bias")]
        between = {type(layer).__name__.lower() for layer in found if layer not in linear}
        between -= {"identity", "flatten", "dropout"}
        order = ["linear" if layer in linear else "activation" for layer in found]
        if not linear or any(type(layer).__name__ != "Linear" for layer in linear) or order[-1] != "linear":
            raise ValueError("policy: expected linear layers, the last of them at the end, got " + _kinds(found))
        if len(between) > 1 or not between <= set(ACTIVATIONS):
            raise ValueError(f"policy: expected one activation, {', '.join(ACTIVATIONS)}, got " + _kinds(found))
        weights = tuple(_numpy(layer.weight).T for layer in linear)
        biases = tuple(_numpy(layer.bias) for layer in linear)
        n = weights[0].shape[0]
        return cls(
            weights,
            biases,
            np.zeros(n) if mean is None else real_numbers("mean", mean),
            np.ones(n) if deviation is None else np.maximum(real_numbers("deviation", deviation), LEAST),
            between.pop() if between else "elu",  # type: ignore[arg-type]  # one of them, see above
            output,
        )

    @property
    def n_observations(self) -> int:
        """Numbers in an observation."""
        return len(self.mean)

    @property
    def n_actions(self) -> int:
        """Numbers in an action."""
        return len(self.biases[-1])

    @property
    def hidden(self) -> tuple[int, ...]:
        """Sizes of the layers between."""
        return tuple(len(bias) for bias in self.biases[:-1])

    def __call__(self, observations: ArrayLike) -> Array:
        x = real_numbers("observations", observations)
        if x.ndim not in (1, 2) or x.shape[-1] != self.n_observations:
            n = self.n_observations
            raise ValueError(f"observations: expected shape ({n},) or (batch, {n}), got {x.shape}")
        if not np.isfinite(x).all():
            place = tuple(np.argwhere(~np.isfinite(x))[0].tolist())
            raise ValueError(f"observations: {x[place]} at {place}")
        lead = x.shape[:-1]
        x = np.clip((x - self.mean) / self.deviation, -BOUND, BOUND).reshape(-1, 1, self.n_observations)
        between = ACTIVATIONS[self.activation]
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ weight + bias  # of each row by itself, so that no bit depends on the others
            if k < len(self.weights) - 1:
                x = between(x)
        x = x.reshape(*lead, self.n_actions)
        return np.tanh(x) if self.output == "tanh" else np.clip(x, -1.0, 1.0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save it as an .npz file of plain arrays, which :meth:`load` reads.

        >>> import tempfile
        >>> policy = fw.learn.Policy.initial(4, 2, hidden=(8,), seed=0)
        >>> file = tempfile.mkdtemp() + "/policy.npz"
        >>> policy.save(file)
        >>> again = fw.learn.Policy.load(file)
        >>> bool(np.array_equal(again(np.ones(4)), policy(np.ones(4))))
        True
        """
        files.write_arrays(path, {"format": _FORMAT, **self.arrays()})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a file that :meth:`save` wrote."""
        arrays = files.read_arrays(path)
        try:
            if "format" not in arrays or arrays["format"].shape != () or arrays["format"] != _FORMAT:
                raise ValueError("not a saved policy, or one of another version")
            return cls.from_arrays({name: x for name, x in arrays.items() if name != "format"})
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it by name, for files that hold more than a policy."""
        layers = {f"weights/{k}": x for k, x in enumerate(self.weights)}
        layers |= {f"biases/{k}": x for k, x in enumerate(self.biases)}
        kinds = {
            "activation": get_args(Activation).index(self.activation),
            "output": get_args(Output).index(self.output),
        }
        named = {name: np.array(k) for name, k in kinds.items()}
        return layers | {"mean": self.mean, "deviation": self.deviation} | named

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Policy:
        """What :meth:`arrays` gave."""
        n = sum(name.startswith("weights/") for name in arrays)
        wanted = {f"{part}/{k}" for part in ("weights", "biases") for k in range(n)}
        wanted |= {"mean", "deviation", "activation", "output"}
        if wanted != set(arrays):
            odd = sorted(wanted ^ set(arrays))
            raise ValueError(f"not a policy: {odd[0]!r} is {'missing' if odd[0] in wanted else 'nothing that it has'}")
        kinds: list[Any] = []
        for name, known in (("activation", get_args(Activation)), ("output", get_args(Output))):
            k = arrays[name]
            if k.shape != () or k not in range(len(known)):
                raise ValueError(f"not a policy: {name} is {k!r}")
            kinds.append(known[int(k)])
        weights, biases = (tuple(arrays[f"{part}/{k}"] for k in range(n)) for part in ("weights", "biases"))
        activation, output = kinds
        return cls(weights, biases, arrays["mean"], arrays["deviation"], activation, output)

    def __repr__(self) -> str:
        layers = f"{self.activation} layers of {', '.join(map(str, self.hidden))}" if self.hidden else "linear"
        return f"<Policy: {self.n_observations} observations, {layers}, {self.n_actions} actions by {self.output}>"


def _numbers(value: ArrayLike) -> Array:
    array = np.array(real_numbers("policy", value), order="C")
    if not np.isfinite(array).all():
        raise ValueError("policy: its numbers must be finite")
    array.setflags(write=False)
    return array


def _orthogonal(rng: np.random.Generator, inputs: int, outputs: int) -> Array:
    Q = np.linalg.qr(rng.standard_normal((max(inputs, outputs), min(inputs, outputs))))[0]
    return Q if inputs >= outputs else Q.T


def _flat(layers: Iterable[Any]) -> Iterable[Any]:
    for layer in layers:
        if hasattr(layer, "__iter__"):
            yield from _flat(layer)
        else:
            yield layer


def _kinds(layers: Sequence[Any]) -> str:
    return ", ".join(type(layer).__name__ for layer in layers) or "none"


def _numpy(tensor: Any) -> Array:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)
