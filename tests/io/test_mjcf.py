"""MJCF: the translation has MuJoCo's kinematics, dynamics and coordinates, and tells what it left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close

import featherweight as fw
from featherweight import reference
from featherweight.arrays import Array
from featherweight.model import poses

mujoco = pytest.importorskip("mujoco")

DATA = Path(__file__).parents[1] / "data"
TENDON = '<tendon><fixed name="t"><joint joint="s" coef="1"/></fixed></tendon>'
SLIDER = '<joint name="s" type="slide"/><geom size="0.1"/>'


@pytest.fixture(scope="module")
def model() -> fw.Model:
    return fw.load(DATA / "features.xml")


@pytest.fixture(scope="module")
def peer() -> Any:
    return mujoco.MjModel.from_xml_path(str(DATA / "features.xml"))


def one_body(inside: str = SLIDER, rest: str = "", options: str = "") -> str:
    return f'<mujoco>{options}<worldbody><body name="b" pos="0 0 1">\n{inside}</body></worldbody>\n{rest}</mujoco>'


def state(model: fw.Model, seed: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)


def peer_data(model: fw.Model, peer: Any, q: Array, v: Array) -> Any:
    data = mujoco.MjData(peer)
    data.qpos, data.qvel = fw.convert.to_mujoco(model, q, v)
    mujoco.mj_forward(peer, data)
    return data


def test_sizes_are_mujocos(model: fw.Model, peer: Any) -> None:
    assert (model.nq, model.nv) == (peer.nq, peer.nv)
    assert model.joint_names == tuple(peer.joint(i).name for i in range(peer.njnt))
    assert_close(model.mass, peer.body_mass.sum())
    assert_close(model.gravity, [0.0, 0.5, -9.7])


@pytest.mark.parametrize("seed", range(3))
def test_bodies_and_sites_are_where_mujoco_has_them(model: fw.Model, peer: Any, seed: int) -> None:
    q, v, _ = state(model, seed)
    data = peer_data(model, peer, q, v)
    placements = reference.forward_kinematics(model.description, q)
    for i in range(1, peer.nbody):
        X = placements[model.link(peer.body(i).name or f"body_{i}").index]
        assert_close(X[:3, 3], data.xpos[i])
        assert_close(X[:3, :3].ravel(), data.xmat[i])
    for i, name in enumerate(["origin", "trunk_site", "sole"]):
        X = reference.frame_placement(model.description, q, name)
        assert_close(X[:3, 3], data.site_xpos[i])
        assert_close(X[:3, :3].ravel(), data.site_xmat[i])


@pytest.mark.parametrize("seed", range(3))
def test_inverse_dynamics_are_mujocos(model: fw.Model, peer: Any, seed: int) -> None:
    q, v, a = state(model, seed)
    data = peer_data(model, peer, q, v)
    qacc = fw.convert.to_mujoco(model, q, a)[1]
    # MuJoCo's linear acceleration of a free joint is the derivative of a world velocity: R (a + omega x v).
    R = poses.rotation_from_quaternion(q[3:7])
    qacc[:3] = R @ (a[:3] + np.cross(v[3:6], v[:3]))
    force = np.zeros(peer.nv)
    mujoco.mj_mulM(peer, data, force, qacc)
    force += data.qfrc_bias
    expected = fw.convert.from_mujoco(model, data.qpos, force)[1]
    assert_close(reference.rnea(model.description, q, v, a), expected)


def test_joint_properties(model: fw.Model) -> None:
    hip, slide = model.joint("leg_x"), model.joint("leg_slide")
    assert hip.type == "revolute"
    assert_close(np.concatenate([hip.lower, hip.upper]), [-1.0, 1.0], tolerance=0.0)
    assert_close(np.concatenate([hip.damping, hip.armature, hip.friction]), [0.3, 0.02, 0.0], tolerance=0.0)
    assert model.joint("leg_y").friction == 0.1
    assert slide.effort_limit == 20.0
    assert_close(model.joint("ankle").armature, [0.02] * 3)
    assert_close(model.joint("root").armature, [0.0] * 6)  # defaults do not reach a freejoint


def test_stacked_joints_stand_on_massless_links(model: fw.Model) -> None:
    assert model.joint("leg_y").parent == "leg/leg_x"
    assert model.link("leg/leg_x").inertia is None
    assert model.joint("leg_slide").child == "leg"


def test_shapes(model: fw.Model) -> None:
    [floor, _] = model.link("worldbody").geometries
    assert (floor.shape, floor.size) == ("plane", ())
    cylinder, mesh = model.link("foot").geometries
    assert (cylinder.role, cylinder.shape, cylinder.size) == ("collision", "cylinder", (0.05, 0.04))  # group 3: hidden
    assert (mesh.role, mesh.shape, mesh.size, mesh.rgba) == ("visual", "mesh", (1.0, 2.0, 1.0), (0.0, 1.0, 0.0, 1.0))
    assert mesh.mesh == str(DATA / "meshes" / "tetra.obj")
    assert_close(mesh.placement, np.eye(4), tolerance=1e-9)  # where the file has it, not where the compiler put it
    [visual, collision] = model.link("included").geometries
    assert (visual.role, collision.role, visual.shape, visual.size) == ("visual", "collision", "box", (0.1, 0.12, 0.14))


def test_what_is_left_out_is_reported(model: fw.Model) -> None:
    told = {note.element: (note.line, note.honoured) for note in model.import_report}
    assert "joint 'leg_y'" not in told  # its spring is imported
    assert "equality" not in told  # it holds in scenes
    assert "sensor" not in told  # it is imported
    assert [sensor.name for sensor in model.description.sensors] == ["sensor_0"]
    assert told["light"] == (16, True)
    assert told["site 'trunk'"] == (None, True)


@pytest.mark.parametrize(
    "text, element",
    [
        (one_body('<joint type="ball" stiffness="1"/><geom size="1"/>'), "joint 'b_joint'"),
        (one_body('<joint type="ball" range="0 1" limited="true"/><geom size="1"/>'), "joint 'b_joint'"),
        (one_body(options='<option><flag override="enable"/></option>'), "option/flag"),
        (one_body(rest=TENDON.replace('name="t"', 'name="t" armature="3"')), "tendon 't'"),
        (
            one_body("<freejoint/><geom size='1'/>", options="<default><joint/></default>").replace(
                "<freejoint/>", '<joint type="free" frictionloss="1"/>'
            ),
            "joint 'b_joint'",
        ),
        (one_body(rest='<actuator><general name="m" joint="s" dyntype="user" actdim="1"/></actuator>'), "actuator 'm'"),
        (one_body(rest='<actuator><general joint="s" gaintype="user"/></actuator>'), "actuator"),
        (one_body("<freejoint name='f'/><geom size='1'/>", '<actuator><motor joint="f"/></actuator>'), "actuator"),
        (one_body(SLIDER.replace('size="0.1"', 'size="0.1" adhesion="0.01"')), "geom 'geom_0'"),
        (one_body(SLIDER.replace('size="0.1"', 'size="0.1" surfacevel="1 0 0"')), "geom 'geom_0'"),
    ],
)
def test_strict_refuses_what_is_not_honoured(text: str, element: str) -> None:
    assert element in [note.element for note in fw.loads(text, "mjcf").import_report.not_honoured]
    with pytest.raises(fw.ModelImportError, match=f": {element}: .*strict"):
        fw.loads(text, "mjcf", strict=True)


def test_strict_accepts_what_is_honoured() -> None:
    model = fw.loads(one_body(options='<option gravity="0 0 -1"/>'), "mjcf", strict=True)
    assert_close(model.gravity, [0.0, 0.0, -1.0])


def test_disabled_gravity_is_none() -> None:
    text = one_body(options='<option><flag gravity="disable"/></option>')
    assert_close(fw.loads(text, "mjcf", strict=True).gravity, [0.0, 0.0, 0.0])


def test_floating_base_frees_a_welded_body() -> None:
    model = fw.loads(one_body('<geom size="0.1"/>'), "mjcf", floating_base=True)
    assert (model.joint_names, model.joint("root_joint").type) == (("root_joint",), "free")
    with pytest.raises(fw.ModelImportError, match="floating_base needs"):
        fw.loads(one_body(), "mjcf", floating_base=True)


@pytest.mark.parametrize(
    "text, line, complaint",
    [
        ("<mujoco>\n<worldbody>\n<body><joint/></body></worldbody></mujoco>", 3, "mass and inertia"),
        ("<mujoco>\n<worldbody><geom size='x'/></worldbody></mujoco>", 2, "bad format"),
        ("<mujoco>\n<nonsense/></mujoco>", 2, "nonsense"),
        ("<mujoco>", 1, "XML"),
        ("", None, "MJCF"),
        ("<mujoco>" + "<worldbody>" * 100_000, 1, "deep"),
    ],
)
def test_what_mujoco_refuses_is_refused(text: str, line: int | None, complaint: str) -> None:
    with pytest.raises(fw.ModelImportError, match=complaint) as caught:
        fw.loads(text, "mjcf")
    assert caught.value.line == line


def test_missing_mujoco_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    with pytest.raises(ImportError, match=r"featherweight\[mjcf\]"):
        fw.loads(one_body(), "mjcf")
