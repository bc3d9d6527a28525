"""A step in halves: half a kick, a drift, half a kick. Velocity Verlet; with closures RATTLE.

    v' = v + h a(q, v') + H^-1 J^T lambda      h = dt / 2; closures hold where the drift ends
    q+ = q (+) dt v'
    v+ = v' + h a(q+, v') + H^-1 J^T lambda+   J v+ = 0

Products of velocities are c = s + (H(q+) v' - H(q) v') / dt in both halves, with s = c(q, v') - d(H v')/dt at the start
of the step in the first and at its end in the second: the step of the discrete action (L(q, v') + L(q+, v')) dt / 2.
Drag is that of the mean of the velocities at both ends of a half.

Rows that are guided obey their law with errors of the middle of the step, where coordinates go at the rate s':

    s' = J v + h (acceleration - stiffness (e + h s') - damping (mean of both)) - compliance lambda = (e+ - e) / dt
    J v+ = s' + h (acceleration - stiffness (e+ - h s') - damping (mean of both)) - compliance lambda+

Motion of joints with springs, dampers, servos without limits, a medium and closures: what touches is not in it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.spatial import quaternion_exp, quaternion_product, quaternion_rotation
from featherweight.reference.stages.bodies import Bodies, bias, center_of_mass, mass_matrix, medium_forces, place
from featherweight.reference.stages.closure_rows import closure_errors, closure_rows
from featherweight.reference.stages.scene import StepScene, axis_coordinates, per_dof
from featherweight.reference.stages.servos import servos
from featherweight.reference.stages.tumble import is_single, tumble
from featherweight.reference.tree import neutral, slices


class Kick:
    """Half a step of forces at coordinates that stay."""

    def __init__(
        self, scene: StepScene, q: Array, v: Array, tau: Array | None, control: Array | None, f_ext: Array | None
    ) -> None:
        self.scene, self.q, self.v, self.f_ext = scene, q, v, f_ext
        model, self.h = scene.model, scene.dt / 2
        self.bodies = place(model, q)
        H, force = mass_matrix(model, self.bodies), np.zeros_like(v) if tau is None else tau.copy()
        motors = servos(scene, np.zeros(len(model.actuators)) if control is None else control)
        damping, stiffness, rest = (per_dof(model, field) for field in ("damping", "stiffness", "rest_position"))
        rates = damping.copy()
        for s in motors:
            rates[s.dof] += s.kd
        share = damped_share(scene, rates)
        force -= damping * v
        added = self.h * share * damping
        for dof, coordinate in axis_coordinates(model).items():
            force[dof] -= stiffness[dof] * (q[coordinate] - rest[dof])
            added[dof] += self.h**2 * stiffness[dof]
        for s in motors:
            force[s.dof] += s.drive - s.kp * q[s.coordinate] - s.kd * v[s.dof]
            added[s.dof] += self.h * (share[s.dof] * s.kd + self.h * s.kp)
        self.H, self.force = H + np.diag(added), force

    def __call__(self, v_end: Array, products: Array) -> Array:
        """(nv,) v + h a, with drag at the mean of v and v_end."""
        model, rest = self.scene.model, np.zeros_like(self.v)
        f_ext = medium_forces(model, self.bodies, 0.5 * (self.v + v_end), self.f_ext)
        force = self.force - products - bias(model, self.bodies, self.q, rest, f_ext)
        return np.asarray(self.v + self.h * np.linalg.solve(self.H, force))


def products(scene: StepScene, q: Array, v: Array) -> tuple[Array, Array]:
    """(nv,) of velocities v in a drift from q: in the half before it, and in the half after."""
    model, dt = scene.model, scene.dt
    single = np.concatenate(
        [np.full(at.stop - at.start, is_single(model, i)) for i, (_, at) in enumerate(slices(model))]
    )
    own = np.where(single, 0.0, v)  # single bodies are turned by the drift

    def momenta(q: Array, time: float) -> Array:
        return np.asarray(mass_matrix(model, place(model, _drifted(scene, q, own, time))) @ own)

    def turning(q: Array) -> Array:
        """c(q, v) less the rate of H v, by differences of fourth order."""
        step = 1e-3 / (1.0 + np.abs(own).max())
        near, far = (momenta(q, k * step) - momenta(q, -k * step) for k in (1, 2))
        c = bias(model, place(model, q), q, own, None) - bias(model, place(model, q), q, np.zeros_like(v), None)
        return np.asarray(c - (8.0 * near - far) / (12.0 * step))

    gained = (momenta(q, dt) - momenta(q, 0.0)) / dt
    return turning(q) + gained, turning(_drifted(scene, q, own, dt)) + gained


def damped_share(scene: StepScene, rates: Array) -> Array:
    """(nv,) of dampers that acts at the end of a kick: half, and all where they would stop a joint within it."""
    model = scene.model
    inertia = np.diag(mass_matrix(model, place(model, neutral(model))))
    x = 0.5 * scene.dt * rates / np.where(inertia > 0, inertia, 1.0)
    return np.where(inertia > 0, 0.5 + 0.5 * x / (x + 6.0), 1.0)


def _drifted(scene: StepScene, q: Array, v: Array, time: float) -> Array:
    """Coordinates after some time; single bodies must be at rest."""
    return drift(replace(scene, dt=time), q, v)[0]


def drift(scene: StepScene, q: Array, v: Array) -> tuple[Array, Array]:
    """Coordinates after dt, and v in the axes there. Single bodies tumble on; ball joints of trees keep components."""
    model, dt, q, v = scene.model, scene.dt, q.copy(), v.copy()
    H = mass_matrix(model, place(model, q))
    for i, (joint, (at_q, at_v)) in enumerate(zip(model.joints, slices(model), strict=True)):
        if joint.type not in ("spherical", "free"):
            q[at_q] += dt * v[at_v]
            continue
        single, w = is_single(model, i), v[at_v][-3:].copy()
        R, path, half = quaternion_rotation(q[at_q][-4:]), dt * w, quaternion_rotation(quaternion_exp(0.5 * dt * w))
        if single:
            after, path = tumble(H[at_v, at_v], v[at_v], dt)
        E = quaternion_rotation(quaternion_exp(path))
        if joint.type == "free":
            c = center_of_mass(model, i)
            u = v[at_v][:3] + np.cross(w, c)
            q[at_q][:3] += R @ (dt * (u if single else half @ u) + c - E @ c)
            if single:
                v[at_v] = np.concatenate([E.T @ u - np.cross(after[3:], c), after[3:]])
        turned = quaternion_product(q[at_q][-4:], quaternion_exp(path))
        q[at_q][-4:] = turned / np.linalg.norm(turned)
    return q, v


def verlet_step(
    scene: StepScene,
    q: Array,
    v: Array,
    *,
    tau: Array | None = None,
    control: Array | None = None,
    f_ext: Array | None = None,
) -> tuple[Array, Array]:
    """Coordinates and velocities after a step; tau, control and f_ext as in :meth:`featherweight.Simulator.step`."""
    first = Kick(scene, q, v, tau, control, f_ext)
    J, start = _rows(scene, first.bodies), closure_errors(scene.model, first.bodies, scene.closures)
    response, push, v_half = np.linalg.solve(first.H, J.T), np.zeros(len(J)), v
    aim, soft = _guide(scene, J @ response, J @ v, start, is_second=False)
    for _ in range(100):
        before, v_half = v_half, first(v_half, products(scene, q, v_half)[0]) + response @ push
        q_next, v_next = drift(scene, q, v_half)
        end = closure_errors(scene.model, place(scene.model, q_next), scene.closures)
        error = end - start - scene.dt * (aim - soft * push)
        push = push - np.linalg.lstsq(J @ response + np.diag(soft), error / scene.dt, rcond=1e-10)[0]
        if max(np.abs(v_half - before).max(), np.abs(error).max(initial=0.0)) <= 1e-14 * (1.0 + np.abs(v_half).max()):
            break
    second = Kick(scene, q_next, v_next, tau, control, f_ext)
    J = _rows(scene, second.bodies)
    response, v_end, turned = np.linalg.solve(second.H, J.T), v_next, products(scene, q, v_half)[1]
    aim, soft = _guide(scene, J @ response, aim - soft * push, end, is_second=True)
    for _ in range(100):
        before, free = v_end, second(v_end, turned)
        v_end = free - response @ np.linalg.lstsq(J @ response + np.diag(soft), J @ free - aim, rcond=1e-10)[0]
        if np.abs(v_end - before).max() <= 1e-14 * (1.0 + np.abs(v_end).max()):
            break
    return q_next, v_end


def _rows(scene: StepScene, bodies: Bodies) -> Array:
    blocks = [own.J for each in scene.closures for own in closure_rows(scene.model, bodies, each)]
    return np.vstack([np.zeros((0, bodies.jacobians.shape[2])), *blocks])


def _guide(scene: StepScene, G: Array, speed: Array, errors: Array, *, is_second: bool) -> tuple[Array, Array]:
    """(m,) speeds of rows without impulses, and by how much they yield to these; zero of rows that are held."""
    aim, soft, h = np.zeros(len(G)), np.zeros(len(G)), scene.dt / 2
    for r, guide in enumerate(scene.guides):
        if guide.holds:
            continue
        x = h * guide.damping * G[r, r] / (G[r, r] + guide.compliance)
        at_end, spring = h * guide.damping * (0.5 + 0.5 * x / (x + 6.0)), h**2 * guide.stiffness
        keep = 1.0 + at_end - h * guide.damping + (spring if is_second else 0.0)
        scale = 1.0 + at_end + (0.0 if is_second else spring)
        aim[r] = (keep * speed[r] + h * guide.acceleration - h * guide.stiffness * errors[r]) / scale
        soft[r] = guide.compliance / scale
    return aim, soft
