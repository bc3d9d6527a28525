"""Every public function of the foundation with the arrays it takes, for tests that hold for all of them.

What returns several arrays, derivatives for instance, is seen as one: all of them flattened, one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np

import featherweight as fw
from featherweight.arrays import Array

from .forests import Forest, State

FRAME = "frame_2"  # of a Forest: a posed frame on the last link


@dataclass(frozen=True)
class Function:
    """``fw.<name>(model, *arrays, [frame])``."""

    name: str
    arrays: tuple[str, ...]
    on_frame: bool = False

    def __call__(self, model: fw.Model, arrays: dict[str, Any], frame: Any = FRAME, **options: Any) -> Array:
        positional = [arrays[name] for name in self.arrays] + ([frame] if self.on_frame else [])
        result = getattr(fw, self.name)(model, *positional, **options)
        if not isinstance(result, tuple) and not is_dataclass(result):
            return result  # type: ignore[no-any-return]
        parts = list(result) if isinstance(result, tuple) else list(vars(result).values())
        batched = any(np.ndim(arrays[name]) > (2 if name == "f_ext" else 1) for name in self.arrays)
        return np.concatenate([np.reshape(part, (len(part), -1) if batched else -1) for part in parts], axis=-1)

    def shape(self, model: fw.Model) -> tuple[int, ...]:
        """Of the result for one sample."""
        return {
            "forward_kinematics": (model.n_links, 4, 4),
            "frame_placement": (4, 4),
            "frame_velocity": (6,),
            "frame_acceleration": (6,),
            "jacobian": (6, model.nv),
            "crba": (model.nv, model.nv),
            "minverse": (model.nv, model.nv),
            "center_of_mass": (3,),
            "kinetic_energy": (),
            "potential_energy": (),
            "centroidal_momentum": (6,),
            "rnea_derivatives": (model.nv + 3 * model.nv**2,),
            "rnea_vjp": (3 * model.nv,),
            "aba_derivatives": (model.nv + 3 * model.nv**2,),
            "aba_vjp": (3 * model.nv,),
            "frame_velocity_derivatives": (12 * model.nv,),
            "frame_acceleration_derivatives": (18 * model.nv,),
            "jacobian_time_derivative": (6, model.nv),
            "center_of_mass_derivatives": (3 * model.nv,),
            "centroidal_momentum_derivatives": (12 * model.nv,),
        }.get(self.name, (model.nv,))


FUNCTIONS = [
    Function("forward_kinematics", ("q",)),
    Function("frame_placement", ("q",), on_frame=True),
    Function("frame_velocity", ("q", "v"), on_frame=True),
    Function("frame_acceleration", ("q", "v", "a"), on_frame=True),
    Function("jacobian", ("q",), on_frame=True),
    Function("rnea", ("q", "v", "a", "f_ext")),
    Function("aba", ("q", "v", "tau", "f_ext")),
    Function("bias_forces", ("q", "v")),
    Function("gravity_forces", ("q",)),
    Function("crba", ("q",)),
    Function("minverse", ("q",)),
    Function("center_of_mass", ("q",)),
    Function("kinetic_energy", ("q", "v")),
    Function("potential_energy", ("q",)),
    Function("centroidal_momentum", ("q", "v")),
    Function("rnea_derivatives", ("q", "v", "a", "f_ext")),
    Function("rnea_vjp", ("q", "v", "a", "w", "f_ext")),
    Function("aba_derivatives", ("q", "v", "tau", "f_ext")),
    Function("aba_vjp", ("q", "v", "tau", "w", "f_ext")),
    Function("frame_velocity_derivatives", ("q", "v"), on_frame=True),
    Function("frame_acceleration_derivatives", ("q", "v", "a"), on_frame=True),
    Function("jacobian_time_derivative", ("q", "v"), on_frame=True),
    Function("center_of_mass_derivatives", ("q",)),
    Function("centroidal_momentum_derivatives", ("q", "v")),
]


#: Those that solve with the joint-space inertia, and lose digits as it is conditioned.
CONDITIONED = ("aba", "minverse", "aba_derivatives", "aba_vjp")


def arrays_of(state: State) -> dict[str, Array]:
    w = np.cos(np.arange(state.v.size)) * state.v  # what products of derivatives are taken with
    return {"q": state.q, "v": state.v, "a": state.a, "tau": state.tau, "f_ext": state.f_ext, "w": w}


def batch_of(forest: Forest, batch: int, dtype: Any = np.float64) -> dict[str, Array]:
    """``batch`` different states, every array (batch, ...)."""
    samples = [arrays_of(forest.state(seed)) for seed in range(batch)]
    return {name: np.stack([sample[name] for sample in samples]).astype(dtype) for name in samples[0]}


def sample_of(arrays: dict[str, Array], i: int) -> dict[str, Array]:
    return {name: array[i] for name, array in arrays.items()}
