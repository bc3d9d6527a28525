"""A step of the simulator, judged by its twin in NumPy, :func:`featherweight.reference.step`.

What touched, and with which impulses, is taken from the state after the step; the twin then says
  - whether those impulses lead to the velocities reported, v = v_free + H^-1 J^T lambda,
  - how far they are from the laws of contact: Signorini with the gap, Coulomb, maximum dissipation (De Saxce).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import featherweight as fw
from featherweight.arrays import Array
from featherweight.core_tables import ContactTable
from featherweight.reference import ContactPoint, StepScene, contact_points, step_scene
from featherweight.reference.spatial import quaternion_rotation
from featherweight.reference.stages.apply import apply
from featherweight.reference.stages.assemble import StepProblem, assemble
from featherweight.reference.stages.bodies import advance, center_of_mass
from featherweight.reference.stages.predict import FreeMotion, predict
from helpers.cones import Block, Cones


@dataclass(frozen=True)
class Verdict:
    """What the twin says of a step."""

    v_free: Array  # at the end of the step if nothing touched, in the axes at its start
    v: Array  # the simulator's, in the axes at the start of the step
    v_expected: Array  # v_free + H^-1 J^T lambda
    residual: float  # of all laws, natural map, relative to `scale`
    scale: float  # [m/s]
    rows: int
    cones: Cones
    impulses: Array
    strikes: int  # impacts with restitution

    @property
    def momentum_error(self) -> float:
        """Of v, relative to the largest velocity."""
        return float(np.abs(self.v - self.v_expected).max() / (1.0 + np.abs(self.v_expected).max()))


def judge(
    sim: fw.Simulator,
    before: fw.State,
    after: fw.State,
    tau: Array | None = None,
    *,
    control: Array | None = None,
    f_ext: Array | None = None,
) -> Verdict:
    """``after = sim.step(before, tau, ...)`` of a single environment, checked."""
    scene = step_scene(sim)
    q, v = np.array(before.q), np.array(before.v)
    v_after = in_old_axes(sim.model, q, np.array(after.q), np.array(after.v))
    mean = v
    for _ in range(3 if scene.closures else 1):  # products of the mean velocity turn axes, and with them the mean
        free = predict(scene, q, v, tau=tau, control=control, f_ext=f_ext, mean=mean)
        mean = 0.5 * (v + advance(scene.model, q, v_after, scene.dt * (v_after + free.bend))[1])
    points = _as_it_left_them(scene, free, contact_points(sim, before, after), v_after)
    problem = assemble(scene, free, points, v_after)
    impulses = impulses_of(problem, after)
    laws: list[Block] = [(b.law, b.rows, b.normal, b.mu, b.lower, b.upper) for b in problem.laws]
    cones = Cones(problem.G, _as_met(problem, impulses), laws, problem.scale)
    return Verdict(
        v_free=free.v_free,
        v=v_after,
        v_expected=apply(free, problem, impulses),
        residual=cones.residual(impulses) if len(impulses) else 0.0,
        scale=problem.scale,
        rows=len(impulses),
        cones=cones,
        impulses=impulses,
        strikes=sum(block.bounces for block in problem.blocks),
    )


def in_old_axes(model: fw.Model, q0: Array, q1: Array, v1: Array) -> Array:
    """Velocities of ball joints in the axes at the start of the step, with centres of mass as fast as they are."""
    v = v1.copy()
    for joint in model.joints:
        if joint.type in ("free", "spherical"):
            s, t = joint.v_slice.stop - 3, joint.q_slice.stop - 4
            turn = quaternion_rotation(q0[t : t + 4]).T @ quaternion_rotation(q1[t : t + 4])
            v[s : s + 3] = turn @ v1[s : s + 3]
            if joint.type == "free":
                c = center_of_mass(model.description, joint.index)
                velocity = v1[s - 3 : s] + np.cross(v1[s : s + 3], c)
                v[s - 3 : s] = turn @ velocity - np.cross(v[s : s + 3], c)
    return v


def impulses_of(problem: StepProblem, after: fw.State) -> Array:
    """(m,) those of the solver, in the order of the twin. It keeps those of joints, then of closures, of contacts."""
    kinds = [(block.kind, block.law.rows) for block in problem.blocks]
    n_closures = sum(rows for kind, rows in kinds if kind == "closure")
    n_contacts = sum(rows for kind, rows in kinds if kind == "contact")
    kept = np.asarray(after._core.impulses)[0]
    n_joints = len(problem.g) - n_closures - n_contacts
    assert len(kept) == n_joints + n_closures
    return np.concatenate(
        [kept[n_joints:], kept[:n_joints], *_of_contacts(problem, ContactTable.of(after._core).numbers("impulse"))]
    )


def _of_contacts(problem: StepProblem, impulse: Array) -> list[Array]:
    result, unused, k = list[Array](), impulse.copy(), -1
    for law in (block.law for block in problem.blocks if block.kind == "contact"):
        k += law.law != "disc"  # discs follow the contact they belong to
        own = {"point": [0, 1, 2], "unilateral": [2]}.get(law.law, [5] if law.rows == 1 else [3, 4])
        result.append(impulse[k, own])
        unused[k, own] = 0.0
    assert k == len(impulse) - 1
    assert not unused.any(), "an impulse along a row the law does not have"
    return result


def _as_it_left_them(
    scene: StepScene, free: FreeMotion, contacts: list[ContactPoint], v_after: Array
) -> list[ContactPoint]:
    """Which points of a patch were loaded before is not known: gaps that may stay open do if they did."""

    def closed(contact: ContactPoint) -> bool:
        ends = [free.bodies.point(link, contact.position) for link in (contact.link, contact.to)]
        return bool(abs(contact.frame[2] @ (ends[0] - ends[1]) @ v_after) >= 0.5 * contact.gap / scene.dt)

    return [replace(c, rolls_open=False) if c.rolls_open and closed(c) else c for c in contacts]


def _as_met(problem: StepProblem, impulses: Array) -> Array:
    """g with the laws of bounces as they were met: weakened so that an impact brings no energy, or in later rounds."""
    after = problem.velocity + (problem.G - np.diag(problem.compliance)) @ impulses
    work, g, row = 0.5 * impulses * (problem.velocity + after), problem.g.copy(), 0
    accounts: dict[tuple[int, int], list[int]] = {}
    weakened, in_rounds = set[tuple[int, int]](), False
    for block in problem.blocks:
        rows = list(range(row, row + block.law.rows))
        row += block.law.rows
        surface, normal = block.surface, rows[-1]
        if surface is None or not surface.is_elastic or not impulses[normal] > 0:
            continue
        asked = -(g - problem.velocity)[normal]
        if block.bounces:
            accounts.setdefault(surface.between, []).extend(rows)
        if abs(after[normal] - asked) > 1e-6 * problem.scale:
            g[rows] = (problem.velocity - after)[rows]
            in_rounds |= not block.bounces or after[normal] > asked
            weakened.add(surface.between)
    contacts = problem.where([block.surface is not None or block.law.law == "disc" for block in problem.blocks])
    if weakened:
        assert work[contacts].sum() <= 1e-8 * np.abs(work[contacts]).sum() + 1e-12, "an impact brings energy"
    for between, rows in accounts.items() if not in_rounds else ():
        own = work[rows]
        slack = 1e-8 * np.abs(own).sum() + 1e-8 * problem.scale * np.abs(impulses[rows]).sum()
        assert own.sum() <= slack, "an impact brings energy"
        assert between not in weakened or own.sum() > -1e-3 * np.abs(own).sum(), "weakened for nothing"
    return g
