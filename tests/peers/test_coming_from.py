"""The guides from MuJoCo and from Pinocchio: every row of their tables, tried beside the library it names."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw

mujoco = pytest.importorskip("mujoco")
pin = pytest.importorskip("pinocchio")

DOCS = Path(__file__).parents[2] / "docs"
Check = Callable[[], None]
MUJOCO: dict[str, Check] = {}
PINOCCHIO: dict[str, Check] = {}


def row(table: dict[str, Check], start: str) -> Callable[[Check], Check]:
    """Says that a function tries the row of a table that begins like that."""

    def keep(check: Check) -> Check:
        table[start] = check
        return check

    return keep


def rows_of(page: str) -> list[str]:
    """First cells of all tables of a page but for their heads."""
    found = []
    for table in re.findall(r"(?:^\|.*\n)+", (DOCS / page).read_text(), re.M):
        found += [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    return found


@pytest.mark.parametrize("page, table", [("coming-from-mujoco.md", MUJOCO), ("coming-from-pinocchio.md", PINOCCHIO)])
def test_every_row_is_tried(page: str, table: dict[str, Check]) -> None:
    assert rows_of(page) == list(table)


def close(one: Any, other: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


# -- MuJoCo ----------------------------------------------------------------------------------------------------------

ARM = """
<mujoco model="arm">
  <option timestep="0.001" integrator="Euler"><flag contact="disable"/></option>
  <worldbody>
    <body name="trunk" pos="0 0 1">
      <freejoint name="root"/>
      <geom type="box" size="0.2 0.1 0.05" mass="3"/>
      <body name="upper" pos="0.2 0 0.1">
        <joint name="shoulder" type="hinge" axis="0 1 0" range="-120 120" limited="true"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/>
        <body name="lower" pos="0.3 0 0">
          <joint name="elbow" type="hinge" axis="0 0 1"/>
          <geom type="capsule" fromto="0 0 0 0 0.25 0" size="0.02" mass="0.5"/>
          <site name="hand" pos="0 0.25 0" euler="0 30 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="turn" joint="elbow" gear="2"/></actuator>
  <sensor><gyro name="spin" site="hand"/><jointvel name="rate" joint="elbow"/></sensor>
  <keyframe><key name="start" qpos="0.1 0.2 1.3 0.8 0.6 0 0 0.4 -0.7" qvel="0.3 -0.2 0.1 0.5 0.4 -0.6 1 -2"/></keyframe>
</mujoco>
"""


class Twin:
    """ARM in both, at its keyframe."""

    def __init__(self) -> None:
        self.m = mujoco.MjModel.from_xml_string(ARM)
        self.d = mujoco.MjData(self.m)
        mujoco.mj_resetDataKeyframe(self.m, self.d, 0)
        self.model = fw.loads(ARM, "mjcf")
        self.q, self.v = fw.convert.from_mujoco(self.model, self.d.qpos, self.d.qvel)

    def velocity(self, v: Any) -> Any:
        return fw.convert.to_mujoco(self.model, self.q, v)[1]

    def columns(self) -> Any:
        """qvel = columns @ v."""
        return np.stack([self.velocity(e) for e in np.eye(self.model.nv)], axis=1)

    def sim(self) -> fw.Simulator:
        return fw.Simulator(self.model, dt=1e-3)


@row(MUJOCO, "`MjModel`, `MjSpec`")
def _() -> None:
    model = fw.models.arm()
    assert isinstance(model, fw.Model) and isinstance(fw.ModelBuilder("new"), fw.ModelBuilder)
    scene = fw.Scene()
    scene.add(model, name="one")
    scene.add(model, name="two")
    scene.add(fw.box((0.1, 0.1, 0.1)), name="crate")
    assert scene.compile().model.nv == 2 * model.nv + 6
    with pytest.raises(AttributeError):
        model.nv = 3  # type: ignore[misc]


@row(MUJOCO, "`MjData`")
def _() -> None:
    sim = Twin().sim()
    state = sim.state(keyframe="start")
    before = state.q.copy()
    after = sim.step(state)
    assert np.array_equal(state.q, before) and not np.array_equal(after.q, before)
    assert isinstance(sim.state(batch=4), fw.State)


@row(MUJOCO, "`mj_step`")
def _() -> None:
    twin = Twin()
    sim = twin.sim()
    state = sim.state(keyframe="start")
    twin.d.ctrl[0] = 0.3
    for _k in range(100):
        mujoco.mj_step(twin.m, twin.d)
    motion = sim.rollout(state, control=[0.3], n_steps=100)
    for _k in range(100):
        state = sim.step(state, control=[0.3])
    assert np.array_equal(state.q, motion.final.q)
    close(fw.convert.to_mujoco(twin.model, state.q), twin.d.qpos, 2e-3)  # both of first order in the time step


@row(MUJOCO, "`mujoco.rollout`, MJX batches")
def _() -> None:
    sim = Twin().sim()
    assert sim.rollout(sim.state(batch=4096, keyframe="start"), n_steps=2).final.q.shape == (4096, 9)


@row(MUJOCO, "`mj_forward`, `qacc`")
def _() -> None:
    twin = Twin()
    twin.d.qvel[:] = 0
    twin.d.ctrl[0] = 0.7
    mujoco.mj_forward(twin.m, twin.d)
    tau = np.zeros(8)
    tau[-1] = 2 * 0.7
    close(twin.velocity(fw.aba(twin.model, twin.q, np.zeros(8), tau)), twin.d.qacc)
    sim = twin.sim()
    stepped = sim.step(sim.state(q=twin.q), control=[0.7])
    close(twin.velocity(stepped.acceleration), twin.d.qacc)


@row(MUJOCO, "`mj_inverse`, `mj_rne`")
def _() -> None:
    twin = Twin()
    twin.d.qvel[:6] = 0  # a free joint's own acceleration in other axes would add a term
    v = fw.convert.from_mujoco(twin.model, twin.d.qpos, twin.d.qvel)[1]
    a = np.random.default_rng(0).standard_normal(8)
    twin.d.qacc[:] = twin.velocity(a)
    mujoco.mj_inverse(twin.m, twin.d)
    close(fw.rnea(twin.model, twin.q, v, a), twin.columns().T @ twin.d.qfrc_inverse)


@row(MUJOCO, "`mj_fullM`")
def _() -> None:
    twin = Twin()
    mujoco.mj_forward(twin.m, twin.d)
    full = np.zeros((8, 8))
    mujoco.mj_fullM(twin.m, twin.d, full)
    close(fw.crba(twin.model, twin.q), twin.columns().T @ full @ twin.columns())


@row(MUJOCO, "`mj_jac`, `mj_jacBody`")
def _() -> None:
    twin = Twin()
    mujoco.mj_forward(twin.m, twin.d)
    linear, angular = np.zeros((3, 8)), np.zeros((3, 8))
    mujoco.mj_jacBody(twin.m, twin.d, linear, angular, twin.m.body("lower").id)
    ours = fw.jacobian(twin.model, twin.q, "lower", reference="local_world_aligned")
    close(ours, np.vstack([linear, angular]) @ twin.columns())


@row(MUJOCO, "`xpos`, `xmat`, `site_xpos`")
def _() -> None:
    twin = Twin()
    mujoco.mj_forward(twin.m, twin.d)
    placements = fw.forward_kinematics(twin.model, twin.q)
    for name in ("trunk", "upper", "lower"):
        pose = placements[twin.model.link_names.index(name)]
        close(pose[:3, 3], twin.d.body(name).xpos)
        close(pose[:3, :3].ravel(), twin.d.body(name).xmat)
    close(fw.frame_placement(twin.model, twin.q, "hand")[:3, 3], twin.d.site("hand").xpos)


@row(MUJOCO, "`mj_integratePos`, `mj_differentiatePos`")
def _() -> None:
    twin = Twin()
    spin = np.array([0, 0, 0, 0.3, -0.2, 0.5, 1.0, 2.0])  # turns are in the axes of the body in both
    qpos = twin.d.qpos.copy()
    mujoco.mj_integratePos(twin.m, qpos, spin, 0.1)
    q = twin.model.integrate(twin.q, 0.1 * spin)
    close(fw.convert.to_mujoco(twin.model, q), qpos)
    back = np.zeros(8)
    mujoco.mj_differentiatePos(twin.m, back, 0.1, twin.d.qpos, qpos)
    close(twin.model.difference(twin.q, q) / 0.1, back)


@row(MUJOCO, "`d.contact`, `mj_contactForce`")
def _() -> None:
    xml = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 0.1"/>
    <body name="crate" pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="2"/></body></worldbody>
    </mujoco>"""
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    for _k in range(1000):
        mujoco.mj_step(m, d)
    theirs, force = np.zeros(3), np.zeros(6)
    for k in range(d.ncon):
        mujoco.mj_contactForce(m, d, k, force)
        theirs += d.contact[k].frame.reshape(3, 3).T @ force[:3]
    sim = fw.Simulator(fw.loads(xml, "mjcf"), dt=0.002)
    state = sim.rollout(sim.state(), n_steps=1000).final
    contacts = state.contacts
    assert len(contacts.names) > 0 and contacts.position.shape == contacts.normal.shape == (4, 3) == (d.ncon, 3)
    close(abs(contacts.force_world.sum(axis=0)), abs(theirs), 1e-3)


@row(MUJOCO, "`qfrc_actuator`, `qfrc_constraint`")
def _() -> None:
    twin = Twin()
    twin.d.ctrl[0] = 0.7
    mujoco.mj_forward(twin.m, twin.d)
    sim = twin.sim()
    forces = sim.step(sim.state(keyframe="start"), control=[0.7]).forces
    close(forces.applied, twin.d.qfrc_actuator)
    for name in ("limits", "friction", "contacts", "closures"):
        assert hasattr(forces, name)


@row(MUJOCO, "`xfrc_applied`")
def _() -> None:
    twin = Twin()
    twin.d.qvel[:] = 0
    push = np.array([1.0, 2.0, 3.0])
    twin.d.body("lower").xfrc_applied[:3] = push  # at the centre of mass
    mujoco.mj_forward(twin.m, twin.d)
    sim = twin.sim()
    state = sim.state(q=twin.q)
    close(twin.velocity(sim.step(state, f_ext=sim.push(state, "arm/lower", push)).acceleration), twin.d.qacc)
    f_ext, turn = np.zeros((3, 6)), fw.frame_placement(twin.model, twin.q, "lower")
    at = twin.d.body("lower").xipos - turn[:3, 3]
    f_ext[2] = np.concatenate([turn[:3, :3].T @ push, turn[:3, :3].T @ np.cross(at, push)])
    close(twin.velocity(sim.step(state, f_ext=f_ext).acceleration), twin.d.qacc)


@row(MUJOCO, "`key_qpos`")
def _() -> None:
    twin = Twin()
    state = twin.sim().state(keyframe="start")
    close(fw.convert.to_mujoco(twin.model, twin.model.keyframe("start").q), twin.m.key_qpos[0])
    close(fw.convert.to_mujoco(twin.model, state.q), twin.m.key_qpos[0])
    close(twin.velocity(state.v), twin.m.key_qvel[0])


@row(MUJOCO, "`sensordata`")
def _() -> None:
    twin = Twin()
    sim = twin.sim()
    mujoco.mj_forward(twin.m, twin.d)
    sensors = fw.named_sensors(sim)
    state = sim.state(keyframe="start")
    for name in ("spin", "rate"):
        close(np.ravel(sensors[f"arm/{name}"].read(state)), twin.d.sensor(name).data)


@row(MUJOCO, "equality constraints")
def _() -> None:
    bodies = """<body name="a" pos="0 0 1"><joint axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 1 0 0" size=".02" mass="1"/></body>
    <body name="b" pos="0 1 1"><joint axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 1 0 0" size=".02" mass="1"/></body>"""
    held = '<equality><connect body1="a" body2="b" anchor="1 0 0"/></equality>'
    sim = fw.Simulator(
        fw.loads(f"<mujoco><worldbody>{bodies.replace('0 1 1', '0 0 1')}</worldbody>{held}</mujoco>", "mjcf"), 1e-3
    )
    q = sim.rollout(sim.state(), n_steps=200).final.q
    assert abs(q[0]) > 0.1 and abs(q[0] - q[1]) < 1e-6
    scene = fw.Scene()
    scene.add(fw.loads(f"<mujoco model='m'><worldbody>{bodies}</worldbody></mujoco>", "mjcf"), name="m")
    scene.constrain(fw.PointConstraint("m/a", offset=(1.0, 0.0, 0.0)))
    sim = fw.Simulator(scene, 1e-3)
    q = sim.rollout(sim.state(), n_steps=200).final.q
    assert abs(q[0]) < 1e-6 and abs(q[1]) > 0.1


@row(MUJOCO, "`mjd_transitionFD`")
def _() -> None:
    xml = """<mujoco><option timestep="0.002" integrator="Euler"/><worldbody><body pos="0 0 1">
    <joint name="j" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.5 0 0" size=".02" mass="1"/></body></worldbody>
    <actuator><motor joint="j"/></actuator></mujoco>"""
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    d.qpos[0], d.qvel[0] = 0.3, 0.7
    theirs_a, theirs_b = np.zeros((2, 2)), np.zeros((2, 1))
    mujoco.mjd_transitionFD(m, d, 1e-6, True, theirs_a, theirs_b, None, None)
    sim = fw.Simulator(fw.loads(xml, "mjcf"), dt=0.002)
    state = sim.state(q=[0.3], v=[0.7])
    linear = sim.linearise(sim.rollout(state, control=[0.0], n_steps=1, tape=True))
    close(np.reshape(linear.A, (2, 2)), theirs_a, 1e-6)
    close(np.reshape(linear.B, (2, 1)), theirs_b, 1e-6)
    assert callable(sim.step_derivatives)


@row(MUJOCO, "the viewer")
def _() -> None:
    sim = Twin().sim()
    assert callable(fw.view) and callable(sim.rollout(sim.state(), n_steps=1).html)


@row(MUJOCO, "quaternions")
def _() -> None:
    twin = Twin()
    close(twin.q[3:7], np.roll(twin.d.qpos[3:7], -1))


@row(MUJOCO, "velocity of a free joint")
def _() -> None:
    twin = Twin()
    turn = fw.frame_placement(twin.model, twin.q, "trunk")[:3, :3]
    close(turn @ twin.v[:3], twin.d.qvel[:3])
    close(twin.v[3:6], twin.d.qvel[3:6])


@row(MUJOCO, "order of spatial vectors")
def _() -> None:
    twin = Twin()
    mujoco.mj_forward(twin.m, twin.d)
    ours = fw.frame_velocity(twin.model, twin.q, twin.v, "lower", reference="local_world_aligned")
    theirs = np.zeros(6)  # of the body, in world axes at its frame
    mujoco.mj_objectVelocity(twin.m, twin.d, mujoco.mjtObj.mjOBJ_XBODY, twin.m.body("lower").id, theirs, 0)
    close(ours, np.concatenate([theirs[3:], theirs[:3]]))


@row(MUJOCO, "sizes of boxes, lengths of capsules")
def _() -> None:
    sizes = {shape.shape: shape.size for link in Twin().model.description.links for shape in link.geometries}
    assert np.allclose(sizes["box"], (0.4, 0.2, 0.1)) and np.allclose(sizes["capsule"], (0.02, 0.25))


# -- Pinocchio -------------------------------------------------------------------------------------------------------

INERTIAL = """<inertial><origin xyz="0.1 0 0.05"/><mass value="{}"/>
<inertia ixx=".02" iyy=".03" izz=".04" ixy="0" ixz=".001" iyz="0"/></inertial>"""
URDF = f"""<robot name="r">
<link name="base">{INERTIAL.format(3)}</link><link name="a">{INERTIAL.format(1)}</link>
<link name="b">{INERTIAL.format(0.5)}</link><link name="tool">{INERTIAL.format(0.2)}</link>
<joint name="ja" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0.2 0 0" rpy="0.1 0.2 0.3"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="jb" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0 0.3 0"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="jt" type="fixed"><parent link="b"/><child link="tool"/><origin xyz="0 0 0.2" rpy="0 0 0.4"/></joint>
</robot>"""


class Pair:
    """URDF with a free base in both, at a random state."""

    def __init__(self) -> None:
        self.pm = pin.buildModelFromXML(URDF, pin.JointModelFreeFlyer())
        self.data = self.pm.createData()
        self.model = fw.loads(URDF, "urdf", floating_base=True)
        rng = np.random.default_rng(0)
        self.q = self.model.random(rng)
        self.v, self.a, self.tau = rng.standard_normal((3, 8))
        self.tool = self.pm.getFrameId("tool")
        pin.forwardKinematics(self.pm, self.data, self.q, self.v, self.a)
        pin.updateFramePlacements(self.pm, self.data)


@row(PINOCCHIO, "`buildModelFromUrdf(file, JointModelFreeFlyer())`")
def _() -> None:
    pair = Pair()
    assert (pair.model.nq, pair.model.nv) == (pair.pm.nq, pair.pm.nv)


@row(PINOCCHIO, "`Model`, `Data`")
def _() -> None:
    assert isinstance(Pair().model, fw.Model) and not hasattr(fw, "Data")


@row(PINOCCHIO, "`neutral`, `integrate`, `difference`, `randomConfiguration`")
def _() -> None:
    pair = Pair()
    close(pair.model.neutral(), pin.neutral(pair.pm))
    q = pair.model.integrate(pair.q, pair.v)
    close(q, pin.integrate(pair.pm, pair.q, pair.v))
    close(pair.model.difference(pair.q, q), pin.difference(pair.pm, pair.q, q))
    assert pair.model.random(np.random.default_rng(0)).shape == pin.neutral(pair.pm).shape


@row(PINOCCHIO, "`rnea`, `aba`, `crba`, `computeMinverse`")
def _() -> None:
    p = Pair()
    close(fw.rnea(p.model, p.q, p.v, p.a), pin.rnea(p.pm, p.data, p.q, p.v, p.a))
    close(fw.aba(p.model, p.q, p.v, p.tau), pin.aba(p.pm, p.data, p.q, p.v, p.tau), 1e-9)
    full = np.triu(pin.crba(p.pm, p.data, p.q))
    close(np.triu(fw.crba(p.model, p.q)), full)
    close(np.triu(fw.minverse(p.model, p.q)), np.triu(pin.computeMinverse(p.pm, p.data, p.q)), 1e-9)


@row(PINOCCHIO, "`nonLinearEffects`, `computeGeneralizedGravity`")
def _() -> None:
    p = Pair()
    close(fw.bias_forces(p.model, p.q, p.v), pin.nonLinearEffects(p.pm, p.data, p.q, p.v))
    close(fw.gravity_forces(p.model, p.q), pin.computeGeneralizedGravity(p.pm, p.data, p.q))


@row(PINOCCHIO, "`forwardKinematics`, `updateFramePlacement`")
def _() -> None:
    p = Pair()
    close(fw.frame_placement(p.model, p.q, "tool"), p.data.oMf[p.tool].homogeneous)
    links = fw.forward_kinematics(p.model, p.q)
    for k, name in enumerate(p.model.link_names):
        close(links[k], p.data.oMf[p.pm.getFrameId(name)].homogeneous)


@row(PINOCCHIO, "`getFrameVelocity`, `getFrameClassicalAcceleration`")
def _() -> None:
    p = Pair()
    for ours, theirs in REFERENCES.items():
        frame: Any = {"reference": ours}
        velocity = pin.getFrameVelocity(p.pm, p.data, p.tool, theirs)
        close(fw.frame_velocity(p.model, p.q, p.v, "tool", **frame), velocity.vector)
        acceleration = pin.getFrameClassicalAcceleration(p.pm, p.data, p.tool, theirs)
        close(fw.frame_acceleration(p.model, p.q, p.v, p.a, "tool", classical=True, **frame), acceleration.vector)


REFERENCES = {
    "local": pin.ReferenceFrame.LOCAL,
    "world": pin.ReferenceFrame.WORLD,
    "local_world_aligned": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
}


@row(PINOCCHIO, "`computeFrameJacobian(..., LOCAL)`")
def _() -> None:
    p = Pair()
    close(fw.jacobian(p.model, p.q, "tool"), pin.computeFrameJacobian(p.pm, p.data, p.q, p.tool))
    for ours, theirs in REFERENCES.items():
        jacobian: Any = fw.jacobian(p.model, p.q, "tool", reference=ours)  # type: ignore[arg-type]
        close(jacobian, pin.computeFrameJacobian(p.pm, p.data, p.q, p.tool, theirs))


@row(PINOCCHIO, "`centerOfMass`, `computeCentroidalMomentum`")
def _() -> None:
    p = Pair()
    close(fw.center_of_mass(p.model, p.q), pin.centerOfMass(p.pm, p.data, p.q))
    momentum = pin.computeCentroidalMomentum(p.pm, p.data, p.q, p.v)
    close(fw.centroidal_momentum(p.model, p.q, p.v), momentum.vector)


@row(PINOCCHIO, "`computeKineticEnergy`, `computePotentialEnergy`")
def _() -> None:
    p = Pair()
    close(fw.kinetic_energy(p.model, p.q, p.v), pin.computeKineticEnergy(p.pm, p.data, p.q, p.v))
    close(fw.potential_energy(p.model, p.q), pin.computePotentialEnergy(p.pm, p.data, p.q))


@row(PINOCCHIO, "`computeRNEADerivatives`")
def _() -> None:
    p = Pair()
    ours = fw.rnea_derivatives(p.model, p.q, p.v, p.a)
    by_q, by_v, _mass = pin.computeRNEADerivatives(p.pm, p.data, p.q, p.v, p.a)
    close(ours.dq, by_q, 1e-9)
    close(ours.dv, by_v, 1e-9)


def _anchored(p: Pair) -> tuple[Any, Any, list[fw.FrameConstraint]]:
    frame = p.pm.frames[p.tool]
    rigid = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_6D, p.pm, frame.parentJoint, frame.placement, pin.ReferenceFrame.LOCAL
    )
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(rigid)
    datas.append(rigid.createData())
    pin.initConstraintDynamics(p.pm, p.data, models, datas)
    return models, datas, [fw.FrameConstraint("tool")]


@row(PINOCCHIO, "`RigidConstraintModel`, `constraintDynamics`")
def _() -> None:
    p = Pair()
    models, datas, anchors = _anchored(p)
    a = pin.constraintDynamics(p.pm, p.data, p.q, p.v, p.tau, models, datas, pin.ProximalSettings(1e-12, 1e-12, 50))
    close(fw.constrained_dynamics(p.model, p.q, p.v, p.tau, anchors).a, a, 1e-7)
    assert fw.PointConstraint("tool")


@row(PINOCCHIO, "`impulseDynamics`")
def _() -> None:
    p = Pair()
    models, datas, anchors = _anchored(p)
    after = pin.impulseDynamics(p.pm, p.data, p.q, p.v, models, datas, 0.0, pin.ProximalSettings(1e-12, 1e-12, 50))
    close(fw.impulse_dynamics(p.model, p.q, p.v, anchors).v, after, 1e-7)


@row(PINOCCHIO, "`computeDelassusMatrix`, `DelassusOperator...`")
def _() -> None:
    p = Pair()
    models, datas, anchors = _anchored(p)
    theirs = pin.computeDelassusMatrix(p.pm, p.data, p.q, models, datas, 0.0)
    close(np.tril(fw.delassus(p.model, p.q, anchors)), np.tril(theirs), 1e-8)
    damped = fw.delassus(p.model, p.q, anchors) + 1e-3 * np.eye(6)
    close(fw.delassus_inverse(p.model, p.q, anchors, damping=1e-3) @ damped, np.eye(6), 1e-8)
    assert isinstance(fw.DelassusOperator, type)


@row(PINOCCHIO, "`computeJointTorqueRegressor`")
def _() -> None:
    p = Pair()
    theirs = pin.computeJointTorqueRegressor(p.pm, p.data, p.q, p.v, p.a)
    tau = fw.torque_regressor(p.model, p.q, p.v, p.a) @ fw.inertial_parameters(p.model)
    parameters = np.concatenate([p.pm.inertias[k].toDynamicParameters() for k in range(1, p.pm.njoints)])
    close(tau, theirs @ parameters)


@row(PINOCCHIO, "`log6`, `exp6`, `log3`, `exp3`")
def _() -> None:
    x = np.array([0.1, -0.2, 0.3, 0.5, 0.4, -0.7])
    close(fw.exp6(x), pin.exp6(pin.Motion(x)).homogeneous)
    close(fw.log6(fw.exp6(x)), pin.log6(pin.SE3(fw.exp6(x))).vector)
    close(fw.exp3(x[3:]), pin.exp3(x[3:]))
    close(fw.log3(fw.exp3(x[3:])), pin.log3(pin.exp3(x[3:])))


@row(PINOCCHIO, "`appendModel`")
def _() -> None:
    p = Pair()
    assert fw.ModelBuilder("two").add(p.model, prefix="a_").add(p.model, prefix="b_").build().nv == 2 * p.model.nv


@row(PINOCCHIO, "`GeometryModel`, `computeCollisions`")
def _() -> None:
    scene = fw.Scene()
    for k, x in enumerate((0.0, 0.15, 1.0)):
        scene.add(fw.box((0.2, 0.2, 0.2)), name=f"box_{k}", pose=(x, 0.0, 0.0))
    sim = fw.Simulator(scene, 1e-3)
    overlaps = sim.overlaps(sim.state())
    assert [{each.shape_a, each.shape_b} for each in overlaps] == [{"box_0", "box_1"}]
    assert overlaps[0].depth == pytest.approx(0.05)


@row(PINOCCHIO, "spatial vectors")
def _() -> None:
    p = Pair()
    close(fw.frame_velocity(p.model, p.q, p.v, "base"), p.v[:6])  # linear first


@row(PINOCCHIO, "quaternions")
def _() -> None:
    p = Pair()
    close(pin.SE3(pin.XYZQUATToSE3(p.q[:7])).homogeneous, fw.frame_placement(p.model, p.q, "base"))


@row(PINOCCHIO, "velocity of a free-flyer")
def _() -> None:
    p = Pair()
    velocity = pin.getFrameVelocity(p.pm, p.data, p.pm.getFrameId("base"), pin.ReferenceFrame.LOCAL)
    close(velocity.vector, p.v[:6])


JOINTS = """<robot name="j"><link name="base"/><link name="z">{i}</link><link name="a">{i}</link>
<joint name="z" type="{t}"><parent link="base"/><child link="z"/><axis xyz="0 0 1"/></joint>
<joint name="a" type="{t}"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint></robot>"""


def _siblings(kind: str) -> tuple[Any, fw.Model]:
    text = JOINTS.format(i=INERTIAL.format(1), t=kind)
    return pin.buildModelFromXML(text), fw.loads(text, "urdf")


@row(PINOCCHIO, "continuous joints")
def _() -> None:
    theirs, ours = _siblings("continuous")
    assert (theirs.nq, theirs.nv) == (4, 2) and (ours.nq, ours.nv) == (2, 2)
    close(fw.convert.to_pinocchio(ours, [0.3, 0.0], joint_names=theirs.names)[2:], [np.cos(0.3), np.sin(0.3)])


@row(PINOCCHIO, "planar joints")
def _() -> None:
    theirs, ours = _siblings("planar")
    assert (theirs.nq, ours.nq) == (8, 6)
    q, v = [0.0] * 3 + [1.0, 2.0, 0.5], [0.0] * 3 + [0.1, 0.2, 0.3]
    q_p, v_p = fw.convert.to_pinocchio(ours, q, v, joint_names=theirs.names)
    close(q_p[:4], [1.0, 2.0, np.cos(0.5), np.sin(0.5)])
    close(v_p[:3], [0.1 * np.cos(0.5) + 0.2 * np.sin(0.5), 0.2 * np.cos(0.5) - 0.1 * np.sin(0.5), 0.3])


@row(PINOCCHIO, "order of joints in a URDF")
def _() -> None:
    theirs, ours = _siblings("continuous")
    assert list(theirs.names)[1:] == ["a", "z"] and [joint.name for joint in ours.joints] == ["z", "a"]


@row(PINOCCHIO, "links on fixed joints")
def _() -> None:
    p = Pair()
    assert "jt" not in list(p.pm.names) and "tool" in p.model.link_names


@row(PINOCCHIO, "`armature`")
def _() -> None:
    p = Pair()
    p.pm.armature = np.array([0.0] * 6 + [0.3, 0.4])
    armed = URDF
    for name, armature in (("ja", 0.3), ("jb", 0.4)):
        armed = re.sub(
            f'(name="{name}".*?)</joint>', rf'\1<dynamics armature="{armature}"/></joint>', armed, flags=re.S
        )
    model = fw.loads(armed, "urdf", floating_base=True)
    close(fw.rnea(model, p.q, p.v, p.a), pin.rnea(p.pm, p.data, p.q, p.v, p.a))
    extra = 0.5 * (0.3 * p.v[6] ** 2 + 0.4 * p.v[7] ** 2)
    close(fw.kinetic_energy(model, p.q, p.v), fw.kinetic_energy(p.model, p.q, p.v) + extra)


@pytest.mark.parametrize("name", MUJOCO)
def test_mujoco(name: str) -> None:
    MUJOCO[name]()


@pytest.mark.parametrize("name", PINOCCHIO)
def test_pinocchio(name: str) -> None:
    PINOCCHIO[name]()
