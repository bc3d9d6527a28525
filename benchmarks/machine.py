"""What the figures were measured on and with."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

import featherweight as fw


def processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def compiler_version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def package_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def describe() -> dict[str, str]:
    info = fw.build_info()
    packages = ("featherweight", "pin", "mujoco", "numpy")
    return {
        "date": datetime.date.today().isoformat(),
        "processor": f"{processor_name()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": ", ".join(f"{name} {package_version(name)}" for name in packages),
        "featherweight core": ", ".join(f"{key} {value}" for key, value in info.items()),
    }
