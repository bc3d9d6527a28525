"""Names for the columns of what the core returns: taken apart and put together again, and physics under the names."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.compare import assert_same_bits

import featherweight as fw
from featherweight.core_tables import ContactTable, Layout, StepReports, StepTotals

LAYOUT = Layout(place=(3,), frame=(2, 2), gap=())


def test_tables_are_taken_apart_and_put_together() -> None:
    table = np.random.default_rng(0).random((4, 8))
    parts = LAYOUT.split(table)
    assert {name: part.shape for name, part in parts.items()} == {"place": (4, 3), "frame": (4, 2, 2), "gap": (4,)}
    assert_same_bits(parts["frame"][1], table[1, 3:7].reshape(2, 2))
    assert_same_bits(LAYOUT.joined(parts), table)
    assert LAYOUT.joined(LAYOUT.split(table[:0])).shape == (0, 8)
    assert LAYOUT.part(table[0], "gap") == table[0, 7]


def test_tables_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match="a table of 7 columns, expected 8: place, frame, gap"):
        LAYOUT.split(np.zeros((2, 7)))
    with pytest.raises(ValueError, match=r"frame: expected shape \(2, 2, 2\), got \(2, 4\)"):
        LAYOUT.joined({"place": np.zeros((2, 3)), "frame": np.zeros((2, 4)), "gap": np.zeros(2)})


def resting() -> fw.State:
    """A ball of 2 kg on the ground, and one in the air."""
    scene = fw.Scene(ground=fw.Plane())
    scene.add(fw.sphere(0.1, mass=2.0), name="ball", pose=(0.3, 0, 0.1))
    sim = fw.Simulator(scene, dt=1e-3)
    q = np.tile(sim.scene.q0, (2, 1))
    q[1, 2] = 1.0
    return sim.rollout(sim.state(2, q=q), n_steps=100).final


def test_contacts_by_name() -> None:
    table = ContactTable.of(resting()._core)
    assert table.counts.tolist() == [1, 0]
    assert {table.integers("shape_a")[0], table.integers("shape_b")[0]} == {0, 1}
    assert np.allclose(table.numbers("position"), (0.3, 0, 0), atol=1e-9)
    assert np.allclose(table.numbers("frame") @ table.numbers("frame").swapaxes(1, 2), np.eye(3))
    assert np.allclose(np.abs(table.numbers("frame")[:, 2]), (0, 0, 1))
    assert np.allclose(table.numbers("gap"), 0, atol=1e-9)
    assert np.allclose(table.numbers("impulse"), (0, 0, 2.0 * 9.81e-3, 0, 0, 0), atol=1e-9)
    assert list(table.arrays()) == ContactTable.names()


def test_reports_by_name() -> None:
    state = resting()
    pushed = state.replace(v=np.array([1.0, 0, 0, 0, 0, 0]))
    reports = StepReports.of(state.simulator.step(pushed)._core)
    assert list(reports.arrays()) == StepReports.names()
    assert reports.failed.tolist() == [False, False] and (reports.last.unconverged == 0).all()
    assert reports.last.gauss_seidel[0] >= 1 and reports.last.gauss_seidel[1] == 0
    assert StepReports.from_arrays(reports.arrays()).last == reports.last
    assert reports.without(np.array([True, False])).last.gauss_seidel.tolist() == [0, reports.last.gauss_seidel[1]]


def test_totals_are_the_worst_and_the_sums() -> None:
    state = resting()
    one, two = (state.simulator.rollout(state, n_steps=n)._totals for n in (1, 2))
    totals = StepTotals(2)
    for _ in range(2):
        state = state.simulator.step(state)
        totals = totals.plus(state._core)
    assert totals.figures() == two
    assert (two.gauss_seidel >= one.gauss_seidel).all() and (two.residual >= one.residual).all()
