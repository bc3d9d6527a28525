"""Popov-Vereshchagin with closed loops, O(n + m) for loops of bounded size: any rows.

Rows travel inward from all their ends. Those of a loop or coupling do not notice what moves their links as one; where
their branches have met no further joint can move them, and they are eliminated there, whatever the posture. Copies of a
row that come along two branches add up. Rows that the world holds go on to it. What rounding leaves the rows to miss is
measured on the links, and solved for once more. Oracle: dense algebra.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from featherweight.arrays import Array
from featherweight.model.description import ModelDescription
from featherweight.reference.articulated import Bodies, driving, rigid_bodies
from featherweight.reference.kinematics import find_frame, frame_placement, link_motion
from featherweight.reference.spatial import inverse, motion_cross, motion_transform
from featherweight.reference.tree import WORLD, LinkState, path, sizes, slices


@dataclass(frozen=True, eq=False)
class LoopRows:
    """Rows sum_l K_l a_l + E a = k on the accelerations of links and joints."""

    ends: tuple[tuple[int, Array], ...]  # link, K (m, 6) in its coordinates
    E: Array  # (m, nv)
    k: Array  # (m,)
    grounded: bool = False  # relative to the world


def closure_rows(
    model: ModelDescription,
    q: Array,
    v: Array,
    frame: str,
    to: str,
    *,
    axes: Sequence[int] = (0, 1, 2, 3, 4, 5),
    of_point: bool = False,
) -> LoopRows:
    """The motion of ``frame`` as seen from the link of ``to``, both at the origin and in the axes of the first.

    ``of_point``: the acceleration of the origin instead of the spatial one.
    """
    X_WA, velocity = frame_placement(model, q, frame), link_motion(model, q, v, np.zeros_like(v))[0]
    seen = []
    for name in (frame, to):
        link, X_LF = find_frame(model, name)
        seen.append((link, motion_transform(inverse(X_WA) @ frame_placement(model, q, name) @ inverse(X_LF))))
    x, y = (K @ velocity[link] for link, K in seen)
    bias = motion_cross(x) @ y  # the axes of the frame turn
    if of_point:
        bias[:3] += np.cross(x[3:], x[:3] - y[:3])
    (a, K_a), (b, K_b) = seen
    picked = list(axes)
    return LoopRows(((a, K_a[picked]), (b, -K_b[picked])), np.zeros((len(picked), sizes(model)[1])), -bias[picked])


def coupling_rows(model: ModelDescription, q: Array, v: Array, terms: Mapping[str, Sequence[float]]) -> LoopRows:
    """The polynomials of the coordinates of the named joints, coefficients from the constant up, add up to zero."""
    E, bias = np.zeros((1, sizes(model)[1])), 0.0
    for joint, (at, dof) in zip(model.joints, slices(model), strict=True):
        if joint.name in terms:
            p = np.polynomial.Polynomial(np.asarray(terms[joint.name], dtype=np.float64))
            E[0, dof] = p.deriv(1)(q[at])
            bias += float((p.deriv(2)(q[at]) * v[dof] ** 2)[0])
    return LoopRows((), E, np.array([-bias]))


def loop_pv(
    model: ModelDescription, q: Array, v: Array, tau: Array, rows: Sequence[LoopRows], *, corrections: int = 3
) -> tuple[Array, Array]:
    """Accelerations (nv,) and the forces of all rows (m,)."""
    bodies = rigid_bodies(model, q, v)
    loops = Loops(bodies, rows)
    a, f, links = loops.solve(loops.k, driving(bodies, tau), bodies.c, bodies.p)
    for _ in range(corrections):
        missed = loops.k - np.einsum("imj,ij->m", loops.ends, links) - loops.E @ a
        steps = loops.solve(missed, 0 * a, 0 * bodies.c, 0 * bodies.p)
        a, f, links = a + steps[0], f + steps[1], links + steps[2]
    return a, f


@dataclass(frozen=True, eq=False)
class Elimination:
    """Rows that ended at a link: L f = k - K a - L_passing f_passing."""

    at: list[int]
    passing: list[int]
    K: Array
    L_passing: Array
    inverse: Array


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two articulated bodies, and how the rows pass it."""

    U: Array
    D_inverse: Array
    I_a: Array
    G: Array  # (m, nv of the joint) how its accelerations move them
    K_a: Array  # (m, 6) how the parent's acceleration moves them


class Loops:
    """Everything eliminated; forces and accelerations follow by linear sweeps."""

    def __init__(self, bodies: Bodies, rows: Sequence[LoopRows]) -> None:
        """Leaf to root."""
        n, m = len(bodies.links), sum(len(row.k) for row in rows)
        self.links, self.k = bodies.links, np.concatenate([row.k for row in rows])
        self.E, self.ends = np.concatenate([row.E for row in rows]), np.zeros((n + 1, m, 6))
        top, first = list[int](), 0
        for row in rows:
            for on, K_end in row.ends:
                self.ends[on, first : first + len(row.k)] += K_end
            top += [WORLD if row.grounded else meeting(bodies.links, row)] * len(row.k)
            first += len(row.k)
        I_A, K, L = bodies.inertia.copy(), self.ends.copy(), np.zeros((n + 1, m, m))
        self.eliminated, self.joints = dict[int, Elimination](), dict[int, Joint]()
        for i in [*reversed(range(n)), WORLD]:
            at = [r for r in range(m) if top[r] == i]
            passing = [r for r in range(m) if r not in at and (np.any(K[i, r]) or np.any(L[i, r]))]
            Z = np.linalg.pinv(L[i][np.ix_(at, at)], rcond=1e-12, hermitian=True) if at else np.zeros((0, 0))
            gone = Elimination(at, passing, K[i, at], L[i][np.ix_(at, passing)], Z)
            self.eliminated[i] = gone
            if i == WORLD:
                return
            I_A[i] += gone.K.T @ Z @ gone.K
            K[i, passing] -= gone.L_passing.T @ Z @ gone.K
            L[i][np.ix_(passing, passing)] -= gone.L_passing.T @ Z @ gone.L_passing
            K[i, at], L[i, at], L[i][:, at] = 0.0, 0.0, 0.0
            link = bodies.links[i]
            U = I_A[i] @ link.S
            D_inverse = np.linalg.inv(link.S.T @ U + np.diag(link.armature))
            G = K[i] @ link.S + self.E[:, link.dofs]
            joint = Joint(U, D_inverse, I_A[i] - U @ D_inverse @ U.T, G, K[i] - G @ D_inverse @ U.T)
            self.joints[i] = joint
            I_A[link.parent] += link.X.T @ joint.I_a @ link.X
            K[link.parent] += joint.K_a @ link.X
            L[link.parent] += L[i] + G @ D_inverse @ G.T

    def solve(self, target: Array, tau: Array, c: Array, p: Array) -> tuple[Array, Array, Array]:
        """Accelerations of joints, forces, accelerations of links: linear in all arguments."""
        p_A, k, u = p.copy(), target.copy(), np.zeros_like(tau)
        for i, link in reversed(list(enumerate(self.links))):
            joint, gone = self.joints[i], self.eliminated[i]
            push = gone.inverse @ k[gone.at]
            p_A[i] -= gone.K.T @ push
            k[gone.passing] -= gone.L_passing.T @ push
            u[link.dofs] = tau[link.dofs] - link.S.T @ p_A[i]
            answer = joint.D_inverse @ u[link.dofs]
            p_A[link.parent] += link.X.T @ (p_A[i] + joint.I_a @ c[i] + joint.U @ answer)
            k -= joint.K_a @ c[i] + joint.G @ answer
        a, f, motion = np.zeros_like(tau), np.zeros_like(target), np.zeros_like(p)
        world = self.eliminated[WORLD]
        f[world.at] = world.inverse @ k[world.at]
        for i, link in enumerate(self.links):
            joint, gone = self.joints[i], self.eliminated[i]
            motion[i] = link.X @ motion[link.parent] + c[i]
            a[link.dofs] = joint.D_inverse @ (u[link.dofs] - joint.U.T @ motion[i] + joint.G.T @ f)
            motion[i] += link.S @ a[link.dofs]
            f[gone.at] = gone.inverse @ (k[gone.at] - gone.K @ motion[i] - gone.L_passing @ f[gone.passing])
        return a, f, motion


def meeting(links: list[LinkState], row: LoopRows) -> int:
    """The outermost link that all ends of a row are on or outboard of."""
    starts = [link for link, _ in row.ends]
    starts += [link.parent for link in links if np.any(row.E[:, link.dofs])]
    ways = [path(links, start) if start != WORLD else [] for start in starts]
    common = set.intersection(*(set(way) for way in ways)) if ways else set[int]()
    return max(common, default=WORLD)
