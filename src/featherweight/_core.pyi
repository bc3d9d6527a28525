"""The C++ core of featherweight."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, overload

import numpy
import numpy.typing
from numpy.typing import NDArray


class Model:
    """A compiled robot: immutable, shareable between threads."""

    def __init__(self, name: str, gravity: Sequence[float], links: Sequence[tuple[str, float, Sequence[float], Sequence[float]]], joints: Sequence[tuple[str, str, int, int, Sequence[float], Sequence[float], Sequence[float], Sequence[float], float, Sequence[float]]], frames: Sequence[tuple[str, int, Sequence[float]]]) -> None: ...

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""

    @property
    def nv(self) -> int:
        """
        Number of degrees of freedom: the length of velocities, accelerations and joint forces.
        """

    @property
    def n_links(self) -> int:
        """Number of links, those on fixed joints included."""

    @property
    def mass(self) -> float:
        """Total mass [kg]."""

    @property
    def gravity(self) -> numpy.typing.NDArray[numpy.float64]:
        """Gravity, (3,) [m/s^2], world axes."""

    def neutral(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        The configuration with every coordinate zero and every quaternion the identity, (nq,).
        """

    def joint_ranges(self) -> list[tuple[int, int, int, int]]:
        """For every joint (first q, number of q, first v, number of v)."""

    def integrate(self, q: numpy.typing.ArrayLike, dv: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
        """
        The configuration reached from q (..., nq) by moving along the tangent vector dv (..., nv) for unit time.

        Rotations compose with the exponential, a free joint follows the twist dv; quaternions stay normalised.
        """

    def difference(self, q0: numpy.typing.ArrayLike, q1: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
        """
        The tangent vector (..., nv) that leads from q0 to q1: integrate(q0, difference(q0, q1)) is q1.
        """

def forward_kinematics(model: Model, q: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    Placements of all links in the world, (..., n_links, 4, 4), in the order of model.link_names.

    q: configurations, (nq,) or (batch, nq).

    >>> fw.forward_kinematics(fw.models.quadruped(), fw.models.quadruped().neutral()).shape
    (17, 4, 4)
    """

def frame_placement(model: Model, q: numpy.typing.ArrayLike, frame: str | int, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    Placement of a link or frame in the world, (..., 4, 4).

    q: configurations, (nq,) or (batch, nq). frame: name or index.

    >>> fw.frame_placement(fw.models.pendulum(), [0.0], "tip")[:3, 3] + 0.0
    array([ 0.,  0., -1.])
    """

def frame_velocity(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, frame: str | int, *, reference: Literal['local', 'world', 'local_world_aligned'] = 'local', num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    Spatial velocity [linear; angular] of a link or frame, (..., 6) [m/s, rad/s].

    reference: 'local' (axes and origin of the frame), 'world' (those of the world) or 'local_world_aligned'
    (origin of the frame, axes of the world).

    >>> fw.frame_velocity(fw.models.pendulum(), [0.0], [2.0], "tip") + 0.0
    array([-2.,  0.,  0.,  0.,  2.,  0.])
    """

def frame_acceleration(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: numpy.typing.ArrayLike, frame: str | int, *, reference: Literal['local', 'world', 'local_world_aligned'] = 'local', classical: bool = False, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    Spatial acceleration [linear; angular] of a link or frame, (..., 6) [m/s^2, rad/s^2], gravity not included.

    classical: instead, the acceleration of the material point at the origin (adds angular x linear velocity).

    >>> fw.frame_acceleration(fw.models.pendulum(), [0.0], [2.0], [0.0], "tip", classical=True)[:3] + 0.0
    array([0., 0., 4.])
    """

def jacobian(model: Model, q: numpy.typing.ArrayLike, frame: str | int, *, reference: Literal['local', 'world', 'local_world_aligned'] = 'local', num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    Jacobian of a link or frame, (..., 6, nv): its spatial velocity in the same reference is jacobian @ v.

    >>> fw.jacobian(fw.models.pendulum(), [0.0], "tip").T + 0.0
    array([[-1.,  0.,  0.,  0.,  1.,  0.]])
    """

def rnea(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: numpy.typing.ArrayLike, f_ext: numpy.typing.ArrayLike | None = None, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    Inverse dynamics: the joint forces tau = H(q) a + h(q, v) - J^T f_ext, (..., nv).

    f_ext: forces [force; moment] on the links, (n_links, 6) or (batch, n_links, 6), each in its link's axes at its origin.

    >>> fw.rnea(fw.models.pendulum(), [0.0], [0.0], [2.0])
    array([2.])
    """

def aba(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, tau: numpy.typing.ArrayLike, f_ext: numpy.typing.ArrayLike | None = None, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    Forward dynamics: the accelerations a = H(q)^-1 (tau + J^T f_ext - h(q, v)), (..., nv), in O(nv).

    f_ext: forces [force; moment] on the links, (n_links, 6) or (batch, n_links, 6), each in its link's axes at its origin.

    >>> fw.aba(fw.models.pendulum(), [0.0], [0.0], [2.0])
    array([2.])
    """

def bias_forces(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    h(q, v): the joint forces that balance gravity, Coriolis and centrifugal forces, (..., nv).

    >>> fw.bias_forces(fw.models.pendulum(), [0.5 * np.pi], [0.0]).round(2)
    array([9.81])
    """

def gravity_forces(model: Model, q: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    The joint forces that hold the robot still against gravity, (..., nv).

    >>> fw.gravity_forces(fw.models.pendulum(), [0.5 * np.pi]).round(2)
    array([9.81])
    """

def crba(model: Model, q: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    The joint-space inertia H(q), (..., nv, nv), symmetric, armature included.

    >>> fw.crba(fw.models.pendulum(length=2.0), [0.3])
    array([[4.]])
    """

def minverse(model: Model, q: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    The inverse of the joint-space inertia, (..., nv, nv), computed without forming H, in O(nv^2).

    >>> fw.minverse(fw.models.pendulum(length=2.0), [0.3])
    array([[0.25]])
    """

def center_of_mass(model: Model, q: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    Centre of mass of everything that moves, (..., 3) [m], world axes.

    >>> fw.center_of_mass(fw.models.pendulum(length=2.0), [0.0]) + 0.0
    array([ 0.,  0., -2.])
    """

def kinetic_energy(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    1/2 v^T H v, rotors (armature) included, (...) [J].

    >>> float(fw.kinetic_energy(fw.models.pendulum(), [0.0], [2.0]))
    2.0
    """

def potential_energy(model: Model, q: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    Potential energy of gravity, zero with the centre of mass at the world's origin, (...) [J].

    >>> round(float(fw.potential_energy(fw.models.pendulum(), [0.0])), 2)
    -9.81
    """

def centroidal_momentum(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    Momentum [linear; angular] about the centre of mass, (..., 6) [kg m/s, kg m^2/s], world axes.

    >>> fw.centroidal_momentum(fw.models.box(mass=2.0), [0, 0, 0, 0, 0, 0, 1], [3, 0, 0, 0, 0, 0])
    array([6., 0., 0., 0., 0., 0.])
    """

def rnea_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: numpy.typing.ArrayLike, f_ext: numpy.typing.ArrayLike | None, num_threads: int | None) -> numpy.typing.NDArray[Any]:
    """tau, then its derivatives by q, v and a: (..., nv + 3 nv^2)."""

def rnea_vjp(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: numpy.typing.ArrayLike, w: numpy.typing.ArrayLike, f_ext: numpy.typing.ArrayLike | None, num_threads: int | None) -> numpy.typing.NDArray[Any]:
    """w^T times the derivatives of tau by q, v and a: (..., 3 nv)."""

def aba_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, tau: numpy.typing.ArrayLike, f_ext: numpy.typing.ArrayLike | None, num_threads: int | None) -> numpy.typing.NDArray[Any]:
    """a, then its derivatives by q, v and tau: (..., nv + 3 nv^2)."""

def aba_vjp(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, tau: numpy.typing.ArrayLike, w: numpy.typing.ArrayLike, f_ext: numpy.typing.ArrayLike | None, num_threads: int | None) -> numpy.typing.NDArray[Any]:
    """w^T times the derivatives of a by q, v and tau: (..., 3 nv)."""

def frame_velocity_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, frame: str | int, reference: str, num_threads: int | None) -> numpy.typing.NDArray[Any]:
    """Derivatives of frame_velocity by q and v: (..., 2, 6, nv)."""

def frame_acceleration_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: numpy.typing.ArrayLike, frame: str | int, reference: str, classical: bool, num_threads: int | None) -> numpy.typing.NDArray[Any]:
    """Derivatives of frame_acceleration by q, v and a: (..., 3, 6, nv)."""

def jacobian_time_derivative(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, frame: str | int, *, reference: Literal['local', 'world', 'local_world_aligned'] = 'local', num_threads: int | None = None) -> numpy.typing.NDArray[Any]:
    """
    The rate of a frame's Jacobian as the robot moves with v, (..., 6, nv).

    >>> fw.jacobian_time_derivative(fw.models.pendulum(), [0.0], [2.0], "tip").shape
    (6, 1)
    """

def center_of_mass_derivatives(model: Model, q: numpy.typing.ArrayLike, num_threads: int | None) -> numpy.typing.NDArray[Any]:
    """Derivative of the centre of mass by q: (..., 3, nv)."""

def centroidal_momentum_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, num_threads: int | None) -> numpy.typing.NDArray[Any]:
    """Derivatives of the centroidal momentum by q and v: (..., 2, 6, nv)."""

def constrained_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: numpy.typing.ArrayLike, constraints: ConstraintSet, inputs: numpy.typing.ArrayLike, active: numpy.typing.ArrayLike | None, f_ext: numpy.typing.ArrayLike | None, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
    """
    Derivatives of a by q, v and tau, then of the forces: (..., 3 nv^2 + 3 n_rows nv).

    inputs: per row its force, damping, and what stiffness adds per motion of its frame (6), (..., n_rows, 8).
    """

def impulse_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, after: numpy.typing.ArrayLike, constraints: ConstraintSet, inputs: numpy.typing.ArrayLike, active: numpy.typing.ArrayLike | None, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
    """
    Derivatives of the velocity after an impact by q and v, then of the impulses: (..., 2 nv^2 + 2 n_rows nv).

    inputs: per row its impulse, restitution, and six zeros, (..., n_rows, 8).
    """

class ConstraintSet:
    """Constraints on the links of one model, compiled to rows."""

    def __init__(self, model: Model, constraints: Sequence[tuple[object, Sequence[float], bool, Sequence[int], Sequence[float], object, Sequence[float], float] | tuple[Sequence[tuple[int, Sequence[float]]], float]]) -> None: ...

    @property
    def n_rows(self) -> int:
        """Number of rows of all constraints."""

    @property
    def n_constraints(self) -> int:
        """Number of constraints."""

    @property
    def has_loops(self) -> bool:
        """
        Whether some rows are between links, or of joints: not all methods know such rows.
        """

    @property
    def limbs_inside(self) -> int:
        """
        Limbs that limb_pv ends on links that move on, where a singular posture asks for a careful solve.
        """

    @property
    def rows_at_root(self) -> int:
        """
        Most rows that no limb can move by itself, and that limb_pv solves for together at the root of a tree.
        """

def impulse_dynamics(model: Model, q: numpy.typing.ArrayLike, constraints: ConstraintSet, targets: numpy.typing.ArrayLike, active: numpy.typing.ArrayLike | None, method: str, tolerance: float, max_iterations: int, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
    """
    Per sample [velocity change, impulses, residual, iterations, converged]; targets are those of J dv.

    Constrained dynamics at rest and without weight: what forces are to accelerations, impulses are to velocities.
    """

def constrained_dynamics(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, tau: numpy.typing.ArrayLike, constraints: ConstraintSet, targets: numpy.typing.ArrayLike, active: numpy.typing.ArrayLike | None, f_ext: numpy.typing.ArrayLike | None, method: str, tolerance: float, max_iterations: int, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
    """
    Per sample [a, forces, residual, iterations, converged]; featherweight.constrained_dynamics unpacks it.
    """

def constrained_inverse_dynamics(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: numpy.typing.ArrayLike, constraints: ConstraintSet, unactuated: Sequence[int], active: numpy.typing.ArrayLike | None, f_ext: numpy.typing.ArrayLike | None, tolerance: float, max_iterations: int, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
    """
    Per sample [tau, forces, residual, converged]; featherweight.constrained_inverse_dynamics unpacks it.
    """

def gauss_newton(J: numpy.typing.NDArray[numpy.float64], slope: numpy.typing.NDArray[numpy.float64], curvature: numpy.typing.NDArray[numpy.float64], start: int) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]:
    """
    Of residuals J (nodes, rows, n) and what each row costs, (nodes, rows): J^T slope and J^T curvature J, (start + nodes, n) and (start + nodes, n, n), zero at the first ``start`` nodes.
    """

def riccati(A: numpy.typing.NDArray[numpy.float64], B: numpy.typing.NDArray[numpy.float64], Q: numpy.typing.NDArray[numpy.float64], R: numpy.typing.NDArray[numpy.float64], S: numpy.typing.NDArray[numpy.float64] | None, q: numpy.typing.NDArray[numpy.float64] | None, r: numpy.typing.NDArray[numpy.float64] | None, c: numpy.typing.NDArray[numpy.float64] | None, start: numpy.typing.NDArray[numpy.float64] | None, E: numpy.typing.NDArray[numpy.float64] | None, D: numpy.typing.NDArray[numpy.float64] | None, blocks: list[int], regularisation: float, lower: numpy.typing.NDArray[numpy.float64] | None, upper: numpy.typing.NDArray[numpy.float64] | None, num_threads: int | None) -> tuple[Any, ...]:
    """
    Gains, feed-forward, states, controls, value and its slope of the first state, and of each problem the node at which it failed or -1. lower, upper: of feed-forward.
    """

def constraint_jacobian(model: Model, q: numpy.typing.ArrayLike, constraints: ConstraintSet, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
    """J, (..., n_rows, nv)."""

def constraint_velocity(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, constraints: ConstraintSet, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
    """J v, (..., n_rows)."""

def constraint_bias(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, constraints: ConstraintSet, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
    """gamma, (..., n_rows)."""

def constraint_residual(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: numpy.typing.ArrayLike, constraints: ConstraintSet, targets: numpy.typing.ArrayLike, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
    """J a + gamma - targets, (..., n_rows)."""

def constraint_position_error(model: Model, q: numpy.typing.ArrayLike, constraints: ConstraintSet, positions: numpy.typing.ArrayLike, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
    """
    Distance of the constraints' frames from the poses positions (..., n_constraints, 4, 4), (..., n_rows).
    """

def delassus(model: Model, q: numpy.typing.ArrayLike, constraints: ConstraintSet, active: numpy.typing.ArrayLike | None, method: str, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
    """J H^-1 J^T, (..., n_rows, n_rows), by the kernel of that name."""

def delassus_inverse(model: Model, q: numpy.typing.ArrayLike, constraints: ConstraintSet, damping: numpy.typing.ArrayLike, active: numpy.typing.ArrayLike | None, method: str, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
    """
    Per sample [(J H^-1 J^T + damping)^-1 row by row, then the mobility of a row over its pivot, at most].
    """

class DelassusOperator:
    """Factors of Delassus matrices, to multiply and solve with."""

    def __init__(self, model: Model, q: numpy.typing.ArrayLike, constraints: ConstraintSet, damping: numpy.typing.ArrayLike, active: numpy.typing.ArrayLike | None, num_threads: int | None) -> None: ...

    def apply(self, x: numpy.typing.ArrayLike, n_sides: int, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
        """Delta x, (..., n_rows, n_sides)."""

    def solve(self, b: numpy.typing.ArrayLike, n_sides: int, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]:
        """(Delta + damping)^-1 b, (..., n_rows, n_sides)."""

    @property
    def bytes(self) -> int:
        """Memory of one pack of samples."""

class ConvexHull:
    """A convex polytope: polygons merged from the triangles of a hull."""

    def __init__(self, vertices: numpy.typing.ArrayLike, faces: Sequence[Sequence[int]]) -> None:
        """vertices (n, 3) [m], triangles of their convex hull, wound either way."""

    @property
    def vertices(self) -> numpy.typing.NDArray[numpy.float64]:
        """Corners, (n, 3) [m]."""

    @property
    def faces(self) -> list[list[int]]:
        """Corners of each polygon, counterclockwise from outside."""

    @property
    def face_normals(self) -> numpy.typing.NDArray[numpy.float64]:
        """Outward, (n, 3)."""

    def __repr__(self) -> str: ...

class HeightField:
    """Ground given by heights on a regular grid."""

    def __init__(self, heights: numpy.typing.ArrayLike, size: Sequence[float]) -> None:
        """
        heights (rows, columns) [m], rows along y; size: half edges x, y and thickness below the lowest height [m].
        """

    def __repr__(self) -> str: ...

def collide(kind_a: str, size_a: Sequence[float] | ConvexHull | HeightField, pose_a: numpy.typing.ArrayLike, kind_b: str, size_b: Sequence[float] | ConvexHull | HeightField, pose_b: numpy.typing.ArrayLike, margin: float) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.uint32]]:
    """
    Points closer than margin [m] of two shapes at poses (4, 4): position (k, 3), normal from B to A (k, 3), gap (k,), feature (k,).
    """

class PairRules:
    """Which shapes of a scene may touch, and by which law: its filter."""

    def __init__(self, shapes: Sequence[Sequence[int]], surfaces: Sequence[Sequence[int]], exceptions: Sequence[Sequence[int]]) -> None: ...

    def law(self, a: int, b: int) -> int:
        """Index of the law of two shapes; -1: they never touch."""

    def pairs(self, most: int) -> list[list[int]] | None:
        """
        First and second shape and law of all pairs that may touch; None if there are more.
        """

class Simulation:
    """A scene compiled for steps of one length."""

    def __init__(self, model: Model, dt: float, integrator: str, shapes: Sequence[tuple[str, int, Sequence[float], object]], rules: PairRules, materials: Sequence[tuple[float, float, float, float, float, float, float, int, float]], joint_rows: Sequence[tuple[str, int, float, float]], closures: Sequence[tuple[int, Sequence[float], int, Sequence[float], Sequence[int], float]], actuators: Sequence[tuple[int, float, float, float, float, float, float]], damping: Sequence[float], inertias: Sequence[float], springs: Sequence[tuple[int, float, float]], medium: tuple[float, float, Sequence[float]], boxes: Sequence[tuple[int, Sequence[float], Sequence[float]]], ellipsoids: Sequence[tuple[int, Sequence[float], Sequence[float], Sequence[float], Sequence[float], Sequence[float]]], transmissions: Sequence[tuple[Sequence[tuple[int, float, int]], int, Sequence[float], Sequence[float], Sequence[float], Sequence[float], Sequence[float], Sequence[float], Sequence[float] | None, int, float, int, float]], activations: Sequence[tuple[bool, Sequence[float], Sequence[float], Sequence[float], bool]], activated_laws: Sequence[tuple[int, int, float]], lifts: Sequence[tuple[int, float, Sequence[float]]], couplings: Sequence[Sequence[tuple[int, Sequence[float]]]], guides: Sequence[Sequence[float]], struts: Sequence[tuple[Sequence[tuple[int, Sequence[float]]], Sequence[float], Sequence[tuple[int, int, Sequence[float], bool, float, tuple[int, Sequence[float]] | None]], float, float, Sequence[float]]], tendon_rows: Sequence[tuple[str, Sequence[tuple[int, float]], float]], strut_rows: Sequence[tuple[str, int, float]], switched: Sequence[int]) -> None: ...

    def measure_struts(self, q: numpy.typing.NDArray[numpy.float64]) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]:
        """
        Of q (batch, nq): how long struts are [m], (batch, struts), and how that changes with velocities, (batch, struts, nv).
        """

    @property
    def dt(self) -> float:
        """Length of a step [s]."""

class KeptSolutions:
    """The solutions of the last step of a batch."""

    def __init__(self, simulation: Simulation, batch: int, motion: bool = False) -> None:
        """motion: with velocities without impulses and the eliminated tree."""

    def rows(self, simulation: Simulation) -> dict[str, numpy.typing.NDArray[numpy.float64]]:
        """
        Per row of all environments: environment, source, index, component, block, law, mode, impulse, velocity, shift, compliance, bound, correction.
        """

    @property
    def v_free(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Velocities without impulses, (batch, nv)."""

    @property
    def dofs(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        The eliminated tree, (batch, 13 nv): axis (6), carry (6) and weight of every degree of freedom.
        """

class SolverOptions:
    """How the cone problems of steps are solved."""

    def __init__(self, solver: str, tolerance: float, max_gauss_seidel: int, max_pile: int, max_newton: int, max_admm: int, matrix_free: bool) -> None: ...

class Environments:
    """The states of a batch of environments."""

    def __init__(self, simulation: Simulation, batch: int) -> None: ...

    def copy(self) -> Environments: ...

    @property
    def batch(self) -> int: ...

    @property
    def q(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    @property
    def switches(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Of the closures that are switched, (batch, n): 1 on, 0 off."""

    @property
    def grips(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        Where switched closures took hold, (batch, 7 n): poses of their second frames on those links.
        """

    @property
    def v(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    @property
    def activation(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Activations of actuators, (batch, na)."""

    @property
    def impulses(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Of joint rows and rows of closures, (batch, rows): warm starts [N s]."""

    @property
    def q_start(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Coordinates at the start of the last step, (batch, nq)."""

    @property
    def v_start(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Velocities at the start of the last step, (batch, nv)."""

    @property
    def acceleration(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Mean acceleration over the last step, (batch, nv)."""

    @property
    def applied(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        Joint forces of the last step, (batch, nv), those of actuators included.
        """

    def set_friction(self, factors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]) -> None:
        """Factor on all coefficients of friction of each environment."""

    def set_gains(self, factors: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)]) -> None:
        """
        Factor on the gains of each law of actuators of each environment, (batch, laws).
        """

    def set_gravity(self, gravity: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)]) -> None:
        """Gravity of each environment, (batch, 3) [m/s^2]."""

    def set_masses(self, factors: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)]) -> None:
        """
        Factor on mass and inertia of each link of each environment, (batch, n_links).
        """

    def set_heights(self, shape: int, heights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', writable=False)], bases: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]) -> None:
        """
        Heights of a height field in each environment, (batch, rows, columns) [m], and its thickness below them.
        """

    def rollout(self, first: int, n_steps: int, tau: numpy.typing.NDArray[numpy.float64] | None, control: numpy.typing.NDArray[numpy.float64] | None, f_ext: numpy.typing.NDArray[numpy.float64] | None, options: SolverOptions, num_threads: int | None, records: StepRecords | None = None, keep: KeptSolutions | None = None, read: bool = True) -> None:
        """
        Steps [first, first + n_steps) of a rollout. records: of the whole of it; keep: takes the solution of the last one; read: its impulses are those that are read, not those of the solver.
        """

    def contacts(self) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]: ...

    def read_impulses(self, num_threads: int | None) -> tuple[numpy.typing.NDArray[numpy.float64], ...]:
        """
        The least impulses that do what those of the solver do: of contacts, (n, 6) along t1, t2, n and about them; along degrees of freedom, (batch, nv) each, of limits, dry friction and servos that are rows; of rows of closures, (batch, rows) [N s, N m s].
        """

    def closure_errors(self) -> numpy.typing.NDArray[numpy.float64]:
        """How far rows of closures are from closed, (batch, rows) [m, rad]."""

    def contact_wrenches(self, impulses: numpy.typing.NDArray[numpy.float64], shapes: numpy.typing.NDArray[numpy.bool_], origins: numpy.typing.NDArray[numpy.float64]) -> numpy.typing.NDArray[numpy.float64]:
        """
        What contacts do to the shapes that are flagged, with impulses (n, 6) as they are read: (batch, 6), linear and about origins (batch, 3), world axes [N s, N m s].
        """

    def mark_pushed(self, columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], flags: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """
        Sets flags (batch, n) of the columns of shapes that a contact pushed in the last step; others stay.
        """

    def mark_failed(self, flags: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Sets flags (batch,) of environments that failed; others stay."""

    def set_contacts(self, start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], integers: Annotated[NDArray[numpy.float64], dict(shape=(None, 4), order='C', writable=False)], numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, 19), order='C', writable=False)]) -> None: ...

    def reports(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (batch, 24): residual (relative), primal, dual, complementarity, penetration, closure_error, gauss_seidel, newton, admm, unconverged of the last step; the same over all steps of the last call; contacts, failed, and of those that failed in it the degree of freedom and the step.
        """

    @property
    def any_failed(self) -> bool:
        """Whether velocities of some environment lost their meaning."""

    def add_totals(self, totals: Annotated[NDArray[numpy.float64], dict(shape=(None, 10), order='C', device='cpu')]) -> None:
        """
        Adds those of the last call: the worst of the first six columns of reports, and sums.
        """

    def set_reports(self, failed: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], residual: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]) -> None:
        """What steps and reading depend on."""

    def restart(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], q: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """
        Environments `rows` at q (rows, nq) and v (rows, nv), as if they had never been stepped.
        """

    def forgive(self, arg: int, /) -> None:
        """Environment as if it had never been stepped: no contacts, not failed."""

class StepRecords:
    """What a rollout records, while it is computed."""

    def __init__(self, simulation: Simulation, batch: int, n_steps: int, every: int, q: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], v: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], residual: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], penetration: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], contacts: bool) -> None:
        """
        Rows of every `every` steps and of the last: q (batch, rows, nq), v (batch, rows, nv), residual and penetration (batch, rows) are written to; contacts: what touched as well.
        """

    def contacts(self, start: Environments, n_rows: int) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]:
        """
        Of the first rows, row by row and in each all environments; as Environments.contacts.
        """

    def read_impulses(self, start: Environments, n_rows: int, num_threads: int | None) -> tuple[numpy.typing.NDArray[numpy.float64], ...]:
        """
        Of the first rows, in the same order; as Environments.read_impulses. start: those that were rolled out.
        """

def differentiate_step(after: Environments, kept: KeptSolutions, tau: numpy.typing.NDArray[numpy.float64] | None, control: numpy.typing.NDArray[numpy.float64] | None, f_ext: numpy.typing.NDArray[numpy.float64] | None, wrt: Sequence[str], product: str, x: numpy.typing.NDArray[numpy.float64] | None, num_threads: int | None) -> Any:
    """
    The last step of environments, whose solutions were kept, linearised. product: 'jacobian': (batch, 2 nv, columns), with columns that have no derivative and environments whose velocities are unique; 'forward': (batch, 2 nv) for x (batch, columns); 'reverse': (batch, columns) for x (batch, 2 nv).
    """

def relax_step(after: Environments, kept: KeptSolutions, tau: numpy.typing.NDArray[numpy.float64] | None, control: numpy.typing.NDArray[numpy.float64] | None, f_ext: numpy.typing.NDArray[numpy.float64] | None, wrt: Sequence[str], kappa: float, reach: float, num_threads: int | None) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]:
    """
    The last step of environments once more, with laws of contacts relaxed by kappa [J] for shapes up to reach [m] apart: its Jacobian (batch, 2 nv, columns), q and v at its end, and whether impulses converged.
    """

def ground_shapes(simulation: Simulation) -> list[int]:
    """Shapes of the world, in the order of the columns of 'heights'."""

def draw(streams: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """The next numbers of streams, from 0 to 1, into (rows, k)."""

def scatter(streams: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, q: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], v: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], coordinates: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], dofs: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], position: float, velocity: float) -> None:
    """
    Moves coordinates of q (rows, nq) at random, within limits, and changes velocities.
    """

class Columns:
    def __init__(self) -> None: ...

    def add(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], columns: Sequence[int], offsets: Sequence[float], scale: float, noise: float) -> None: ...

    def read(self, streams: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], first: int, bound: float) -> None: ...

    def mark_outside(self, streams: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, low: float, high: float, flags: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    @property
    def width(self) -> int: ...

class Controls:
    def __init__(self, steps: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], action: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], previous: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], control: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], sent: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], range: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def add_rule(self, control: int, action: int, keeps: bool, center: float, scale: float, low: float, high: float) -> None: ...

    @overload
    def take(self, actions: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> int: ...

    @overload
    def take(self, actions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> int: ...

    def send(self) -> None: ...

    def start(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

def follow_plan(environments: Environments, substeps: int, q: numpy.typing.NDArray[numpy.float64], v: numpy.typing.NDArray[numpy.float64], control: numpy.typing.NDArray[numpy.float64], feedforward: numpy.typing.NDArray[numpy.float64], gain: numpy.typing.NDArray[numpy.float64], lengths: numpy.typing.NDArray[numpy.float64], lower: numpy.typing.NDArray[numpy.float64], upper: numpy.typing.NDArray[numpy.float64], mixing: numpy.typing.NDArray[numpy.float64] | None, offset: numpy.typing.NDArray[numpy.float64] | None, options: SolverOptions, num_threads: int | None) -> tuple[numpy.typing.NDArray[numpy.float64], ...]:
    """
    Rolls environments out under u = clip(control + length feedforward + gain (x - plan)), each with its length. Returns q (environments, nodes + 1, nq), v likewise, and controls (environments, nodes, nu).
    """

def solver_defaults() -> dict[str, Any]:
    """
    Tolerance and largest numbers of iterations that solvers have unless told otherwise.
    """

def build_info() -> dict[str, Any]:
    """
    How this build runs: version, instruction set in use and available, lanes, threads, compiler.

    >>> sorted(fw.build_info())[:3]
    ['available_isas', 'compiler', 'isa']
    """
