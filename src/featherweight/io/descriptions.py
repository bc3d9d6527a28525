"""Robots by the names that the package ``robot_descriptions`` has for them, from its cache. Nothing is downloaded."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..checks import close_names

_importing = threading.Lock()


@dataclass(frozen=True)
class Description:
    """Where a robot is."""

    path: Path
    package_dirs: tuple[str, ...]
    arguments: Mapping[str, str]  # of a xacro file


def is_name(path: str | os.PathLike[str]) -> bool:
    """Whether this is the name of a description, and not a file."""
    return isinstance(path, str) and path.endswith("_description") and path.isidentifier() and not os.path.exists(path)


def find(name: str) -> Description:
    """The files of a description in the cache."""
    try:
        package = importlib.import_module("robot_descriptions._cache")
        names = importlib.import_module("robot_descriptions._descriptions").DESCRIPTIONS
    except ImportError:
        message = f'loading {name!r} by name needs robot_descriptions: pip install "featherweight[descriptions]"'
        raise ImportError(message) from None
    if name not in names:
        raise ValueError(f"robot_descriptions has no {name!r}{close_names(name, names)}")
    with _offline(package, name):
        module: Any = importlib.import_module(f"robot_descriptions.{name}")
    found = (getattr(module, f"{kind}_PATH", None) for kind in ("URDF", "MJCF", "XACRO"))
    file = next((each for each in found if each is not None), None)
    if file is None:
        raise ValueError(f"description {name!r} has neither a URDF nor an MJCF file")
    around = (module.PACKAGE_PATH, module.REPOSITORY_PATH)
    folders = (*around, *(os.path.dirname(each) for each in around))
    is_xacro = file == getattr(module, "XACRO_PATH", None)
    return Description(Path(file), folders, dict(getattr(module, "XACRO_ARGS", {})) if is_xacro else {})


@contextmanager
def _offline(package: Any, name: str) -> Iterator[None]:
    """Importing a description clones its repository, unless that is there: here it is never cloned."""

    def cached(url: str, folder: str, commit: str | None = None) -> SimpleNamespace:
        if not os.path.isdir(folder):
            raise FileNotFoundError(
                f"description {name!r} is not in the cache ({folder}), and nothing is downloaded here: "
                f"run `robot_descriptions pull {name}` once"
            )
        return SimpleNamespace(working_dir=folder)

    with _importing:
        original = package.clone_to_directory
        package.clone_to_directory = cached
        try:
            yield
        finally:
            package.clone_to_directory = original
