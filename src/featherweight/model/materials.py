"""Surfaces, and what happens where two of them touch. SI units throughout.

Two surfaces combine to one :class:`ContactLaw`: friction coefficients and restitution by the larger one, compliances
(1 / stiffness) by their sum, as springs in a row, and what only one surface states by that. docs/scene.md has the rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..records import Record

#: Rows of a contact: the normal alone, with sliding friction, with spin about the normal, with rolling as well.
DIMENSIONS = (1, 3, 4, 6)


@dataclass(frozen=True)
class Material(Record):
    """A surface material. A property left at its default is decided by the other surface.

    friction: Coulomb coefficient of sliding; None: as the other surface says, 1.0 when neither does.
    torsional, rolling: friction against spin and rolling [m]: torque per newton of normal force.
    restitution: rebound speed over impact speed, 0 to 1.
    tangential_restitution: the same of the sliding velocity, 0 to 1, as far as friction can reverse it: balls that come
        back spinning the other way have it near 1.
    stiffness: [N/m], infinite for rigid; damping: [N s/m] beside that spring, which needs a finite stiffness.
    dim: 1 (no friction), 3 (sliding), 4 (and spin), 6 (and rolling); None: what the coefficients ask for.

    >>> rubber = fw.Material(friction=1.2, restitution=0.6)
    >>> fw.sphere(0.1, material=rubber).name is None
    True
    """

    friction: float | None = None
    torsional: float = 0.0
    rolling: float = 0.0
    restitution: float = 0.0
    stiffness: float = math.inf
    damping: float = 0.0
    dim: int | None = None
    tangential_restitution: float = 0.0

    def __post_init__(self) -> None:
        if self.friction is not None:
            object.__setattr__(self, "friction", _not_negative("friction", self.friction))
        _set_checked(self)
        if self.dim is not None:
            object.__setattr__(self, "dim", _dimension(self.dim))


@dataclass(frozen=True)
class ContactLaw(Record):
    """How two surfaces interact: a :class:`Material` with every property decided, in the same units.

    margin: distance [m] between the surfaces at which they already count as touching; zero or more.
    dim: 1, 3, 4 or 6, without rows whose coefficients are zero.

    >>> scene = fw.Scene(ground=fw.Plane(friction=0.3))
    >>> ball = scene.add(fw.sphere(0.1, friction=0.3), name="ball")
    >>> scene.compile().law(0, 1).friction
    0.3
    """

    friction: float = 1.0
    torsional: float = 0.0
    rolling: float = 0.0
    restitution: float = 0.0
    stiffness: float = math.inf
    damping: float = 0.0
    margin: float = 0.0
    dim: int = 3
    tangential_restitution: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "friction", _not_negative("friction", self.friction))
        object.__setattr__(self, "margin", _not_negative("margin", self.margin))
        _set_checked(self)
        spin = self.torsional if _dimension(self.dim) >= 4 else 0.0
        roll = self.rolling if self.dim == 6 else 0.0
        rubs = self.dim > 1 and self.friction > 0.0
        object.__setattr__(self, "dim", 6 if roll else 4 if spin else 3 if rubs else 1)

    def changed(self, changes: Mapping[str, Any]) -> ContactLaw:
        """The law with other values; ``dim`` follows from them unless it is given.

        >>> fw.ContactLaw(friction=0.5).changed({"friction": 0.0}).dim
        1
        """
        dim = changes.get("dim") or max(self.dim, _asked_dim(changes))
        return replace(self, **{**changes, "dim": dim})


def combine(a: Material, b: Material, margin: float = 0.0) -> ContactLaw:
    """The law between two surfaces, the same in either order."""
    given = [x for x in (a.friction, b.friction) if x is not None]
    dims = [dim for dim in (_own_dim(a), _own_dim(b)) if dim is not None]
    stiffness = 1.0 / (1.0 / a.stiffness + 1.0 / b.stiffness) if min(a.stiffness, b.stiffness) < math.inf else math.inf
    # Each spring takes the share stiffness / k of the motion; its damper's power goes with the square of the share.
    shares = [(stiffness / each.stiffness) ** 2 if each.stiffness < math.inf else 0.0 for each in (a, b)]
    return ContactLaw(
        friction=max(given, default=1.0),
        torsional=max(a.torsional, b.torsional),
        rolling=max(a.rolling, b.rolling),
        restitution=max(a.restitution, b.restitution),
        stiffness=stiffness,
        damping=shares[0] * a.damping + shares[1] * b.damping,
        margin=margin,
        dim=max(dims, default=3),
        tangential_restitution=max(a.tangential_restitution, b.tangential_restitution),
    )


def _own_dim(material: Material) -> int | None:
    """The rows that the material itself asks for, or None if it leaves that to the other."""
    if material.dim is not None:
        return material.dim
    asked = _asked_dim(vars(material))
    return asked if asked > 1 else None


def _asked_dim(values: Mapping[str, Any]) -> int:
    return 6 if values.get("rolling") else 4 if values.get("torsional") else 3 if values.get("friction") else 1


def _set_checked(values: Material | ContactLaw) -> None:
    for name in ("torsional", "rolling", "restitution", "tangential_restitution", "damping"):
        object.__setattr__(values, name, _not_negative(name, getattr(values, name)))
    for name in ("restitution", "tangential_restitution"):
        if getattr(values, name) > 1.0:
            raise ValueError(f"{name} must be between 0 and 1, got {getattr(values, name)!r}")
    stiffness = values.stiffness if values.stiffness == math.inf else _not_negative("stiffness", values.stiffness)
    if stiffness == 0.0:
        raise ValueError("stiffness must be positive, got 0")
    if values.damping > 0.0 and stiffness == math.inf:
        raise ValueError(f"damping acts beside a spring: give a finite stiffness with damping={values.damping!r}")
    object.__setattr__(values, "stiffness", float(stiffness))


def _not_negative(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None
    if isinstance(value, str | bool) or not 0.0 <= number < math.inf:
        raise ValueError(f"{name} must be finite and not negative, got {value!r}")
    return number


def _dimension(dim: Any) -> int:
    if isinstance(dim, bool) or dim not in DIMENSIONS:
        raise ValueError(f"dim must be 1, 3, 4 or 6, got {dim!r}")
    return int(dim)
