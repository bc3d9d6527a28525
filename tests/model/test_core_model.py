"""What the compiled model refuses, whoever describes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight import _core, _testing

IDENTITY = np.eye(4).ravel().tolist()
NO_AXIS = [0.0, 0.0, 0.0]


def link(name: str, mass: float = 1.0, com: tuple[float, float, float] = (0, 0, 0), inertia: float = 1.0) -> Any:
    return (name, mass, list(com), (inertia * np.eye(3)).ravel().tolist())


def joint(name: str, kind: str, parent: int, child: int, axis: tuple[float, float, float] = (0, 0, 1)) -> Any:
    dofs = {"fixed": 0, "revolute": 1, "spherical": 3, "free": 6}[kind]
    return (name, kind, parent, child, IDENTITY, IDENTITY, list(axis), NO_AXIS, 0.0, [0.0] * dofs)


def compiled(links: list[Any], joints: list[Any], frames: list[Any] | None = None) -> _core.Model:
    return _core.Model("m", [0, 0, -9.81], links, joints, frames or [])


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_a_point_mass_does_not_resist_turning(kind: str) -> None:
    with pytest.raises(ValueError, match="joint 'j': nothing it moves has inertia"):
        compiled([link("a", 1.0, (0.1, 0.2, 0.3), 0.0)], [joint("j", kind, -1, 0)])


def test_an_axis_through_a_point_mass_moves_nothing() -> None:
    axis = np.array([0.3, 0.7, 0.11]) / np.linalg.norm([0.3, 0.7, 0.11])
    with pytest.raises(ValueError, match="joint 'j': nothing it moves has inertia"):
        compiled([link("a", 1.0, tuple(axis), 0.0)], [joint("j", "revolute", -1, 0, tuple(axis))])


@pytest.mark.parametrize(("mass", "arm"), [(1e308, 3.0), (1e300, 1e10), (1.0, 1e160)])
def test_what_is_beyond_numbers_is_not_called_nothing(mass: float, arm: float) -> None:
    with pytest.raises(ValueError, match="joint 'j': what it moves is so heavy or so far away"):
        compiled([link("a", mass, (arm, 0.0, 0.0), 1.0)], [joint("j", "revolute", -1, 0, (0.0, 0.0, 1.0))])


def test_a_slender_rod_is_fine() -> None:
    rod = ("rod", 1.0, [0, 0, 0.5], np.diag([0.1, 0.1, 1e-9]).ravel().tolist())
    model = compiled([rod], [joint("j", "free", -1, 0)])
    assert np.isfinite(_core.aba(model, model.neutral(), np.zeros(6), np.ones(6))).all()


def test_long_chains_of_fixed_links_do_not_exhaust_the_stack() -> None:
    n = 30_000
    joints = [joint("hinge", "revolute", -1, 0)] + [joint(f"f{k}", "fixed", k - 1, k) for k in range(1, n)]
    model = compiled([link(f"l{k}") for k in range(n)], joints)
    assert model.nv == 1
    assert _core.crba(model, [0.3])[0, 0] == pytest.approx(n)


def test_subtrees_must_be_in_one_piece() -> None:
    links = [link(name) for name in "abcd"]
    joints = [joint(f"j{k}", "revolute", parent, k) for k, parent in enumerate([-1, 0, 0, 1])]  # breadth first
    with pytest.raises(ValueError, match="joint 'j3': joints must be in depth-first order"):
        compiled(links, joints)


@pytest.mark.parametrize(
    ("links", "joints", "frames", "complaint"),
    [
        ([], [], [], "has no links"),
        ([link("a")], [joint("j", "revolute", -1, 0, (0, 0, 2))], [], "axis must be a unit vector"),
        ([link("a")], [joint("j", "revolute", -1, 0)], [("f", 7, IDENTITY)], "frame 'f': no link number 7"),
        ([link("a")], [joint("j", "revolute", -1, 0)], [("f", 0, (2 * np.eye(4)).ravel().tolist())], "rigid motion"),
        ([link("a")], [joint("j", "revolute", -1, 0)], [("a", 0, IDENTITY)], "two links or frames are called 'a'"),
        ([link("a", -1.0)], [joint("j", "revolute", -1, 0)], [], "mass must be finite and not negative"),
    ],
)
def test_nonsense_is_refused(links: list[Any], joints: list[Any], frames: list[Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        compiled(links, joints, frames)


def test_models_beyond_the_range_of_float32_say_so() -> None:
    model = compiled(
        [link("moon", 7e22, inertia=8.7e34), link("dust", 1e-40)],
        [joint("a", "free", -1, 0), joint("b", "free", -1, 1)],
    )
    q, v = model.neutral(), np.zeros(model.nv)
    assert np.isfinite(_core.aba(model, q, v, v)).all()
    with pytest.raises(ValueError, match="'dust' has mass or inertia beyond the range of float32"):
        _core.aba(model, q.astype(np.float32), v.astype(np.float32), v.astype(np.float32))


def test_signatures_in_the_stub_name_every_keyword() -> None:
    """nanobind accepts what it was given, the stub shows what a string says: both must agree."""
    model = fw.models.pendulum()
    q, v = np.zeros((2, 1)), np.zeros((2, 1))
    assert "isa" in (_testing.benchmark.__doc__ or "")
    assert _testing.benchmark(
        model, "aba", q, v, v, dtype="float64", repeats=1, single=True, isa=fw.build_info()["isa"]
    )
