"""The same on a Ray cluster of two nodes on this machine, of which some workers are killed at work."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw

pytest.importorskip("ray")  # the extra `cluster`; there are no wheels for some versions of Python

cluster = fw.cluster


def test_work_on_two_nodes(tmp_path: Path) -> None:
    """One test for all of it: starting a cluster takes as long as everything that is done with it."""
    with two_nodes():
        bits_do_not_depend_on_workers()
        results_of_workers_are_kept(tmp_path / "results")
        lost_workers_are_replaced(tmp_path)
        errors_come_back_with_their_cause()
        what_cannot_be_sent_is_named()


@contextmanager
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
        try:
            nodes.add_node(**node)
            ray.init(address=nodes.address, log_to_driver=False)
            yield
        finally:
            ray.shutdown()
            nodes.shutdown()


def bits_do_not_depend_on_workers() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.6))
    scene.add(fw.box((0.2, 0.2, 0.2)), name="crate", pose=(0, 0, 0.3))
    sim = fw.Simulator(scene, dt=2e-3)
    state = sim.state(30, v=np.random.default_rng(1).standard_normal((30, 6)))
    whole = sim.rollout(state, n_steps=200)
    for workers in (None, 1, 4):
        assert cluster.rollouts(sim, state, n_steps=200, size=8, workers=workers) == whole

    def draw(item: int, rng: np.random.Generator) -> float:
        return item + float(rng.random())

    assert cluster.map(draw, range(9), seed=2, workers=2) == cluster.map(draw, range(9), seed=2, workers=0)


def results_of_workers_are_kept(directory: Path) -> None:
    def threads(item: int) -> tuple[int, str]:
        return os.getpid(), os.environ["FEATHERWEIGHT_THREADS"]

    first = cluster.map(threads, range(4), workers=1, directory=directory)
    assert {share for _, share in first} == {"2"} and os.getpid() not in dict(first)
    assert cluster.map(threads, range(4), workers=1, directory=directory) == first


def lost_workers_are_replaced(place: Path) -> None:
    def end(item: int) -> int:
        mark = place / "ended"
        if item == 1 or (item == 3 and not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item * item

    zero, lost, *others = cluster.map(end, range(5), workers=2, on_error="return")
    assert (zero, others) == (0, [4, 9, 16])
    assert str(lost) == "item 1: WorkerLostError: its worker ended 3 times"


def errors_come_back_with_their_cause() -> None:
    with pytest.raises(cluster.ItemError, match="item 1: ZeroDivisionError") as caught:
        cluster.map(lambda x: 1 / x, [1, 0], workers=1)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def what_cannot_be_sent_is_named() -> None:
    with pytest.raises(ValueError, match="item 1: cannot be sent to a worker"):
        cluster.map(lambda x: x, [0, (i for i in range(3))], workers=1)
