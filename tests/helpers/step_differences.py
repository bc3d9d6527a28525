"""Derivatives of a step by central differences: all columns in one batch that starts from the same warm start.

Columns along which something changes its mode are told apart: there the step has no derivative.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

import featherweight as fw
from featherweight.arrays import Array

COLUMNS = ("q", "v", "tau", "control", "friction", "gains", "gravity", "masses", "f_ext", "activation")


@dataclass(frozen=True)
class Differences:
    """(2 nv + na, k) by name, and which of the columns kept their modes."""

    matrix: dict[str, Array]
    same: dict[str, NDArray[np.bool_]]


def differences(
    sim: fw.Simulator,
    state: fw.State,
    tau: ArrayLike | None,
    control: ArrayLike | None,
    f_ext: ArrayLike | None,
    columns: Sequence[str],
    h: float,
) -> Differences:
    """Of a single environment."""
    model, own = sim.model, state.parameters
    nv, n_links = model.nv, model.n_links
    base = {
        "q": np.array(state.q),
        "v": np.array(state.v),
        "tau": np.zeros(nv) if tau is None else np.array(tau, dtype=float),
        "control": np.zeros(sim.nu) if control is None else np.array(control, dtype=float),
        "f_ext": np.zeros(6 * n_links) if f_ext is None else np.ravel(f_ext),
        "friction": np.ones(1) if own.friction is None else own.friction,
        "gains": np.ones(sim.nu) if own.gains is None else own.gains[0],
        "gravity": np.array(model.gravity) if own.gravity is None else own.gravity[0],
        "masses": np.ones(n_links) if own.masses is None else own.masses[0],
        "activation": np.array(state.activation),
    }
    wanted = [(name, k) for name in columns for k in range(nv if name == "q" else base[name].size)]
    n = 2 * len(wanted) + 1
    rows = {name: np.tile(x, (n, 1)) for name, x in base.items()}
    for c, (name, k) in enumerate(wanted):
        for r, d in ((2 * c + 1, h), (2 * c + 2, -h)):
            unit = np.eye(nv if name == "q" else base[name].size)[k]
            rows[name][r] = model.integrate(base["q"], d * unit) if name == "q" else base[name] + d * unit
    start = _repeated(sim, state, rows["q"], rows["v"], rows["activation"])
    start = start.randomised(friction=rows["friction"][:, 0], gravity=rows["gravity"], masses=rows["masses"])
    if sim.nu:
        start = start.randomised(gains=rows["gains"])
    drive: dict[str, Array | None] = {
        "control": rows["control"] if sim.nu else None,
        "f_ext": rows["f_ext"].reshape(n, n_links, 6),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fw.SimulationWarning)
        if sim.integrator == "rk4":
            after = sim.step(start, rows["tau"], **drive)
            modes: list[tuple[object, ...]] = [()] * n
        else:
            solution = sim.step_solution(start, rows["tau"], **drive)
            after, modes = solution.state, _modes(solution, n)
    y = np.hstack([model.difference(np.tile(after.q[0], (n, 1)), after.q), after.v, after.activation])
    slopes = (y[1::2] - y[2::2]).T / (2 * h)
    same = np.array([modes[2 * c + 1] == modes[0] == modes[2 * c + 2] for c in range(len(wanted))], dtype=bool)
    at = {name: [c for c, (each, _) in enumerate(wanted) if each == name] for name in columns}
    return Differences({name: slopes[:, at[name]] for name in columns}, {name: same[at[name]] for name in columns})


def _repeated(sim: fw.Simulator, state: fw.State, q: Array, v: Array, activation: Array) -> fw.State:
    """A batch at q and v that remembers the impulses of one state."""
    arrays = state._arrays()
    n = len(q)
    for name, value in arrays.items():
        if name in ("time", "single", "contacts/counts"):
            continue
        arrays[name] = np.tile(value, (n, *[1] * (value.ndim - 1)))
    arrays |= {"single": np.array(False), "q": q, "v": v, "activation": activation}
    arrays["contacts/counts"] = np.tile(arrays["contacts/counts"], n)
    return fw.State._from_arrays(sim, arrays)


def _modes(solution: fw.StepSolution, n: int) -> list[tuple[object, ...]]:
    rows = solution.rows
    columns = (rows.source, rows.index, rows.component, rows.mode)
    found: list[list[object]] = [[] for _ in range(n)]
    for environment, *row in zip(rows.environment.tolist(), *(x.tolist() for x in columns), strict=True):
        found[environment].append(tuple(row))
    return [tuple(each) for each in found]


def worst_errors(
    sim: fw.Simulator,
    state: fw.State,
    tau: ArrayLike | None = None,
    control: ArrayLike | None = None,
    *,
    f_ext: ArrayLike | None = None,
    columns: Sequence[str] = COLUMNS,
    h: float = 1e-6,
) -> dict[str, float]:
    """Of each name the largest error relative to one and the largest entry; columns without a derivative aside.

    Products with the matrix, and the matrix of fewer columns, are compared as well, to rounding.
    """
    columns = [name for name in columns if sim.nu or name not in ("control", "gains")]
    d = sim.step_derivatives(state, tau, control=control, f_ext=f_ext, wrt=columns)
    expected = differences(sim, state, tau, control, f_ext, columns, h)
    errors = {}
    for name in columns:
        good = expected.same[name] & ~d.infeasible[name]
        found, wanted = _matrix(d, name)[:, good], expected.matrix[name][:, good]
        assert np.isfinite(found).all()
        if good.any():
            errors[name] = float(np.abs(found - wanted).max() / (1 + np.abs(wanted).max()))
    assert errors
    products = _product_errors(sim, state, tau, control, f_ext, d, columns)
    errors["products"] = max(products, _fewer_columns_error(sim, state, tau, control, f_ext, d, columns))
    return errors


def _fewer_columns_error(
    sim: fw.Simulator,
    state: fw.State,
    tau: ArrayLike | None,
    control: ArrayLike | None,
    f_ext: ArrayLike | None,
    d: fw.StepDerivatives,
    columns: Sequence[str],
) -> float:
    """Without masses and gravity the core finds what is smooth for several environments at once."""
    few = [name for name in columns if name not in ("masses", "gravity")]
    other = sim.step_derivatives(state, tau, control=control, f_ext=f_ext, wrt=few)
    worst = 0.0
    for name in few:
        good = ~d.infeasible[name]
        found, wanted = (_matrix(x, name)[:, good] for x in (other, d))
        worst = max(worst, float(np.abs(found - wanted).max(initial=0.0) / (1 + np.abs(wanted).max(initial=0.0))))
    return worst


def _product_errors(
    sim: fw.Simulator,
    state: fw.State,
    tau: ArrayLike | None,
    control: ArrayLike | None,
    f_ext: ArrayLike | None,
    d: fw.StepDerivatives,
    columns: Sequence[str],
) -> float:
    rng, nv = np.random.default_rng(5), sim.model.nv
    matrix = {name: _matrix(d, name) for name in columns}
    tangents = {name: rng.normal(size=x.shape[1]) for name, x in matrix.items()}
    after, push = sim.step_jvp(state, tau, control=control, f_ext=f_ext)
    assert after == d.state
    expected = np.sum([matrix[name] @ tangents[name] for name in columns], axis=0)
    found = np.concatenate([*push(**tangents), push.activation(**tangents)])
    forward = np.abs(found - expected).max() / (1 + np.abs(expected).max())
    # with masses and gravity the core forms columns; without, it goes back through the tree
    parameters = [name for name in columns if name not in ("q", "v", "tau", "control", "f_ext", "activation")]
    swept = [name for name in parameters if name not in ("masses", "gravity")] + ["restitution", "heights"]
    few = sim.step_derivatives(state, tau, control=control, f_ext=f_ext, wrt=("restitution", "heights"))
    matrix |= {name: _matrix(few, name) for name in ("restitution", "heights")}
    w = rng.normal(size=2 * nv + sim.na)
    worst = float(forward)
    for asked in (parameters, swept):
        _, pull = sim.step_vjp(state, tau, control=control, f_ext=f_ext, parameters=asked)
        g = pull(w[:nv], w[nv : 2 * nv], w[2 * nv :])
        for name in (*(x for x in columns if x in ("q", "v", "tau", "control", "activation")), *asked):
            found = g.parameters[name] if name in asked else getattr(g, name)
            back = w @ matrix[name]
            worst = max(worst, float(np.abs(found - back).max(initial=0.0) / (1 + np.abs(back).max(initial=0.0))))
    return worst


def _matrix(d: fw.StepDerivatives, name: str) -> Array:
    return np.vstack([d.dq[name], d.dv[name], d.dactivation[name]])
