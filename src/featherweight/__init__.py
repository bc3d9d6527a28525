"""featherweight: constrained robot dynamics, exact and linear-time, on the vector lanes of a plain CPU.

>>> import featherweight as fw
>>> model = fw.models.quadruped()
>>> q, v = model.neutral(), np.zeros(model.nv)
>>> a = fw.aba(model, q, v, np.zeros(model.nv))  # free fall
>>> a[:3].round(2)
array([ 0.  ,  0.  , -9.81])
"""

from importlib.metadata import version as _version

from . import convert, models
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
    kinetic_energy,
    minverse,
    potential_energy,
    rnea,
)
from .builder import ModelBuilder
from .compiled_scene import CompiledScene, CompiledShape, PairTable
from .constrained import ConstrainedSolution, constrained_dynamics
from .constraint_terms import (
    constraint_bias,
    constraint_jacobian,
    constraint_position_error,
    constraint_residual,
    constraint_velocity,
)
from .constraints import ConstraintSet, FrameConstraint, PointConstraint
from .delassus import DelassusOperator, delassus, delassus_inverse, operational_space_inertia
from .description import Actuator, Closure, ContactPair, Geometry, ImportNote, Inertia, Mimic, ModelDescription
from .errors import ModelError, ModelImportError
from .impulse import ImpulseSolution, impulse_dynamics
from .inverse import InverseSolution, constrained_inverse_dynamics
from .load import load, loads
from .materials import ContactLaw, Material
from .model import ImportReport, Model
from .parameters import Parameters
from .poses import pose
from .scene import Scene
from .scene_compilation import SceneObject
from .sensors import IMU, ContactForceSensor, ForceTorque, FrameSensor, JointSensor
from .shapes import Body, HeightField, Plane, box, capsule, convex, cylinder, ellipsoid, mesh, sphere
from .simulator import Simulator, Trajectory
from .solids import solid_inertia
from .solvers import ADMM, Automatic, GaussSeidel, Newton
from .state import Contacts, State

__version__ = _version("featherweight")

__all__ = [
    "ADMM",
    "IMU",
    "Actuator",
    "Automatic",
    "Body",
    "Closure",
    "CompiledScene",
    "CompiledShape",
    "ConstrainedSolution",
    "ConstraintSet",
    "ContactForceSensor",
    "ContactLaw",
    "ContactPair",
    "Contacts",
    "DelassusOperator",
    "ForceTorque",
    "FrameConstraint",
    "FrameSensor",
    "GaussSeidel",
    "Geometry",
    "HeightField",
    "ImportNote",
    "ImportReport",
    "ImpulseSolution",
    "Inertia",
    "InverseSolution",
    "JointSensor",
    "Material",
    "Mimic",
    "Model",
    "ModelBuilder",
    "ModelDescription",
    "ModelError",
    "ModelImportError",
    "Newton",
    "PairTable",
    "Parameters",
    "Plane",
    "PointConstraint",
    "Scene",
    "SceneObject",
    "Simulator",
    "State",
    "Trajectory",
    "aba",
    "bias_forces",
    "box",
    "build_info",
    "capsule",
    "center_of_mass",
    "centroidal_momentum",
    "constrained_dynamics",
    "constrained_inverse_dynamics",
    "constraint_bias",
    "constraint_jacobian",
    "constraint_position_error",
    "constraint_residual",
    "constraint_velocity",
    "convert",
    "convex",
    "crba",
    "cylinder",
    "delassus",
    "delassus_inverse",
    "ellipsoid",
    "forward_kinematics",
    "frame_acceleration",
    "frame_placement",
    "frame_velocity",
    "gravity_forces",
    "impulse_dynamics",
    "jacobian",
    "kinetic_energy",
    "load",
    "loads",
    "mesh",
    "minverse",
    "models",
    "operational_space_inertia",
    "pose",
    "potential_energy",
    "rnea",
    "solid_inertia",
    "sphere",
]
