"""Delassus matrices: how forces along constraint rows accelerate the rows, and the inverse of that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..core_tables import inverted_matrix
from ..model.model import Model
from .compiled_sets import compiled_for
from .constraint_set import AnyConstraint, ConstraintSet
from .dynamics import activity

DelassusMethod = Literal["auto", "ltl", "kjr", "efpa", "pv_osim", "pv_osimr", "pv_osim_base"]
InverseMethod = Literal["auto", "pv_osim_base", "caba_osim", "dense", "ltl"]

#: Kernels whose name is not that of the method. For Delta itself pv_osim serves floating bases as well; for its inverse
#: limb by limb it does not.
_MATRIX_KERNELS = {"auto": "pv_osimr", "ltl": "ltl_osim", "pv_osim_base": "pv_osim"}
_INVERSE_KERNELS = {"ltl": "ltl_inverse", "dense": "pv_inverse"}

#: With this many rows, inverting all at once is as fast as limb by limb, measured on lanes.
_FEW_ROWS = 18

#: Mobility of a row over its pivot, beyond which a matrix counts as singular.
_SINGULAR = 1e10


def delassus(
    model: Model,
    q: ArrayLike,
    constraints: Sequence[AnyConstraint] | ConstraintSet,
    *,
    method: DelassusMethod = "auto",
    active: ArrayLike | None = None,
    num_threads: int | None = None,
) -> Array:
    """The Delassus matrix J H^-1 J^T, (..., n_rows, n_rows): accelerations of the rows per force along each of them.

    q: (nq,) or a batch (batch, nq) of configurations. constraints: a list, or a ConstraintSet to reuse; on links, or
    between two. Their compliance is not part of the matrix. active: (n_constraints,) or (batch, n_constraints) of bool;
    rows and columns of inactive constraints are zero.
    method:
      "auto"          "pv_osimr", which does as "pv_osim" where that takes fewer operations
      "ltl"           O(n d^2 + m d^2 + m^2 d) for m rows under d joints, in joint space
      "kjr"           O(n + m^2 d), d counted from where paths meet
      "efpa"          O(n + m d + m^2)
      "pv_osim"       O(n + m^2 d), with the lightest steps
      "pv_osimr"      O(n + m^2): where many rows have gathered, six numbers travel on in their place
      "pv_osim_base"  the same; the variant for floating bases differs in ``delassus_inverse`` only

    >>> robot = fw.models.quadruped()
    >>> feet = [fw.PointConstraint("front_left_foot"), fw.PointConstraint("front_right_foot")]
    >>> fw.delassus(robot, robot.neutral(), feet).shape
    (6, 6)
    """
    compiled = compiled_for(model, constraints)
    return _core.delassus(model, q, compiled, activity(active), kernel_of(method), num_threads)


def delassus_inverse(
    model: Model,
    q: ArrayLike,
    constraints: Sequence[AnyConstraint] | ConstraintSet,
    *,
    damping: ArrayLike = 1e-6,
    method: InverseMethod = "auto",
    active: ArrayLike | None = None,
    num_threads: int | None = None,
) -> Array:
    """(J H^-1 J^T + R)^-1, (..., n_rows, n_rows): the forces along the rows that accelerate them as desired.

    damping: R > 0, a number, one per row (n_rows,), or per sample and row (batch, n_rows), in the rows' units of
    acceleration per force [1/kg, 1/(kg m^2)]. It makes the inverse exist where rows depend on each other; with
    independent rows :func:`operational_space_inertia` needs none. Rows and columns of inactive constraints are zero.
    method:
      "auto"          "dense" for up to 18 rows and for loops and couplings, else "pv_osim_base"
      "pv_osim_base"  limb by limb, each where it ends; anchors only, as the next
      "caba_osim"     rows turn into springs of their links, O(n + m^2); those whose damping is below a hundredth of
                      their mobility would be too stiff for that, and are inverted, O(m^3)
      "dense"         the matrix by "pv_osimr", then inverted, O(m^3)
      "ltl"           the matrix by "ltl", then inverted, O(m^3)

    A damped matrix of condition c is inverted to about 1e-15 c, as any inverse in double precision is.

    >>> arm = fw.models.arm()
    >>> fw.delassus_inverse(arm, np.full(7, 0.4), [fw.PointConstraint("flange")]).shape
    (3, 3)
    """
    compiled = compiled_for(model, constraints)
    numbers = _positive_damping(damping, compiled)
    return _inverse(model, q, compiled, numbers, method, active, num_threads)[0]


def operational_space_inertia(
    model: Model,
    q: ArrayLike,
    constraints: Sequence[AnyConstraint] | ConstraintSet,
    *,
    method: InverseMethod = "auto",
    active: ArrayLike | None = None,
    num_threads: int | None = None,
) -> Array:
    """(J H^-1 J^T)^-1, (..., n_rows, n_rows): the inertia that forces along independent rows feel.

    Raises ValueError where rows are dependent, naming the sample; :func:`delassus_inverse` takes any rows.

    >>> arm = fw.models.arm()
    >>> fw.operational_space_inertia(arm, np.full(7, 0.4), [fw.PointConstraint("flange")]).shape
    (3, 3)
    """
    compiled = compiled_for(model, constraints)
    inverse, weakest = _inverse(model, q, compiled, np.zeros(compiled.n_rows), method, active, num_threads)
    singular = ~(weakest < _SINGULAR)
    if singular.any():
        where = "" if singular.ndim == 0 else f" in sample {np.flatnonzero(singular)[0]}"
        raise ValueError(
            f"constraints: their rows depend on each other{where}, so the Delassus matrix is singular; "
            "use delassus_inverse with some damping"
        )
    return inverse


class DelassusOperator:
    """Delassus matrices Delta = J H^-1 J^T that are never formed: products, and solutions of (Delta + R) x = b.

    Factorised once, for one configuration (nq,) or a batch (batch, nq), in O(n + m) where limbs can move all their
    rows; every product costs O(n + m) again and every solution less. damping R > 0: a number, one per row (n_rows,), or
    per sample and row (batch, n_rows). With loops or couplings the matrix is formed after all, and factorised.

    >>> robot = fw.models.quadruped()
    >>> feet = [fw.PointConstraint("front_left_foot"), fw.PointConstraint("front_right_foot")]
    >>> delassus = fw.DelassusOperator(robot, robot.neutral(), feet, damping=1e-6)
    >>> forces = delassus.solve(np.ones(6))
    >>> bool(np.allclose(delassus.apply(forces) + 1e-6 * forces, 1))
    True
    """

    def __init__(
        self,
        model: Model,
        q: ArrayLike,
        constraints: Sequence[AnyConstraint] | ConstraintSet,
        *,
        damping: ArrayLike = 1e-6,
        active: ArrayLike | None = None,
        num_threads: int | None = None,
    ) -> None:
        self.constraints = compiled_for(model, constraints)
        self.damping = _positive_damping(damping, self.constraints)
        mask, q = activity(active), np.asarray(q, dtype=np.float64)
        sizes = [len(each) for each in (q, self.damping, mask) if each is not None and each.ndim > 1]
        self._batch: tuple[int, ...] = (sizes[0],) if sizes else ()
        self._factors = _core.DelassusOperator(model, q, self.constraints, self.damping, mask, num_threads)
        self._lock = threading.Lock()  # the factors are also the memory that solutions work in

    @property
    def shape(self) -> tuple[int, ...]:
        """(..., n_rows, n_rows)."""
        return (*self._batch, self.constraints.n_rows, self.constraints.n_rows)

    def apply(self, x: ArrayLike, *, num_threads: int | None = None) -> Array:
        """Delta x for x of shape (..., n_rows), or (..., n_rows, k) for k vectors at once. The damping is not in it."""
        return self._each_side(self._factors.apply, "x", x, num_threads)

    def solve(self, b: ArrayLike, *, num_threads: int | None = None) -> Array:
        """(Delta + R)^-1 b for b of shape (..., n_rows), or (..., n_rows, k) for k right-hand sides at once.

        Zero for rows of inactive constraints.
        """
        return self._each_side(self._factors.solve, "b", b, num_threads)

    def __matmul__(self, x: ArrayLike) -> Array:
        return self.apply(x)

    def __repr__(self) -> str:
        return f"<DelassusOperator: {' x '.join(map(str, self.shape))}>"

    def _each_side(
        self, function: Callable[[Array, int, int | None], Array], name: str, value: ArrayLike, num_threads: int | None
    ) -> Array:
        sides, n = np.asarray(value, dtype=np.float64), self.constraints.n_rows
        rank = len(self._batch)
        if sides.ndim in (1, rank + 1) and sides.shape[-1] == n:
            many, sides = False, sides[..., None]
        elif sides.ndim == rank + 2 and sides.shape[-2] == n:
            many = True
        else:
            raise ValueError(
                f"{name}: expected shape {(*self._batch, n)}, or {(*self._batch, n, 'k')} for k of them, "
                f"got {sides.shape}"
            )
        if sides.ndim == rank + 2 and sides.shape[:rank] != self._batch:
            raise ValueError(f"{name}: a batch of {sides.shape[:rank]} does not match the operator's of {self._batch}")
        if sides.shape[-1] == 0:
            raise ValueError(f"{name}: expected at least one vector, got shape {sides.shape}")
        sides = np.broadcast_to(sides, (*self._batch, *sides.shape[-2:]))
        with self._lock:
            result = function(np.ascontiguousarray(sides), sides.shape[-1], num_threads)
        return result if many else result[..., 0]


def kernel_of(method: DelassusMethod) -> str:
    """The kernel by which a method runs."""
    return _MATRIX_KERNELS.get(_known(method, DelassusMethod), method)


def inverse_kernel_of(method: InverseMethod, constraints: ConstraintSet) -> str:
    """The kernel by which a method inverts."""
    name = _known(method, InverseMethod)
    if name == "auto":
        name = "dense" if constraints.n_rows <= _FEW_ROWS or constraints.has_loops else "pv_osim_base"
    return _INVERSE_KERNELS.get(name, name)


def _inverse(
    model: Model,
    q: ArrayLike,
    constraints: ConstraintSet,
    damping: Array,
    method: InverseMethod,
    active: ArrayLike | None,
    num_threads: int | None,
) -> tuple[Array, Array]:
    """The inverse, and for each sample the largest ratio of a row's mobility to its pivot."""
    n, kernel = constraints.n_rows, inverse_kernel_of(method, constraints)
    result = _core.delassus_inverse(model, q, constraints, damping, activity(active), kernel, num_threads)
    found = inverted_matrix(result, n)
    return found["inverse"], found["weakest"]


def _known(method: str, known: object) -> str:
    if method not in get_args(known):
        raise ValueError(f"method: unknown {method!r}, expected one of {', '.join(get_args(known))}")
    return method


def _positive_damping(damping: ArrayLike, constraints: ConstraintSet) -> Array:
    """(n_rows,) or (batch, n_rows)."""
    try:
        numbers = np.asarray(damping, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"damping: must be numbers, got {damping!r}") from None
    if numbers.ndim == 0:
        numbers = np.full(constraints.n_rows, numbers)
    if not np.isfinite(numbers).all() or numbers.min(initial=np.inf) <= 0:
        raise ValueError(f"damping: must be positive and finite, got {damping!r}; operational_space_inertia needs none")
    return numbers
