"""What a model holds by itself, as constraints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import _core
from ..model.description import WORLD, Closure, Coupling
from ..model.model import Model
from .constraint_set import ROWS, AnyConstraint, FrameConstraint, JointCombination, JointCoupling, PointConstraint


def constraints_of(model: Model) -> tuple[AnyConstraint, ...]:
    """The closures, mimic joints and couplings of a model, as constraints.

    A model is a tree, and dynamics such as :func:`featherweight.aba` are those of the tree. Pass these along where
    loops are to be closed: to :func:`featherweight.constrained_dynamics`, :func:`featherweight.close_loops` and
    similar functions. Scenes enforce them automatically.

    >>> model = fw.models.five_bar()
    >>> loops = fw.constraints_of(model)
    >>> len(loops), isinstance(loops[0], fw.PointConstraint)
    (1, True)
    >>> int(fw.mobility(model, model.neutral(), loops).dof)
    2
    """
    description = model.description
    mimics = (
        JointCoupling(joint.name, joint.mimic.joint, (joint.mimic.offset, joint.mimic.multiplier))
        for joint in description.joints
        if joint.mimic is not None
    )
    closures = (_of_closure(_from_what_moves(model, closure)) for closure in description.closures)
    return (*closures, *mimics, *map(_of_coupling, description.couplings))


def _of_coupling(coupling: Coupling) -> AnyConstraint:
    if coupling.others:
        return JointCombination(dict(coupling.terms), coupling.polynomial[0])
    return JointCoupling(coupling.joint, coupling.to, coupling.polynomial)


def _from_what_moves(model: Model, closure: Closure) -> Closure:
    """The same with its ends exchanged, if the world holds the first: what is whole looks alike from both."""
    if closure.to == WORLD or tuple(sorted(closure.rows)) not in (("x", "y", "z"), tuple(sorted(ROWS))):
        return closure
    carriers = {joint.child: joint for joint in model.description.joints}
    link = closure.link
    while link != WORLD and carriers[link].nv == 0:
        link = carriers[link].parent
    if link != WORLD:
        return closure
    X = np.asarray(_core.frame_placement(model, model.q0, closure.link)) @ closure.placement
    return replace(closure, link=closure.to, placement=closure.to_placement, to=WORLD, to_placement=X)


def _of_closure(closure: Closure) -> AnyConstraint:
    to = None if closure.to == WORLD else closure.to
    X, Y = closure.placement, closure.to_placement
    if set(closure.rows) <= set(ROWS[:3]):  # along the axes of the link
        at = {"position": Y[:3, 3]} if to is None else {"to_offset": Y[:3, 3]}
        return PointConstraint(closure.link, closure.rows, X[:3, 3], to=to, **at)
    at = {"position": Y} if to is None else {"to_offset": Y}
    return FrameConstraint(closure.link, closure.rows, X, to=to, **at)
