"""Builds the programs that time Pinocchio's C++ from the headers inside the ``pin`` wheel.

The wheel's compiled library shows one compiler and one set of flags; a user who cares builds Pinocchio himself, and
clang builds it markedly faster than g++. So the headers are compiled here with every compiler found, for this machine.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.machine import compiler_version, processor_name

FOLDER = Path(__file__).parent
CACHE = FOLDER.parents[1] / "build" / "peers"
PROGRAMS = ("pinocchio_bench", "pinocchio_constrained", "pinocchio_delassus", "pinocchio_derivatives")
FLAGS = ["-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-w"]
#: What Pinocchio's own CMake target defines for whoever includes its headers.
DEFINITIONS = [
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
]


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


def binaries(program: str) -> dict[str, Path]:
    """Where the program built by each compiler found is, or would be, in the cache."""
    headers, eigen = include_directories()
    # everything the machine code depends on: source, flags, versions, and the processor behind -march=native
    ingredients = [file.read_text() for file in sources(FOLDER / f"{program}.cpp")]
    ingredients += [*FLAGS, *DEFINITIONS, processor_name()]
    ingredients += [(headers / "pinocchio" / "config.hpp").read_text()]
    ingredients += [(eigen / "Eigen" / "src" / "Core" / "util" / "Macros.h").read_text()]
    paths = {}
    for name, compiler in find_compilers().items():
        key = hashlib.sha256("\n".join([*ingredients, compiler_version(compiler)]).encode()).hexdigest()[:12]
        paths[name] = CACHE / f"{program}-{name}-{key}"
    return paths


def sources(file: Path) -> list[Path]:
    """The file, and those of its folder that it includes."""
    included = re.findall(r'^#include "(.+)"', file.read_text(), re.M)
    return [file, *(source for name in included for source in sources(file.parent / name))]


def cached(program: str) -> dict[str, Path]:
    """Those that are built."""
    return {name: path for name, path in binaries(program).items() if path.exists()} if CACHE.exists() else {}


def build() -> None:
    """Compile all programs with every compiler found, unless they are in the cache. Some minutes each."""
    if not find_compilers():
        raise RuntimeError("neither g++ nor clang++ was found to build Pinocchio with")
    for program in PROGRAMS:
        _build(program)


def _build(program: str) -> None:
    include = [f"-isystem{path}" for path in include_directories()]
    running = {}
    for name, binary in binaries(program).items():
        if not binary.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            source = str(FOLDER / f"{program}.cpp")
            command = [find_compilers()[name], *FLAGS, *DEFINITIONS, *include, source, "-o", f"{binary}.partial"]
            running[name] = (subprocess.Popen(command, stderr=subprocess.PIPE, text=True), binary)
    if running:
        print(f"building {program} with {' and '.join(running)} (once; a few minutes)", file=sys.stderr)
        _wait(program, running)


def _wait(program: str, running: dict[str, tuple[subprocess.Popen[str], Path]]) -> None:
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
                raise RuntimeError(f"{name} could not build {program}:\n{errors[-2000:]}")
            Path(f"{binary}.partial").rename(binary)
        end = "\r" if sys.stderr.isatty() and pending else "\n"
        state = "waiting for " + ", ".join(pending) if pending else "done"
        print(f"  {time.monotonic() - start:4.0f} s  {state}    ", end=end, file=sys.stderr, flush=True)
