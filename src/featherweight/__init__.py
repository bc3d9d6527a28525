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
from .errors import ModelImportError
from .load import load, loads
from .model import Model

__version__ = _version("featherweight")

__all__ = [
    "Model",
    "ModelBuilder",
    "ModelImportError",
    "aba",
    "bias_forces",
    "build_info",
    "center_of_mass",
    "centroidal_momentum",
    "convert",
    "crba",
    "forward_kinematics",
    "frame_acceleration",
    "frame_placement",
    "frame_velocity",
    "gravity_forces",
    "jacobian",
    "kinetic_energy",
    "load",
    "loads",
    "minverse",
    "models",
    "potential_energy",
    "rnea",
]
