"""What turns for a long time keeps its energy: physics/turning.py, over a minute and at any speed."""

from __future__ import annotations

from typing import Any

import pytest

from physics import mujoco_peer
from physics.turning import crank_rocker, tumbling_box, whirling_rod

pytestmark = pytest.mark.filterwarnings("ignore:.*no collision shapes")


@pytest.mark.parametrize("speed, dt", [(20.0, 1e-3), (60.0, 2e-3)])
def test_a_whirling_rod_keeps_its_energy(speed: float, dt: float) -> None:
    """To first order the chord of a step is shorter than its arc; steps in halves only round."""
    assert whirling_rod(speed, dt=dt).energy < 0.3 * (speed * dt) ** 2
    assert whirling_rod(speed, dt=dt, integrator="verlet").energy < 1e-5 * (speed * dt) ** 2 + 1e-6


@pytest.mark.parametrize("speed, dt", [(3.0, 1e-3), (10.0, 1e-3), (30.0, 1e-3), (10.0, 4e-3)])
def test_a_crank_that_always_turns_the_same_way_keeps_its_energy(speed: float, dt: float) -> None:
    """Of second order in what it turns in a step, without a drift: the steps are symplectic."""
    minute = crank_rocker(speed, dt=dt).energy
    turn = crank_rocker(speed, dt=dt, seconds=dt * round(10.0 / (speed * dt))).energy
    assert minute < 0.6 * (speed * dt) ** 2 + 1e-5
    assert minute < 1.02 * turn + 1e-5, "whatever a turn shows, a minute does not add to"


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "verlet"])
def test_a_box_that_tumbles_keeps_energy_and_momentum(integrator: Any) -> None:
    kept = tumbling_box(300.0, dt=2e-3, integrator=integrator)
    assert kept.energy < 1e-11
    assert kept.momentum < 1e-11


def test_mujoco_loses_or_gains_it() -> None:
    """Whose figures the scoreboard shows beside ours: by its own description of the same things."""
    pytest.importorskip("mujoco")
    assert 0.1 < mujoco_peer.rod_energy(20.0, seconds=2.0) < 1.0
    assert 0.01 < mujoco_peer.crank_energy(10.0, seconds=2.0) < 1.0
    assert mujoco_peer.box_energy(60.0) == mujoco_peer.EXPLODED
