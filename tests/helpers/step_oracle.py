"""One step of the simulator once more, densely: H, J and the laws of every row in NumPy, from the equations alone.

Poses, Jacobians, mass matrix and bias share no code with the simulator: see :class:`Links`.
What touched, and with which impulses, is taken from the state after the step; the oracle then says
  - whether those impulses lead to the velocities reported, v = v_free + H^-1 J^T lambda,
  - how far they are from the laws of contact: Signorini with the gap, Coulomb, maximum dissipation (De Saxce).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import featherweight as fw
from featherweight import CompiledScene
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import ROWS
from featherweight.reference import dense
from featherweight.scene.compiled import SceneConstraint
from featherweight.simulation.simulator import _arguments
from helpers.cones import UNILATERAL, Block, Cones, disc, equality, interval, point


@dataclass(frozen=True)
class Verdict:
    """What the oracle found."""

    v_free: Array  # at the end of the step if nothing touched, in the axes at its start
    v: Array  # the simulator's, in the axes at the start of the step
    v_expected: Array  # v_free + H^-1 J^T lambda
    residual: float  # of all laws, natural map, relative to `scale`
    scale: float  # [m/s]
    rows: int
    cones: Cones
    impulses: Array

    @property
    def momentum_error(self) -> float:
        """Of v, relative to the largest velocity."""
        return float(np.abs(self.v - self.v_expected).max() / (1.0 + np.abs(self.v_expected).max()))


class Links:
    """Poses, and Jacobians of points, of all links at one configuration; mass matrix and bias.

    By ``reference.dense``, which is slow, or by the functions that are tested against it.
    """

    def __init__(self, model: fw.Model, q: Array, *, slow: bool) -> None:
        self._model, self._q, self.nv = model, q, model.nv
        self._slow = slow
        self.poses = list(fw.forward_kinematics(model, q))
        if self._slow:
            columns = [dense.motions(model.description, q, unit, np.zeros(self.nv)) for unit in np.eye(self.nv)]
            self.poses = [body.pose for body in columns[0]]
        self._sliding: list[Array] = []  # of the origins of links
        self._turning: list[Array] = []
        for i, link in enumerate(model.description.links):
            if self._slow:
                arm = self.poses[i][:3, :3] @ (link.inertia.com if link.inertia else np.zeros(3))
                turn = np.column_stack([c[i].angular_velocity for c in columns])
                slide = np.column_stack([c[i].velocity for c in columns]) + np.cross(arm, turn, axisb=0, axisc=0)
            else:
                J = fw.jacobian(model, q, link.name, reference="local_world_aligned")
                slide, turn = J[:3], J[3:]
            self._sliding.append(slide)
            self._turning.append(turn)

    def mass_matrix(self) -> Array:
        if self._slow:
            return dense.mass_matrix(self._model.description, self._q)
        return np.array(fw.crba(self._model, self._q))

    def bias(self, v: Array, f_ext: Array | None) -> Array:
        if self._slow:
            return dense.bias_forces(self._model.description, self._q, v, f_ext)
        return np.array(fw.rnea(self._model, self._q, v, np.zeros(self.nv), f_ext))

    def pose(self, link: int) -> Array:
        return np.eye(4) if link < 0 else self.poses[link]

    def point(self, link: int, x: Array) -> Array:
        """(3, nv) velocity of the point of ``link`` that is at x in the world."""
        if link < 0:
            return np.zeros((3, self.nv))
        r = x - self.poses[link][:3, 3]
        return np.asarray(self._sliding[link] - np.cross(r, self._turning[link], axisb=0, axisc=0))

    def turn(self, link: int) -> Array:
        """(3, nv) angular velocity."""
        return np.zeros((3, self.nv)) if link < 0 else self._turning[link]


def judge(
    sim: fw.Simulator,
    before: fw.State,
    after: fw.State,
    tau: Array | None = None,
    *,
    control: Array | None = None,
    f_ext: Array | None = None,
    slow: bool = False,
) -> Verdict:
    """``after = sim.step(before, tau, ...)`` of a single environment, checked. slow: see :class:`Links`."""
    model, dt = sim.model, sim.dt
    q, v = np.array(before.q), np.array(before.v)
    links = Links(model, q, slow=slow)
    H, force = links.mass_matrix(), -links.bias(v, f_ext)
    force += 0.0 if tau is None else tau
    # dampers act with the velocity at the end of the step: (H + dt B) a = ... - B v
    force -= model.damping * v
    H = H + dt * np.diag(model.damping)
    springs, ahead = sim.scene.springs, dt if sim.integrator == "implicit" else 0.0
    along = springs.v_index
    force[along] -= springs.stiffness * (q[springs.q_index] + ahead * v[along] - springs.rest_position)
    H[along, along] += ahead * ahead * springs.stiffness
    servos = _servos(sim, q, v, np.zeros(sim.nu) if control is None else control)
    force += servos.force
    H = H + np.diag(servos.inertia)
    v_free = v + dt * np.linalg.solve(H, force)
    for joint in model.joints:
        if joint.type == "free":  # components in axes that turn; within a step they are kept at its start
            s, w, c = joint.v_slice.start, v[joint.v_slice][3:], center(model, joint.index)
            v_free[s : s + 3] += dt * np.cross(w, v[s : s + 3] + np.cross(w, c))

    v_after = _in_old_axes(model, q, np.array(after.q), np.array(after.v))
    rows = _Rows(sim, links, v, v_free, q, servos)
    rows.add_all(before.contacts, after, v_after)
    J, shift = np.array(rows.J).reshape(-1, model.nv), np.array(rows.shift)
    impulses = np.array(rows.impulses)
    G = J @ np.linalg.solve(H, J.T) + np.diag(np.array(rows.softness))
    moving = J @ v_free
    shift[rows.bounces] *= _share_of_restitution(G - np.diag(rows.softness), moving, shift, impulses, rows.bounces)
    scale = max(dt * float(np.linalg.norm(model.description.gravity)) or dt, float(np.abs(moving).max(initial=0.0)))
    cones = Cones((G + G.T) / 2, moving + shift, rows.blocks, scale)
    return Verdict(
        v_free=v_free,
        v=v_after,
        v_expected=v_free + np.linalg.solve(H, J.T @ impulses),
        residual=cones.residual(impulses) if len(impulses) else 0.0,
        scale=scale,
        rows=len(impulses),
        cones=cones,
        impulses=impulses,
    )


def center(model: fw.Model, joint: int) -> Array:
    """Centre of mass of what a joint carries rigidly, in the frame the joint moves."""
    joints, links = model.description.joints, {link.name: link for link in model.description.links}
    placed = {joints[joint].child: joints[joint].child_placement}
    for each in joints[joint + 1 :]:  # parents come first
        if each.type == "fixed" and each.parent in placed:
            placed[each.child] = placed[each.parent] @ each.placement @ each.child_placement
    moment, mass = np.zeros(3), 0.0
    for name, X in placed.items():
        inertia = links[name].inertia
        if inertia is not None:
            moment += inertia.mass * (X[:3, :3] @ inertia.com + X[:3, 3])
            mass += inertia.mass
    return np.asarray(moment / mass if mass > 0 else moment)


def _in_old_axes(model: fw.Model, q0: Array, q1: Array, v1: Array) -> Array:
    """Velocities of ball joints in the axes at the start of the step, with centres of mass as fast as they are."""
    v = v1.copy()
    for joint in model.joints:
        if joint.type in ("free", "spherical"):
            s, t = joint.v_slice.stop - 3, joint.q_slice.stop - 4
            turn = dense._rotation(q0[t : t + 4]).T @ dense._rotation(q1[t : t + 4])
            v[s : s + 3] = turn @ v1[s : s + 3]
            if joint.type == "free":
                c = center(model, joint.index)
                velocity = v1[s - 3 : s] + np.cross(v1[s : s + 3], c)
                v[s - 3 : s] = turn @ velocity - np.cross(v[s : s + 3], c)
    return v


@dataclass(frozen=True)
class _Servos:
    force: Array  # (nv,)
    inertia: Array  # (nv,) what acting at the end of the step adds to the mass matrix
    rows: list[tuple[int, float, float, float]]  # freedom, effort, shift, softness of servos that are rows


def _servos(sim: fw.Simulator, q: Array, v: Array, control: Array) -> _Servos:
    model, dt = sim.model, sim.dt
    force, inertia = np.zeros(model.nv), np.zeros(model.nv)
    rows = []
    for u, actuator in zip(control, sim.actuators, strict=True):
        joint = model.joint(actuator.joint)
        f, x = joint.v_slice.start, q[joint.q_slice.start]
        gear = actuator.gear
        kp = gear**2 * actuator.kp if actuator.kind == "position" else 0.0
        kd = gear**2 * actuator.kd if actuator.kind in ("position", "velocity") else 0.0
        if actuator.ctrl_range is not None:
            u = np.clip(u, *actuator.ctrl_range)
        drive = gear * u * (actuator.kd if actuator.kind == "velocity" else actuator.kp)
        effort = float(joint.effort_limit[0])
        if actuator.force_range is not None:
            effort = min(effort, abs(gear) * max(abs(e) for e in actuator.force_range))
        implicit = sim.integrator == "implicit"
        if implicit and np.isfinite(effort) and kd + dt * kp > 0:
            rate = kd + dt * kp
            rows.append((f, effort, -(drive - kp * x) / rate, 1.0 / (dt * rate)))
            continue
        own = drive - kp * (x + (dt * v[f] if implicit else 0.0)) - kd * v[f]
        own = float(np.clip(own, -effort, effort))
        if not (v[f] * own > 0 and abs(v[f]) > joint.velocity_limit[0]):
            force[f] += own
        if implicit:
            inertia[f] += dt * kd + dt * dt * kp
    return _Servos(force, inertia, rows)


def _share_of_restitution(G: Array, moving: Array, shift: Array, impulses: Array, bounces: list[int]) -> float:
    """What is asked of bounces, all alike: everything, or, where that would bring energy, what brings none."""
    struck = [i for i in bounces if impulses[i] > 0]
    change = G @ impulses
    shares = -(moving + change)[struck] / shift[struck]
    share = float(shares.min(initial=1.0))
    if share > 1.0 - 1e-6:
        return 1.0
    work = impulses * (moving + 0.5 * change)
    assert -0.05 * np.abs(work).sum() < work.sum() <= 1e-8 * np.abs(work).sum(), "weakened for nothing, or too little"
    return share


class _Rows:
    """Jacobian, law, shift and impulse of every row."""

    def __init__(self, sim: fw.Simulator, links: Links, v: Array, v_free: Array, q: Array, servos: _Servos) -> None:
        self._sim, self._links, self._v, self._v_free, self._q, self._servos = sim, links, v, v_free, q, servos
        self.J: list[Array] = []
        self.bounces: list[int] = []
        self.shift: list[float] = []
        self.softness: list[float] = []
        self.impulses: list[float] = []
        self.blocks: list[Block] = []

    def _add(self, J: Array, impulse: float, shift: float = 0.0, softness: float = 0.0) -> None:
        self.J.append(J)
        self.impulses.append(float(impulse))
        self.shift.append(shift)
        self.softness.append(softness)

    def add_all(self, earlier: fw.Contacts, after: fw.State, v_after: Array) -> None:
        kept = np.asarray(after._core.impulses)[0]
        joint_rows = self._joint_rows()
        for (kind, f, bound, shift, softness), impulse in zip(joint_rows, kept, strict=False):
            self._add_joint_row(kind, f, bound, shift, softness, impulse)
        held_impulses = kept[len(joint_rows) :]
        for held in self._sim.scene.constraints:
            n = len(held.constraint.rows)
            self._add_held(held, held_impulses[:n])
            held_impulses = held_impulses[n:]
        contacts = after.contacts
        loaded = earlier.impulse[:, 2] > 0
        pairs = set(zip(earlier.shape_a[loaded].tolist(), earlier.shape_b[loaded].tolist(), strict=True))
        for k in range(len(contacts)):
            self._add_contact(contacts, k, pairs, v_after)

    # -- contacts ----------------------------------------------------------------------------------------------------

    def _add_contact(self, contacts: fw.Contacts, k: int, loaded: set[tuple[int, int]], v_after: Array) -> None:
        scene: CompiledScene = self._sim.scene
        a, b = int(contacts.shape_a[k]), int(contacts.shape_b[k])
        law, dt, gap = scene.law(a, b), self._sim.dt, float(contacts.gap[k])
        ends = [scene.shapes[a].link, scene.shapes[b].link]
        x = contacts.position[k]
        slide = contacts.frame[k] @ (self._links.point(ends[0], x) - self._links.point(ends[1], x))
        turn = contacts.frame[k] @ (self._links.turn(ends[0]) - self._links.turn(ends[1]))
        approach, coming = float(slide[2] @ self._v), float(slide[2] @ self._v_free)
        shift, softness = max(gap, 0.0) / dt, 0.0
        # what a loaded point of bodies has opened by next to nothing stays open; which were loaded is not known
        negligible = 0.01 * dt**2 * float(np.linalg.norm(self._sim.model.description.gravity))
        may_stay = (a, b) in loaded and law.restitution == 0 and gap <= negligible and contacts.impulse[k, 2] > 0
        if may_stay and abs(slide[2] @ v_after) < shift / 2:
            shift = 0.0
        if np.isfinite(law.stiffness):  # lambda = -dt (k (d + dt sigma) + c sigma), if positive and once d <= 0
            rate = law.stiffness * dt + law.damping
            shift, softness = gap / dt if gap > 0 else law.stiffness * gap / rate, 1.0 / (dt * rate)
        elif law.restitution > 0 and approach < 0 and gap + dt * coming <= 0:
            shift = law.restitution * approach
            self.bounces.append(len(self.J) + (2 if law.dim >= 3 and law.friction > 0 else 0))
        impulse = contacts.impulse[k]
        slides = law.dim >= 3 and law.friction > 0
        if slides:
            self._add(slide[0], impulse[0])
            self._add(slide[1], impulse[1])
        self._add(slide[2], impulse[2], shift, softness)
        normal = len(self.J) - 1
        self.blocks.append(point(law.friction) if slides else UNILATERAL)
        used = [2, *((0, 1) if slides else ())]
        if law.dim >= 4 and law.torsional > 0:
            self.blocks.append(disc(law.torsional, normal, 1))
            self._add(turn[2], impulse[5])
            used.append(5)
        if law.dim == 6 and law.rolling > 0:
            self.blocks.append(disc(law.rolling, normal, 2))
            self._add(turn[0], impulse[3])
            self._add(turn[1], impulse[4])
            used += [3, 4]
        assert not np.delete(impulse, used).any(), "an impulse along a row the law does not have"

    # -- joints ------------------------------------------------------------------------------------------------------

    def _joint_rows(self) -> list[tuple[str, int, float, float, float]]:
        """In the order the core keeps their impulses: from the tips inward, otherwise as given."""
        rows = [(kind, f, bound, 0.0, 0.0) for kind, f, bound in _arguments(self._sim.scene)["joint_rows"]]
        rows += [("servo", f, effort, shift, softness) for f, effort, shift, softness in self._servos.rows]
        return sorted(rows, key=lambda row: -row[1])

    def _add_joint_row(self, kind: str, f: int, bound: float, shift: float, softness: float, impulse: float) -> None:
        direction, dt = -1.0 if kind == "upper_limit" else 1.0, self._sim.dt
        J = direction * np.eye(self._links.nv)[f]
        if kind in ("dry_friction", "servo"):
            self.blocks.append(interval(-bound * dt, bound * dt))
        else:
            self.blocks.append(UNILATERAL)
            shift = max(direction * (self._coordinate(f) - bound), 0.0) / dt
        self._add(J, impulse, shift, softness)

    def _coordinate(self, f: int) -> float:
        for joint in self._sim.model.joints:
            if joint.v_slice.start <= f < joint.v_slice.stop:
                return float(self._q[joint.q_slice.start + f - joint.v_slice.start])
        raise AssertionError(f"freedom {f} belongs to no joint")

    # -- frames that are held ----------------------------------------------------------------------------------------

    def _add_held(self, held: SceneConstraint, impulses: Array) -> None:
        X_a, X_b = self._links.pose(held.link) @ held.placement, self._links.pose(held.to) @ held.to_placement
        along = X_a[:3, :3].T @ (self._links.point(held.link, X_a[:3, 3]) - self._links.point(held.to, X_b[:3, 3]))
        about = X_a[:3, :3].T @ (self._links.turn(held.link) - self._links.turn(held.to))
        J = np.vstack([along, about])
        rows = sorted(ROWS.index(row) for row in held.constraint.rows)
        for group in ([row for row in rows if row < 3], [row for row in rows if row >= 3]):
            if group:
                self.blocks.append(equality(len(group)))
        for row, impulse in zip(rows, impulses, strict=True):
            self._add(J[row], impulse)
