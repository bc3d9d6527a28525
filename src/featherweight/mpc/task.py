"""Tasks: what a motion should be, as a sum of residuals with weights, norms and targets in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..records import Record
from ..simulation.simulator import Simulator
from .norms import SHAPES, Norm
from .residuals import Nodes, Residual, numbers_of

#: One number or one per row of the residual; or a function of times (n,) that returns (n, rows).
Target: TypeAlias = ArrayLike | Callable[[Array], ArrayLike]


class Term:
    """One residual of a task. Weight and target may be set at any time; the next update follows them.

    >>> scene = fw.Scene()
    >>> motors = scene.motor(scene.add(fw.models.pendulum(), name="pole"))
    >>> sim = fw.Simulator(scene, dt=0.02)
    >>> task = fw.mpc.Task(sim)
    >>> angle = task.add("angle", fw.mpc.joint_position(), target=0.5, weight=5)
    >>> angle.weight, angle.target
    (array([5.]), array([0.5]))
    >>> angle.target = 0.7  # from the next update on
    """

    def __init__(self, name: str, residual: Residual, norm: Norm) -> None:
        self.name, self.residual, self.norm = name, residual, norm
        self._weight: Array = np.ones(residual.rows)
        self._target: Callable[[Array], ArrayLike] | Array = np.zeros((1, residual.width))

    @property
    def weight(self) -> Array:
        """(rows,): one over the deviation that counts as one, which costs a half."""
        return self._weight

    @weight.setter
    def weight(self, value: ArrayLike) -> None:
        array = numbers_of(f"{self.name}: weight", value)
        if array.shape not in ((), (self.residual.rows,)) or (array < 0.0).any():
            raise ValueError(
                f"{self.name}: weight: expected a number or ({self.residual.rows},), not negative, got {value!r}"
            )
        self._weight = np.broadcast_to(array, (self.residual.rows,)).copy()

    @property
    def target(self) -> Target:
        """What the residual is compared with: an array, or a function of times."""
        return self._target[0] if isinstance(self._target, np.ndarray) else self._target

    @target.setter
    def target(self, value: Target) -> None:
        if callable(value):
            self._target = value
            self.targets(np.zeros(2))  # of the right shape
        else:
            self._target = self._rows(numbers_of(f"{self.name}: target", value), 1)

    def follow(self, times: ArrayLike, values: ArrayLike) -> None:
        """Targets at rising times, (n, width), on straight lines between them; at the ends, they stay."""
        at, points = numbers_of(f"{self.name}: times", times), numbers_of(f"{self.name}: target", values)
        if at.ndim != 1 or not len(at) or (np.diff(at) <= 0.0).any():
            raise ValueError(f"{self.name}: times: expected rising numbers (n,), got {times!r}")
        if points.shape != (len(at), self.residual.width):
            raise ValueError(
                f"{self.name}: target: expected shape ({len(at)}, {self.residual.width}), "
                f"one row for each of the times, got {points.shape}"
            )
        self._target = lambda t: np.stack([np.interp(t, at, column) for column in points.T], axis=1)

    def targets(self, times: Array) -> Array:
        """(n or 1, width)."""
        if isinstance(self._target, np.ndarray):
            return self._target
        value = numbers_of(f"{self.name}: target", self._target(times))
        return self._rows(value, len(times))

    def _rows(self, value: Array, n: int) -> Array:
        width = self.residual.width
        if value.ndim == 0 and width == self.residual.rows:
            return np.full((1, width), value)
        if value.shape == (width,):
            return value.reshape(1, width)
        if n > 1 and value.shape == (n, width):
            return value
        expected = f"({width},)" if n == 1 else f"({width},) or, for {n} times, ({n}, {width})"
        raise ValueError(f"{self.name}: target: expected shape {expected}, got {value.shape}")


@dataclass(frozen=True, eq=False)
class QuadraticCost(Record):
    """A task at nodes, to second order, as Gauss and Newton have it. n states, m controls; the last node has none."""

    value: float
    q: Array  # (nodes + 1, n) slopes by states
    Q: Array  # (nodes + 1, n, n)
    r: Array  # (nodes, m) slopes by controls
    R: Array  # (nodes, m, m)


class Task:
    """A sum of named residuals. The cost of a node is the sum of norms of weighted residuals.

    sim: the simulator that plans; names of frames and joints are those of its model. terminal: how many nodes the last
    one counts as.

    >>> scene = fw.Scene(ground=fw.Plane(friction=0.8))
    >>> robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.3))
    >>> actuators = scene.servo(robot, kp=60, kd=1.5)
    >>> task = fw.mpc.Task(fw.Simulator(scene, dt=0.02, integrator="implicit"))
    >>> height = task.add("height", fw.mpc.frame_position("robot/trunk", "z"), target=0.29, weight=15)
    >>> task.add("posture", fw.mpc.joint_position("robot"), weight=0.6).residual.rows
    12
    >>> height.weight = 20.0
    """

    def __init__(self, sim: Simulator, *, terminal: float = 1.0) -> None:
        if not isinstance(sim, Simulator):
            raise ValueError(f"sim: expected a Simulator, got {sim!r}")
        if not (np.isfinite(terminal) and terminal >= 0.0):
            raise ValueError(f"terminal: expected a number of at least 0, got {terminal!r}")
        self.sim, self.terminal = sim, float(terminal)
        self._terms: dict[str, Term] = {}
        self._rows = _Rows([])

    def add(
        self,
        name: str,
        residual: Residual,
        *,
        target: Target = 0.0,
        weight: ArrayLike = 1.0,
        norm: Norm = "quadratic",
        times: ArrayLike | None = None,
    ) -> Term:
        """Adds a residual, and returns its term, whose weight and target may be changed later.

        target: one number, one per row, a quaternion for orientations; or a function of times (n,) that returns
        (n, rows), such as :func:`trot`; or with ``times`` rows at those times, with straight lines between them.
        weight: a number or one per row: one over the deviation that counts as one. norm, of what is weighted:
        "quadratic", "smooth_abs", which grows like its absolute value beyond one, or "one_sided", for upper bounds.
        """
        if name in self._terms:
            raise ValueError(f"task: there is a term {name!r} already")
        if not isinstance(residual, Residual):
            raise ValueError(f"{name}: expected a residual such as fw.mpc.control(), got {residual!r}")
        if norm not in get_args(Norm):
            raise ValueError(f"{name}: norm must be one of {', '.join(get_args(Norm))}, got {norm!r}")
        try:
            term = Term(name, residual.bound(self.sim), norm)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        term.weight = weight
        if times is not None:
            term.follow(times, target)  # type: ignore[arg-type]
        elif term.residual.width != term.residual.rows and np.isscalar(target):
            term.target = (0.0, 0.0, 0.0, 1.0)
        else:
            term.target = target
        self._terms[name] = term
        self._rows = _Rows(list(self))
        return term

    def __getitem__(self, name: str) -> Term:
        if name not in self._terms:
            raise ValueError(f"task: no term {name!r}; there are {', '.join(self._terms)}")
        return self._terms[name]

    def __iter__(self) -> Iterator[Term]:
        return iter(self._terms.values())

    def __len__(self) -> int:
        return len(self._terms)

    def costs(self, q: Array, v: Array, control: Array, times: Array) -> dict[str, Array]:
        """Costs of plans by name of the term, (batch,) each.

        q, v: (batch, nodes + 1, n); control: (batch, nodes, nu); times: (nodes + 1,) [s]. Where a plan starts costs
        nothing, since nothing can be done about it.
        """
        batch, N = control.shape[:2]
        y, _ = self._residuals(self._nodes(q, v, control), times, batch)
        cost = self._shaped(y)[0].reshape(batch, N, -1)
        cost *= self._shares(N)
        totals = np.add.reduceat(cost.sum(axis=1), self._rows.firsts, axis=1)
        return {term.name: total for term, total in zip(self, totals.T, strict=True)}

    def quadratic(self, q: Array, v: Array, control: Array, times: Array) -> QuadraticCost:
        """The cost of one plan to second order, with curvatures of norms but not of residuals.

        Shapes as in :meth:`costs`, without a batch.
        """
        N, nu = control.shape
        nv = self.sim.model.nv
        nodes = self._nodes(q[None], v[None], control[None])
        y, targets = self._residuals(nodes, times, 1)
        cost, slope, curvature = self._shaped(y)
        shares, weight = self._shares(N), self._weights()
        value = float((shares * cost).sum())
        weighted = shares * weight
        slope, curvature = weighted * slope, weighted * weight * curvature
        by_x, by_u = _Quadratic(), _Quadratic()
        first = {"q": 0, "v": nv, "control": 0}
        for term, target, of_term in zip(self, targets, self._rows.slices, strict=True):
            to = by_u if term.residual.uses_control else by_x
            slopes = {first[by]: J for by, J in term.residual.slopes(nodes, target).items()}
            to.add(slopes, slope[:, of_term], curvature[:, of_term])
        (q_x, Q), (r, R) = by_x.total(N, 2 * nv, start=1), by_u.total(N, nu, start=0)
        return QuadraticCost(value, q_x, Q, r, R)

    def _residuals(self, nodes: Nodes, times: Array, batch: int) -> tuple[Array, list[Array]]:
        """Of all terms side by side, weighted, (n, rows); and their targets, (n or 1, width)."""
        values, targets = [], []
        for term in self:
            target = term.targets(times[:-1] if term.residual.uses_control else times[1:])
            if len(target) > 1 and batch > 1:
                target = np.concatenate([target] * batch)
            values.append(term.residual.value(nodes, target))
            targets.append(target)
        y = np.concatenate(values, axis=1)
        y *= self._weights()
        return y, targets

    def _shaped(self, y: Array) -> tuple[Array, Array, Array]:
        """Costs, slopes and curvatures by the norm of each row, (n, rows)."""
        rows = self._rows.by_norm
        if len(rows) == 1:
            return SHAPES[next(iter(rows))](y)
        cost, slope, curvature = np.empty_like(y), np.empty_like(y), np.empty_like(y)
        for norm, of_norm in rows.items():
            cost[:, of_norm], slope[:, of_norm], curvature[:, of_norm] = SHAPES[norm](y[:, of_norm])
        return cost, slope, curvature

    def _weights(self) -> Array:
        """Of all rows."""
        return np.concatenate([term.weight for term in self])

    def _nodes(self, q: Array, v: Array, control: Array) -> Nodes:
        """States after the first, and controls, of all plans."""
        q, v = (np.ascontiguousarray(x[:, 1:]).reshape(-1, x.shape[-1]) for x in (q, v))
        return Nodes(self.sim.model, q, v, control.reshape(-1, control.shape[-1]), self.sim.num_threads)

    def _shares(self, nodes: int) -> Array:
        """How many nodes each row counts as, (nodes, rows): the last one ``terminal``, unless it is one of controls."""
        share = np.ones((nodes, len(self._rows.are_of_state)))
        share[-1, self._rows.are_of_state] = self.terminal
        return share


class _Rows:
    """Of all terms, side by side."""

    def __init__(self, terms: Sequence[Term]) -> None:
        counts = [term.residual.rows for term in terms]
        #: Of each term.
        self.firsts = [0, *accumulate(counts)][:-1]
        self.slices = [slice(first, first + count) for first, count in zip(self.firsts, counts, strict=True)]
        self.are_of_state = np.repeat([not term.residual.uses_control for term in terms], counts)
        norms = np.repeat([term.norm for term in terms], counts)
        self.by_norm = {norm: norms == norm for norm in dict.fromkeys(term.norm for term in terms)}


class _Quadratic:
    """A slope and a curvature per node, summed over terms."""

    def __init__(self) -> None:
        #: Blocks or columns by the first column, and slopes and curvatures of norms, (nodes, rows).
        self._dense: list[tuple[dict[int, Array], Array, Array]] = []
        self._single: list[tuple[dict[int, Any], Array, Array]] = []  # each row is one coordinate

    def add(self, slopes: dict[int, Any], by_row: Array, curvature: Array) -> None:
        """slopes: by the first column of each block; by_row, curvature: (nodes, rows) of the norm."""
        is_dense = any(isinstance(J, np.ndarray) and J.ndim > 1 for J in slopes.values())
        (self._dense if is_dense else self._single).append((slopes, by_row, curvature))

    def total(self, nodes: int, n: int, start: int) -> tuple[Array, Array]:
        """(start + nodes, n) and (start + nodes, n, n); zero at the first ``start`` nodes."""
        if self._dense:
            slope, matrix = _core.gauss_newton(*self._rows(nodes, n), start)
        else:
            slope, matrix = np.zeros((start + nodes, n)), np.zeros((start + nodes, n, n))
        slope_there, diagonal = slope[start:], matrix.reshape(start + nodes, n * n)[start:, :: n + 1]
        for slopes, of_term, of_curvature in self._single:
            for first, columns in slopes.items():
                slope_there[:, first:][:, columns] += of_term
                diagonal[:, first:][:, columns] += of_curvature
        return slope, matrix

    def _rows(self, nodes: int, n: int) -> tuple[Array, Array, Array]:
        """Of all dense terms: (nodes, rows, n), and (nodes, rows) of their norms."""
        by_row, curvature = (np.concatenate([term[k] for term in self._dense], axis=1) for k in (1, 2))
        J = np.zeros((nodes, by_row.shape[1], n))
        row = 0
        for slopes, of_term, _ in self._dense:
            for first, block in slopes.items():
                J[:, row : row + of_term.shape[1], first : first + block.shape[2]] = block
            row += of_term.shape[1]
        return J, by_row, curvature
