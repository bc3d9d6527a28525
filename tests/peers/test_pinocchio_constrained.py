"""Pinocchio's constraintDynamics on the robots everybody knows: accelerations to 1e-9 of their scale."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from helpers.pinocchio_bridge import PinocchioTwin

import featherweight as fw
from benchmarks.cases import mount
from featherweight.constraints.dynamics import Method

pin = pytest.importorskip("pinocchio", reason="the pin package is not installed")
pytestmark = pytest.mark.robots

#: File, whether the base floats, what is held: frames by six rows or points by three.
ROBOTS = {
    "Talos": ("talos_data/robots/talos_reduced.urdf", True, 6, ("left_sole_link", "right_sole_link")),
    "Talos, hands too": (
        "talos_data/robots/talos_reduced.urdf",
        True,
        6,
        ("left_sole_link", "right_sole_link", "arm_left_7_link", "arm_right_7_link"),
    ),
    "G1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True, 6, ("left_ankle_roll_link", "right_ankle_roll_link")),
    "Go2": ("go2_description/urdf/go2.urdf", True, 3, ("FL_foot", "FR_foot", "RL_foot", "RR_foot")),
    "Solo12": ("solo_description/robots/solo12.urdf", True, 3, ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")),
    "ANYmal": ("anymal_b_simple_description/robots/anymal.urdf", True, 3, ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")),
    "Panda": ("panda_description/urdf/panda.urdf", False, 6, ("panda_hand",)),
    "TIAGo": ("tiago_description/robots/tiago.urdf", False, 6, ("arm_7_link",)),
}
METHODS = [m for m in get_args(Method) if m not in ("constrained_aba", "pv_soft")]  # looser, and another problem


def robot_folder() -> Path:
    try:
        root = Path(str(distribution("example-robot-data").locate_file("")))
    except PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    return root / "cmeel.prefix" / "share" / "example-robot-data" / "robots"


@pytest.fixture(scope="module", params=list(ROBOTS))
def robot(request: pytest.FixtureRequest) -> tuple[PinocchioTwin, list[fw.PointConstraint | fw.FrameConstraint]]:
    file, floating, rows, frames = ROBOTS[request.param]
    path = robot_folder() / file
    root = [pin.JointModelFreeFlyer()] if floating else []
    twin = PinocchioTwin(pin, pin.buildModelFromUrdf(str(path), *root), fw.load(path, floating_base=floating))
    hold = fw.FrameConstraint if rows == 6 else fw.PointConstraint
    return twin, [hold(frame) for frame in frames]


def theirs(
    twin: PinocchioTwin,
    constraints: list[fw.PointConstraint | fw.FrameConstraint],
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
) -> np.ndarray:
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for constraint in constraints:
        joint, pose = mount(twin.model, str(constraint.frame))
        kind = pin.ContactType.CONTACT_6D if isinstance(constraint, fw.FrameConstraint) else pin.ContactType.CONTACT_3D
        placement = pin.SE3(pose[:3, :3], pose[:3, 3])
        models.append(
            pin.RigidConstraintModel(kind, twin.pin_model, twin.pin_model.getJointId(joint), placement, pin.LOCAL)
        )
        datas.append(models[-1].createData())
    data = twin.pin_model.createData()
    pin.initConstraintDynamics(twin.pin_model, data, models, datas)
    settings = pin.ProximalSettings(0.0, 1e-10, 5)
    state = twin.q(q), twin.v(q, v), twin.T(q) @ tau
    return np.asarray(pin.constraintDynamics(twin.pin_model, data, *state, models, datas, settings)).copy()


@pytest.mark.parametrize("method", METHODS)
def test_accelerations_agree(
    robot: tuple[PinocchioTwin, list[fw.PointConstraint | fw.FrameConstraint]], method: Method
) -> None:
    twin, constraints = robot
    rng = np.random.default_rng(0)
    model = twin.model
    for _ in range(10):
        q, v, tau = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
        solution = fw.constrained_dynamics(model, q, v, tau, constraints, method=method)
        expected = theirs(twin, constraints, q, v, tau)
        assert solution.converged
        error = np.abs(twin.a(q, v, solution.a) - expected).max()
        assert error <= 1e-9 * (1 + np.abs(expected).max())
