"""Pinocchio's analytic derivatives on URDFs made up, on our own, and on robots that everybody knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close, solve_tolerance
from helpers.pinocchio_bridge import PinocchioTwin
from helpers.urdf_text import random_urdf

import featherweight as fw
from benchmarks.cases import mount

pin = pytest.importorskip("pinocchio", reason="the pin package is not installed")

ROBOTS = {
    "Talos": ("talos_data/robots/talos_reduced.urdf", True, 6, ("left_sole_link", "right_sole_link")),
    "G1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True, 6, ("left_ankle_roll_link", "right_ankle_roll_link")),
    "Go2": ("go2_description/urdf/go2.urdf", True, 3, ("FL_foot", "FR_foot", "RL_foot", "RR_foot")),
    "Solo12": ("solo_description/robots/solo12.urdf", True, 3, ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")),
    "Panda": ("panda_description/urdf/panda.urdf", False, 6, ("panda_hand",)),
}


def has_planar(model: fw.Model) -> bool:
    return any(joint.type == "planar" for joint in model.joints)  # their tangent is another one


def check_dynamics(twin: PinocchioTwin, seed: int) -> None:
    model, rng = twin.model, np.random.default_rng(seed)
    q, (v, a, tau) = model.random(rng), rng.normal(size=(3, model.nv))
    T = twin.T(q)
    state = twin.q(q), twin.v(q, v)
    f_ext = rng.normal(size=(model.n_links, 6))
    forces = twin.external_forces(f_ext)

    theirs = pin.computeRNEADerivatives(twin.pin_model, twin.data, *state, twin.a(q, v, a), forces)
    d = fw.rnea_derivatives(model, q, v, a, f_ext)
    for name, matrix in zip(("dq", "dv"), theirs[:2], strict=True):
        assert_close(getattr(d, name), T.T @ matrix @ T, 1e-11, f"rnea {name}")

    theirs = pin.computeABADerivatives(twin.pin_model, twin.data, *state, T @ tau, forces)
    tolerance = 1e-11 + 10 * solve_tolerance(d.da)
    ours = fw.aba_derivatives(model, q, v, tau, f_ext)
    inverse = np.triu(theirs[2]) + np.triu(theirs[2], 1).T
    for name, matrix in zip(("dq", "dv", "dtau"), (*theirs[:2], inverse), strict=True):
        assert_close(getattr(ours, name), T.T @ matrix @ T, tolerance, f"aba {name}")


def check_sums(twin: PinocchioTwin, seed: int) -> None:
    model, rng = twin.model, np.random.default_rng(seed)
    q, v = model.random(rng), rng.normal(size=model.nv)
    T, theirs, velocity = twin.T(q), twin.q(q), twin.v(q, v)
    J = pin.jacobianCenterOfMass(twin.pin_model, twin.data, theirs)
    assert_close(fw.center_of_mass_derivatives(model, q).dq, J @ T, 1e-12, "centre of mass")
    A = pin.computeCentroidalMap(twin.pin_model, twin.data, theirs)
    d = fw.centroidal_momentum_derivatives(model, q, v)
    assert_close(d.dv, A @ T, 1e-12, "momentum by v")
    parts = pin.computeCentroidalDynamicsDerivatives(twin.pin_model, twin.data, theirs, velocity, 0 * velocity)
    assert_close(d.dq, parts[0] @ T, 1e-11, "momentum by q")


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("seed", range(6))
def test_random_urdf(seed: int, floating: bool) -> None:
    text = random_urdf(seed)
    root = [pin.JointModelFreeFlyer()] if floating else []
    model = fw.loads(text, "urdf", floating_base=floating)
    if has_planar(model):
        pytest.skip("the tangent of a planar joint is another one in Pinocchio")
    twin = PinocchioTwin(pin, pin.buildModelFromXML(text, *root), model)
    for k in range(3):
        check_dynamics(twin, k)
        check_sums(twin, k)


def robot_twin(name: str, robots: Path) -> PinocchioTwin:
    file, floating, *_ = ROBOTS[name]
    root = [pin.JointModelFreeFlyer()] if floating else []
    path = robots / file
    return PinocchioTwin(pin, pin.buildModelFromUrdf(str(path), *root), fw.load(path, floating_base=floating))


@pytest.fixture(scope="module")
def robots() -> Path:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        root = Path(str(distribution("example-robot-data").locate_file("")))
    except PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    return root / "cmeel.prefix" / "share" / "example-robot-data" / "robots"


@pytest.mark.robots
@pytest.mark.parametrize("name", ROBOTS)
def test_robot(name: str, robots: Path) -> None:
    twin = robot_twin(name, robots)
    for k in range(3):
        check_dynamics(twin, k)
        check_sums(twin, k)


def contacts(twin: PinocchioTwin, rows: int, frames: tuple[str, ...]) -> tuple[Any, Any]:
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    kind = pin.ContactType.CONTACT_6D if rows == 6 else pin.ContactType.CONTACT_3D
    for frame in frames:
        joint, pose = mount(twin.model, frame)
        placement = pin.SE3(pose[:3, :3], pose[:3, 3])
        joint_id = twin.pin_model.getJointId(joint)
        models.append(pin.RigidConstraintModel(kind, twin.pin_model, joint_id, placement, pin.LOCAL))
        datas.append(models[-1].createData())
    return models, datas


def at_rest_on(model: fw.Model, q: np.ndarray, v: np.ndarray, held: list[Any]) -> np.ndarray:
    """The part of v that the constraints leave: there both sides mean the same derivative of a point's acceleration."""
    J = fw.constraint_jacobian(model, q, held)
    return np.asarray(v - np.linalg.lstsq(J, J @ v, rcond=None)[0])


@pytest.mark.robots
@pytest.mark.parametrize("name", ROBOTS)
def test_constrained(name: str, robots: Path) -> None:
    twin = robot_twin(name, robots)
    _, _, rows, frames = ROBOTS[name]
    model, rng = twin.model, np.random.default_rng(0)
    held: list[Any] = [(fw.FrameConstraint if rows == 6 else fw.PointConstraint)(frame) for frame in frames]
    for _ in range(3):
        q, v, tau = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
        v = at_rest_on(model, q, v, held)
        T, state = twin.T(q), (twin.q(q), twin.v(q, v))
        models, datas = contacts(twin, rows, frames)
        data = twin.pin_model.createData()
        settings = pin.ProximalSettings(0.0, 1e-12, 5)
        pin.initConstraintDynamics(twin.pin_model, data, models, datas)
        a = pin.constraintDynamics(twin.pin_model, data, *state, T @ tau, models, datas, settings).copy()
        pin.computeConstraintDynamicsDerivatives(twin.pin_model, data, models, datas, settings)
        d = fw.constrained_dynamics_derivatives(model, q, v, tau, held)
        assert_close(d.a, T.T @ a, 1e-9, "a")
        for ours, theirs in ((d.a_dq, data.ddq_dq), (d.a_dv, data.ddq_dv), (d.a_dtau, data.ddq_dtau)):
            assert_close(ours, T.T @ theirs @ T, 1e-9)
