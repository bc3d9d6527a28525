"""Closures that environments switch on and off: which are on, and where they took hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array
from ..checks import close_names
from ..kinematics.logarithms import quaternion_from_rotation, rotation_from_quaternion
from ..scene.compiled import SceneConstraint

if TYPE_CHECKING:
    from .simulator import Simulator
    from .state import State

Flags = dict[int, NDArray[np.bool_]]

#: Where a closure took hold that is off: position and quaternion, x, y, z, w.
NOWHERE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


def checked_flags(simulator: Simulator, batch: int, wanted: Mapping[str, ArrayLike]) -> Flags:
    """Of switches by their numbers, (batch,) each; what is wrong raises a ValueError that names it."""
    known = simulator.switches
    if not isinstance(wanted, Mapping):
        raise ValueError(f"switches: expected a dictionary from names to booleans, got {wanted!r}")
    flags: Flags = {}
    for name, value in wanted.items():
        if name not in known:
            has = f"there are {', '.join(map(repr, known))}" if known else "the scene has none: see Scene.constrain"
            raise ValueError(f"switches: unknown switch {name!r}{close_names(str(name), known)}; {has}")
        array = np.asarray(value)
        if array.dtype != np.bool_ or array.shape not in ((), (batch,)):
            got = f"{array.dtype} {array.shape}" if array.shape else repr(value)
            raise ValueError(f"switches: {name!r} must be True, False or ({batch},) booleans, got {got}")
        flags[known.index(name)] = np.broadcast_to(array, (batch,))
    return flags


def turn(core: _core.Environments, simulator: Simulator, flags: Flags) -> bool:
    """Turns switches of environments in place; whether any of them was otherwise before.

    What is switched on takes hold where it is. What is on already keeps its hold.
    """
    changed = False
    grips = core.grips.reshape(core.batch, len(simulator.switches), 7)
    for k, wanted in flags.items():
        was, place = core.switches[:, k] > 0.0, simulator._switched[k]
        on, off = wanted & ~was, was & ~wanted
        if on.any():
            grips[on, k] = _hold(simulator, simulator.scene.constraints[place], core.q[on])
        if off.any():
            grips[off, k] = NOWHERE
            core.impulses[off, simulator._impulses_of(place)] = 0.0
        core.switches[:, k] = wanted
        changed |= bool(on.any() or off.any())
    return changed


def check_all_off(what: str, state: State) -> None:
    """Refuses states with constraints that are switched on, for those who go on from q and v alone."""
    on = (state._core.switches > 0.0).any(axis=0)
    for k in np.flatnonzero(on)[:1].tolist():
        raise ValueError(f"{what}: goes on from q and v alone, and the switch {state.simulator.switches[k]!r} is on")


def _hold(simulator: Simulator, constraint: SceneConstraint, q: Array) -> Array:
    """(n, 7) poses of the second frame where the first is, at q (n, nq)."""
    X = np.asarray(_core.forward_kinematics(simulator.model, np.ascontiguousarray(q)))
    first = constraint.placement if constraint.link < 0 else X[:, constraint.link] @ constraint.placement
    held = first if constraint.to < 0 else np.linalg.inv(X[:, constraint.to]) @ first
    held = np.broadcast_to(held, (len(q), 4, 4))
    return np.concatenate([held[:, :3, 3], quaternion_from_rotation(held[:, :3, :3])], axis=1)


def second_frames(state: State, X: Array) -> Array:
    """(batch, n, 4, 4) poses of the second frames of the n constraints of a scene in the world. X: of links."""
    constraints, batch = state.simulator.scene.constraints, len(X)
    frames = np.empty((batch, len(constraints), 4, 4))
    for k, each in enumerate(constraints):
        frames[:, k] = X[:, each.to] @ each.to_placement if each.to >= 0 else each.to_placement
    grips = state._core.grips.reshape(batch, -1, 7)
    for k, place in enumerate(state.simulator._switched):
        own = np.tile(np.eye(4), (batch, 1, 1))
        own[:, :3, :3] = rotation_from_quaternion(grips[:, k, 3:])
        own[:, :3, 3] = grips[:, k, :3]
        to = constraints[place].to
        frames[:, place] = X[:, to] @ own if to >= 0 else own
    return frames


def is_held(state: State) -> NDArray[np.bool_]:
    """(batch,) whether anything holds in an environment."""
    scene = state.simulator.scene
    always = len(scene.constraints) + len(scene.couplings) > len(state.simulator._switched)
    return np.asarray((state._core.switches > 0.0).any(axis=1) | always)
