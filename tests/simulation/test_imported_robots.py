"""Robots as their files have them: they fall, come to rest or move on, and stand when their joints are held."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight import Actuator
from featherweight.arrays import Array
from featherweight.scene.compilation import SelfCollision


def gymnasium_robots() -> list[Path]:
    gymnasium = pytest.importorskip("gymnasium")
    return sorted((Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets").glob("*.xml"))


@pytest.mark.filterwarnings("ignore:.*no collision shapes", "ignore:compiler attribute")
@pytest.mark.parametrize("path", gymnasium_robots(), ids=lambda path: path.stem)
def test_gymnasiums_robots_fall(path: Path) -> None:
    """One second, with nothing driven, and with random controls."""
    model = fw.load(path)
    scene = fw.Scene(ground=fw.Plane(offset=-1.0))  # most have a floor of their own
    scene.add(model, name="robot")
    sim = fw.Simulator(scene, dt=2e-3)
    rng = np.random.default_rng(0)
    control = rng.uniform(-1, 1, size=(4, 500, sim.nu)) if sim.nu else None
    if control is not None:
        control[0] = 0.0
    trajectory = sim.rollout(sim.state(4), control=control, n_steps=500)
    assert not trajectory.final.failed.any()
    assert np.isfinite(trajectory.q).all()
    # chaotic motion: how many of the hard steps it meets is a matter of rounding
    assert trajectory.unconverged.sum() <= 0.02 * 4 * 500, f"{trajectory.unconverged.sum():.0f} steps did not converge"
    assert np.abs(trajectory.v).max() < 100.0, f"speed {np.abs(trajectory.v).max():.0f}"


# file, and joints away from zero by parts of their names
ROBOTS = {
    "Go2": ("go2_description/urdf/go2.urdf", {"thigh_joint": 0.8, "calf_joint": -1.5}),
    "ANYmal": (
        "anymal_b_simple_description/robots/anymal.urdf",
        {"LF_HFE": 0.4, "RF_HFE": 0.4, "LH_HFE": -0.4, "RH_HFE": -0.4}
        | {"LF_KFE": -0.8, "RF_KFE": -0.8, "LH_KFE": 0.8, "RH_KFE": 0.8},
    ),
    "G1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", {}),
    "Talos": (
        "talos_data/robots/talos_reduced.urdf",
        {f"leg_{side}_{k}": angle for side in ("left", "right") for k, angle in ((3, -0.4), (4, 0.8), (5, -0.4))},
    ),
    "Panda": ("panda_description/urdf/panda.urdf", {"joint2": -0.3, "joint4": -2.0, "joint6": 1.7}),
}


def robot_folder() -> Path:
    try:
        root = Path(str(distribution("example-robot-data").locate_file("")))
    except PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    return root / "cmeel.prefix" / "share" / "example-robot-data" / "robots"


@pytest.mark.robots
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("itself", [False, "apart"], ids=["ground", "itself"])
@pytest.mark.parametrize("name", ROBOTS)
def test_robots_stand_when_their_joints_are_held(name: str, itself: SelfCollision) -> None:
    file, posture = ROBOTS[name]
    path = robot_folder() / file
    if not path.exists():
        found = sorted(path.parent.parent.glob("**/*.urdf"))
        assert found, f"no URDF of {name}"
        path = found[0]
    floating = name != "Panda"
    model = held(fw.load(path, floating_base=floating))
    q = model.neutral()
    for joint in model.joints:
        for part, angle in posture.items():
            if part in joint.name and joint.nq == 1:
                q[joint.q_slice.start] = angle
    q = np.clip(q, model.lower + 1e-3 * (model.upper > model.lower), model.upper)
    scene = fw.Scene(ground=fw.Plane(friction=1.0))
    scene.add(model, name="robot", q=q, self_collision=itself)
    sim = fw.Simulator(scene, dt=2e-3, integrator="implicit")
    q = on_the_ground(sim) if floating else sim.scene.q0
    targets = np.array([q[sim.model.joint(str(a.joint)).q_slice.start] for a in sim.actuators])
    trajectory = sim.rollout(sim.state(q=q), control=targets, n_steps=500)
    assert not trajectory.final.failed
    assert trajectory.unconverged <= 5, f"{trajectory.unconverged:.0f} steps did not converge"
    drop = np.abs(trajectory.q[:, 2] - q[2]).max() if floating else 0.0
    assert drop < 0.05, f"the base moved by {drop:.3f} m"


def held(model: fw.Model) -> fw.Model:
    """With a position servo on every joint of one degree of freedom, stiff enough for its weight."""
    servos = tuple(
        Actuator(f"hold_{joint.name}", joint.name, "position", kp=50.0 * model.mass, kd=2.0 * model.mass)
        for joint in model.joints
        if joint.nv == 1
    )
    joints = tuple(replace(joint, effort_limit=None) if joint.nv == 1 else joint for joint in model.description.joints)
    description = replace(model.description, joints=joints, actuators=servos)
    return fw.ModelBuilder.from_description(description, allow_nonphysical=True).build()


def on_the_ground(sim: fw.Simulator) -> Array:
    """Lowered, or raised, until the lowest shape touches the ground."""
    low, high = -1.0, 3.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        q = sim.scene.q0.copy()
        q[2] = middle
        contacts = sim.step(sim.state(q=q)).contacts
        ground = [i for i, name in enumerate(contacts.names) if name == "ground"]
        touches = np.isin(contacts.shape_b, ground) & (contacts.gap < 0)
        low, high = (middle, high) if touches.any() else (low, middle)
    q[2] = high
    return np.asarray(q)


def finger(side: str, turn: float) -> str:
    """Of an adaptive gripper: a driven bar and a sprung one, with a coupler and a follower whose tips meet."""

    def body(name: str, at: str, joint: str, inside: str = "") -> str:
        inertial = '<inertial mass="0.02" pos="0 0.01 0.02" diaginertia="1e-5 1e-5 1e-5"/>'
        hinge = f'<joint name="{side} {name}" axis="1 0 0" {joint}/>'
        return f'<body name="{side} {name}" pos="{at}">{inertial}{hinge}{inside}</body>'

    pad = '<geom type="box" size="0.01 0.004 0.02" pos="0 -0.012 0.03" friction="1"/>'
    coupler = body("coupler", "0 0.03 0.02", 'range="-1.6 0.2" limited="true"')
    follower = body("follower", "0 0.03 0.03", 'stiffness="0.02" damping="1e-3"', pad)
    bars = body("driver", "0 0.03 0.05", 'range="0 0.8" limited="true" armature="0.005" damping="0.1"', coupler)
    bars += body("spring_link", "0 0.013 0.06", 'stiffness="0.05" damping="1e-3"', follower)
    return f'<body name="{side}" euler="0 0 {turn}">{bars}</body>'


GRIPPER = f"""<mujoco><compiler angle="radian"/><worldbody>
<body name="palm" pos="0 0 0.5">{finger("left", 0.0)}{finger("right", np.pi)}</body></worldbody>
<contact><exclude body1="left follower" body2="right follower"/></contact>
<equality>
<connect body1="left follower" body2="left coupler" anchor="0 -0.01 0.02"/>
<connect body1="right follower" body2="right coupler" anchor="0 -0.01 0.02"/>
<joint joint1="right driver" joint2="left driver" polycoef="0 1 0 0 0"/></equality>
<tendon><fixed name="split"><joint joint="left driver" coef="0.5"/>
<joint joint="right driver" coef="0.5"/></fixed></tendon>
<actuator><general name="close" tendon="split" biastype="affine" gainprm="20" biasprm="0 -20 -2" ctrlrange="0 0.8"
forcerange="-5 5"/></actuator></mujoco>"""


def test_an_adaptive_gripper_closes_on_its_loops_coupling_and_tendon() -> None:
    """As the grippers of two fingers that most arms carry: per finger one of two freedoms is left to a spring."""
    model = fw.loads(GRIPPER, "mjcf", strict=True)
    loops = fw.constraints_of(model)
    assert int(fw.mobility(model, model.q0, loops).dof) == model.nv - 5
    sim = fw.Simulator(model, dt=1e-3)
    run = sim.rollout(sim.state(), control=[0.4], n_steps=1500)
    assert run.unconverged == 0 and run.closure_error < 1e-11
    left, right = (run.q[:, model.joint(f"{side} driver").q_slice.start] for side in ("left", "right"))
    assert np.abs(left - right).max() < 1e-11
    assert 0.3 < left[-1] < 0.45
    pins = [fw.frame_placement(model, run.q, f"{side} follower")[:, :3, 3] for side in ("left", "right")]
    assert np.abs(pins[0] * [1, -1, 1] - pins[1]).max() < 1e-9  # symmetric


def cassies() -> list[Any]:
    try:
        root = Path(str(distribution("example-robot-data").locate_file("")))
    except PackageNotFoundError:
        return [pytest.param(None, id="none", marks=pytest.mark.skip(reason="example-robot-data is not installed"))]
    files = root / "cmeel.prefix" / "share" / "example-robot-data" / "robots" / "cassie_description" / "robots"
    return [pytest.param(path, id=path.stem) for path in sorted(files.glob("*.sdf"))]


@pytest.mark.robots
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", cassies())
def test_cassie_falls_on_its_feet_with_its_legs_closed(path: Path) -> None:
    """Achilles rods, plantar rods, springs, gearboxes, as far as the file has them; all posed within their limits."""
    model = fw.load(path)
    bent = {"pitch-op": 0.4, "knee-op": -1.0, "shin-tarsus-joint": 1.2}
    bent |= dict.fromkeys(("foot-op", "foot-ip", "tarsus-crank-joint"), -1.5)
    q = model.q0.copy()
    for joint in model.joints:
        for name, angle in bent.items():
            if joint.name.endswith(name):
                q[joint.q_slice] = angle
    free = [joint.name for joint in model.joints if joint.type == "free"]
    q = fw.close_loops(model, q, fw.constraints_of(model), fixed=free).q
    q[2] = 1.2
    scene = fw.Scene(ground=fw.Plane())
    scene.add(model, name="cassie")
    sim = fw.Simulator(scene, dt=1e-3)
    run = sim.rollout(sim.state(q=q), n_steps=1000)
    assert np.isfinite(run.q).all() and not run.final.failed
    assert run.unconverged <= 5
    assert np.max(run.final.closure_error) < 1e-7  # some anchors in the files are off by rounding
