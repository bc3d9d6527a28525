"""Robots as their files have them: they fall, come to rest or move on, and stand when their joints are held."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

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
