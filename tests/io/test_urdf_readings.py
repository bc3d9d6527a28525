"""Flaws that hardly any URDF file is without: what they are taken to mean, and that the robot can be simulated."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.urdf_text import BODY, notes_about, two_links

import featherweight as fw
from featherweight import Severity

LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'


def inertial(mass: str, moments: str = "0 0 0", xyz: str = "0 0 0") -> str:
    x, y, z = moments.split()
    return (
        f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/>'
        f'<inertia ixx="{x}" ixy="0" ixz="0" iyy="{y}" iyz="0" izz="{z}"/></inertial>'
    )


def arm_with(tip: str, joint: str = '<axis xyz="0 1 0"/>', kind: str = "revolute") -> str:
    """An arm of two links with mass, and ``tip`` on a last joint."""
    body = inertial("2", "0.1 0.1 0.05", "0 0.1 0.3")
    hinge = '<origin xyz="0 0 0.5"/><axis xyz="1 0 0"/>'
    return f"""<robot name="arm"><link name="base"/>
<link name="one">{body}</link><link name="two">{body}</link>{tip}
<joint name="first" type="revolute"><parent link="base"/><child link="one"/>{hinge}{LIMIT}</joint>
<joint name="second" type="revolute"><parent link="one"/><child link="two"/>{hinge}{LIMIT}</joint>
<joint name="last" type="{kind}"><origin xyz="0 0 0.4"/><parent link="two"/><child link="tip"/>{joint}{LIMIT}</joint>
</robot>"""


def simulate(model: fw.Model) -> None:
    """A fifth of a second, over ground if anything can touch it."""
    touches = any(shape.role == "collision" for link in model.description.links for shape in link.geometries)
    scene = fw.Scene(ground=fw.Plane() if touches else None)
    scene.add(model, pose=(0, 0, 0.2), self_collision="apart")
    sim = fw.Simulator(scene, dt=0.002)
    state = sim.state()
    for _ in range(100):
        state = sim.step(state)
    assert np.isfinite(state.q).all()
    assert not np.any(state.failed)


# -- links without mass ----------------------------------------------------------------------------------------------

MASSLESS = ['<link name="tip"/>', f'<link name="tip">{inertial("0")}</link>']


@pytest.mark.parametrize("tip", MASSLESS)
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "planar", "floating", "spherical"])
def test_what_has_mass_moves_as_if_a_massless_tip_were_not_there(tip: str, kind: str) -> None:
    model = fw.loads(arm_with(tip, kind=kind), "urdf")
    fixed = fw.loads(arm_with(tip, kind="fixed"), "urdf", strict=True)
    assert "last" in model.joint_names
    rng = np.random.default_rng(1)
    q, v, tau = model.random(rng), *rng.normal(size=(2, model.nv))
    v[2:] = 0.0  # so that the tip's acceleration is its force over its rotor
    a = fw.aba(model, q, v, tau)
    assert_close(a[:2], fw.aba(fixed, q[:2], v[:2], tau[:2]))
    H = fw.crba(model, q)
    assert_close(H[:2, 2:], np.zeros((2, model.nv - 2)))
    assert_close(a[2:], tau[2:] / np.diag(H)[2:])
    [note] = notes_about(model, "moves no mass")
    assert note.severity is Severity.NOTHING and note.line == 5
    simulate(model)


@pytest.mark.parametrize("tip", MASSLESS)
def test_a_massless_tip_is_no_reason_to_refuse_a_robot(tip: str) -> None:
    model = fw.loads(arm_with(tip), "urdf", strict=True)
    armature = model.joint("last").armature
    assert_close(armature, [1e-3])
    assert fw.loads(arm_with(tip, kind="prismatic"), "urdf", strict=True).joint("last").armature == 0.1


def test_points_on_the_axis_of_a_wrist_are_no_reason_to_refuse_it() -> None:
    model = fw.loads(arm_with(f'<link name="tip">{inertial("1")}</link>'), "urdf", strict=True)
    fixed = fw.loads(arm_with(f'<link name="tip">{inertial("1")}</link>', kind="fixed"), "urdf")
    q = np.array([0.3, -0.4, 0.9])
    assert_close(fw.crba(model, q)[:2, :2], fw.crba(fixed, q[:2]))
    assert notes_about(model, "moves nothing that resists it")


def test_a_robot_without_any_mass_loads_but_does_not_pass_for_its_file() -> None:
    text = two_links(LIMIT, link="")
    assert fw.loads(text, "urdf").nv == 1
    with pytest.raises(fw.ModelImportError, match=":4: joint 'j': moves no mass, and nothing else"):
        fw.loads(text, "urdf", strict=True)
    simulate(fw.loads(text, "urdf", floating_base=True))


def test_a_point_mass_that_floats_gets_inertia_about_it_and_no_mass() -> None:
    text = f'<robot name="r"><link name="a">{inertial("2")}</link></robot>'
    model = fw.loads(text, "urdf", floating_base=True)
    assert_close(np.diag(fw.crba(model, model.neutral())), [2.0, 2.0, 2.0, 1e-3, 1e-3, 1e-3])
    with pytest.raises(fw.ModelImportError, match="moves nothing that resists it"):
        fw.loads(text, "urdf", floating_base=True, strict=True)


# -- inertias that no body has ---------------------------------------------------------------------------------------


def on_a_hinge(link: str, more: str = "") -> str:
    return two_links(LIMIT, link=link, rest=more)


def test_a_negative_moment_becomes_the_nearest_that_a_body_can_have() -> None:
    model = fw.loads(on_a_hinge(inertial("1", "-0.1 0.3 0.3")), "urdf")
    inertia = model.link("a").inertia
    assert inertia is not None
    # second moments of mass are half the trace minus each: 0.35, -0.05, -0.05, of which the negative ones go
    assert_close(inertia.matrix, np.diag([0.0, 0.35, 0.35]))
    [note] = model.import_report.not_honoured
    assert "nearest" in note.message and note.line == 3
    simulate(model)


def test_moments_that_violate_the_triangle_inequality_are_kept() -> None:
    model = fw.loads(on_a_hinge(inertial("1", "1 1 2.1")), "urdf")
    inertia = model.link("a").inertia
    assert inertia is not None
    assert_close(np.diag(inertia.matrix), [1.0, 1.0, 2.1])
    simulate(model)


def test_links_that_are_fixed_to_each_other_are_judged_as_one_body() -> None:
    dummy = f"""<link name="d">{inertial("0.001", "0 0 3e-6")}</link>
<joint name="k" type="fixed"><origin xyz="0 0 1" rpy="1 2 3"/><parent link="a"/><child link="d"/></joint>"""
    model = fw.loads(on_a_hinge(inertial("1", "1 1 1"), dummy), "urdf", strict=True)
    [note] = notes_about(model, "triangle inequality")
    assert note.severity is Severity.NOTHING and "with all that is fixed to it" in note.message
    with pytest.raises(fw.ModelImportError, match="link 'a': kept unchanged"):
        fw.loads(on_a_hinge(inertial("1", "0 0 9"), dummy), "urdf", strict=True)


def test_links_that_never_move_may_have_any_inertia() -> None:
    text = two_links(LIMIT).replace('<link name="base"/>', f'<link name="base">{inertial("0", "1 1 9")}</link>')
    assert "it never moves" in notes_about(fw.loads(text, "urdf", strict=True), "link 'base'")[0].message
    with pytest.raises(fw.ModelImportError, match="link 'base': kept unchanged"):
        fw.loads(text.replace(BODY, ""), "urdf", strict=True, floating_base=True)


def test_rounding_is_forgiven() -> None:
    model = fw.loads(on_a_hinge(inertial("1", "-1e-20 1e-20 3e-20", "0 0.1 0")), "urdf", strict=True)
    assert "by rounding only" in notes_about(model, "nearest")[0].message


# -- shapes ----------------------------------------------------------------------------------------------------------


def collision(shape: str) -> str:
    return on_a_hinge(f"{BODY}<collision><geometry>{shape}</geometry></collision>")


@pytest.mark.parametrize(
    "shape", ['<box size="0 0 0"/>', '<sphere radius="0"/>', '<cylinder radius="0" length="0"/>', ""]
)
def test_shapes_of_size_zero_touch_nothing(shape: str) -> None:
    model = fw.loads(collision(shape), "urdf", strict=True)
    assert not model.link("a").geometries
    assert notes_about(model, "left out")
    simulate(model)


@pytest.mark.parametrize(
    "shape",
    ['<box size="1 1 0"/>', '<cylinder radius="1" length="0"/>', '<cylinder radius="0" length="1"/>', "<cone/>"],
)
def test_flat_and_unknown_shapes_are_left_out_and_change_the_motion(shape: str) -> None:
    simulate(fw.loads(collision(shape), "urdf"))
    with pytest.raises(fw.ModelImportError, match=r":3: collision of link 'a': .*left out"):
        fw.loads(collision(shape), "urdf", strict=True)


def test_a_plane_of_pybullet_is_ground() -> None:
    text = """<robot name="r"><link name="g"><collision><origin xyz="0 0 1"/>
<geometry><plane normal="0 0 1"/></geometry></collision></link></robot>"""
    model = fw.loads(text, "urdf", strict=True)
    scene = fw.Scene()
    scene.add(model)
    ball = scene.add(fw.sphere(0.1), pose=(0, 0, 1.1))
    sim = fw.Simulator(scene, dt=0.002)
    state = sim.state()
    for _ in range(50):
        state = sim.step(state)
    assert abs(state.q[sim.scene.parts[ball.name].q][2] - 1.1) < 1e-4


def test_a_plane_that_moves_is_left_out() -> None:
    simulate(fw.loads(collision('<plane normal="0 1 1"/>'), "urdf"))
    with pytest.raises(fw.ModelImportError, match="its plane 'a_collision_0' would move"):
        fw.loads(collision('<plane normal="0 1 1"/>'), "urdf", strict=True)


@pytest.mark.parametrize(
    "visual",
    [
        "<visual/>",
        "<visual><geometry/></visual>",
        '<visual><geometry><box size="1 x 1"/></geometry></visual>',
        '<visual><geometry><sphere radius="-1"/></geometry></visual>',
        '<visual><origin xyz="0 0 nan"/><geometry><sphere radius="1"/></geometry></visual>',
    ],
)
def test_a_picture_never_stops_an_import(visual: str) -> None:
    model = fw.loads(on_a_hinge(BODY + visual), "urdf", strict=True)
    assert not model.link("a").geometries
    assert notes_about(model, "left out")[0].line == 3


def test_of_two_materials_the_first_counts() -> None:
    colours = {"m": "1 0 0 1", "n": "0 1 0 1"}.items()
    materials = "".join(f'<material name="{name}"><color rgba="{rgba}"/></material>' for name, rgba in colours)
    visual = f'<visual><geometry><box size="1 1 1"/></geometry>{materials}</visual>'
    model = fw.loads(on_a_hinge(BODY + visual), "urdf", strict=True)
    assert model.link("a").geometries[0].rgba == (1.0, 0.0, 0.0, 1.0)
    [note] = notes_about(model, "given twice")
    assert note.severity is Severity.PICTURE


@pytest.mark.parametrize(
    "scale, read", [("1 2 3 4", (1.0, 2.0, 3.0)), ("0.5", (0.5, 0.5, 0.5)), ("1, 2,3", (1.0, 2.0, 3.0))]
)
def test_scales_with_too_many_numbers_one_or_commas(scale: str, read: tuple[float, ...]) -> None:
    visual = f'<visual><geometry><mesh filename="m.stl" scale="{scale}"/></geometry></visual>'
    assert fw.loads(on_a_hinge(visual + BODY), "urdf", strict=True).link("a").geometries[0].size == read


# -- the rest --------------------------------------------------------------------------------------------------------


def test_of_two_elements_the_first_counts() -> None:
    text = on_a_hinge(inertial("1", "1 1 1") + inertial("2", "1 1 1"))
    assert fw.loads(text, "urdf").mass == 1.0
    with pytest.raises(fw.ModelImportError, match=":3: <inertial> of link 'a': is given twice: the first one counts"):
        fw.loads(text, "urdf", strict=True)
    assert fw.loads(on_a_hinge(BODY + BODY), "urdf", strict=True).mass == 1.0


@pytest.mark.parametrize(
    "limit, lower, upper, strict",
    [
        ('<limit effort="1" velocity="1"/>', -np.inf, np.inf, True),  # 0 to 0 by the letter: no tool does that
        ('<limit lower="-2" effort="1" velocity="1"/>', -2.0, 0.0, True),
        ('<limit upper="2" effort="1" velocity="1"/>', 0.0, 2.0, True),
        ('<limit lower="0" upper="0" effort="1" velocity="1"/>', 0.0, 0.0, True),
        ('<limit lower="1" upper="-1" effort="1" velocity="1"/>', -np.inf, np.inf, False),
        ('<limit lower="-1" upper="1" effort="-1" velocity="1"/>', -1.0, 1.0, False),
    ],
)
def test_limits_that_are_incomplete_or_swapped(limit: str, lower: float, upper: float, strict: bool) -> None:
    model = fw.loads(two_links(limit), "urdf")
    assert (model.lower[0], model.upper[0]) == (lower, upper)
    assert bool(model.import_report.not_honoured) is not strict
    simulate(model)


def test_joints_start_within_their_limits_and_followers_with_their_leaders() -> None:
    limit = '<limit lower="0.2" upper="2" effort="1" velocity="1"/>'
    follower = f"""<link name="b">{BODY}</link><joint name="k" type="continuous"><parent link="a"/><child link="b"/>
<axis xyz="0 0 1"/><mimic joint="j" multiplier="-2" offset="0.1"/><limit effort="1" velocity="1"/></joint>"""
    model = fw.loads(two_links(limit, rest=follower), "urdf")
    assert_close(model.q0, [0.2, -0.3])
    assert len(notes_about(model, "starts at")) == 2
    told = "<initial_joint_position>0.7</initial_joint_position>"
    model = fw.loads(two_links(limit, rest=f'{follower}<gazebo reference="j">{told}</gazebo>'), "urdf")
    assert_close(model.q0, [0.7, -1.3])


def test_ros2_control_says_where_joints_start() -> None:
    state = '<state_interface name="position"><param name="initial_value">0.4</param></state_interface>'
    control = f'<ros2_control name="c" type="system"><joint name="j">{state}</joint></ros2_control>'
    assert_close(fw.loads(two_links(LIMIT, rest=control), "urdf", strict=True).q0, [0.4])


@pytest.mark.parametrize("before", ["\n\n", " \t", "<!-- a --> <!-- > -->\n", "\ufeff\n"])
def test_a_declaration_that_comes_late(before: str) -> None:
    text = before + '<?xml version="1.0"\nencoding="utf-8"?>' + two_links("<nonsense/>")
    [note] = fw.loads(text, "urdf").import_report.not_honoured
    assert note.line == before.count("\n") + 5


def test_zero_bytes_behind_the_end() -> None:
    assert fw.loads(two_links(LIMIT) + "\n\0", "urdf", strict=True).nv == 1


def test_many_comments_before_a_declaration_take_no_time() -> None:
    with pytest.raises(fw.ModelImportError, match="malformed"):
        fw.loads("<!--a-->" * 20_000 + "<?xml", "urdf")


def test_a_density_is_that_of_the_collision_shapes() -> None:
    link = """<inertial><density value="500"/></inertial>
<collision><origin xyz="1 0 0"/><geometry><box size="1 1 1"/></geometry></collision>
<collision><origin xyz="-1 0 0"/><geometry><box size="1 1 1"/></geometry></collision>"""
    inertia = fw.loads(on_a_hinge(link), "urdf", strict=True).link("a").inertia
    assert inertia is not None
    assert_close(inertia.mass, 1000.0)
    assert_close(inertia.com, [0.0, 0.0, 0.0])
    sixth, both = 1000.0 / 6.0, 1000.0
    assert_close(inertia.matrix, np.diag([sixth, sixth + both, sixth + both]))
