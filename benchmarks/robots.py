"""Which robots are timed: those everybody knows, else the built-in ones."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import featherweight as fw

Array = NDArray[np.float64]

#: Robots of the ``example-robot-data`` package: file below its ``robots`` folder, and whether the base floats.
KNOWN_ROBOTS = {
    "Talos": ("talos_data/robots/talos_reduced.urdf", True),
    "Solo12": ("solo_description/robots/solo12.urdf", True),
    "ANYmal": ("anymal_b_simple_description/robots/anymal.urdf", True),
    "Panda": ("panda_description/urdf/panda.urdf", False),
    "Go2": ("go2_description/urdf/go2.urdf", True),
    "G1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True),
}
BUILTIN_ROBOTS = ("humanoid", "quadruped", "arm")
ROBOT_DATA_MISSING = (
    "Talos, Solo12, ANYmal, Panda, Go2 and G1 come from the example-robot-data package, which is not installed "
    "(pip install example-robot-data, 130 MB)"
)


@dataclass(frozen=True)
class Robot:
    """A robot to time. ``urdf`` is None when it did not come from a URDF file."""

    name: str
    model: fw.Model
    urdf: Path | None = None
    floating_base: bool = True


@dataclass(frozen=True)
class Samples:
    """Random states in featherweight's coordinates: q (n, nq); v and x (n, nv), x being torques or accelerations."""

    q: Array
    v: Array
    x: Array

    @classmethod
    def random(cls, model: fw.Model, count: int, seed: int = 0) -> Samples:
        """Configurations within the joint limits; velocities and x normally distributed, of size one."""
        rng = np.random.default_rng(seed)
        q = np.asarray(model.random(rng, batch=count), dtype=np.float64)
        return cls(q, rng.standard_normal((count, model.nv)), rng.standard_normal((count, model.nv)))


def robot_data() -> Path | None:
    """The folder of the robots of ``example-robot-data``, or None when that package is not installed."""
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        return None
    return Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))


def default_names() -> list[str]:
    """The robots everybody knows when their data is installed, else the built-in ones."""
    return list(KNOWN_ROBOTS) if robot_data() else list(BUILTIN_ROBOTS)


def load_robots(names: list[str], floating_base: bool = True) -> Iterator[Robot]:
    """Robots by known name, by built-in name, or by file (``floating_base`` applies to URDF files only)."""
    for name in names:
        if name in KNOWN_ROBOTS:
            folder = robot_data()
            if folder is None:
                raise ValueError(f"robot {name!r}: {ROBOT_DATA_MISSING}; built-in robots: {', '.join(BUILTIN_ROBOTS)}")
            file, floats = KNOWN_ROBOTS[name]
            yield _load_urdf(name, folder / file, floats)
        elif name in BUILTIN_ROBOTS:
            yield Robot(name, getattr(fw.models, name)())
        elif Path(name).suffix == ".urdf":
            yield _load_urdf(Path(name).stem, Path(name), floating_base)
        elif Path(name).exists():
            yield Robot(Path(name).stem, fw.load(name, strict=False))
        else:
            raise ValueError(f"robot {name!r}: neither a file nor one of {', '.join([*KNOWN_ROBOTS, *BUILTIN_ROBOTS])}")


def _load_urdf(name: str, file: Path, floating_base: bool) -> Robot:
    return Robot(name, fw.load(file, floating_base=floating_base, strict=False), file, floating_base)
