"""Short-horizon actor-critic: slopes of differences, weights that are best, a pole that is balanced, the same bits."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw

pytest.importorskip("gymnasium", reason="needs gymnasium: pip install featherweight[gym]")
gym, terms = fw.gym, fw.gym.terms
SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 8, "hidden": (16,), "critic": (8,), "episodes": 2, "every": 3}


@pytest.mark.parametrize(
    "change, problem",
    [
        ({"samples": 511}, "samples: expected an integer of at least 512, got 511"),
        ({"num_envs": 0}, "num_envs: expected a positive integer, got 0"),
        ({"num_envs": 1, "orders": "both"}, "num_envs: variances need at least two environments"),
        ({"orders": "second"}, "orders: expected one of first, both, got 'second'"),
        ({"discount": 1.1}, "discount: expected a number from 0 to 1, got 1.1"),
        ({"std": 0.0}, "std: expected a positive number, got 0.0"),
        ({"task": "hopper"}, "task: expected a fw.gym.Task, got 'hopper'"),
        ({"training": 2e4}, "training: expected a fw.gym.Task, got 20000.0"),
        ({"task": replace(gym.tasks.cart_pole(), episode_length=None)}, "task: episodes that never end"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, Any], problem: str) -> None:
    """Before PyTorch is looked for."""
    given: dict[str, Any] = {"task": gym.tasks.cart_pole(), "samples": 4096} | change
    with pytest.raises(ValueError, match=problem):
        fw.learn.shac(given.pop("task"), **given)


def test_pytorch_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(vars(fw.torch), "Environment", raising=False)
    with pytest.raises(ImportError, match=r"needs PyTorch: pip install .featherweight\[torch\]"):
        fw.learn.shac(gym.tasks.cart_pole(), samples=4096)


def test_compliant_contacts_carry_the_weight_on_their_springs() -> None:
    """A ball on a rail sinks by its weight over the stiffness; on rigid ground it does not."""
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    ball = fw.ModelBuilder("ball")
    ball.solid("foot", "sphere", (0.1,), mass=2.0)
    ball.joint("rail", "prismatic", "world", "foot", axis="z")
    scene.add(ball.build(), name="ball", pose=(0, 0, 0.1))
    scene.motor(["ball/rail"])
    task = gym.Task(
        fw.Simulator(scene, dt=1e-3),
        actions={"push": gym.Targets("ball/rail")},
        observations={"height": terms.joint_positions("ball")},
        rewards={"alive": terms.alive()},
    )
    for made, sinks in ((task, 0.0), (fw.learn.compliant(task, 1e4), 2.0 * 9.81 / 1e4)):
        rested = made.simulator.rollout(made.simulator.state(), n_steps=2000).final
        assert abs(rested.q[0] + sinks) < 1e-3 * 2.0 * 9.81 / 1e4
    law = fw.learn.compliant(task, 1e4).simulator.scene.laws[0]
    assert law.friction == task.simulator.scene.laws[0].friction
    assert np.isclose(law.damping, 0.25 * 2.0 * np.sqrt(1e4 * 0.5))  # half a kilogram on each of four springs
    again = fw.learn.compliant(fw.learn.compliant(task, 1e4, damping=7.0), 3e4)
    assert (again.simulator.scene.laws[0].stiffness, again.simulator.scene.laws[0].damping) == (1e4, 7.0)
    for wrong in ({"stiffness": 0.0}, {"damping": np.inf}):
        with pytest.raises(ValueError, match="expected a positive number"):
            fw.learn.compliant(task, **wrong)


# -- with PyTorch -----------------------------------------------------------------------------------------------------


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="needs PyTorch: pip install featherweight[torch]")


def comparable(result: Any) -> Any:
    return replace(result, scores=tuple(replace(each, cpu_seconds=0.0) for each in result.scores))


def learner(torch: Any, task: gym.Task, **change: Any) -> Any:
    from featherweight.learn.actor_critic import Asked
    from featherweight.learn.torch_shac import Learner

    asked: dict[str, Any] = {
        "samples": 64 * 40, "num_envs": 4, "horizon": 16, "orders": "first", "kappa": None, "hidden": (16,),
        "critic": (8,), "discount": 0.97, "trace": 0.9, "rate": 5e-3, "critic_rate": 1e-3, "std": 0.4,
        "every": 1000, "episodes": 2, "seed": 0,
    }  # fmt: skip
    asked |= change
    return Learner(task, fw.torch.Environment(task, asked["num_envs"]), Asked(**asked))


class Recorded:
    """Random numbers of which one may be moved."""

    def __init__(self, at: tuple[int, int] | None = None, by: float = 0.0) -> None:
        self.rng, self.at, self.by, self.step = np.random.default_rng(5), at, by, 0

    def standard_normal(self, shape: tuple[int, int], dtype: Any) -> Any:
        noise = self.rng.standard_normal(shape, dtype=dtype)
        if self.at is not None and self.step == self.at[0]:
            noise[self.at[1], 0] += self.by
        self.step += 1
        return noise


def test_slopes_of_a_window_are_those_of_differences(torch: Any) -> None:
    """Of the discounted return with what the critic expects at the end, where the actor answers; across an end."""
    task = replace(gym.tasks.cart_pole(), episode_length=0.2)
    made = learner(torch, task)
    for _ in range(3):
        made.iterate()
    start = made._envs.arrays()

    def played(at: tuple[int, int] | None = None, by: float = 0.0) -> tuple[float, Any]:
        made._envs.restore(start)
        window = made._act(Recorded(at, by))
        closes = window.ended.clone()
        closes[-1] = True
        gained = window.discounts * (window.rewards + 0.97 * window.following * closes)
        return float(gained.double().sum()), window

    _, window = played()
    assert window.ended.any() and not window.ended.all()
    std = float(made._log_std.detach().exp())
    for at in ((0, 0), (3, 1), (9, 2), (15, 3)):
        step = 0.02  # in single precision: a larger one, and a looser bound
        difference = (played(at, step)[0] - played(at, -step)[0]) / (2.0 * step * std)
        assert abs(difference - float(window.slopes[at][0])) < 2e-3 * float(window.slopes.abs().max())


def test_the_critic_learns_lambda_returns(torch: Any) -> None:
    """Against the sum that defines them: of n-step returns, each weighted by its power of lambda."""
    made = learner(torch, gym.tasks.cart_pole())
    from featherweight.learn.torch_shac import Window

    rng = np.random.default_rng(0)
    h, n, discount, trace = 16, 4, 0.97, 0.9
    rewards, following = rng.normal(size=(h, n)), rng.normal(size=(h, n))
    ended = rng.uniform(size=(h, n)) < 0.15
    some = torch.zeros(h, n, 1)
    given = Window(some, some, some, some[..., 0], *(torch.tensor(x) for x in (rewards, following, ended)))
    found = made._targets(given).numpy()
    for k in range(h):
        for b in range(n):
            stop = next((j for j in range(k, h) if ended[j, b]), h - 1)  # the last action that counts
            returns, gained = [], 0.0
            for j in range(k, stop + 1):
                gained += discount ** (j - k) * rewards[j, b]
                returns.append(gained + discount ** (j - k + 1) * following[j, b])
            weights = [(1 - trace) * trace**j for j in range(len(returns) - 1)] + [trace ** (len(returns) - 1)]
            assert abs(found[k, b] - np.dot(weights, returns)) < 1e-12


def test_estimates_are_weighted_for_the_least_variance(torch: Any) -> None:
    from featherweight.learn.torch_shac import first_order_shares

    rng = np.random.default_rng(1)
    first, zeroth = 1.0 + 0.5 * rng.normal(size=(3, 20000, 2)), 1.0 + 2.0 * rng.normal(size=(3, 20000, 2))
    weights = first_order_shares(torch.tensor(first), torch.tensor(zeroth)).numpy()
    assert weights.shape == (3, 1, 2)
    tried = [np.var(w * first + (1 - w) * zeroth, axis=1).mean() for w in np.linspace(0, 1, 101)]
    assert np.abs(weights - 0.01 * np.argmin(tried)).max() < 0.02  # 20000 samples of each
    still = torch.zeros(1, 5, 1)
    assert float(first_order_shares(torch.ones(1, 5, 1), still + torch.arange(5.0)[None, :, None])) == 1.0
    assert bool(torch.isfinite(first_order_shares(still, still)).all())


def test_both_orders_agree_where_everything_is_smooth(torch: Any) -> None:
    """The mean over thousands of environments of a linear system with a critic that is exact."""
    made = learner(torch, gym.tasks.cart_pole(), num_envs=2048, horizon=4, samples=2048 * 4, trace=1.0)
    window = made._act(np.random.default_rng(0))
    targets = made._targets(window)
    value = made._critic(made._normal(window.observed))[:, :, 0].detach()
    std = float(made._log_std.detach().exp())
    better = (window.discounts * (targets - value))[:, :, None]
    by_score = better * window.noise / std
    error = by_score.std(dim=1) / np.sqrt(2048)
    apart = (by_score.mean(dim=1) - window.slopes.mean(dim=1)).abs()
    assert bool((apart < 4.0 * error).all())
    assert float(window.slopes.std(dim=1).max()) < 0.1 * float(by_score.std(dim=1).min())


@pytest.mark.parametrize("orders", ["first", "both"])
def test_a_pole_is_balanced(torch: Any, orders: Any) -> None:
    """It leans, and runs off the track, before; both cost."""
    task = gym.tasks.cart_pole()
    still = {"upright": -100.0 * terms.drift(terms.joint_positions("robot/hinge"))}
    away = {"middle": -1.0 * terms.drift(terms.joint_positions("robot/slide"))}
    task = replace(task, rewards={**task.rewards, **still, **away})
    result = fw.learn.shac(
        task, samples=12_288, num_envs=8, every=16, hidden=(32,), critic=(32,), rate=1e-2, episodes=4, orders=orders
    )
    first = fw.learn.Policy.initial(4, 1, hidden=(32,))
    assert fw.cluster.evaluate(task, first, episodes=4).steps.mean() < 200
    assert fw.cluster.evaluate(task, result.policy, episodes=4).steps.mean() > 400
    assert result.policy(np.zeros(4)).shape == (1,)
    share = result.scores[-1].first
    assert share == 1.0 if orders == "first" else 0.5 < share < 1.0


@pytest.mark.parametrize("orders", ["first", "both"])
def test_bits_are_those_of_a_run_that_was_not_interrupted(
    torch: Any, orders: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from featherweight.learn import torch_shac

    task = replace(gym.tasks.quadruped(), episode_length=0.3)
    asked = {**SMALL, "samples": 32 * 9, "seed": 2, "orders": orders}
    whole = fw.learn.shac(task, **asked)
    teach, calls = torch_shac.Learner._teach, []

    def interrupted(*given: Any) -> None:
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        teach(*given)

    monkeypatch.setattr(torch_shac.Learner, "_teach", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fw.learn.shac(task, directory=tmp_path, **asked)
    resumed = fw.learn.shac(task, directory=tmp_path, **asked)
    assert len(calls) == 10  # the window that was cut short alone is taken again
    assert comparable(resumed) == comparable(whole)
    with pytest.raises(ValueError, match=r"holds another run: discount was 0\.99, is 0\.5"):
        fw.learn.shac(task, directory=tmp_path, discount=0.5, **asked)
    calls.clear()
    part = fw.learn.shac(task, on_interrupt="return", **asked)
    assert [each.samples for each in part.scores] == [96]


def test_scores_are_those_of_the_rigid_task(torch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    task = replace(gym.tasks.hopper(), episode_length=0.5)
    asked = {**SMALL, "samples": 32 * 3}
    result = fw.learn.shac(task, training=fw.learn.compliant(task), progress=True, **asked)
    assert result.score == fw.cluster.evaluate(task, result.policy, episodes=2, seed=1_000_000).returns.mean()
    assert "learning" in (told := capsys.readouterr().err) and "96/96" in told
    rigid = fw.learn.shac(task, **asked)
    assert rigid.policy != result.policy
    relaxed = fw.learn.shac(task, kappa=1e-3, **asked)
    assert relaxed.policy != rigid.policy
