"""Six puzzles with tools, after Toussaint et al. 2018, for a seven-axis arm on the ground; how many are solved.

    python -m benchmarks.puzzles                    # ten layouts of each
    python -m benchmarks.puzzles hook --layouts 3   # some
    python -m benchmarks.puzzles hook --page out    # and a page of each plan in that folder

A layout is drawn from its number, a plan is found with seed 0. A puzzle counts as solved if the plan ends at the goal
as it is, at half the step, and with friction 10 % less and more.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import featherweight as fw
from featherweight.planning import Near, Problem, Tool, solve

DT = 4e-3
WOOD, STEEL, RED = (0.75, 0.55, 0.35, 1.0), (0.5, 0.55, 0.6, 1.0), (0.85, 0.25, 0.2, 1.0)


def arm() -> fw.Model:
    """The arm of the package with ideal drives and a finger, at whose tip is the frame "hand"."""
    description = fw.models.arm().description
    joints = tuple(
        replace(each, friction=None, effort_limit=None, velocity_limit=None) if each.nv else each
        for each in description.joints
    )
    builder = fw.ModelBuilder("arm").add(replace(description, joints=joints))
    builder.solid("finger", "capsule", (0.018, 0.06), mass=0.1, placement=(0, 0, 0.03), rgba=STEEL)
    builder.joint("finger", "fixed", "link_7", "finger", placement=(0, 0, 0.06))
    builder.frame("hand", "finger", (0, 0, 0.078))
    return builder.build()


def world(friction: float = 0.5) -> fw.Scene:
    """The arm on the ground, its hand in front of it, pointing down."""
    scene, model = fw.Scene(ground=fw.Plane(friction=friction)), arm()
    down = np.diag([1.0, -1.0, -1.0, 1.0])
    down[:3, 3] = (0.45, 0.0, 0.25)
    q0 = fw.inverse_kinematics(model, {"hand": down}, q0=[0, 0.5, 0, 1.5, 0, 1.2, 0]).q
    scene.servo(scene.add(model, name="arm", q=q0, self_collision=False), kp=4000, kd=200)
    return scene


def bar_with_claw(name: str, length: float, claw: float, middle: float) -> fw.Model:
    """A bar along x; across its end a claw of some width, whose middle is so far to the left."""
    builder = fw.ModelBuilder(name)
    builder.solid("bar", "box", (length, 0.025, 0.025), mass=0.15, rgba=WOOD)
    builder.joint("root", "free", "world", "bar")
    builder.solid("claw", "box", (0.025, claw, 0.025), mass=0.06, rgba=WOOD)
    builder.joint("claw", "fixed", "bar", "claw", placement=(0.5 * length, middle, 0.0))
    return builder.build()


def polar(radius: float, angle: float, height: float = 0.0) -> tuple[float, float, float]:
    return radius * np.cos(angle), radius * np.sin(angle), height


def add_tool(scene: fw.Scene, model: fw.Model, place: tuple[float, float, float], turn: float) -> str:
    """On the ground, where the hand can take it; the name of its link."""
    body = f"{model.name}/bar"
    scene.add(model, name=model.name, pose=fw.pose((place[0], place[1], 0.0126), rpy=(0, 0, turn)))
    scene.constrain(fw.FrameConstraint("arm/hand", to=body), switch=f"hold {model.name}")
    scene.exclude("arm/finger", body)
    return body


def simulator(scene: fw.Scene) -> fw.Simulator:
    return fw.Simulator(scene, dt=DT, integrator="implicit")


def push(rng: np.random.Generator) -> Problem:
    """A block in reach, to a place in reach."""
    scene, angle = world(), rng.uniform(-1.0, 1.0)
    scene.add(
        fw.box((0.08, 0.08, 0.08), mass=0.3, rgba=RED), name="block", pose=polar(rng.uniform(0.4, 0.6), angle, 0.04)
    )
    goal = polar(rng.uniform(0.4, 0.6), angle + rng.uniform(0.4, 0.9) * rng.choice([-1, 1]))
    return Problem(simulator(scene), hand="arm/hand", goal=Near("block", goal[:2], within=0.05))


def hook(rng: np.random.Generator) -> Problem:
    """A block out of reach, and a hook in reach."""
    scene, angle = world(), rng.uniform(-0.6, 0.6)
    block = polar(rng.uniform(0.88, 0.98), angle, 0.04)
    scene.add(fw.box((0.08, 0.08, 0.08), mass=0.3, rgba=RED), name="block", pose=block)
    aside = angle + rng.uniform(0.8, 1.3) * rng.choice([-1, 1])
    body = add_tool(scene, bar_with_claw("hook", 0.5, 0.14, -0.06), polar(0.62, aside), aside + rng.uniform(-0.5, 0.5))
    tool = Tool(body, grip=(-0.2, 0, 0.0125), tip=(0.2375, -0.07, 0), faces=("-x",))
    goal = Near("block", polar(rng.uniform(0.5, 0.6), angle + rng.uniform(-0.2, 0.2))[:2], within=0.06)
    return Problem(simulator(scene), hand="arm/hand", goal=goal, tools=[tool])


def strike(rng: np.random.Generator) -> Problem:
    """A puck in reach, which must come to rest far beyond it."""
    scene, angle = world(), rng.uniform(-0.5, 0.5)
    scene.add(fw.cylinder(0.05, 0.05, mass=0.2, rgba=RED), name="puck", pose=polar(rng.uniform(0.5, 0.6), angle, 0.025))
    scene.pair("puck", "ground", friction=0.12)
    goal = Near("puck", polar(1.8, angle + rng.uniform(-0.2, 0.2))[:2], within=0.2)
    return Problem(simulator(scene), hand="arm/hand", goal=goal)


def throw(rng: np.random.Generator) -> Problem:
    """A ball in reach, and a bin far beyond it."""
    scene, angle = world(), rng.uniform(-0.6, 0.6)
    scene.add(
        fw.sphere(0.035, mass=0.1, rgba=RED, rolling=0.005), name="ball", pose=polar(0.5, rng.uniform(-0.8, 0.8), 0.035)
    )
    scene.constrain(fw.FrameConstraint("arm/hand", to="ball"), switch="hold ball")
    scene.exclude("arm/finger", "ball")
    distance = rng.uniform(1.5, 1.7)
    for k in range(4):
        X = fw.pose(polar(distance, angle), rpy=(0, 0, angle)) @ fw.pose((0, 0, 0), rpy=(0, 0, 0.5 * np.pi * k))
        side = fw.box((0.02, 0.36, 0.16), static=True, rgba=STEEL)
        scene.add(side, name=f"side {k}", pose=X @ fw.pose((0.17, 0, 0.08)))
    goal = Near("ball", polar(distance, angle)[:2], within=0.2)
    return Problem(
        simulator(scene), hand="arm/hand", goal=goal, tools=[Tool("ball", grip=(0, 0, 0.035), tip=(0, 0, 0))]
    )


def bank(rng: np.random.Generator) -> Problem:
    """A puck behind an obstacle, which reaches its goal by way of a wall."""
    scene = world()
    scene.add(fw.cylinder(0.05, 0.05, mass=0.2, rgba=RED), name="puck", pose=(0.55, rng.uniform(-0.1, 0.05), 0.025))
    scene.pair("puck", "ground", friction=0.1)
    scene.add(
        fw.box((0.05, 0.4, 0.1), static=True, rgba=WOOD), name="obstacle", pose=(0.9, rng.uniform(-0.1, -0.02), 0.05)
    )
    scene.add(fw.box((1.6, 0.05, 0.1), static=True, rgba=STEEL), name="wall", pose=(1.1, rng.uniform(0.5, 0.6), 0.05))
    scene.pair("puck", "wall", restitution=0.8, friction=0.1)
    goal = Near("puck", (rng.uniform(1.25, 1.4), rng.uniform(-0.1, 0.05)), within=0.2)
    return Problem(simulator(scene), hand="arm/hand", goal=goal)


def chain(rng: np.random.Generator) -> Problem:
    """A ball out of reach, a hook out of reach, and a rake in reach that brings the hook."""
    scene, angle = world(), rng.uniform(-0.3, 0.3)
    side = rng.choice([-1, 1])
    ball = polar(rng.uniform(1.0, 1.06), angle, 0.035)
    scene.add(fw.sphere(0.035, mass=0.1, rgba=RED, rolling=0.01), name="ball", pose=ball)
    at = angle + side * rng.uniform(0.8, 1.0)
    hook = add_tool(scene, bar_with_claw("hook", 0.5, 0.14, -0.06), polar(0.86, at), at + 0.5 * np.pi)
    at = angle - side * rng.uniform(0.7, 1.0)
    rake = add_tool(scene, bar_with_claw("rake", 0.3, 0.12, 0.0), polar(0.5, at), at)
    tools = [
        Tool(hook, grip=(-0.2, 0, 0.0125), tip=(0.2375, -0.07, 0), faces=("-x",)),
        Tool(rake, grip=(-0.12, 0, 0.0125), tip=(0.1375, 0, 0), faces=("-x",)),
    ]
    goal = Near("ball", polar(rng.uniform(0.64, 0.7), angle)[:2], within=0.1)
    return Problem(simulator(scene), hand="arm/hand", goal=goal, tools=tools)


#: By name: the layout of a number, and the seconds there are for it.
PUZZLES: dict[str, tuple[Callable[[np.random.Generator], Problem], float]] = {
    "push": (push, 60.0),
    "hook": (hook, 60.0),
    "strike": (strike, 60.0),
    "throw": (throw, 60.0),
    "bank": (bank, 180.0),
    "chain": (chain, 180.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("puzzles", nargs="*", help=f"some of {', '.join(PUZZLES)}; by default all")
    parser.add_argument("--layouts", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first layout")
    parser.add_argument("--page", type=Path, help="a folder for a page of each plan")
    parser.add_argument("--verbose", action="store_true", help="print the plans")
    given = parser.parse_args()
    for name in given.puzzles or PUZZLES:
        if name not in PUZZLES:
            parser.error(f"no puzzle {name!r}; there are {', '.join(PUZZLES)}")
    for name in given.puzzles or PUZZLES:
        make, seconds = PUZZLES[name]
        taken, solved = [], 0
        for layout in range(given.first, given.first + given.layouts):
            problem, began = make(np.random.default_rng(layout)), time.monotonic()
            try:
                plan = solve(problem, seconds=seconds, seed=0)
            except fw.PlanningError as error:
                print(f"  {name} {layout}: {error}", flush=True)
                continue
            solved += 1
            taken.append(time.monotonic() - began)
            if given.verbose:
                print(f"  {name} {layout}: {taken[-1]:.1f} s\n{plan}", flush=True)
            if given.page:
                given.page.mkdir(parents=True, exist_ok=True)
                plan.html(given.page / f"{name}-{layout}.html")
        middle, most = (np.median(taken), max(taken)) if taken else (np.nan, np.nan)
        print(
            f"{name:<8} solved {solved:>2} of {given.layouts}, {middle:.1f} s (median), {most:.1f} s (longest)",
            flush=True,
        )


if __name__ == "__main__":
    main()
