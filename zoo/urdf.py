"""One robot from URDF beside Pinocchio: mass matrix and bias forces."""

from __future__ import annotations

import warnings

import numpy as np

import featherweight as fw

from .mjcf import SAME, Result
from .robots import Robot


def compare(robot: Robot) -> Result | None:
    """None if Pinocchio reads no robot either."""
    import pinocchio

    try:
        peer = pinocchio.buildModelFromUrdf(str(robot.path))
    except (ValueError, RuntimeError):
        return None
    if peer.nv == 0:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = fw.load(robot.path)
        except Exception as error:  # whatever it is, it is a result
            return Result(robot.name, peer.nv, False, False, str(error).split(": ", 1)[-1][:120])
    notes = model.import_report.not_honoured
    reason = notes[0].message if notes else ""
    worst, detail = 0.0, ""
    same: bool | None = None
    if model.nv == peer.nv:
        data = peer.createData()
        for seed in range(2):
            rng = np.random.default_rng(seed)
            q, v = model.random(rng), rng.standard_normal(model.nv)
            q_peer, v_peer = fw.convert.to_pinocchio(model, q, v, joint_names=peer.names)
            bias = pinocchio.rnea(peer, data, q_peer, v_peer, np.zeros(peer.nv))
            _, expected = fw.convert.from_pinocchio(model, q_peer, bias, joint_names=peer.names)
            ours = fw.bias_forces(model, q, v)
            worst = max(worst, float(np.abs(ours - expected).max() / max(np.abs(expected).max(), 1e-9)))
        same = worst <= SAME
        detail = "" if same else f"dynamics differ by {worst:.1e}"
    return Result(robot.name, model.nv, True, not notes, reason, dynamics=same, detail=detail)
