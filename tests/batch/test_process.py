"""Calls and the process around them: threads, allocation, shutting down."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import featherweight as fw

THREADS = Path("/proc/self/task")


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True, text=True, timeout=120, env={**os.environ, **environment}, check=False,
    )  # fmt: skip


@pytest.mark.skipif(not THREADS.is_dir(), reason="reads the threads of a process from /proc")
def test_asking_for_very_many_threads_starts_no_more_than_there_are_cores() -> None:
    model = fw.models.quadruped()
    rng = np.random.default_rng(0)
    q, v = model.random(rng, batch=1024), rng.standard_normal((1024, model.nv))
    before = len(list(THREADS.iterdir()))
    many = fw.aba(model, q, v, v, num_threads=1000)
    assert len(list(THREADS.iterdir())) - before < fw.build_info()["threads"]
    np.testing.assert_array_equal(many, fw.aba(model, q, v, v, num_threads=1))


def test_daemon_threads_inside_a_call_do_not_abort_the_exit() -> None:
    result = run(
        """
        import threading, time
        import numpy as np
        import featherweight as fw
        model = fw.models.humanoid()
        q, v = model.random(np.random.default_rng(0), batch=4096), np.zeros((4096, model.nv))
        def forever():
            while True:
                fw.aba(model, q, v, v)
        for _ in range(3):
            threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.2)
        print("done")
        """
    )
    assert result.stdout == "done\n", result.stderr
    assert result.returncode == 0, result.stderr


def test_calls_from_an_exit_handler_still_work() -> None:
    result = run(
        """
        import atexit
        import numpy as np
        import featherweight as fw
        model = fw.models.humanoid()
        q, v = model.random(np.random.default_rng(0), batch=1024), np.zeros((1024, model.nv))
        atexit.register(lambda: print(fw.aba(model, q, v, v).shape[0]))
        """
    )
    assert (result.stdout, result.returncode) == ("1024\n", 0), result.stderr


def test_a_wrong_instruction_set_is_an_error_of_the_import() -> None:
    result = run("import featherweight", FEATHERWEIGHT_ISA="abacus")
    assert result.returncode != 0
    assert "FEATHERWEIGHT_ISA" in result.stderr
    assert "'abacus' is not available" in result.stderr


@pytest.mark.skipif("counting" not in fw.build_info()["available_isas"], reason="this build does not count operations")
def test_a_step_on_the_counting_build_is_refused() -> None:
    """It counts operations and computes no motion; whoever asked for it is told what to do instead."""
    result = run(
        """
        import featherweight as fw
        scene = fw.Scene(ground=fw.Plane())
        scene.add(fw.box((0.1, 0.1, 0.1)), name="box", pose=(0, 0, 0.05))
        sim = fw.Simulator(scene, dt=1e-3)
        for advance in (sim.step, lambda state: sim.rollout(state, n_steps=2)):
            try:
                advance(sim.state())
            except RuntimeError as error:
                print(error)
        """,
        FEATHERWEIGHT_ISA="counting",
    )
    assert result.returncode == 0, f"exit code {result.returncode}\n{result.stderr}"
    lines = result.stdout.splitlines()
    assert len(lines) == 2, result.stdout
    assert all("counting" in line and "FEATHERWEIGHT_ISA" in line for line in lines), result.stdout


COUNTER = """
#define _GNU_SOURCE
#include <stddef.h>
long featherweight_test_mallocs = 0;
extern void *__libc_malloc(size_t);
void *malloc(size_t n) {
  __atomic_add_fetch(&featherweight_test_mallocs, 1, __ATOMIC_RELAXED);
  return __libc_malloc(n);
}
"""


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="interposes malloc, with glibc and cc"
)
@pytest.mark.skipif(fw.build_info()["sanitizers"], reason="the sanitizer has its own malloc")
def test_warm_kernels_allocate_nothing(tmp_path: Path) -> None:
    (tmp_path / "counter.c").write_text(COUNTER)
    library = tmp_path / "counter.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, tmp_path / "counter.c"], check=True)
    result = run(
        """
        import ctypes
        import numpy as np
        import featherweight as fw
        from featherweight import _testing
        mallocs = ctypes.c_long.in_dll(ctypes.CDLL(None), "featherweight_test_mallocs")
        model = fw.models.humanoid()
        q, v = model.random(np.random.default_rng(0), batch=256), np.zeros((256, model.nv))
        def count(algorithm, repeats, single):
            before = mallocs.value
            _testing.benchmark(model, algorithm, q, v, v, repeats=repeats, single=single)
            return mallocs.value - before
        for algorithm in ("aba", "rnea", "crba", "minverse", "forward_kinematics"):
            for single in (False, True):
                count(algorithm, 2, single)
                print(algorithm, count(algorithm, 40, single) - count(algorithm, 2, single))
        """,
        LD_PRELOAD=str(library),
    )
    assert result.returncode == 0, result.stderr
    counts = [int(line.split()[1]) for line in result.stdout.splitlines()]
    assert len(counts) == 10
    assert counts == [0] * 10, result.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.skipif(fw.build_info()["threads"] == 1, reason="one core: no threads to forget")
def test_a_forked_child_starts_threads_of_its_own() -> None:
    """Those of its parent are not there: waiting for them would take for ever. Once, twice, and in a child's child."""
    result = run(
        """
        import os, signal
        import numpy as np
        import featherweight as fw
        model = fw.models.quadruped()
        q = model.random(np.random.default_rng(0), batch=2000)
        scene = fw.Scene(ground=fw.Plane())
        scene.add(fw.sphere(0.1), pose=(0, 0, 0.1))
        sim = fw.Simulator(scene)
        def work():
            return fw.minverse(model, q).tobytes() + sim.rollout(sim.state(64), n_steps=5).q.tobytes()
        expected = work()
        threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 2
        assert threads > 1
        def child(depth):
            pid = os.fork()
            if pid:
                return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            signal.alarm(30)  # what waits for ever is killed
            fine = work() == expected and work() == expected and (depth == 0 or child(depth - 1) == 0)
            os._exit(0 if fine else 1)
        print([child(1), child(0)], work() == expected)
        """,
        PYTHONWARNINGS="ignore",
    )
    assert result.stdout == "[0, 0] True\n", result.stderr
