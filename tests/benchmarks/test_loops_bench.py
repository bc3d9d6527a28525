"""The benchmark of loops: what it times is right, and is the same mechanism for all."""

from __future__ import annotations

import numpy as np

import featherweight as fw
from benchmarks import loops, mechanisms


def test_methods_are_timed_with_their_errors() -> None:
    rows = {row["method"]: row for row in loops.dynamics(mechanisms.built_in("five_bar"), 40, 1)}
    assert {"aba, open", "`limb_pv`", "`constrained_aba`"} <= set(rows)
    assert float(rows["`limb_pv`"]["worst"]) < 1e-12 and float(rows["`constrained_aba`"]["worst"]) < 1e-8
    for name, row in rows.items():
        if name.startswith("lcaba"):
            assert float(row["worst"]) < 1e-6


def test_mechanisms_start_closed() -> None:
    for mechanism in (mechanisms.four_bar_quadruped(), mechanisms.four_bars_in_a_row(3)):
        assert np.max(fw.loop_error(mechanism.model, mechanism.model.q0, mechanism.constraints)) < 1e-12
        samples = mechanism.samples(16)
        assert mechanisms.closed(mechanism, samples).max() < 1e-10
    assert mechanisms.four_bar_quadruped().model.nv == 26


def test_the_biped_sways_with_closed_legs() -> None:
    row = loops.simulation(4, 2, steps=20)
    assert set(loops.in_the_air(4, 2, steps=5)) == {"closed", "open"}
    assert float(row["largest gap [m]"]) < 1e-10 and float(row["worst residual"]) < 1e-6
