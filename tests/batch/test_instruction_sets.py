"""Every instruction set this CPU runs computes the same physics."""

from collections.abc import Iterator

import numpy as np
import pytest
from helpers.compare import assert_close, assert_same_bits, solve_tolerance
from helpers.forests import random_forest
from helpers.functions import FUNCTIONS, Function, batch_of, sample_of

import featherweight as fw
from featherweight import _core

AVAILABLE = [isa for isa in fw.build_info()["available_isas"] if isa != "counting"]

FOREST = random_forest(seed=21, n_links=14)
MODEL = fw.Model(FOREST.description)

every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
every_isa = pytest.mark.parametrize("isa", AVAILABLE)


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Whatever a test switched to, the next one starts from the default."""
    default = fw.build_info()["isa"]
    yield
    _core.use_isa(default)


def test_scalar_and_baseline_are_always_there() -> None:
    assert {"scalar", "baseline"} <= set(AVAILABLE)


@every_isa
@every_function
def test_instruction_sets_agree(function: Function, isa: str) -> None:
    arrays = batch_of(FOREST, 19)
    _core.use_isa("scalar")
    expected = function(MODEL, arrays)
    conditioned = function.name in ("aba", "minverse")
    tolerance = 0.1 * max(map(solve_tolerance, fw.crba(MODEL, arrays["q"]))) if conditioned else 1e-13
    _core.use_isa(isa)
    assert fw.build_info()["isa"] == isa
    assert_close(function(MODEL, arrays), expected, tolerance, f"{function.name} on {isa}")


@every_isa
@every_function
def test_batch_is_its_samples_on_every_instruction_set(function: Function, isa: str) -> None:
    arrays = batch_of(FOREST, 13)
    _core.use_isa(isa)
    singles = np.stack([function(MODEL, sample_of(arrays, i)) for i in range(13)])
    assert_same_bits(function(MODEL, arrays), singles, f"{function.name} on {isa}")


def test_unknown_instruction_set_is_refused() -> None:
    with pytest.raises(ValueError, match="pentium"):
        _core.use_isa("pentium")


def test_model_survives_a_switch_of_instruction_set() -> None:
    s = FOREST.state()
    model = fw.Model(FOREST.description)
    before = fw.rnea(model, s.q, s.v, s.a)
    for isa in AVAILABLE:
        _core.use_isa(isa)
        assert_close(fw.rnea(model, s.q, s.v, s.a), before, 1e-13)
