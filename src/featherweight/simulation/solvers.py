"""How the cone problem of a step is solved: hand one of these to :class:`featherweight.Simulator`.

All solve the same un-relaxed problem and differ in speed only; docs/simulator.md says which is for what.
``tolerance`` bounds the natural residual, a velocity, relative to the velocities of the problem.
Solvers pickle, and compare by value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .. import _core
from ..records import Record

#: Name, tolerance, the most iterations: of Gauss-Seidel, of Gauss-Seidel in a pile, of Newton, of ADMM; matrix-free.
Arguments = tuple[str, float, int, int, int, int, bool]

#: The core's own.
_DEFAULTS = _core.solver_defaults()


def _check_count(name: str, count: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"{name} must be a positive integer, got {count!r}")


@dataclass(frozen=True, kw_only=True)
class _Solver(Record):
    name: ClassVar[str]
    tolerance: float = _DEFAULTS["tolerance"]
    max_iterations: int = _DEFAULTS["max_gauss_seidel"]

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise ValueError(f"tolerance must be between 0 and 1, got {self.tolerance!r}")
        _check_count("max_iterations", self.max_iterations)

    def arguments(self) -> Arguments:
        """As the core takes them."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Automatic(_Solver):
    """Gauss-Seidel, then Newton, then ADMM, each where its predecessor did not converge.

    Islands, such as robots that stand side by side without touching, are solved separately. Piles, which are islands of
    more than about a hundred contacts, are solved by accelerated Gauss-Seidel, with Newton where a few contacts stall.
    max_iterations: of Gauss-Seidel, and as many of ADMM. pile_iterations: of Gauss-Seidel in a pile; the bound makes
    the time of a step linear in its contacts.

    >>> sim = fw.Simulator(fw.models.arm(), solver=fw.Automatic(pile_iterations=100))
    >>> sim.solver == fw.Automatic(pile_iterations=100)
    True
    """

    name: ClassVar[str] = "auto"
    pile_iterations: int = _DEFAULTS["max_pile"]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_count("pile_iterations", self.pile_iterations)

    def arguments(self) -> Arguments:
        most = self.max_iterations
        return self.name, self.tolerance, most, self.pile_iterations, min(_DEFAULTS["max_newton"], most), most, False


@dataclass(frozen=True, kw_only=True)
class GaussSeidel(_Solver):
    """Solves contact by contact, each exactly: best for few, weakly coupled contacts.

    >>> fw.Simulator(fw.models.arm(), solver=fw.GaussSeidel(max_iterations=50)).solver.max_iterations
    50
    """

    name: ClassVar[str] = "gauss_seidel"

    def arguments(self) -> Arguments:
        return self.name, self.tolerance, self.max_iterations, 0, 0, 0, False


@dataclass(frozen=True, kw_only=True)
class Newton(_Solver):
    """Solves all contacts at once: best for hyperstatic ones, such as flat feet and stacks.

    Problems of more than 600 rows, too large for a dense factor, are left to ADMM.

    >>> fw.Simulator(fw.models.arm(), solver=fw.Newton(tolerance=1e-10)).solver.tolerance
    1e-10
    """

    name: ClassVar[str] = "newton"
    max_iterations: int = _DEFAULTS["max_newton"]

    def arguments(self) -> Arguments:
        return self.name, self.tolerance, 0, 0, self.max_iterations, _DEFAULTS["max_admm"], False


@dataclass(frozen=True, kw_only=True)
class ADMM(_Solver):
    """Alternating directions (ADMM): slow but robust against bad conditioning.

    matrix_free: products and solutions go through the tree, O(n + m) per iteration for n joints and m rows, and the
    matrix of the problem is never formed. Meant for many contacts on deep trees: faster from about 60 links in a row
    that all touch the ground, and three times as fast at 160. Bodies that touch each other cost a few
    conjugate-gradient steps per iteration.

    >>> sim = fw.Simulator(fw.models.arm(), solver=fw.ADMM(tolerance=1e-6))
    >>> sim.solver.tolerance
    1e-06
    """

    name: ClassVar[str] = "admm"
    max_iterations: int = _DEFAULTS["max_admm"]
    matrix_free: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.matrix_free, bool):
            raise ValueError(f"matrix_free must be True or False, got {self.matrix_free!r}")

    def arguments(self) -> Arguments:
        return self.name, self.tolerance, 0, 0, 0, self.max_iterations, self.matrix_free


Solver = Automatic | GaussSeidel | Newton | ADMM


def as_solver(solver: Solver | str) -> Solver:
    """The solver itself, or ``Automatic()`` for "auto"."""
    if isinstance(solver, Automatic | GaussSeidel | Newton | ADMM):
        return solver
    if solver == "auto":
        return Automatic()
    raise ValueError(
        f'solver must be "auto", fw.Automatic(), fw.GaussSeidel(), fw.Newton() or fw.ADMM(), got {solver!r}'
    )
