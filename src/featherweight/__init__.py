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
from .builder import ModelBuilder, solid_inertia
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
from .description import Geometry, ImportNote, Inertia, Mimic, ModelDescription
from .errors import ModelError, ModelImportError
from .impulse import ImpulseSolution, impulse_dynamics
from .inverse import InverseSolution, constrained_inverse_dynamics
from .load import load, loads
from .model import ImportReport, Model
from .poses import pose

__version__ = _version("featherweight")

__all__ = [
    "ConstrainedSolution",
    "ConstraintSet",
    "DelassusOperator",
    "FrameConstraint",
    "Geometry",
    "ImportNote",
    "ImportReport",
    "ImpulseSolution",
    "Inertia",
    "InverseSolution",
    "Mimic",
    "Model",
    "ModelBuilder",
    "ModelDescription",
    "ModelError",
    "ModelImportError",
    "PointConstraint",
    "aba",
    "bias_forces",
    "build_info",
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
    "crba",
    "delassus",
    "delassus_inverse",
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
    "minverse",
    "models",
    "operational_space_inertia",
    "pose",
    "potential_energy",
    "rnea",
    "solid_inertia",
]
