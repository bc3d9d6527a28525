"""Where bodies lean on their neighbours alone the matrix of contacts is a band: solutions are those of all of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array

#: Alternating directions come this close.
SHARP = 1e-10
BOXES = 7
#: Of bodies in the scene, by their places in the stack. In the first one neighbours follow each other, in the last one
#: every body has neighbours far off.
ORDERS = {"from below": range(BOXES), "from above": range(BOXES)[::-1], "mixed": (3, 0, 5, 1, 6, 2, 4)}
SOLVERS = {
    "auto": fw.Automatic(tolerance=SHARP),
    "newton": fw.Newton(tolerance=SHARP),
    "admm": fw.ADMM(tolerance=SHARP, max_iterations=20000),
    "gauss_seidel": fw.GaussSeidel(tolerance=SHARP, max_iterations=20000),
}


def stacked(order: Any, solver: Any, surface: Any, beside: bool = False) -> fw.Simulator:
    """Boxes on each other, in that order in the scene; one beside them, which touches none of them."""
    scene = fw.Scene(ground=fw.Plane(friction=0.6, **surface))
    for k in order:
        box = fw.box((0.2, 0.2, 0.1), density=500.0, friction=0.6, **surface)
        scene.add(box, name=f"box_{k}", pose=(0.004 * (-1) ** k, 0.003 * (k % 3), 0.05 + 0.1 * k))
    if beside:
        scene.add(fw.box((0.2, 0.2, 0.1), density=500.0, friction=0.6), name="beside", pose=(1.0, 0, 0.05))
    return fw.Simulator(scene, dt=2e-3, solver=solver)


def velocities(sim: fw.Simulator) -> Array:
    """After a step, by places in the stack: of boxes that move slowly, so that there is one solution."""
    state = sim.state()
    v = np.array(state.v)
    slices = [sim.model.joint(f"box_{k}").v_slice for k in range(BOXES)]
    for k, at in enumerate(slices):
        v[at] = np.random.default_rng(k).normal(size=6) * (0.002 * (1 + k))
    motion = sim.rollout(sim.state(q=state.q, v=v), n_steps=1)
    assert not np.any(motion.unconverged)
    return np.concatenate([motion.v[-1, at] for at in slices])


@pytest.mark.parametrize("surface", [{}, {"torsional": 0.01, "rolling": 1e-3}], ids=["points", "moments"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_stacks_move_as_without_a_matrix(order: str, solver: str, surface: Any) -> None:
    without = fw.ADMM(tolerance=SHARP, matrix_free=True, max_iterations=20000)
    expected = velocities(stacked(ORDERS["mixed"], without, surface))
    found = velocities(stacked(ORDERS[order], SOLVERS[solver], surface))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_what_stands_beside_a_stack_changes_no_bit_of_it() -> None:
    """Rows of the stack come in the same order, with others after them."""
    alone, beside = (velocities(stacked(range(BOXES), SOLVERS["gauss_seidel"], {}, more)) for more in (False, True))
    np.testing.assert_array_equal(alone, beside)
