"""An environment does not know its neighbours: not even where solvers are cut short and things are struck and thrown.

Environments of a pack share instructions. Whatever is decided for a pack may not reach the numbers of one of them, so
random scenes are stepped in one order and in another, and alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits
from helpers.forests import random_forest
from helpers.scenes import KINDS, random_body, spiky, tumbled

import featherweight as fw

INTEGRATORS: tuple[Any, ...] = ("semi_implicit", "implicit")
SOLVERS: dict[str, Callable[[int], Any]] = {
    "auto": lambda n: fw.Automatic(max_iterations=n),
    "gauss_seidel": lambda n: fw.GaussSeidel(max_iterations=n),
    "newton": lambda n: fw.Newton(max_iterations=n),
    "admm": lambda n: fw.ADMM(max_iterations=n),
    "matrix_free": lambda n: fw.ADMM(max_iterations=n, matrix_free=True),
}


def random_scene(rng: np.random.Generator) -> fw.Scene:
    """Robots, chains with limits near, bodies above each other, an anchor; elastic or not."""
    scene = fw.Scene(ground=fw.Plane(friction=rng.uniform(0.2, 1.0), restitution=rng.choice([0.0, 0.7])))
    which = rng.integers(4)
    if which == 0:
        scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, rng.uniform(0.25, 0.45)))
        scene.servo("robot", kp=60, kd=2)
    elif which == 1:
        forest = random_forest(int(rng.integers(11)), 6)
        scene.add(fw.ModelBuilder.from_description(spiky(forest)).build(), name="robot", pose=(0, 0, 0.2))
    elif which == 2:
        scene.add(fw.models.arm(), name="robot")
    restitution = float(rng.choice([0.0, 0.0, 0.9]))
    for k in range(int(rng.integers(1, 4))):
        body = random_body(rng, str(rng.choice(KINDS)), restitution=restitution)
        scene.add(body, name=f"body_{k}", pose=tumbled(rng, (*rng.uniform(-0.2, 0.2, 2), 0.3 + 0.25 * k)))
    if rng.random() < 0.3:
        scene.constrain(fw.PointConstraint("body_0", offset=(0.05, 0.0, 0.0)))
    return scene


def random_mechanism(rng: np.random.Generator) -> fw.Scene:
    """Loops that bars in line pass, joints coupled and strung together, far holds, and what they strike."""
    makers = (fw.models.four_bar, fw.models.slider_crank, fw.models.five_bar, fw.models.arm, fw.models.loop_biped)
    model = makers[int(rng.integers(len(makers)))]()
    builder = fw.ModelBuilder.from_description(model.description)
    axes = [joint.name for joint in model.joints if joint.nv == 1]
    first, second = (str(name) for name in rng.choice(axes, 2, replace=False))
    if rng.random() < 0.4:
        builder.couple("gear", first, second, [0.1, float(rng.uniform(-2, 2)), 0.3])
    if rng.random() < 0.6:
        limits = {"range": (-0.1, 0.1)} if rng.random() < 0.7 else {"friction": 0.5}
        builder.tendon("string", {first: 1.0, second: -0.7}, **limits)
    if rng.random() < 0.2:
        builder.close("far", model.link_names[-1], "world", placement=(0.3, 0.1, 0.2), to_placement=(0.2, 0.3, 0.4))
    scene = fw.Scene(ground=fw.Plane(friction=0.6, restitution=float(rng.choice([0.0, 0.5]))))
    scene.add(builder.build(), name="robot", pose=(0, 0, float(rng.uniform(0.2, 0.9))))
    for k in range(int(rng.integers(0, 3))):
        scene.add(random_body(rng, str(rng.choice(KINDS))), name=f"body_{k}", pose=tumbled(rng, (0, 0, 0.4 + 0.3 * k)))
    return scene


def assert_deaf(
    seed: int,
    steps: int = 12,
    batch: int = 11,
    make: Callable[[np.random.Generator], fw.Scene] = random_scene,
    integrators: tuple[Any, ...] = INTEGRATORS,
) -> None:
    """Steps in one order and in another, and some alone, are the same to the bit."""
    rng = np.random.default_rng([seed, 77])
    solver = SOLVERS[str(rng.choice(list(SOLVERS)))](int(rng.choice([1, 3, 10, 100])))
    integrator = integrators[int(rng.integers(len(integrators)))]
    sim = fw.Simulator(make(rng), dt=float(rng.choice([1e-3, 5e-3])), solver=solver, integrator=integrator)
    q = np.stack([sim.model.integrate(sim.scene.q0, 0.1 * rng.normal(size=sim.model.nv)) for _ in range(batch)])
    speeds = 10.0 ** rng.uniform(-1, 1, size=(batch, 1))  # some are thrown, some hardly move
    v = speeds * rng.normal(size=(batch, sim.model.nv))
    v[:2] = -0.0
    order = rng.permutation(batch)
    control = rng.normal(size=(batch, steps, sim.nu)) if sim.nu else None

    def run(which: Any) -> fw.Trajectory:
        own = None if control is None else control[which]
        return sim.rollout(sim.state(len(which), q=q[which], v=v[which]), control=own, n_steps=steps)

    whole, shuffled = run(np.arange(batch)), run(order)
    for field in ("q", "v", "residual", "penetration"):
        a, b = getattr(whole, field), getattr(shuffled, field)
        assert_same_bits(a[order], b, f"seed {seed}, {field}")
    for k in rng.choice(batch, 2, replace=False):
        assert_same_bits(run([k]).q[0], whole.q[k], f"seed {seed}, environment {k} alone")


@pytest.mark.parametrize("seed", range(60))
def test_an_environment_does_not_know_its_neighbours(seed: int) -> None:
    assert_deaf(seed)


@pytest.mark.parametrize("seed", [*range(50), 213, 324, 663, 773])
def test_mechanisms_do_not_know_their_neighbours(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fw.SimulationWarning)  # far holds, overlaps
        assert_deaf(seed, make=random_mechanism, integrators=(*INTEGRATORS, "verlet"))
