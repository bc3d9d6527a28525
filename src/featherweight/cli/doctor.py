"""What is installed, how it runs, and how to install what is missing: ``featherweight doctor``."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from importlib import metadata

import numpy as np

import featherweight as fw

#: Extras: what they are for, and the modules they bring.
EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "mjcf": ("MJCF files", ("mujoco",)),
    "mesh": ("mesh files and convex hulls", ("trimesh", "scipy", "collada")),
    "xacro": ("xacro files", ("xacro",)),
    "descriptions": ("robots by name", ("robot_descriptions",)),
    "yaml": ("loops and couplings in a YAML file next to a URDF", ("yaml",)),
    "decompose": ("concave meshes, decomposed into convex pieces", ("coacd", "trimesh")),
    "plot": ("pictures and curves", ("matplotlib",)),
    "view": ("live views in the browser", ("viser",)),
    "video": ("videos, and rendering of environments", ("panda3d", "imageio_ffmpeg")),
    "gym": ("Gymnasium environments", ("gymnasium",)),
    "torch": ("gradients in PyTorch", ("torch",)),
    "jax": ("gradients in JAX", ("jax",)),
    "cluster": ("work on several machines", ("ray",)),
}


def examination() -> tuple[list[str], bool]:
    """The findings, line by line, and whether the package itself works."""
    build = fw.build_info()
    lines = [
        f"featherweight {fw.__version__}, Python {platform.python_version()}, NumPy {np.__version__}",
        f"{platform.system()} {platform.machine()}, {build['threads']} threads",
        f"instruction set {build['isa']} ({build['lanes_float64']} float64 values per register); "
        f"built for {', '.join(build['available_isas'])} by {build['compiler']}",
    ]
    well, what = _computes()
    lines += [what, ""]
    missing = []
    for extra, (purpose, modules) in EXTRAS.items():
        absent = [name for name in modules if importlib.util.find_spec(name) is None]
        lines.append(f"  {extra:<12} {'yes' if not absent else 'no':<4} {purpose}{_versions(modules, absent)}")
        missing += [extra] if absent else []
    browser = next((found for name in ("chromium", "google-chrome", "firefox") if (found := shutil.which(name))), None)
    lines.append(
        f"  {'browser':<12} {'yes' if browser else 'no':<4} pages of fw.view{f': {browser}' if browser else ''}"
    )
    if missing:
        lines += ["", "To install what is missing:", f'  pip install "featherweight[{",".join(missing)}]"']
    return lines, well


def _versions(modules: tuple[str, ...], absent: list[str]) -> str:
    if absent:
        return f" (needs {', '.join(absent)})"
    names = metadata.packages_distributions()
    return " (" + ", ".join(f"{name} {metadata.version(names[name][0])}" for name in modules if name in names) + ")"


def _computes() -> tuple[bool, str]:
    """Checks a free fall, whose exact answer is known."""
    model = fw.models.quadruped()
    a = fw.aba(model, model.neutral(), np.zeros(model.nv), np.zeros(model.nv))
    error = float(np.abs(a - np.array([0.0, 0.0, -9.81] + [0.0] * (model.nv - 3))).max())
    well = error < 1e-10
    return well, f"free fall of a quadruped: {'right' if well else 'WRONG'}, with an error of {error:.2g} m/s^2"


def doctor() -> int:
    """Print the examination; returns the exit code."""
    lines, well = examination()
    print("\n".join(lines))
    sys.stdout.flush()
    return 0 if well else 1
