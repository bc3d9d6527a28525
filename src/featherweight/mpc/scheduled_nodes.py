"""Nodes of a plan whose contacts are scheduled: what a robot does in them, and the derivatives of that.

    v <- impact(q, v)                                           where a contact closes
    H a + h = U u + t0 - K (q + dt v') - D v' + J^T f           joints and actuators, implicit
    J a + gamma = -damping J v                                  contacts that are closed
    v' = v + dt a,  q' = q (+) dt v'

What is implicit is inertia dt D + dt^2 K about the joints, and forces at q + dt v and v.

Derivatives are those of the velocities; coordinates follow by dq' = E dq + D dv'. Oracle: finite differences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..constraints.dynamics import constrained_dynamics
from ..constraints.impulse_dynamics import impulse_dynamics
from ..constraints.terms import constraint_jacobian
from ..derivatives.constrained import constrained_dynamics_derivatives, impulse_dynamics_derivatives
from ..kinematics.logarithms import exp3, exp6
from ..model.model import Model
from ..records import Record
from ..simulation.simulator import Simulator
from .schedule import Schedule

#: Points and weights at which the exponential is integrated from 0 to 1: to rounding for turns of up to half a circle.
_AT, _SHARE = (0.5 * x for x in np.polynomial.legendre.leggauss(10))
_AT = _AT + 0.5

#: Contacts of nodes: which are closed, and which nodes begin with an impact, (n, contacts) and (n,).
Contacts = tuple[NDArray[np.bool_], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Linearised(Record):
    """Nodes, (n, ...) each, and slopes of what comes after them by (q, v) and control."""

    q: Array  # (n, nq) after the node
    v: Array  # (n, nv)
    forces: Array  # (n, rows)
    A: Array  # (n, nv, 2 nv), of velocities
    B: Array  # (n, nv, nu)
    forces_x: Array  # (n, rows, 2 nv)
    forces_u: Array  # (n, rows, nu)
    E: Array  # (n, nv, nv)
    D: Array  # (n, nv, nv)


class ScheduledNodes:
    """The robot of a simulator, whose actuators follow their laws without a limit of effort."""

    def __init__(self, sim: Simulator, schedule: Schedule, dt: float) -> None:
        actuation = sim._actuation
        if actuation.transmissions or actuation.activations:
            raise ValueError("sim: plans with a schedule know actuators on single joints only, without activations")
        if sim.model.description.tendons:
            raise ValueError("sim: plans with a schedule know no tendons")
        self.sim, self.model, self.dt = sim, sim.model, dt
        self._set_joints()
        self._set_actuators()
        self._stiff = _with_armature(sim.model, dt * self._damping + dt * dt * self._stiffness)
        self.constraints = schedule.compiled(sim.model)
        self._rows = self.constraints if self._stiff is sim.model else schedule.compiled(self._stiff)
        self._turning = [joint for joint in self.model.joints if joint.type in ("free", "spherical")]
        starts = [joint.v_slice.start for joint in self._turning]
        inside = {i for joint in self._turning for i in range(joint.v_slice.start + 1, joint.v_slice.stop)}
        self.blocks = [*sorted(({*range(self.model.nv)} - inside) | {*starts}), self.model.nv]

    def _set_joints(self) -> None:
        """Springs and dampers of joints, which are linear."""
        model = self.model
        self._stiffness, self._damping = model.stiffness.copy(), model.damping.copy()
        self._constant = model.stiffness * model.rest_position
        self._place = np.zeros(model.nv, dtype=np.intp)  # of a degree of freedom in q
        for joint in model.joints:
            if joint.nq == joint.nv:
                self._place[joint.v_slice] = np.arange(joint.q_slice.start, joint.q_slice.stop)
            elif model.stiffness[joint.v_slice].any():
                raise ValueError(f"sim: joint {joint.name!r} has a spring that is not linear in coordinates")

    def _set_actuators(self) -> None:
        sim, laws = self.sim, self.sim._actuation.laws
        mixing = sim._actuation.mixing
        mixing = np.eye(len(laws)) if mixing is None else mixing[: len(laws)]
        self._drive = np.zeros((self.model.nv, sim.nu))
        self.lower, self.upper = np.full(sim.nu, -np.inf), np.full(sim.nu, np.inf)
        for k, (dof, gain, kp, kd, low, high, _) in enumerate(laws):
            self._drive[dof] += gain * mixing[k]
            self._constant[dof] += gain * sim._actuation.offset[k]
            self._stiffness[dof] += kp
            self._damping[dof] += kd
            [drivers] = np.nonzero(mixing[k])
            if len(drivers) == 1 and kp == kd == 0.0:  # a motor: its effort bounds its control
                [driver], factor = drivers, gain * mixing[k, drivers[0]]
                ends = sorted((x - gain * sim._actuation.offset[k]) / factor for x in (low, high))
                self.lower[driver], self.upper[driver] = (
                    max(self.lower[driver], ends[0]),
                    min(self.upper[driver], ends[1]),
                )

    def forces_of_joints(self, q: Array, v: Array, control: Array) -> Array:
        """At the places that these velocities lead to, (n, nv)."""
        ahead = q[:, self._place] + self.dt * v
        return control @ self._drive.T + self._constant - self._stiffness * ahead - self._damping * v

    def advance(self, q: Array, v: Array, control: Array, contacts: Contacts) -> tuple[Array, Array, Array]:
        """q' (n, nq), v' (n, nv), and forces (n, rows) of the nodes."""
        closed, lands = contacts
        if lands.any():
            v = v.copy()
            v[lands] = impulse_dynamics(
                self.model, q[lands], v[lands], self.constraints, active=closed[lands], num_threads=self.sim.num_threads
            ).v
        tau = self.forces_of_joints(q, v, control)
        found = constrained_dynamics(
            self._stiff, q, v, tau, self._rows, active=closed, num_threads=self.sim.num_threads
        )
        v = v + self.dt * found.a
        return np.asarray(self.model.integrate(q, self.dt * v)), v, found.forces

    def linearise(self, q: Array, v: Array, control: Array, contacts: Contacts) -> Linearised:
        """The same, and its derivatives."""
        closed, lands = contacts
        threads = self.sim.num_threads
        nv = self.model.nv
        if lands.any():
            hit = impulse_dynamics_derivatives(
                self.model, q[lands], v[lands], self.constraints, active=closed[lands], num_threads=threads
            )
            v = v.copy()
            v[lands] = hit.v
        tau = self.forces_of_joints(q, v, control)
        d = constrained_dynamics_derivatives(self._stiff, q, v, tau, self._rows, active=closed, num_threads=threads)
        A, forces_x = np.empty((len(q), nv, 2 * nv)), np.empty((len(q), d.forces.shape[1], 2 * nv))
        A[:, :, :nv] = self.dt * (d.a_dq - d.a_dtau * self._stiffness)
        by_v = self._damping + self.dt * self._stiffness
        A[:, :, nv:] = self.dt * (d.a_dv - d.a_dtau * by_v)
        A[:, range(nv), range(nv, 2 * nv)] += 1.0
        forces_x[:, :, :nv] = d.forces_dq - d.forces_dtau * self._stiffness
        forces_x[:, :, nv:] = d.forces_dv - d.forces_dtau * by_v
        if lands.any():  # by what the velocities were before
            for x in (A, forces_x):
                after = x[lands][:, :, nv:]
                x[lands, :, :nv] += after @ hit.v_dq
                x[lands, :, nv:] = after @ hit.v_dv
        v = v + self.dt * d.a
        E, D = self._following(v)
        return Linearised(
            q=np.asarray(self.model.integrate(q, self.dt * v)), v=v, forces=d.forces, A=A,
            B=self.dt * (d.a_dtau @ self._drive), forces_x=forces_x, forces_u=d.forces_dtau @ self._drive, E=E, D=D,
        )  # fmt: skip

    def _following(self, v: Array) -> tuple[Array, Array]:
        """E and D of q (+) dt v, by q and v, in tangent spaces."""
        n, nv = v.shape
        E = np.zeros((n, nv, nv))
        E[:, range(nv), range(nv)] = 1.0
        D = self.dt * E
        for joint in self._turning:
            block = (slice(None), joint.v_slice, joint.v_slice)
            way = -self.dt * v[:, joint.v_slice]
            carried = _carried(np.concatenate([way[:, None], _AT[:, None] * way[:, None]], axis=1))
            E[block] = carried[:, 0]
            D[block] = self.dt * np.tensordot(carried[:, 1:], _SHARE, axes=(1, 0))
        return E, D

    def holding(self, q: Array, closed: NDArray[np.bool_]) -> Array:
        """Controls (nu,) that hold a posture (nq,) still, with forces of contacts; the best there are."""
        J = constraint_jacobian(self.model, q, self.constraints)
        rows = [part.stop - part.start for part in self.constraints.slices]
        keep = np.repeat(closed, rows)
        wanted = _core.gravity_forces(self.model, q) - self.forces_of_joints(
            q[None], np.zeros((1, self.model.nv)), np.zeros((1, self.sim.nu))
        )[0]  # fmt: skip
        both = np.concatenate([self._drive, J[keep].T], axis=1)
        return np.asarray(np.linalg.lstsq(both, wanted, rcond=1e-10)[0][: self.sim.nu])


def _with_armature(model: Model, extra: Array) -> Model:
    """The same model with more inertia about its joints, (nv,)."""
    if not extra.any():
        return model
    joints = []
    for joint in model.description.joints:
        of_model = next((j for j in model.joints if j.name == joint.name), None)
        if of_model is not None and extra[of_model.v_slice].any():
            if of_model.nq != of_model.nv:
                raise ValueError(f"sim: joint {joint.name!r} is damped, and its inertia would have to turn with it")
            joint = replace(joint, armature=of_model.armature + extra[of_model.v_slice])
        joints.append(joint)
    return Model(replace(model.description, joints=tuple(joints)))


def _carried(way: Array) -> Array:
    """How motions (..., 3 or 6) change with the axes they are given in, which move along ``-way``."""
    if way.shape[-1] == 3:
        return exp3(way)
    X = exp6(way)
    R, p = X[..., :3, :3], X[..., :3, 3]
    out = np.zeros((*way.shape, 6))
    out[..., :3, :3] = out[..., 3:, 3:] = R
    out[..., :3, 3:] = np.cross(p[..., None, :], np.swapaxes(R, -1, -2)).swapaxes(-1, -2)
    return out
