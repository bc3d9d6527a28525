"""Folders of the source checkout that no wheel has: ``benchmarks`` and ``physics``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import featherweight

#: Where the checkout is when the package is used from it, as by an editable install.
BESIDE_THE_PACKAGE = Path(featherweight.__file__).parents[2]


def import_from_checkout(module: str, target: str) -> ModuleType:
    """A module of a folder of the checkout, found around the package or in the current folder.

    target: of the Makefile, which does the same; named in the :class:`ImportError` where there is no checkout.
    """
    folder = module.partition(".")[0]
    root = next((path for path in (BESIDE_THE_PACKAGE, Path.cwd()) if is_checkout(path, folder)), None)
    if root is None:
        raise ImportError(
            f"the folder {folder}/ is part of the source checkout, not of the installed package: "
            f"get the checkout and run `make {target}` there"
        )
    if sys.path[:1] != [str(root)]:  # first, since another project may have a folder of that name
        sys.path.insert(0, str(root))
    return importlib.import_module(module)


def is_checkout(path: Path, folder: str) -> bool:
    """Whether ``path`` is a checkout of featherweight with ``folder`` in it, and no other project that has one."""
    return (path / "src" / "featherweight" / "__init__.py").exists() and (path / folder / "__init__.py").exists()
