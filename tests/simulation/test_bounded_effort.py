"""Steps take a time that is bounded by what touches; what is too large is refused at once."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.model.builder import MAX_LINKS


def brushes(n_links: int, n_balls: int, friction: float = 0.5) -> fw.Scene:
    """A chain that lies on many small balls: contacts that all act on one tree."""
    rng = np.random.default_rng(0)
    builder = fw.ModelBuilder("brushes")
    for k in range(n_links):
        shapes = []
        for i in range(n_balls):
            X = np.eye(4)
            X[:3, 3] = rng.uniform(0.0, 0.2), rng.uniform(-0.2, 0.2), -0.02
            shapes.append(fw.Geometry(f"ball_{k}_{i}", "collision", "sphere", (0.02,), X))
        builder.link(f"link_{k}", mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.02), geometries=shapes)
        if k == 0:
            builder.joint("root", "free", "world", "link_0")
        else:
            axis = (0, 1, 0) if k % 2 else (0, 0, 1)
            builder.joint(f"joint_{k}", "revolute", f"link_{k - 1}", f"link_{k}", axis=axis, placement=(0.2, 0, 0))
    scene = fw.Scene(ground=fw.Plane(friction=friction))
    scene.add(fw.Model(builder.describe()), name="brushes", pose=(0, 0, 0.04), self_collision=False)
    return scene


def pushed(sim: fw.Simulator) -> fw.State:
    v = 0.02 * np.random.default_rng(1).standard_normal(sim.model.nv)
    v[0] += 0.3
    return sim.state(v=v)


def loaded_plate(n: int) -> fw.Scene:
    """A plate that carries n x n balls: contacts with an end on the plate and one on a ball each."""
    scene = fw.Scene()
    scene.add(fw.box((2.0, 2.0, 0.1)), name="plate", pose=(0, 0, 0))
    for k in range(n * n):
        x, y = 1.8 * (np.array([k % n, k // n]) / (n - 1) - 0.5)
        scene.add(fw.sphere(0.02), name=f"ball_{k}", pose=(x, y, 0.07))
    return scene


def point_velocities(sim: fw.Simulator, contacts: fw.Contacts, q: Any, v: Any) -> Any:
    """(n, 3) of the points of contact, of a as seen from b, along t1, t2 and the normal, by the velocities of links."""
    u = np.zeros((len(contacts), 3))
    for shapes, sign in ((contacts.shape_a, 1.0), (contacts.shape_b, -1.0)):
        links = np.array([sim.scene.shapes[k].link for k in shapes.tolist()])
        for link in np.unique(links[links >= 0]).tolist():
            V = fw.frame_velocity(sim.model, q, v, sim.model.link_names[link], reference="world")
            on = links == link
            u[on] += sign * (V[:3] + np.cross(V[3:], contacts.position[on]))
    return np.einsum("nij,nj->ni", contacts.frame, u)


@pytest.mark.parametrize("solver", [fw.Automatic(pile_iterations=3000), fw.GaussSeidel(max_iterations=20_000)], ids=str)
def test_many_contacts_on_one_tree_obey_the_laws(solver: Any) -> None:
    """Without a matrix: Signorini and Coulomb hold for the velocities that links really have."""
    friction = 0.5
    sim = fw.Simulator(brushes(8, 70, friction), dt=2e-3, solver=solver)
    state = pushed(sim)
    most_closed = 0
    for _ in range(4):
        state = sim.step(state)
        contacts = state.contacts
        assert len(contacts) == 560 and state.converged
        q_start = state.q_start
        u = point_velocities(sim, contacts, q_start, state.v)
        impulse, gap = contacts.impulse, contacts.gap
        scale = float(np.abs(u).max())
        slack = u[:, 2] + np.maximum(gap, 0.0) / sim.dt
        closed = impulse[:, 2] > 0.0
        most_closed = max(most_closed, int(closed.sum()))
        assert slack.min() > -1e-6 * scale and np.abs(slack[closed]).max() < 1e-6 * scale  # the tolerance, times rows
        pushing, slipping = np.linalg.norm(impulse[:, :2], axis=1), np.linalg.norm(u[:, :2], axis=1)
        bound = friction * impulse[:, 2]
        assert (pushing <= bound + 1e-7 * bound.max()).all()
        slides = closed & (slipping > 1e-4 * scale)
        assert pushing[slides] == pytest.approx(bound[slides], abs=1e-6 * bound.max())
        along = np.einsum("ni,ni->n", impulse[slides, :2], u[slides, :2])
        turn = sim.dt * np.abs(state.v[3:]).max()  # of the axes of v, from the start of the step to its end
        assert along == pytest.approx(-pushing[slides] * slipping[slides], abs=turn * bound.max() * scale)
    assert most_closed > 20


@pytest.mark.parametrize("what", ["brushes", "plate"])
def test_velocities_without_a_matrix_are_those_of_the_links(what: str) -> None:
    """What the solver believes, by the paths of rows, beside what kinematics says of the velocities it leads to."""
    scene = brushes(6, 80, friction=0.3) if what == "brushes" else loaded_plate(23)
    sim = fw.Simulator(scene, dt=2e-3)
    state = sim.step(pushed(sim)) if what == "brushes" else sim.state(v=struck(sim))
    solution = sim.step_solution(state)
    assert len(solution.rows) >= 3 * 480 and solution.rows.impulse.any()
    u = point_velocities(sim, solution.contacts, solution.q, solution.state.v)
    turn = sim.dt * np.abs(solution.state.v).max()  # of the axes of v, from the start of the step to its end
    speed = 0.4  # [m/s] no point is faster
    assert solution.rows.velocity.reshape(-1, 3) == pytest.approx(u, abs=turn * speed)


def struck(sim: fw.Simulator) -> Any:
    """The plate moves against the balls."""
    v = np.zeros(sim.model.nv)
    v[:6] = 0.02, 0.01, 0.1, 0.02, -0.01, 0.03
    return v


def seconds_of_step(n_balls: int) -> float:
    sim = fw.Simulator(brushes(4, n_balls), dt=2e-3)
    state = sim.step(pushed(sim))
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        state = sim.step(state)
        best = min(best, time.process_time() - start)
    assert len(state.contacts) > 3 * n_balls
    return float(best)


def test_many_contacts_on_one_tree_take_linear_time() -> None:
    """Four times as many may not take more than eight times as long; with a matrix they took sixteen times."""
    seconds_of_step(50)
    assert seconds_of_step(800) < 8 * seconds_of_step(200) + 0.01


@pytest.mark.parametrize("solver", [fw.Newton(), fw.ADMM()], ids=lambda solver: solver.name)
def test_newton_and_admm_are_linear_on_crowded_trees(solver: Any) -> None:
    """1600 contacts on one tree took a minute with the matrix."""
    sim = fw.Simulator(brushes(8, 200), dt=2e-3, solver=solver)
    start = time.process_time()
    state = sim.step(pushed(sim))
    assert state.converged and len(state.contacts) == 1600
    assert time.process_time() - start < 10.0


def test_newton_and_admm_take_bounded_time_on_large_problems() -> None:
    """Whatever iterations are allowed; what is left is reported. Here rounding does not let 590 rows obey."""
    start = time.process_time()
    sim = fw.Simulator(brushes(4, 49), dt=2e-3, solver=fw.Newton(tolerance=1e-18, max_iterations=1_000_000))
    state = sim.step(pushed(sim))
    assert not state.converged and state.residual < 1e-12
    assert 10 < state.iterations["newton"] < 60
    assert time.process_time() - start < 20.0


def test_impacts_of_many_contacts_take_bounded_time() -> None:
    """Elastic spheres in a heap strike each other in rounds, and where that takes too long the rest is inelastic."""
    scene = fw.Scene(ground=fw.Plane(restitution=0.9))
    rng = np.random.default_rng(0)
    for k in range(150):
        x, y, z = 0.101 * (np.array([k % 6, k // 6 % 5, k // 30]) + 0.005 * rng.standard_normal(3))
        scene.add(fw.sphere(0.05, restitution=0.9), name=f"ball_{k}", pose=(x, y, z + 0.06))
    sim = fw.Simulator(scene, dt=5e-3)
    v = np.zeros(sim.model.nv).reshape(-1, 6)
    v[:, :3] = rng.standard_normal((150, 3))
    state, start = sim.state(v=v.ravel()), time.process_time()
    for _ in range(4):
        energy = fw.kinetic_energy(sim.model, state.q, state.v)
        state = sim.step(state)
        assert not state.failed and fw.kinetic_energy(sim.model, state.q, state.v) < 1.05 * energy
    assert time.process_time() - start < 30.0


# -- too large -------------------------------------------------------------------------------------------------------


def test_models_that_are_too_large_are_refused_before_the_work() -> None:
    small = fw.ModelBuilder("small").link("a").joint("free", "free", "world", "a").describe()
    links = small.links * (MAX_LINKS + 1)
    huge = fw.ModelDescription(**vars(small) | {"links": links})
    start = time.process_time()
    with pytest.raises(fw.ModelError, match=f"model 'small': has more than {MAX_LINKS} links"):
        fw.Model(huge)
    assert time.process_time() - start < 1.0


def test_saved_models_that_are_too_large_are_refused_before_the_work(tmp_path: Path) -> None:
    names = ", ".join('{"name": "a"}' for _ in range(100_000))
    text = f'"name": "m", "gravity": [0, 0, 0], "joints": [], "frames": [], "notes": [], "links": [{names}]'
    (tmp_path / "huge.json").write_text('{"format": "featherweight-model", "version": 1, ' + text + "}")
    start = time.process_time()
    with pytest.raises(fw.ModelImportError, match=f"has more than {MAX_LINKS} links"):
        fw.Model.load(tmp_path / "huge.json")
    assert time.process_time() - start < 3.0


def test_degrees_of_freedom_are_counted_as_joints_are_added() -> None:
    builder = fw.ModelBuilder("many")
    builder._nv = 31_998
    builder.link("a").link("b").joint("hinge", "revolute", "world", "a", axis="z")
    with pytest.raises(fw.ModelError, match="model 'many': has more than 32000 degrees of freedom"):
        builder.joint("free", "free", "world", "b")
    builder.joint("other", "revolute", "world", "b", axis="z")
