"""Checks of actuators, their activations and muscles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, get_args

from ..checks import checked_name, not_negative, number, numbers
from ..errors import ModelError
from .description import Activation, ActivationKind, Actuator, ActuatorKind, Muscle
from .joint_checks import checked_range

#: How many time constants each kind of activation has.
_TIME_CONSTANTS = {"integrator": 0, "filter": 1, "exact_filter": 1, "muscle": 3}


def checked_actuator(element: str, given: Actuator) -> Actuator:
    """The actuator with numbers that make sense; whether what it acts on exists is for the builder to see."""
    if given.kind not in get_args(ActuatorKind):
        raise ModelError(element, f"the kind must be one of {', '.join(get_args(ActuatorKind))}, got {given.kind!r}")
    bias = _floats(element, "bias", given.bias, 3)
    slopes = _floats(element, "slopes", given.slopes, 2)
    if (any(bias) or any(slopes)) and given.kind != "general":
        what = "a bias belongs" if any(bias) else "slopes belong"
        raise ModelError(element, f"{what} to general actuators, not to a {given.kind}")
    if (given.muscle is None) == (given.kind == "muscle"):
        raise ModelError(element, "the kind 'muscle' needs a Muscle, and no other kind has one")
    if sum(each is not None for each in (given.joint, given.frame, given.strut, given.sticky)) != 1:
        raise ModelError(element, "acts either on a joint, on a frame, along a strut or by a sticky link")
    if given.strut is not None and given.others:
        raise ModelError(element, "acts along a strut: then it has no joints")
    if (given.frame is not None or given.sticky is not None) and (
        given.kind not in ("motor", "general") or any((*bias[1:], *slopes)) or given.others
    ):
        where = "on a frame" if given.frame is not None else "by a sticky link"
        raise ModelError(element, f"acts {where}: then its force must not depend on a length, a rate or on joints")
    return Actuator(
        given.name,
        None if given.joint is None else checked_name(f"joint of {element}", given.joint),
        given.kind,
        gear=number(element, "gear", given.gear),
        kp=number(element, "kp", given.kp) if given.kind == "general" else not_negative(element, "kp", given.kp),
        kd=not_negative(element, "kd", given.kd),
        ctrl_range=checked_range(element, "ctrl_range", given.ctrl_range),
        force_range=checked_range(element, "force_range", given.force_range),
        bias=(bias[0], bias[1], bias[2]),
        others=checked_pairs(element, given.others),
        slopes=(slopes[0], slopes[1]),
        muscle=None if given.muscle is None else _checked_muscle(element, given.muscle),
        activation=None if given.activation is None else _checked_activation(element, given.activation),
        frame=None if given.frame is None else checked_name(f"frame of {element}", given.frame),
        wrench=() if given.frame is None else _floats(element, "wrench", given.wrench, 6),
        strut=None if given.strut is None else checked_name(f"strut of {element}", given.strut),
        sticky=None if given.sticky is None else checked_name(f"sticky link of {element}", given.sticky),
        reach=not_negative(element, "reach", given.reach),
    )


def _floats(element: str, field: str, value: Any, n: int) -> tuple[float, ...]:
    return tuple(float(x) for x in numbers(element, field, value, (n,)))


def checked_pairs(element: str, others: Iterable[Any]) -> tuple[tuple[str, float], ...]:
    """Names of joints with numbers."""
    pairs = [tuple(pair) if isinstance(pair, list | tuple) else () for pair in others]
    if any(len(pair) != 2 for pair in pairs):
        raise ModelError(element, "others must be pairs of a joint and a number")
    return tuple((checked_name(f"joint of {element}", name), number(element, "others", x)) for name, x in pairs)


def _checked_muscle(element: str, muscle: Muscle) -> Muscle:
    if not isinstance(muscle, Muscle):
        raise ModelError(element, f"muscle must be a Muscle, got {muscle!r}")
    m = Muscle(*(number(element, f"muscle {each.name}", getattr(muscle, each.name)) for each in fields(muscle)))
    for name in ("peak", "passive"):
        not_negative(element, f"muscle {name}", getattr(m, name))
    if m.optimal <= 0.0 or m.fastest <= 0.0:
        raise ModelError(element, f"muscle optimal and fastest must be positive, got {m.optimal:g} and {m.fastest:g}")
    if not m.shortest < 1.0 < m.longest:
        raise ModelError(
            element, f"muscle lengths must be shortest < 1 < longest, got {m.shortest:g} and {m.longest:g}"
        )
    if m.eccentric < 1.0:
        raise ModelError(element, f"muscle eccentric must be at least 1, got {m.eccentric:g}")
    return m


def _checked_activation(element: str, given: Activation) -> Activation:
    if not isinstance(given, Activation):
        raise ModelError(element, f"activation must be an Activation, got {given!r}")
    if given.kind not in _TIME_CONSTANTS:
        known = ", ".join(get_args(ActivationKind))
        raise ModelError(element, f"the kind of its activation must be one of {known}, got {given.kind!r}")
    times = _floats(element, "time_constants", given.time_constants, _TIME_CONSTANTS[given.kind])
    if any(x <= 0.0 for x in times[:2]) or any(x < 0.0 for x in times):
        raise ModelError(element, f"time_constants must be positive, got {times}")
    return Activation(given.kind, times, checked_range(element, "activation range", given.range), bool(given.early))
