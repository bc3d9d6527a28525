"""Loads that several points share: which forces a table, a box or a stack stands on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherweight import Geometry, ModelBuilder, Plane, Scene, Simulator, State, box
from featherweight.arrays import Array
from featherweight.simulation.solvers import Solver
from physics.motion import GRAVITY

TABLE_MASS = 5.0  # [kg]
TABLE_HALF = (0.5, 0.3)  # from the middle to the feet [m]
TABLE_HEIGHT = 0.7  # of its centre of mass [m]
TABLE_FOOT = 0.02  # radius of a foot [m]


def table_scene(friction: float = 0.8, *, load: float = 0.0, load_at: tuple[float, float] = (0.0, 0.0)) -> Scene:
    """A table of 5 kg on four round feet, with a point mass ``load`` [kg] fixed to its top at ``load_at`` [m]."""
    x, y = TABLE_HALF
    mass = TABLE_MASS + load
    center = np.array([*(load / mass * np.array(load_at)), TABLE_HEIGHT])
    shapes = [
        Geometry(f"foot_{k}", "collision", "sphere", (TABLE_FOOT,), placement=_at((sx * x, sy * y, TABLE_FOOT)))
        for k, (sx, sy) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1)))
    ]
    builder = ModelBuilder("table")
    builder.link("table", mass=mass, com=center, inertia=(0.2, 0.4, 0.5), geometries=shapes)
    scene = Scene(ground=Plane(friction=friction))
    scene.add(builder.build(floating_base=True), name="table", pose=(0, 0, 0))
    return scene


def _at(position: tuple[float, float, float]) -> Array:
    placement = np.eye(4)
    placement[:3, 3] = position
    return placement


@dataclass(frozen=True)
class Standing:
    """Forces on the feet of a table, (4,) each, feet in the order of :func:`table_scene`."""

    normal: Array  # [N]
    sideways: Array  # [N]


def feet(state: State) -> Standing:
    contacts = state.contacts
    order = np.argsort([contacts.names[max(a, b)] for a, b in zip(contacts.shape_a, contacts.shape_b, strict=True)])
    force = contacts.force[order]
    return Standing(force[:, 2], np.hypot(force[:, 0], force[:, 1]))


def table(
    *, dt: float = 2e-3, seconds: float = 1.0, height: float = 0.0, friction: float = 0.8, solver: Solver | str = "auto"
) -> Standing:
    """A table that was put down, from ``height`` [m], after some time."""
    simulator = Simulator(table_scene(friction), dt, solver=solver)
    q = np.array(simulator.state().q)
    q[2] += height
    return feet(simulator.rollout(simulator.state(q=q), n_steps=round(seconds / dt), record=False).final)


def table_error(standing: Standing) -> float:
    """Largest force on a foot that is not its quarter of the weight, over that."""
    share = 0.25 * TABLE_MASS * GRAVITY
    return float(np.hypot(standing.normal - share, standing.sideways).max() / share)


def pushed_box(
    cop: tuple[float, float], *, edge: float = 0.2, mass: float = 2.0, solver: Solver | str = "auto"
) -> Array:
    """Normal forces on the corners (+ +), (+ -), (- +), (- -) of a box at rest [N], (4,), loaded by a moment that puts
    the centre of pressure at ``cop``, in half edges."""
    scene = Scene(ground=Plane(friction=0.8))
    scene.add(box((edge, edge, edge), mass=mass), name="box", pose=(0, 0, 0.5 * edge))
    simulator = Simulator(scene, 2e-3, solver=solver)
    arm = 0.5 * edge * mass * GRAVITY
    moment = [[0.0, 0.0, 0.0, -arm * cop[1], arm * cop[0], 0.0]]
    contacts = simulator.rollout(simulator.state(), f_ext=moment, n_steps=50).final.contacts
    places = np.sign(contacts.position[:, :2])
    return np.array([
        contacts.force[(places == corner).all(axis=1), 2].sum() for corner in ((1, 1), (1, -1), (-1, 1), (-1, -1))
    ])  # fmt: skip
