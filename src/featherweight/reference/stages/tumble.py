"""Products of velocities by the implicit midpoint rule: H (v' - v) + dt c(q, m) = 0 with m = (v + v') / 2.

v' are components in the axes after the turn R' = R Cayley(dt m); :class:`Turned` has them in those before it. Bodies
alone on free joints always take it, trees where explicit products would feed what turns too fast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.spatial import force_cross, quaternion_exp, quaternion_rotation
from featherweight.reference.stages.bodies import center_of_mass
from featherweight.reference.stages.scene import axis_coordinates, limits
from featherweight.reference.tree import slices

GROWTH = {"ball": 0.05, "axis": 0.2, "limited": 1.0}  # [1/s] w^2 dt from which trees take the midpoint rule
MOST_HALF_TURN = 0.6  # [rad] by which bodies turn at most in half a step


@dataclass(frozen=True, eq=False)
class Turned:
    """A step of forces, then of the products alone. All (nv,)."""

    v: Array  # velocities at its end, ball joints in the axes at its start
    explicit: Array  # velocities whose products are not in it
    bend: Array  # what coordinates move with beside velocities


def turn(
    model: ModelDescription,
    dt: float,
    v: Array,
    H: Array,
    products: Callable[[Array], Array],
    kick: Callable[[Array], Array],
    mean: Array | None = None,
) -> Turned:
    """products: c(q, v), and H with everything that the step adds to it. kick: what forces change velocities by, and
    products of those it is given. mean: velocities at which trees take products, whatever led to them; unless given,
    those between what forces leave and what products alone make of it, where these turn fast. With ``mean`` forces come
    after the turn, else before it.
    """
    single = {i for i in range(len(model.joints)) if is_single(model, i)}
    turns = mean is not None or _turns_fast(model, dt, v, single)
    explicit = v.copy()
    for i, (_, at) in enumerate(slices(model)):
        if turns or i in single:
            explicit[at] = 0.0
    forced = kick(explicit)
    v = v if mean is not None else v + forced
    turned = Turned(v.copy(), explicit, np.zeros_like(v))
    for i, (_, at) in enumerate(slices(model)):
        if i in single:
            next_v, path = tumble(_inertia(model, i, H[at, at], dt), v[at], dt)
            _turn_back(model, i, at, dt, next_v, path, turned)
    if not turns:
        return turned
    x = np.zeros_like(v) if mean is None else np.asarray(-np.linalg.solve(H, products(mean)))
    for _ in range(200 if mean is None else 0):
        before, x = x, np.asarray(-np.linalg.solve(H, products(v + 0.5 * dt * x)), dtype=np.float64)
        if np.abs(x - before).max() * dt <= 1e-13 * np.abs(v).max():
            break
    for i, (joint, (_, at)) in enumerate(zip(model.joints, slices(model), strict=True)):
        if i in single:
            continue
        if joint.type in ("spherical", "free"):
            m = v[at][-3:] + 0.5 * dt * x[at][-3:]
            _turn_back(model, i, at, dt, v[at] + dt * x[at], _cayley(m, dt), turned)
        else:
            turned.v[at] = v[at] + dt * x[at]
    if mean is not None:
        turned.v[:] += forced
    return turned


def _turn_back(model: ModelDescription, i: int, at: slice, dt: float, v: Array, path: Array, turned: Turned) -> None:
    """v: components after the turn by the rotation vector ``path``."""
    E = quaternion_rotation(quaternion_exp(path))
    w = E @ v[-3:]
    bend = path / dt - w
    turned.v[at][-3:], turned.bend[at][-3:] = w, bend
    if model.joints[i].type == "free":
        c = center_of_mass(model, i)
        turned.v[at][:3] = E @ (v[:3] + np.cross(v[3:], c)) - np.cross(w, c)
        turned.bend[at][:3] = -np.cross(bend, c)


def _cayley(m: Array, dt: float) -> Array:
    """The rotation vector of (1 - dt/2 [m])^-1 (1 + dt/2 [m])."""
    x = 0.5 * dt * float(np.linalg.norm(m))
    return m * (dt * (np.arctan(x) / x if x > 0 else 1.0))


def is_single(model: ModelDescription, i: int) -> bool:
    """Whether a free joint carries one body and nothing else moves with it."""
    joint = model.joints[i]
    if joint.type != "free" or joint.parent != "world":
        return False
    if joint.armature is not None and np.ptp(joint.armature[:3]) > 0:
        return False
    carried = {joint.child}
    for each in model.joints[i + 1 :]:  # parents come first
        if each.parent in carried:
            if each.type != "fixed":
                return False
            carried.add(each.child)
    return True


def _inertia(model: ModelDescription, i: int, H: Array, dt: float) -> Array:
    """(6, 6) of the body, armature included, without what the step adds for dampers."""
    damping = model.joints[i].damping
    return H if damping is None else H - dt * np.diag(damping)


def tumble(inertia: Array, v: Array, dt: float) -> tuple[Array, Array]:
    """Newton's iteration on I (x - v) + h m x* I m = 0: the velocity after the step, and the turn.

    h is dt, stretched so that the turn of a body that spins about a principal axis is w dt.
    """
    half = 0.5 * dt * float(np.linalg.norm(v[3:]))
    h = dt * np.tan(min(half, MOST_HALF_TURN)) / half if half > 0 else dt
    x = v.copy()
    for _ in range(20):
        m = 0.5 * (v + x)
        p = inertia @ m
        error = inertia @ (x - v) + h * force_cross(m) @ p
        slope = inertia + 0.5 * h * force_cross(m) @ inertia
        slope += 0.5 * h * np.column_stack([force_cross(unit) @ p for unit in np.eye(6)])
        step = np.linalg.solve(slope, error)
        x -= step
        if np.abs(step).max() <= 1e-14 * np.abs(v).max():
            break
    return x, _cayley(0.5 * (v + x)[3:], h)


def _turns_fast(model: ModelDescription, dt: float, v: Array, single: set[int]) -> bool:
    """Whether explicit products would feed some joint faster than borne."""
    lower, upper = limits(model)
    coordinates = axis_coordinates(model)
    for i, (joint, (_, at)) in enumerate(zip(model.joints, slices(model), strict=True)):
        if joint.type in ("spherical", "free"):
            if i not in single and dt * v[at][-3:] @ v[at][-3:] > GROWTH["ball"]:
                return True
            continue
        for dof in _rotations(joint.type, at):
            k = coordinates[dof]
            kind = "limited" if np.isfinite([lower[k], upper[k]]).any() else "axis"
            if dt * v[dof] ** 2 > GROWTH[kind]:
                return True
    return False


def _rotations(kind: str, at: slice) -> range:
    """The degrees of freedom of an axis joint that turn."""
    if kind == "prismatic":
        return range(0)
    return range(at.start + 2 if kind == "planar" else at.start, at.stop)
