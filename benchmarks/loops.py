"""What loops cost: ``python -m benchmarks.loops``.

Accelerations of closed mechanisms on lanes, beside aba on the open tree, Pinocchio's lcaba from its wheel, and dense
algebra; operations over the number of four-bars in a row; steps of a biped whose legs are closed, beside MuJoCo.
Contenders take turns on one core, and a figure is the smallest.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import featherweight as fw
from benchmarks import mechanisms, oracle
from benchmarks.cases import mount
from benchmarks.contenders import PinRobot, in_core, pin_installed
from benchmarks.growth import fitted_exponent
from benchmarks.main import stay_on_one_core
from benchmarks.mechanisms import Mechanism
from benchmarks.motions import GROUND, Motion
from benchmarks.mujoco_twin import mujoco_installed, mujoco_twin
from benchmarks.race import equal_turns, relative_errors, take_turns
from benchmarks.report import markdown_table
from benchmarks.robots import Array, Robot, Samples
from benchmarks.simulation import OURS, THEIRS, Ours, checked_disagreement
from benchmarks.solvers import Solver
from featherweight.constraints.dynamics import Method

METHODS: tuple[Method, ...] = ("limb_pv", "constrained_aba", "prox_pv", "kkt")
ROWS_OF_FOUR_BARS = (1, 2, 4, 8, 16, 32, 64)
#: Samples that the oracle and the wheel, which are slow, are asked for.
CHECKED = 32
#: Of lcaba: penalties and iterations that are tried, and the error that will do.
DAMPINGS, ITERATIONS, GOOD_ENOUGH = (1e-4, 1e-6), (1, 2, 3, 5, 10, 20), 1e-8


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(prog="python -m benchmarks.loops", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="turns of each (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=256, help="samples or environments (default: %(default)s)")
    options = parser.parse_args(argv)
    stay_on_one_core()
    cases = [mechanisms.four_bar_quadruped(), *(mechanisms.built_in(name) for name in ("loop_biped", "five_bar"))]
    rows = [row for case in cases for row in dynamics(case, options.batch, options.rounds)]
    print("Microseconds per sample on one core; errors relative to extended precision.\n")
    print(markdown_table(rows), "\n")
    if "counting" in fw.build_info()["available_isas"]:
        print("Operations of an evaluation over k four-bars in a row.\n")
        print(markdown_table(list(growth(METHODS, ROWS_OF_FOUR_BARS))), "\n")
    else:
        print("Operations are counted by builds with all kernels (make test).\n")
    print("Microseconds per step of 2 ms of an environment; a biped on its servos, legs closed.\n")
    print(markdown_table([simulation(options.batch, options.rounds // 4), simulation(1, options.rounds // 4)]), "\n")
    times = in_the_air(options.batch, options.rounds // 4)
    print("In the air:", ", ".join(f"{name} {microseconds:.3g} us" for name, microseconds in times.items()))
    return 0


def dynamics(case: Mechanism, batch: int, rounds: int) -> list[dict[str, str]]:
    """A row for each method, and for Pinocchio's."""
    samples = case.samples(batch)
    few = Samples(*(part[:CHECKED] for part in (samples.q, samples.v, samples.x)))
    states = zip(few.q, few.v, few.x, strict=True)
    truth = np.array([oracle.solve(case.model, q, v, tau, case.constraints).a for q, v, tau in states])
    solvers = {method: Solver(case.model, case.constraints, method) for method in METHODS}  # type: ignore[arg-type]
    aba = in_core(Robot(case.name, case.model), samples, "float64")
    field: dict[str, Callable[[int], float]] = {"aba, open": partial(aba.seconds, "aba")}
    field |= {f"`{name}`": partial(solver.kernel_seconds, samples) for name, solver in solvers.items()}
    if "scalar" in fw.build_info()["available_isas"]:
        field["dense KKT, one sample at a time"] = partial(
            solvers["kkt"].kernel_seconds, samples, single=True, isa="scalar"
        )
    errors = {f"`{name}`": relative_errors(s.solve(few.q, few.v, few.x).a, truth) for name, s in solvers.items()}
    best = {name: seconds / batch for name, seconds in take_turns(field, rounds).items()}
    if pin_installed():
        wheel = Lcaba(case, few)
        name = f"lcaba of the wheel, {wheel.settle(truth)} iterations"
        best[name] = min(wheel.seconds() for _ in range(rounds)) / CHECKED
        errors[name] = wheel.errors(truth)
    lanes, open_tree = best["`limb_pv`"], best["aba, open"]
    table = []
    for name, seconds in best.items():
        cells = {"mechanism": f"{case.name} (nv {case.model.nv})", "method": name, "us": f"{seconds * 1e6:.3g}"}
        cells |= {"over aba": f"{seconds / open_tree:.2f}", "over limb_pv": f"{seconds / lanes:.1f}"}
        if name in errors:
            cells |= {"median error": f"{np.median(errors[name]):.0e}", "worst": f"{errors[name].max():.0e}"}
        table.append(cells)
    return table


class Lcaba:
    """Pinocchio's loop-constrained aba. Every call has data of its own, made beforehand: used again, it goes wrong."""

    def __init__(self, case: Mechanism, samples: Samples) -> None:
        self._robot = PinRobot(Robot(case.name, case.model))
        pin = self.pin = self._robot.pin
        self._states = self._robot.samples(samples)
        self._contacts = pin.StdVec_RigidConstraintModel()
        for closure in case.constraints:
            ends: list[Any] = []
            for frame, offset in ((closure.frame, closure.offset), (closure.to, closure.to_offset)):  # type: ignore[union-attr]
                joint, pose = mount(case.model, str(frame))
                ends += [self._robot.joint_ids[joint], pin.SE3(pose @ fw.pose(tuple(np.asarray(offset).ravel()[-3:])))]
            kind = pin.ContactType.CONTACT_3D
            self._contacts.append(pin.RigidConstraintModel(kind, self._robot.model, *ends, pin.ReferenceFrame.LOCAL))
        self._settings = (1e-6, 1)

    def _calls(self) -> Iterator[tuple[Any, ...]]:
        pin, model = self.pin, self._robot.model
        for q, v, tau in zip(self._states.q, self._states.v, self._states.x, strict=True):
            data, datas = model.createData(), pin.StdVec_RigidConstraintData()
            for contact in self._contacts:
                datas.append(contact.createData())
            pin.computeJointMinimalOrdering(model, data, self._contacts)
            mu, iterations = self._settings
            yield model, data, q, v, tau, self._contacts, datas, pin.ProximalSettings(0.0, mu, iterations)

    def result(self) -> Array:
        return self._robot.in_our_order(np.array([np.array(self.pin.lcaba(*call)) for call in self._calls()]))

    def errors(self, truth: Array) -> Array:
        return relative_errors(self.result(), truth)

    def settle(self, truth: Array) -> int:
        """The fewest iterations that will do, or those with the least error; how many."""
        tried: dict[tuple[float, int], float] = {}
        for iterations in ITERATIONS:
            for mu in DAMPINGS:
                self._settings = mu, iterations
                tried[self._settings] = float(np.nan_to_num(self.errors(truth), nan=np.inf).max())
            if min(tried.values()) <= GOOD_ENOUGH:
                break
        self._settings = min(tried, key=lambda each: tried[each])
        return self._settings[1]

    def seconds(self) -> float:
        """Of one pass over the samples; the calls alone."""
        calls, lcaba = list(self._calls()), self.pin.lcaba
        start = time.perf_counter()
        for call in calls:
            lcaba(*call)
        return time.perf_counter() - start


def growth(methods: Sequence[Method], sizes: Sequence[int]) -> Iterator[dict[str, str]]:
    """Operations by method, and the power of k by which they grow over the larger half of the sizes."""
    cases = [mechanisms.four_bars_in_a_row(k) for k in sizes]
    for method in methods:
        counts = [operations(case, method) for case in cases]
        cells = {"method": f"`{method}`"} | {f"k = {k}": f"{n:,}" for k, n in zip(sizes, counts, strict=True)}
        yield cells | {"grows as": f"k^{fitted_exponent(sizes, counts):.2f}"}


def operations(case: Mechanism, method: Method) -> int:
    """Of one evaluation where the model starts; of methods that iterate, of three iterations."""
    options = {"max_iterations": 3} if method == "constrained_aba" else {}
    return Solver(case.model, case.constraints, method).flops(case.model.q0, **options)  # type: ignore[arg-type]


def simulation(batch: int, rounds: int, steps: int = 250) -> dict[str, str]:
    """The biped swaying on its servos. MuJoCo closes a hinge with the three rows that it has for points."""
    motion = biped(fw.models.loop_biped(), batch, steps)
    ours = Ours(motion)
    field: dict[str, Callable[[], object]] = {OURS: ours.run}
    with ExitStack() as stack:
        if mujoco_installed():
            twin = mujoco_twin(biped(with_whole_points(motion.scene.model), batch, steps), stack)
            if twin is not None:
                checked_disagreement(twin)
                field[THEIRS] = twin.run
        times = {name: min(each) for name, each in equal_turns(field, max(rounds, 2)).items()}
    cells = {"environments": str(batch)} | {
        name: f"{1e6 * seconds / (batch * steps):.3g}" for name, seconds in times.items()
    }
    if THEIRS in times:
        cells["ratio"] = f"{times[THEIRS] / times[OURS]:.1f}x"
    run = ours.trajectory
    cells |= {"worst residual": f"{np.max(run.residual):.1e}", "largest gap [m]": f"{np.max(run.closure_error):.0e}"}
    return cells


def in_the_air(batch: int, rounds: int, steps: int = 250) -> dict[str, float]:
    """Of the biped with its legs closed and open, without a ground: what loops add to a step."""
    closed = fw.models.loop_biped()
    opened = fw.ModelBuilder.from_description(replace(closed.description, closures=())).build()
    motion = biped(closed, batch, steps)
    runs = {}
    for name, model in (("closed", closed), ("open", opened)):
        sim = fw.Simulator(model, dt=2e-3, num_threads=1)
        runs[name] = partial(sim.rollout, sim.state(batch), control=motion.control, n_steps=steps, record=False)
    times = equal_turns(runs, max(rounds, 2))
    return {name: 1e6 * min(seconds) / (batch * steps) for name, seconds in times.items()}


def biped(model: fw.Model, batch: int, steps: int, seed: int = 0) -> Motion:
    """On the ground, each environment swaying in its own way."""
    rng = np.random.default_rng(seed)
    scene = fw.Scene(ground=fw.Plane(material=GROUND))
    scene.add(model, name="robot")
    compiled = scene.compile()
    q = np.tile(compiled.q0, (batch, 1))
    sway = rng.uniform(-0.08, 0.08, (batch, 1, len(model.description.actuators)))
    t = 2e-3 * np.arange(steps)[None, :, None]
    control = sway * np.sin(2.0 * np.pi * rng.uniform(0.5, 1.5, (batch, 1, 1)) * t)
    return Motion("loop biped", compiled, 2, q, np.zeros((batch, compiled.model.nv)), control, steps)


def with_whole_points(model: fw.Model) -> fw.Model:
    """The same with three rows in every closure."""
    description = model.description
    closures = tuple(replace(closure, rows=("x", "y", "z")) for closure in description.closures)
    return fw.ModelBuilder.from_description(replace(description, closures=closures)).build()


if __name__ == "__main__":
    sys.exit(main())
