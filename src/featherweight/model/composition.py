"""One model inside another: all that a description holds, added to a builder under new names and at a new place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import ModelError
from .description import WORLD, Joint, JointType, ModelDescription
from .geometry_checks import checked_pose
from .keyframes import by_joint

if TYPE_CHECKING:
    from .builder import ModelBuilder

# Fields that are passed on under new names.
_OF_ACTUATORS = ("name", "joint", "others", "frame", "strut", "sticky")
_OF_TENDONS = ("name", "joints", "coefficients")


def add_description(
    builder: ModelBuilder,
    description: ModelDescription,
    prefix: str,
    parent: str,
    placement: ArrayLike | None,
    floating: bool | None,
) -> None:
    """What :meth:`ModelBuilder.add` promises, except for what there is one of: gravity and the medium."""
    base = checked_pose(f"model {description.name!r}", "placement", placement)
    moved = placement is not None
    for link in description.links:
        fields = {key: value for key, value in vars(link).items() if key != "name"}
        builder.link(prefix + link.name, **fields)
    changed = {joint.name for joint in description.joints if _type_of(joint, floating) != joint.type}
    for joint in description.joints:
        _add_joint(builder, joint, prefix, parent, base if moved else None, floating)
    for frame in description.frames:
        on_world = frame.link == WORLD
        at = base @ frame.placement if on_world and moved else frame.placement
        builder.frame(prefix + frame.name, parent if on_world else prefix + frame.link, at)
    _add_struts(builder, description, prefix, parent, base)
    _add_actuators(builder, description, prefix)
    _add_contacts(builder, description, prefix)
    _add_closures(builder, description, prefix, parent, base)
    _add_keyframes(builder, description, prefix, changed)
    _add_couplings(builder, description, prefix)
    for note in description.notes:
        builder.note(note)


def _type_of(joint: Joint, floating: bool | None) -> JointType:
    """Of a root that is freed or fixed on the way; others keep theirs."""
    if joint.parent != WORLD or floating is None or joint.type == ("free" if floating else "fixed"):
        return joint.type
    if joint.type not in ("fixed", "free"):
        problem = f"floating={floating} needs a fixed or free root, not a {joint.type} one"
        raise ModelError(f"joint {joint.name!r}", problem)
    return "free" if floating else "fixed"


def _add_joint(
    builder: ModelBuilder, joint: Joint, prefix: str, parent: str, base: Array | None, floating: bool | None
) -> None:
    type_, at, above = _type_of(joint, floating), joint.placement, prefix + joint.parent
    if joint.parent == WORLD:
        at, above = at if base is None else base @ at, parent
    # Limits and the like belong to degrees of freedom; they go when those of the root change.
    kept = joint if type_ == joint.type else Joint(joint.name, type_, joint.parent, joint.child)
    builder.joint(
        prefix + joint.name,
        type_,
        above,
        prefix + joint.child,
        placement=at,
        child_placement=joint.child_placement,
        axis=kept.axis,
        axis2=kept.axis2,
        pitch=kept.pitch,
        lower=kept.lower,
        upper=kept.upper,
        effort_limit=kept.effort_limit,
        velocity_limit=kept.velocity_limit,
        limit_restitution=kept.limit_restitution,
        damping=kept.damping,
        stiffness=kept.stiffness,
        rest_position=kept.rest_position,
        friction=kept.friction,
        armature=kept.armature,
        mimic=joint.mimic and replace(joint.mimic, joint=prefix + joint.mimic.joint),
        start=kept.start,
        parent_contact=joint.parent_contact,
    )


def _add_actuators(builder: ModelBuilder, description: ModelDescription, prefix: str) -> None:
    for actuator in description.actuators:
        fields = {key: value for key, value in vars(actuator).items() if key not in _OF_ACTUATORS}
        fields["others"] = [(prefix + name, ratio) for name, ratio in actuator.others]
        fields |= {
            key: prefix + name for key in ("frame", "strut", "sticky") if (name := getattr(actuator, key)) is not None
        }
        joint = None if actuator.joint is None else prefix + actuator.joint
        builder.actuator(prefix + actuator.name, joint, **fields)
    for sensor in description.sensors:
        builder.sensor(prefix + sensor.name, sensor.quantity, prefix + sensor.of)


def _add_contacts(builder: ModelBuilder, description: ModelDescription, prefix: str) -> None:
    for link, other in description.excludes:
        builder.exclude(prefix + link, prefix + other)
    for pair in description.pairs:
        builder.pair(prefix + pair.link, pair.geometry, prefix + pair.other_link, pair.other_geometry, pair.law)


def _add_closures(builder: ModelBuilder, description: ModelDescription, prefix: str, parent: str, base: Array) -> None:
    for closure in description.closures:
        on_world = closure.to == WORLD
        builder.close(
            prefix + closure.name,
            prefix + closure.link,
            parent if on_world else prefix + closure.to,
            placement=closure.placement,
            to_placement=base @ closure.to_placement if on_world else closure.to_placement,
            rows=closure.rows,
        )


def _add_keyframes(builder: ModelBuilder, description: ModelDescription, prefix: str, changed: set[str]) -> None:
    """Without roots that were freed or fixed on the way: ``changed``."""
    for keyframe in description.keyframes:
        q, v = by_joint(description, keyframe.q, 0), by_joint(description, keyframe.v, 1)
        control = zip(description.actuators, keyframe.control.tolist(), strict=True)
        activated = (actuator for actuator in description.actuators if actuator.activation is not None)
        activation = zip(activated, keyframe.activation.tolist(), strict=True)
        builder.keyframe(
            prefix + keyframe.name,
            q={prefix + name: part for name, part in q.items() if name not in changed},
            v={prefix + name: part for name, part in v.items() if name not in changed},
            control={prefix + actuator.name: number for actuator, number in control},
            activation={prefix + actuator.name: number for actuator, number in activation},
        )


def _add_couplings(builder: ModelBuilder, description: ModelDescription, prefix: str) -> None:
    for coupling in description.couplings:
        to = None if coupling.to is None else prefix + coupling.to
        others = [(prefix + name, x) for name, x in coupling.others]
        builder.couple(prefix + coupling.name, prefix + coupling.joint, to, coupling.polynomial, others)
    for tendon in description.tendons:
        joints = {prefix + joint: x for joint, x in zip(tendon.joints, tendon.coefficients, strict=True)}
        fields = {key: value for key, value in vars(tendon).items() if key not in _OF_TENDONS}
        builder.tendon(prefix + tendon.name, joints, **fields)


def _add_struts(builder: ModelBuilder, description: ModelDescription, prefix: str, parent: str, base: Array) -> None:
    """What is on the world of the description goes to ``parent``, in which that world is at ``base``."""

    def moved(point: tuple[str, tuple[float, float, float]]) -> tuple[str, Any]:
        link, p = point
        return (parent, base[:3, :3] @ np.array(p) + base[:3, 3]) if link == WORLD else (prefix + link, p)

    for strut in description.struts:
        bends = [
            replace(
                bend,
                link=parent if bend.link == WORLD else prefix + bend.link,
                placement=base @ bend.placement if bend.link == WORLD else bend.placement,
                side=None if bend.side is None else moved(bend.side),
            )
            for bend in strut.bends
        ]
        law = {key: getattr(strut, key) for key in ("stiffness", "damping", "range", "friction", "shares")}
        points = [moved(point) for point in strut.points]
        builder.strut(prefix + strut.name, points, rest_length=strut.rest_range, bends=bends, **law)
