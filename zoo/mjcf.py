"""One robot from MJCF beside MuJoCo: mass matrix, bias forces, actuators, pairs that may touch, and a second of time.

Nothing here reads the file by the code under test: MuJoCo's compiled model and its rules are written down once more.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np

import featherweight as fw
from featherweight.arrays import Array

from .robots import Robot

MOST_DOFS = 250  # robots with more are piles, cloths and crowds
SAME = 1e-7  # relative difference of dynamics that counts as equal; hulls and inertias are single precision in MuJoCo
STANDING = 0.02  # [m] by which a base may sink and still stands, and by which ours may differ from MuJoCo's
POSTURE = 0.01  # [rad] or [m] by which joints of a fixed robot may differ
UNCONVERGED = 1e-3  # share of steps that may miss their tolerance


@dataclass(frozen=True)
class Result:
    """What was found. None: not applicable."""

    robot: str
    dofs: int
    loads: bool
    strict: bool
    reason: str  # why not
    dynamics: bool | None = None
    actuators: bool | None = None
    pairs: bool | None = None
    stands: bool | None = None  # None: MuJoCo does not stand either
    converges: bool | None = None  # its steps are solved to their tolerance, standing or not
    detail: str = ""


def compare(robot: Robot) -> Result | None:
    """None if the file is no robot: MuJoCo refuses it, or nothing moves."""
    try:
        m = mujoco.MjModel.from_xml_path(str(robot.path))
    except ValueError:
        return None
    if not 0 < m.nv <= MOST_DOFS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = fw.load(robot.path)
        except Exception as error:  # whatever it is, it is a result
            return Result(robot.name, m.nv, False, False, str(error).split(": ", 1)[-1][:120])
        notes = model.import_report.not_honoured
        reason = notes[0].message if notes else ""
        result: dict[str, Any] = {"robot": robot.name, "dofs": m.nv, "loads": True, "strict": not notes}
        try:
            details: list[str] = []
            checks: dict[str, Any] = {
                "dynamics": _same_dynamics(m, model, details),
                "actuators": _same_actuators(m, model, details),
                "pairs": _same_pairs(m, model, details),
            }
            ours = _second(m, model)
            checks |= {"stands": _stands(m, model, ours, details), "converges": converges(ours, details)}
        except Exception as error:
            return Result(**result, reason=reason, stands=False, detail=f"{type(error).__name__}: {error}"[:160])
        return Result(**result, reason=reason, **checks, detail="; ".join(details))


# -- dynamics ------------------------------------------------------------------------------------------------------


def _same_dynamics(m: Any, model: fw.Model, details: list[str]) -> bool:
    data = mujoco.MjData(m)
    worst = 0.0
    for seed in range(2):
        rng = np.random.default_rng(seed)
        q, v = model.random(rng), rng.standard_normal(model.nv)
        data.qpos, data.qvel = fw.convert.to_mujoco(model, q, v)
        mujoco.mj_forward(m, data)
        M = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, data, M)
        T = _basis(model, q)
        gravity = np.zeros(m.nv) if m.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY) else None
        H = fw.crba(model, q)
        worst = max(worst, difference(H, T.T @ M @ T))
        if gravity is None:  # MuJoCo's acceleration of a free base is that of its velocity in the world
            bias = fw.bias_forces(model, q, v) - H @ _turning(model, v)
            worst = max(worst, difference(bias, T.T @ data.qfrc_bias))
    if worst > SAME:
        details.append(f"dynamics differ by {worst:.1e}")
    return worst <= SAME


def _basis(model: fw.Model, q: Array) -> Array:
    """MuJoCo's velocities for each of ours, as columns."""
    return np.stack([fw.convert.to_mujoco(model, q, column)[1] for column in np.eye(model.nv)], axis=1)


def _turning(model: fw.Model, v: Array) -> Array:
    """omega x v of free joints: what the axes of their velocity turn by."""
    turning = np.zeros(model.nv)
    for joint in model.joints:
        if joint.type == "free":
            linear, angular = np.split(v[joint.v_slice], 2)
            turning[joint.v_slice.start : joint.v_slice.start + 3] = np.cross(angular, linear)
    return turning


def difference(ours: Array, theirs: Array) -> float:
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-9))


# -- actuators -----------------------------------------------------------------------------------------------------


def _same_actuators(m: Any, model: fw.Model, details: list[str]) -> bool | None:
    if not m.nu:
        return None
    if any(note.element.startswith("actuator") for note in model.import_report.not_honoured):
        details.append("actuators are left out")
        return False
    sim, bare = fw.Simulator(model), fw.Simulator(fw.Model(replace(model.description, actuators=(), keyframes=())))
    data = mujoco.MjData(m)
    worst = 0.0
    for seed in range(2):
        rng = np.random.default_rng(seed)
        q, v = model.random(rng), rng.standard_normal(model.nv)
        control, activation = rng.uniform(-1.0, 1.0, m.nu), rng.uniform(0.0, 1.0, m.na)
        control[m.actuator_trntype == int(mujoco.mjtTrn.mjTRN_BODY)] = 0.0  # adhesion acts on links, where they touch
        data.qpos, data.qvel = fw.convert.to_mujoco(model, q, v)
        data.ctrl, data.act = control, activation
        mujoco.mj_forward(m, data)
        theirs = _basis(model, q).T @ data.qfrc_actuator
        rows = [_control_row(m, sim, k) for k in range(sim.nu)]
        driven = sim.step(sim.state(q=q, v=v, activation=activation), control=control[rows])
        ours = driven.joint_forces - bare.step(bare.state(q=q, v=v)).joint_forces
        worst = max(worst, float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1.0)))
    if worst > SAME:
        details.append(f"actuators differ by {worst:.1e}")
    return worst <= SAME


def _control_row(m: Any, sim: fw.Simulator, k: int) -> int:
    name = sim.actuators[k].name.partition("/")[2]
    found = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_ACTUATOR, name)
    return int(m.actuator_ctrladr[found if found >= 0 else int(name.rpartition("_")[2])])


# -- pairs ---------------------------------------------------------------------------------------------------------


def _same_pairs(m: Any, model: fw.Model, details: list[str]) -> bool:
    scene = fw.Scene(gravity=model.gravity)
    scene.add(model, name="robot")
    compiled = scene.compile()
    table = compiled.pair_table(10**7)
    assert table is not None
    names = [shape.name.rpartition("/")[2] for shape in compiled.shapes]
    ours = {frozenset((names[i], names[j])) for i, j in zip(table.first, table.second, strict=True)}
    theirs = _pairs(m)
    if ours != theirs:
        details.append(f"pairs: {len(ours - theirs)} more, {len(theirs - ours)} less of {len(theirs)}")
    return ours == theirs


def _pairs(m: Any) -> set[frozenset[str]]:
    """Names of geoms that may touch in MuJoCo."""
    bit = mujoco.mjtDisableBit
    if m.opt.disableflags & (int(bit.mjDSBL_CONTACT) | int(bit.mjDSBL_CONSTRAINT)):
        return set()
    names = [m.geom(k).name or f"geom_{k}" for k in range(m.ngeom)]
    body = np.asarray(m.geom_bodyid)
    weld, above = m.body_weldid[body], m.body_weldid[m.body_parentid[m.body_weldid[body]]]
    excluded = {(int(s) >> 16, int(s) & 0xFFFF) for s in m.exclude_signature}
    filters_parents = not m.opt.disableflags & int(bit.mjDSBL_FILTERPARENT)
    found = {
        frozenset((names[a], names[b]))
        for a, b in zip(m.pair_geom1.tolist(), m.pair_geom2.tolist(), strict=True)
        if weld[a] != weld[b]
    }
    for i in range(m.ngeom):
        bits = (m.geom_contype[i] & m.geom_conaffinity) | (m.geom_contype & m.geom_conaffinity[i])
        for j in np.flatnonzero(bits[i + 1 :]) + i + 1:
            if weld[i] == weld[j] or {(body[i], body[j]), (body[j], body[i])} & excluded:
                continue
            if filters_parents and weld[i] and weld[j] and (weld[i] == above[j] or weld[j] == above[i]):
                continue
            found.add(frozenset((names[i], names[j])))
    return found


# -- standing ------------------------------------------------------------------------------------------------------


def _second(m: Any, model: fw.Model) -> fw.Trajectory:
    """Ours, from where the file starts, its first keyframe if it has one, with the controls of that."""
    keyframe = next(iter(model.keyframes), None)
    scene = fw.Scene(gravity=model.gravity, medium=model.description.medium)
    scene.add(model, name="robot")
    sim = fw.Simulator(scene, dt=float(m.opt.timestep), integrator="implicit")
    state = sim.state(keyframe=keyframe)
    control = None if not sim.nu else np.zeros(sim.nu) if keyframe is None else sim.keyframe(keyframe).control
    return sim.rollout(state, control=control, n_steps=_steps(m), record=False)


def _steps(m: Any) -> int:
    return max(1, round(1.0 / float(m.opt.timestep)))


def converges(ours: fw.Trajectory, details: list[str]) -> bool:
    share = float(ours.unconverged) / max(1, round(float(ours.final.time) / ours.simulator.dt))
    if share > UNCONVERGED:
        worst = float(ours.residual)
        details.append(f"{share:.1%} of the steps miss their tolerance, with residuals up to {worst:.0e}")
    return share <= UNCONVERGED


def _stands(m: Any, model: fw.Model, ours: fw.Trajectory, details: list[str]) -> bool | None:
    """Whether it is where MuJoCo's is after the same second."""
    data = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, data, 0)
    mujoco.mj_forward(m, data)
    start_q = fw.convert.from_mujoco(model, data.qpos)
    bases = [k for k in range(1, m.nbody) if m.body_parentid[k] == 0 and m.body_dofnum[k] > 0]
    start = data.xpos[bases, 2].copy()
    travels = _travels(m, bases)
    for _ in range(_steps(m)):
        mujoco.mj_step(m, data)
    if np.any([w.number for w in data.warning]) or not np.isfinite(data.qpos).all():
        return None  # it broke down there
    mujoco.mj_forward(m, data)
    sim, end = ours.simulator, ours.final
    if bool(end.failed):
        details.append("the simulation broke down")
        return False
    if travels:
        if np.abs(data.xpos[bases, 2] - start).max() > STANDING:
            return None
        names = [m.body(k).name or f"body_{k}" for k in bases]
        heights = [float(fw.frame_placement(sim.model, end.q, f"robot/{name}")[2, 3]) for name in names]
        worst = float(np.abs(heights - data.xpos[bases, 2]).max())
        if worst > STANDING:
            details.append(f"bases {worst:.3f} m from MuJoCo's")
        return worst <= STANDING
    moved = model.difference(fw.convert.from_mujoco(model, data.qpos), end.q)
    beyond = np.maximum(model.lower - start_q, start_q - model.upper) > POSTURE
    if np.abs(data.qvel).max() > 0.1 or beyond.any():
        return None  # it swings, or limits throw it back: where it is after a second says little
    worst = float(np.abs(moved).max())
    if worst > POSTURE:
        details.append(f"joints {worst:.3f} rad or m from MuJoCo's")
    return worst <= POSTURE


def _travels(m: Any, bases: list[int]) -> bool:
    """Whether some tree is not fixed: a free joint, or a slide that nothing drives."""
    driven = set(m.actuator_trnid[:, 0].tolist()) if len(m.actuator_trntype) else set()
    for body in bases:
        for joint in range(m.body_jntadr[body], m.body_jntadr[body] + m.body_jntnum[body]):
            slides = m.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_SLIDE)
            if m.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_FREE) or (
                slides and joint not in driven and not m.jnt_limited[joint]
            ):
                return True
    return False
