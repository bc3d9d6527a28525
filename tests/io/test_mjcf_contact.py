"""MJCF beside the tree: surfaces, hulls, height fields, closures and motors mean what they mean in MuJoCo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close

import featherweight as fw
from featherweight.arrays import Array

mujoco = pytest.importorskip("mujoco")

BALL = '<freejoint/><geom size="0.1"/>'


def world(inside: str, rest: str = "") -> str:
    return f"<mujoco><compiler angle='radian'/>{rest}<worldbody>\n{inside}</worldbody></mujoco>"


def collision_shapes(model: fw.Model, link: str) -> list[fw.Geometry]:
    return [geometry for geometry in model.link(link).geometries if geometry.role == "collision"]


def test_surfaces_are_kept() -> None:
    bits = 'priority="-2" contype="5" conaffinity="0"'
    geom = f'<geom size="0.1" friction="0.4 0.02 0.003" condim="6" margin="0.01" {bits}/>'
    model = fw.loads(world(f'<body name="b"><freejoint/>{geom}</body>'), "mjcf", strict=True)
    [shape] = collision_shapes(model, "b")
    assert shape.material == fw.Material(friction=0.4, torsional=0.02, rolling=0.003, dim=6)
    assert (shape.margin, shape.priority, shape.contype, shape.conaffinity) == (0.01, -2, 5, 0)


def test_shapes_that_only_a_pair_names_collide() -> None:
    text = world(
        f'<geom name="floor" type="plane" size="1 1 1"/><body name="b"><freejoint/>'
        f'<geom name="ball" size="0.1" contype="0" conaffinity="0"/></body><body name="c">{BALL}</body>',
        '<contact><pair geom1="floor" geom2="ball" friction="0.2 0.2 0.01 0 0" condim="4" margin="0.05"/></contact>',
    )
    model = fw.loads(text, "mjcf", strict=True)
    [pair] = model.description.pairs
    assert (pair.link, pair.geometry, pair.other_link, pair.other_geometry) == ("worldbody", "floor", "b", "ball")
    assert pair.law == fw.ContactLaw(friction=0.2, torsional=0.01, margin=0.05, dim=4)
    assert [shape.contype for shape in collision_shapes(model, "b")] == [0]


def test_friction_by_direction_is_reported() -> None:
    text = world(
        '<geom name="floor" type="plane" size="1 1 1"/><body name="b"><freejoint/><geom name="g" size="0.1"/></body>',
        '<contact><pair name="p" geom1="floor" geom2="g" friction="0.2 0.3 0 0 0"/></contact>',
    )
    [note] = fw.loads(text, "mjcf").import_report.not_honoured
    assert note.element == "contact pair 'p'"
    assert "depends on direction" in note.message


def test_excluded_bodies() -> None:
    text = world(
        f'<geom type="plane" size="1 1 1"/><body name="a">{BALL}</body><body name="b">{BALL}</body>',
        '<contact><exclude body1="a" body2="b"/><exclude body1="world" body2="a"/></contact>',
    )
    excludes = fw.loads(text, "mjcf", strict=True).description.excludes
    assert {frozenset(pair) for pair in excludes} == {frozenset("ab"), frozenset({"worldbody", "a"})}


# -- shapes --------------------------------------------------------------------------------------------------------


def test_meshes_collide_as_mujocos_hulls(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    points = np.random.default_rng(0).normal(size=(60, 3)) + 1.0
    trimesh.convex.convex_hull(points).export(tmp_path / "hull.stl")
    inline = " ".join(str(x) for x in points.ravel())
    asset = f'<asset><mesh name="f" file="hull.stl" refpos="0.1 0 0"/><mesh name="i" vertex="{inline}"/></asset>'
    geoms = '<geom type="mesh" mesh="{}" pos="0 0 1" euler="0.3 0 0"/>'
    text = world(
        "".join(f'<body name="{n}" pos="{k} 0 0"><freejoint/>{geoms.format(n)}</body>' for k, n in enumerate("fi")),
        asset,
    )
    model = fw.loads(text, "mjcf", directory=tmp_path, strict=True)
    peer = mujoco.MjSpec.from_string(text)
    peer.modelfiledir = str(tmp_path)
    m = peer.compile()
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    scene = fw.Scene()
    scene.add(model)
    compiled = scene.compile()
    assert [shape.kind for shape in compiled.shapes] == ["convex", "convex"]
    q = fw.convert.from_mujoco(model, data.qpos, data.qvel)[0]
    placements = fw.forward_kinematics(compiled.model, q)
    for geom, shape in enumerate(compiled.shapes):
        assert shape.vertices is not None
        # The hull as MuJoCo has it in the world, without our own reading of its tables: all vertices, and their hull.
        mesh = m.geom_dataid[geom]
        first, count = m.mesh_vertadr[mesh], m.mesh_vertnum[mesh]
        local = m.mesh_vert[first : first + count].astype(np.float64)
        expected = trimesh.convex.convex_hull(local @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom])
        X = placements[shape.link] @ shape.placement
        ours = trimesh.convex.convex_hull(shape.vertices @ X[:3, :3].T + X[:3, 3])
        assert_close(ours.volume, expected.volume, tolerance=1e-6)
        assert_close(ours.bounds, expected.bounds, tolerance=1e-6)


def test_height_field_is_where_rays_hit_it() -> None:
    rng = np.random.default_rng(2)
    rows, columns = 4, 6
    table = " ".join(str(x) for x in rng.uniform(size=rows * columns))
    asset = f'<asset><hfield name="h" nrow="{rows}" ncol="{columns}" size="3 2 0.5 0.1" elevation="{table}"/></asset>'
    text = world('<geom type="hfield" hfield="h" pos="1 2 3"/>', asset)
    ground = world(f'<geom type="hfield" hfield="h" pos="1 2 3"/><body name="b">{BALL}</body>', asset)
    scene = fw.Scene()
    scene.add(fw.loads(ground, "mjcf", strict=True))
    [field] = [shape for shape in scene.compile().shapes if shape.kind == "heightfield"]
    heights = field.heights
    assert heights is not None
    assert (heights.shape, field.size) == ((columns, rows), (3.0, 2.0))
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    for i in range(columns):
        for j in range(rows):
            # Just inside the rim, where MuJoCo's rays still hit; the heights between grid points vary little on 1 um.
            share = np.array([2 * i / (columns - 1) - 1, 2 * j / (rows - 1) - 1]) * (1 - 1e-6)
            top = np.array([*(share * field.size), 9.0]) + field.placement[:3, 3]
            distance = mujoco.mj_ray(m, data, top, np.array([0.0, 0.0, -1.0]), None, 1, -1, np.zeros(1, dtype=np.int32))
            assert_close(9.0 - distance, heights[i, j], tolerance=1e-5)


# -- closures ------------------------------------------------------------------------------------------------------

TWO = (
    '<site name="w" pos="1 1 1"/>'
    '<body name="a" pos="0 0 1" euler="0.1 0.2 0.3"><freejoint/><geom size="0.1"/><site name="s" pos="0 0.1 0"/></body>'
    '<body name="b" pos="0.5 0 1" euler="0.4 0 0"><freejoint/><geom size="0.1"/>'
    '<site name="t" pos="0.1 0 0" euler="0 0 1"/></body>'
)


def violation(m: Any, q: Array) -> Array:
    data = mujoco.MjData(m)
    data.qpos = q
    mujoco.mj_forward(m, data)
    return np.asarray(data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY])


@pytest.mark.parametrize(
    "equality, rows",
    [
        ('<connect body1="a" body2="b" anchor="0.2 0.1 0"/>', 3),
        ('<connect body1="a" anchor="0.2 0.1 0"/>', 3),
        ('<connect site1="s" site2="t"/>', 3),
        ('<connect site1="w" site2="t"/>', 3),
        ('<weld body1="a" body2="b"/>', 6),
        ('<weld body1="a" body2="b" anchor="0.1 0.2 0.3" relpose="0.3 0 0 0.9 0.1 0 0"/>', 6),
        ('<weld body1="b"/>', 6),
        ('<weld site1="s" site2="t"/>', 6),
    ],
)
def test_closures_hold_what_mujoco_holds(equality: str, rows: int) -> None:
    """The position error is MuJoCo's, for any two poses."""
    text = world(TWO, f"<equality>{equality}</equality>")
    model = fw.loads(text, "mjcf", strict=True)
    [closure] = model.description.closures
    assert len(closure.rows) == rows
    m = mujoco.MjModel.from_xml_string(text)
    scene = fw.Scene()
    scene.add(model)
    compiled = scene.compile()
    [held] = compiled.constraints
    for seed in range(3):
        q = model.random(seed)
        theirs = violation(m, fw.convert.to_mujoco(model, q, np.zeros(model.nv))[0])
        X = np.concatenate([fw.forward_kinematics(compiled.model, q), np.eye(4)[None]])
        ours = X[held.link] @ held.placement, X[held.to] @ held.to_placement
        assert_close(np.linalg.norm(ours[0][:3, 3] - ours[1][:3, 3]), np.linalg.norm(theirs[:3]))
        if rows == 6:  # MuJoCo's rotation error is the vector part of a quaternion, sin(angle / 2)
            turn = ours[0][:3, :3].T @ ours[1][:3, :3]
            assert_close(np.sqrt(max(0.0, (3.0 - np.trace(turn)) / 4.0)), np.linalg.norm(theirs[3:]), tolerance=1e-7)


def test_closures_that_are_off_or_soft_are_reported() -> None:
    text = world(TWO, '<equality><weld name="off" body1="a" body2="b" active="false"/></equality>')
    model = fw.loads(text, "mjcf", strict=True)
    assert not model.description.closures
    assert [note.element for note in model.import_report] == ["equality 'off'"]
    soft = world(TWO, '<equality><weld name="soft" body1="a" body2="b" solref="0.1 1"/></equality>')
    [note] = fw.loads(soft, "mjcf", strict=True).import_report
    assert (note.element, note.line, note.severity) == ("equality 'soft'", 1, fw.Severity.NOTHING)


# -- motors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "actuator",
    [
        '<motor joint="j" gear="3"/>',
        '<motor joint="j" gear="-2" ctrlrange="-0.5 0.5" forcerange="-0.2 0.1"/>',
        '<position joint="j" kp="20" kv="3" gear="2"/>',
        '<position joint="j" kp="20" forcerange="-1 1"/>',
        '<velocity joint="j" kv="4" gear="0.5" ctrlrange="-1 1"/>',
        '<general joint="j" gainprm="7"/>',
    ],
)
def test_motors_push_as_in_mujoco(actuator: str) -> None:
    body = '<body name="b"><joint name="j" type="slide"/><geom size="0.1"/></body>'
    text = world(body, f"<actuator>{actuator}</actuator>")
    [motor] = fw.loads(text, "mjcf", strict=True).description.actuators
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    for q, v, control in np.random.default_rng(0).normal(size=(10, 3)):
        data.qpos, data.qvel, data.ctrl = [q], [v], [control]
        mujoco.mj_forward(m, data)
        assert_close(force(motor, q, v, control), data.qfrc_actuator[0])


def force(motor: fw.Actuator, q: float, v: float, control: float) -> float:
    """As the description of an Actuator says."""
    u = control if motor.ctrl_range is None else min(max(control, motor.ctrl_range[0]), motor.ctrl_range[1])
    length, rate = motor.gear * q, motor.gear * v
    law = {
        "motor": motor.kp * u,
        "position": motor.kp * (u - length) - motor.kd * rate,
        "velocity": motor.kd * (u - rate),
    }
    pushed = law[motor.kind]
    if motor.force_range is not None:
        pushed = min(max(pushed, motor.force_range[0]), motor.force_range[1])
    return motor.gear * pushed
