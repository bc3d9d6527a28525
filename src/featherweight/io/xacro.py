"""xacro, expanded to URDF by the ``xacro`` package. Its files are programs: load only those that you trust."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ModelImportError
from .meshes import MeshFinder, PackageDirs

_ONE_AT_A_TIME = threading.Lock()  # the package keeps its state in globals


def expand(
    text: bytes,
    path: Path | None,
    *,
    arguments: Mapping[str, str] | None = None,
    package_dirs: PackageDirs = None,
    directory: Path | None = None,
) -> bytes:
    """The URDF that xacro ``text`` describes; ``arguments``: values of its ``<xacro:arg>``.

    ``$(find package)`` is looked up as the packages of meshes are, without ROS.
    """
    try:
        import xacro
        from xacro import substitution_args
    except ImportError:
        raise ImportError('loading xacro needs the xacro package: pip install "featherweight[xacro]"') from None
    finder = MeshFinder(directory, package_dirs)

    def find(package: str) -> str:
        found = finder.find_package(package)
        if found is None:
            raise ValueError(f"package {package!r} is not found; name its directory in package_dirs")
        return found

    values = {str(key): str(value) for key, value in (arguments or {}).items()}
    source = str(path) if path is not None else os.path.join(str(directory or ""), "<string>")
    with _ONE_AT_A_TIME:
        own, substitution_args._eval_find = substitution_args._eval_find, find
        try:
            xacro.init_stacks(source)
            document: Any = xacro.parse(text.decode("utf-8", "replace"))
            xacro.process_doc(document, mappings=values)
        except (Exception, SystemExit) as error:  # whatever a program does, it is about the file
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ModelImportError("xacro", f"cannot be expanded: {reason}", path) from None
        finally:
            substitution_args._eval_find = own
    return bytes(document.toprettyxml(indent="  ", encoding="utf-8"))
