"""Two surfaces make one law: commutative, with springs in a row, and with what is left open decided by the other."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.compare import assert_close
from hypothesis import given
from hypothesis import strategies as st

import featherweight as fw
from featherweight.model.materials import combine

coefficients = st.floats(0.0, 2.0)


@st.composite
def materials(draw: st.DrawFn) -> fw.Material:
    stiffness = draw(st.just(math.inf) | st.floats(1e2, 1e7))
    return fw.Material(
        friction=draw(st.none() | coefficients),
        torsional=draw(coefficients),
        rolling=draw(coefficients),
        restitution=draw(st.floats(0.0, 1.0)),
        stiffness=stiffness,
        damping=draw(st.floats(0.0, 1e3)) if stiffness < math.inf else 0.0,
        dim=draw(st.sampled_from([None, 1, 3, 4, 6])),
    )


@given(materials(), materials())
def test_law_does_not_depend_on_the_order(a: fw.Material, b: fw.Material) -> None:
    assert combine(a, b) == combine(b, a)


@given(materials(), materials())
def test_larger_coefficients_win(a: fw.Material, b: fw.Material) -> None:
    law = combine(a, b)
    assert law.torsional == max(a.torsional, b.torsional)
    assert law.rolling == max(a.rolling, b.rolling)
    assert law.restitution == max(a.restitution, b.restitution)
    given_ = [x for x in (a.friction, b.friction) if x is not None]
    assert law.friction == (max(given_) if given_ else 1.0)


@given(materials())
def test_a_surface_that_says_nothing_changes_nothing(a: fw.Material) -> None:
    law = combine(a, fw.Material())
    assert (law.torsional, law.rolling, law.restitution) == (a.torsional, a.rolling, a.restitution)
    assert law.friction == (1.0 if a.friction is None else a.friction)
    assert_close(1.0 / law.stiffness, 1.0 / a.stiffness)
    assert_close(law.damping, a.damping)


def test_springs_stand_in_a_row() -> None:
    law = combine(fw.Material(stiffness=1e4, damping=10.0), fw.Material(stiffness=4e4, damping=20.0))
    assert_close(law.stiffness, 8e3)
    # Pressed at 1 m/s the springs share the motion 0.8 to 0.2, and the dampers burn 10 * 0.8^2 + 20 * 0.2^2 watts.
    assert_close(law.damping, 10.0 * 0.8**2 + 20.0 * 0.2**2)


@pytest.mark.parametrize(
    "a, b, dim",
    [
        ({}, {}, 3),
        ({"friction": 0.0}, {}, 1),
        ({"friction": 0.0}, {"friction": 0.5}, 3),
        ({"dim": 1}, {}, 1),
        ({"dim": 1}, {"dim": 3}, 3),
        ({"torsional": 0.01}, {}, 4),
        ({"torsional": 0.01}, {"dim": 3}, 4),
        ({"rolling": 0.001}, {"dim": 1}, 6),
        ({"torsional": 0.01, "dim": 3}, {"dim": 3}, 3),
        ({"dim": 6}, {"dim": 3}, 3),  # no coefficient to give the other rows a meaning
        ({"torsional": 0.01, "dim": 6}, {}, 4),
    ],
)
def test_contacts_have_the_rows_their_coefficients_give_a_meaning(
    a: dict[str, Any], b: dict[str, Any], dim: int
) -> None:
    assert combine(fw.Material(**a), fw.Material(**b)).dim == dim


@pytest.mark.parametrize(
    "values, complaint",
    [
        ({"friction": -0.1}, "friction must be finite and not negative, got -0.1"),
        ({"friction": math.nan}, "friction must be finite and not negative"),
        ({"friction": math.inf}, "friction must be finite"),
        ({"friction": "rough"}, "friction must be a number, got 'rough'"),
        ({"torsional": -1.0}, "torsional"),
        ({"rolling": math.nan}, "rolling"),
        ({"restitution": 1.1}, "restitution must be between 0 and 1, got 1.1"),
        ({"stiffness": 0.0}, "stiffness must be positive"),
        ({"stiffness": -1.0}, "stiffness"),
        ({"damping": 1.0}, "give a finite stiffness"),
        ({"dim": 2}, "dim must be 1, 3, 4 or 6, got 2"),
        ({"dim": True}, "dim must be"),
    ],
)
def test_bad_properties_are_refused(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        fw.Material(**values)
    with pytest.raises(ValueError, match=complaint):
        fw.box((1, 1, 1), **values)
