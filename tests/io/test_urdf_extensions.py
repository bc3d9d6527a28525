"""What Gazebo, PyBullet, Drake, MuJoCo and ROS add to URDF: as much of it as says how the robot moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.urdf_text import BODY, notes_about, two_links

import featherweight as fw
from featherweight import Material, Severity

LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
SHAPE = '<collision><geometry><sphere radius="0.1"/></geometry>{}</collision>'


def robot(link: str = "", joint: str = "", rest: str = "", shape: str = "", strict: bool = True) -> fw.Model:
    text = two_links(LIMIT + joint, link=BODY + SHAPE.format(shape) + link, rest=rest)
    return fw.loads(text, "urdf", strict=strict)


def material(model: fw.Model) -> Material | None:
    return model.link("a").geometries[0].material


def gazebo(content: str, reference: str = "a") -> str:
    return f'<gazebo reference="{reference}">{content}</gazebo>'


# -- surfaces --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content, expected",
    [
        ("<mu1>0.5</mu1><mu2>0.5</mu2>", Material(friction=0.5)),
        ('<mu1 value="0.5"/>', Material(friction=0.5)),
        ("<mu>0.5</mu><kp>1e5</kp><kd>10</kd>", Material(friction=0.5, stiffness=1e5, damping=10.0)),
        ("<kp>1e15</kp><kd>10</kd>", None),  # rigid
        ("<mu1>0.5</mu1><maxVel>0.1</maxVel><minDepth>0.001</minDepth><fdir1>1 0 0</fdir1>", Material(friction=0.5)),
        (
            "<collision><surface><friction><ode><mu>0.7</mu><mu2>0.7</mu2></ode></friction></surface></collision>",
            Material(friction=0.7),
        ),
    ],
)
def test_gazebos_surfaces(content: str, expected: Material | None) -> None:
    assert material(robot(rest=gazebo(content))) == expected


def test_friction_by_direction_is_averaged() -> None:
    text = gazebo("<mu1>0.2</mu1><mu2>0.6</mu2>")
    found = material(robot(rest=text, strict=False))
    assert found is not None
    assert found.friction == pytest.approx(0.4)
    with pytest.raises(fw.ModelImportError, match=r"friction 0\.2 to 0.6 by direction"):
        robot(rest=text)


def test_pybullets_contact() -> None:
    contact = """<contact><lateral_friction value="0.9"/><rolling_friction value="0.01"/>
<spinning_friction value="0.02"/><restitution value="0.3"/><stiffness value="3e4"/><damping value="1e3"/>
<contact_cfm value="0.0"/><contact_erp value="1.0"/><friction_anchor/></contact>"""
    expected = Material(friction=0.9, torsional=0.02, rolling=0.01, restitution=0.3, stiffness=3e4, damping=1e3)
    assert material(robot(contact)) == expected
    with pytest.raises(fw.ModelImportError, match="softness of another solver"):
        robot('<contact><contact_cfm value="0.1"/></contact>')


def test_pybullets_scaling_of_inertia() -> None:
    inertia = robot('<contact><inertia_scaling value="3"/></contact>').link("a").inertia
    assert inertia is not None
    assert_close(inertia.matrix, 3.0 * np.eye(3))
    assert inertia.mass == 1.0


def test_drakes_proximity_is_that_of_one_shape() -> None:
    properties = """<drake:proximity_properties><drake:mu_dynamic value="0.4"/><drake:mu_static value="0.4"/>
<drake:point_contact_stiffness value="1e6"/></drake:proximity_properties>"""
    model = robot(SHAPE.format(""), shape=properties)
    first, second = model.link("a").geometries
    assert first.material == Material(friction=0.4, stiffness=1e6)
    assert second.material is None
    with pytest.raises(fw.ModelImportError, match="sticking and sliding have one coefficient"):
        robot(shape=properties.replace('mu_static value="0.4"', 'mu_static value="0.5"'))


def test_bits_of_contact() -> None:
    surface = "<collision><surface><contact><collide_bitmask>5</collide_bitmask></contact></surface></collision>"
    shape = robot(rest=gazebo(surface)).link("a").geometries[0]
    assert (shape.contype, shape.conaffinity) == (5, 5)


# -- what never touches ----------------------------------------------------------------------------------------------


def three_links(rest: str) -> fw.Model:
    body = BODY + SHAPE.format("")
    text = two_links(LIMIT, link=body, rest=rest).replace('<link name="base"/>', f'<link name="base">{body}</link>')
    more = f"""<link name="b">{body}</link><joint name="k" type="continuous">
<parent link="a"/><child link="b"/><axis xyz="0 0 1"/><limit effort="1" velocity="1"/></joint></robot>"""
    return fw.loads(text.replace("</robot>", more), "urdf", strict=True)


def test_a_link_that_does_not_collide_with_its_robot() -> None:
    model = three_links(gazebo("<selfCollide>false</selfCollide>"))
    assert set(model.description.excludes) == {("a", "base"), ("a", "b")}
    assert not three_links(gazebo("<selfCollide>true</selfCollide>")).description.excludes
    assert len(three_links("<gazebo><self_collide>0</self_collide></gazebo>").description.excludes) == 3


def test_drakes_groups() -> None:
    groups = """<drake:collision_filter_group name="g"><drake:member link="base"/><drake:member link="a"/>
<drake:ignored_collision_filter_group name="h"/></drake:collision_filter_group>
<drake:collision_filter_group name="h"><drake:member link="b"/></drake:collision_filter_group>"""
    assert set(three_links(groups).description.excludes) == {("b", "base"), ("a", "b")}


# -- joints ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "inside, armature",
    [
        ("<rotorInertia>0.01</rotorInertia><mechanicalReduction>10</mechanicalReduction>", 1.0),
        ("<motor_inertia>0.01</motor_inertia>", 0.01),
        ('<drake:rotor_inertia value="0.02"/><drake:gear_ratio value="-5"/>', 0.5),
    ],
)
def test_a_rotor_is_seen_through_its_gear(inside: str, armature: float) -> None:
    transmission = f'<transmission name="t"><joint name="j"/><actuator name="m">{inside}</actuator></transmission>'
    assert_close(robot(rest=transmission).joint("j").armature, [armature])


def test_a_rotor_on_two_joints_is_left_out() -> None:
    two = '<transmission name="t"><joint name="j"/><joint name="k"/><rotorInertia>1</rotorInertia></transmission>'
    with pytest.raises(fw.ModelImportError, match="transmission 't': left out, with a rotor inertia"):
        robot(rest=two)


def test_a_gear_without_rotor_is_about_control() -> None:
    gear = "<mechanicalReduction>gear_of_macro</mechanicalReduction>"
    [note] = notes_about(robot(rest=f'<transmission name="t"><joint name="j"/>{gear}</transmission>'), "transmission")
    assert note.severity is Severity.NOTHING


def test_gazebos_spring() -> None:
    joint = robot(rest=gazebo("<springStiffness>7</springStiffness><springReference>0.2</springReference>", "j"))
    assert_close(joint.stiffness, [7.0])
    assert_close(joint.rest_position, [0.2])


def test_old_and_vendors_words_for_dynamics() -> None:
    assert_close(robot(joint='<joint_properties damping="2" friction="3"/>').damping, [2.0])
    franka = robot(joint='<dynamics D="1" K="7000" damping="0.003" friction="0" mu_coulomb="0" mu_viscous="16"/>')
    assert_close(franka.damping, [0.003])
    assert_close(robot(joint='<dynamics mu_viscous="16" mu_coulomb="2"/>').friction, [2.0])
    assert_close(robot(joint='<dynamics damping="1" armature="0.1"/>').armature, [0.1])
    same = '<dynamics damping="2" friction="1"/><joint_properties damping="2" friction="1"/>'
    assert_close(robot(joint=same).damping, [2.0])
    with pytest.raises(fw.ModelImportError, match="<joint_properties> is an old word"):
        robot(joint=same.replace('<dynamics damping="2"', '<dynamics damping="3"'))


@pytest.mark.parametrize("kind, nv", [("universal", 2), ("ball", 3), ("planar", 3), ("screw", 1)])
def test_drakes_joints(kind: str, nv: int) -> None:
    text = two_links('<drake:screw_thread_pitch value="0.5"/>', link=BODY).replace('type="revolute"', f'type="{kind}"')
    text = text.replace("<joint ", "<drake:joint ").replace("</joint>", "</drake:joint>")
    model = fw.loads(text, "urdf")
    assert model.nv == nv
    if kind == "screw":
        assert model.joint("j").description.pitch == pytest.approx(0.5 / (2 * np.pi))


@pytest.mark.parametrize(
    "content, reference",
    [
        ("<dampingFactor>0.1</dampingFactor>", "a"),
        ("<stopCfm>0.1</stopCfm>", "j"),
        ("<mystery/>", "a"),
    ],
)
def test_physics_of_gazebo_that_are_not_honoured_change_the_motion(content: str, reference: str) -> None:
    with pytest.raises(fw.ModelImportError, match=":5: "):
        robot(rest=gazebo(content, reference))


@pytest.mark.parametrize(
    "content, reference",
    [
        ("<turnGravityOff>false</turnGravityOff><gravity>true</gravity>", "a"),
        ("<dampingFactor>0.0</dampingFactor>", "a"),
        ("<provideFeedback>true</provideFeedback><stopCfm>0</stopCfm><stopErp>0.2</stopErp>", "j"),
        ("<sensor name='s' type='ray'><x/></sensor><material>Gazebo/Red</material>", "a"),
        ("<mu1>3</mu1>", "nobody"),
    ],
)
def test_what_changes_nothing_in_gazebo(content: str, reference: str) -> None:
    robot(rest=gazebo(content, reference))


CRANKS = """<robot name="r"><link name="base"/>
{links}<joint name="left" type="continuous"><parent link="base"/><child link="one"/>{axis}</joint>
<joint name="right" type="continuous"><origin xyz="1 0 0"/><parent link="base"/><child link="two"/>{axis}</joint>
<joint name="first" type="continuous"><origin xyz="0 0 -1"/><parent link="one"/><child link="bar"/>{axis}</joint>
<gazebo><joint name="last" type="{kind}"><parent>two</parent><child>bar</child><pose>1 0 0 0 0 0</pose>
<axis><xyz>0 1 0</xyz></axis></joint></gazebo></robot>"""


def cranks(kind: str) -> str:
    links = "".join(f'<link name="{name}">{BODY}</link>' for name in ("one", "two", "bar"))
    return CRANKS.format(links=links, kind=kind, axis='<axis xyz="0 1 0"/><limit effort="1" velocity="1"/>')


def test_a_loop_that_gazebo_closes() -> None:
    """A bar on two parallel cranks of equal length never tilts."""
    model = fw.loads(cranks("revolute"), "urdf", strict=True)
    [closure] = model.description.closures
    assert (closure.link, closure.to) == ("bar", "two")
    scene = fw.Scene()
    order = [model.joint_names.index(name) for name in ("left", "right", "first")]
    q = np.zeros(3)
    q[order] = 0.5, 0.5, -0.5
    scene.add(model, q=q)
    sim = fw.Simulator(scene, dt=0.001)
    state = sim.state()
    for _ in range(300):
        state = sim.step(state)
    left, right, first = state.q[order]
    assert abs(left - 0.5) > 0.05  # it swings
    assert max(abs(left - right), abs(left + first)) < 1e-4  # a position error that the step corrects


def test_loops_that_cannot_be_closed_change_the_motion() -> None:
    for text in (cranks("universal"), cranks("wobble"), cranks("revolute").replace("<child>bar", "<child>nobody")):
        with pytest.raises(fw.ModelImportError, match="joint 'last'"):
            fw.loads(text, "urdf", strict=True)
        fw.loads(text, "urdf")


# -- MuJoCo ----------------------------------------------------------------------------------------------------------


def test_mujocos_block() -> None:
    settings = '<mujoco><compiler balanceinertia="true"/><option gravity="0 0 -1.6" timestep="0.1"/></mujoco>'
    text = two_links(LIMIT, link=BODY.replace('izz="1"', 'izz="4"'), rest=settings)
    model = fw.loads(text, "urdf", strict=True)
    assert_close(model.gravity, [0.0, 0.0, -1.6])
    inertia = model.link("a").inertia
    assert inertia is not None
    assert_close(inertia.matrix, 2.0 * np.eye(3))


def test_drakes_frames() -> None:
    model = robot(rest='<frame name="tool" link="a" xyz="1 2 3" rpy="0 0 0"/>')
    assert_close(model.frame("tool").placement[:3, 3], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "where",
    [
        {"rest": gazebo("<turnGravityOff>true</turnGravityOff>")},
        {"rest": gazebo("<gravity>0</gravity>")},
        {"link": "<gravity>0</gravity>"},
    ],
)
def test_links_without_weight_stay_where_they_are(where: dict[str, Any]) -> None:
    model = robot(**where)
    assert {link.name: link.gravity_compensation for link in model.description.links}["a"] == 1.0
    sim = fw.Simulator(model)
    assert np.abs(sim.rollout(sim.state(), n_steps=10).final.v).max() <= 1e-12
