"""Lists of constraints as compiled sets: those that were compiled lately are kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from ..model.model import Model
from .constraint_set import AnyConstraint, ConstraintSet

#: Sets that are kept, each with its model: those used last.
MOST_KEPT = 64

#: By the model itself and the values of the constraints. A set holds on to its model, whose id is its own for as long.
_kept: OrderedDict[tuple[object, ...], ConstraintSet] = OrderedDict()
_lock = threading.Lock()


def compiled_for(model: Model, constraints: Sequence[AnyConstraint] | ConstraintSet) -> ConstraintSet:
    """The constraints as a set, which they may already be.

    Constraints are immutable and compared by value, so that a list that is written down anew for every call is compiled
    once; a list that was changed is another one.
    """
    if isinstance(constraints, ConstraintSet):
        return constraints
    constraints = tuple(constraints)
    try:
        key = (id(model), *[each.fingerprint for each in constraints])
    except (AttributeError, TypeError):
        return ConstraintSet(model, constraints)  # which says what is wrong with them
    try:
        _kept.move_to_end(key)  # each is a single operation, which needs no lock
        return _kept[key]
    except KeyError:  # unknown, or dropped in between
        pass
    compiled = ConstraintSet(model, constraints)
    with _lock:
        compiled = _kept.setdefault(key, compiled)
        _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return compiled
