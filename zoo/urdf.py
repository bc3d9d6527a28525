"""One robot from URDF or SDF: mass matrix and bias forces beside Pinocchio, and a second of time beside MuJoCo.

MuJoCo refuses or changes most of these files, so it plays what :func:`featherweight.to_mjcf` writes, once the model is
known to be Pinocchio's. The files have no actuators: springs and dampers hold the joints, by the efforts they allow.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np

import featherweight as fw
from featherweight.arrays import Array
from featherweight.model.description import Actuator

from . import srdf
from .mjcf import MOST_DOFS, POSTURE, SAME, STANDING, Result, converges, difference
from .robots import Robot

DT = 2e-3  # [s]
SAG = 0.01  # [rad] or [m] by which a joint that carried the whole robot, stretched out, would give way
SETTLING = 0.05  # [s]


def compare(robot: Robot) -> Result | None:
    """None if the file is no robot: its peer refuses it, or nothing moves."""
    peer = _peer(robot)
    if robot.format == "urdf" and (peer is None or peer.nv == 0):
        return None
    values = srdf.posture(robot.path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = fw.load(robot.path)
            placed = (
                fw.load(robot.path, floating_base=True) if values and len(values.get(srdf.ROOT, ())) == 7 else model
            )
        except Exception as error:  # whatever it is, it is a result
            return Result(robot.name, peer.nv if peer else 0, False, False, str(error).split(": ", 1)[-1][:120])
        if not 0 < model.nv <= MOST_DOFS:
            return None
        notes = model.import_report.not_honoured
        reason = notes[0].message if notes else ""
        result = Result(robot.name, model.nv, True, not notes, reason)
        details: list[str] = []
        try:
            same = None if peer is None or model.nv != peer.nv else _same_dynamics(peer, model, details)
            held = _held(placed)
            q = np.array(held.q0) if values is None else srdf.configuration(held, values)
            ours = _second(held, q)
            stands, settled = _stands(held, ours, details), converges(ours, details)
        except Exception as error:
            return replace(result, stands=False, detail=f"{type(error).__name__}: {error}"[:160])
    return replace(result, dynamics=same, stands=stands, converges=settled, detail="; ".join(details))


def _peer(robot: Robot) -> Any:
    import pinocchio

    if robot.format != "urdf":
        return None  # wheels of Pinocchio read no SDF
    try:
        return pinocchio.buildModelFromUrdf(str(robot.path))
    except (ValueError, RuntimeError):
        return None


def _same_dynamics(peer: Any, model: fw.Model, details: list[str]) -> bool:
    import pinocchio

    data, worst = peer.createData(), 0.0
    for seed in range(2):
        rng = np.random.default_rng(seed)
        q, v = model.random(rng), rng.standard_normal(model.nv)
        q_peer, v_peer = fw.convert.to_pinocchio(model, q, v, joint_names=peer.names)
        bias = pinocchio.rnea(peer, data, q_peer, v_peer, np.zeros(peer.nv))
        _, expected = fw.convert.from_pinocchio(model, q_peer, bias, joint_names=peer.names)
        worst = max(worst, difference(fw.bias_forces(model, q, v), expected))
        upper = np.triu(pinocchio.crba(peer, data, q_peer))
        columns = [fw.convert.to_pinocchio(model, q, column, joint_names=peer.names)[1] for column in np.eye(model.nv)]
        T, M = np.stack(columns, axis=1), upper + np.triu(upper, 1).T
        worst = max(worst, difference(fw.crba(model, q) - np.diag(model.armature), T.T @ M @ T))
    if worst > SAME:
        details.append(f"dynamics differ by {worst:.1e}")
    return worst <= SAME


# -- standing ------------------------------------------------------------------------------------------------------


def _held(model: fw.Model) -> fw.Model:
    """With a spring and a damper on every joint with one degree of freedom."""
    links = [fw.frame_placement(model, model.q0, link)[:3, 3] for link in model.link_names]
    reach = max(float(np.ptp(links, axis=0).max()), 0.1)
    kp = max(model.mass, 1e-3) * 9.81 * reach / SAG
    driven = [joint for joint in model.joints if joint.nv == 1 and model.effort_limit[joint.v_slice][0] > 0.0]
    actuators = [
        Actuator(f"hold_{joint.name}", joint.name, kind="position", kp=kp, kd=SETTLING * kp) for joint in driven
    ]
    description = replace(model.description, actuators=tuple(actuators), keyframes=())
    return fw.ModelBuilder.from_description(description, allow_nonphysical=True).build()


def _second(model: fw.Model, q: Array) -> fw.Trajectory:
    """A second from a posture, which is held; on a floor where the base is free."""
    free = any(joint.type == "free" and joint.parent == "world" for joint in model.joints)
    scene = fw.Scene(ground=fw.Plane()) if free else fw.Scene(gravity=model.gravity)
    scene.add(model, name="robot", q=q, self_collision="apart")
    sim = fw.Simulator(scene, dt=DT, integrator="implicit")
    state = sim.state()
    control = _control(sim, state.q) if sim.nu else None
    return sim.rollout(state, control=control, n_steps=round(1.0 / DT), record=False)


def _control(sim: fw.Simulator, q: Array) -> Array:
    """Every joint that is held is to stay where it is."""
    held = [name for actuator in sim.actuators for name, _ in actuator.joints]
    return np.array([q[sim.model.joint(name).q_slice][0] for name in held])


def _stands(held: fw.Model, ours: fw.Trajectory, details: list[str]) -> bool | None:
    """Whether it is where MuJoCo's is after the same second; None where MuJoCo's does not stand."""
    sim, end = ours.simulator, ours.final
    m = mujoco.MjModel.from_xml_string(fw.to_mjcf(sim.scene, dt=sim.dt))
    m.opt.integrator = int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST)
    data = mujoco.MjData(m)
    start = sim.state().q
    data.qpos, _ = fw.convert.to_mujoco(sim.model, start, np.zeros(sim.model.nv))
    data.ctrl = _control(sim, start)
    for _ in range(round(1.0 / sim.dt)):
        mujoco.mj_step(m, data)
    if np.any([w.number for w in data.warning]) or not np.isfinite(data.qpos).all():
        return None  # it broke down there
    if bool(end.failed):
        details.append("the simulation broke down")
        return False
    theirs = fw.convert.from_mujoco(sim.model, data.qpos)
    bases = [joint for joint in sim.model.joints if joint.type == "free"]
    if bases:
        heights = [joint.q_slice.start + 2 for joint in bases]
        if np.abs(theirs[heights] - start[heights]).max() > STANDING:
            return None
        worst = float(np.abs(end.q[heights] - theirs[heights]).max())
        if worst > STANDING:
            details.append(f"bases {worst:.3f} m from MuJoCo's")
        return worst <= STANDING
    beyond = np.maximum(sim.model.lower - start, start - sim.model.upper) > POSTURE
    if np.abs(data.qvel).max() > 0.1 or beyond.any():
        return None  # it swings, or limits throw it back: where it is after a second says little
    worst = float(np.abs(sim.model.difference(theirs, end.q)).max())
    if worst > POSTURE:
        details.append(f"joints {worst:.3f} rad or m from MuJoCo's")
    return worst <= POSTURE
