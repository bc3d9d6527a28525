"""A batch is its samples: same bits wherever a sample sits, however many threads work, however often it is asked."""

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close, assert_same_bits
from helpers.forests import Forest, forests, random_forest
from helpers.functions import CONDITIONED, FUNCTIONS, Function, batch_of, sample_of
from hypothesis import given, settings
from hypothesis import strategies as st

import featherweight as fw
from featherweight import _testing

every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)

FOREST = random_forest(seed=11, n_links=14)
MODEL = fw.Model(FOREST.description)


@every_function
def test_shapes(function: Function) -> None:
    shape = function.shape(MODEL)
    arrays = batch_of(FOREST, 3)
    assert np.shape(function(MODEL, sample_of(arrays, 0))) == shape
    assert np.shape(function(MODEL, arrays)) == (3, *shape)
    assert np.shape(function(MODEL, {name: array[:1] for name, array in arrays.items()})) == (1, *shape)


@every_function
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("batch", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33])
def test_batch_is_its_samples_bit_for_bit(function: Function, batch: int, dtype: type) -> None:
    arrays = batch_of(FOREST, batch, dtype)
    singles = np.stack([function(MODEL, sample_of(arrays, i)) for i in range(batch)])
    assert_same_bits(function(MODEL, arrays), singles, function.name)


@settings(max_examples=10)
@given(forests(), st.integers(1, 20))
def test_batch_is_its_samples_on_any_forest(forest: Forest, batch: int) -> None:
    model, arrays = fw.Model(forest.description), batch_of(forest, batch)
    for function in FUNCTIONS:
        singles = np.stack([function(model, sample_of(arrays, i)) for i in range(batch)])
        assert_same_bits(function(model, arrays), singles, function.name)


@every_function
def test_place_in_the_batch_does_not_matter(function: Function) -> None:
    arrays = batch_of(FOREST, 37)
    result = function(MODEL, arrays)
    order = np.random.default_rng(0).permutation(37)
    shuffled = function(MODEL, {name: array[order] for name, array in arrays.items()})
    assert_same_bits(shuffled, result[order], function.name)


@every_function
def test_any_number_of_threads_gives_the_same_bits(function: Function) -> None:
    arrays = batch_of(FOREST, 300)
    expected = function(MODEL, arrays, num_threads=1)
    for threads in (2, 3, 4, 7, 64, None):
        assert_same_bits(function(MODEL, arrays, num_threads=threads), expected, f"{function.name}, {threads} threads")


@every_function
def test_called_twice_gives_the_same_bits(function: Function) -> None:
    arrays = batch_of(FOREST, 50)
    first = function(MODEL, arrays)
    for other in FUNCTIONS:  # whatever else used the workspace in between
        other(MODEL, sample_of(arrays, 3))
    assert_same_bits(function(MODEL, arrays), first, function.name)


@every_function
def test_inputs_are_not_changed(function: Function) -> None:
    arrays = batch_of(FOREST, 5)
    before = {name: array.copy() for name, array in arrays.items()}
    function(MODEL, arrays)
    for name, array in arrays.items():
        assert_same_bits(array, before[name], name)


@every_function
def test_results_are_fresh_arrays(function: Function) -> None:
    arrays = batch_of(FOREST, 5)
    first = function(MODEL, arrays)
    kept = first.copy()
    second = function(MODEL, {**arrays, "q": batch_of(FOREST, 10)["q"][5:]})
    assert not np.shares_memory(first, second)
    assert_same_bits(first, kept, function.name)
    assert first.flags.writeable
    assert first.flags.c_contiguous


@every_function
def test_unbatched_arguments_broadcast(function: Function) -> None:
    arrays = batch_of(FOREST, 6)
    for name in function.arrays:
        mixed = {**arrays, name: arrays[name][0]}
        spread = {**arrays, name: np.broadcast_to(arrays[name][0], arrays[name].shape)}
        if len(function.arrays) > 1:
            assert_same_bits(function(MODEL, mixed), function(MODEL, spread), f"{function.name}, {name}")


@every_function
def test_only_one_batched_argument_is_enough(function: Function) -> None:
    arrays = batch_of(FOREST, 6)
    single = sample_of(arrays, 0)
    for name in function.arrays:
        result = function(MODEL, {**single, name: arrays[name]})
        expected = np.stack([function(MODEL, {**single, name: row}) for row in arrays[name]])
        assert_same_bits(result, expected, f"{function.name}, {name}")


@every_function
def test_layout_of_the_input_does_not_matter(function: Function) -> None:
    arrays = batch_of(FOREST, 6)
    expected = function(MODEL, arrays)

    def every_second_row(x: np.ndarray) -> np.ndarray:
        padded = np.full((2 * len(x), *x.shape[1:]), np.nan)
        padded[::2] = x
        return padded[::2]

    def every_second_column(x: np.ndarray) -> np.ndarray:
        padded = np.full((*x.shape[:-1], 2 * x.shape[-1]), np.nan)
        padded[..., ::2] = x
        return padded[..., ::2]

    def read_only(x: np.ndarray) -> np.ndarray:
        copy = x.copy()
        copy.setflags(write=False)
        return copy

    def unaligned(x: np.ndarray) -> np.ndarray:
        raw = np.zeros(x.nbytes + 1, np.uint8)
        view = raw[1:].view(x.dtype).reshape(x.shape)
        view[...] = x
        return view

    layouts: dict[str, Callable[[np.ndarray], Any]] = {
        "fortran": np.asfortranarray,
        "rows": every_second_row,
        "columns": every_second_column,
        "reversed": lambda x: x[::-1].copy()[::-1],
        "backwards": lambda x: x[..., ::-1].copy()[..., ::-1],
        "read only": read_only,
        "unaligned": unaligned,
        "lists": lambda x: x.tolist(),
    }
    for name, layout in layouts.items():
        changed = {key: layout(array) for key, array in arrays.items()}
        assert_same_bits(function(MODEL, changed), expected, f"{function.name}, {name}")


def test_whole_numbers_are_numbers() -> None:
    model = fw.models.pendulum()
    assert_same_bits(fw.rnea(model, [0], [1], [2]), fw.rnea(model, [0.0], [1.0], [2.0]))
    assert_same_bits(fw.crba(model, np.zeros((3, 1), int)), fw.crba(model, np.zeros((3, 1))))


@every_function
def test_float32_in_float32_out(function: Function) -> None:
    """Against float64 on the same rounded inputs: some roundings a link, on the result's scale, and what the condition
    of the mass matrix leaves of single precision where it is inverted."""
    forest = random_forest(seed=2, n_links=10)
    model, arrays = fw.Model(forest.description), batch_of(forest, 20, np.float32)
    for i in range(20):
        sample = sample_of(arrays, i)
        wide = {name: array.astype(np.float64) for name, array in sample.items()}
        for joint in model.joints:
            if joint.type in ("spherical", "free"):
                quaternion = wide["q"][joint.q_slice][-4:]
                quaternion /= np.linalg.norm(quaternion)
        result = function(model, sample)
        assert np.asarray(result).dtype == np.float32
        eps = float(np.finfo(np.float32).eps)
        tolerance = 4 * eps * model.n_links
        if function.name in CONDITIONED:
            tolerance += eps * float(np.linalg.cond(fw.crba(model, wide["q"])))
        assert_close(result, function(model, wide), tolerance, function.name)


@every_function
def test_mixed_precision_runs_in_double(function: Function) -> None:
    arrays = batch_of(FOREST, 4, np.float32)
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}
    for name in function.arrays[1:]:
        mixed = {**wide, name: arrays[name]}
        assert_same_bits(function(MODEL, mixed), function(MODEL, wide), f"{function.name}, {name}")


def test_missing_external_forces_are_none() -> None:
    s = FOREST.state()
    assert_same_bits(fw.rnea(MODEL, s.q, s.v, s.a, None), fw.rnea(MODEL, s.q, s.v, s.a))
    assert_same_bits(fw.aba(MODEL, s.q, s.v, s.tau, f_ext=None), fw.aba(MODEL, s.q, s.v, s.tau))


@pytest.mark.parametrize("batch", [1, 100])
def test_warm_calls_do_not_allocate(batch: int) -> None:
    arrays = batch_of(FOREST, batch)
    for function in FUNCTIONS:
        function(MODEL, arrays, num_threads=1)
    before = _testing.allocation_count()
    for function in FUNCTIONS:
        function(MODEL, arrays, num_threads=1)
    assert _testing.allocation_count() == before


def test_each_thread_allocates_its_workspace_once() -> None:
    """Which thread works when is up to the system, so a thread may meet a function late, but only once."""
    arrays = batch_of(FOREST, 300)
    before = _testing.allocation_count()
    for _ in range(20):
        for function in FUNCTIONS:
            function(MODEL, arrays, num_threads=2)
    assert _testing.allocation_count() - before <= 2 * len(FUNCTIONS)


def test_other_threads_run_during_a_call() -> None:
    """Ticks of another Python thread fall into the middle of a long call, which they cannot if the GIL is held."""
    q = np.tile(batch_of(FOREST, 50)["q"], (400, 1))
    ticks, done = [], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(1e-4)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        start, end = 0.0, 0.0
        while end - start < 0.1:  # too short a call to tell, on this CPU
            q = np.tile(q, (2, 1))
            start = time.perf_counter()
            fw.crba(MODEL, q, num_threads=1)
            end = time.perf_counter()
    finally:
        done.set()
        thread.join()
    middle = [t for t in ticks if start + 0.25 * (end - start) < t < end - 0.25 * (end - start)]
    assert middle, f"nothing ran during a call of {end - start:.3f} s"


def test_models_are_shared_between_threads() -> None:
    arrays = batch_of(FOREST, 64)
    expected = {function.name: function(MODEL, arrays) for function in FUNCTIONS}
    failures: list[str] = []

    def work(offset: int) -> None:
        for i in range(30):
            function = FUNCTIONS[(i + offset) % len(FUNCTIONS)]
            if not np.array_equal(function(MODEL, arrays, num_threads=1 + i % 3), expected[function.name]):
                failures.append(function.name)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
