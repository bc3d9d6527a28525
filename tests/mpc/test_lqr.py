"""Linear-quadratic problems against the dense KKT system, in every shape they may have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close, assert_same_bits

import featherweight as fw

Problem = dict[str, Any]


def random_problem(rng: np.random.Generator, n: int, m: int, N: int) -> Problem:
    """Well conditioned, with every term."""
    square = rng.normal(size=(N + 1, n, n))
    other = rng.normal(size=(N, m, m))
    return {
        "A": 0.5 * rng.normal(size=(N, n, n)),
        "B": rng.normal(size=(N, n, m)),
        "Q": 0.3 * square @ square.transpose(0, 2, 1),
        "R": other @ other.transpose(0, 2, 1) + 0.5 * np.eye(m),
        "S": 0.05 * rng.normal(size=(N, m, n)),
        "q": rng.normal(size=(N + 1, n)),
        "r": rng.normal(size=(N, m)),
        "c": rng.normal(size=(N, n)),
        "x0": rng.normal(size=n),
    }


def by_kkt(A: Any, B: Any, Q: Any, R: Any, S: Any, q: Any, r: Any, c: Any, x0: Any) -> tuple[Any, Any]:
    """States and controls from one dense system."""
    (N, n, _), m = A.shape, B.shape[2]
    size, rows = (N + 1) * n + N * m, (N + 1) * n
    H, g, G, b = np.zeros((size, size)), np.zeros(size), np.zeros((rows, size)), np.zeros(rows)
    G[:n, :n], b[:n] = np.eye(n), x0
    for k in range(N + 1):
        x, u = slice(k * n, (k + 1) * n), slice(rows + k * m, rows + (k + 1) * m)
        H[x, x], g[x] = Q[k], q[k]
        if k == N:
            break
        H[u, u], H[u, x], H[x, u], g[u] = R[k], S[k], S[k].T, r[k]
        after = slice((k + 1) * n, (k + 2) * n)
        G[after, after], G[after, x], G[after, u], b[after] = np.eye(n), -A[k], -B[k], c[k]
    K = np.block([[H, G.T], [G, np.zeros((rows, rows))]])
    z = np.linalg.solve(K, np.concatenate([-g, b]))
    return z[:rows].reshape(N + 1, n), z[rows:size].reshape(N, m)


def random_integration(rng: np.random.Generator, nv: int, N: int) -> tuple[Any, Any]:
    """With a block for each joint: of one, three or six degrees of freedom."""
    block, first = np.zeros((nv, nv)), 0
    while first < nv:
        end = min(nv, first + int(rng.choice([1, 1, 3, 6])))
        block[first:end, first:end] = 1.0
        first = end
    E = (np.eye(nv) + 0.3 * rng.normal(size=(N, nv, nv))) * block
    return E, (0.1 * np.eye(nv) + 0.03 * rng.normal(size=(N, nv, nv))) * block


@pytest.mark.parametrize("seed", range(30))
def test_plans_solve_the_kkt_system(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m, N = int(rng.integers(1, 27)), int(rng.integers(1, 14)), int(rng.integers(1, 8))
    problem = random_problem(rng, n, m, N)
    x, u = by_kkt(**problem)
    solution = fw.mpc.lqr(**problem)
    assert_close(solution.x, x, 1e-10)
    assert_close(solution.u, u, 1e-10)
    applied = solution.feedforward + np.einsum("kij,kj->ki", solution.gain, solution.x[:-1])
    assert_close(applied, solution.u, 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_coordinates_that_follow_from_velocities(seed: int) -> None:
    """The rows that follow are not read, and the plan is that of all rows."""
    rng = np.random.default_rng(100 + seed)
    nv, m, N = int(rng.integers(1, 17)), int(rng.integers(1, 14)), int(rng.integers(1, 8))
    problem = random_problem(rng, 2 * nv, m, N)
    E, D = random_integration(rng, nv, N)
    problem["A"][:, :nv] = np.concatenate([E, np.zeros_like(E)], axis=2) + D @ problem["A"][:, nv:]
    problem["B"][:, :nv] = D @ problem["B"][:, nv:]
    x, u = by_kkt(**problem)
    problem["A"][:, :nv] = problem["B"][:, :nv] = np.nan
    solution = fw.mpc.lqr(**problem, integration=(E, D))
    assert_close(solution.x, x, 1e-10)
    assert_close(solution.u, u, 1e-10)


def test_value_of_the_first_state() -> None:
    """Its slope and curvature are those of the cost of whole plans."""
    rng = np.random.default_rng(3)
    problem = random_problem(rng, 6, 2, 5)

    def cost(x0: Any) -> float:
        problem["x0"] = x0
        s = fw.mpc.lqr(**problem)
        p = problem
        total = sum(0.5 * s.x[k] @ p["Q"][k] @ s.x[k] + p["q"][k] @ s.x[k] for k in range(6))
        for k in range(5):
            total += s.u[k] @ (p["S"][k] @ s.x[k] + 0.5 * p["R"][k] @ s.u[k] + p["r"][k])
        return float(total)

    x, d = rng.normal(size=6), rng.normal(size=6)
    solution = fw.mpc.lqr(**problem)
    ahead, here, back = cost(x + d), cost(x), cost(x - d)  # quadratic: differences are exact
    assert (ahead - back) / 2 == pytest.approx(d @ (solution.P @ x + solution.p), rel=1e-9)
    assert ahead - 2 * here + back == pytest.approx(d @ solution.P @ d, rel=1e-8)


def test_diagonal_costs_and_shared_nodes() -> None:
    rng = np.random.default_rng(4)
    n, m, N = 8, 3, 6
    A, B = np.eye(n) + 0.1 * rng.normal(size=(n, n)), rng.normal(size=(n, m))
    Q, R = rng.uniform(0.0, 1.0, n), rng.uniform(0.1, 1.0, m)
    x0 = rng.normal(size=n)
    shared = fw.mpc.lqr(A, B, Q, R, nodes=N, x0=x0)
    tiled = fw.mpc.lqr(
        np.tile(A, (N, 1, 1)),
        np.tile(B, (N, 1, 1)),
        np.tile(np.diag(Q), (N + 1, 1, 1)),
        np.tile(np.diag(R), (N, 1, 1)),
        x0=x0,
    )
    assert_same_bits(shared.gain, tiled.gain)
    assert_same_bits(shared.x, tiled.x)


def test_a_double_integrator_needs_no_integration_spelled_out() -> None:
    dt = 0.05
    A, B = np.array([[1.0, dt], [0.0, 1.0]]), np.array([[dt * dt], [dt]])  # velocities first, coordinates with them
    A[0] += dt * (A[1] - [0.0, 1.0])
    plain = fw.mpc.lqr(A, B, [2.0, 0.1], [0.01], nodes=30, x0=[1.0, 0.0])
    short = fw.mpc.lqr(A, B, [2.0, 0.1], [0.01], nodes=30, x0=[1.0, 0.0], dt=dt)
    assert_close(short.u, plain.u, 1e-11)


def test_batches_have_the_bits_of_single_problems() -> None:
    rng = np.random.default_rng(5)
    problems = [random_problem(rng, 10, 4, 5) for _ in range(7)]
    stacked: Problem = {name: np.stack([problem[name] for problem in problems]) for name in problems[0]}
    for threads in (1, 2):
        batch = fw.mpc.lqr(**stacked, num_threads=threads)
        for k, problem in enumerate(problems):
            alone = fw.mpc.lqr(**problem)
            for name in ("gain", "feedforward", "x", "u", "P", "p"):
                assert_same_bits(getattr(batch, name)[k], getattr(alone, name))


def test_costs_of_states_may_be_zero() -> None:
    """Directions that cost nothing, and whole nodes without a cost."""
    rng = np.random.default_rng(6)
    problem = random_problem(rng, 12, 4, 6)
    thin = rng.normal(size=(7, 12, 2))
    problem["Q"] = thin @ thin.transpose(0, 2, 1)
    problem["Q"][2:4] = 0.0
    problem["S"] *= 0.0
    _, u = by_kkt(**problem)
    solution = fw.mpc.lqr(**problem)
    assert_close(solution.u, u, 1e-8)


def test_gains_hold_a_pole_upright() -> None:
    """Of the simulator's own step, linearised where the pole stands on its cart; dq' = dq + dt dv'."""
    builder = fw.ModelBuilder("cart and pole").solid("cart", "box", (0.2, 0.1, 0.1), mass=1.0)
    builder.solid("pole", "capsule", (0.02, 0.4), mass=0.2, placement=(0, 0, 0.3))
    builder.joint("slide", "prismatic", "world", "cart", axis="x").joint("hinge", "revolute", "cart", "pole", axis="y")
    model = builder.build()
    sim = fw.Simulator(model, dt=0.02)
    step = sim.step_derivatives(sim.state())
    B = step.dv["tau"][:, :1]
    all_rows = fw.mpc.lqr(step.A, np.concatenate([0.02 * B, B]), [1.0, 10.0, 0.1, 0.1], [1e-3], nodes=150)
    gain = fw.mpc.lqr(step.A, np.concatenate([0 * B, B]), [1.0, 10.0, 0.1, 0.1], [1e-3], nodes=150, dt=0.02).gain[0]
    assert_close(gain, all_rows.gain[0], 1e-8)
    state = sim.state(q=[0.1, 0.15])
    for _ in range(400):
        state = sim.step(state, tau=[float((gain @ np.concatenate([state.q, state.v]))[0]), 0.0])
    assert abs(state.q).max() < 5e-3


GOOD: Problem = {"A": np.eye(2)[None], "B": np.ones((1, 2, 1)), "Q": np.ones((2, 2)), "R": np.ones((1, 1))}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"A": np.eye(2)}, r"A: expected \(N, n, n\) or \(batch, N, n, n\) with n states, got \(2, 2\)"),
        ({"A": np.ones((1, 2, 3))}, "A: expected"),
        ({"B": np.ones((1, 3, 1))}, r"B: expected \(1, 2, m\) with m controls, got \(1, 3, 1\)"),
        ({"Q": np.ones((1, 2))}, r"Q: expected \(2, 2, 2\) or \(2, 2\), got \(1, 2\)"),
        ({"Q": np.triu(np.ones((2, 2, 2)))}, "Q: expected symmetric matrices, got one that differs"),
        ({"R": np.zeros((1, 1)), "B": np.zeros((1, 2, 1))}, "R: in node 0 some control costs nothing"),
        ({"R": -np.ones((1, 1)) * 9}, "R: in node 0 some control costs nothing or less"),
        ({"A": np.full((1, 2, 2), np.nan)}, "A: expected finite numbers"),
        ({"A": np.full((1, 2, 2), 1e200), "x0": [1e200, 1.0]}, "numbers too large to compute with"),
        ({"x0": [1.0]}, r"x0: expected \(2,\), got \(1,\)"),
        ({"S": "text"}, "S: expected an array of numbers"),
        ({"nodes": 0, "A": np.eye(2)}, "nodes: expected a positive number of nodes, got 0"),
        ({"dt": np.nan}, "dt: expected a number of seconds"),
        ({"dt": 0.1, "integration": (np.ones((1, 1, 1)), np.ones((1, 1, 1)))}, "dt: integration is given already"),
        ({"regularisation": -1.0}, "regularisation: expected a number of at least 0, got -1.0"),
        ({"integration": (np.ones((1, 2, 2)), np.ones((1, 1, 1)))}, r"E: expected \(1, 1, 1\), got \(1, 2, 2\)"),
    ],
)
def test_bad_input_is_named(change: Problem, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fw.mpc.lqr(**GOOD | change)


def test_three_states_have_no_coordinates_and_velocities() -> None:
    with pytest.raises(ValueError, match="dt: 3 states are not coordinates and velocities"):
        fw.mpc.lqr(np.eye(3), np.ones((3, 1)), np.ones(3), [1.0], nodes=2, dt=0.1)
