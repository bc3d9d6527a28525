"""The same URDF in Pinocchio: every number of the free dynamics, to 1e-12 of its scale.

Two ways of solving with the mass matrix differ by its condition times rounding. That is what minverse and aba are held
to. iCub's fingers weigh next to nothing, so that this allows much: there aba is held to the answer in extended
precision, and is nearer to that than Pinocchio. Besides, the residual of aba is held to 1e-12 everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close, relative_error, solve_tolerance
from helpers.forests import State
from helpers.pinocchio_bridge import PinocchioTwin
from helpers.urdf_text import random_urdf

import featherweight as fw
from benchmarks import oracle
from benchmarks.extended import back_substitute, cholesky, forward_substitute
from featherweight.reference.kinematics import Reference

pin = pytest.importorskip("pinocchio", reason="the pin package is not installed")

OWN_URDFS = sorted((Path(__file__).parent.parent / "data").glob("**/*.urdf"))


def robot_urdfs() -> list[Any]:
    """Every URDF of the example-robot-data package, or one skipped case that says that it is missing."""
    try:
        root = Path(str(distribution("example-robot-data").locate_file("")))
    except PackageNotFoundError:
        return [pytest.param(None, id="none", marks=pytest.mark.skip(reason="example-robot-data is not installed"))]
    robots = root / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    return [pytest.param(path, id=str(path.relative_to(robots))) for path in sorted(robots.glob("**/*.urdf"))]


def twins_of_text(text: str, floating: bool) -> PinocchioTwin:
    root = [pin.JointModelFreeFlyer()] if floating else []
    return PinocchioTwin(pin, pin.buildModelFromXML(text, *root), fw.loads(text, "urdf", floating_base=floating))


def twins_of_file(path: Path, floating: bool) -> PinocchioTwin:
    root = [pin.JointModelFreeFlyer()] if floating else []
    try:
        pin_model = pin.buildModelFromUrdf(str(path), *root)
    except (ValueError, RuntimeError) as error:
        pytest.skip(f"Pinocchio cannot load it: {str(error)[:100]}")
    model = fw.load(path, floating_base=floating)
    if model.nv == 0:
        pytest.skip("nothing moves")
    if any("nearest one that a body can have" in note.message for note in model.import_report):
        pytest.skip("Pinocchio computes with negative principal moments")
    if any(joint.type == "planar" and (joint.child_placement != np.eye(4)).any() for joint in model.description.joints):
        pytest.skip("Pinocchio ignores the axis of a planar joint and takes z")
    return PinocchioTwin(pin, pin_model, model)


def state_of(model: fw.Model, seed: int) -> State:
    rng = np.random.default_rng(seed)
    v, a, tau = rng.normal(size=(3, model.nv))
    return State(model.random(rng), v, a, tau, rng.normal(size=(model.n_links, 6)))


def check_dynamics(twin: PinocchioTwin, s: State) -> None:
    model, zero = twin.model, np.zeros_like(s.v)
    no_force = np.zeros_like(s.f_ext)
    assert_close(fw.rnea(model, s.q, s.v, s.a, s.f_ext), twin.rnea(s.q, s.v, s.a, s.f_ext), what="rnea")
    assert_close(fw.bias_forces(model, s.q, s.v), twin.rnea(s.q, s.v, zero, no_force), what="bias")
    assert_close(fw.gravity_forces(model, s.q), twin.rnea(s.q, zero, zero, no_force), what="gravity")
    H = twin.crba(s.q)
    assert_close(fw.crba(model, s.q), H, what="crba")
    assert_close(fw.minverse(model, s.q), twin.minverse(s.q), solve_tolerance(H), what="minverse")
    a = fw.aba(model, s.q, s.v, s.tau, s.f_ext)
    assert_close(a, twin.aba(s), solve_tolerance(H), what="aba")
    # the residual on the scale of the forces that cancel in it
    residual = fw.rnea(model, s.q, s.v, a, s.f_ext) - s.tau
    assert np.max(np.abs(residual)) <= 1e-12 * (1 + np.max(np.abs(H) @ np.abs(a))), "aba residual"


def check_sums(twin: PinocchioTwin, s: State) -> None:
    model, pin_model, data = twin.model, twin.pin_model, twin.data
    q, v = twin.q(s.q), twin.v(s.q, s.v)
    # Pinocchio keeps what is welded to the world in the inertia of its universe
    assert_close(model.mass, sum(inertia.mass for inertia in pin_model.inertias), what="mass")
    assert_close(fw.center_of_mass(model, s.q), pin.centerOfMass(pin_model, data, q), what="centre of mass")
    assert_close(fw.potential_energy(model, s.q), pin.computePotentialEnergy(pin_model, data, q), what="potential")
    rotors = 0.5 * np.sum(model.armature * s.v**2)  # which Pinocchio leaves out of the energy
    kinetic = pin.computeKineticEnergy(pin_model, data, q, v)
    assert_close(fw.kinetic_energy(model, s.q, s.v), kinetic + rotors, what="kinetic")
    momentum = pin.computeCentroidalMomentum(pin_model, data, q, v).vector
    assert_close(fw.centroidal_momentum(model, s.q, s.v), momentum, what="momentum")


def check_kinematics(twin: PinocchioTwin, s: State) -> None:
    model, pin_model, data = twin.model, twin.pin_model, twin.data
    pin.forwardKinematics(pin_model, data, twin.q(s.q), twin.v(s.q, s.v), twin.a(s.q, s.v, s.a))
    pin.computeJointJacobians(pin_model, data)
    pin.updateFramePlacements(pin_model, data)
    references: dict[Reference, Any] = {
        "local": pin.ReferenceFrame.LOCAL,
        "world": pin.ReferenceFrame.WORLD,
        "local_world_aligned": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    }
    placements = fw.forward_kinematics(model, s.q)
    for i, link in enumerate(model.link_names):
        frame = twin.frame(link)
        assert_close(placements[i], data.oMf[frame].homogeneous, what=f"placement of {link}")
        for name, reference in references.items():
            what, args = f"of {link}, {name}", (pin_model, data, frame, reference)
            J = pin.getFrameJacobian(*args) @ twin.T(s.q)
            assert_close(fw.jacobian(model, s.q, link, reference=name), J, what=f"jacobian {what}")
            velocity = fw.frame_velocity(model, s.q, s.v, link, reference=name)
            assert_close(velocity, pin.getFrameVelocity(*args).vector, what=f"velocity {what}")
            spatial = fw.frame_acceleration(model, s.q, s.v, s.a, link, reference=name)
            assert_close(spatial, pin.getFrameAcceleration(*args).vector, what=f"acceleration {what}")
            classical = fw.frame_acceleration(model, s.q, s.v, s.a, link, reference=name, classical=True)
            expected = pin.getFrameClassicalAcceleration(*args).vector
            assert_close(classical, expected, what=f"classical acceleration {what}")


def check_configuration_space(twin: PinocchioTwin, s: State) -> None:
    dv = s.v / (1 + np.max(np.abs(s.v)))
    for joint in twin.model.joints:
        if joint.type == "planar":  # moves along a body velocity there, along rates here
            dv[joint.v_slice] = 0.0
    moved = twin.model.integrate(s.q, dv)
    expected = pin.integrate(twin.pin_model, twin.q(s.q), twin.v(s.q, dv))
    assert_close(twin.q(moved), expected, what="integrate")
    difference = pin.difference(twin.pin_model, twin.q(s.q), expected)
    assert_close(twin.v(s.q, twin.model.difference(s.q, moved)), difference, what="difference")


def check_conversion(twin: PinocchioTwin, s: State) -> None:
    q, v = fw.convert.to_pinocchio(twin.model, s.q, s.v, joint_names=twin.pin_model.names)
    assert_close(q, twin.q(s.q), 0.0, what="q")
    assert_close(v, twin.v(s.q, s.v), 1e-15, what="v")
    assert_close(fw.convert.to_pinocchio(twin.model, s.q), q, 0.0, what="the order Pinocchio gives to a URDF's joints")
    q, v = fw.convert.from_pinocchio(twin.model, q, v)
    assert_close(twin.q(q), twin.q(s.q), what="q there and back")
    assert_close(v, s.v, 1e-14, what="v there and back")


CHECKS = [check_dynamics, check_sums, check_kinematics, check_configuration_space, check_conversion]
every_base = pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
every_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))


@every_base
@every_check
@pytest.mark.parametrize("seed", range(8))
def test_random_urdf(check: Callable[[PinocchioTwin, State], None], seed: int, floating: bool) -> None:
    twin = twins_of_text(random_urdf(seed), floating)
    for k in range(3):
        check(twin, state_of(twin.model, k))


@every_base
@every_check
@pytest.mark.parametrize("path", OWN_URDFS, ids=lambda path: path.stem)
def test_own_urdf(check: Callable[[PinocchioTwin, State], None], path: Path, floating: bool) -> None:
    twin = twins_of_file(path, floating)
    check(twin, state_of(twin.model, 0))


@pytest.mark.robots
@every_base
@every_check
@pytest.mark.parametrize("path", robot_urdfs())
def test_robot(check: Callable[[PinocchioTwin, State], None], path: Path, floating: bool) -> None:
    twin = twins_of_file(path, floating)
    check(twin, state_of(twin.model, 0))


@pytest.mark.robots
@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize(
    "path", [case for case in robot_urdfs() if case.values[0] is None or case.values[0].name == "icub.urdf"]
)
def test_aba_is_exact_on_an_ill_conditioned_robot(path: Path, floating: bool) -> None:
    twin = twins_of_file(path, floating)
    model = twin.model
    ours, theirs = [], []
    for seed in range(5):
        s = state_of(model, seed)
        s = replace(s, f_ext=np.zeros_like(s.f_ext))
        H, h, *_ = oracle.equations(model.description, s.q, s.v, [fw.PointConstraint(model.link_names[-1])])
        factor = cholesky(H)
        exact = back_substitute(factor.T, forward_substitute(factor, s.tau - h)).astype(np.float64)
        ours.append(relative_error(fw.aba(model, s.q, s.v, s.tau), exact))
        theirs.append(relative_error(twin.aba(s), exact))
    assert max(ours) < 2e-12
    assert max(ours) < max(theirs)
