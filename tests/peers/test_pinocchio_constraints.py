"""Constraint Jacobians and drifts in Pinocchio: rows of its frame Jacobians, and its frame accelerations at rest."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.pinocchio_bridge import PinocchioTwin
from helpers.urdf_text import random_urdf

import featherweight as fw
from featherweight.constraints.constraint_set import Constraint

pin = pytest.importorskip("pinocchio", reason="the pin package is not installed")


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_links(seed: int) -> None:
    text = random_urdf(seed)
    model = fw.loads(text, "urdf", floating_base=True)
    twin = PinocchioTwin(pin, pin.buildModelFromXML(text, pin.JointModelFreeFlyer()), model)
    rng = np.random.default_rng(seed)
    q, (v, a) = model.random(rng), rng.normal(size=(2, model.nv))
    pin.forwardKinematics(twin.pin_model, twin.data, twin.q(q), twin.v(q, v), twin.a(q, v, np.zeros(model.nv)))
    pin.computeJointJacobians(twin.pin_model, twin.data)
    pin.updateFramePlacements(twin.pin_model, twin.data)
    for link in model.link_names:
        args = (twin.pin_model, twin.data, twin.frame(link), pin.ReferenceFrame.LOCAL)
        J = pin.getFrameJacobian(*args) @ twin.T(q)
        weld: list[Constraint] = [fw.FrameConstraint(link)]
        point: list[Constraint] = [fw.PointConstraint(link, ("z", "x"))]
        assert_close(fw.constraint_jacobian(model, q, weld), J, what=f"weld of {link}")
        assert_close(fw.constraint_jacobian(model, q, point), J[[2, 0]], what=f"point of {link}")
        assert_close(fw.constraint_velocity(model, q, v, weld), pin.getFrameVelocity(*args).vector)
        drift = pin.getFrameAcceleration(*args).vector
        assert_close(fw.constraint_bias(model, q, v, weld), drift, what=f"drift of {link}")
        classical = pin.getFrameClassicalAcceleration(*args).vector
        assert_close(fw.constraint_bias(model, q, v, point), classical[[2, 0]], what=f"drift of {link}, classical")
        assert_close(fw.constraint_residual(model, q, v, a, weld), J @ a + drift, what=f"residual of {link}")
