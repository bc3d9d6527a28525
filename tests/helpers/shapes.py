"""Random placed shapes, their support functions, and two peers that measure the distance of shapes."""

from dataclasses import dataclass
from typing import Any

import coal
import mujoco
import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull as Qhull

from featherweight import _core

Array = npt.NDArray[np.float64]
IDENTITY = np.eye(3)

CONVEX = ("sphere", "capsule", "cylinder", "ellipsoid", "box", "convex")


@dataclass(frozen=True)
class Contacts:
    position: Array  # (k, 3)
    normal: Array  # (k, 3)
    gap: Array  # (k,)
    feature: npt.NDArray[np.uint32]  # (k,)

    def __len__(self) -> int:
        return len(self.gap)


@dataclass(frozen=True)
class Placed:
    """A shape at a pose (4, 4); points: the vertices of a hull."""

    kind: str
    size: Any
    pose: Array
    points: Array | None = None

    def moved(self, pose: Array) -> "Placed":
        """Carried along by a motion (4, 4) of the world."""
        return Placed(self.kind, self.size, pose @ self.pose, self.points)

    def shifted(self, shift: Array) -> "Placed":
        return self.moved(pose_of(np.eye(3), shift))

    def support(self, direction: Array) -> float:
        """How far the shape reaches along a direction of length one, from formulas."""
        d = self.pose[:3, :3].T @ direction
        return float(self.pose[:3, 3] @ direction) + local_support(self, d)


def local_support(shape: Placed, d: Array) -> float:
    size = np.asarray(shape.size if shape.points is None else [0.0], dtype=float)
    if shape.points is not None:
        return float((shape.points @ d).max())
    if shape.kind == "sphere":
        return float(size[0])
    if shape.kind == "capsule":
        return float(size[0] + size[1] * abs(d[2]))
    if shape.kind == "cylinder":
        return float(size[0] * np.hypot(d[0], d[1]) + size[1] * abs(d[2]))
    if shape.kind == "ellipsoid":
        return float(np.linalg.norm(size * d))
    return float(np.abs(size * d).sum())


def pose_of(R: npt.ArrayLike, p: npt.ArrayLike) -> Array:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X


def random_rotation(rng: np.random.Generator) -> Array:
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q *= np.sign(np.diag(R))
    return np.asarray(Q * np.linalg.det(Q))


def hull_of(points: Array) -> tuple[_core.ConvexHull, Array]:
    hull = Qhull(points)
    return _core.ConvexHull(points, hull.simplices.tolist()), points


def placed(kind: str, size: Any, R: npt.ArrayLike = IDENTITY, p: npt.ArrayLike = (0, 0, 0)) -> Placed:
    """For kind "convex", size is the points to take the hull of."""
    if kind == "convex":
        hull, points = hull_of(np.asarray(size, dtype=float))
        return Placed(kind, hull, pose_of(R, p), points)
    return Placed(kind, list(size), pose_of(R, p))


def random_shape(rng: np.random.Generator, kind: str) -> Placed:
    """Sizes between 0.2 and 1, centre within a metre or so."""
    R, p = random_rotation(rng), rng.normal(size=3) * 0.7
    if kind == "convex":
        return placed(kind, rng.normal(size=(rng.integers(5, 40), 3)) * rng.uniform(0.2, 0.5, 3), R, p)
    n = {"plane": 0, "sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}[kind]
    return placed(kind, rng.uniform(0.2, 1.0, n), R, p)


def collide(a: Placed, b: Placed, margin: float) -> Contacts:
    return Contacts(*_core.collide(a.kind, a.size, a.pose, b.kind, b.size, b.pose, margin))


def separation(a: Placed, b: Placed, normal: Array) -> float:
    """Signed distance of the shapes along a normal from B to A."""
    return -a.support(-normal) - b.support(normal)


def distance_by_coal(a: Placed, b: Placed) -> float:
    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    request.gjk_tolerance, request.epa_tolerance = 1e-12, 1e-12
    request.gjk_max_iterations, request.epa_max_iterations = 1000, 1000
    return float(coal.distance(*_coal(a), *_coal(b), request, coal.DistanceResult()))


def _coal(shape: Placed) -> tuple[Any, Any]:
    pose = coal.Transform3s(shape.pose[:3, :3], shape.pose[:3, 3])
    if shape.points is not None:
        cloud = coal.StdVec_Vec3s()
        cloud.extend(list(shape.points))
        return coal.Convex.convexHull(cloud, False, ""), pose
    size = [float(s) for s in shape.size]
    if shape.kind == "sphere":
        return coal.Sphere(size[0]), pose
    if shape.kind == "capsule":
        return coal.Capsule(size[0], 2 * size[1]), pose
    if shape.kind == "cylinder":
        return coal.Cylinder(size[0], 2 * size[1]), pose
    if shape.kind == "ellipsoid":
        return coal.Ellipsoid(*size), pose
    return coal.Box(*(2 * s for s in size)), pose


def distance_by_mujoco(a: Placed, b: Placed) -> float:
    spec = mujoco.MjSpec()
    spec.option.ccd_tolerance, spec.option.ccd_iterations = 1e-12, 1000
    types = {
        "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
        "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
        "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
        "ellipsoid": mujoco.mjtGeom.mjGEOM_ELLIPSOID,
        "box": mujoco.mjtGeom.mjGEOM_BOX,
    }
    for shape in (a, b):
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, shape.pose[:3, :3].ravel())
        size = np.zeros(3)
        size[: len(shape.size)] = shape.size
        spec.worldbody.add_geom(type=types[shape.kind], size=size, pos=shape.pose[:3, 3], quat=quaternion)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return float(mujoco.mj_geomDistance(model, data, 0, 1, 1e3, None))


def outside(shape: Placed, x: Array) -> float:
    """How far a point is outside of a shape [m]: zero on the surface, negative inside."""
    p, size = shape.pose[:3, :3].T @ (x - shape.pose[:3, 3]), shape.size
    if shape.kind == "sphere":
        return float(np.linalg.norm(p) - size[0])
    if shape.kind == "capsule":
        return float(np.linalg.norm(p - [0, 0, np.clip(p[2], -size[1], size[1])]) - size[0])
    if shape.kind == "cylinder":
        return float(max(np.hypot(p[0], p[1]) - size[0], abs(p[2]) - size[1]))
    if shape.kind == "ellipsoid":
        return float((np.linalg.norm(p / size) - 1) * min(size))
    if shape.kind == "box":
        return float((np.abs(p) - size).max())
    if shape.kind == "plane":
        return float(p[2])
    corners = size.vertices[[face[0] for face in size.faces]]
    return float(((p - corners) * size.face_normals).sum(axis=1).max())
