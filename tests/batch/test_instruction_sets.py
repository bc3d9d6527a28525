"""Every instruction set this CPU runs computes the same physics.

Here every function is compared between instruction sets. What else the tests say of dynamics, constraints, contact and
steps is said of the active one; MAIN_TESTS are run again on each of the others, in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.compare import assert_close, assert_same_bits, solve_tolerance
from helpers.forests import random_forest
from helpers.functions import CONDITIONED, FUNCTIONS, Function, batch_of, sample_of
from helpers.instruction_sets import AVAILABLE, KNOWN, PLAINEST, missing

import featherweight as fw
from featherweight import _testing

TESTS = Path(__file__).parents[1]
#: Under a minute together. tests/lanes goes through all instruction sets by itself; collision is compiled once for all,
#: and what it finds on placements computed by lanes is part of the steps.
MAIN_TESTS = (
    "dynamics/test_aba.py",
    "dynamics/test_crba.py",
    "dynamics/test_minverse.py",
    "dynamics/test_rnea.py",
    "constrained/test_constrained_inverse_dynamics.py",
    "constrained/test_feedback.py",
    "constrained/test_hard_problems.py",
    "constrained/test_impulse_dynamics.py",
    "constrained/test_penalty_methods.py",
    "delassus/test_delassus.py::TestValues",
    "delassus/test_delassus_inverse.py",
    "contact/test_blocks.py",
    "contact/test_degenerate_cones.py",
    "contact/test_islands.py",
    "contact/test_solvers.py",
    "collision/test_rest.py",
    "simulation/test_step_oracle.py",
    "simulation/test_same_bits.py",
    "physics/test_incline.py",
    "physics/test_resting.py",
)

FOREST = random_forest(seed=21, n_links=14)
MODEL = fw.Model(FOREST.description)

every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
every_isa = pytest.mark.parametrize("isa", AVAILABLE)


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Whatever a test switched to, the next one starts from the default."""
    default = fw.build_info()["isa"]
    yield
    _testing.use_isa(default)


def test_the_best_instruction_set_is_chosen_unless_another_is_asked_for() -> None:
    assert [isa for isa in KNOWN if isa in AVAILABLE] == AVAILABLE
    assert fw.build_info()["isa"] == (os.environ.get("FEATHERWEIGHT_ISA") or AVAILABLE[0])


@pytest.mark.timeout(900)
@pytest.mark.parametrize("isa", KNOWN)
def test_main_tests_pass_on(isa: str) -> None:
    if reason := missing(isa):
        pytest.skip(reason)
    if isa == fw.build_info()["isa"]:
        pytest.skip("it is the active one, on which all tests run")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    paths = [str(TESTS / path) for path in MAIN_TESTS]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *paths],
        cwd=TESTS.parent, env={**inherited, "FEATHERWEIGHT_ISA": isa}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if result.returncode != 0:
        pytest.fail(f"FEATHERWEIGHT_ISA={isa}:\n{result.stdout[-6000:]}{result.stderr[-2000:]}", pytrace=False)


@every_isa
@every_function
def test_instruction_sets_agree(function: Function, isa: str) -> None:
    arrays = batch_of(FOREST, 19)
    _testing.use_isa(PLAINEST)
    expected = function(MODEL, arrays)
    conditioned = function.name in CONDITIONED
    tolerance = 0.1 * max(map(solve_tolerance, fw.crba(MODEL, arrays["q"]))) if conditioned else 1e-13
    _testing.use_isa(isa)
    assert fw.build_info()["isa"] == isa
    assert_close(function(MODEL, arrays), expected, tolerance, f"{function.name} on {isa}")


@every_isa
@every_function
def test_batch_is_its_samples_on_every_instruction_set(function: Function, isa: str) -> None:
    arrays = batch_of(FOREST, 13)
    _testing.use_isa(isa)
    singles = np.stack([function(MODEL, sample_of(arrays, i)) for i in range(13)])
    assert_same_bits(function(MODEL, arrays), singles, f"{function.name} on {isa}")


def test_unknown_instruction_set_is_refused() -> None:
    with pytest.raises(ValueError, match="pentium"):
        _testing.use_isa("pentium")


def test_model_survives_a_switch_of_instruction_set() -> None:
    s = FOREST.state()
    model = fw.Model(FOREST.description)
    before = fw.rnea(model, s.q, s.v, s.a)
    for isa in AVAILABLE:
        _testing.use_isa(isa)
        assert_close(fw.rnea(model, s.q, s.v, s.a), before, 1e-13)
