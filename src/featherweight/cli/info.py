"""What a robot is made of, as text: ``featherweight info``."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

import featherweight as fw

from ..arrays import Array
from ..checks import close_names, counted
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
    if path.suffix == ".npz":
        raise ValueError(f"{name}: a motion or a state is no robot; featherweight view shows motions")
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
        f"{model.name}: {counted(model.nv, 'degree')} of freedom (nq {model.nq}, nv {model.nv}), "
        f"{counted(len(model.joints), 'moving joint')}, "
        f"{counted(model.n_links, 'link')}, {model.mass:.6g} kg, gravity ({gravity}) m/s^2"
    )
    parts = [head, _joint_table(model), _link_tree(model), _loops(model), _couplings(model), _actuator_table(model)]
    description = model.description
    if description.frames:
        parts.append(_table([("frame", "on"), *((frame.name, frame.link) for frame in description.frames)]))
    if description.sensors:
        parts.append(_table([("sensor", "measures", "of"), *((s.name, s.quantity, s.of) for s in description.sensors)]))
    if model.keyframes:
        parts.append(f"{'keyframe' if len(model.keyframes) == 1 else 'keyframes'}: {', '.join(model.keyframes)}")
    if len(model.import_report):
        parts.append(str(model.import_report))
    return "\n\n".join(part for part in parts if part)


_LEGEND = (
    "q, v: places in the coordinates and velocities; units: rad and N m where a joint turns, m and N where it slides"
)


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
    return f"{_table([head, *rows])}\n{_LEGEND}"


def _link_tree(model: Model) -> str:
    """The tree of links, drawn, with what each of them is."""
    rows = []
    for drawn, link, joint in zip(_branches(model), model.description.links, model.description.joints, strict=True):
        body = link.inertia
        counts = Counter(geometry.shape for geometry in link.geometries)
        shapes = [kind if n == 1 else f"{n}x {kind}" for kind, n in counts.items()]
        rows.append(
            (
                drawn + link.name,
                "-" if body is None else f"{body.mass:.4g}",
                "-" if body is None else " ".join(f"{x:.3g}" for x in body.com + 0.0),
                " ".join(shapes) or "-",
                joint.name if joint.nv else f"{joint.name} (fixed)",
            )
        )
    return _table([("link", "mass [kg]", "centre of mass [m]", "shapes", "joint"), *rows])


def _branches(model: Model) -> list[str]:
    """What is drawn before each link; links are listed depth first."""
    children: dict[str, list[str]] = {}
    for joint in model.description.joints:
        children.setdefault(joint.parent, []).append(joint.child)
    indents = {"world": ""}  # of what hangs from each link
    drawn = []
    for joint in model.description.joints:
        indent = indents[joint.parent]
        last = joint.child == children[joint.parent][-1]
        root = joint.parent == "world"
        drawn.append("" if root else indent + ("└── " if last else "├── "))
        indents[joint.child] = "" if root else indent + ("    " if last else "│   ")
    return drawn


def _loops(model: Model) -> str:
    """What closes the tree to a mechanism, and what can still move."""
    if not model.description.closures:
        return ""
    left = int(fw.mobility(model, model.q0, fw.constraints_of(model)).dof)
    rows = [(c.name, c.link, c.to, " ".join(c.rows)) for c in model.description.closures]
    table = _table([("loop", "joins", "to", "holds"), *rows])
    return f"{table}\nwith {counted(len(rows), 'loop')} closed: {counted(left, 'degree')} of freedom"


def _couplings(model: Model) -> str:
    mimics = [(j.name, j.mimic.as_coupling(j.name)) for j in model.description.joints if j.mimic is not None]
    all_of_them = [*mimics, *((c.name, c) for c in model.description.couplings)]
    rows = [(name, f"{each.joint} = {_polynomial(each)}") for name, each in all_of_them]
    return _table([("coupling", "holds"), *rows]) if rows else ""


def _polynomial(coupling: fw.Coupling) -> str:
    powers = [(x, coupling.to if k == 1 else f"{coupling.to}^{k}") for k, x in enumerate(coupling.polynomial) if k]
    terms = [f"{x:g} {power}" for x, power in powers if x] + [f"{x:g} {name}" for name, x in coupling.others]
    constant = coupling.polynomial[0]
    return " + ".join([*terms, *([f"{constant:g}"] if constant or not terms else [])])


def _actuator_table(model: Model) -> str:
    rows = [
        (each.name, each.kind, each.frame or " ".join(name for name, _ in each.joints), _range(each.ctrl_range),
         _range(each.force_range))
        for each in model.description.actuators
    ]  # fmt: skip
    return _table([("actuator", "kind", "drives", "control", "force"), *rows]) if rows else ""


def _range(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else f"{bounds[0]:.4g} .. {bounds[1]:.4g}"


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
