"""MJCF, compiled by the official ``mujoco`` package and translated from the result.

Defaults, includes, inference and checks are therefore MuJoCo's own, and the configuration is MuJoCo's qpos up to the
order of quaternions (:mod:`featherweight.convert`). What is honoured and reported is documented in docs/importing.md.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path

from ..errors import ModelError, ModelImportError
from ..model.description import WORLD, ImportNote, ModelDescription, Severity
from .mjcf_actuators import ActuatorTranslation
from .mjcf_contact import ContactTranslation
from .mjcf_couplings import add_couplings
from .mjcf_options import report_left_out, report_options, report_unknown_fields
from .mjcf_sensors import add_sensors
from .mjcf_shapes import ShapeTranslation
from .mjcf_source import MjcfSource, line_in
from .mjcf_start import add_keyframes
from .mjcf_tendons import add_tendons
from .mjcf_tree import TreeTranslation

_ELEMENT = re.compile(r"Element(?: name)? '([^']*)'")


def read(
    text: bytes, path: Path | None = None, *, floating_base: bool = False, directory: Path | None = None
) -> ModelDescription:
    """The description in MJCF ``text``, or in the file at ``path`` when there is one (includes start from it)."""
    try:
        import mujoco
    except ImportError:
        raise ImportError('loading MJCF needs the mujoco package: pip install "featherweight[mjcf]"') from None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if path is not None:
                spec = mujoco.MjSpec.from_file(str(path))
            else:
                spec = mujoco.MjSpec.from_string(text.decode("utf-8"))
                spec.modelfiledir = "" if directory is None else str(directory)
            model = spec.compile()
        except Exception as error:  # whatever its parser and compiler raise, it is about the file
            raise _compiler_error(str(error), path) from None
    try:
        description = _translated(MjcfSource(mujoco, spec, model), floating_base)
    except ModelError as error:
        raise ModelImportError(error.element, error.problem, path) from None
    told = [ImportNote("MuJoCo", None, " ".join(str(warning.message).split()), Severity.NOTHING) for warning in caught]
    notes = sorted((*told, *description.notes), key=lambda note: note.line or 0)
    return replace(description, notes=tuple(notes))


def _translated(source: MjcfSource, floating_base: bool) -> ModelDescription:
    """Every part of the compiled model, in the order in which they refer to each other."""
    report_options(source)
    shapes = ShapeTranslation(source)
    TreeTranslation(source, shapes).add(floating_base)
    ContactTranslation(source, shapes).add()
    add_couplings(source)
    add_tendons(source)
    actuators = ActuatorTranslation(source)
    actuators.add()
    add_keyframes(source, actuators.names)
    add_sensors(source)
    report_left_out(source)
    report_unknown_fields(source)
    description = source.builder.describe()
    if floating_base and not any(j.type == "free" and j.parent == WORLD for j in description.joints):
        raise ModelError(
            f"model {description.name!r}", "floating_base needs a body that is welded to the world, or free already"
        )
    return description


def _compiler_error(message: str, path: Path | None) -> ModelImportError:
    element = _ELEMENT.search(message)
    problem = " ".join(message.split())
    label = f"element {element.group(1)!r}" if element and element.group(1) else "MJCF"
    return ModelImportError(label, problem, path, line_in(message))
