"""Some hundred inputs of every fuzzer: no crash, no hang, no silent nonsense. ``make fuzz`` tries many more."""

from __future__ import annotations

import time

import numpy as np
import pytest
from helpers.fuzzing import FUZZERS

#: Inputs of each, for some seconds in all.
INPUTS = {
    "drives": 150,
    "loops": 150,
    "models": 400,
    "states": 400,
    "meshes": 300,
    "functions": 3000,
    "scenes": 300,
    "texts": 400,
    "constraints": 1500,
    "mechanisms": 300,
}
LONGEST = 2.0  # [s] of computing for one input; a tenth of it is usual


@pytest.mark.parametrize("name", FUZZERS)
def test_inputs_that_nobody_would_write(name: str) -> None:
    if name == "meshes":
        pytest.importorskip("trimesh")
        pytest.importorskip("collada")
    if name == "texts":
        pytest.importorskip("mujoco")
    for seed in range(INPUTS[name]):
        start = time.process_time()
        try:
            FUZZERS[name](np.random.default_rng(seed))
        except Exception as error:
            raise AssertionError(f"{name}, seed {seed}: {error!r}") from error
        assert time.process_time() - start < LONGEST, f"{name}, seed {seed} took long"
