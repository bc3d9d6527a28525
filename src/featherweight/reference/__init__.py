"""NumPy twins of the core: every algorithm as its page in the literature, evaluated on a model description.

They take one sample at a time and are meant to be read, and to be an independent oracle: they work directly on the
:class:`~featherweight.ModelDescription`, in the frames its author chose, and share no code with the compiled core.

>>> import numpy as np
>>> from featherweight import reference
>>> from featherweight.model.description import Inertia, Joint, Link, ModelDescription
>>> bob = Link("bob", Inertia(1.0, np.array([0.0, 0.0, -1.0]), np.zeros((3, 3))))
>>> hinge = Joint("hinge", "revolute", "world", "bob", axis=np.array([0.0, 1.0, 0.0]))
>>> pendulum = ModelDescription("pendulum", (bob,), (hinge,))
>>> reference.gravity_forces(pendulum, np.array([np.pi / 2])).round(2)
array([9.81])
"""

from featherweight.reference import stages
from featherweight.reference.aba import aba
from featherweight.reference.aba_derivatives import aba_derivatives
from featherweight.reference.constrained_aba import constrained_aba
from featherweight.reference.constrained_inverse import constrained_inverse_dynamics
from featherweight.reference.constraints import frame_rows, point_rows
from featherweight.reference.contact.admm import admm
from featherweight.reference.contact.block import solve_block
from featherweight.reference.contact.gauss_seidel import gauss_seidel
from featherweight.reference.contact.laws import ConeBlock
from featherweight.reference.contact.newton import newton
from featherweight.reference.contact.residuals import natural_residual
from featherweight.reference.crba import crba
from featherweight.reference.delassus.caba_osim import caba_osim
from featherweight.reference.delassus.efpa import efpa
from featherweight.reference.delassus.ends import frame_rows_between, point_rows_between
from featherweight.reference.delassus.kjr import kjr
from featherweight.reference.delassus.ltl_osim import ltl_osim
from featherweight.reference.delassus.operator import DelassusOperator
from featherweight.reference.delassus.pv_osim import pv_osim
from featherweight.reference.delassus.pv_osim_base import pv_osim_base
from featherweight.reference.delassus.pv_osimr import pv_osimr
from featherweight.reference.energy import center_of_mass, centroidal_momentum, kinetic_energy, masses, potential_energy
from featherweight.reference.impulse import impulse_dynamics
from featherweight.reference.kinematics import (
    forward_kinematics,
    frame_acceleration,
    frame_placement,
    frame_velocity,
    jacobian,
)
from featherweight.reference.kkt import kkt
from featherweight.reference.limb_pv import limb_pv
from featherweight.reference.loop_aba import loop_aba
from featherweight.reference.loop_pv import closure_rows, coupling_rows, loop_pv
from featherweight.reference.ltl import ltl
from featherweight.reference.minverse import minverse
from featherweight.reference.prox_pv import prox_pv
from featherweight.reference.pv import pv
from featherweight.reference.pv_early import pv_early
from featherweight.reference.pv_soft import pv_soft
from featherweight.reference.rnea import bias_forces, gravity_forces, rnea
from featherweight.reference.rnea_derivatives import rnea_derivatives
from featherweight.reference.stages.of_simulator import contact_points, step_scene
from featherweight.reference.stages.scene import ContactPoint, StepScene
from featherweight.reference.stages.step import StepSolution, step
from featherweight.reference.tree import difference, integrate, neutral, sizes

__all__ = [
    "ConeBlock",
    "ContactPoint",
    "DelassusOperator",
    "StepScene",
    "StepSolution",
    "aba",
    "aba_derivatives",
    "admm",
    "bias_forces",
    "caba_osim",
    "center_of_mass",
    "centroidal_momentum",
    "closure_rows",
    "constrained_aba",
    "constrained_inverse_dynamics",
    "contact_points",
    "coupling_rows",
    "crba",
    "difference",
    "efpa",
    "forward_kinematics",
    "frame_acceleration",
    "frame_placement",
    "frame_rows",
    "frame_rows_between",
    "frame_velocity",
    "gauss_seidel",
    "gravity_forces",
    "impulse_dynamics",
    "integrate",
    "jacobian",
    "kinetic_energy",
    "kjr",
    "kkt",
    "limb_pv",
    "loop_aba",
    "loop_pv",
    "ltl",
    "ltl_osim",
    "masses",
    "minverse",
    "natural_residual",
    "neutral",
    "newton",
    "point_rows",
    "point_rows_between",
    "potential_energy",
    "prox_pv",
    "pv",
    "pv_early",
    "pv_osim",
    "pv_osim_base",
    "pv_osimr",
    "pv_soft",
    "rnea",
    "rnea_derivatives",
    "sizes",
    "solve_block",
    "stages",
    "step",
    "step_scene",
]
