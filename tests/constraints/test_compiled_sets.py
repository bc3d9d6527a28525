"""Lists of constraints are compiled once: as long as they say the same, of the same model."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import featherweight as fw
from featherweight.constraints import compiled_sets
from featherweight.constraints.compiled_sets import MOST_KEPT, compiled_for

FEET = [f"{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[object, ...]]]:
    """What was compiled, one entry each time."""
    made: list[tuple[object, ...]] = []

    class Counted(fw.ConstraintSet):
        def __init__(self, model: fw.Model, constraints: tuple[fw.PointConstraint, ...]) -> None:
            made.append(constraints)
            super().__init__(model, constraints)

    compiled_sets._kept.clear()
    monkeypatch.setattr(compiled_sets, "ConstraintSet", Counted)
    yield made
    compiled_sets._kept.clear()


def test_a_list_written_down_anew_for_every_call_is_compiled_once(compiled: list[tuple[object, ...]]) -> None:
    model = fw.models.quadruped()
    v = np.zeros(model.nv)
    forces = []
    for _ in range(5):
        feet = [fw.PointConstraint(foot, offset=[0.0, 0.0, 0.01]) for foot in FEET]
        forces.append(fw.constrained_dynamics(model, model.neutral(), v, v, feet).forces)
        fw.constraint_jacobian(model, model.neutral(), feet)
    assert len(compiled) == 1
    assert all(np.array_equal(each, forces[0]) for each in forces)


def test_what_differs_in_a_bit_is_another_set(compiled: list[tuple[object, ...]]) -> None:
    model = fw.models.quadruped()
    foot = FEET[0]
    index = model.frame_names.index(foot)
    rigid = np.eye(4)
    moved = np.eye(4)
    moved[0, 3] = 1e-300
    lists: list[list[fw.PointConstraint | fw.FrameConstraint]] = [
        [fw.PointConstraint(foot)],
        [fw.PointConstraint(index)],
        [fw.PointConstraint(foot, rows="xy")],
        [fw.PointConstraint(foot, rows="yx")],
        [fw.PointConstraint(foot, offset=(0.0, 0.0, -0.0))],
        [fw.PointConstraint(foot, acceleration=5e-324)],
        [fw.PointConstraint(foot), fw.PointConstraint(FEET[1])],
        [fw.PointConstraint(FEET[1]), fw.PointConstraint(foot)],
        [fw.FrameConstraint(foot, offset=rigid)],
        [fw.FrameConstraint(foot, offset=moved)],
    ]
    sets = [compiled_for(model, each) for each in lists]
    assert len(compiled) == len(lists)
    assert [list(each.constraints) for each in sets] == lists
    assert all(compiled_for(model, each) is kept for each, kept in zip(lists, sets, strict=True))


def test_a_list_that_was_changed_is_another_one(compiled: list[tuple[object, ...]]) -> None:
    model = fw.models.quadruped()
    pose = np.eye(4)
    held: list[fw.PointConstraint | fw.FrameConstraint] = [fw.FrameConstraint(FEET[0], offset=pose)]
    first = compiled_for(model, held)
    pose[0, 3] = 1.0  # constraints keep a copy
    assert compiled_for(model, held) is first
    held.append(fw.PointConstraint(FEET[1]))
    assert compiled_for(model, held).n_rows == 9
    held[0] = fw.FrameConstraint(FEET[0], offset=pose)
    assert not np.array_equal(
        fw.constraint_jacobian(model, model.neutral(), held[:1]),
        fw.constraint_jacobian(model, model.neutral(), first),
    )


def test_models_do_not_share_sets_even_if_they_are_equal(compiled: list[tuple[object, ...]]) -> None:
    models = [fw.models.quadruped(), fw.models.quadruped()]
    foot = [fw.PointConstraint(FEET[0])]
    assert models[0] == models[1]
    assert [compiled_for(each, foot).model is each for each in models] == [True, True]
    assert len(compiled) == 2


def test_no_more_sets_are_kept_than_said(compiled: list[tuple[object, ...]]) -> None:
    model = fw.models.pendulum()
    often = [fw.PointConstraint("tip")]
    for k in range(2 * MOST_KEPT):
        compiled_for(model, [fw.PointConstraint("tip", acceleration=float(k + 1))])
        compiled_for(model, often)  # what is used stays
    assert len(compiled_sets._kept) == MOST_KEPT
    assert len(compiled) == 2 * MOST_KEPT + 1


def test_what_is_refused_is_refused_every_time(compiled: list[tuple[object, ...]]) -> None:
    model = fw.models.pendulum()
    for _ in range(2):
        with pytest.raises(ValueError, match="constraint 1: expected one of"):
            compiled_for(model, [fw.PointConstraint("tip"), "tip"])  # type: ignore[list-item]
        with pytest.raises(ValueError, match="damping must not be negative"):
            compiled_for(model, [fw.PointConstraint("tip", damping=-1.0)])
        with pytest.raises(ValueError, match="unknown frame 'top'"):
            compiled_for(model, [fw.PointConstraint("top")])
        with pytest.raises(ValueError, match="at least one"):
            compiled_for(model, [])
    assert not compiled_sets._kept


def test_threads_may_ask_at_once(compiled: list[tuple[object, ...]]) -> None:
    model = fw.models.quadruped()
    found: list[fw.ConstraintSet] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        for k in range(200):
            found.append(compiled_for(model, [fw.PointConstraint(FEET[k % 4])]))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 1600
    assert len(compiled_sets._kept) == 4
    assert len({id(each) for each in found}) == 4
