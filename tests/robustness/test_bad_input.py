"""Every function, every argument, everything that can be wrong with it: an exception that names the argument."""

import re
from typing import Any

import numpy as np
import pytest
from helpers.forests import Forest, LinkPlan, random_forest
from helpers.functions import FUNCTIONS, Function, arrays_of, batch_of

import featherweight as fw
from featherweight.arrays import Array

PLANS = (
    LinkPlan("free"),
    LinkPlan("revolute", placement="general"),
    LinkPlan("spherical", placement="shifted"),
    LinkPlan("fixed", placement="shifted"),
)
FOREST = Forest(PLANS)
MODEL = fw.Model(FOREST.description)
QUATERNIONS = [slice(3, 7), slice(8, 12)]

ARGUMENTS = [(function, name) for function in FUNCTIONS for name in function.arrays]
every_argument = pytest.mark.parametrize(("function", "name"), ARGUMENTS, ids=lambda x: getattr(x, "name", x))
every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)


def refuse(function: Function, name: str, value: Any, wanted: str = "", batch: int | None = None) -> None:
    """The call raises ValueError, and the message names the argument and contains ``wanted``."""
    arrays: dict[str, Any] = dict(arrays_of(FOREST.state()) if batch is None else batch_of(FOREST, batch))
    with pytest.raises(ValueError, match=rf"\b{name}\b") as caught:
        function(MODEL, {**arrays, name: value})
    assert re.search(wanted, str(caught.value)), f"{wanted!r} not in {caught.value!s}"


def valid(name: str) -> Array:
    return arrays_of(FOREST.state())[name].copy()


@every_argument
def test_wrong_length(function: Function, name: str) -> None:
    good = valid(name)
    for n in (0, 1, good.shape[-1] - 1, good.shape[-1] + 1):
        bad = np.zeros((*good.shape[:-1], n))
        refuse(function, name, bad, str(n))
        refuse(function, name, np.zeros((4, *bad.shape)), str(n))


@every_argument
def test_wrong_number_of_dimensions(function: Function, name: str) -> None:
    good = valid(name)
    refuse(function, name, 0.5)
    refuse(function, name, good[None, None])
    refuse(function, name, good[None, None, None, None])


def test_wrong_number_of_links_in_external_forces() -> None:
    for links in (0, 3, 5):
        refuse(FUNCTIONS[5], "f_ext", np.zeros((links, 6)))
        refuse(FUNCTIONS[6], "f_ext", np.zeros((2, links, 6)))


@every_argument
@pytest.mark.parametrize("dtype", [complex, object, str, bytes, "datetime64[s]", [("x", "f8")]], ids=str)
def test_wrong_dtype(function: Function, name: str, dtype: Any) -> None:
    good = valid(name)
    bad = good.astype("int64").astype(dtype) if isinstance(dtype, str) else good.astype(dtype)
    refuse(function, name, bad)


@every_argument
@pytest.mark.parametrize(
    "value", ["text", {"q": 1}, object(), [[1.0], [1.0, 2.0]], [None], lambda: None], ids=lambda v: type(v).__name__
)
def test_not_an_array_at_all(function: Function, name: str, value: Any) -> None:
    refuse(function, name, value)


@every_argument
def test_none_instead_of_an_array(function: Function, name: str) -> None:
    if name != "f_ext":  # which may be left out
        with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
            function(MODEL, {**arrays_of(FOREST.state()), name: None})


@every_argument
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(function: Function, name: str, value: float) -> None:
    for i in range(valid(name).size):
        bad = valid(name)
        bad.flat[i] = value
        refuse(function, name, bad, "finite")


@every_argument
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_not_finite_anywhere_in_a_batch(function: Function, name: str, dtype: type) -> None:
    for sample in (0, 3, 6, 18):
        arrays = batch_of(FOREST, 19, dtype)
        arrays[name][sample].flat[-1] = np.nan
        with pytest.raises(ValueError, match=rf"\b{name}\b.*sample {sample}\b"):
            function(MODEL, arrays)


@every_argument
def test_batches_that_do_not_match(function: Function, name: str) -> None:
    if len(function.arrays) > 1:
        refuse(function, name, np.stack([valid(name)] * 3), "3", batch=4)


@every_argument
def test_empty_batch(function: Function, name: str) -> None:
    refuse(function, name, np.zeros((0, *valid(name).shape)), "empty")


@every_function
def test_quaternion_policy(function: Function) -> None:
    """Within 1e-6 of unit norm: normalised. Beyond: refused."""
    good = arrays_of(FOREST.state())
    expected = function(MODEL, good)
    for part in QUATERNIONS:
        for off in (1e-7, -1e-7, 9e-7):
            close = {**good, "q": valid("q")}
            close["q"][part] *= 1 + off
            assert np.allclose(function(MODEL, close), expected, rtol=1e-11, atol=1e-11)
        for off in (1e-3, -1e-3, 2e-6, -2e-6, 1e150, -1.0):
            bad = valid("q")
            bad[part] *= 1 + off
            refuse(function, "q", bad, "quaternion")


@pytest.mark.parametrize("off", [1e-3, -1.0])
def test_quaternion_of_one_sample_in_a_batch(off: float) -> None:
    for dtype in (np.float64, np.float32):
        arrays = batch_of(FOREST, 11, dtype)
        arrays["q"][7, QUATERNIONS[1]] *= 1 + off
        with pytest.raises(ValueError, match=r"\bq\b.*quaternion.*sample 7"):
            fw.crba(MODEL, arrays["q"])


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f.on_frame], ids=lambda f: f.name)
class TestFrames:
    def test_unknown_frame_suggests_close_names(self, function: Function) -> None:
        with pytest.raises(ValueError, match=r"link_33.*link_3"):
            function(MODEL, arrays_of(FOREST.state()), frame="link_33")

    @pytest.mark.parametrize("frame", ["", "nothing like it", "FRAME_0", "link_0\0", "x" * 100_000])
    def test_unknown_frame(self, function: Function, frame: str) -> None:
        with pytest.raises(ValueError, match="frame"):
            function(MODEL, arrays_of(FOREST.state()), frame=frame)

    @pytest.mark.parametrize("frame", [None, 1.5, b"link_0", ["link_0"], object()], ids=lambda v: type(v).__name__)
    def test_frame_of_the_wrong_type(self, function: Function, frame: Any) -> None:
        with pytest.raises((ValueError, TypeError)):
            function(MODEL, arrays_of(FOREST.state()), frame=frame)

    @pytest.mark.parametrize("reference", ["body", "", "LOCAL", "world "])
    def test_unknown_reference_lists_the_known_ones(self, function: Function, reference: str) -> None:
        if function.name == "frame_placement":
            pytest.skip("a placement has no reference")
        with pytest.raises(ValueError, match=r"reference.*local_world_aligned"):
            function(MODEL, arrays_of(FOREST.state()), reference=reference)


@every_function
@pytest.mark.parametrize("threads", [0, -1, -(2**31)])
def test_thread_count_must_be_positive(function: Function, threads: int) -> None:
    with pytest.raises(ValueError, match="num_threads"):
        function(MODEL, arrays_of(FOREST.state()), num_threads=threads)


@every_function
@pytest.mark.parametrize("threads", [1.5, "2", 2**70, [1]], ids=str)
def test_thread_count_must_be_a_number(function: Function, threads: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        function(MODEL, arrays_of(FOREST.state()), num_threads=threads)


@every_function
@pytest.mark.parametrize(
    "model", [None, "model", 3, object(), FOREST.description, fw.Model], ids=lambda v: type(v).__name__
)
def test_not_a_model(function: Function, model: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        function(model, arrays_of(FOREST.state()))


@every_function
def test_unknown_keyword(function: Function) -> None:
    with pytest.raises(TypeError):
        function(MODEL, arrays_of(FOREST.state()), no_such_option=1)


def test_state_of_another_model() -> None:
    other = random_forest(seed=1, n_links=20)
    for function in FUNCTIONS:
        with pytest.raises(ValueError, match=r"\bq\b"):
            function(MODEL, arrays_of(other.state()))


@pytest.mark.parametrize(("method", "names"), [("integrate", ("q", "dv")), ("difference", ("q0", "q1"))])
class TestConfigurationMethods:
    def arguments(self, method: str) -> list[Array]:
        s = FOREST.state()
        return [s.q, s.v] if method == "integrate" else [s.q, FOREST.state(1).q]

    @pytest.mark.parametrize("i", [0, 1])
    def test_bad_values(self, method: str, names: tuple[str, str], i: int) -> None:
        good = self.arguments(method)
        nan = good[i].copy()
        nan[-1] = np.nan
        for bad in (nan, good[i][:-1], np.append(good[i], 0.0), good[i][None, None], 1.0, "text", good[i] + 0j):
            with pytest.raises(ValueError, match=rf"\b{names[i]}\b"):
                getattr(MODEL, method)(*(bad if k == i else good[k] for k in range(2)))

    def test_mismatched_batches(self, method: str, names: tuple[str, str]) -> None:
        first, second = self.arguments(method)
        with pytest.raises(ValueError, match="batch"):
            getattr(MODEL, method)(np.stack([first] * 2), np.stack([second] * 3))

    def test_empty_batch(self, method: str, names: tuple[str, str]) -> None:
        first, second = self.arguments(method)
        with pytest.raises(ValueError, match=names[0]):
            getattr(MODEL, method)(np.zeros((0, first.size)), second)

    def test_unnormalised_quaternion(self, method: str, names: tuple[str, str]) -> None:
        first, second = self.arguments(method)
        first = first.copy()
        first[3:7] *= 1.001
        with pytest.raises(ValueError, match=names[0]):
            getattr(MODEL, method)(first, second)


def test_junk_never_crashes_the_interpreter() -> None:
    """Arrays of any dtype and shape: a clear exception, or an answer."""
    rng = np.random.default_rng(0)
    dtypes = ["f2", "f4", "f8", ">f8", ">f4", "i1", "i8", "u8", "?", "c8", "c16", "O", "U3", "S2", "M8[s]", "V8"]
    if np.dtype(np.longdouble).itemsize > 8:
        dtypes.append("longdouble")
    for _ in range(3000):
        function = FUNCTIONS[rng.integers(len(FUNCTIONS))]
        arrays: dict[str, Any] = dict(arrays_of(FOREST.state()))
        for name in function.arrays:
            if rng.random() < 0.7:
                n = arrays[name].shape[-1] if rng.random() < 0.6 else rng.integers(0, 20)
                shape = (*rng.integers(0, 5, rng.integers(0, 4)), n)
                junk = np.zeros(shape, np.dtype(dtypes[rng.integers(len(dtypes))]))
                arrays[name] = np.broadcast_to(junk, (2, *shape)) if rng.random() < 0.2 else junk
        try:
            result = function(MODEL, arrays)
        except (ValueError, TypeError):
            continue
        assert np.all(np.isfinite(result))


def test_huge_but_finite_numbers_are_answered() -> None:
    """Overflow is the caller's arithmetic: it must neither crash nor hang, and does not stain its neighbours."""
    arrays = batch_of(FOREST, 9)
    expected = fw.rnea(MODEL, arrays["q"], arrays["v"], arrays["a"])
    arrays["v"][4] = 1e200
    result = fw.rnea(MODEL, arrays["q"], arrays["v"], arrays["a"])
    others = np.arange(9) != 4
    assert np.array_equal(result[others], expected[others])
