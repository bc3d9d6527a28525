"""The cases as scores: each measures featherweight, and MuJoCo where it is installed, and knows the exact answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from featherweight.arrays import Array
from featherweight.simulation.core_arguments import Integrator
from physics import (
    collisions,
    disc,
    friction,
    impacts,
    incline,
    joints,
    loads,
    mujoco_peer,
    passing,
    resting,
    rolling,
    smooth,
    thin,
    turning,
)


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
    published: dict[str, float] = field(default_factory=dict)  # by others, or measured earlier
    note: str = ""

    @property
    def missed(self) -> bool:
        return self.goal is not None and not self.ours <= self.goal

    def cells(self) -> dict[str, str]:
        ours = f"{self.ours:.3g}" + (" **missed**" if self.missed else "")
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
    return ", ".join(f"{name} {value:.3g}".strip() for name, value in scores.items())


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

    def worst(measured: Callable[[float, list[float]], Array], grid: list[tuple[float, list[float]]]) -> float:
        return max(float(measured(angle * DEGREES, mus).max()) for angle, mus in grid)

    yield Score(
        "box on 20 deg, mu 0.5",
        "creep over 10 s [m/s]",
        "0",
        dt,
        float(incline.creep(theta, (0.5,), dt=dt)[0]),
        1e-9,
        {name: float(mujoco_peer.creep(theta, (0.5,), dt=dt, options=o)[0]) for name, o in settings.items()},
        {"MuJoCo": 1.797e-3, "impratio 100": 8.7e-6},
    )
    grid = [(angle, math.tan(angle * DEGREES)) for angle in incline.ANGLES]
    sticking = [(angle, [mu for mu in incline.FRICTIONS if mu >= tangent]) for angle, tangent in grid]
    yield Score(
        "all of the grid that stick",
        "worst creep over 10 s [m/s]",
        "0",
        dt,
        worst(partial(incline.creep, dt=dt), sticking),
        1e-9,
        {"default": worst(partial(mujoco_peer.creep, dt=dt), sticking)} if peer else {},
    )
    sliding = [(angle, [mu for mu in incline.FRICTIONS if mu < tangent]) for angle, tangent in grid[1:]]
    for tolerance in (None, 1e-12):
        yield Score(
            "all of the grid that slide",
            "worst relative error of speed after 3 s",
            "t g (sin - mu cos)",
            dt,
            worst(partial(incline.sliding_errors, dt=dt, tolerance=tolerance), sliding),
            worst(partial(incline.sliding_promise, tolerance=tolerance), sliding),
            {
                name: worst(partial(mujoco_peer.sliding_errors, dt=dt, options=o), sliding)
                for name, o in (settings if tolerance is None else {}).items()
            },
            {"MuJoCo": 1.1e-2} if tolerance is None else {},
            f"{'default' if tolerance is None else f'{tolerance:g}'} solver tolerance; goal: that of the fastest speed",
        )
    yield Score(
        "angle of friction",
        "worst of five mu [rad]",
        "atan(mu)",
        dt,
        max(abs(incline.threshold(mu, dt=dt) - math.atan(mu)) for mu in incline.FRICTIONS),
        1e-6,
    )


def _stopping(peer: bool) -> Iterator[Score]:
    mu, v0, dt, directions = 0.5, 2.0, 1e-3, (0.0, 0.3, math.pi / 4, 1.2)
    stop = incline.stopping(mu, v0, directions=directions, dt=dt)
    theirs = [mujoco_peer.stopping_distance(mu, v0, direction=phi, dt=dt) for phi in directions] if peer else []
    yield Score(
        "box thrown at 2 m/s, mu 0.5, four directions",
        "worst stopping distance [m]",
        "v0^2/(2 mu g)",
        dt,
        float(np.abs(stop.distances - stop.exact).max()),
        None,
        {"default": max(abs(d - stop.exact) for d in theirs)} if peer else {},
        {},
        "v0 dt/2 = 1e-3 of it from the steps",
    )
    yield Score(
        "box thrown at 2 m/s, mu 0.5, four directions",
        "spread of distances [m]",
        "0",
        dt,
        float(np.ptp(stop.distances)),
        1e-9,
        {"default": float(np.ptp(theirs))} if peer else {},
    )


def _rolling(peer: bool) -> Iterator[Score]:
    theta, dt = 20.0 * DEGREES, 1e-3
    for mu, what in ((0.5, "rolls"), (0.05, "slides")):
        exact = rolling.ball_acceleration(theta, mu)
        yield Score(
            f"ball on 20 deg, mu {mu:g}, {what}",
            "relative error of speed after 3 s",
            "5/7 g t sin" if what == "rolls" else "g t (sin - mu cos)",
            dt,
            rolling.rolling_error(theta, mu, dt=dt),
            1e-10,
            {"default": mujoco_peer.rolling_error(theta, mu, exact, dt=dt)} if peer else {},
        )
    ball = rolling.slide_to_roll(2.0, 0.3, dt=dt)
    yield Score(
        "ball thrown at 2 m/s, mu 0.3",
        "relative error of final speed",
        "5/7 v0",
        dt,
        abs(ball.speed / ball.exact_speed - 1.0),
        1e-10,
        {"default": abs(mujoco_peer.slide_to_roll_speed(2.0, 0.3, dt=dt) / ball.exact_speed - 1.0)} if peer else {},
    )
    spin, roll = rolling.spinning_friction(0.005, dt=dt), rolling.rolling_friction(0.005, dt=dt)
    R = rolling.RADIUS
    cases = (
        ("spinning ball, 5 mm", "0.005 m g / I", spin, "0.8 0.005 0", 4, (0, 0, 0, 0, 0, 10.0), 5),
        ("rolling ball, 5 mm", "5/7 g 0.005 / R", roll, "0.8 0 0.005", 6, (1.0, 0, 0, 0, 1.0 / R, 0), 0),
    )
    for name, formula, slowing, surface, dim, v, which in cases:
        theirs = mujoco_peer.slowing_rate(surface, dim, v, which, 0.5, dt=dt) if peer else 0.0
        yield Score(
            name,
            "relative error of deceleration",
            formula,
            dt,
            abs(slowing.rate / slowing.exact - 1.0),
            1e-9,
            {"default": abs(theirs / slowing.exact - 1.0)} if peer else {},
        )


def _bouncing(peer: bool) -> Iterator[Score]:
    for dt in (1e-3, 1e-4):
        ball = impacts.time_to_rest(1.0, 0.5, dt=dt)
        yield Score(
            "ball dropped from 1 m, e 0.5",
            "time to rest [s]",
            "sqrt(2h/g) (1+e)/(1-e)",
            dt,
            abs(ball.time - ball.exact),
            note="first order: about two steps a bounce",
        )
    for dt, seconds in ((1e-4, 20.0), (1e-5, 2.0)):
        grid = impacts.bouncing_grid(dt=dt, seconds=seconds)
        published = {"ODE": 0.0185, "RaiSim": 0.102, "DART": 7.4, "Bullet": 7.5} if dt == 1e-5 else {}
        yield Score(
            "7x7 bouncing balls, e 1",
            "mean squared energy error [J^2]",
            "24 034.5 J",
            dt,
            grid.squared_error,
            None,
            {},
            published,
            f"{seconds:g} s; m g v dt/2 of reading v half a step late, no drift",
        )
        yield Score(
            "7x7 bouncing balls, e 1",
            "relative drift of the steps' invariant",
            "0",
            dt,
            grid.invariant,
            1e-11,
            note=f"{seconds:g} s; energy with v half a step earlier",
        )


def _cradle(peer: bool) -> Iterator[Score]:
    cases = (
        ("touching", 0.0, (-1 / 3, 2 / 3, 2 / 3)),
        ("0.1 mm apart, v dt 1 mm", 1e-4, (0.0, 0.0, 1.0)),
        ("5 mm apart", 5e-3, (0.0, 0.0, 1.0)),
    )
    for name, gap, exact in cases:
        error = float(np.abs(impacts.cradle(gap, dt=1e-3) - exact).max())
        yield Score(
            f"cradle of three, {name}",
            "velocities [m/s]",
            "(-1/3, 2/3, 2/3)" if gap == 0.0 else "(0, 0, 1)",
            1e-3,
            error,
            1e-9,
            note="simultaneous law, Newton's restitution",
        )


def _far(peer: bool) -> Iterator[Score]:
    both, ball, rod = impacts.far_bounce(), impacts.far_bounce(rod=False), impacts.far_bounce(ball=False)
    paid = impacts.far_bounce(soft=True)
    theirs = abs(mujoco_peer.far_rebound(rod=True) - mujoco_peer.far_rebound(rod=False)) if peer else 0.0
    case, note = "far-away bounce", "50 m from a rod that lands with friction and spin in the same step"
    yield Score(
        case,
        "change of a ball's rebound [m/s]",
        "0",
        1e-3,
        abs(both.rebound - ball.rebound),
        1e-9,
        {"springy contacts": theirs} if peer else {},
        note=note,
    )
    yield Score(
        case,
        "energy a rod gains while a box lands softly [1]",
        "0 or less",
        1e-3,
        max(paid.kept - 1.0, rod.kept - 1.0, 0.0),
        1e-9,
        note="Newton's restitution alone: 0.078",
    )


def _pile(peer: bool) -> Iterator[Score]:
    dt, seconds, every = 1e-4, 0.2, 0.01
    pile = resting.sphere_pile(dt=dt, seconds=seconds, every=every)
    places = resting.pile_places(6)
    theirs = mujoco_peer.pile_penetration(places, dt=dt, seconds=seconds, every=every) if peer else 0.0
    published = {"DART": 2.0e-7, "ODE": 1.5e-6, "RaiSim": 1.6e-6, "Bullet": 3.5e-3, "MuJoCo": 1.1e-2}
    steps = round(seconds / dt)
    note = f"{seconds:g} s; deepest {pile.deepest:.0e} m, {pile.missed} of {steps} steps missed the tolerance"
    yield Score(
        "pile of 6x6x6 balls",
        "mean overlap [m]",
        "0",
        dt,
        pile.penetration,
        2e-7,
        {"default": theirs} if peer else {},
        published,
        note,
    )


def _stacks(peer: bool) -> Iterator[Score]:
    for dt in (1e-3, 1e-2):
        for name, masses in (("ten boxes", [1.0] * 10), ("1000 kg on 1 kg", [1.0, 1000.0])):
            yield Score(
                name,
                "drift over 10 s [m]",
                "0",
                dt,
                resting.stack(masses, dt=dt).drift,
                1e-6,
                {"default": mujoco_peer.stack_drift(masses, dt=dt)} if peer else {},
            )


def _thin(peer: bool) -> Iterator[Score]:
    dt, seconds = 2e-3, 1.0
    for name, size, height in (
        ("phone dropped flat from 1 m", (0.15, 0.07, 0.008), 1.0),
        ("plate of 1 mm dropped flat from 5 cm", (0.1, 0.1, 1e-3), 0.05),
        ("cube of 1 mm dropped from 1 cm", (1e-3, 1e-3, 1e-3), 1e-2),
    ):
        fall = thin.fallen(size, height, dt=dt, seconds=seconds)
        depth = mujoco_peer.plate_depth(size, height, dt=dt, seconds=seconds) / size[2] if peer else 0.0
        yield Score(
            name,
            "depth over thickness",
            "0",
            dt,
            max(fall.depth, 0.0) / size[2],
            1e-6,
            {"default": depth} if peer else {},
            note=f"turns at {fall.turning:.0e} rad/s at most",
        )
    for name, size in (("phones", (0.15, 0.07, 0.008)), ("cards", (0.085, 0.055, 0.0008))):
        tumble = thin.tumbled(size, seconds=2.0)
        yield Score(
            f"{name} dropped in 32 attitudes",
            "depth over what the arcs of a step explain",
            "1 at most",
            1e-3,
            tumble.depth,
            1.0,
            note=f"fastest corner after 2 s {tumble.speed:.0e} m/s",
        )


def _loads(peer: bool) -> Iterator[Score]:
    for name, height in (("table at rest", 0.0), ("table put down from 3 cm", 0.03)):
        yield Score(
            name,
            "worst force on a foot, over its share",
            "a quarter of the weight, upward",
            2e-3,
            loads.table_error(loads.table(height=height)),
            1e-6,
            {"default": mujoco_peer.table_error()} if peer and height == 0.0 else {},
            note="four feet, mu 0.8: least forces",
        )


def _smooth(peer: bool) -> Iterator[Score]:
    dt = 1e-3
    body = smooth.tumbling(dt=dt)
    theirs = mujoco_peer.tumbling_crossings(dt=dt) if peer else np.zeros(0)
    for k, quarter in enumerate((1, 3)):
        yield Score(
            "tumbling body, RK4",
            f"time of crossing {k + 1} [s]",
            f"{quarter}/4 of 10.532110248183",
            dt,
            abs(float(body.crossings[k] - body.exact[k])),
            1e-8,
            {"RK4": abs(float(theirs[k] - body.exact[k]))} if peer else {},
        )
    stepped = smooth.tumbling(dt=dt, integrator="semi_implicit")
    yield Score(
        "tumbling body, semi_implicit",
        "relative change of angular momentum, 10 s",
        "0",
        dt,
        stepped.momentum,
        note="first order, like all steps with contact",
    )
    period = smooth.PENDULUM_PERIOD
    yield Score(
        "pendulum, RK4",
        "period [s]",
        "2.367841947576237",
        dt,
        abs(smooth.pendulum_period(dt=dt) - period),
        1e-10,
        {"RK4": abs(mujoco_peer.pendulum_period(period, dt=dt) - period)} if peer else {},
    )
    kept = smooth.floating_robot(dt=dt)
    yield Score(
        "humanoid adrift, RK4", "relative change of momentum, 10 s", "0", dt, max(kept.linear, kept.angular), 1e-10
    )
    orders: tuple[tuple[Integrator, tuple[float, float], int], ...] = (
        ("semi_implicit", (1e-3, 5e-4), 1),
        ("rk4", (4e-3, 2e-3), 4),
    )
    for integrator, dts, goal in orders:
        drifts = [smooth.energy_drift(dt, integrator) for dt in dts]
        order = smooth.order(dts, (drifts[0], drifts[1]))
        yield Score(
            f"swinging chain, {integrator}",
            "relative energy drift, 2 s",
            "0",
            dts[0],
            drifts[0],
            note=f"falls with dt^{order:.2f}; order {goal}",
        )


def _turning(peer: bool) -> Iterator[Score]:
    dt = 1e-3
    settings = {"default": "", "implicit": 'integrator="implicit"'} if peer else {}
    integrators: tuple[tuple[Integrator, float, str], ...] = (
        ("semi_implicit", 1e-3, "the chord of a step is shorter than its arc: (w dt)^2 / 4 from the first step on"),
        ("verlet", 1e-3, ""),
    )
    for integrator, goal, note in integrators:
        yield Score(
            f"rod whirling about a held end at 20 rad/s, {integrator}",
            "largest relative change of energy, 60 s",
            "0",
            dt,
            turning.whirling_rod(20.0, dt=dt, integrator=integrator).energy,
            goal,
            {name: mujoco_peer.rod_energy(20.0, dt=dt, options=o) for name, o in settings.items()},
            note=note,
        )
    for speed in (3.0, 10.0, 30.0):
        yield Score(
            f"crank and rocker at {speed:g} rad/s, verlet",
            "largest relative change of energy, 60 s",
            "0",
            dt,
            turning.crank_rocker(speed, dt=dt).energy,
            1e-3,
            {name: mujoco_peer.crank_energy(speed, dt=dt, options=o) for name, o in settings.items()},
            note=f"MuJoCo {mujoco_peer.EXPLODED:g}: it exploded",
        )
    for speed in (20.0, 60.0, 300.0):
        kept = turning.tumbling_box(speed)
        yield Score(
            f"box that tumbles at {speed:g} rad/s",
            "largest relative change of energy or momentum, 10 s",
            "0",
            2e-3,
            max(kept.energy, kept.momentum),
            1e-9,
            {name: mujoco_peer.box_energy(speed, options=o) for name, o in settings.items()},
            note=f"MuJoCo: energy; {mujoco_peer.EXPLODED:g}: it exploded",
        )


def _disc(peer: bool) -> Iterator[Score]:
    tilt, dt = 1.2, 1e-3
    settings = {"default": "", "impratio 100": MUJOCO_SETTINGS["impratio 100"]} if peer else {}
    integrators: tuple[tuple[Integrator, float | None, str], ...] = (
        ("semi_implicit", None, "first order"),
        ("verlet", 1e-5, ""),
    )
    for integrator, goal, note in integrators:
        yield Score(
            f"disc that rolls on its rim, {integrator}",
            "change of its tilt, 0.25 s [rad]",
            "0",
            dt,
            disc.rolling_disc(tilt, dt=dt, integrator=integrator).tilt,
            goal,
            {name: mujoco_peer.disc_tilt(tilt, dt=dt, options=o) for name, o in settings.items()},
            note=note,
        )


def _thresholds(peer: bool) -> Iterator[Score]:
    width, height, mass, dt = 0.2, 0.4, 3.0, 1e-3
    tips = mass * 9.81 * width / (2.0 * height)
    push = friction.pushed_box(0.5, 1.1 * tips, dt=dt)
    yield Score(
        "box pushed at its top, mu 0.5",
        "relative error of tipping",
        "moments about the edge",
        dt,
        abs(push.turning / friction.tipping_acceleration(1.1 * tips) - 1.0),
        1e-8,
    )
    pushed = friction.pushed_box(0.5, 0.999 * tips, dt=dt)
    yield Score("the same, 0.1 % too weakly", "distance in 0.2 s [m]", "0", dt, abs(pushed.slid), 1e-9)
    mu = 0.4
    speed, _ = friction.squeezed_ball(mu, 1.001 * 9.81 / (2.0 * mu), dt=dt)
    yield Score("ball between walls, 0.1 % more than holds it", "speed after 1 s [m/s]", "0", dt, abs(speed), 1e-9)
    angle = 1.0
    threshold = friction.ladder_threshold(angle)
    distance = friction.ladder(1.0001 * threshold, angle, dt=dt)
    yield Score("ladder, 0.01 % more friction than it needs", "distance in 1 s [m]", "0", dt, distance, 1e-9)


def _joints(peer: bool) -> Iterator[Score]:
    stopped, wheel = joints.pendulum_at_limit(dt=1e-3), joints.dry_friction(dt=1e-3)
    yield Score("pendulum at its limit", "distance from it [rad]", "0", 1e-3, max(stopped.at, stopped.beyond), 1e-12)
    yield Score(
        "wheel with dry friction",
        "relative error of deceleration",
        "torque / inertia",
        1e-3,
        abs(wheel.rate / wheel.exact - 1.0),
        1e-10,
    )
    yield Score("the same, stopped", "speed [rad/s]", "0", 1e-3, wheel.rest, 1e-11)


def _momentum(peer: bool) -> Iterator[Score]:
    hit = collisions.robot_hit_by_ball(dt=1e-3)
    yield Score(
        "floating robot hit by a ball",
        "relative change of momentum",
        "0",
        1e-3,
        max(hit.linear, hit.angular),
        1e-10,
        note=f"e 0, friction 0.7; {hit.kept:.0%} of the energy left",
    )


def _passing(peer: bool) -> Iterator[Score]:
    speed, dt = 5.0, 2e-3
    for kind in ("box", "ball"):
        yield Score(
            f"{kind} that flies past another, 1 mm beside it, at {speed:g} m/s",
            "change of velocity [m/s]",
            "0",
            dt,
            passing.fly_by(kind, speed, dt=dt),
            1e-12,
            {"default": mujoco_peer.fly_by(kind, speed, dt=dt)} if peer else {},
        )
    for kind, lying in (("box", False), ("cylinder", False), ("cylinder", True)):
        name = f"{'lying ' if lying else ''}{kind}"
        yield Score(
            f"{name} that slides over flush tiles at 1 m/s",
            "relative loss of speed",
            "0",
            dt,
            passing.loss(passing.over_tiles(kind, 1.0, lying=lying, dt=dt), 1.0),
            1e-6,
            {"default": mujoco_peer.loss_over_tiles(kind, 1.0, lying=lying, dt=dt)} if peer else {},
        )
    yield Score(
        "ball that hits another off its centre at 20 m/s, e 1",
        "direction afterwards [rad]",
        "mirrored at the normal",
        dt,
        max(passing.deflection_error(20.0, offset, dt=dt) for offset in (0.02, 0.05, 0.08)),
        0.02,
        note="radii 50 mm; 40 mm in a step",
    )
    yield Score(
        "1 cm bullet at a 1 mm wall, 1000 m/s",
        "distance beyond its face [m]",
        "0",
        dt,
        max(0.0, max(passing.shot(kind, 1000.0, dt=dt) for kind in ("ball", "box", "capsule"))),
        1e-12,
    )


def _struck(peer: bool) -> Iterator[Score]:
    for speed, gap in ((10.0, 2e-3), (100.0, 2e-2)):
        yield Score(
            f"ball {1e3 * gap:g} mm from a wall, struck at {speed:g} m/s",
            "distance into the wall [m]",
            "0",
            1e-3,
            collisions.struck_at_wall(speed, gap=gap, dt=1e-3),
            1e-9,
            note="both contacts close in one step",
        )


CASES: dict[str, Case] = {
    "incline": _incline,
    "stopping": _stopping,
    "rolling": _rolling,
    "bouncing": _bouncing,
    "cradle": _cradle,
    "far": _far,
    "pile": _pile,
    "stacks": _stacks,
    "thin": _thin,
    "loads": _loads,
    "smooth": _smooth,
    "turning": _turning,
    "disc": _disc,
    "thresholds": _thresholds,
    "joints": _joints,
    "momentum": _momentum,
    "struck": _struck,
    "passing": _passing,
}
