"""Cone problems: random ones, those of robots and of stacked boxes, and the laws by dense formulas as their oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import featherweight as fw
from featherweight import _testing
from featherweight.arrays import Array

#: law, rows, normal, mu, lower, upper
Block = tuple[str, int, int, float, float, float]

GRAVITY = 9.81
STEP = 2e-3


def point(mu: float) -> Block:
    return ("point", 3, -1, mu, 0.0, 0.0)


def disc(mu: float, normal: int, rows: int) -> Block:
    return ("disc", rows, normal, mu, 0.0, 0.0)


def equality(rows: int) -> Block:
    return ("equality", rows, -1, 0.0, 0.0, 0.0)


def interval(lower: float, upper: float) -> Block:
    return ("interval", 1, -1, 0.0, lower, upper)


UNILATERAL: Block = ("unilateral", 1, -1, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Cones:
    """sigma = G lambda + g with the laws of ``blocks``."""

    G: Array
    g: Array
    blocks: Sequence[Block]
    scale: float

    def solve(self, **options: Any) -> tuple[Array, dict[str, Any]]:
        """Impulses and report. max_gauss_seidel, max_pile: iterations; others as in ``_testing.solve_cone_problem``."""
        impulses, report = _testing.solve_cone_problem(self.G, self.g, self.blocks, scale=self.scale, **options)
        return impulses, report

    def residual(self, impulses: Array) -> float:
        """The natural map with De Saxce's correction [m/s], relative to the scale: zero at solutions only."""
        sigma, worst, first = self.G @ impulses + self.g, 0.0, 0
        for law, rows, normal, mu, lower, upper in self.blocks:
            own = slice(first, first + rows)
            first += rows
            speed, impulse = sigma[own].copy(), impulses[own]
            D = max(float(np.mean(np.diag(self.G)[own])), 1e-300)
            if law == "point":
                speed[2] += mu * np.hypot(speed[0], speed[1])
            there = impulse - speed / D
            if law == "equality":
                nearest = there
            elif law == "unilateral":
                nearest = np.maximum(there, 0.0)
            elif law == "interval":
                nearest = np.clip(there, lower, upper)
            elif law == "disc":
                radius, length = mu * max(impulses[normal], 0.0), float(np.linalg.norm(there))
                nearest = there * (min(1.0, radius / length) if length > 0 else 1.0)
            else:
                nearest = onto_cone(there, mu)
            worst = np.maximum(worst, D * np.abs(impulse - nearest).max() / self.scale)
        return float(worst)


def onto_cone(x: Array, mu: float) -> Array:
    """The nearest point with |x_T| <= mu x_N."""
    length = float(np.hypot(x[0], x[1]))
    if length <= mu * x[2]:
        return x
    if mu * length <= -x[2]:
        return np.zeros(3)
    normal = (mu * length + x[2]) / (1 + mu * mu)
    return np.array([mu * normal * x[0] / length, mu * normal * x[1] / length, normal])


def random_points(rng: np.random.Generator, n: int, *, dependent: bool = False) -> Cones:
    """n contacts; dependent ones have fewer degrees of freedom than rows, and g is a motion of these."""
    m = 3 * n
    A = rng.normal(size=(m, max(3, 2 * n) if dependent else m + 2))
    G = A @ A.T + (0.0 if dependent else 10.0 ** rng.uniform(-6, -2)) * np.eye(m)
    g = A @ rng.normal(size=A.shape[1]) if dependent else rng.normal(size=m)
    return Cones(G, g, [point(mu) for mu in rng.uniform(0.1, 1.5, n)], float(np.abs(g).max()))


def random_mixture(rng: np.random.Generator) -> Cones:
    """Blocks of all laws in random order, some with dependent rows."""
    blocks: list[Block] = []
    m, normals = 0, []
    for law in rng.choice(["point", "unilateral", "interval", "equality", "disc"], rng.integers(2, 10)):
        if law == "point":
            blocks.append(point(rng.uniform(0.1, 1.5)))
            normals.append(m + 2)
        elif law == "unilateral":
            blocks.append(UNILATERAL)
            normals.append(m)
        elif law == "interval":
            blocks.append(interval(-rng.uniform(0, 0.3), rng.uniform(0, 0.3)))
        elif law == "equality":
            blocks.append(equality(int(rng.integers(1, 7))))
        elif normals:
            blocks.append(disc(rng.uniform(0.01, 0.3), int(rng.choice(normals)), int(rng.integers(1, 3))))
        m = sum(block[1] for block in blocks)
    A = rng.normal(size=(m, m + 3))
    row = 0
    for law, rows, *_ in blocks:
        if law == "equality" and rows > 3:  # said twice
            A[row + rows - 1] = A[row]
        row += rows
    return Cones(A @ A.T, A @ rng.normal(size=m + 3), blocks, 1.0)


def cross(r: Array) -> Array:
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def _of_motion(J: Array, H: Array, velocity: Array, gaps: Array, blocks: Sequence[Block]) -> Cones:
    G = J @ np.linalg.solve(H, J.T)
    moving = J @ velocity
    return Cones((G + G.T) / 2, moving + gaps, blocks, max(float(np.abs(moving).max()), GRAVITY * STEP))


@cache
def _model(name: str) -> fw.Model:
    model: fw.Model = getattr(fw.models, name)()
    return model


def robot(rng: np.random.Generator, kind: str) -> Cones:
    """A "quadruped" on its feet or a "humanoid" on the corners of its soles, standing, falling or sliding.

    "quadruped_joints": with dry friction in all joints, some on their stops, and two that are coupled.
    """
    quadruped = kind.startswith("quadruped")
    model = _model("quadruped" if quadruped else "humanoid")
    q, lift = model.neutral(), rng.choice([0.0, 0.1, 1.0])
    if quadruped:
        q[7:] = np.tile([0.0, 0.7, -1.4], 4)
        ends = [(f"{leg}_{side}_foot", np.zeros(3)) for leg in ("front", "hind") for side in ("left", "right")]
    else:
        ends = [
            (f"{side}_sole", np.array([x, y, 0.0]))
            for side in ("left", "right")
            for x in (-0.11, 0.11)
            for y in (-0.05, 0.05)
        ]
    slip = 0.05 * lift * rng.normal(size=model.nv)
    q = model.integrate(q, slip)
    v = rng.choice([0.0, 0.05, 1.0]) * rng.normal(size=model.nv)
    velocity = v + STEP * fw.aba(model, q, v, np.zeros(model.nv))
    rows, heights = [], []
    for frame, offset in ends:
        X, J = fw.frame_placement(model, q, frame), fw.jacobian(model, q, frame, reference="local_world_aligned")
        r = X[:3, :3] @ offset
        rows.append(J[:3] - cross(r) @ J[3:])
        heights.append(X[2, 3] + r[2])
    blocks, gaps = [point(rng.uniform(0.3, 1.0))] * len(ends), np.zeros(3 * len(ends))
    gaps[2::3] = 0.1 * lift * (np.array(heights) - min(heights)) / STEP
    if kind == "quadruped_joints":
        joints = np.eye(model.nv)[6:]
        stops = joints[rng.choice(12, 3, replace=False)]
        rows += [joints, stops, joints[:1] - joints[3:4]]
        blocks = [*blocks, *[interval(-0.1 * STEP, 0.1 * STEP)] * 12, *[UNILATERAL] * 3, equality(1)]
        gaps = np.concatenate([gaps, np.zeros(16)])
    return _of_motion(np.vstack(rows), fw.crba(model, q), velocity, gaps, blocks)


def boxes(rng: np.random.Generator, n: int, *, ratio: float = 1.0, sliding: bool = False) -> Cones:
    """n boxes in a stack, 4 contacts between neighbours; the topmost is ``ratio`` times as heavy as the lowest."""
    masses, side = np.geomspace(1.0, ratio, n), 0.2
    H = np.diag(np.concatenate([[m] * 3 + [m * side**2 / 6] * 3 for m in masses]))
    rows = []
    for i in range(n):
        shift = np.array([*rng.uniform(-0.03, 0.03, 2), side])
        for x in (-0.5, 0.5):
            for y in (-0.5, 0.5):
                r, J = side * np.array([x, y, -0.5]), np.zeros((3, 6 * n))
                J[:, 6 * i : 6 * i + 6] = np.hstack([np.eye(3), -cross(r)])
                if i > 0:
                    J[:, 6 * i - 6 : 6 * i] = -np.hstack([np.eye(3), -cross(r + shift)])
                rows.append(J)
    velocity = 2e-3 * rng.normal(size=6 * n)
    velocity[2::6] -= GRAVITY * STEP
    if sliding:
        velocity[:6] += [1.0, 0.2, 0.0, 0.0, 0.0, 0.5]
    return _of_motion(np.vstack(rows), H, velocity, np.zeros(12 * n), [point(0.6)] * (4 * n))


def pile(rng: np.random.Generator, n: int, *, spin: bool = False) -> Cones:
    """n balls of 1 kg, about on a lattice in a pit, neighbours touching. spin: with friction about normals."""
    side, radius = round(n ** (1 / 3)), 0.05
    places = np.array([(k % side, k // side % side, k // side**2) for k in range(n)]) * 2 * radius
    places = places + 0.3 * radius * rng.normal(size=(n, 3))
    lowest, highest = places.min(0), places.max(0)
    J, blocks, rows = [], [], 0
    tangents = {axis: np.roll(np.eye(3), -axis - 1, axis=0) for axis in range(3)}  # t1, t2, then the axis

    def touch(i: int, j: int, normal: Array) -> None:
        nonlocal rows
        axis = int(np.argmax(np.abs(normal)))
        first = np.cross(tangents[axis][0], normal)
        frame = np.array([first / np.linalg.norm(first), np.cross(normal, first / np.linalg.norm(first)), normal])
        own = np.zeros((4 if spin else 3, 6 * n))
        for ball, sign in ((i, 1.0), (j, -1.0)):
            if ball >= 0:
                arm = -sign * radius * normal  # from the centre of the ball
                own[:3, 6 * ball : 6 * ball + 3] = sign * frame
                own[:3, 6 * ball + 3 : 6 * ball + 6] = -sign * frame @ cross(arm)
                if spin:
                    own[3, 6 * ball + 3 : 6 * ball + 6] = sign * normal
        J.append(own)
        blocks.append(point(0.6))
        if spin:
            blocks.append(disc(0.01, rows + 2, 1))
        rows += len(own)

    for i in range(n):
        for axis in range(3):
            if places[i, axis] < lowest[axis] + radius:
                touch(i, -1, np.eye(3)[axis])
            if axis < 2 and places[i, axis] > highest[axis] - radius:
                touch(i, -1, -np.eye(3)[axis])
        for j in range(i):
            apart = places[i] - places[j]
            if np.linalg.norm(apart) < 2.0 * radius:
                touch(i, j, apart / np.linalg.norm(apart))
    velocity = 2e-3 * rng.normal(size=6 * n)
    velocity[2::6] -= GRAVITY * STEP
    inertia = np.diag(np.tile([1.0] * 3 + [0.4 * radius**2] * 3, n))
    return _of_motion(np.vstack(J), inertia, velocity, np.zeros(rows), blocks)


def with_g(problem: Cones, g: Array) -> Cones:
    return replace(problem, g=g)
