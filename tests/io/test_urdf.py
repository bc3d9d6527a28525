"""URDF: what is read, what is decided, what is reported, what is refused; with file and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.urdf_text import BODY, notes_about, two_links

import featherweight as fw
from featherweight import ImportNote, Mimic, Severity, reference
from featherweight.arrays import Array
from featherweight.model import poses

DATA = Path(__file__).parents[1] / "data"


def numbers(*arrays: Array) -> list[float]:
    return [float(x) for x in np.concatenate(arrays)]


# -- what is read ----------------------------------------------------------------------------------------------------


def test_links_and_joints_are_in_depth_first_file_order() -> None:
    model = fw.load(DATA / "features.urdf")
    assert model.link_names == ("base", "shoulder", "wheel", "tool", "slider", "puck", "drone")
    assert model.joint_names == ("turn", "spin", "lift", "slide_on", "fly")
    assert [joint.type for joint in model.joints] == ["revolute", "continuous", "prismatic", "planar", "free"]


def test_inertia_is_turned_into_link_axes() -> None:
    inertia = fw.load(DATA / "features.urdf").link("base").inertia
    assert inertia is not None
    R = poses.rotation_from_rpy((0.1, -0.2, 0.3))
    given = np.array([[0.04, 0.001, -0.002], [0.001, 0.05, 0.003], [-0.002, 0.003, 0.06]])
    assert inertia.mass == 4.0
    assert_close(inertia.com, [0.01, 0.02, 0.03])
    assert_close(inertia.matrix, R @ given @ R.T)


def test_limits_and_dynamics_are_kept() -> None:
    model = fw.load(DATA / "features.urdf")
    turn, spin = model.joint("turn"), model.joint("spin")
    assert numbers(turn.lower, turn.upper, turn.effort_limit, turn.velocity_limit) == [-1.5, 2.5, 30.0, 4.0]
    assert numbers(turn.damping, turn.friction) == [0.4, 0.1]
    assert numbers(spin.lower, spin.upper, spin.effort_limit) == [-np.inf, np.inf, 5.0]
    assert spin.axis is not None
    assert_close(spin.axis, [0.0, 0.6, 0.8])


def test_mimic_is_read_and_told() -> None:
    model = fw.load(DATA / "features.urdf")
    assert model.joint("lift").mimic == Mimic("turn", 0.2, 0.01)
    [note] = notes_about(model, "mimics")
    assert (note.element, note.line, note.honoured) == ("joint 'lift'", 84, True)


def test_planar_joint_moves_across_its_axis() -> None:
    model = fw.load(DATA / "features.urdf")
    q = model.neutral()
    rest = reference.frame_placement(model.description, q, "puck")
    slider = reference.frame_placement(model.description, q, "slider")
    normal = slider[:3, :3] @ [0.0, 1.0, 0.0]
    q[model.joint("slide_on").q_slice] = 0.3, 0.4, 0.5
    moved = reference.frame_placement(model.description, q, "puck")
    step = moved[:3, 3] - rest[:3, 3]
    assert_close(step @ normal, 0.0)
    assert_close(np.linalg.norm(step), 0.5)
    assert_close(moved[:3, :3] @ rest[:3, :3].T @ normal, normal)  # the rotation is about the normal


def test_geometry_is_kept() -> None:
    model = fw.load(DATA / "features.urdf")
    box, mesh, cylinder, capsule = model.link("base").geometries
    assert (box.name, box.role, box.shape, box.size, box.rgba) == (
        *("shell", "visual", "box", (0.3, 0.2, 0.1)),
        (0.1, 0.2, 0.8, 1.0),
    )
    assert_close(box.placement, poses.pose((0, 0, 0.1), rpy=(0, 0, np.pi / 2)))
    assert (mesh.shape, mesh.size, mesh.rgba) == ("mesh", (1.0, 1.0, -1.0), (1.0, 0.0, 0.0, 0.5))
    assert mesh.mesh == str(DATA / "meshes" / "tetra.obj")
    assert (cylinder.role, cylinder.shape, cylinder.size) == ("collision", "cylinder", (0.15, 0.2))
    assert (capsule.shape, capsule.size) == ("capsule", (0.05, 0.4))


def test_gravity_is_earths() -> None:
    assert_close(fw.load(DATA / "axes.urdf").gravity, [0.0, 0.0, -9.81])


# -- the base --------------------------------------------------------------------------------------------------------


def test_fixed_base_by_default() -> None:
    model = fw.load(DATA / "axes.urdf")
    assert model.description.joints[0].name == "root_joint"
    assert model.description.joints[0].type == "fixed"
    assert (model.nq, model.nv) == (3, 3)


def test_floating_base() -> None:
    model = fw.load(DATA / "axes.urdf", floating_base=True)
    assert model.joint_names[0] == "root_joint"
    assert model.joint("root_joint").type == "free"
    assert (model.nq, model.nv) == (10, 9)


@pytest.mark.parametrize("floating", [False, True])
def test_every_root_hangs_on_the_world(floating: bool) -> None:
    text = two_links(rest=f'<link name="ball">{BODY}</link>').replace('"base"/>\n', f'"base">{BODY}</link>\n')
    model = fw.loads(text, "urdf", floating_base=floating)
    roots = [joint for joint in model.description.joints if joint.parent == "world"]
    assert [joint.name for joint in roots] == ["base_root_joint", "ball_root_joint"]
    assert {joint.type for joint in roots} == {"free" if floating else "fixed"}
    assert len(notes_about(model, "one of 2 roots")) == 2


def test_a_link_called_world_is_renamed() -> None:
    model = fw.load(DATA / "two_trees.urdf")
    assert model.joint("rail").parent == "world_link"
    assert notes_about(model, "the name is reserved")


def test_a_joint_may_be_called_root_joint() -> None:
    text = two_links().replace('name="j"', 'name="root_joint"')
    assert [joint.name for joint in fw.loads(text, "urdf").description.joints] == ["base_root_joint", "root_joint"]


# -- what is decided and reported ------------------------------------------------------------------------------------


def test_missing_inertia_is_massless_and_reported() -> None:
    model = fw.load(DATA / "features.urdf")
    assert model.link("tool").inertia is None
    [note] = notes_about(model, "massless")
    assert note == ImportNote("link 'tool'", 60, "has no inertia: taken as massless", Severity.NOTHING)


@pytest.mark.parametrize(
    "moments, complaint",
    [("1 -1 1", "not positive"), ("1 1 2.1", "triangle inequality"), ("1 1 2.00001", "triangle inequality")],
)
def test_nonphysical_inertia_is_kept_reported_and_refused_when_strict(moments: str, complaint: str) -> None:
    x, y, z = moments.split()
    body = f'\n<inertial><mass value="1"/><inertia ixx="{x}" ixy="0" ixz="0" iyy="{y}" iyz="0" izz="{z}"/></inertial>'
    text = two_links(link=body)
    model = fw.loads(text, "urdf")
    [note] = model.import_report.not_honoured
    assert complaint in note.message
    assert note.line == 3
    with pytest.raises(fw.ModelImportError, match=complaint):
        fw.loads(text, "urdf", strict=True)


def test_rounded_inertia_passes() -> None:
    body = BODY.replace('izz="1"', 'izz="2.000001"')
    assert not fw.loads(two_links(link=body), "urdf").import_report.not_honoured


@pytest.mark.parametrize(
    "part, text",
    [
        ("<mass", '<inertial><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'),
        ("<inertia>", '<inertial><mass value="1"/></inertial>'),
    ],
)
def test_incomplete_inertial_is_not_honoured(part: str, text: str) -> None:
    with pytest.raises(fw.ModelImportError, match=f":3: link 'a': <inertial> without {part}"):
        fw.loads(two_links(link=text), "urdf", strict=True)


def test_missing_limits_are_unlimited() -> None:
    model = fw.loads(two_links(), "urdf")
    assert numbers(model.lower, model.upper) == [-np.inf, np.inf]
    assert notes_about(model, "no <limit>")


def test_missing_effort_and_velocity_are_unlimited() -> None:
    model = fw.loads(two_links('<limit lower="-1" upper="1"/>'), "urdf")
    assert model.effort_limit == model.velocity_limit == np.inf
    assert len(notes_about(model, "taken as unlimited")) == 2


def test_infinite_limits() -> None:
    model = fw.loads(two_links('<limit lower="-inf" upper="INF" effort="inf" velocity="1e3"/>'), "urdf")
    assert numbers(model.lower, model.upper, model.velocity_limit) == [-np.inf, np.inf, 1000.0]


def test_missing_axis_is_x() -> None:
    model = fw.loads(two_links().replace('<axis xyz="0 0 1"/>', ""), "urdf")
    axis = model.joint("j").axis
    assert axis is not None
    assert_close(axis, [1.0, 0.0, 0.0])
    assert notes_about(model, "has no axis")


@pytest.mark.parametrize(
    "rest, honoured",
    [
        ('<transmission name="t"><joint name="j"/></transmission>', True),
        ('<transmission name="t"><rotorInertia>1</rotorInertia></transmission>', False),
        ('<gazebo reference="a"><material>Grey</material></gazebo>', True),
        ('<gazebo reference="a"><kinematic>true</kinematic></gazebo>', False),
        ('<sensor name="s"/>', True),
        ('<ros2_control name="c" type="system"/>', True),
        ('<xacro:include filename="x"/>', False),
        ("<loop/>", False),
    ],
)
def test_elements_left_out_are_reported(rest: str, honoured: bool) -> None:
    text = two_links('<limit lower="-1" upper="1" effort="1" velocity="1"/>', rest=rest)
    note = fw.loads(text, "urdf").import_report[-1]
    assert (note.line, note.honoured) == (5, honoured)
    if honoured:
        fw.loads(text, "urdf", strict=True)
    else:
        with pytest.raises(fw.ModelImportError, match=r":5: .*left out"):
            fw.loads(text, "urdf", strict=True)


def test_unknown_attributes_are_reported() -> None:
    model = fw.loads(two_links('<dynamics damping="1" stiffness="2"/>'), "urdf")
    [note] = model.import_report.not_honoured
    assert "'stiffness'" in note.message


def test_mimic_of_an_unknown_joint_is_left_out() -> None:
    model = fw.loads(two_links('<mimic joint="nobody"/>'), "urdf")
    assert model.joint("j").mimic is None
    [note] = model.import_report.not_honoured
    assert "nobody" in note.message


# -- what is refused -------------------------------------------------------------------------------------------------

INERTIAL = '<inertial><mass value="{}"/><inertia ixx="{}" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


@pytest.mark.parametrize(
    "text, line, complaint",
    [
        ("", 1, "no element found"),
        ("<robot", 1, "unclosed token"),
        ("<robot>\n<link name='a'>\n</robot>", 3, "mismatched tag"),
        ("<robot/><robot/>", 1, "junk after document"),
        ("<mujoco/>", 1, "must have <robot>"),
        ("<robot name='r'/>", 1, "has no links"),
        ("<robot>\n<link/></robot>", 2, "'name' is missing"),
        ("<robot>\n<link name=''/></robot>", 2, "'name' is empty"),
        ("<robot><link name='a'/>\n<link name='a'/></robot>", 2, "used twice"),
        (two_links(rest=two_links()[two_links().index("<joint") : -9]), 5, "used twice"),
        (two_links().replace('type="revolute"', 'type="gear"'), 4, "unknown type 'gear'"),
        (two_links().replace('type="revolute"', ""), 4, "'type' is missing"),
        (two_links().replace('<parent link="base"/>', ""), 4, "has no <parent>"),
        (two_links().replace('<child link="a"/>', ""), 4, "has no <child>"),
        (two_links().replace('link="base"', 'link="bas"'), 4, "not a link .did you mean 'base'"),
        (two_links().replace('link="base"', 'link="a"'), 4, "its own parent"),
        (two_links().replace('"0 0 1"', '"0 0 0"'), 4, "axis is zero"),
        (two_links().replace('"0 0 1"', '"0 0"'), 4, "3 numbers"),
        (two_links('\n<limit lower="x" upper="0"/>'), 5, "must be a number, got 'x'"),
        (two_links('\n<limit lower="nan" upper="0"/>'), 5, "must be a number"),
        (two_links('\n<limit lower="1_0" upper="20"/>'), 5, "must be a number"),
        (two_links('\n<dynamics damping="1e999"/>'), 5, "must be a number"),
        (two_links('<dynamics damping="-1"/>'), 4, "negative"),
        (two_links('\n<origin xyz="0 0 inf"/>'), 5, "3 numbers"),
        (two_links('\n<origin rpy="0 0"/>'), 5, "3 numbers"),
        (two_links(link=INERTIAL.format("-1", "1")), 3, "mass must not be negative"),
        (two_links(link=INERTIAL.format("1", "one")), 3, "must be a number"),
        (two_links(link=BODY.replace('iyz="0"', "")), 3, "'iyz' is missing"),
        (two_links(link='<collision><geometry><box size="1 1"/></geometry></collision>'), 3, "3 numbers"),
        (two_links(link='<collision><geometry><sphere radius="-1"/></geometry></collision>'), 3, "negative"),
    ],
)
def test_malformed_files_are_refused_with_their_line(text: str, line: int, complaint: str) -> None:
    with pytest.raises(fw.ModelImportError, match=complaint) as caught:
        fw.loads(text, "urdf")
    assert caught.value.line == line


def test_two_parents_are_refused() -> None:
    rest = '<link name="b"/><joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint>\n'
    with pytest.raises(fw.ModelImportError, match=":5: joint 'k': link 'a' has two parents"):
        fw.loads(two_links(rest=rest), "urdf")


def test_loops_are_refused() -> None:
    rest = '<joint name="k" type="fixed"><parent link="a"/><child link="base"/></joint>\n'
    for floating in (False, True):
        with pytest.raises(fw.ModelImportError, match=r"loop that hangs on nothing: 'j' -> 'k'|'k' -> 'j'"):
            fw.loads(two_links(rest=rest), "urdf", floating_base=floating)
