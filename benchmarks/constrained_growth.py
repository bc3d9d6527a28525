"""How the work of anchored robots grows with joints, depth and rows: operations counted, and times."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import featherweight as fw
from benchmarks.growth import fitted_exponent
from benchmarks.race import take_turns
from benchmarks.report import markdown_table
from benchmarks.robots import Array, Samples
from featherweight import ModelBuilder
from featherweight.constraints.constraint_set import Constraint

Name = TypeVar("Name", bound=str)
Problem = tuple[fw.Model, Sequence[Constraint]]
#: Joints of a limb: one more than it needs to move all six rows at its end.
LIMB = 7
#: A curve ends where one evaluation takes more operations than this.
PATIENCE = 400_000_000


def broom(trunk: int, limbs: int, *, floating: bool = False) -> Problem:
    """A row of ``trunk`` links (or a free base) that carries ``limbs`` of seven joints, the end of each anchored."""
    builder = ModelBuilder(f"broom_{trunk}_{limbs}")
    length = 0.2

    def grow(link: str, parent: str, axis: str, lean: float) -> str:
        builder.solid(link, "capsule", (0.02, length), mass=0.5, placement=(0.0, 0.0, -0.5 * length))
        at = fw.pose((0.0, 0.0, -length), rpy=(lean, 0.0, 0.0))
        builder.joint(f"{link}_joint", "revolute", parent, link, placement=at, axis=axis)
        return link

    root = "world"
    if floating:
        builder.solid("base", "box", (0.4, 0.4, 0.1), mass=10.0)
        root = "base"
    for i in range(trunk):
        root = grow(f"trunk_{i}", root, "yxz"[i % 3], 0.0)
    ends = []
    for k in range(limbs):
        end = root
        for i in range(LIMB):
            end = grow(f"limb_{k}_{i}", end, "xyz"[i % 3], 0.0 if i else 6.0 * k / limbs)
        ends.append(end)
    return builder.build(floating_base=floating), [fw.FrameConstraint(end) for end in ends]


def anchored_chain(n: int) -> Problem:
    """``n`` links in a row, the last one anchored."""
    return fw.models.chain(n), [fw.FrameConstraint("tip")]


def anchored_tree(n: int, leaves: int | None = None) -> Problem:
    """A binary tree with one row at every leaf, or at so many: two at each would be more rows than joints."""
    model = fw.models.tree(n)
    parents = {joint.parent for joint in model.joints}
    anchored = [name for name in model.link_names if name not in parents][:leaves]
    return model, [fw.PointConstraint(leaf, rows=("x",), offset=(0.0, 0.0, -0.2)) for leaf in anchored]


@dataclass(frozen=True)
class Family:
    """A family of robots that grows in one respect."""

    title: str
    variable: str
    sizes: tuple[int, ...]
    build: Callable[[int], Problem]


ROWS = (6, 12, 24, 48, 96, 192, 384, 498)
FAMILIES = (
    Family("chain of n joints, end held", "n", (8, 16, 32, 64, 125, 250, 500, 1000), anchored_chain),
    Family("binary tree of n joints, a row at each leaf", "n", (15, 31, 63, 127, 255, 511, 1023), anchored_tree),
    Family("trunk of d joints carrying 24 rows", "d", (4, 8, 16, 32, 64, 128, 256, 512), lambda d: broom(d, 4)),
    Family("star: free base, m rows on limbs", "m", ROWS, lambda m: broom(0, m // 6, floating=True)),
    Family("trunk of 64 joints carrying m rows", "m", ROWS, lambda m: broom(64, m // 6)),
)


class Measured(Protocol):
    """One method on one robot."""

    def kernel_seconds(self, samples: Samples, repeats: int, /) -> float: ...

    def flops(self, q: Array, /) -> int: ...


@dataclass
class Curve:
    """One method on one family."""

    title: str
    variable: str
    method: str
    sizes: list[int] = field(default_factory=list)
    flops: list[int] = field(default_factory=list)  # of one evaluation in a random posture
    microseconds: list[float] = field(default_factory=list)  # per sample, on lanes, one core

    def cells(self) -> dict[str, str]:
        return {
            "family": self.title,
            "method": self.method,
            "size": f"{self.variable} = {self.sizes[-1]}",
            "operations": f"{self.flops[-1]:,}",
            "operations grow as": f"{self.variable}^{fitted_exponent(self.sizes, self.flops):.2f}",
            "us": f"{self.microseconds[-1]:.1f}",
            "time grows as": f"{self.variable}^{fitted_exponent(self.sizes, self.microseconds):.2f}",
        }


#: Makes a method, by name, ready for the model and constraints.
Make = Callable[[fw.Model, Sequence[Constraint], Name], Measured]


def measure_constrained_growth(make: Make[Name], methods: Sequence[Name], rounds: int) -> list[Curve]:
    """All methods on all families."""
    curves = []
    for family in FAMILIES:
        print(f"  growth: {family.title} ...", file=sys.stderr, flush=True)
        curves += _measure(family, make, methods, rounds)
    return curves


def _measure(family: Family, make: Make[Name], methods: Sequence[Name], rounds: int) -> list[Curve]:
    curves = {method: Curve(family.title, family.variable, method) for method in methods}
    for size in family.sizes:
        model, constraints = family.build(size)
        samples = Samples.random(model, 8)
        patient = [method for method, curve in curves.items() if not curve.flops or curve.flops[-1] < PATIENCE]
        solvers = {method: make(model, constraints, method) for method in patient}
        seconds = take_turns({name: partial(s.kernel_seconds, samples) for name, s in solvers.items()}, rounds)
        for method, solver in solvers.items():
            curves[method].sizes.append(size)
            curves[method].flops.append(solver.flops(samples.q[0]))
            curves[method].microseconds.append(seconds[method] / len(samples.q) * 1e6)
    return list(curves.values())


def growth_table(curves: Sequence[Curve]) -> str:
    return markdown_table([curve.cells() for curve in curves])


def plot_growth(plt: Any, curves: Sequence[Curve]) -> Any:
    """Operations above, times below, a column for each family."""
    families = list(dict.fromkeys((curve.title, curve.variable) for curve in curves))
    methods = list(dict.fromkeys(curve.method for curve in curves))
    figure, axes = plt.subplots(2, len(families), figsize=(4 * len(families), 7), layout="constrained", squeeze=False)
    for column, (title, variable) in zip(axes.T, families, strict=True):
        for curve in curves:
            if curve.title == title:
                style = {"marker": "o", "markersize": 3, "color": f"C{methods.index(curve.method)}"}
                column[0].loglog(curve.sizes, curve.flops, label=curve.method, **style)
                column[1].loglog(curve.sizes, curve.microseconds, **style)
        column[0].set_title(title, fontsize=9)
        column[1].set_xlabel(variable)
    axes[0][0].set_ylabel("operations per evaluation")
    axes[1][0].set_ylabel("microseconds per sample, one core")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=8, frameon=False)
    return figure
