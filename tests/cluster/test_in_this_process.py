"""Items, rollouts, evaluations and sweeps without any worker."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.travel import crowded, various

import featherweight as fw

cluster = fw.cluster


def draw(item: int, rng: np.random.Generator) -> float:
    return item + float(rng.random())


def test_generators_depend_on_seed_and_place_alone() -> None:
    first = cluster.map(draw, [0, 0, 0], seed=3)
    assert len(set(first)) == 3
    assert cluster.map(draw, [0, 0], seed=3) == first[:2]
    assert not set(cluster.map(draw, [0, 0, 0], seed=4)) & set(first)


def test_an_item_that_fails_is_named() -> None:
    with pytest.raises(cluster.ItemError, match="item 2: ZeroDivisionError") as caught:
        cluster.map(lambda x: 1 / x, [2, 1, 0])
    assert caught.value.index == 2 and isinstance(caught.value.__cause__, ZeroDivisionError)
    back = pickle.loads(pickle.dumps(caught.value))
    assert (back.index, str(back)) == (2, str(caught.value))
    half, failed = cluster.map(lambda x: 1 / x, [2, 0], on_error="return")
    assert half == 0.5 and failed.index == 1


class Counting:
    """A function that notes what it was called for, and is interrupted at some items."""

    def __init__(self, *stops: int) -> None:
        self.seen: list[int] = []
        self.stops = stops

    def __call__(self, item: int) -> int:
        self.seen.append(item)
        if item in self.stops:
            raise KeyboardInterrupt
        return item * item


def test_work_that_was_cut_short_is_resumed(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        cluster.map(Counting(2), range(4), directory=tmp_path / "runs")
    resumed = Counting()
    assert cluster.map(resumed, range(4), directory=tmp_path / "runs") == [0, 1, 4, 9]
    assert resumed.seen == [2, 3]


def test_interrupts_can_leave_out_what_is_missing() -> None:
    assert cluster.map(Counting(1), range(3), on_interrupt="return") == [0, None, None]


def test_a_directory_belongs_to_one_call(tmp_path: Path) -> None:
    cluster.map(Counting(), range(3), directory=tmp_path)
    with pytest.raises(ValueError, match="results of another call: items was 3, is 4"):
        cluster.map(Counting(), range(4), directory=tmp_path)
    with pytest.raises(ValueError, match="function was 'Counting', is 'draw'"):
        cluster.map(draw, range(3), directory=tmp_path)
    (tmp_path / "item-000001.pickle").write_bytes(b"half of it")
    with pytest.raises(ValueError, match=r"item-000001.pickle: cannot be read, delete it to compute it again"):
        cluster.map(Counting(), range(3), directory=tmp_path)
    (tmp_path / "plan.json").write_text("?")
    with pytest.raises(ValueError, match="is no plan"):
        cluster.map(Counting(), range(3), directory=tmp_path)


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file"):
        cluster.map(Counting(), range(3), directory=tmp_path / "file")


@pytest.mark.parametrize(
    "wrong", [{"seed": -1}, {"seed": True}, {"workers": -1}, {"workers": 1.5}, {"on_error": "?"}, {"on_interrupt": 0}]
)
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        cluster.map(Counting(), range(3), **wrong)


@pytest.fixture(scope="module")
def sim() -> fw.Simulator:
    return fw.Simulator(crowded(), dt=2e-3, integrator="implicit")


@pytest.mark.parametrize("given", ["shared", "own", "constant", "policy"])
def test_rollouts_are_those_of_the_simulator(given: str, sim: fw.Simulator) -> None:
    rng = np.random.default_rng(0)
    n, steps = 7, 15
    state = various(sim, n)
    all_inputs: dict[str, dict[str, Any]] = {
        "shared": {"control": rng.uniform(-0.1, 0.1, (steps, sim.nu))},
        "own": {"control": rng.uniform(-0.1, 0.1, (n, steps, sim.nu)), "tau": np.zeros(sim.model.nv), "n_steps": steps},
        "constant": {"control": rng.uniform(-0.1, 0.1, (n, sim.nu)), "n_steps": steps, "every": 4},
        "policy": {"policy": lambda state: (None, -0.1 * state.q[:, : sim.nu]), "n_steps": steps, "record": False},
    }
    inputs = all_inputs[given]
    assert cluster.rollouts(sim, state, **inputs, size=3) == sim.rollout(state, **inputs)


def test_a_single_environment_is_one_item(sim: fw.Simulator) -> None:
    assert cluster.rollouts(sim, sim.state(), n_steps=3) == sim.rollout(sim.state(), n_steps=3)
    with pytest.raises(ValueError, match="size must be a positive integer"):
        cluster.rollouts(sim, sim.state(), n_steps=3, size=0)


def lean(seen: np.ndarray[Any, Any]) -> Any:
    return np.sign(seen[:, 1:2])


def test_episodes_depend_on_their_seeds_alone() -> None:
    task = fw.gym.tasks.cart_pole()
    whole = cluster.evaluate(task, lean, episodes=10, seed=5)
    assert cluster.evaluate(task, lean, episodes=10, seed=5, size=4) == whole
    assert cluster.evaluate(task, lean, episodes=3, seed=7).returns.tolist() == whole.returns[2:5].tolist()
    assert whole.terminated.all() and whole.steps.min() > 5


def test_evaluations_count_what_gymnasium_counts() -> None:
    task = fw.gym.tasks.cart_pole()
    env = fw.gym.Env(task)
    observation, _ = env.reset(seed=5)
    total, steps, over = 0.0, 0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(lean(observation[None])[0])
        total, steps, over = total + reward, steps + 1, terminated or truncated
    result = cluster.evaluate(task, lean, episodes=1, seed=5)
    assert (result.returns[0], result.steps[0], result.terminated[0]) == (total, steps, terminated)


def test_endless_episodes_are_refused() -> None:
    from dataclasses import replace

    with pytest.raises(ValueError, match="never end"):
        cluster.evaluate(replace(fw.gym.tasks.cart_pole(), episode_length=None), lean)
    with pytest.raises(ValueError, match="episodes must be a positive integer"):
        cluster.evaluate(fw.gym.tasks.cart_pole(), lean, episodes=0)


def trial(rate: float, seed: int) -> dict[str, float]:
    if rate < 0:
        raise ValueError("negative rate")
    return {"cost": rate * 10 + seed}


def test_sweeps_have_a_row_for_each_combination(tmp_path: Path) -> None:
    table = cluster.sweep(trial, {"rate": [0.5, -1.0], "seed": range(2)}, directory=tmp_path / "sweep")
    assert table.rows[1] == {"rate": 0.5, "seed": 1, "cost": 6.0}
    assert table.rows[2] == {"rate": -1.0, "seed": 0, "error": "ValueError: negative rate"}
    assert repr(table) == "<Sweep: 4 rows, 2 FAILED>" and len(list(table)) == len(table)
    assert table.best("cost") == table.rows[1] and table.best("cost", smallest=True) == table.rows[0]
    table.save(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text().splitlines()[:2] == ["rate,seed,cost,error", "0.5,0,5.0,"]
    listed = cluster.sweep(trial, [{"rate": 1.0, "seed": 3}])
    assert listed.rows == ({"rate": 1.0, "seed": 3, "cost": 13.0},)


def test_sweeps_refuse_what_is_no_grid() -> None:
    with pytest.raises(ValueError, match="values of 'rate' must be a list"):
        cluster.sweep(trial, {"rate": 0.5})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="no row of the sweep has 'speed'"):
        cluster.sweep(trial, {"rate": [1.0], "seed": [0]}).best("speed")
    table = cluster.sweep(lambda a: {"a": 1}, {"a": [0]})
    assert "has the name of a parameter" in table.rows[0]["error"]
