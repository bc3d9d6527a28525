"""Imitation: experts whose policy is known, answers as the core has them, the same bits after an interruption."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.gym.vector_env import Episodes
from featherweight.learn.experts import Answers

pytest.importorskip("gymnasium", reason="needs gymnasium: pip install featherweight[gym]")
gym, terms, Policy = fw.gym, fw.gym.terms, fw.learn.Policy

#: Of a pole on a cart, weak enough that actions are not cut.
GAINS = np.array([[0.02], [1.0], [0.05], [0.2]])
SMALL = fw.learn.Regression(hidden=(16,), steps=50, library="numpy")


def linear(weights: Any) -> Any:
    n, m = np.shape(weights)
    return Policy((np.asarray(weights),), (np.zeros(m),), np.zeros(n), np.ones(n), output="clip")


def least_squares(observations: Any, actions: Any, seed: int) -> Any:
    return linear(np.linalg.lstsq(observations, actions, rcond=None)[0])


def upright(world: Any) -> Any:
    return np.concatenate([world.q, world.v], axis=1) @ GAINS


def comparable(result: Any) -> Any:
    return replace(result, rounds=tuple(replace(each, cpu_seconds=0.0) for each in result.rounds))


@pytest.mark.parametrize("by", ["controls", "actions"])
def test_gains_of_a_linear_expert_are_found(by: str) -> None:
    """From its controls for states, and from its actions for observations, which are the state here."""
    sees = {} if by == "controls" else {"sees": "observations", "gives": "actions"}
    expert = upright if by == "controls" else linear(GAINS)
    task = gym.tasks.cart_pole()
    result = fw.learn.imitate(task, expert, labels=200, rounds=2, learner=least_squares, episodes=4, **sees)  # type: ignore[arg-type]
    # observations are rounded to single precision, and hardly any of 200 labels repeats another
    assert np.abs(result.policy.weights[0] - GAINS).max() < 1e-5
    assert result.labels == 200 and [each.labels for each in result.rounds] == [100, 200]
    assert result.library == "least_squares" and result.rounds[0].loss < 1e-6
    assert result.score == fw.cluster.evaluate(task, result.policy, episodes=4, seed=1_000_000).returns.mean()


def mixed() -> gym.Task:
    """All kinds of actions at once."""
    scene = fw.Scene()
    arm = scene.add(fw.models.arm(), name="arm", q=[0.0, 0.5, 0.0, 1.0, 0.0, 0.5, 0.0], self_collision=False)
    scene.servo(arm, kp=200, kd=20)
    return gym.Task(
        fw.Simulator(scene, dt=5e-3, integrator="implicit"),
        actions={
            "moving": gym.Increments("arm/joint_1", scale=0.1),
            "both": gym.Grip("arm/joint_[23]", low=0.4, high=0.9),
            "others": gym.Targets("arm/joint_[4567]", scale=(0.1, 0.2, 0.3, 0.4)),
        },
        observations={"joints": terms.joint_positions("arm"), "last": terms.action()},
        rewards={"still": -1.0 * terms.drift(terms.joint_velocities("arm"))},
        resets={"posture": terms.scatter_joints("arm", position=0.05)},
        episode_length=1.0,
    )


def test_controls_are_taken_back_to_the_actions_that_the_core_makes_them_of() -> None:
    envs = gym.VectorEnv(mixed(), 5)
    episodes = envs._episodes
    answers = Answers(episodes.rules, episodes.n_actions)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(4):
        actions, before = rng.uniform(-1, 1, (5, 6)), envs.control
        envs.step(actions)
        assert np.abs(answers.actions(envs.control, before) - actions).max() < 1e-12
    far = answers.actions(envs.control + 9.0, envs.control)
    assert np.array_equal(far, np.ones((5, 6)))


def test_expert_and_policy_share_the_actions() -> None:
    """Told by the action that is observed: the expert alone, then nobody but the policy, then half and half."""
    seen: list[Any] = []

    def spy(observations: Any, actions: Any, seed: int) -> Any:
        seen.append(observations[:, -6:])
        return replace(linear(np.zeros((13, 6))), biases=(np.full(6, -0.25),))

    def expert(world: Any) -> Any:
        return np.full((len(world), 6), 0.5)

    fw.learn.imitate(
        mixed(), lambda observed: expert(observed), sees="observations", gives="actions",
        labels=600, rounds=3, num_envs=4, mixing=[1.0, 0.0, 0.5], noise=0.0, learner=spy, episodes=1,
    )  # fmt: skip
    first, second, third = seen[0], seen[1][200:], seen[2][400:]
    assert set(np.unique(first[4:])) == {0.5} and set(np.unique(first[:4])) == {0.0}  # zero: an episode began
    assert set(np.unique(second[4:])) == {-0.25}
    assert 0.35 < np.mean(third[4:] == 0.5) < 0.65


@pytest.fixture
def flat() -> gym.Task:
    """Noise, commands, pushes and parameters at random: all that goes on from one round to the next."""
    return replace(gym.tasks.quadruped(), episode_length=1.5)


class Interrupted:
    """An expert that is cut short once."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, world: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return 0.9 * world.q[:, 7:] + 0.02 * world.command("velocity")[:, :1]


def test_bits_are_those_of_a_run_that_was_not_interrupted(flat: gym.Task, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"labels": 240, "rounds": 4, "num_envs": 4, "learner": SMALL, "episodes": 2, "seed": 3}
    whole = fw.learn.imitate(flat, Interrupted(-1), **asked)
    expert = Interrupted(40)  # in the third round
    with pytest.raises(KeyboardInterrupt):
        fw.learn.imitate(flat, expert, directory=tmp_path, **asked)
    asked_before = expert.left
    resumed = fw.learn.imitate(flat, expert, directory=tmp_path, **asked)
    assert asked_before - expert.left == 30  # two rounds of 15 questions: no round is repeated
    assert comparable(resumed) == comparable(whole)
    again = fw.learn.imitate(flat, expert, directory=tmp_path, **asked)
    assert again == resumed and asked_before - expert.left == 30
    with pytest.raises(ValueError, match=r"holds another run: labels was 240, is 480"):
        fw.learn.imitate(flat, expert, directory=tmp_path, **{**asked, "labels": 480})
    other = fw.learn.imitate(flat, expert, **{**asked, "seed": 4})
    assert other.policy != whole.policy


def test_an_interruption_may_end_the_run(flat: gym.Task) -> None:
    asked: dict[str, Any] = {"labels": 120, "rounds": 4, "num_envs": 2, "learner": SMALL, "episodes": 2}
    part = fw.learn.imitate(flat, Interrupted(20), on_interrupt="return", **asked)
    assert len(part.rounds) == 1 and part.labels == 30
    with pytest.raises(KeyboardInterrupt):  # nothing to return yet
        fw.learn.imitate(flat, Interrupted(3), on_interrupt="return", **asked)


def test_the_best_round_is_kept() -> None:
    made: list[Any] = []

    def worse_and_worse(observations: Any, actions: Any, seed: int) -> Any:
        made.append(linear(GAINS * (1.0, -1.0, 1.0)[len(made)]))
        return made[-1]

    result = fw.learn.imitate(
        gym.tasks.cart_pole(), upright, labels=90, rounds=3, num_envs=3, learner=worse_and_worse, episodes=4
    )
    scores = [each.score for each in result.rounds]
    assert result.best == 0 and scores[0] == scores[2] > scores[1]
    assert result.policy == made[0] and result.rounds[1].fallen == 4


def test_questions_without_an_answer_are_counted() -> None:
    def sometimes(world: Any) -> Any:
        return np.where(world.q[:, :1] > 0.0, np.nan, upright(world))

    asked: dict[str, Any] = {"labels": 200, "rounds": 2, "learner": least_squares, "episodes": 2}
    result = fw.learn.imitate(gym.tasks.cart_pole(), sometimes, **asked)
    assert np.abs(result.policy.weights[0] - GAINS).max() < 1e-4
    refused = sum(each.refused for each in result.rounds)
    assert refused > 10 and result.labels + refused == 200
    with pytest.raises(ValueError, match="answered none of the questions"):
        fw.learn.imitate(gym.tasks.cart_pole(), lambda world: np.full((10, 1), np.nan), **asked)


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    fw.learn.imitate(gym.tasks.cart_pole(), upright, labels=20, rounds=2, learner=least_squares, progress=True)
    assert "imitating" in (told := capsys.readouterr().err) and "20/20" in told


@pytest.mark.parametrize(
    "change, problem",
    [
        ({"labels": 19}, "labels: expected an integer of at least 20, got 19"),
        ({"rounds": 0}, "rounds: expected a positive integer"),
        ({"mixing": 1.5}, "mixing: expected a share from 0 to 1, or one for each round, got 1.5"),
        ({"mixing": [1.0]}, "mixing: expected a share"),
        ({"noise": -1.0}, "noise: expected a number of at least 0, got -1.0"),
        ({"sees": "state"}, "sees: expected one of world, observations, got 'state'"),
        ({"gives": "torques"}, "gives: expected one of controls, actions"),
        ({"expert": 3}, "expert: expected a function"),
        ({"expert": lambda world: np.zeros((2, 1))}, r"expert: expected controls of shape \(10, 1\), got \(2, 1\)"),
        ({"task": "cart-pole"}, "task: expected a fw.gym.Task"),
        ({"task": replace(gym.tasks.cart_pole(), episode_length=None)}, "task: episodes that never end"),
        ({"learner": lambda x, y, seed: linear(np.zeros((3, 1)))}, "learner: expected a Policy of 4 obs.* 1 act"),
        ({"directory": __file__}, "directory: .* is a file"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, Any], problem: str) -> None:
    given: dict[str, Any] = {"task": gym.tasks.cart_pole(), "expert": upright, "labels": 40, "rounds": 2}
    given |= {"learner": SMALL} | change
    with pytest.raises(ValueError, match=problem):
        fw.learn.imitate(given.pop("task"), given.pop("expert"), **given)


def test_files_that_are_no_checkpoints_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "checkpoint.npz", q=np.zeros(3))
    with pytest.raises(ValueError, match=r"checkpoint\.npz: not the checkpoint of a run that learns"):
        fw.learn.imitate(gym.tasks.cart_pole(), upright, labels=20, rounds=2, learner=SMALL, directory=tmp_path)


# -- planners ---------------------------------------------------------------------------------------------------------


def balancing(simulator: fw.Simulator) -> fw.mpc.ILQR:
    task = fw.mpc.Task(simulator)
    task.add("upright", fw.mpc.joint_position(), weight=(0.3, 3.0))
    task.add("effort", fw.mpc.control(), weight=0.3)
    return fw.mpc.ILQR(simulator, task, nodes=20, dt=0.02)


def test_every_environment_has_a_planner_of_its_own() -> None:
    """The answers are those of planners that follow one environment each, also where an episode begins anew."""
    task = replace(gym.tasks.cart_pole(), episode_length=0.06)
    episodes = Episodes(task, 3)
    rows = np.arange(3)
    episodes.random.seed(rows, [5, 6, 7])
    episodes.start(rows)
    expert = fw.learn.Planners(lambda: balancing(task.simulator))
    own = [balancing(task.simulator) for _ in range(3)]
    for step in range(6):
        world = episodes.world()
        answers = expert(world)
        for k, planner in enumerate(own):
            if step % 3 == 0:
                planner.reset()
            plan = planner.update(task.simulator.state(q=world.q[k], v=world.v[k]), 0.02 * (step % 3))
            assert np.array_equal(answers[k], plan.control[0])
        _, _, over = episodes.advance(np.clip(answers, -1, 1), np.zeros(3, dtype=bool))
        if over.any():
            episodes.start(rows)
    assert over.all()


def test_targets_of_planners_follow_commands() -> None:
    task = replace(gym.tasks.cart_pole(), commands={"place": terms.draw((-1.0,), (1.0,))})
    aimed: list[tuple[float, Any]] = []

    def aim(plan: fw.mpc.Task, world: Any) -> None:
        assert len(world) == 1
        plan["upright"].target = (world.command("place")[0, 0], 0.0)
        aimed.append((float(world.q[0, 0]), plan["upright"].target))

    expert = fw.learn.Planners(lambda: balancing(task.simulator), aim=aim)
    fw.learn.imitate(task, expert, labels=4, rounds=1, num_envs=2, learner=least_squares, episodes=1)
    assert len({target[0] for _, target in aimed}) == 2 and len({place for place, _ in aimed}) == 4


def test_planners_that_find_no_plan_do_not_answer() -> None:
    class Lost(fw.mpc.ILQR):
        def update(self, state: fw.State, time: float = 0.0) -> fw.mpc.Plan:
            if state.q[0] > 0.0:
                raise ValueError("state: everything that could be planned from it fails")
            return super().update(state, time)

    task = gym.tasks.cart_pole()
    upright = fw.mpc.Task(task.simulator)
    upright.add("effort", fw.mpc.control())
    expert = fw.learn.Planners(lambda: Lost(task.simulator, upright, nodes=5))
    episodes = Episodes(task, 8)
    episodes.start(np.arange(8))
    world = episodes.world()
    assert np.array_equal(np.isnan(expert(world)[:, 0]), world.q[:, 0] > 0.0)
    assert 0 < np.sum(world.q[:, 0] > 0.0) < 8


def test_planners_of_other_robots_are_refused() -> None:
    other = fw.learn.Planners(lambda: balancing(gym.tasks.cart_pole().simulator))
    nobody = fw.learn.Planners(lambda: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match="expert: the planner has other joints or actuators than the task"):
        fw.learn.imitate(gym.tasks.hopper(), other, labels=20, rounds=2, learner=SMALL)
    with pytest.raises(ValueError, match=r"expert: expected a planner such as fw\.mpc\.ILQR, got 3"):
        fw.learn.imitate(gym.tasks.cart_pole(), nobody, labels=20, rounds=2, learner=SMALL)
