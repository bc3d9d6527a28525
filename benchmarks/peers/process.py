"""A program of :mod:`benchmarks.peers.build` at work on one robot.

A process of its own keeps the builds from sharing symbols with the wheel's library or with each other.
"""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.robots import Array, Samples


class PinocchioProcess:
    """One build of Pinocchio holding one robot and its samples, answering requests until closed."""

    def __init__(self, binary: Path, model: Any, samples: Samples, constraints: str = "") -> None:
        self.count = len(samples.q)
        self._directory = tempfile.TemporaryDirectory(prefix="pinocchio-")
        self._path = Path(self._directory.name)
        (self._path / "model.txt").write_text(export_model(model))
        (self._path / "constraints.txt").write_text(constraints)
        with (self._path / "samples.bin").open("wb") as file:
            for part in (samples.q, samples.v, samples.x):
                part.tofile(file)
        arguments = ["model.txt", "samples.bin", str(self.count), *(["constraints.txt"] if constraints else [])]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [str(binary), *arguments], cwd=self._path, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def seconds(self, algorithm: str, repeats: int) -> float:
        """Smallest time of one pass over all samples."""
        return float(self._ask(f"time {algorithm} {repeats}").split()[0])

    def result(self, algorithm: str, *shape: int) -> Array:
        """What Pinocchio computed, (samples, *shape), in Pinocchio's joint order."""
        self._ask(f"write {algorithm} result.bin")
        return np.fromfile(self._path / "result.bin").reshape(self.count, *shape)

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


def export_model(model: Any) -> str:
    """A ``pin.Model`` as the text that the programs read; numbers round-trip exactly."""
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
