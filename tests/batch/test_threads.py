"""How many threads a call may use: what the process may run on, what its control groups grant, what the user says."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import featherweight as fw
from featherweight import _testing

linux = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="affinity is a matter of Linux")


def write(folder: Path, files: dict[str, str]) -> str:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return str(folder)


@pytest.mark.parametrize(
    ("cgroup", "files", "granted"),
    [
        ("0::/\n", {}, math.inf),
        ("0::/\n", {"cpu.max": "max 100000\n"}, math.inf),
        ("0::/\n", {"cpu.max": "250000 100000\n"}, 2.5),
        ("0::/a/b\n", {"a/b/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "50000 100000\n"}, 0.5),
        ("0::/a/b\n", {"a/b/cpu.max": "400000 100000\n", "a/cpu.max": "300000 100000\n"}, 3.0),
        ("0::/../elsewhere\n", {"cpu.max": "200000 100000\n"}, 2.0),
        ("0::/a\n", {"a/cpu.max": "nonsense\n"}, math.inf),
        ("0::/a\n", {"a/cpu.max": "0 0\n"}, math.inf),
        ("nonsense", {"cpu.max": ""}, math.inf),
        ("4:cpu,cpuacct:/a\n", {"cpu/a/cpu.cfs_quota_us": "150000", "cpu/a/cpu.cfs_period_us": "100000"}, 1.5),
        ("4:cpu,cpuacct:/a\n", {"cpu/a/cpu.cfs_quota_us": "-1", "cpu/a/cpu.cfs_period_us": "100000"}, math.inf),
        ("4:cpuset:/a\n", {"cpu/a/cpu.cfs_quota_us": "100000", "cpu/a/cpu.cfs_period_us": "100000"}, math.inf),
        ("4:cpu:/host/path\n", {"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "50000"}, 2.0),
    ],
)
def test_control_groups(cgroup: str, files: dict[str, str], granted: float, tmp_path: Path) -> None:
    proc, groups = write(tmp_path / "proc", {"self/cgroup": cgroup}), write(tmp_path / "groups", files)
    assert _testing.granted_cores(proc, groups) == granted


def test_without_control_groups(tmp_path: Path) -> None:
    assert _testing.granted_cores(str(tmp_path / "nothing"), str(tmp_path / "nothing")) == math.inf


def threads_of(variable: str | None) -> subprocess.CompletedProcess[str]:
    """In a process of its own: threads it would use, and threads it has after a large call."""
    script = """
        import os
        import numpy as np
        import featherweight as fw
        model = fw.models.quadruped()
        before = len(os.listdir("/proc/self/task"))
        fw.minverse(model, model.random(np.random.default_rng(0), batch=5000))
        print(fw.build_info()["threads"], len(os.listdir("/proc/self/task")) - before)
    """
    environment = {name: value for name, value in os.environ.items() if name != "FEATHERWEIGHT_THREADS"}
    if variable is not None:
        environment["FEATHERWEIGHT_THREADS"] = variable
    return subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True,
                          timeout=120, env=environment, check=False)  # fmt: skip


@linux
def test_the_variable_limits_threads_and_never_exceeds_the_cores() -> None:
    cores = int(threads_of(None).stdout.split()[0])
    assert 1 <= cores <= len(os.sched_getaffinity(0))
    assert threads_of("1").stdout.split() == ["1", "0"]
    for variable in ("1000", "", "99999999999999999999"):
        assert threads_of(variable).stdout.split() == [str(cores), str(cores - 1)]


@pytest.mark.parametrize("variable", ["0", "-1", "two", "1.5", "2 "])
def test_a_variable_that_is_no_number_fails_the_import(variable: str) -> None:
    result = threads_of(variable)
    assert result.returncode != 0
    assert f"FEATHERWEIGHT_THREADS: expected a positive number of threads, got '{variable}'" in result.stderr


@linux
def test_affinity_is_seen_when_it_changes() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert fw.build_info()["threads"] == 1
    finally:
        os.sched_setaffinity(0, before)
    assert fw.build_info()["threads"] <= len(before)


def test_a_call_may_use_fewer(recwarn: pytest.WarningsRecorder) -> None:
    model = fw.models.quadruped()
    q = model.random(np.random.default_rng(0), batch=300)
    assert np.array_equal(fw.minverse(model, q, num_threads=1), fw.minverse(model, q))
    assert not recwarn
