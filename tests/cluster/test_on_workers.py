"""The same on a Ray cluster of two nodes on this machine; one worker is killed at work."""

from __future__ import annotations

import importlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw

pytest.importorskip("ray")  # the extra `cluster`; there are no wheels for some versions of Python

cluster = fw.cluster


@pytest.fixture(scope="module", autouse=True)
def two_nodes() -> Iterator[None]:
    """On the loopback interface, without messages to anybody else's machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Ray has no setting for it: a node at 127.0.0.1 is announced under the address of the machine
        patch.setattr("ray._private.services.node_ip_address_from_perspective", lambda *_: "127.0.0.1", raising=False)
        ray: Any = importlib.import_module("ray")
        Cluster: Any = importlib.import_module("ray.cluster_utils").Cluster
        node: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "node_ip_address": "127.0.0.1"}
        nodes = Cluster(initialize_head=True, head_node_args=node | {"include_dashboard": False})
        nodes.add_node(**node)
        ray.init(address=nodes.address, log_to_driver=False)
        yield
        ray.shutdown()
        nodes.shutdown()


@pytest.fixture(scope="module")
def sim() -> fw.Simulator:
    scene = fw.Scene(ground=fw.Plane(friction=0.6))
    scene.add(fw.box((0.2, 0.2, 0.2)), name="crate", pose=(0, 0, 0.3))
    return fw.Simulator(scene, dt=2e-3)


def thrown(sim: fw.Simulator, n: int) -> fw.State:
    return sim.state(n, v=np.random.default_rng(1).standard_normal((n, sim.model.nv)))


@pytest.mark.parametrize("workers", [None, 1, 2, 4])
def test_bits_do_not_depend_on_workers(workers: int | None, sim: fw.Simulator) -> None:
    state = thrown(sim, 30)
    assert cluster.rollouts(sim, state, n_steps=200, size=8, workers=workers) == sim.rollout(state, n_steps=200)


def test_generators_do_not_depend_on_workers() -> None:
    def draw(item: int, rng: np.random.Generator) -> float:
        return item + float(rng.random())

    assert cluster.map(draw, range(9), seed=2, workers=2) == cluster.map(draw, range(9), seed=2, workers=0)


def test_evaluations_do_not_depend_on_workers() -> None:
    task = fw.gym.tasks.cart_pole()

    def lean(seen: Any) -> Any:
        return np.sign(seen[:, 1:2])

    whole = cluster.evaluate(task, lean, episodes=12, size=4, workers=0)
    assert cluster.evaluate(task, lean, episodes=12, size=4, workers=2) == whole


def test_a_lost_worker_is_replaced(tmp_path: Path) -> None:
    def end_once(item: int) -> int:
        mark = tmp_path / "ended"
        if item == 3 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item * item

    assert cluster.map(end_once, range(6), workers=2) == [0, 1, 4, 9, 16, 25]
    assert (tmp_path / "ended").exists()


def test_an_item_that_ends_every_worker_is_named() -> None:
    def end(item: int) -> int:
        if item == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    zero, lost, two = cluster.map(end, range(3), workers=2, on_error="return")
    assert (zero, two) == (0, 2)
    assert str(lost) == "item 1: WorkerLostError: its worker ended 3 times"


def test_errors_come_back_with_their_cause() -> None:
    with pytest.raises(cluster.ItemError, match="item 1: ZeroDivisionError") as caught:
        cluster.map(lambda x: 1 / x, [1, 0], workers=1)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_what_cannot_be_sent_is_named() -> None:
    with pytest.raises(ValueError, match="item 1: cannot be sent to a worker"):
        cluster.map(lambda x: x, [0, (i for i in range(3))], workers=1)


def test_workers_have_their_share_of_the_cores() -> None:
    def threads(_: int) -> str:
        return os.environ["FEATHERWEIGHT_THREADS"]

    assert cluster.map(threads, range(2), workers=None) == ["1", "1"]
    assert cluster.map(threads, range(2), workers=1) == ["2", "2"]


def test_results_of_workers_are_kept(tmp_path: Path) -> None:
    def slow(item: int) -> float:
        time.sleep(0.01)
        return time.monotonic()

    first = cluster.map(slow, range(4), workers=2, directory=tmp_path)
    assert cluster.map(slow, range(4), workers=2, directory=tmp_path) == first
