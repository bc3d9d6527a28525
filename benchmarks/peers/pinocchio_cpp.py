"""Pinocchio's C++, built from the headers inside the ``pin`` wheel and timed in its own process.

The wheel's compiled library shows one compiler and one set of flags; a user who cares builds Pinocchio himself, and
clang builds it markedly faster than g++. So the headers are compiled here with every compiler found, for this machine.
A separate process keeps these builds from sharing symbols with the wheel's library or with each other.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

from featherweight.bench.contenders import PinRobot
from featherweight.bench.machine import compiler_version, processor_name
from featherweight.bench.race import Contender
from featherweight.bench.robots import Array, Samples

SOURCE = Path(__file__).with_name("pinocchio_bench.cpp")
CACHE = Path(__file__).parents[2] / "build" / "peers"
FLAGS = ["-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-w"]
#: What Pinocchio's own CMake target defines for whoever includes its headers.
DEFINITIONS = [
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
]
#: Pinocchio offers two frame conventions; whichever is faster on a robot speaks for it.
VARIANTS = {"aba": ("aba_local", "aba_world"), "rnea": ("rnea",), "crba": ("crba_local", "crba_world")}


def find_compilers() -> dict[str, str]:
    """Compilers by the name of their column."""
    clangs = ["clang++", *(f"clang++-{version}" for version in range(25, 13, -1))]
    found = {"g++": shutil.which("g++"), "clang": next(filter(None, map(shutil.which, clangs)), None)}
    return {name: path for name, path in found.items() if path}


def include_directories() -> list[Path]:
    """Pinocchio's and Eigen's headers, or a :class:`RuntimeError` that says what to install."""
    try:
        headers = Path(str(importlib.metadata.distribution("pin").locate_file("cmeel.prefix/include")))
    except importlib.metadata.PackageNotFoundError:
        raise RuntimeError("Pinocchio is not installed: pip install pin==4.1.0") from None
    candidates = [headers / "eigen3", Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3")]
    eigen = next((path for path in candidates if (path / "Eigen" / "Core").exists()), None)
    if eigen is None:
        raise RuntimeError("Eigen's headers were not found: pip install 'cmeel-eigen>=3.4,<4'")
    return [headers, eigen]


def cached_binaries() -> dict[str, Path]:
    """Where the program built by each compiler found is, or would be, in the cache."""
    headers, eigen = include_directories()
    # everything the machine code depends on: source, flags, versions, and the processor behind -march=native
    ingredients = [SOURCE.read_text(), *FLAGS, *DEFINITIONS, processor_name()]
    ingredients += [(headers / "pinocchio" / "config.hpp").read_text()]
    ingredients += [(eigen / "Eigen" / "src" / "Core" / "util" / "Macros.h").read_text()]
    binaries = {}
    for name, compiler in find_compilers().items():
        key = hashlib.sha256("\n".join([*ingredients, compiler_version(compiler)]).encode()).hexdigest()[:12]
        binaries[name] = CACHE / f"pinocchio_bench-{name}-{key}"
    return binaries


def build() -> None:
    """Compile ``pinocchio_bench`` with every compiler found, unless it is in the cache. Two to four minutes."""
    compilers = find_compilers()
    if not compilers:
        raise RuntimeError("neither g++ nor clang++ was found to build Pinocchio with")
    include = [f"-isystem{path}" for path in include_directories()]
    running = {}
    for name, binary in cached_binaries().items():
        if not binary.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            command = [compilers[name], *FLAGS, *DEFINITIONS, *include, str(SOURCE), "-o", f"{binary}.partial"]
            running[name] = (subprocess.Popen(command, stderr=subprocess.PIPE, text=True), binary)
    if running:
        print(f"building Pinocchio's C++ with {' and '.join(running)} (once; a few minutes)", file=sys.stderr)
        _wait(running)


def _wait(running: dict[str, tuple[subprocess.Popen[str], Path]]) -> None:
    """Show progress until all compilers have finished; a finished binary gets its final name."""
    start = time.monotonic()
    interval = 1.0 if sys.stderr.isatty() else 15.0
    pending = dict(running)
    while pending:
        for name, (process, binary) in list(pending.items()):
            try:
                _, errors = process.communicate(timeout=interval / len(pending))
            except subprocess.TimeoutExpired:
                continue
            del pending[name]
            if process.returncode != 0:
                for other, _ in pending.values():
                    other.kill()
                raise RuntimeError(f"{name} could not build {SOURCE.name}:\n{errors[-2000:]}")
            Path(f"{binary}.partial").rename(binary)
        end = "\r" if sys.stderr.isatty() and pending else "\n"
        state = "waiting for " + ", ".join(pending) if pending else "done"
        print(f"  {time.monotonic() - start:4.0f} s  {state}    ", end=end, file=sys.stderr, flush=True)


def export_model(model: Any) -> str:
    """A ``pin.Model`` as the text that ``pinocchio_bench`` reads; numbers round-trip exactly."""
    lines = [f"{model.njoints - 1}", numbers(model.gravity.linear)]
    for i in range(1, model.njoints):
        joint, placement, inertia = model.joints[i], model.jointPlacements[i], model.inertias[i]
        axis = joint.extract().axis if "Unaligned" in joint.shortname() else np.zeros(3)
        armature = model.armature[joint.idx_v : joint.idx_v + joint.nv]
        values = [placement.rotation, placement.translation, inertia.mass, inertia.lever, inertia.inertia, armature]
        name = "_".join(model.names[i].split())  # the reader splits at blanks
        lines.append(f"{name} {joint.shortname()} {model.parents[i]} {numbers(axis)} {' '.join(map(numbers, values))}")
    return "\n".join(lines) + "\n"


def numbers(values: Any) -> str:
    """Numbers separated by blanks, with all their digits."""
    return " ".join(repr(float(value)) for value in np.ravel(values))


class PinocchioProcess:
    """One build of Pinocchio holding one robot and its samples, answering requests until closed."""

    def __init__(self, binary: Path, model: Any, samples: Samples) -> None:
        self.count, self.nv = len(samples.q), model.nv
        self._directory = tempfile.TemporaryDirectory(prefix="pinocchio_bench-")
        self._path = Path(self._directory.name)
        (self._path / "model.txt").write_text(export_model(model))
        with (self._path / "samples.bin").open("wb") as file:
            for part in (samples.q, samples.v, samples.x):
                part.tofile(file)
        self._process = subprocess.Popen(
            [str(binary), str(self._path / "model.txt"), str(self._path / "samples.bin"), str(self.count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def seconds(self, algorithm: str, repeats: int) -> float:
        """Smallest time of one pass over all samples, in the faster convention."""
        return min(float(self._ask(f"time {name} {repeats}").split()[0]) for name in VARIANTS[algorithm])

    def result(self, algorithm: str) -> Array:
        """What Pinocchio computed, (samples, nv) or (samples, nv, nv), in Pinocchio's joint order."""
        path = self._path / "result.bin"
        self._ask(f"write {VARIANTS[algorithm][0]} {path}")
        shape = (self.count, self.nv, self.nv) if algorithm == "crba" else (self.count, self.nv)
        return np.fromfile(path).reshape(shape)

    def contender(self, name: str, robot: PinRobot) -> Contender:
        return Contender(name, self.seconds, lambda algorithm: robot.in_our_order(self.result(algorithm)))

    def close(self) -> None:
        """End the process and remove its files."""
        self._process.communicate()
        self._directory.cleanup()

    def _ask(self, request: str) -> str:
        assert self._process.stdin and self._process.stdout and self._process.stderr
        with suppress(BrokenPipeError):  # the reason is on stderr, read below
            print(request, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"Pinocchio's process stopped: {self._process.stderr.read().strip()}")
        return answer


def contenders(robot: PinRobot, samples: Samples, stack: ExitStack) -> list[Contender]:
    """Every build in the cache, ready to race on ``samples``; ``stack`` ends the processes."""
    if not CACHE.exists():
        return []
    states = robot.samples(samples)
    field = []
    for name, binary in cached_binaries().items():
        if binary.exists():
            process = PinocchioProcess(binary, robot.model, states)
            stack.callback(process.close)
            field.append(process.contender(f"pin {name}", robot))
    return field
