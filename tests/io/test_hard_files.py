"""Files that few would write and every parser meets: what they mean is what MuJoCo, or the file itself, says.

Those of MJCF are compared with MuJoCo's own model: where things start, mass matrix, bias and the acceleration of a free
step. Those of URDF are refused with their culprit, or have a plain meaning.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array

BOX = '<geom size="0.1 0.2 0.15" type="box" pos="0.05 0.02 0.1"/>'
TETRA = 'vertex="0 0 0 1 0 0 0 1 0 0 0 1"'


def world(inside: str, before: str = "", after: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{inside}</worldbody>{after}</mujoco>"


def nested(*insides: str) -> str:
    """Bodies on each other, each with its own inside."""
    return "".join(f'<body pos="0.1 0 0.3">{inside}' for inside in insides) + "</body>" * len(insides)


MJCF = {
    "names that clash": world(
        '<body name="x"><joint name="x"/><geom name="x" size="0.1" pos="1 0 0"/><site name="x"/><body name="worldbody" '
        'pos="0 0 1"><joint name="worldbody"/><geom name="worldbody" size="0.2"/></body></body>'
        '<geom name="floor" type="plane" size="1 1 1" pos="0 0 -3"/>'
    ),
    "names of all the world": world(
        f'<body name="körper é 机器人"><joint name="gelenk/ä"/>{BOX}</body>'
        f'<body name="a/b"><joint name="a/b"/>{BOX}<body name="a"><joint name="b"/>{BOX}</body></body>'
    ),
    "classes in classes": world(
        f'<body childclass="a"><joint/>{BOX}<body childclass="b"><joint/>{BOX}<body><joint class="a"/>'
        '<geom class="main" size="0.1"/></body></body></body>',
        '<default><geom density="500"/><joint damping="0.1"/><default class="a"><geom density="700"/>'
        '<joint armature="0.1" damping="0.5"/><default class="b"><joint damping="0.9" stiffness="3" springref="20"/>'
        "</default></default></default>",
    ),
    "frames in frames": world(
        '<frame euler="30 20 10" pos="1 0 0"><frame euler="0 0 90" childclass="q"><body pos="0 0 1" euler="10 20 30">'
        f'<joint pos="0.1 0.2 0.3"/>{BOX}<frame pos="0 0 0.4" euler="5 5 5"><geom size="0.1" pos="0 0 1"/>'
        f'<body><joint type="slide"/>{BOX}</body></frame></body></frame></frame>',
        '<compiler eulerseq="zyx"/><default><default class="q"><joint axis="1 0 0" damping="2"/></default></default>',
    ),
    "replicas": world(
        f'<replicate count="4" offset="0 0 1" euler="0 0 30"><body><joint name="hinge" ref="20" range="-50 50"/>{BOX}'
        '<replicate count="2" offset="0.4 0 0"><geom size="0.05"/></replicate></body></replicate>'
    ),
    "several free bodies": world(
        f'<body pos="1 2 3" quat="1 1 0 0"><freejoint/>{BOX}</body><body pos="0 0 5" euler="10 20 30"><freejoint/>'
        f'<geom size="0.1"/><body pos="0.1 0 0"><joint type="ball"/>{BOX}</body></body><body pos="0 3 0">'
        '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0" ref="0.5"/>'
        f'<joint axis="0 0 1" ref="30" pos="0.1 0 0"/>{BOX}</body>'
    ),
    "radians": world(
        nested(f'<joint range="-0.5 0.7" ref="0.2" springref="0.4" stiffness="3"/>{BOX}', f"<joint/>{BOX}"),
        '<compiler angle="radian" eulerseq="XYZ"/>',
    ),
    "degrees": world(
        nested(
            f'<joint range="-50 70" ref="20" springref="40" stiffness="3"/>{BOX}',
            f'<joint type="slide" range="-0.5 0.7" ref="0.2" springref="0.4" stiffness="3"/>{BOX}',
        )
    ),
    "limits that must be asked for": world(
        nested(f'<joint name="a" limited="false" range="-10 10"/>{BOX}', f'<joint limited="true" range="-9 9"/>{BOX}'),
        '<compiler autolimits="false"/>',
        '<actuator><motor joint="a" ctrllimited="true" ctrlrange="-0.1 0.1" gear="50"/></actuator>',
    ),
    "static bodies fused": world(
        f'<body><joint/>{BOX}<body name="s" euler="10 20 30">{BOX}<body name="t" pos="0 1 0"><joint/>{BOX}</body>'
        f'</body></body><body pos="3 0 0">{BOX}</body>',
        '<compiler fusestatic="true"/>',
    ),
    "inertias balanced and bounded": world(
        nested(
            '<joint/><inertial pos="0 0 0.1" mass="0.1" diaginertia="1 0.1 0.1"/>',
            '<joint/><inertial pos="0.1 0 0" mass="3" fullinertia="1 1.2 1.4 0.1 0.2 0.3"/>',
        ),
        '<compiler balanceinertia="true" inertiafromgeom="false" boundmass="0.3" boundinertia="0.01"/>',
    ),
    "inertias of some geoms": world(
        '<body><joint axis="1 0 0"/><inertial pos="0 0 0.1" mass="0.1" diaginertia="1 1 1"/><geom group="1" size="0.1" '
        'pos="0 0.1 0"/><geom group="3" size="0.3" pos="0 0 1"/></body>',
        '<compiler inertiafromgeom="true" inertiagrouprange="1 2"/>',
    ),
    "a mesh turned inside out": world(
        '<body><joint axis="1 0 0"/><geom type="mesh" mesh="t"/></body>',
        f'<asset><mesh name="t" {TETRA} inertia="exact" scale="1 -2 0.5"/></asset>',
    ),
    "a shell": world(
        '<body><joint axis="1 0 0"/><geom type="mesh" mesh="t"/><geom size="0.2" shellinertia="true"/></body>',
        f'<asset><mesh name="t" {TETRA} inertia="shell"/></asset>',
    ),
    "shapes fitted to a mesh": world(
        '<body><joint axis="1 0 0"/><geom type="box" mesh="t"/><geom type="capsule" mesh="t" fitscale="1.2"/>'
        '<geom type="ellipsoid" mesh="t" pos="1 0 0" euler="10 0 0"/></body>',
        f'<asset><mesh name="t" {TETRA}/></asset>',
    ),
    "springs by their time": world(
        nested(f'<joint type="ball" damping="0.3" armature="0.2"/>{BOX}', f'<joint springdamper="0.1 0.7"/>{BOX}')
    ),
    "shapes from to": world(
        "<body><joint/>"
        + "".join(f'<geom fromto="0 0 0 {k} 1 1" size="0.1" type="{kind}"/>' for k, kind in enumerate(
            ("capsule", "cylinder", "box", "ellipsoid")))
        + "</body>"
    ),
    "equalities of all kinds": world(
        nested(f'<joint name="j"/>{BOX}', f'<joint name="k"/><joint name="l" axis="1 0 0" pos="1 0 0" ref="40"/>{BOX}'),
        "",
        '<equality><joint joint1="j" joint2="k" polycoef="0.1 1 0.2 0.3 0.4"/>'
        '<joint joint1="l" polycoef="0.2 0 0 0 0"/></equality>',
    ),
    "masses of 1e20 to one": world(
        '<body><joint axis="1 0 0"/><geom size="0.1" mass="1e10" pos="0 1 0"/><body pos="0 0 1"><joint axis="0 1 0"/>'
        '<geom size="0.1" mass="1e-10" pos="0 0 1"/></body></body>'
    ),
    "in a wind": world(
        '<body gravcomp="1.3"><joint/><geom size="0.1 0.2" type="capsule" fluidshape="ellipsoid" pos="0.1 0 0"/>'
        f'<body pos="0 0 1" gravcomp="-0.5"><joint axis="1 0 0"/>{BOX}</body></body>',
        '<option gravity="1 2 3" wind="1 0 0" density="1.2" viscosity="0.01"/>',
    ),
    "blank lines first": "\n\n" + '<?xml version="1.0"?>' + world(f"<body><joint/>{BOX}</body>"),
    "a shape from to in a class": world(
        '<body><joint axis="1 0 0"/><geom class="g" size="0.1"/></body>',
        '<default><default class="g"><geom type="cylinder" fromto="0 0 0 .2 .3 1"/></default></default>',
    ),
    "a mesh about another origin": world(
        '<body><joint axis="1 0 0"/><geom type="mesh" mesh="t" pos="1 2 3" euler="10 20 30"/></body>',
        f'<asset><mesh name="t" {TETRA} refpos=".1 .2 .3" refquat=".5 .5 .5 .5" scale=".5 2 1"/></asset>',
    ),
    "a mesh through the looking-glass": world(
        '<body><joint axis="1 0 0"/><geom type="mesh" mesh="t"/></body>',
        f'<asset><mesh name="t" {TETRA} scale="-1 -1 -1" inertia="exact"/></asset>',
    ),
    "shapes fitted to the bounds of a mesh": world(
        '<body><joint axis="1 0 0"/><geom type="box" mesh="t"/><geom type="cylinder" mesh="t" pos="1 0 0"/></body>',
        f'<compiler fitaabb="true"/><asset><mesh name="t" {TETRA}/></asset>',
    ),
    "inertias of the file, though there are shapes": world(
        f'<body><joint axis="1 0 0"/><inertial pos="0 0 .1" mass="2" diaginertia="1 1.5 2"/>{BOX}</body>',
        '<compiler inertiafromgeom="false"/>',
    ),
    "inertias of shapes, though the file has some": world(
        f'<body><joint axis="1 0 0"/><inertial pos="0 0 .1" mass="2" diaginertia="1 1.5 2"/>{BOX}</body>',
        '<compiler inertiafromgeom="true"/>',
    ),
    "a full inertia in a body that is turned": world(
        '<body quat="1 2 3 4"><joint axis="1 1 1"/><inertial pos=".1 .2 .3" mass="2" '
        'fullinertia="3 4 5 .1 .5 -.3"/></body>'
    ),
    "all of a mass": world(
        nested(f'<joint axis="1 0 0"/>{BOX}', f'<joint axis="1 0 0"/>{BOX}'), '<compiler settotalmass="7"/>'
    ),
    "turned by all words there are": world(
        "".join(
            f'<body pos="{k} 0 0" {turn}><joint axis="1 2 3"/>{BOX}</body>'
            for k, turn in enumerate((
                'axisangle="1 2 3 70"', 'xyaxes="1 1 0 -1 1 .3"', 'zaxis="1 2 -3"', 'zaxis="0 0 -1"', 'quat="-2 0 1 0"',
                'euler="10 50 -30"',
            ))
        ),
        '<compiler eulerseq="yxY"/>',
    ),
    "replicas that are driven": world(
        f'<body><joint axis="1 0 0" name="r"/>{BOX}<replicate count="5" euler="0 72 0" sep="-"><body pos=".3 0 0">'
        '<joint name="s" axis="0 1 0" range="-20 30"/><geom name="g" size=".05" pos="0.1 0 0"/></body></replicate>'
        "</body>",
        after='<actuator><motor joint="s-0"/></actuator>',
    ),
    "joints beside each other": world(
        nested(
            f'<joint pos=".3 .2 .1" ref="50" axis="1 1 0"/><joint type="slide" axis="0 1 1" ref=".4"/>{BOX}',
            f'<joint type="ball" pos="1 0 0"/>{BOX}',
            f'<joint pos="0 -1 0" ref="-130"/>{BOX}',
        )
    ),
    "a free body in a frame": world(
        f'<frame pos="1 2 3" euler="30 40 50"><body pos="1 0 0"><freejoint/>{BOX}</body></frame>'
    ),
    "free bodies put straight": world(
        '<body name="x"><freejoint/><geom size=".1 .2 .4" type="box" pos=".3 0 0" euler="10 20 30"/></body>',
        '<compiler alignfree="true"/>',
    ),
    "numbers between tabs": world(f'<body pos="\t1\n2  3 "><joint axis=" 0 1\t0"/>{BOX}</body>'),
    "margins wider than the limits": world(
        f'<body><joint axis="0 1 0" range="-20 70" margin="3"/>{BOX}<body>'
        f'<joint type="slide" range="0.1 0.7" margin="5"/>{BOX}<site name="a" pos="0 0 1"/></body></body>'
        '<site name="b"/>',
        after='<tendon><spatial range="0.1 0.3" margin="2"><site site="a"/><site site="b"/></spatial></tendon>',
    ),
    "shapes that only show": world(
        f'<body><joint axis="1 0 0"/>{BOX}<geom size=".5" contype="0" conaffinity="0" group="1" mass="3"/></body>',
        '<compiler discardvisual="true"/>',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MJCF)
def test_mujoco_means_the_same(name: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    text = MJCF[name]
    agree(mujoco, mujoco.MjModel.from_xml_string(text), fw.loads(text, "mjcf", strict=True))


def test_all_bits_of_a_filter_count() -> None:
    """MuJoCo's are 32 bits with a sign."""
    pytest.importorskip("mujoco")
    ball = '<body pos="{} 0 1"><freejoint/><geom size=".1" contype="{}" conaffinity="0"/></body>'
    inside = ball.format(0, -(2**31)) + ball.format(1, 2**31 - 1) + ball.format(2, 0)
    floor = '<geom type="plane" size="1 1 1" contype="0" conaffinity="{}"/>'
    for mask, touching in ((-1, 2), (-(2**31), 1), (1, 1)):
        sim = fw.Simulator(fw.loads(world(inside + floor.format(mask)), "mjcf"))
        table = sim.scene.pair_table()
        assert table is not None and len(table.first) == touching


def test_includes_in_includes_and_models_attached(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    for k in range(9):
        inside = f'<joint name="j{k}" axis="0 {k % 2} 1" range="-40 {30 + k}"/>{BOX}<include file="part_{k + 1}.xml"/>'
        (tmp_path / f"part_{k}.xml").write_text(f"<mujocoinclude>{nested(inside)}</mujocoinclude>")
    (tmp_path / "part_9.xml").write_text(f"<mujocoinclude>{nested(f'<joint/>{BOX}')}</mujocoinclude>")
    arm = f'<body name="arm"><joint name="el" range="-1 1" ref="0.3"/>{BOX}</body>'
    drive = '<actuator><position joint="el" kp="20"/></actuator>'
    child = world(arm, '<compiler angle="radian"/>', drive)
    (tmp_path / "child.xml").write_text(child)
    main = tmp_path / "main.xml"
    main.write_text(world(
        f'<body name="base"><freejoint/>{BOX}<attach model="c" body="arm" prefix="l_"/><frame euler="0 0 90">'
        '<attach model="c" body="arm" prefix="r_"/></frame></body><include file="part_0.xml"/>',
        '<asset><model name="c" file="child.xml"/></asset>',
    ))  # fmt: skip
    agree(mujoco, mujoco.MjModel.from_xml_path(str(main)), fw.load(main, strict=True))
    (tmp_path / "part_9.xml").write_text('<mujocoinclude><include file="part_9.xml"/></mujocoinclude>')
    with pytest.raises(fw.ModelImportError, match="already included"):
        fw.load(main)


def agree(mujoco: Any, m: Any, model: fw.Model) -> None:
    """Start, mass matrix and bias, limits, and the acceleration with springs, dampers and drag."""
    assert (model.nq, model.nv) == (m.nq, m.nv)
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    for body in range(1, m.nbody):
        X = fw.frame_placement(model, model.q0, m.body(body).name or f"body_{body}")
        np.testing.assert_allclose(X[:3, 3], data.xpos[body], atol=1e-12)
        np.testing.assert_allclose(X[:3, :3].ravel(), data.xmat[body], atol=1e-12)
    rng = np.random.default_rng(1)
    q, v = model.random(rng), 0.3 * rng.standard_normal(model.nv)
    data.qpos, data.qvel = fw.convert.to_mujoco(model, q, v)
    bits = mujoco.mjtDisableBit
    m.opt.disableflags |= int(bits.mjDSBL_CONSTRAINT) | int(bits.mjDSBL_ACTUATION)
    mujoco.mj_forward(m, data)
    T = np.stack([fw.convert.to_mujoco(model, q, column)[1] for column in np.eye(model.nv)], axis=1)
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, data, M)
    H = fw.crba(model, q)
    np.testing.assert_allclose(H, T.T @ M @ T, atol=1e-12 * np.abs(M).max(), rtol=1e-9)
    expected = np.linalg.solve(T, data.qacc) - turning(model, v)
    dt = 1e-7
    sim = fw.Simulator(smooth(model), dt=dt)
    found = (sim.step(sim.state(q=q, v=v)).v - v) / dt
    np.testing.assert_allclose(found, expected, atol=1e-5 * max(1.0, np.abs(expected).max()))


def turning(model: fw.Model, v: Array) -> Array:
    """What the axes of free joints turn their velocities by: MuJoCo has them in the world."""
    result = np.zeros(model.nv)
    for joint in model.joints:
        if joint.type == "free":
            linear, angular = np.split(v[joint.v_slice], 2)
            result[joint.v_slice.start : joint.v_slice.start + 3] = np.cross(angular, linear)
    return result


def smooth(model: fw.Model) -> fw.Scene:
    """The same without anything that touches, limits, couples or drives."""
    description = model.description
    joints = tuple(
        replace(j, lower=None, upper=None, type="continuous" if j.type == "revolute" else j.type)
        for j in description.joints
    )
    links = tuple(replace(link, geometries=()) for link in description.links)
    bare = replace(description, joints=joints, links=links, couplings=(), actuators=(), keyframes=(), sensors=())
    scene = fw.Scene(gravity=description.gravity, medium=description.medium)
    scene.add(fw.Model(bare), name="robot")
    return scene


INERTIAL = '<inertial><mass value="2"/><inertia ixx="1" iyy="1.2" izz="1.4" ixy="0.1" ixz="0" iyz="0"/></inertial>'


def link(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, inside: str = "", kind: str = "continuous", axis: str = "0 1 0") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def robot(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


AB = link("a") + link("b")
REFUSED = {
    "joint 'j': the name is used twice": robot(AB, link("c"), joint("j", "a", "b"), joint("j", "b", "c")),
    "link 'a': the name is used twice": robot(AB, link("a"), joint("j", "a", "b")),
    "is part of a loop": robot(AB, joint("j", "a", "b"), joint("k", "b", "a")),
    "link 'b' has two parents": robot(AB, joint("j", "a", "b"), joint("k", "b", "b")),
    "child 'zz' is not a link": robot(AB, joint("j", "a", "zz")),
    "the axis is zero": robot(AB, joint("j", "a", "b", axis="0 0 0")),
    "must be 3 numbers, got 'nan 3 4'": robot(AB, joint("j", "a", "b", axis="nan 3 4")),
    "must be 3 numbers, got '0 1_0 0'": robot(AB, joint("j", "a", "b", axis="0 1_0 0")),
    "must be 3 numbers, got '٠ ١ ٠'": robot(AB, joint("j", "a", "b", axis="٠ ١ ٠")),
    "must be a number, got '1e999'": robot(link("a", INERTIAL.replace('"2"', '"1e999"'))),
    "mass must not be negative": robot(link("a", INERTIAL.replace('"2"', '"-2"'))),
    "damping must not be negative": robot(AB, joint("j", "a", "b", '<dynamics damping="-1"/>')),
    "unknown type 'Revolute'": robot(AB, joint("j", "a", "b", kind="Revolute")),
    "'ixy' is missing": robot(link("a", '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>')),
    "entities are not expanded": '<!DOCTYPE r [<!ENTITY a "aaaa">]>' + robot(link("&a;")),
    "nested deeper than": robot("<a>" * 5000 + "</a>" * 5000),
    "size must not be negative": robot(
        link("a", '<collision><geometry><cylinder radius="-1" length="1"/></geometry></collision>')
    ),
    "xacro file that was not expanded": robot(AB, joint("j", "a", "b", axis="0 ${pi} 0")),
    "must be 3 numbers, got '1E0 1e0 1D0'": robot(AB, joint("j", "a", "b", '<origin xyz="1E0 1e0 1D0"/>')),
    "must be 3 numbers, got '0x1 0 0'": robot(AB, joint("j", "a", "b", '<origin xyz="0x1 0 0"/>')),
    "follow each other in a circle, k -> j -> k": robot(
        AB, link("c"), joint("j", "a", "b", '<mimic joint="k"/>'), joint("k", "b", "c", '<mimic joint="j"/>')
    ),
    "friction must not be negative": robot(AB, joint("j", "a", "b", '<dynamics friction="-1"/>')),
    "joint 'j': has no <parent>": robot(AB, '<joint name="j" type="fixed"><child link="b"/></joint>'),
    "is its own parent": robot(AB, joint("j", "a", "a")),
    "duplicate attribute": robot(AB, joint("j", "a", "b").replace('name="j"', 'name="j" name="k"')),
    "junk after document element": robot(AB) + "<a/>",
    "must have <robot> as its outermost element": "<html/>",
    "has no links": robot(),
    "attribute 'name' is empty": robot(link("")),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_has_no_meaning_is_refused(why: str) -> None:
    with pytest.raises(fw.ModelImportError, match=why.replace("$", r"\$")):
        fw.loads(REFUSED[why], "urdf")


READ = {
    "a joint before its links": robot(joint("j", "a", "b"), AB),
    "commas": robot(AB, joint("j", "a", "b", axis="0,1,0")),
    "an axis of another length": robot(AB, joint("j", "a", "b", axis="0 3 0")),
    "a namespace": robot(AB, joint("j", "a", "b")).replace("<robot", '<robot xmlns="http://www.ros.org/wiki/urdf"'),
    "comments and instructions": "<!-- a --><?pi x?>"
    + robot("<!-- <link/> -->", AB, "<![CDATA[ junk ]]>", joint("j", "a", "b")),
    "no name": robot(AB, joint("j", "a", "b")).replace(' name="r"', ""),
    "names of the world": robot(AB.replace('"a"', '"universe"'), joint("j", "universe", "b")),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_is_plain_is_read_in_any_encoding(name: str, encoding: str) -> None:
    plain = fw.loads(robot(AB, joint("j", "a", "b")), "urdf")
    model = fw.loads(READ[name].encode(encoding), "urdf", strict=True)
    q, v = np.array([0.4]), np.array([1.0])
    np.testing.assert_allclose(fw.bias_forces(model, q, v), fw.bias_forces(plain, q, v), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(fw.crba(model, q), fw.crba(plain, q), rtol=1e-13)


def sdf(inside: str) -> str:
    return f'<sdf version="1.9"><model name="m">{inside}</model></sdf>'


def sdf_link(name: str, pose: str = "") -> str:
    inertia = "<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>"
    return f'<link name="{name}">{pose}<inertial><mass>2</mass>{inertia}</inertial></link>'


REFUSED_SDF = {
    "frame 'f': is attached to itself": '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>',
    "its pose is relative to itself": '<frame name="f"><pose relative_to="f">1 0 0 0 0 0</pose></frame>',
    "there is no link, joint, frame or model 'zz'": '<frame name="f" attached_to="zz"/>',
    "a quaternion of length zero": '<frame name="f"><pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose></frame>',
    "must be 6 numbers, got '0 0 0 0 0'": '<frame name="f"><pose>0 0 0 0 0</pose></frame>',
    "must be 6 numbers, got 'nan 0 0 0 0 0'": '<frame name="f"><pose>nan 0 0 0 0 0</pose></frame>',
    "link 'a': the name is used twice": sdf_link("a"),
}


@pytest.mark.parametrize("why", REFUSED_SDF)
def test_what_has_no_meaning_in_sdf_is_refused(why: str) -> None:
    with pytest.raises(fw.ModelImportError, match=why):
        fw.loads(sdf(sdf_link("a") + REFUSED_SDF[why]), "sdf")


def test_scopes_and_frames_of_models_in_models() -> None:
    """b is 1 m above a by its model; c is at a frame of that model, which is turned by a right angle."""
    inner = (
        '<model name="n"><pose relative_to="a">0 0 1 0 0 0</pose>{}<frame name="f" attached_to="b">{}</frame></model>'
    )
    c = sdf_link("c", '<pose relative_to="n::f">1 0 0 0 0 0</pose>')
    hinge = '<joint name="{}" type="revolute"><parent>{}</parent><child>{}</child><axis><xyz>0 1 0</xyz></axis></joint>'
    text = sdf_link("a") + inner.format(sdf_link("b"), f"<pose>0 1 0 0 0 {np.pi / 2}</pose>") + c
    text += hinge.format("j", "a", "n::b") + hinge.format("k", "n::b", "c")
    model = fw.loads(sdf(text), "sdf", strict=True)
    X = fw.frame_placement(model, model.q0, "c")
    np.testing.assert_allclose(X[:3, 3], (0.0, 2.0, 1.0), atol=1e-12)
    np.testing.assert_allclose(X[:3, 0], (0.0, 1.0, 0.0), atol=1e-12)
