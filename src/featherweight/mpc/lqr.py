"""Linear-quadratic problems of optimal control, many at a time, by the Riccati recursion of the core.

The recursion eliminates the velocities of the next node first where coordinates follow from them
(``core/control/riccati.hpp``). Oracle: the dense KKT system.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array, real_numbers
from ..records import Record

#: What rounding may leave of the symmetry of costs, relative to their largest number.
SYMMETRIC = 1e-9


@dataclass(frozen=True, eq=False)
class LqrSolution(Record):
    """What :func:`lqr` returns. A batch comes in front of every shape; n states, m controls, N nodes.

    >>> fw.mpc.lqr(np.eye(2), np.ones((2, 1)), np.eye(2), np.eye(1), nodes=3, x0=[1.0, 0.0]).u.shape
    (3, 1)
    """

    gain: Array  #: (N, m, n): ``u = feedforward + gain @ x`` is best from any state x, not only from the plan's
    feedforward: Array  #: (N, m)
    x: Array  #: (N + 1, n), states of the plan
    u: Array  #: (N, m), its controls
    P: Array  #: (n, n): what the plan costs from a first state x is ``x @ P @ x / 2 + p @ x`` and a constant
    p: Array  #: (n,)


def lqr(
    A: ArrayLike,
    B: ArrayLike,
    Q: ArrayLike,
    R: ArrayLike,
    *,
    S: ArrayLike | None = None,
    q: ArrayLike | None = None,
    r: ArrayLike | None = None,
    c: ArrayLike | None = None,
    x0: ArrayLike | None = None,
    nodes: int | None = None,
    dt: float | None = None,
    integration: tuple[ArrayLike, ArrayLike] | None = None,
    regularisation: float = 0.0,
    num_threads: int | None = None,
) -> LqrSolution:
    """The controls that minimise a quadratic cost under linear dynamics, and the gains that keep them best.

    Minimises the sum of ``x.Q.x/2 + u.S.x + u.R.u/2 + q.x + r.u`` over N nodes, and ``x.Q.x/2 + q.x`` after them, where
    the next state is ``A x + B u + c``. With n states and m controls:

    A, B: (N, n, n) and (N, n, m). Q, R: (N + 1, n, n) and (N, m, m), symmetric, Q positive semidefinite and R such that
    every control costs something; or their diagonals, (N + 1, n) and (N, m), which are faster to read. S: (N, m, n);
    q, r, c: (N + 1, n), (N, m), (N, n); x0: (n,), the first state; zero where not given. All of them may have a batch
    in front. With ``nodes`` they lack the axis of nodes, and are the same in so many.

    In one step of a simulator, with states (dq, dv) in tangent space, coordinates follow from velocities:
    dq' = E dq + D dv'. Given as ``integration`` (E, D), (N, n/2, n/2) each with the same blocks on their diagonals, or
    as ``dt`` for dq' = dq + dt dv', it saves half the work; the rows of dq in A and B are not read then.

    regularisation: joins the diagonal of R. num_threads: for a batch; by default all cores. The result does not depend
    on it. Raises ValueError if some control costs nothing or less, naming the node.

    A cart of 1 kg, pushed back to the origin within two seconds:

    >>> dt = 0.1
    >>> A, B = [[1.0, dt], [0.0, 1.0]], [[0.0], [dt]]
    >>> plan = fw.mpc.lqr(A, B, np.diag([1.0, 0.1]), [[0.01]], nodes=20, dt=dt, x0=[1.0, 0.0])
    >>> bool(abs(plan.x[-1]).max() < 0.02)
    True
    """
    arrays = {name: real_numbers(name, x) for name, x in _given(A=A, B=B, Q=Q, R=R, S=S, q=q, r=r, c=c, x0=x0).items()}
    problem = _Problem(arrays["A"], arrays["B"], nodes)
    ready = {name: problem.spread(name, x) for name, x in arrays.items()} | problem.integration(dt, integration)
    *found, failed = _core.riccati(
        ready["A"],
        ready["B"],
        ready["Q"],
        ready["R"],
        ready.get("S"),
        ready.get("q"),
        ready.get("r"),
        ready.get("c"),
        ready.get("x0"),
        ready.get("E"),
        ready.get("D"),
        _blocks(ready["E"], ready["D"]) if "E" in ready else [0],
        _share(regularisation),
        None,
        None,
        num_threads,
    )
    solution = LqrSolution(*(x if problem.batch else x[0] for x in found))
    if max(failed) >= 0 or not (np.isfinite(solution.x).all() and np.isfinite(solution.P).all()):
        _explain(ready, failed, has_batch=bool(problem.batch))
    return solution


def _explain(arrays: dict[str, Array], failed: list[int], *, has_batch: bool) -> NoReturn:
    """Why there is no solution. Numbers that are not read may be anything."""
    rows = slice(arrays["A"].shape[-1] // 2 if "E" in arrays else 0, None)
    for name, x in arrays.items():
        if not np.isfinite(x[:, :, rows] if name in ("A", "B") else x).all():
            raise ValueError(f"{name}: expected finite numbers")
    sample = int(np.argmax(failed))
    if failed[sample] < 0:
        raise ValueError("A, B, c, x0: numbers too large to compute with")
    which = f" of sample {sample}" if has_batch else ""
    raise ValueError(
        f"R: in node {failed[sample]}{which} some control costs nothing or less; raise R or the regularisation"
    )


def _given(**arrays: ArrayLike | None) -> dict[str, ArrayLike]:
    return {name: x for name, x in arrays.items() if x is not None}


def _share(regularisation: float) -> float:
    if not (np.isfinite(regularisation) and regularisation >= 0):
        raise ValueError(f"regularisation: expected a number of at least 0, got {regularisation}")
    return float(regularisation)


class _Problem:
    """The sizes of a problem, and its arrays as the core reads them: (batch, nodes, ...), contiguous."""

    def __init__(self, A: Array, B: Array, nodes: int | None) -> None:
        if nodes is not None and (isinstance(nodes, bool) or int(nodes) != nodes or nodes < 1):
            raise ValueError(f"nodes: expected a positive number of nodes, got {nodes}")
        has_nodes = nodes is None
        if A.ndim - 2 - has_nodes not in (0, 1) or A.shape[-1] != A.shape[-2] or A.shape[-1] == 0:
            shape = "(N, n, n) or (batch, N, n, n)" if has_nodes else "(n, n) or (batch, n, n)"
            raise ValueError(f"A: expected {shape} with n states, got {A.shape}")
        if B.ndim != A.ndim or B.shape[:-1] != A.shape[:-1] or B.shape[-1] == 0:
            raise ValueError(f"B: expected {_text((*A.shape[:-1], 'm'))} with m controls, got {B.shape}")
        self.n, self.m = A.shape[-1], B.shape[-1]
        self.batch = A.shape[: A.ndim - 2 - has_nodes]
        self.N = A.shape[-3] if has_nodes else int(nodes or 0)
        self.has_nodes = has_nodes
        if self.N == 0:
            raise ValueError("A: expected at least one node")

    def spread(self, name: str, x: Array) -> Array:
        """One array, checked."""
        n, m, half = self.n, self.m, self.n // 2
        shape: tuple[int, ...] = {
            "A": (n, n), "B": (n, m), "Q": (n, n), "R": (m, m), "S": (m, n),
            "q": (n,), "r": (m,), "c": (n,), "x0": (n,), "E": (half, half), "D": (half, half),
        }[name]  # fmt: skip
        count = self.N + 1 if name in ("Q", "q") else self.N
        lead = (*self.batch, count) if self.has_nodes and name != "x0" else self.batch
        allowed = [(*lead, *shape), (*lead, *shape[:1])] if name in ("Q", "R") else [(*lead, *shape)]
        if x.shape not in allowed:
            raise ValueError(f"{name}: expected {' or '.join(_text(each) for each in allowed)}, got {x.shape}")
        if name in ("Q", "R") and x.shape == allowed[0]:
            _check_symmetry(name, x)
        x = x if self.batch else x[None]
        if not self.has_nodes and name != "x0":
            x = np.broadcast_to(x[:, None], (len(x), count, *x.shape[1:]))
        return np.ascontiguousarray(x, dtype=np.float64)

    def integration(self, dt: float | None, given: tuple[ArrayLike, ArrayLike] | None) -> dict[str, Array]:
        """How coordinates follow from velocities, if they do; (n/2, n/2) where it is the same everywhere."""
        if dt is None and given is None:
            return {}
        if dt is not None and given is not None:
            raise ValueError("dt: integration is given already")
        if self.n % 2:
            raise ValueError(
                f"{'dt' if given is None else 'integration'}: {self.n} states are not coordinates and velocities"
            )
        if given is not None:
            E, D = given
            return {name: self.spread(name, real_numbers(name, x)) for name, x in (("E", E), ("D", D))}
        if dt is None or not np.isfinite(dt):
            raise ValueError(f"dt: expected a number of seconds, got {dt}")
        return {"E": np.eye(self.n // 2), "D": dt * np.eye(self.n // 2)}


def _check_symmetry(name: str, x: Array) -> None:
    off = np.abs(x - x.swapaxes(-1, -2)).max(initial=0.0)
    if off > SYMMETRIC * np.abs(x).max(initial=0.0):
        raise ValueError(f"{name}: expected symmetric matrices, got one that differs from its transpose by {off:.2g}")


def _text(shape: tuple[int | str, ...]) -> str:
    return "(" + ", ".join(str(x) for x in shape) + ("," if len(shape) == 1 else "") + ")"


def _blocks(E: Array, D: Array) -> list[int]:
    """Where blocks on the diagonals of all nodes start, and the end of the last."""
    coupled = np.any((E != 0) | (D != 0), axis=tuple(range(E.ndim - 2)))
    coupled |= coupled.T
    starts, end = [0], 0
    for k, row in enumerate(coupled):
        if k > end:
            starts.append(k)
        end = max(end, k, *np.flatnonzero(row).tolist())
    return [*starts, len(coupled)]
