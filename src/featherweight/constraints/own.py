"""What a model holds by itself, as constraints."""

from __future__ import annotations

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
    return (*map(_of_closure, description.closures), *mimics, *map(_of_coupling, description.couplings))


def _of_coupling(coupling: Coupling) -> AnyConstraint:
    if coupling.others:
        return JointCombination(dict(coupling.terms), coupling.polynomial[0])
    return JointCoupling(coupling.joint, coupling.to, coupling.polynomial)


def _of_closure(closure: Closure) -> AnyConstraint:
    to = None if closure.to == WORLD else closure.to
    X, Y = closure.placement, closure.to_placement
    if set(closure.rows) <= set(ROWS[:3]):  # along the axes of the link
        at = {"position": Y[:3, 3]} if to is None else {"to_offset": Y[:3, 3]}
        return PointConstraint(closure.link, closure.rows, X[:3, 3], to=to, **at)
    at = {"position": Y} if to is None else {"to_offset": Y}
    return FrameConstraint(closure.link, closure.rows, X, to=to, **at)
