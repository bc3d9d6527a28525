"""A scene as the core takes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from .. import _core
from ..arrays import Array
from ..model.model import Model
from ..scene.compiled import CompiledScene, CompiledShape
from .actuation import Actuation
from .branches import check_branches
from .immersion import in_medium
from .lifts import lifts
from .struts import strut_rows, struts

Integrator = Literal["semi_implicit", "implicit", "verlet", "rk4"]


def core_arguments(scene: CompiledScene, actuation: Actuation, integrator: Integrator) -> dict[str, Any]:
    """All that the core makes a simulation of."""
    model = scene.model
    limits, springs = scene.limits, scene.springs
    rows: list[tuple[str, int, float, float]] = []
    for v, lower, upper in zip(limits.v_index.tolist(), limits.lower.tolist(), limits.upper.tolist(), strict=True):
        restitution = float(model.limit_restitution[v])
        rows += [("lower_limit", v, lower, restitution)] if np.isfinite(lower) else []
        rows += [("upper_limit", v, upper, restitution)] if np.isfinite(upper) else []
    rows += [("dry_friction", v, float(model.friction[v]), 0.0) for v in np.flatnonzero(model.friction).tolist()]
    return {
        "shapes": [_shape(shape) for shape in scene.shapes],
        "rules": scene.rules,
        "materials": [
            (law.friction, law.torsional, law.rolling, law.restitution, 1.0 / law.stiffness, law.damping, law.margin,
             law.dim, law.tangential_restitution)
            for law in scene.laws
        ],
        "joint_rows": rows,
        "tendon_rows": list(_tendon_rows(model)),
        "closures": [
            (c.link, c.placement.ravel().tolist(), c.to, c.to_placement.ravel().tolist(), c.axes, c.length)
            for c in scene.constraints
        ],
        "switched": [k for k, each in enumerate(scene.constraints) if each.switch],
        "couplings": [[(dof, list(p)) for dof, p in each.terms] for each in scene.couplings],
        "guides": [guide.numbers for guide in scene.guides],
        **actuation.arguments(),
        "lifts": lifts(model.description),
        "struts": struts(model),
        "strut_rows": list(strut_rows(model)),
        "damping": model.damping.tolist(),
        "inertias": _inertias(model, actuation, integrator).tolist(),
        "springs": list(
            zip(springs.v_index.tolist(), springs.stiffness.tolist(), springs.rest_position.tolist(), strict=True)
        ),
        **in_medium(model.description),
    }  # fmt: skip


def _tendon_rows(model: Model) -> Iterator[tuple[str, list[tuple[int, float]], float]]:
    """Limits and dry friction of tendons: kind, degrees of freedom with coefficients, bound."""
    for tendon in model.description.tendons:
        pairs = zip(tendon.joints, tendon.coefficients, strict=True)
        terms = [(model.joint(name).v_slice.start, x) for name, x in pairs if x != 0.0]
        if not terms:
            continue
        if tendon.range is not None or tendon.friction > 0.0:
            driven = {name for name, x in zip(tendon.joints, tendon.coefficients, strict=True) if x != 0.0}
            over = [joint.child for joint in model.description.joints if joint.name in driven]
            check_branches(f"tendon {tendon.name!r}", model, over)
        lower, upper = tendon.range or (-np.inf, np.inf)
        if np.isfinite(lower):
            yield "lower_limit", terms, lower
        if np.isfinite(upper):
            yield "upper_limit", terms, upper
        if tendon.friction > 0.0:
            yield "dry_friction", terms, tendon.friction


def _inertias(model: Model, actuation: Actuation, integrator: Integrator) -> Array:
    """(nv,) diagonal of the mass matrix at the neutral configuration, where something damps; else, or unasked, zero."""
    inertias = np.zeros(model.nv)
    if integrator == "verlet":
        damped = np.flatnonzero(model.damping).tolist() + [law[0] for law in actuation.laws if law[3] > 0.0]
        for dof in sorted(set(damped)):
            inertias[dof] = 2.0 * float(_core.kinetic_energy(model, model.neutral(), np.eye(1, model.nv, dof)[0]))
    return inertias


def check_smooth(scene: CompiledScene, arguments: dict[str, Any]) -> None:
    """Throws where the scene has what the integrator "rk4" does not know."""
    names = {
        "closures": "constraints",
        "couplings": "couplings of joints",
        "joint_rows": "limits or dry friction of joints",
        "tendon_rows": "limits or dry friction of tendons",
        "strut_rows": "limits or dry friction of struts",
    }
    found = [name for what, name in names.items() if arguments[what]]
    if scene.rules.pairs(0) is None:
        found.insert(0, "shapes that can touch")
    if found:
        raise ValueError(f'integrator "rk4" is for smooth motion: the scene has {found[0]}; use "semi_implicit"')


def _shape(shape: CompiledShape) -> tuple[str, int, list[float], Any]:
    kind, size = shape.for_core
    return kind, shape.link, shape.placement.ravel().tolist(), size
