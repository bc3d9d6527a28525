"""Simulation is benchmarked honestly: one robot in both engines, the same motion, and the residual beside the time."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import featherweight as fw
from benchmarks import update_docs
from benchmarks.main import main
from benchmarks.motions import DT, LEGGED, Motion, legged_motion, load_motions, stack
from benchmarks.mujoco_twin import MujocoTwin
from benchmarks.race import equal_turns
from benchmarks.robots import load_robots
from benchmarks.settling import Pile, growth_exponent, measure_pile, pile_scene
from benchmarks.simulation import (
    OURS,
    SAME_ROBOT,
    THEIRS,
    Ours,
    SimulationRow,
    checked_disagreement,
    measure_motion,
    thread_speedups,
)
from benchmarks.simulation_report import SimulationReport

ROOT = Path(__file__).parents[2]
MOTIONS = [*load_motions(load_robots(["quadruped", "humanoid"]), batch=4, steps=100), stack(2, 50)]
QUADRUPED = MOTIONS[0]
every_motion = pytest.mark.parametrize("motion", MOTIONS, ids=lambda motion: motion.name)


def row(case: str, ours: float, theirs: float | None = None, batch: int = 4) -> SimulationRow:
    times = {OURS: ours} if theirs is None else {OURS: ours, THEIRS: theirs}
    pair = dict.fromkeys(times, 2.0)
    work = {"gauss_seidel": 3.0, "newton": 0.5, "admm": 0.0}
    return SimulationRow(case, 18, batch, 100, times, times, pair, pair, 1e-10, 0.001, work, 1e-14, pair)


@every_motion
def test_mujoco_has_the_same_robot(motion: Motion) -> None:
    pytest.importorskip("mujoco")
    twin = MujocoTwin(motion)
    assert twin.model.body_mass.sum() == pytest.approx(motion.scene.model.mass, rel=1e-12)
    assert twin.model.ngeom == len(motion.scene.shapes)
    assert twin.disagreement() < SAME_ROBOT


def test_another_robot_is_not_raced() -> None:
    pytest.importorskip("mujoco")
    twin = MujocoTwin(QUADRUPED)
    twin.model.body_mass[1] *= 1.001
    with pytest.raises(RuntimeError, match="another robot"):
        checked_disagreement(twin)


def test_servos_dampers_and_rotors_drive_a_step_in_the_air_alike() -> None:
    """Both integrate semi-implicitly with joint damping at the end of the step: hinges have the same rates after it."""
    pytest.importorskip("mujoco")
    up = QUADRUPED.q.copy()
    up[:, 2] += 1.0
    assert QUADRUPED.control is not None
    motion = replace(QUADRUPED, q=up, control=QUADRUPED.control[:, :1], steps=1)
    twin = MujocoTwin(motion)
    twin.run()
    theirs = twin._states[:, 0, -12:]
    np.testing.assert_allclose(Ours(motion).trajectory.v[:, 0, 6:], theirs, rtol=0, atol=1e-12)


@every_motion
def test_both_engines_move_alike(motion: Motion) -> None:
    """The bodies are as high, and as much touches: soft contacts sink by some millimetres."""
    pytest.importorskip("mujoco")
    ours, twin = Ours(motion), MujocoTwin(motion)
    twin.run()
    assert ours.height() == pytest.approx(twin.height(), abs=0.01)
    assert ours.contacts() == pytest.approx(twin.contacts(), rel=0.25)


def test_robots_touch_the_ground_and_themselves_only_as_documented() -> None:
    for motion in MOTIONS[:-1]:
        pairs = motion.scene.pair_table()
        assert pairs is not None
        if motion.name.endswith("as documented"):
            assert "robot" in {motion.scene.shapes[i].part for i in pairs.first}
            assert motion.integrator == "implicit"
            continue
        assert {motion.scene.shapes[i].part for i in pairs.first} == {"ground"}
        assert len(pairs) == len(motion.scene.shapes) - 1


def test_quadrupeds_trot_each_at_its_own_pace_and_humanoids_hold_still() -> None:
    control = {motion.name: motion.control for motion in MOTIONS}
    trot, hold = control["quadruped, feet"], control["humanoid, 8 corners"]
    assert trot is not None and hold is not None
    assert np.ptp(trot, axis=1).max() > 0.2
    assert np.abs(trot[0] - trot[1]).max() > 0.1
    assert np.ptp(hold, axis=(0, 1)).max() == 0.0


def test_a_motion_does_not_depend_on_the_size_of_its_batch() -> None:
    one = QUADRUPED.first(1)
    assert one.control is not None
    np.testing.assert_array_equal(Ours(one).trajectory.q, Ours(QUADRUPED).trajectory.q[0])


def test_turns_are_equally_long() -> None:
    """As long as the slowest takes: the others run several times, and count by the mean."""
    calls: list[str] = []

    def work(name: str, seconds: float) -> None:
        calls.append(name)
        time.sleep(seconds)

    times = equal_turns({"slow": partial(work, "slow", 0.03), "fast": partial(work, "fast", 0.004)}, rounds=2)
    assert [len(seconds) for seconds in times.values()] == [2, 2]
    assert calls[:3] == ["slow", "fast", "slow"]
    assert calls.count("slow") <= 5 and calls.count("fast") >= 5
    assert min(times["slow"]) >= 0.03 and min(times["fast"]) >= 0.004


def test_without_mujoco_featherweight_is_timed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.mujoco_twin.mujoco_installed", lambda: False)
    measured = measure_motion(QUADRUPED, rounds=1)
    assert measured.ratio() is None
    assert measured.disagreement is None
    assert set(measured.microseconds) == {OURS}
    assert measured.residual < 1e-8
    assert "ratio" not in measured.cells()


def test_threads_are_compared_where_there_is_work_to_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.mujoco_twin.mujoco_installed", lambda: False)
    assert thread_speedups(QUADRUPED, rounds=1) == {}
    [motion, *_] = load_motions(load_robots(["quadruped"]), batch=200, steps=20)
    assert thread_speedups(motion, rounds=1)[OURS] > 0.0


def test_spheres_of_a_pile_do_not_touch_at_first_and_settle_on_each_other() -> None:
    sim = fw.Simulator(pile_scene(27), dt=DT)
    assert not sim.step(sim.state()).contacts.impulse.any()
    pile = measure_pile(27, "as deep as wide", steps=100)
    assert pile.steps == 100
    assert pile.contacts >= 4
    assert pile.milliseconds > 0 and pile.gauss_seidel > 0
    assert pile.unconverged == 0 and pile.residual <= pile.worst <= 1e-8


def test_a_pile_that_takes_too_long_is_cut_short() -> None:
    assert measure_pile(8, steps=100_000, patience=0.05).steps < 100_000


def test_growth_is_fitted_over_contacts() -> None:
    piles = [Pile("wide", n, 1, 2.0 * n, 1e-6 * n**2, 10.0, 1e-10, 1e-9, 0.0) for n in (100, 300, 1000)]
    assert growth_exponent(piles) == pytest.approx(2.0)
    assert piles[0].per_contact == pytest.approx(1e3 * 0.01 / 200)


def test_report_has_a_line_for_every_motion(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [row("quadruped, feet", 1.0, 15.0), row("quadruped, feet", 4.0, 12.0, batch=1), row("ten boxes", 100.0)]
    report = SimulationReport(
        {"processor": "any"}, rows, [Pile("wide", n, 320, 2.0 * n, 1e-3 * n, 10.0, 1e-10, 1e-9, 0.0) for n in (10, 20)]
    )
    report.save(tmp_path)
    report.plot(tmp_path)
    text = (tmp_path / "simulation.md").read_text()
    assert "15.0x" in text and "3.0x" in text and "n^1.00" in text
    assert len([line for line in text.splitlines() if line.startswith(("| quad", "| ten"))]) == 3
    again = [SimulationRow(**each) for each in json.loads((tmp_path / "simulation.json").read_text())["rows"]]
    assert again == rows
    assert (tmp_path / "simulation_times.png").exists()


def test_no_growth_is_claimed_of_piles_that_were_cut_short() -> None:
    piles = [Pile("wide", n, steps, 2.0 * n, 1e-3 * n, 10.0, 1e-10, 1e-9, 0.0) for n, steps in ((10, 320), (20, 50))]
    assert "n^" not in SimulationReport({}, [], piles).pile_table()


def test_part_is_run_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the stack and the piles where robots are given."""
    monkeypatch.setattr("benchmarks.main.stay_on_one_core", lambda: None)  # would hold for the tests to come
    arguments = ["humanoid", "--parts", "simulation", "--batch", "2", "--steps", "5", "--rounds", "1"]
    assert main([*arguments, "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "humanoid, 8 corners" in printed and "implicit, dry joints, self-collision" in printed
    content = json.loads((tmp_path / "simulation.json").read_text())
    assert [each["batch"] for each in content["rows"]] == [2, 1, 2, 1]
    assert content["piles"] == []


def test_the_pages_have_a_place_for_everything_measured(tmp_path: Path) -> None:
    SimulationReport({"processor": "any"}, [row("quadruped, feet", 1.0, 15.0), row("ten boxes", 9.0)]).save(tmp_path)
    page, readme = tmp_path / "page.md", tmp_path / "readme.md"
    page.write_text((ROOT / "docs" / "benchmarks.md").read_text())
    readme.write_text((ROOT / "README.md").read_text())
    for mark, content in update_docs.simulation(tmp_path):
        update_docs.fill(page, mark, content)
    update_docs.fill(readme, "simulation", update_docs.simulated(update_docs.read_simulation(tmp_path)))
    for filled in (page, readme):
        assert "Not measured yet" not in filled.read_text()
        assert "quadruped, feet (nv 18)" in filled.read_text()


@pytest.mark.robots
@pytest.mark.parametrize("name", [name for name in LEGGED if name[0].isupper()])
def test_mujoco_has_the_same_real_robot(name: str) -> None:
    pytest.importorskip("mujoco")
    [robot] = load_robots([name])
    motion = legged_motion(name, robot.model, LEGGED[name], batch=2, steps=100)
    ours, twin = Ours(motion), MujocoTwin(motion)
    twin.run()
    assert twin.disagreement() < SAME_ROBOT
    assert ours.height() == pytest.approx(twin.height(), abs=0.01)
