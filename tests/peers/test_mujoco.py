"""The same MJCF in MuJoCo: mass matrix and bias forces to 1e-9, on the robots that gymnasium ships.

MuJoCo's velocity of a free body has its linear part in the world; ours is in the body: v = T v_mj. Therefore
M_mj = T^T H T, and bias_mj = T^T rnea(q, v, dT/dt v_mj).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.compare import assert_close

import featherweight as fw
from featherweight.arrays import Array

mujoco = pytest.importorskip("mujoco", reason="the mujoco package is not installed")
gymnasium = pytest.importorskip("gymnasium", reason="the gymnasium package is not installed")

ASSETS = sorted((Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets").glob("*.xml"))
TYPES = {"free": "free", "ball": "spherical", "slide": "prismatic", "hinge": "revolute"}

every_asset = pytest.mark.parametrize("path", ASSETS, ids=lambda path: path.stem)


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """MuJoCo logs its warnings to a file in the working directory."""
    monkeypatch.chdir(tmp_path)


class MujocoTwin:
    """``path`` loaded by both; joints correspond in order, as both are numbered depth first."""

    def __init__(self, path: Path) -> None:
        self.mj = mujoco.MjModel.from_xml_path(str(path))
        self.data = mujoco.MjData(self.mj)
        self.model = fw.load(path)
        kinds = [TYPES[mujoco.mjtJoint(kind).name.removeprefix("mjJNT_").lower()] for kind in self.mj.jnt_type]
        ours = ["revolute" if joint.type == "continuous" else joint.type for joint in self.model.joints]
        assert ours == kinds

    def sample(self, seed: int) -> tuple[Array, Array, Array, Array]:
        """(q, v) of ours at a random state given to MuJoCo, with T (nv, nv) and the bias dT/dt v_mj (nv,)."""
        rng = np.random.default_rng(seed)
        q, v_mj = self.model.random(rng), rng.normal(size=self.model.nv)
        T, rate = np.eye(self.model.nv), np.zeros(self.model.nv)
        qpos = q.copy()
        for joint in self.model.joints:
            if joint.type in ("free", "spherical"):
                x, y, z, w = q[joint.q_slice][-4:]
                qpos[joint.q_slice][-4:] = w, x, y, z
            if joint.type == "free":
                linear, angular = np.arange(joint.v_slice.start, joint.v_slice.stop).reshape(2, 3)
                R = fw.forward_kinematics(self.model, q)[joint.index, :3, :3]
                T[np.ix_(linear, linear)] = R.T
                rate[linear] = -np.cross(v_mj[angular], R.T @ v_mj[linear])
        self.data.qpos, self.data.qvel = qpos, v_mj
        mujoco.mj_forward(self.mj, self.data)
        return q, T @ v_mj, T, rate

    def mass_matrix(self) -> Array:
        columns = np.zeros((self.mj.nv, self.mj.nv))
        for column, unit in zip(columns, np.eye(self.mj.nv), strict=True):
            mujoco.mj_mulM(self.mj, self.data, column, unit)
        return columns


@every_asset
def test_mass_matrix(path: Path) -> None:
    twin = MujocoTwin(path)
    for seed in range(5):
        q, _, T, _ = twin.sample(seed)
        assert_close(T.T @ fw.crba(twin.model, q) @ T, twin.mass_matrix(), 1e-9)


@every_asset
def test_bias_forces(path: Path) -> None:
    twin = MujocoTwin(path)
    for seed in range(5):
        q, v, T, rate = twin.sample(seed)
        assert_close(T.T @ fw.rnea(twin.model, q, v, rate), twin.data.qfrc_bias, 1e-9)


@every_asset
def test_conversion_of_states(path: Path) -> None:
    twin = MujocoTwin(path)
    q, v, *_ = twin.sample(0)
    qpos, qvel = fw.convert.to_mujoco(twin.model, q, v)
    assert_close(qpos, twin.data.qpos, 1e-15)
    assert_close(qvel, twin.data.qvel, 1e-14)
    back_q, back_v = fw.convert.from_mujoco(twin.model, twin.data.qpos, twin.data.qvel)
    assert_close(back_q, q, 1e-15)
    assert_close(back_v, v, 1e-14)


@every_asset
def test_center_of_mass_and_body_positions(path: Path) -> None:
    twin = MujocoTwin(path)
    q, *_ = twin.sample(0)
    assert_close(fw.center_of_mass(twin.model, q), twin.data.subtree_com[0], 1e-9)
    for body in range(1, twin.mj.nbody):
        name = twin.mj.body(body).name
        if name:
            assert_close(fw.frame_placement(twin.model, q, name)[:3, 3], twin.data.xpos[body], 1e-9, what=name)


def test_armature_of_ball_and_free_joints(tmp_path: Path) -> None:
    """Accelerations while they turn: armature has products of velocities, and no weight."""
    file = tmp_path / "armature.xml"
    file.write_text("""
      <mujoco><worldbody>
        <body name="a" pos="0 0 1"><joint name="f" type="free" armature="0.4"/>
          <inertial pos="0.1 -0.2 0.3" mass="2" fullinertia="0.2 0.3 0.25 0.02 -0.01 0.03"/>
          <body name="b" pos="0.3 0 0"><joint name="s" type="ball" armature="0.2"/>
            <inertial pos="0 0.1 0.1" mass="1" diaginertia="0.02 0.03 0.04"/></body></body>
      </worldbody></mujoco>""")
    peer = mujoco.MjModel.from_xml_path(str(file))
    data, model = mujoco.MjData(peer), fw.load(file)
    rng = np.random.default_rng(0)
    q, v = model.random(rng), rng.normal(size=model.nv)
    data.qpos[:], data.qvel[:] = fw.convert.to_mujoco(model, q, v)
    mujoco.mj_forward(peer, data)
    a = fw.aba(model, q, v, np.zeros(model.nv))
    # the linear velocity of MuJoCo's free joint is in world axes: its rate is the classical acceleration
    R = fw.forward_kinematics(model, q)[0][:3, :3]
    a[:3] = R @ (a[:3] + np.cross(v[3:6], v[:3]))
    np.testing.assert_allclose(a, data.qacc, rtol=1e-9, atol=1e-9)
