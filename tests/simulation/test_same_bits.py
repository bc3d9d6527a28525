"""The same bits whatever is around: batch, place in it, threads, chunks, files; and nothing changes its inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits
from helpers.scenes import drop, tumbled

import featherweight as fw


@pytest.fixture(scope="module")
def pile() -> fw.Scene:
    """A robot and bodies that touch one another and the ground."""
    rng = np.random.default_rng(0)
    scene = drop(rng, ("box", "sphere", "capsule", "convex"))
    scene.add(fw.models.quadruped(), name="robot", pose=(1.5, 0, 0.45))
    scene.add(fw.box((0.1, 0.1, 0.1)), name="load", pose=tumbled(rng, (1.5, 0, 0.7)))
    scene.constrain(fw.PointConstraint("sphere_1", rows=("x",)))
    return scene


def started(sim: fw.Simulator, batch: int, seed: int = 1) -> tuple[fw.State, np.ndarray]:
    """Environment k is the same in every batch."""
    v = np.stack([np.random.default_rng([seed, k]).normal(size=sim.model.nv) for k in range(batch)])
    tau = np.stack([np.random.default_rng([seed, k, 1]).normal(size=(60, sim.model.nv)) for k in range(batch)])
    return sim.state(batch, v=0.3 * v), tau


def assert_same_state(a: fw.State, b: fw.State, which: Any = slice(None)) -> None:
    """Of batches; ``which`` environments of b are those of a."""
    assert_same_bits(a.q, b.q[which], "q")
    assert_same_bits(a.v, b.v[which], "v")
    if which == slice(None):
        for field in ("impulse", "gap", "position", "frame", "environment"):
            assert_same_bits(getattr(a.contacts, field), getattr(b.contacts, field), field)


def test_any_batch_and_any_place_in_it(pile: fw.Scene) -> None:
    sim = fw.Simulator(pile, dt=2e-3)
    whole_state, tau = started(sim, 64)
    whole = sim.rollout(whole_state, tau).final
    for picked in ([0], [5], [63], [7, 5, 6], [0, 1, 2, 3], [60, 61, 62, 63], [9, 3, 9, 1, 9], [63, 0, 31, 32, 5]):
        part = sim.rollout(sim.state(len(picked), v=whole_state.v[picked]), tau[picked]).final
        assert_same_state(part, whole, picked)
    single = sim.rollout(sim.state(v=whole_state.v[17]), tau[17]).final
    assert_same_bits(single.q, whole.q[17])


def feet_between_planes(more_balls: int = 0) -> fw.Simulator:
    """A quadruped whose feet may touch the ground and a wall; and balls that lie about."""
    scene = fw.Scene(ground=fw.Plane(friction=0.6))
    scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.4))
    scene.add(fw.Plane(normal=(-1, 0, 0.2), offset=-0.4, friction=0.3))
    for k in range(more_balls):
        scene.add(fw.sphere(0.1), pose=(-5, 0.5 * k, 0.1))
    return fw.Simulator(scene, dt=2e-3)


def test_feet_in_different_phases() -> None:
    """What touches differs from environment to environment of a pack."""
    sim = feet_between_planes()
    whole_state, tau = started(sim, 16)
    q = whole_state.q.copy()
    q[:, 2] += 0.01 * np.arange(16)
    q[:, 0] += 0.05 * (np.arange(16) % 5)
    whole = sim.rollout(sim.state(16, q=q, v=whole_state.v), tau)
    contacts = whole.final.contacts
    assert len({tuple(contacts.shape_a[contacts.environment == k]) for k in range(16)}) >= 4
    for k in range(16):
        alone = sim.rollout(sim.state(q=q[k], v=whole_state.v[k]), tau[k])
        assert_same_bits(alone.q, whole.q[k], f"environment {k}")


def test_balls_on_lanes_or_one_by_one() -> None:
    """With many balls their rows are found one by one, which rounds differently."""
    few, many = feet_between_planes(), feet_between_planes(more_balls=40)
    tau = np.random.default_rng(0).normal(size=(60, few.model.nv))
    on_lanes = few.rollout(few.state(), tau)
    one_by_one = many.rollout(many.state(), np.hstack([tau, np.zeros((60, many.model.nv - few.model.nv))]))
    robot = slice(0, few.model.nq)
    assert on_lanes.unconverged.sum() == one_by_one.unconverged.sum() == 0
    assert not np.array_equal(on_lanes.q, one_by_one.q[:, robot])
    assert np.abs(on_lanes.q - one_by_one.q[:, robot]).max() <= 1e-9


def test_any_number_of_threads(pile: fw.Scene) -> None:
    one, two, free = (fw.Simulator(pile, dt=2e-3, num_threads=n) for n in (1, 2, None))
    state, tau = started(one, 50)
    expected = one.rollout(state, tau).final
    for sim in (two, free):
        state, tau = started(sim, 50)
        assert_same_state(sim.rollout(state, tau).final, expected)


def test_steps_one_by_one_are_a_rollout(pile: fw.Scene) -> None:
    sim = fw.Simulator(pile, dt=2e-3)
    start, tau = started(sim, 5)
    trajectory = sim.rollout(start, tau)
    state = start
    for k in range(tau.shape[1]):
        state = sim.step(state, tau[:, k])
        assert_same_bits(state.q, trajectory.q[:, k])
        assert_same_bits(state.v, trajectory.v[:, k])
    assert_same_bits(state.contacts.impulse, trajectory.final.contacts.impulse)


def test_long_rollouts_of_any_batch() -> None:
    scene = fw.Scene()
    scene.add(fw.box((0.1, 0.2, 0.3)))
    sim = fw.Simulator(scene, dt=1e-3)
    v = np.random.default_rng(0).normal(size=6)
    one, many = (sim.rollout(sim.state(batch, v=v), n_steps=25_000, record=False).final.q for batch in (1, 64))
    assert_same_bits(one[0], many[40])


def test_policies_contacts_and_records_do_not_matter(pile: fw.Scene) -> None:
    sim = fw.Simulator(pile, dt=2e-3)
    start, tau = started(sim, 5)
    expected = sim.rollout(start, tau).final
    count = iter(range(tau.shape[1]))
    assert_same_state(sim.rollout(start, tau, record=False).final, expected)
    assert_same_state(sim.rollout(start, tau, record_contacts=True).final, expected)
    policy = sim.rollout(start, n_steps=tau.shape[1], policy=lambda state: tau[:, next(count)]).final
    assert_same_state(policy, expected)


def test_a_call_twice_and_its_inputs(pile: fw.Scene) -> None:
    sim = fw.Simulator(pile, dt=2e-3)
    start, tau = started(sim, 3)
    middle = sim.rollout(start, tau).final
    q, v, impulse, given = middle.q.copy(), middle.v.copy(), middle.contacts.impulse.copy(), tau.copy()
    residual, failed = middle.residual.copy(), middle.failed.copy()
    twice = [sim.rollout(middle, tau).final for _ in range(2)]
    assert_same_state(*twice)
    assert_same_state(sim.step(middle, tau[:, 0]), sim.step(middle, tau[:, 0]))
    for now, then in ((middle.q, q), (middle.v, v), (middle.contacts.impulse, impulse), (tau, given)):
        assert_same_bits(now, then)
    assert_same_bits(middle.residual, residual)
    assert_same_bits(middle.failed, failed)
    with pytest.raises(ValueError, match="read-only"):
        middle.q[0, 0] = 1.0


def test_saved_and_loaded(pile: fw.Scene, tmp_path: Path) -> None:
    sim = fw.Simulator(pile, dt=2e-3)
    for batch in (None, 4):
        start, tau = started(sim, batch or 1)
        start = sim.state(v=start.v[0]) if batch is None else start
        tau = tau[0] if batch is None else tau
        middle = sim.rollout(start, tau).final
        path = tmp_path / f"state_{batch}.npz"
        middle.save(path)
        loaded = fw.State.load(fw.Simulator(pile, dt=2e-3), path)
        assert loaded.single == (batch is None) and loaded.time == middle.time
        again = loaded.simulator.rollout(loaded, tau).final
        through = sim.rollout(middle, tau).final
        for field in ("q", "v"):
            assert_same_bits(getattr(again, field), getattr(through, field), field)
        assert_same_bits(again.contacts.impulse, through.contacts.impulse)


def test_a_name_without_ending_is_found_again(pile: fw.Scene, tmp_path: Path) -> None:
    sim = fw.Simulator(pile, dt=2e-3)
    sim.state().save(tmp_path / "state")
    assert fw.State.load(sim, tmp_path / "state").single


def spheres(n: int, margin: float = 0.0) -> fw.Scene:
    """A grid of balls over the ground, near enough to touch."""
    rng = np.random.default_rng(n)
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    for k in range(n):
        place = np.array([k % 5, k // 5 % 5, k // 25]) * 0.21 + (0, 0, 0.12) + rng.uniform(-0.004, 0.004, 3)
        scene.add(fw.sphere(0.1, margin=margin), name=f"ball_{k}", pose=place)
    return scene


@pytest.mark.parametrize("margin", [0.0, 0.01])
def test_listed_and_swept_pairs(margin: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """100 balls have 4950 pairs among them, more than are listed: the same contacts, in the same order."""
    compiled = spheres(100, margin).compile()
    assert compiled.pair_table() is None
    pruning = fw.Simulator(compiled, dt=2e-3)
    whole = type(compiled).pair_table
    monkeypatch.setattr(type(compiled), "pair_table", lambda self: whole(self, 10**6))
    listing = fw.Simulator(compiled, dt=2e-3)
    v = 0.5 * np.random.default_rng(0).normal(size=compiled.model.nv)
    a, b = (sim.rollout(sim.state(v=v), n_steps=100).final for sim in (pruning, listing))
    loaded = [
        {(i, j) for i, j, x in zip(c.shape_a, c.shape_b, c.impulse, strict=True) if x[2] > 0}
        for c in (a.contacts, b.contacts)
    ]
    assert loaded[0] == loaded[1] and len(loaded[0]) > 50
    assert np.abs(a.q - b.q).max() < 1e-6 and np.abs(a.v - b.v).max() < 1e-5


def test_what_a_policy_keeps_stays_as_it_was() -> None:
    """A rollout steps in place only what its policy let go of."""
    sim = fw.Simulator(fw.models.quadruped(), dt=2e-3)
    start, tau = started(sim, 3)
    want = sim.rollout(start, tau[:, 0], n_steps=12)
    kept: dict[int, tuple[fw.State | None, np.ndarray, np.ndarray]] = {}

    def policy(state: fw.State) -> np.ndarray:
        step = round(state.time / sim.dt)
        if step % 4 == 1:
            kept[step] = state, state.q, state.q.copy()
        elif step % 4 == 2:
            kept[step] = None, state.v, state.v.copy()
        return tau[:, 0]

    got = sim.rollout(start, policy=policy, n_steps=12)
    assert_same_bits(got.q, want.q)
    assert_same_bits(got.final.v, want.final.v)
    assert got.iterations["gauss_seidel"].tolist() == want.iterations["gauss_seidel"].tolist()
    assert len(kept) == 6
    for state, view, copy in kept.values():
        assert_same_bits(view, copy)
        if state is not None:
            assert_same_bits(state.q, copy)


def test_a_policy_that_keeps_nothing_gets_the_same_memory() -> None:
    sim = fw.Simulator(fw.models.pendulum())
    places: list[int] = []
    sim.rollout(sim.state(), policy=lambda state: places.append(state.q.ctypes.data), n_steps=20)
    assert len(set(places[1:])) <= 2
