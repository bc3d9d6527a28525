"""Ctrl-C ends long calls soon, raises, and leaves nothing half done. Handlers of signals may do what they like.

A signal with a handler of its own stands for Ctrl-C, whose handler raises KeyboardInterrupt as well.
"""

from __future__ import annotations

import io
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits

import featherweight as fw
from featherweight import _testing
from featherweight.progress import stretches

SOON = 1.0  # [s]: a tenth, and as much again as a busy machine may want
SIGNAL = signal.SIGUSR1

on_main_thread = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals are handled by the main thread"
)
pytestmark = on_main_thread


def stop(*_: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def signalled(handler: Callable[..., Any], after: float, every: float | None = None) -> Iterator[list[float]]:
    """Sends the signal once, or again and again; yields a list of when it was sent."""
    sent: list[float] = []
    done = threading.Event()
    main = threading.main_thread().ident
    assert main is not None

    def send() -> None:
        pause: float | None = after
        while pause is not None and not done.wait(pause):
            sent.append(time.monotonic())
            signal.pthread_kill(main, SIGNAL)
            pause = every

    before = signal.signal(SIGNAL, handler)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield sent
    finally:
        done.set()
        sender.join()
        time.sleep(0.0)  # a signal that is pending is handled now
        signal.signal(SIGNAL, before)


def robots() -> fw.Simulator:
    scene = fw.Scene(ground=fw.Plane(friction=0.7))
    scene.add(fw.models.quadruped(), pose=(0, 0, 0.45))
    return fw.Simulator(scene, dt=2e-3)


def heap(n: int = 250) -> fw.Simulator:
    rng = np.random.default_rng(0)
    scene = fw.Scene(ground=fw.Plane(friction=0.6))
    for k in range(n):
        x, y = 0.21 * np.array([k % 5, k // 5 % 5]) + 0.02 * rng.random(2)
        scene.add(fw.box((0.2, 0.2, 0.2)), pose=(x, y, 0.1 + 0.205 * (k // 25)))
    return fw.Simulator(scene, dt=5e-3)


def long_rollout(batch: int | None, n_steps: int) -> Callable[[], Any]:
    sim = robots()
    state = sim.state(batch)
    return lambda: sim.rollout(state, n_steps=n_steps, record=False)


def long_heap() -> Callable[[], Any]:
    sim = heap()
    state = sim.state()
    return lambda: sim.rollout(state, n_steps=10_000, record=False)


def large_batch(num_threads: int | None) -> Callable[[], Any]:
    model = fw.models.humanoid()
    q = model.random(np.random.default_rng(0), batch=200_000)
    return lambda: [fw.minverse(model, q, num_threads=num_threads) for _ in range(100)]


def large_problem(solver: str) -> Callable[[], Any]:
    n = 200  # contacts that cannot all hold
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3 * n, 3 * n))
    blocks = [("point", 3, -1, 0.5, 0.0, 0.0)] * n
    g = rng.standard_normal(3 * n)
    options: dict[str, Any] = {"tolerance": 0.0, "max_gauss_seidel": 10**8, "max_newton": 10**8, "max_admm": 10**8}
    return lambda: [_testing.solve_cone_problem(A @ A.T, g, blocks, solver=solver, **options) for _ in range(10**4)]


CALLS: dict[str, Callable[[], Callable[[], Any]]] = {
    "one robot": lambda: long_rollout(None, 10_000_000),
    "a batch of robots": lambda: long_rollout(64, 1_000_000),
    "a large batch of robots": lambda: long_rollout(4096, 10_000),
    "a heap": long_heap,
    "a batch in one thread": lambda: large_batch(1),
    "a batch": lambda: large_batch(None),
    "gauss_seidel": lambda: large_problem("gauss_seidel"),
    "newton": lambda: large_problem("newton"),
    "admm": lambda: large_problem("admm"),
}


@pytest.mark.parametrize("what", CALLS)
def test_long_calls_end_soon(what: str) -> None:
    call = CALLS[what]()
    with signalled(stop, after=0.2) as sent:
        with pytest.raises(KeyboardInterrupt):
            call()
        assert time.monotonic() - sent[0] < SOON


def test_a_rollout_raises_and_leaves_its_state_alone() -> None:
    sim = robots()
    state = sim.state(3)
    q = state.q.copy()
    with signalled(stop, after=0.1), pytest.raises(KeyboardInterrupt):
        sim.rollout(state, n_steps=10_000_000, record=False)
    assert_same_bits(state.q, q)
    assert_same_bits(sim.rollout(state, n_steps=5).q, robots().rollout(robots().state(3), n_steps=5).q)


@pytest.mark.parametrize("how", ["plain", "policy", "contacts"])
@pytest.mark.parametrize("batch", [None, 3])
def test_what_is_returned_agrees(how: str, batch: int | None) -> None:
    """Rows, contacts, totals, time and final state are those of the steps that were done."""
    sim = robots()
    start = sim.state(batch)
    options: dict[str, Any] = {"record_contacts": how == "contacts"}
    if how == "policy":
        options["policy"] = lambda state: None
    for after in (0.03, 0.1, 0.15):
        with signalled(stop, after=after):
            part = sim.rollout(start, n_steps=1_000_000, on_interrupt="return", **options)
        assert part.interrupted
        whole = sim.rollout(start, n_steps=len(part), **options)
        assert not whole.interrupted
        for name in ("time", "q", "v", "residual", "penetration", "unconverged"):
            assert_same_bits(getattr(part, name), getattr(whole, name), name)
        assert part.contacts == whole.contacts and part.final == whole.final
        assert all(np.array_equal(part.iterations[name], whole.iterations[name]) for name in part.iterations)


def test_a_rollout_that_is_not_interrupted_says_so() -> None:
    sim = robots()
    assert not sim.rollout(sim.state(), n_steps=3, on_interrupt="return").interrupted
    with pytest.raises(ValueError, match='on_interrupt must be "raise" or "return", got None'):
        sim.rollout(sim.state(), n_steps=3, on_interrupt=None)  # type: ignore[arg-type]


def test_handlers_may_use_the_library_in_the_middle_of_a_call() -> None:
    """In memory and threads of their own: neither call notices the other."""
    sim = robots()
    start = sim.state(32)
    expected = sim.rollout(start, n_steps=1500, record=False).final
    model = fw.models.humanoid()
    q = model.random(np.random.default_rng(0), batch=300)
    inverse, steps = fw.minverse(model, q), sim.rollout(start, n_steps=3).q
    small = 1e-310
    calls = []

    def handler(*_: object) -> None:
        calls.append(0)
        assert_same_bits(fw.minverse(model, q), inverse)
        assert_same_bits(fw.minverse(model, q[0]), inverse[0])
        assert_same_bits(sim.rollout(start, n_steps=3).q, steps)
        assert small * 0.5 > 0.0  # numbers are as usual

    with signalled(handler, after=0.01, every=0.15):
        for _ in range(3):
            assert sim.rollout(start, n_steps=1500, record=False).final == expected
    assert calls


def test_other_threads_finish_what_they_do() -> None:
    sim = robots()
    start = sim.state(8)
    expected = sim.rollout(start, n_steps=10_000, record=False).final
    results: list[fw.State] = []
    worker = threading.Thread(target=lambda: results.append(sim.rollout(start, n_steps=10_000, record=False).final))
    worker.start()
    with signalled(stop, after=0.1), pytest.raises(KeyboardInterrupt):
        time.sleep(60)
    while not results and worker.is_alive():
        time.sleep(0.01)
    assert results == [expected]


# -- bars ------------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bars_move_while_the_work_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    sim = heap(30)  # small enough that a busy machine takes many of its steps in a second, too
    with signalled(stop, after=1.0):
        part = sim.rollout(sim.state(), n_steps=10_000, progress=True, on_interrupt="return")
    drawn = terminal.getvalue().split("\r")
    assert len(drawn) > 4
    assert f"{len(part)}/10000" in drawn[-1]


@pytest.mark.parametrize(("steps", "most"), [(0, 1), (1, 1), (7, 1), (1000, 1000), (1000, 10)])
@pytest.mark.parametrize("watched", [False, True])
def test_stretches_make_up_the_whole(steps: int, most: int, watched: bool) -> None:
    parts = list(stretches(steps, most=most, watched=watched))
    assert sum(parts) == steps and all(1 <= n <= most for n in parts)
    if not watched:
        assert len(parts) == -(-steps // most)


def test_stretches_follow_the_clock() -> None:
    parts = []
    for n in stretches(60, most=60, watched=True):
        parts.append(n)
        time.sleep(0.01 * n)
    assert max(parts) <= 10
