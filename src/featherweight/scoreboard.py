"""Physics with exact answers: what featherweight gets, beside MuJoCo in the same run and what others published.

``featherweight scoreboard`` prints the table. Every number is an error, so smaller is better and zero is exact.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from .bench import machine
from .bench.report import markdown_table, plotting
from .description import Array
from .physics import collisions, friction, impacts, incline, joints, mujoco_peer, resting, rolling, smooth
from .physics.motion import position, run
from .progress import progress_bar


@dataclass(frozen=True)
class Score:
    """One quantity of one case."""

    case: str
    quantity: str  # with its unit
    exact: str  # what theory says of it
    dt: float  # [s], of ours and of MuJoCo's
    ours: float
    goal: float | None = None  # what ours should not exceed
    mujoco: dict[str, float] = field(default_factory=dict)  # measured here, by setting
    published: dict[str, float] = field(default_factory=dict)  # by others, in the source named in the docs
    note: str = ""

    @property
    def missed(self) -> bool:
        return self.goal is not None and not self.ours <= self.goal

    def cells(self) -> dict[str, str]:
        ours = f"{self.ours:.1e}" + (" **missed**" if self.missed else "")
        return {
            "case": self.case,
            "error": self.quantity,
            "exact": self.exact,
            "dt": f"{self.dt:g} s",
            "goal": "" if self.goal is None else f"{self.goal:.0e}",
            "featherweight": ours,
            "MuJoCo, same run": listed(self.mujoco),
            "published": listed(self.published),
            "note": self.note,
        }


def listed(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2g}".strip() for name, value in scores.items())


Case = Callable[[bool], Iterator[Score]]
DEGREES = math.pi / 180.0
MUJOCO_SETTINGS = {
    "default": "",
    "elliptic": 'cone="elliptic"',
    "impratio 10": 'cone="elliptic" impratio="10"',
    "impratio 100": 'cone="elliptic" impratio="100"',
}


def _incline(peer: bool) -> Iterator[Score]:
    theta, dt = 20.0 * DEGREES, 1e-3
    settings = MUJOCO_SETTINGS if peer else {}
    yield Score(
        "box on 20 deg, mu 0.5", "creep over 10 s [m/s]", "0", dt, float(incline.creep(theta, (0.5,), dt=dt)[0]), 1e-9,
        {name: float(mujoco_peer.creep(theta, (0.5,), dt=dt, options=o)[0]) for name, o in settings.items()},
        {"MuJoCo": 1.797e-3, "impratio 100": 8.7e-6},
    )  # fmt: skip
    sticking = [(angle, [mu for mu in incline.FRICTIONS if mu >= math.tan(angle * DEGREES)]) for angle in incline.ANGLES]
    yield Score(
        "all of the grid that stick", "worst creep over 10 s [m/s]", "0", dt,
        max(float(incline.creep(a * DEGREES, mus, dt=dt).max()) for a, mus in sticking), 1e-9,
        {"default": max(float(mujoco_peer.creep(a * DEGREES, mus, dt=dt).max()) for a, mus in sticking)} if peer else {},
    )  # fmt: skip
    sliding = [(angle, [mu for mu in incline.FRICTIONS if mu < math.tan(angle * DEGREES)]) for angle in incline.ANGLES[1:]]
    for tolerance in (None, 1e-12):
        yield Score(
            "all of the grid that slide", "worst relative error of speed after 3 s", "t g (sin - mu cos)", dt,
            max(float(incline.sliding_errors(a * DEGREES, mus, dt=dt, tolerance=tolerance).max()) for a, mus in sliding),
            1e-10,
            {
                name: max(float(mujoco_peer.sliding_errors(a * DEGREES, mus, dt=dt, options=o).max()) for a, mus in sliding)
                for name, o in (settings if tolerance is None else {}).items()
            },
            {"MuJoCo": 1.1e-2} if tolerance is None else {},
            "default tolerance, 1e-9" if tolerance is None else f"solver tolerance {tolerance:g}",
        )  # fmt: skip
    yield Score(
        "angle of friction", "worst of five mu [rad]", "atan(mu)", dt,
        max(abs(incline.threshold(mu, dt=dt) - math.atan(mu)) for mu in incline.FRICTIONS), 1e-6,
    )  # fmt: skip


def _stopping(peer: bool) -> Iterator[Score]:
    mu, v0, dt, ways = 0.5, 2.0, 1e-3, (0.0, 0.3, math.pi / 4, 1.2)
    stop = incline.stopping(mu, v0, directions=ways, dt=dt)
    theirs = [mujoco_peer.stopping_distance(mu, v0, direction=way, dt=dt) for way in ways] if peer else []
    yield Score(
        "box thrown at 2 m/s, mu 0.5, four ways", "worst stopping distance [m]", "v0^2/(2 mu g)", dt,
        float(np.abs(stop.distances - stop.exact).max()), None,
        {"default": max(abs(d - stop.exact) for d in theirs)} if peer else {}, {}, "v0 dt/2 = 1e-3 of it from the steps",
    )  # fmt: skip
    yield Score(
        "box thrown at 2 m/s, mu 0.5, four ways", "spread of distances [m]", "0", dt, float(np.ptp(stop.distances)), 1e-9,
        {"default": float(np.ptp(theirs))} if peer else {},
    )  # fmt: skip


def _rolling(peer: bool) -> Iterator[Score]:
    theta, dt = 20.0 * DEGREES, 1e-3
    for mu, what in ((0.5, "rolls"), (0.05, "slides")):
        exact = rolling.ball_acceleration(theta, mu)
        yield Score(
            f"ball on 20 deg, mu {mu:g}, {what}", "relative error of speed after 3 s",
            "5/7 g t sin" if what == "rolls" else "g t (sin - mu cos)", dt, rolling.rolling_error(theta, mu, dt=dt), 1e-10,
            {"default": mujoco_peer.rolling_error(theta, mu, exact, dt=dt)} if peer else {},
        )  # fmt: skip
    ball = rolling.slide_to_roll(2.0, 0.3, dt=dt)
    yield Score(
        "ball thrown at 2 m/s, mu 0.3", "relative error of final speed", "5/7 v0", dt,
        abs(ball.speed / ball.exact_speed - 1.0), 1e-10,
        {"default": abs(mujoco_peer.slide_to_roll_speed(2.0, 0.3, dt=dt) / ball.exact_speed - 1.0)} if peer else {},
    )  # fmt: skip
    spin, roll = rolling.spinning_friction(0.005, dt=dt), rolling.rolling_friction(0.005, dt=dt)
    R = rolling.RADIUS
    cases = (
        ("spinning ball, 5 mm", "0.005 m g / I", spin, "0.8 0.005 0", 4, (0, 0, 0, 0, 0, 10.0), 5),
        ("rolling ball, 5 mm", "5/7 g 0.005 / R", roll, "0.8 0 0.005", 6, (1.0, 0, 0, 0, 1.0 / R, 0), 0),
    )
    for name, exact, slowing, surface, dim, v, which in cases:
        theirs = mujoco_peer.slowing_rate(surface, dim, v, which, 0.5, dt=dt) if peer else 0.0
        yield Score(
            name, "relative error of deceleration", exact, dt, abs(slowing.rate / slowing.exact - 1.0), 1e-9,
            {"default": abs(theirs / slowing.exact - 1.0)} if peer else {},
        )  # fmt: skip


def _bouncing(peer: bool) -> Iterator[Score]:
    for dt in (1e-3, 1e-4):
        ball = impacts.time_to_rest(1.0, 0.5, dt=dt)
        yield Score(
            "ball dropped from 1 m, e 0.5", "time to rest [s]", "sqrt(2h/g) (1+e)/(1-e)", dt, abs(ball.time - ball.exact),
            note="first order: about two steps a bounce",
        )  # fmt: skip
    for dt, seconds in ((1e-4, 20.0), (1e-5, 2.0)):
        grid = impacts.bouncing_grid(dt=dt, seconds=seconds)
        published = {"ODE": 0.0185, "RaiSim": 0.102, "DART": 7.4, "Bullet": 7.5} if dt == 1e-5 else {}
        yield Score(
            "7x7 bouncing balls, e 1", "mean squared energy error [J^2]", "24 034.5 J", dt, grid.squared_error, None, {},
            published, f"{seconds:g} s; m g v dt/2 of reading v half a step late, no drift",
        )  # fmt: skip
        yield Score(
            "7x7 bouncing balls, e 1", "relative drift of the steps' invariant", "0", dt, grid.invariant, 1e-11,
            note=f"{seconds:g} s; energy with v half a step earlier",
        )  # fmt: skip


def _cradle(peer: bool) -> Iterator[Score]:
    cases = (("touching", 0.0, (-1 / 3, 2 / 3, 2 / 3)), ("5 mm apart", 5e-3, (0.0, 0.0, 1.0)))
    for name, gap, exact in cases:
        error = float(np.abs(impacts.cradle(gap, dt=1e-3) - exact).max())
        yield Score(
            f"cradle of three, {name}", "velocities [m/s]", "(-1/3, 2/3, 2/3)" if gap == 0.0 else "(0, 0, 1)", 1e-3, error, 1e-9,
            note="simultaneous law, Newton's restitution",
        )  # fmt: skip


def _pile(peer: bool) -> Iterator[Score]:
    dt, seconds, every = 1e-4, 0.4, 0.01
    pile = resting.sphere_pile(dt=dt, seconds=seconds, every=every)
    places = resting.pile_places(6)
    theirs = mujoco_peer.pile_penetration(places, dt=dt, seconds=seconds, every=every) if peer else 0.0
    published = {"DART": 2.0e-7, "ODE": 1.5e-6, "RaiSim": 1.6e-6, "Bullet": 3.5e-3, "MuJoCo": 1.1e-2}
    note = f"{seconds:g} s; deepest {pile.deepest:.0e} m, {pile.missed} of {round(seconds / dt)} steps missed the tolerance"
    yield Score(
        "pile of 6x6x6 balls", "mean overlap [m]", "0", dt, pile.penetration, 2e-7, {"default": theirs} if peer else {},
        published, note,
    )  # fmt: skip


def _stacks(peer: bool) -> Iterator[Score]:
    for dt in (1e-3, 1e-2):
        for name, masses in (("ten boxes", [1.0] * 10), ("1000 kg on 1 kg", [1.0, 1000.0])):
            yield Score(
                name, "drift over 10 s [m]", "0", dt, resting.stack(masses, dt=dt).drift, 1e-6,
                {"default": mujoco_peer.stack_drift(masses, dt=dt)} if peer else {},
            )  # fmt: skip


def _smooth(peer: bool) -> Iterator[Score]:
    dt = 1e-3
    body = smooth.tumbling(dt=dt)
    theirs = mujoco_peer.tumbling_crossings(dt=dt) if peer else np.zeros(0)
    for k, quarter in enumerate((1, 3)):
        yield Score(
            "tumbling body, RK4", f"time of crossing {k + 1} [s]", f"{quarter}/4 of 10.532110248183", dt,
            abs(float(body.crossings[k] - body.exact[k])), 1e-8,
            {"RK4": abs(float(theirs[k] - body.exact[k]))} if peer else {},
        )  # fmt: skip
    period = smooth.PENDULUM_PERIOD
    yield Score(
        "pendulum, RK4", "period [s]", "2.367841947576237", dt, abs(smooth.pendulum_period(dt=dt) - period), 1e-10,
        {"RK4": abs(mujoco_peer.pendulum_period(period, dt=dt) - period)} if peer else {},
    )  # fmt: skip
    kept = smooth.floating_robot(dt=dt)
    yield Score("humanoid adrift, RK4", "relative change of momentum, 10 s", "0", dt, max(kept.linear, kept.angular), 1e-10)
    for integrator, dts, goal in (("semi_implicit", (1e-3, 5e-4), 1), ("rk4", (4e-3, 2e-3), 4)):
        drifts = [smooth.energy_drift(dt, integrator) for dt in dts]  # type: ignore[arg-type]
        order = smooth.order(dts, (drifts[0], drifts[1]))
        yield Score(
            f"swinging chain, {integrator}", "relative energy drift, 2 s", "0", dts[0], drifts[0],
            note=f"falls with dt^{order:.2f}; order {goal}",
        )  # fmt: skip


def _thresholds(peer: bool) -> Iterator[Score]:
    width, height, mass, dt = 0.2, 0.4, 3.0, 1e-3
    tips = mass * 9.81 * width / (2.0 * height)
    push = friction.pushed_box(0.5, 1.1 * tips, dt=dt)
    yield Score(
        "box pushed at its top, mu 0.5", "relative error of tipping", "moments about the edge", dt,
        abs(push.turning / friction.tipping_acceleration(1.1 * tips) - 1.0), 1e-8,
    )  # fmt: skip
    held = friction.pushed_box(0.5, 0.999 * tips, dt=dt)
    yield Score("the same, 0.1 % too weakly", "way in 0.2 s [m]", "0", dt, abs(held.slid), 1e-9)
    mu = 0.4
    speed, _ = friction.squeezed_ball(mu, 1.001 * 9.81 / (2.0 * mu), dt=dt)
    yield Score("ball between walls, 0.1 % more than holds it", "speed after 1 s [m/s]", "0", dt, abs(speed), 1e-9)
    angle = 1.0
    threshold = friction.ladder_threshold(angle)
    way = friction.ladder(1.0001 * threshold, angle, dt=dt)
    yield Score("ladder, 0.01 % more friction than it needs", "way in 1 s [m]", "0", dt, way, 1e-9)


def _joints(peer: bool) -> Iterator[Score]:
    stopped, wheel = joints.pendulum_at_stop(dt=1e-3), joints.dry_friction(dt=1e-3)
    yield Score("pendulum on its stop", "distance from it [rad]", "0", 1e-3, max(stopped.at, stopped.beyond), 1e-12)
    yield Score(
        "wheel with dry friction", "relative error of deceleration", "torque / inertia", 1e-3,
        abs(wheel.rate / wheel.exact - 1.0), 1e-10,
    )  # fmt: skip
    yield Score("the same, stopped", "speed [rad/s]", "0", 1e-3, wheel.rest, 1e-11)


def _momentum(peer: bool) -> Iterator[Score]:
    hit = collisions.robot_hit_by_ball(dt=1e-3)
    yield Score(
        "floating robot hit by a ball", "relative change of momentum", "0", 1e-3, max(hit.linear, hit.angular), 1e-10,
        note=f"e 0, friction 0.7; {hit.kept:.0%} of the energy left",
    )  # fmt: skip


CASES: dict[str, Case] = {
    "incline": _incline,
    "stopping": _stopping,
    "rolling": _rolling,
    "bouncing": _bouncing,
    "cradle": _cradle,
    "pile": _pile,
    "stacks": _stacks,
    "smooth": _smooth,
    "thresholds": _thresholds,
    "joints": _joints,
    "momentum": _momentum,
}


@dataclass(frozen=True)
class Scoreboard:
    """What a run measured."""

    about: dict[str, str]
    scores: list[Score]

    def text(self) -> str:
        """The table and what it was measured on, as Markdown that reads as plain text too."""
        missed = [score for score in self.scores if score.missed]
        goals = sum(score.goal is not None for score in self.scores)
        head = "\n".join(f"- {key}: {value}" for key, value in self.about.items())
        verdict = f"{goals - len(missed)} of {goals} goals met."
        return "\n\n".join([head, markdown_table([score.cells() for score in self.scores]), verdict])

    def save(self, folder: Path) -> None:
        """Write ``scoreboard.json`` and ``scoreboard.md``."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {"about": self.about, "scores": [asdict(score) for score in self.scores]}
        (folder / "scoreboard.json").write_text(json.dumps(content, indent=2) + "\n")
        (folder / "scoreboard.md").write_text(self.text() + "\n")

    def plot(self, folder: Path) -> list[Path]:
        """Errors on a logarithmic scale, ``scoreboard.png``. Needs matplotlib (:class:`ImportError` without)."""
        plt = plotting()
        folder.mkdir(parents=True, exist_ok=True)
        rows = self.scores[::-1]
        figure, axis = plt.subplots(figsize=(9, 0.27 * len(rows) + 1.5), layout="constrained")
        smallest = 1e-17  # a logarithmic axis has no zero
        for what, style in (("published", "s"), ("mujoco", "D")):
            points = [(value, k) for k, row in enumerate(rows) for value in getattr(row, what).values()]
            if points:
                label = "MuJoCo, same run" if what == "mujoco" else "published by others"
                axis.plot(*zip(*points, strict=True), style, color={"published": "0.7", "mujoco": "#d95f02"}[what],
                          markersize=5, label=label)  # fmt: skip
        axis.plot([max(row.ours, smallest) for row in rows], range(len(rows)), "o", color="#08519c", label="featherweight")
        goals = [(row.goal, k) for k, row in enumerate(rows) if row.goal is not None]
        if goals:
            axis.plot(*zip(*goals, strict=True), "|", color="black", markersize=10, label="goal")
        axis.set_yticks(range(len(rows)), [f"{row.case}: {row.quantity}, dt {row.dt:g}" for row in rows], fontsize=7)
        axis.set(xscale="log", xlabel="error, in the units of the row (left is better)")
        axis.grid(axis="x", alpha=0.3)
        figure.legend(loc="outside lower center", ncols=4, frameon=False)
        file = folder / "scoreboard.png"
        figure.savefig(file, dpi=130)
        return [file]


def measure(names: Sequence[str] | None = None, *, progress: bool = True) -> Scoreboard:
    """Run the cases called ``names``, all by default, beside MuJoCo where it is installed."""
    chosen = list(CASES) if names is None else list(names)
    unknown = next((name for name in chosen if name not in CASES), None)
    if unknown is not None:
        raise ValueError(f"no case is called {unknown!r}: they are {', '.join(CASES)}")
    version = mujoco_peer.installed()
    about = machine.describe()
    about["versions"] += f", mujoco {version or 'not installed'}"
    scores: list[Score] = []
    with progress_bar(len(chosen), "measuring", enabled=progress) as advance:
        for name in chosen:
            scores += CASES[name](version is not None)
            advance(1)
    return Scoreboard(about, scores)


def plot_creep(folder: Path) -> Path:
    """Way of a box that should stick, over time, beside MuJoCo: ``scoreboard_creep.png``. Needs matplotlib."""
    plt = plotting()
    theta, mu, dt, seconds, samples = 20.0 * DEGREES, 0.5, 1e-3, 10.0, 100
    times = seconds / samples * np.arange(1, samples + 1)
    scene = incline.incline(theta, (mu,))
    motion = run(scene, dt, seconds, record=True)
    moved = position(motion, "body_0") - position(motion.simulator.state(), "body_0")
    ways: dict[str, Array] = {"featherweight": np.linalg.norm(moved, axis=1)[round(seconds / samples / dt) - 1 :: 100]}
    if mujoco_peer.installed():
        for name, options in MUJOCO_SETTINGS.items():
            ways[f"MuJoCo, {name}"] = np.abs(mujoco_peer.path_downhill(theta, mu, dt=dt, options=options))
    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    for name, way in ways.items():
        ours = name == "featherweight"
        axis.semilogy(times, np.maximum(way, 1e-17), color="#08519c" if ours else None, lw=2 if ours else 1, label=name)
    axis.set(xlabel="time [s]", ylabel="way downhill [m]", title="a box on 20 degrees, mu 0.5: it should stay")
    axis.legend(fontsize=8)
    axis.grid(alpha=0.3)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "scoreboard_creep.png", dpi=130)
    return folder / "scoreboard_creep.png"
