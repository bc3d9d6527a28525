"""Where the robot of an MJCF file starts by name: its keyframes."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..model.description import Severity
from ..model.poses import rotation_from_quaternion
from .mjcf_source import MjcfSource, new_names


def add_keyframes(source: MjcfSource, actuators: dict[int, str]) -> None:
    """Keyframes by joint and actuator. ``actuators``: names of those imported, by number."""
    m, types = source.m, source.mujoco.mjtJoint
    wishes = [m.key(i).name or f"key_{i}" for i in range(m.nkey)]
    for key, name in enumerate(new_names(wishes, set())):
        q: dict[str, Array] = {}
        v: dict[str, Array] = {}
        for joint, called in enumerate(source.joints):
            at, dof = int(m.jnt_qposadr[joint]), int(m.jnt_dofadr[joint])
            qpos, qvel = np.array(m.key_qpos[key][at : at + 7]), np.array(m.key_qvel[key][dof : dof + 6])
            if m.jnt_type[joint] == types.mjJNT_FREE:
                xyzw = _unit(qpos[3:7])
                q[called] = np.concatenate([qpos[:3], xyzw])
                v[called] = np.concatenate([rotation_from_quaternion(xyzw).T @ qvel[:3], qvel[3:6]])
            elif m.jnt_type[joint] == types.mjJNT_BALL:
                q[called], v[called] = _unit(qpos[:4]), qvel[:3]
            else:
                q[called], v[called] = qpos[:1], qvel[:1]
        control = {called: float(m.key_ctrl[key][source.control(number)]) for number, called in actuators.items()}
        activation = {called: float(m.key_act[key][at]) for called, at in _activations(source, actuators).items()}
        told = (*control.values(), *activation.values())
        numbers = np.concatenate([np.zeros(0), *q.values(), *v.values(), np.array(told)])
        if not np.isfinite(numbers).all():
            source.note("key", key, "holds numbers that are not finite: left out", Severity.NOTHING)
            continue
        source.builder.keyframe(name, q=q, v=v, control=control, activation=activation)
        _report_rest(source, key)


def _activations(source: MjcfSource, actuators: dict[int, str]) -> dict[str, int]:
    """Where the activations of the actuators that have one are."""
    none = int(source.mujoco.mjtDyn.mjDYN_NONE)
    places = {called: number for number, called in actuators.items() if source.m.actuator_dyntype[number] != none}
    return {called: int(source.m.actuator_actadr[number]) for called, number in places.items()}


def _report_rest(source: MjcfSource, key: int) -> None:
    m = source.m
    mocap = [body for body in range(m.nbody) if m.body_mocapid[body] >= 0]
    moved = any(
        not np.allclose(m.key_mpos[key].reshape(-1, 3)[m.body_mocapid[body]], m.body_pos[body])
        or not np.allclose(m.key_mquat[key].reshape(-1, 4)[m.body_mocapid[body]], m.body_quat[body])
        for body in mocap
    )
    if moved:
        message = "places mocap bodies elsewhere: they stay where the file puts them; model.placed moves them"
        source.note("key", key, message, Severity.NOTHING)


def _unit(wxyz: Array) -> Array:
    """MuJoCo normalises quaternions where it uses them; one of zero length means no rotation."""
    length = float(np.linalg.norm(wxyz))
    return np.array([0.0, 0.0, 0.0, 1.0]) if length < 1e-15 else np.roll(wxyz / length, -1)
