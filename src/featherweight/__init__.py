"""featherweight: constrained robot dynamics, exact and linear-time, on the vector lanes of a plain CPU.

>>> import featherweight as fw
>>> model = fw.models.quadruped()
>>> q, v = model.neutral(), np.zeros(model.nv)
>>> a = fw.aba(model, q, v, np.zeros(model.nv))  # free fall
>>> a[:3].round(2)
array([ 0.  ,  0.  , -9.81])
"""

import importlib
import sys
from typing import TYPE_CHECKING

from ._core import (
    aba,
    bias_forces,
    build_info,
    center_of_mass,
    centroidal_momentum,
    crba,
    forward_kinematics,
    frame_acceleration,
    frame_placement,
    frame_velocity,
    gravity_forces,
    jacobian,
    jacobian_time_derivative,
    kinetic_energy,
    minverse,
    potential_energy,
    rnea,
)
from .constraints.constraint_set import (
    ConstraintSet,
    DistanceConstraint,
    FrameConstraint,
    HingeConstraint,
    JointCombination,
    JointCoupling,
    PointConstraint,
)
from .constraints.dynamics import ConstrainedSolution, constrained_dynamics
from .constraints.terms import (
    constraint_bias,
    constraint_jacobian,
    constraint_position_error,
    constraint_residual,
    constraint_velocity,
)
from .errors import ModelError, ModelImportError, PlanningError, SimulationWarning
from .kinematics.logarithms import (
    exp3,
    exp6,
    log3,
    log6,
    quaternion_from_rotation,
    quaternion_multiply,
    quaternion_slerp,
    rotation_from_quaternion,
)
from .model import convert, models
from .model.builder import ModelBuilder
from .model.description import (
    Activation,
    Actuator,
    Bend,
    Closure,
    ContactPair,
    Coupling,
    Geometry,
    ImportNote,
    Inertia,
    Keyframe,
    Mimic,
    ModelDescription,
    Muscle,
    Severity,
    Strut,
    Tendon,
)
from .model.materials import ContactLaw, Material
from .model.medium import FluidShape, Medium
from .model.model import ImportReport, Model
from .model.poses import pose
from .model.solids import solid_inertia
from .scene.compilation import SceneObject
from .scene.compiled import CompiledScene, CompiledShape, PairTable
from .scene.scene import Scene
from .scene.shapes import Body, HeightField, Plane, box, capsule, convex, cylinder, ellipsoid, mesh, sphere
from .simulation.contacts import Contacts
from .simulation.forces import Closures, Couplings, Forces
from .simulation.parameters import Parameters
from .simulation.simulator import Simulator
from .simulation.solution import SolvedRows, StepSolution
from .simulation.solvers import ADMM, Automatic, GaussSeidel, Newton
from .simulation.state import State
from .simulation.trajectory import Trajectory

if TYPE_CHECKING:  # what is imported when it is first asked for, below
    from . import cluster, gym, jax, learn, mpc, planning, reference, torch
    from .constraints.consistent import (
        ClosedLoops,
        Mobility,
        close_loops,
        loop_error,
        loop_jacobian,
        mobility,
        project_velocity,
    )
    from .constraints.delassus import DelassusOperator, delassus, delassus_inverse, operational_space_inertia
    from .constraints.impulse_dynamics import ImpulseSolution, impulse_dynamics
    from .constraints.inverse_dynamics import InverseSolution, constrained_inverse_dynamics
    from .constraints.own import constraints_of
    from .control.splines import Spline, SplinePoint
    from .control.torque_regressor import inertial_parameters, torque_regressor
    from .derivatives.constrained import (
        ConstrainedDerivatives,
        ImpulseDerivatives,
        constrained_dynamics_derivatives,
        impulse_dynamics_derivatives,
    )
    from .derivatives.forward_dynamics import AbaDerivatives, aba_derivatives, aba_vjp
    from .derivatives.frames import (
        FrameAccelerationDerivatives,
        FrameVelocityDerivatives,
        frame_acceleration_derivatives,
        frame_velocity_derivatives,
    )
    from .derivatives.inverse_dynamics import RneaDerivatives, rnea_derivatives, rnea_vjp
    from .derivatives.whole_body import (
        CenterOfMassDerivatives,
        CentroidalMomentumDerivatives,
        center_of_mass_derivatives,
        centroidal_momentum_derivatives,
    )
    from .export.mjcf import to_mjcf
    from .io.load import load, loads
    from .kinematics.inverse import InverseKinematicsSolution, inverse_kinematics
    from .scene.decomposition import decomposed
    from .sensors.contact_forces import ContactForceSensor
    from .sensors.force_torque import ForceTorque
    from .sensors.frames import FrameSensor
    from .sensors.imu import IMU
    from .sensors.joints import JointSensor
    from .sensors.named import NamedSensor, named_sensors
    from .simulation.derivatives import Gradient, Linearisation, RolloutGradient, StepDerivatives
    from .smoothing.randomised import Smoothed, SmoothedStep, smooth, smooth_step
    from .smoothing.relaxed import Relaxed, RelaxedRollout, RelaxedStep, relaxed, relaxed_step
    from .viewer.draw import draw
    from .viewer.live import LiveView
    from .viewer.view import view

    __version__: str

__all__ = [
    "ADMM",
    "IMU",
    "AbaDerivatives",
    "Activation",
    "Actuator",
    "Automatic",
    "Bend",
    "Body",
    "CenterOfMassDerivatives",
    "CentroidalMomentumDerivatives",
    "ClosedLoops",
    "Closure",
    "Closures",
    "CompiledScene",
    "CompiledShape",
    "ConstrainedDerivatives",
    "ConstrainedSolution",
    "ConstraintSet",
    "ContactForceSensor",
    "ContactLaw",
    "ContactPair",
    "Contacts",
    "Coupling",
    "Couplings",
    "DelassusOperator",
    "DistanceConstraint",
    "FluidShape",
    "ForceTorque",
    "Forces",
    "FrameAccelerationDerivatives",
    "FrameConstraint",
    "FrameSensor",
    "FrameVelocityDerivatives",
    "GaussSeidel",
    "Geometry",
    "Gradient",
    "HeightField",
    "HingeConstraint",
    "ImportNote",
    "ImportReport",
    "ImpulseDerivatives",
    "ImpulseSolution",
    "Inertia",
    "InverseKinematicsSolution",
    "InverseSolution",
    "JointCombination",
    "JointCoupling",
    "JointSensor",
    "Keyframe",
    "Linearisation",
    "LiveView",
    "Material",
    "Medium",
    "Mimic",
    "Mobility",
    "Model",
    "ModelBuilder",
    "ModelDescription",
    "ModelError",
    "ModelImportError",
    "Muscle",
    "NamedSensor",
    "Newton",
    "PairTable",
    "Parameters",
    "Plane",
    "PlanningError",
    "PointConstraint",
    "Relaxed",
    "RelaxedRollout",
    "RelaxedStep",
    "RneaDerivatives",
    "RolloutGradient",
    "Scene",
    "SceneObject",
    "Severity",
    "SimulationWarning",
    "Simulator",
    "Smoothed",
    "SmoothedStep",
    "SolvedRows",
    "Spline",
    "SplinePoint",
    "State",
    "StepDerivatives",
    "StepSolution",
    "Strut",
    "Tendon",
    "Trajectory",
    "aba",
    "aba_derivatives",
    "aba_vjp",
    "bias_forces",
    "box",
    "build_info",
    "capsule",
    "center_of_mass",
    "center_of_mass_derivatives",
    "centroidal_momentum",
    "centroidal_momentum_derivatives",
    "close_loops",
    "cluster",
    "constrained_dynamics",
    "constrained_dynamics_derivatives",
    "constrained_inverse_dynamics",
    "constraint_bias",
    "constraint_jacobian",
    "constraint_position_error",
    "constraint_residual",
    "constraint_velocity",
    "constraints_of",
    "convert",
    "convex",
    "crba",
    "cylinder",
    "decomposed",
    "delassus",
    "delassus_inverse",
    "draw",
    "ellipsoid",
    "exp3",
    "exp6",
    "forward_kinematics",
    "frame_acceleration",
    "frame_acceleration_derivatives",
    "frame_placement",
    "frame_velocity",
    "frame_velocity_derivatives",
    "gravity_forces",
    "gym",
    "impulse_dynamics",
    "impulse_dynamics_derivatives",
    "inertial_parameters",
    "inverse_kinematics",
    "jacobian",
    "jacobian_time_derivative",
    "jax",
    "kinetic_energy",
    "learn",
    "load",
    "loads",
    "log3",
    "log6",
    "loop_error",
    "loop_jacobian",
    "mesh",
    "minverse",
    "mobility",
    "models",
    "mpc",
    "named_sensors",
    "operational_space_inertia",
    "planning",
    "pose",
    "potential_energy",
    "project_velocity",
    "quaternion_from_rotation",
    "quaternion_multiply",
    "quaternion_slerp",
    "reference",
    "relaxed",
    "relaxed_step",
    "rnea",
    "rnea_derivatives",
    "rnea_vjp",
    "rotation_from_quaternion",
    "smooth",
    "smooth_step",
    "solid_inertia",
    "sphere",
    "to_mjcf",
    "torch",
    "torque_regressor",
    "view",
]

#: What is imported when it is first asked for, by where it is: most programs need little of it.
_LATER = {
    ".constraints.consistent": "ClosedLoops Mobility close_loops loop_error loop_jacobian mobility project_velocity",
    ".constraints.delassus": "DelassusOperator delassus delassus_inverse operational_space_inertia",
    ".constraints.impulse_dynamics": "ImpulseSolution impulse_dynamics",
    ".constraints.inverse_dynamics": "InverseSolution constrained_inverse_dynamics",
    ".constraints.own": "constraints_of",
    ".control.splines": "Spline SplinePoint",
    ".control.torque_regressor": "inertial_parameters torque_regressor",
    ".derivatives.constrained": "ConstrainedDerivatives ImpulseDerivatives constrained_dynamics_derivatives "
    "impulse_dynamics_derivatives",
    ".derivatives.forward_dynamics": "AbaDerivatives aba_derivatives aba_vjp",
    ".derivatives.frames": "FrameAccelerationDerivatives FrameVelocityDerivatives frame_acceleration_derivatives "
    "frame_velocity_derivatives",
    ".derivatives.inverse_dynamics": "RneaDerivatives rnea_derivatives rnea_vjp",
    ".derivatives.whole_body": "CenterOfMassDerivatives CentroidalMomentumDerivatives center_of_mass_derivatives "
    "centroidal_momentum_derivatives",
    ".export.mjcf": "to_mjcf",
    ".io.load": "load loads",
    ".kinematics.inverse": "InverseKinematicsSolution inverse_kinematics",
    ".scene.decomposition": "decomposed",
    ".sensors.contact_forces": "ContactForceSensor",
    ".sensors.force_torque": "ForceTorque",
    ".sensors.frames": "FrameSensor",
    ".sensors.imu": "IMU",
    ".sensors.joints": "JointSensor",
    ".sensors.named": "NamedSensor named_sensors",
    ".simulation.derivatives": "Gradient Linearisation RolloutGradient StepDerivatives",
    ".smoothing.randomised": "Smoothed SmoothedStep smooth smooth_step",
    ".smoothing.relaxed": "Relaxed RelaxedRollout RelaxedStep relaxed relaxed_step",
    ".viewer.draw": "draw",
    ".viewer.live": "LiveView",
    ".viewer.view": "view",
}
_WHERE = {name: module for module, names in _LATER.items() for name in names.split()}
_DUNDERS = ("__all__", "__doc__", "__file__", "__name__", "__package__", "__path__", "__spec__", "__version__")

for _module in (convert, models):  # so that `from featherweight.models import arm` works
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module


def __dir__() -> list[str]:
    return [*_DUNDERS, *__all__]


if not TYPE_CHECKING:  # a type checker would take any name for granted

    def __getattr__(name: str) -> object:
        if name in ("cluster", "gym", "jax", "learn", "mpc", "planning", "reference", "torch"):
            return importlib.import_module(f".{name}", __name__)
        if name in _WHERE:
            value = getattr(importlib.import_module(_WHERE[name], __name__), name)
        elif name == "__version__":
            value = importlib.import_module("importlib.metadata").version(__name__)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value  # found there from now on
        return value
