"""What a robot is made of, as text: ``featherweight info``."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

import featherweight as fw

from ..arrays import Array
from ..checks import close_names
from ..model.model import Model, ModelJoint


def builtin_models() -> list[str]:
    """Names of the built-in models that need no arguments."""
    functions = {name: getattr(fw.models, name) for name in fw.models.__all__}
    return [name for name, function in functions.items() if not _required_arguments(function)]


def _required_arguments(function: Callable[..., Model]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [parameter.name for parameter in parameters if parameter.default is parameter.empty]


def find_model(
    name: str, *, floating_base: bool = False, strict: bool = False, package_dirs: Iterable[str] | None = None
) -> Model:
    """A built-in model by name, or the robot in a file; the options are those of :func:`featherweight.load`."""
    if name in builtin_models():
        if floating_base:
            raise ValueError(f"--floating-base is for robots from files; the base of the built-in {name!r} is given")
        model: Model = getattr(fw.models, name)()
        return model
    path = Path(name)
    if name.endswith("_description") and not path.exists():
        return fw.load(name, floating_base=floating_base, strict=strict, package_dirs=package_dirs)
    if not path.suffix and not path.exists():
        hint = close_names(name, builtin_models()) or f": the models are {', '.join(builtin_models())}"
        raise ValueError(f"{name!r} is neither a file nor a built-in model{hint}")
    return fw.load(path, floating_base=floating_base, strict=strict, package_dirs=package_dirs)


def describe(model: Model) -> str:
    """A summary of a model, as text."""
    gravity = ", ".join(f"{x:g}" for x in model.gravity)
    head = (
        f"{model.name}: {model.nv} degrees of freedom (nq {model.nq}, nv {model.nv}), "
        f"{len(model.joints)} moving joints, "
        f"{model.n_links} links, {model.mass:.6g} kg, gravity ({gravity}) m/s^2"
    )
    parts = [head, _joint_table(model), _link_table(model)]
    if model.description.frames:
        parts.append(_table([("frame", "on"), *((frame.name, frame.link) for frame in model.description.frames)]))
    if model.keyframes:
        parts.append(f"keyframes: {', '.join(model.keyframes)}")
    if len(model.import_report):
        parts.append(str(model.import_report))
    return "\n\n".join(part for part in parts if part)


def _joint_table(model: Model) -> str:
    if not model.joints:
        return "no joint moves"
    head = (
        "joint", "type", "parent", "child", "axis", "q", "v", "start", "limits", "effort", "speed", "damping",
        "stiffness", "armature",
    )  # fmt: skip
    rows = [
        (
            joint.name,
            joint.type,
            joint.parent,
            joint.child,
            _axis(joint.axis),
            _place(joint.q_slice),
            _place(joint.v_slice),
            "" if joint.description.start is None else " ".join(f"{x:.4g}" for x in joint.description.start),
            _limits(joint),
            _numbers(joint.effort_limit, unlimited="-"),
            _numbers(joint.velocity_limit, unlimited="-"),
            _numbers(joint.damping),
            _numbers(joint.stiffness),
            _numbers(joint.armature),
        )
        for joint in model.joints
    ]
    return _table([head, *rows])


def _link_table(model: Model) -> str:
    rows = []
    for link, joint in zip(model.description.links, model.description.joints, strict=True):
        body = link.inertia
        counts = Counter(geometry.shape for geometry in link.geometries)
        shapes = [kind if n == 1 else f"{n} {kind}" for kind, n in counts.items()]
        rows.append(
            (
                link.name,
                "-" if body is None else f"{body.mass:.4g}",
                "-" if body is None else " ".join(f"{x:.3g}" for x in body.com + 0.0),
                " ".join(shapes) or "-",
                joint.name if joint.nv else f"{joint.name} (fixed)",
            )
        )
    return _table([("link", "mass [kg]", "centre of mass [m]", "shapes", "carried by"), *rows])


def _axis(axis: Array | None) -> str:
    if axis is None:
        return ""
    for letter, direction in zip("xyz", np.eye(3), strict=True):
        for sign, word in ((1.0, letter), (-1.0, f"-{letter}")):
            if np.array_equal(axis, sign * direction):
                return word
    return " ".join(f"{x:.3g}" for x in axis)


def _place(indices: slice) -> str:
    return str(indices.start) if indices.stop == indices.start + 1 else f"{indices.start}..{indices.stop - 1}"


def _limits(joint: ModelJoint) -> str:
    if not np.isfinite([joint.lower, joint.upper]).any():
        return "-"
    return "; ".join(f"{low:.4g} .. {up:.4g}" for low, up in zip(joint.lower, joint.upper, strict=True))


def _numbers(values: Array, unlimited: str = "") -> str:
    """One number where all are equal."""
    distinct = np.unique(values)
    if np.isinf(distinct).all():
        return unlimited
    return " ".join(f"{x:.4g}" for x in (distinct if len(distinct) == 1 else values))


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns aligned to the left, under a ruled first row; columns that are empty throughout are left out."""
    columns = [column for column in zip(*rows, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in zip(*columns, strict=True)
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)
