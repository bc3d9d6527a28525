"""A motion as MuJoCo has it: the same scene, rolled out by its own ``mujoco.rollout``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from contextlib import ExitStack
from typing import Any

import numpy as np

import featherweight as fw
from benchmarks.motions import DT, Motion
from benchmarks.race import relative_error
from benchmarks.robots import Array, Samples
from featherweight.model.convert import from_mujoco, to_mujoco


def mujoco_installed() -> bool:
    return importlib.util.find_spec("mujoco") is not None


def mujoco_twin(motion: Motion, stack: ExitStack, num_threads: int = 1) -> MujocoTwin | None:
    """The motion as MuJoCo has it, ended by ``stack``; None where MuJoCo is not installed, or refuses the robot."""
    if not mujoco_installed():
        return None
    try:
        twin = MujocoTwin(motion, num_threads)
    except RefusedRobotError as error:
        print(f"note: {error}", file=sys.stderr)
        return None
    stack.callback(twin.close)
    return twin


class RefusedRobotError(ValueError):
    """MuJoCo does not load a robot, as one whose inertia has no positive eigenvalues."""


class MujocoTwin:
    """Rolls out all environments of a motion. Its results are in arrays made beforehand, as MuJoCo likes it best.

    num_threads: 1 runs in the thread that calls; more, in a pool of that many.
    """

    def __init__(self, motion: Motion, num_threads: int = 1) -> None:
        self.mujoco: Any = importlib.import_module("mujoco")
        rollout: Any = importlib.import_module("mujoco.rollout")
        self.motion = motion
        scene = fw.to_mjcf(motion.scene, dt=DT, strict=True, fuse=True)
        try:
            self.model = self.mujoco.MjModel.from_xml_string(scene)
        except ValueError as error:
            reason = str(error).splitlines()[0]
            raise RefusedRobotError(f"motion {motion.name!r}: MuJoCo refuses it: {reason}") from error
        if motion.integrator == "implicit":
            self.model.opt.integrator = self.mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        ours = motion.scene.model
        if (self.model.nq, self.model.nv, self.model.na) != (ours.nq, ours.nv, 0):
            raise ValueError(
                f"motion {motion.name!r}: MuJoCo has nq, nv, na = {self.model.nq}, {self.model.nv}, {self.model.na}, "
                f"featherweight {ours.nq}, {ours.nv}, 0"
            )
        self._data = [self.mujoco.MjData(self.model) for _ in range(num_threads)]
        self._pool = rollout.Rollout(nthread=0 if num_threads == 1 else num_threads)
        qpos, qvel = to_mujoco(ours, motion.q, motion.v)
        self._start = np.concatenate([np.zeros((len(qpos), 1)), qpos, qvel], axis=1)  # time, qpos, qvel
        full = self.mujoco.mjtState.mjSTATE_FULLPHYSICS
        if self.mujoco.mj_stateSize(self.model, full) != self._start.shape[1]:
            raise ValueError(f"motion {motion.name!r}: MuJoCo's state is more than time, qpos and qvel")
        self._states = np.zeros((len(qpos), motion.steps, self._start.shape[1]))
        self._sensors = np.zeros((len(qpos), motion.steps, 0))

    def run(self) -> None:
        motion = self.motion
        data = self._data[0] if len(self._data) == 1 else self._data
        self._pool.rollout(
            self.model, data, self._start, motion.control, nstep=motion.steps, state=self._states,
            sensordata=self._sensors,
        )  # fmt: skip

    def height(self) -> float:
        """The mean over all environments and steps of the last run [m]."""
        return float(self._states[:, :, 1 + self.motion.height].mean())

    def contacts(self, samples: int = 1000) -> float:
        """Mean number per environment, in states of the last run."""
        states = self._states.reshape(-1, self._states.shape[2])
        chosen = states[np.linspace(0, len(states) - 1, min(samples, len(states))).astype(int)]
        counts = []
        for state in chosen:
            self.mujoco.mj_setState(self.model, self._data[0], state, self.mujoco.mjtState.mjSTATE_FULLPHYSICS)
            self.mujoco.mj_fwdPosition(self.model, self._data[0])
            counts.append(self._data[0].ncon)
        return float(np.mean(counts))

    def disagreement(self, samples: int = 20) -> float:
        """Largest relative difference of free accelerations, servos at work, on random states: both have one robot."""
        model, data = self.motion.scene.model, self._data[0]
        states, rng = Samples.random(model, samples), np.random.default_rng(1)
        control = rng.uniform(-0.5, 0.5, (samples, self.model.nu))
        theirs = []
        for q, v, u in zip(states.q, states.v, control, strict=True):
            data.qpos[:], data.qvel[:] = to_mujoco(model, q, v)
            data.ctrl[:] = u
            self.mujoco.mj_forward(self.model, data)
            theirs.append(self._in_our_axes(q, v, np.array(data.qacc_smooth)))
        ours = fw.aba(model, states.q, states.v, servo_forces(model, states.q, states.v, control))
        return relative_error(np.asarray(ours, np.float64), np.array(theirs))

    def close(self) -> None:
        self._pool.close()

    def _in_our_axes(self, q: Array, v: Array, a: Array) -> Array:
        """Free joints: d/dt (R^T v) = R^T dv/dt - w x (R^T v), where MuJoCo has the world's axes."""
        model = self.motion.scene.model
        qpos = to_mujoco(model, q)
        _, turned = from_mujoco(model, qpos, a)
        for joint in model.joints:
            if joint.type == "free":
                linear, angular = v[joint.v_slice][:3], v[joint.v_slice][3:]
                turned[joint.v_slice][:3] -= np.cross(angular, linear)
        return turned


def servo_forces(model: fw.Model, q: Array, v: Array, control: Array) -> Array:
    """Joint forces (n, nv) of position servos, cut to what the motors can do, and of the dampers of joints."""
    tau = -model.damping * v
    for u, actuator in zip(control.T, model.description.actuators, strict=True):
        [(name, _)] = actuator.joints
        joint = model.joint(name)
        k, limit = joint.v_slice.start, float(joint.effort_limit[0])
        force = actuator.kp * (u - q[:, joint.q_slice.start]) - actuator.kd * v[:, k]
        tau[:, k] += np.clip(force, -limit, limit)
    return np.asarray(tau)
