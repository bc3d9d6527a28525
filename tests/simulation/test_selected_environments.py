"""Environments taken out of a batch, or put together, continue as they would have anyway, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits
from helpers.travel import crowded, various

import featherweight as fw


@pytest.fixture(scope="module")
def sim() -> fw.Simulator:
    return fw.Simulator(crowded(), dt=2e-3, integrator="implicit")


@pytest.fixture(scope="module")
def batch(sim: fw.Simulator) -> fw.State:
    """With contacts, impulses and parameters of its own in every environment."""
    state = sim.rollout(various(sim, 5), control=np.full(sim.nu, 0.05), n_steps=120).final
    assert len(state.contacts) > 5 and len(set(state.contacts.environment.tolist())) > 1
    return state


@pytest.mark.parametrize(
    "index",
    [2, -1, np.int64(0), slice(1, 4), slice(None, None, -2), [4, 0, 0], np.arange(5) % 2 == 0],
)
def test_selected_environments_continue_as_in_the_batch(index: Any, sim: fw.Simulator, batch: fw.State) -> None:
    control = np.full(sim.nu, -0.05)
    alone = sim.rollout(batch[index], control=control, n_steps=20).final
    together = sim.rollout(batch, control=control, n_steps=20).final
    for name in ("q", "v", "acceleration", "residual", "penetration"):
        assert_same_bits(getattr(alone, name), getattr(together, name)[index], name)
    assert alone == together[index]
    assert batch[index].single == isinstance(index, int | np.integer)


def test_states_put_together_are_the_batch_they_were_taken_from(batch: fw.State) -> None:
    parts = [batch[3], batch[[1, 4]], batch[:1]]
    assert fw.State.join(parts) == batch[[3, 1, 4, 0]]


@pytest.mark.parametrize("index", [5, -6, 1.0, "a", [[0]], [True], slice(3, 3), [], [0.5]])
def test_what_selects_nothing_is_refused(index: Any, batch: fw.State) -> None:
    with pytest.raises(IndexError):
        batch[index]


def test_states_that_do_not_belong_together_are_refused(sim: fw.Simulator, batch: fw.State) -> None:
    with pytest.raises(ValueError, match="different times"):
        fw.State.join([batch, sim.state()])
    with pytest.raises(ValueError, match="different simulators"):
        fw.State.join([batch, fw.Simulator(fw.models.pendulum()).state()])
    with pytest.raises(ValueError, match="the same kinds of parameters"):
        fw.State.join([sim.state(), sim.state().randomised(friction=[0.5])])
    with pytest.raises(ValueError, match="no states"):
        fw.State.join([])
