"""Model predictive control: optimal control over a horizon of nodes, solved again and again as time goes on.

A :class:`Task` says what a motion should be, by residuals such as :func:`frame_position`; :class:`ILQR` plans for it
through the steps of a simulator, contacts included; :class:`FDDP` with contacts on a :class:`Schedule`;
:class:`MPPI` and its siblings sample; :func:`run` closes the loop. Beneath it is a linear-quadratic problem:
:func:`lqr`.

>>> solution = fw.mpc.lqr(A=np.eye(1), B=np.eye(1), Q=np.eye(1), R=np.eye(1), nodes=20, x0=[1.0])
>>> solution.gain[0]  # of the golden ratio, as it should be
array([[-0.61803399]])
"""

from .closed_loop import ClosedLoop, run
from .fddp import FDDP, ScheduledPlan
from .gaits import Gait, trot, walk
from .ilqr import ILQR
from .linearised_nodes import Smoothing
from .lqr import LqrSolution, lqr
from .plan import Plan
from .residuals import (
    Residual,
    center_of_mass,
    control,
    frame_angular_velocity,
    frame_axis,
    frame_orientation,
    frame_position,
    frame_velocity,
    joint_position,
    joint_velocity,
)
from .sampling import CEM, DIAL, MPPI, PredictiveSampling, Sampling
from .schedule import Schedule
from .task import Task, Term

__all__ = [
    "CEM",
    "DIAL",
    "FDDP",
    "ILQR",
    "MPPI",
    "ClosedLoop",
    "Gait",
    "LqrSolution",
    "Plan",
    "PredictiveSampling",
    "Residual",
    "Sampling",
    "Schedule",
    "ScheduledPlan",
    "Smoothing",
    "Task",
    "Term",
    "center_of_mass",
    "control",
    "frame_angular_velocity",
    "frame_axis",
    "frame_orientation",
    "frame_position",
    "frame_velocity",
    "joint_position",
    "joint_velocity",
    "lqr",
    "run",
    "trot",
    "walk",
]
