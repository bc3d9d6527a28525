"""What a linear-quadratic problem of whole-body control costs: ``python -m benchmarks.lqr``.

Random problems of the sizes of robots, 50 nodes: with coordinates that follow from velocities, with all rows dense, and
by a textbook recursion in NumPy. Contenders take turns on one core, and a figure is the smallest; errors are those of
the controls against a dense KKT system of five nodes, in the largest of them.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import featherweight as fw
from benchmarks.main import stay_on_one_core
from benchmarks.race import equal_turns
from benchmarks.report import markdown_table

NODES, DT = 50, 0.01
#: Degrees of freedom, and controls.
SIZES = {"arm": (7, 7), "quadruped": (18, 12), "humanoid": (36, 30), "Talos": (38, 32)}


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(prog="python -m benchmarks.lqr", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30, help="turns of each contender (default: %(default)s)")
    options = parser.parse_args(argv)
    stay_on_one_core()
    print(f"Milliseconds for {NODES} nodes, gains and plan, one core.\n")
    print(markdown_table([row(name, options.rounds) for name in SIZES]))
    return 0


def row(name: str, rounds: int) -> dict[str, str]:
    """Of one robot's size."""
    nv, m = SIZES[name]
    problem, integration = random_problem(nv, m, NODES)
    runs = {
        "velocities first [ms]": partial(fw.mpc.lqr, **problem, integration=integration),
        "all rows dense [ms]": partial(fw.mpc.lqr, **problem),
        "NumPy [ms]": partial(textbook, **problem),
    }
    times = {kind: min(each) for kind, each in equal_turns(runs, rounds).items()}
    few, of_few = random_problem(nv, m, 5)
    exact = by_kkt(**few)
    error = max(float(np.abs(fw.mpc.lqr(**few, integration=how).u - exact).max()) for how in (None, of_few))
    cells = {"size of": f"{name} ({2 * nv} states, {m} controls)"}
    cells |= {kind: f"{1e3 * seconds:.3g}" for kind, seconds in times.items()}
    return cells | {"error": f"{error / np.abs(exact).max():.0e}"}


def random_problem(nv: int, m: int, N: int) -> tuple[dict[str, Any], tuple[Any, Any]]:
    """A free base and joints of one degree of freedom, with costs on diagonals."""
    rng = np.random.default_rng(0)
    n = 2 * nv
    E = np.tile(np.eye(nv), (N, 1, 1))
    base = min(6, nv)
    E[:, :base, :base] += DT * rng.normal(size=(N, base, base))
    D = DT * np.tile(np.eye(nv), (N, 1, 1))
    A = np.eye(n) + DT * rng.normal(size=(N, n, n))
    B = 5 * DT * rng.normal(size=(N, n, m))
    A[:, :nv] = np.concatenate([E, np.zeros_like(E)], axis=2) + D @ A[:, nv:]
    B[:, :nv] = D @ B[:, nv:]
    problem = {"A": A, "B": B, "Q": np.ones((N + 1, n)), "R": np.full((N, m), 1e-2)}
    problem |= {"q": 0.1 * rng.normal(size=(N + 1, n)), "c": 0.01 * rng.normal(size=(N, n))}
    return problem, (E, D)


def textbook(A: Any, B: Any, Q: Any, R: Any, q: Any, c: Any) -> Any:
    """Controls by the Riccati recursion as it is written."""
    (N, n, _), m = A.shape, B.shape[2]
    P, p, gains, steps = np.diag(Q[N]), q[N], np.empty((N, m, n)), np.empty((N, m))
    for k in range(N - 1, -1, -1):
        PA, slope = P @ A[k], p + P @ c[k]
        both = np.linalg.solve(np.diag(R[k]) + B[k].T @ P @ B[k], np.column_stack([B[k].T @ PA, B[k].T @ slope]))
        gains[k], steps[k] = -both[:, :-1], -both[:, -1]
        p = q[k] + A[k].T @ slope + (PA.T @ B[k]) @ steps[k]
        P = np.diag(Q[k]) + A[k].T @ PA + (PA.T @ B[k]) @ gains[k]
        P = 0.5 * (P + P.T)
    x, u = np.zeros(n), np.empty((N, m))
    for k in range(N):
        u[k] = steps[k] + gains[k] @ x
        x = A[k] @ x + B[k] @ u[k] + c[k]
    return u


def by_kkt(A: Any, B: Any, Q: Any, R: Any, q: Any, c: Any) -> Any:
    """Controls from one dense system: costs, dynamics, and nothing that knows of nodes."""
    (N, n, _), m = A.shape, B.shape[2]
    rows, size = (N + 1) * n, (N + 1) * n + N * m
    H = np.diag(np.concatenate([Q.ravel(), R.ravel()]))
    G, b = np.zeros((rows, size)), np.concatenate([np.zeros(n), c.ravel()])
    G[:, :rows] = np.eye(rows)
    for k in range(N):
        after = slice((k + 1) * n, (k + 2) * n)
        G[after, k * n : (k + 1) * n], G[after, rows + k * m : rows + (k + 1) * m] = -A[k], -B[k]
    K = np.block([[H, G.T], [G, np.zeros((rows, rows))]])
    z = np.linalg.solve(K, np.concatenate([-q.ravel(), np.zeros(N * m), b]))
    return z[rows:size].reshape(N, m)


if __name__ == "__main__":
    sys.exit(main())
