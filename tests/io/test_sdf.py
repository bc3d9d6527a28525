"""SDF: the robot that the file describes, in whichever of its ways, with what is decided, reported and refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.forests import Forest, random_forest
from helpers.sdf_text import JOINTS_OF_SDF, Style, sdf_of
from helpers.urdf_text import notes_about

import featherweight as fw
from featherweight import Material, Severity, reference
from featherweight.arrays import Array
from featherweight.model import poses

DATA = Path(__file__).parents[1] / "data"
STYLES: tuple[Style, ...] = ("1.4", "1.6", "1.9", "1.9 relative")
BODY = """<inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"""


def link(name: str, content: str = "", pose: str = "") -> str:
    return f'<link name="{name}">{pose and f"<pose>{pose}</pose>"}{BODY}{content}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", content: str = "") -> str:
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{kind}">{ends}{content or "<axis><xyz>0 1 0</xyz></axis>"}</joint>'


def gearbox(driving: str, driven: str, reference: str, *axes: str, ratio: float = 4.0) -> str:
    ratio_and_body = (
        f"<gearbox_ratio>{ratio}</gearbox_ratio><gearbox_reference_body>{reference}</gearbox_reference_body>"
    )
    content = ratio_and_body + "".join(
        f"<{tag}><xyz>{xyz}</xyz></{tag}>" for tag, xyz in zip(("axis", "axis2")[: len(axes)], axes, strict=True)
    )
    return joint("gear", driving, driven, "gearbox", content)


def model(content: str, version: str = "1.9", attributes: str = "") -> str:
    return f'<sdf version="{version}"><model name="m"{attributes}>{content}</model></sdf>'


def loaded(content: str, **options: object) -> fw.Model:
    return fw.loads(model(content), "sdf", strict=True, **options)  # type: ignore[arg-type]


def place(of: fw.Model, name: str) -> Array:
    return place_at(of, of.q0, name)


def place_at(of: fw.Model, q: Array, name: str) -> Array:
    return np.asarray(reference.frame_placement(of.description, q, name))


# -- the same robot --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("seed", range(6))
def test_a_forest_written_as_sdf_has_the_same_dynamics(seed: int, style: Style) -> None:
    drawn = random_forest(seed, 10, joints=JOINTS_OF_SDF)
    plans = tuple(replace(plan, armature=False, massless=False) for plan in drawn.plans)
    original = fw.Model(Forest(plans, seed).description)
    read = fw.loads(sdf_of(original.description, style), "sdf")
    assert not read.import_report.not_honoured
    assert sorted(read.joint_names) == sorted(original.joint_names)
    rng = np.random.default_rng(seed)
    q, v = original.random(rng), rng.normal(size=original.nv)
    q_read, v_read, order = np.zeros(read.nq), np.zeros(read.nv), np.zeros(read.nv, dtype=int)
    for each in original.joints:
        other = read.joint(each.name)
        q_read[other.q_slice], v_read[other.v_slice] = q[each.q_slice], v[each.v_slice]
        order[other.v_slice] = range(each.v_slice.start, each.v_slice.stop)
    H = fw.crba(original, q)
    # poses are written as angles: their rounding is that of the numbers, times the number of joints in a row
    assert_close(fw.crba(read, q_read), H[np.ix_(order, order)], 1e-11)
    read_at, original_at = fw.forward_kinematics(read, q_read), fw.forward_kinematics(original, q)
    for name in original.link_names:
        assert_close(read_at[read.link(name).index], original_at[original.link(name).index], 1e-11, what=name)


def test_features() -> None:
    hall = fw.load(DATA / "features.sdf", strict=True)
    assert hall.link_names == ("floor::slab", "arm::base", "arm::upper", "arm::tool::grip")
    assert hall.frame_names[4:] == ("dock", "arm::shoulder")
    turn = hall.joint("arm::turn")
    assert [float(x[0]) for x in (turn.lower, turn.upper, turn.effort_limit, turn.velocity_limit)] == [-1.5, 2.5, 30, 4]
    assert [float(x[0]) for x in (turn.damping, turn.friction, turn.stiffness, turn.rest_position)] == [
        0.4,
        0.1,
        3,
        0.2,
    ]
    assert_close(hall.gravity, [0.0, 0.0, -9.81])
    assert_close(place(hall, "arm::base"), poses.pose((1, 0, 0.6), rpy=(0, 0, 0.5)))
    assert_close(place(hall, "arm::tool::grip"), poses.pose((1, 0, 1.3), rpy=(0, 0, 0.5)))
    [ground], [hull, look] = hall.link("floor::slab").geometries, hall.link("arm::base").geometries
    assert (ground.shape, ground.material) == ("plane", Material(friction=0.8))
    assert (hull.shape, hull.size, look.rgba) == ("box", (0.2, 0.2, 0.2), (1.0, 0.0, 0.0, 1.0))
    assert_close(hull.placement[:3, 3], [0.0, 0.0, 0.1])


# -- where things are ------------------------------------------------------------------------------------------------


def test_a_free_model_starts_where_the_file_puts_it() -> None:
    ball = loaded("<pose>1 2 3 0 0 1</pose>" + link("a", pose="0 0 1 0 0 0"))
    assert ball.joint_names == ("root_joint",)
    assert_close(ball.q0, [1, 2, 4, 0, 0, np.sin(0.5), np.cos(0.5)])


def test_poses_relative_to_frames_and_frames_attached_to_frames() -> None:
    robot = loaded(
        link("a", pose="0 0 1 0 0 0")
        + '<frame name="f" attached_to="a"><pose>1 0 0 0 0 1.5707963267948966</pose></frame>'
        + '<frame name="g" attached_to="f"><pose relative_to="a">0 5 0 0 0 0</pose></frame>'
        + f'<link name="b"><pose relative_to="f">2 0 0 0 0 0</pose>{BODY}</link>'
        + joint("j", "f", "b")
    )
    assert_close(place(robot, "b")[:3, 3], [1.0, 2.0, 1.0])
    assert_close(place(robot, "f")[:3, 3], [1.0, 0.0, 1.0])
    assert (robot.frame("g").link, robot.joint("j").parent) == ("a", "a")
    assert_close(robot.frame("g").placement[:3, 3], [0.0, 5.0, 0.0])


def test_a_placement_frame_is_what_the_pose_of_a_model_places() -> None:
    content = (
        "<pose>0 0 5 0 0 0</pose>"
        + link("a", pose="0 0 1 0 0 0")
        + '<frame name="foot"><pose>0 0 -2 0 0 0</pose></frame>'
    )
    robot = fw.loads(model(content, attributes=' placement_frame="foot"'), "sdf", strict=True)
    assert_close(place(robot, "foot")[:3, 3], [0.0, 0.0, 5.0])
    assert_close(place(robot, "a")[:3, 3], [0.0, 0.0, 8.0])


@pytest.mark.parametrize(
    "pose",
    [
        '<pose degrees="true">1 2 3 0 0 90</pose>',
        f'<pose rotation_format="quat_xyzw">1 2 3 0 0 {0.5**0.5!r} {0.5**0.5!r}</pose>',
        f"<pose>1 2 3 0 0 {np.pi / 2!r}</pose>",
    ],
)
def test_ways_to_write_a_rotation(pose: str) -> None:
    robot = loaded(f'<link name="a">{pose}{BODY}</link>')
    assert_close(place(robot, "a"), poses.pose((1, 2, 3), rpy=(0, 0, np.pi / 2)))


def test_nested_models_have_names_of_their_own() -> None:
    inner = f'<model name="in"><pose>0 0 1 0 0 0</pose>{link("a", pose="0 1 0 0 0 0")}</model>'
    robot = loaded(link("a") + inner + joint("j", "a", "in::a"))
    assert robot.link_names == ("a", "in::a")
    assert_close(place(robot, "in::a")[:3, 3], [0.0, 1.0, 1.0])


def test_joints_act_where_their_pose_is() -> None:
    content = link("a") + link("b", pose="0 0 2 0 0 0")
    content += joint("j", "a", "b", content="<pose>0 0 -2 0 0 0</pose><axis><xyz>0 1 0</xyz></axis>")
    robot = loaded(content)
    q = robot.q0.copy()
    q[-1] = np.pi / 2
    assert_close(reference.frame_placement(robot.description, q, "b")[:3, 3], [2.0, 0.0, 0.0])


def test_initial_positions() -> None:
    content = (
        link("a")
        + link("b")
        + joint("j", "world", "a", content="<axis><xyz>0 1 0</xyz><initial_position>0.3</initial_position></axis>")
    )
    robot = fw.loads(model(content + joint("k", "a", "b"), "1.6"), "sdf", strict=True)
    assert_close(robot.q0, [0.3, 0.0])


# -- trees and loops -------------------------------------------------------------------------------------------------


def test_joints_to_the_world_hold_a_model() -> None:
    content = link("a", pose="0 0 1 0 0 0") + joint("hold", "world", "a", "fixed")
    fixed, free = loaded(content), loaded(content, floating_base=True)
    assert (fixed.nv, free.nv) == (0, 6)
    assert_close(free.q0, [0, 0, 1, 0, 0, 0, 1])
    with pytest.raises(fw.ModelImportError, match="floating_base needs a link"):
        loaded(content.replace('"fixed"', '"revolute"'), floating_base=True)


def test_a_joint_that_leads_towards_the_root_is_turned_around() -> None:
    content = link("a") + link("b", pose="0 0 1 0 0 0") + joint("hold", "world", "a", "fixed")
    turn = '<pose relative_to="a">0 0 0.4 0 0 0</pose><axis><xyz expressed_in="__model__">0 1 0.5</xyz></axis>'
    usual, turned = (loaded(content + joint("j", *ends, content=turn)) for ends in (("a", "b"), ("b", "a")))
    assert notes_about(turned, "turned around")
    q, v, tau = np.array([0.7]), np.array([0.3]), np.array([0.2])
    # from b to a, the joint turns a against b
    assert_close(fw.aba(turned, q, v, tau), fw.aba(usual, -q, -v, -tau) * -1.0)
    assert_close(place(turned, "b"), place(usual, "b"))


BARS = (
    link("one", pose="0 0 0 0 0 0")
    + link("two", pose="1 0 0 0 0 0")
    + link("bar", pose="0 0 -1 0 0 0")
    + joint("left", "world", "one")
    + joint("right", "world", "two")
    + joint("first", "one", "bar")
    + joint("last", "two", "bar", content='<pose relative_to="two">0 0 -1 0 0 0</pose><axis><xyz>0 1 0</xyz></axis>')
)


def test_a_loop_is_cut_and_closed() -> None:
    """A bar on two parallel cranks of equal length never tilts."""
    robot = fw.loads(model(BARS), "sdf", strict=True)
    [closure] = robot.description.closures
    assert (closure.name, robot.nv) == ("last", 3)
    assert "closes a loop" in notes_about(robot, "joint 'last'")[0].message
    order = [robot.joint_names.index(name) for name in ("left", "right", "first")]
    q = robot.q0.copy()
    q[order] = 0.5, 0.5, -0.5
    scene = fw.Scene()
    scene.add(robot, q=q)
    sim = fw.Simulator(scene, dt=0.001)
    state = sim.state()
    for _ in range(300):
        state = sim.step(state)
    left, right, first = state.q[order]
    assert abs(left - 0.5) > 0.05  # it swings
    assert max(abs(left - right), abs(left + first)) < 1e-4  # a position error that the step corrects
    assert not np.any(state.failed)


def test_loops_are_cut_where_least_is_lost() -> None:
    spring = "<axis><xyz>0 1 0</xyz><dynamics><spring_stiffness>5</spring_stiffness></dynamics></axis>"
    pose = '<pose relative_to="two">0 0 -1 0 0 0</pose>'
    sprung = BARS.replace(f"{pose}<axis><xyz>0 1 0</xyz></axis>", pose + spring)
    assert sprung != BARS
    robot = fw.loads(model(sprung), "sdf", strict=True)
    assert robot.joint("last").stiffness == 5.0
    assert len(robot.description.closures) == 1
    every = sprung.replace("<axis><xyz>0 1 0</xyz></axis>", spring)
    with pytest.raises(fw.ModelImportError, match="closes a loop: a closure, which acts in scenes; its stiffness"):
        fw.loads(model(every), "sdf", strict=True)


@pytest.mark.parametrize("kind", ["fixed", "ball", "prismatic", "universal", "screw"])
def test_every_kind_of_joint_can_close_a_loop(kind: str) -> None:
    last = BARS.index('<joint name="last"')
    bars = BARS[:last] + BARS[last:].replace('type="revolute"', f'type="{kind}"')
    bars = (
        bars.replace("</axis></joint>", "</axis><axis2><xyz>1 0 0</xyz></axis2></joint>")
        if kind == "universal"
        else bars
    )
    robot = fw.loads(model(bars), "sdf")
    assert len(robot.description.closures) == 1
    exact = kind not in ("universal", "screw") or robot.description.closures[0].name != "last"
    assert bool(robot.import_report.not_honoured) is not exact
    scene = fw.Scene()
    scene.add(robot)
    sim = fw.Simulator(scene, dt=0.001)
    state = sim.state()
    for _ in range(50):
        state = sim.step(state)
    assert not np.any(state.failed)


# -- worlds ----------------------------------------------------------------------------------------------------------

SHAPE = '<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry>{}</collision>'


def test_a_world_of_models() -> None:
    plane = '<collision name="c"><geometry><plane/></geometry></collision>'
    ground = f'<model name="g"><static>1</static><link name="l">{plane}</link></model>'
    balls = "".join(
        f'<model name="{n}"><pose>{n} 0 0.1 0 0 0</pose>{link("l", SHAPE.format(""))}</model>' for n in "123"
    )
    physics = '<physics type="ode"><gravity>0 0 -3.7</gravity></physics>'
    text = f'<sdf version="1.6"><world name="w">{physics}{ground}{balls}</world></sdf>'
    world = fw.loads(text, "sdf", strict=True)
    assert world.joint_names == tuple(f"{n}::l_root_joint" for n in "123")
    assert_close(world.gravity, [0.0, 0.0, -3.7])
    scene = fw.Scene(gravity=world.gravity)
    scene.add(world, name="w")
    sim = fw.Simulator(scene, dt=0.002)
    state = sim.state()
    for _ in range(100):
        state = sim.step(state)
    assert_close(
        state.q.reshape(3, 7)[:, :3], [[1, 0, 0.1], [2, 0, 0.1], [3, 0, 0.1]], 1e-4
    )  # at rest where they start


def test_static_models_do_not_move() -> None:
    content = "<static>true</static>" + link("a") + link("b", pose="0 0 2 0 0 0") + joint("j", "a", "b")
    robot = loaded(content)
    assert robot.nv == 0
    assert_close(place(robot, "b")[:3, 3], [0.0, 0.0, 2.0])
    assert notes_about(robot, "does not move")


def test_links_of_a_model_touch_each_other_only_if_it_says_so() -> None:
    links = "".join(link(name, SHAPE.format("")) for name in "abc")
    joints = joint("j", "a", "b") + joint("k", "b", "c")
    assert len(loaded(links + joints).description.excludes) == 3
    assert not loaded("<self_collide>1</self_collide>" + links + joints).description.excludes
    alone = links.replace('<link name="c">', '<link name="c"><self_collide>0</self_collide>')
    assert set(loaded("<self_collide>1</self_collide>" + alone + joints).description.excludes) == {
        ("a", "c"),
        ("b", "c"),
    }


@pytest.mark.parametrize(
    "surface, expected",
    [
        ("<friction><ode><mu>0.5</mu><mu2>0.5</mu2></ode></friction>", Material(friction=0.5)),
        ("<friction><bullet><friction>0.4</friction></bullet></friction>", Material(friction=0.4)),
        (
            "<bounce><restitution_coefficient>0.6</restitution_coefficient><threshold>0</threshold></bounce>",
            Material(restitution=0.6),
        ),
        ("<bounce><restitution_coefficient>0.6</restitution_coefficient></bounce>", None),  # from 100 km/s on
        ("<contact><ode><kp>1e6</kp><kd>100</kd></ode></contact>", Material(stiffness=1e6, damping=100.0)),
        (
            "<friction><torsional><coefficient>2</coefficient><patch_radius>0.1</patch_radius></torsional></friction>",
            Material(torsional=3 * np.pi / 16 * 0.2),
        ),
    ],
)
def test_surfaces(surface: str, expected: Material | None) -> None:
    shape = loaded(link("a", SHAPE.format(f"<surface>{surface}</surface>"))).link("a").geometries[0]
    assert shape.material == expected


def test_bits_of_contact() -> None:
    bits = "<collide_bitmask>6</collide_bitmask><category_bitmask>8</category_bitmask>"
    surface = f"<surface><contact>{bits}</contact></surface>"
    shape = loaded(link("a", SHAPE.format(surface))).link("a").geometries[0]
    assert (shape.contype, shape.conaffinity) == (8, 6)


SHAPES = {
    "<box><size>1 2 3</size></box>": ("box", (1.0, 2.0, 3.0)),
    "<sphere><radius>2</radius></sphere>": ("sphere", (2.0,)),
    "<cylinder><radius>1</radius><length>2</length></cylinder>": ("cylinder", (1.0, 2.0)),
    "<capsule><radius>1</radius><length>2</length></capsule>": ("capsule", (1.0, 2.0)),
    "<ellipsoid><radii>1 2 3</radii></ellipsoid>": ("ellipsoid", (1.0, 2.0, 3.0)),
}


@pytest.mark.parametrize("text", SHAPES)
def test_shapes(text: str) -> None:
    content = f'<collision name="c"><geometry>{text}</geometry></collision>'
    [shape] = loaded(link("a", content)).link("a").geometries
    assert (shape.shape, shape.size) == SHAPES[text]


@pytest.mark.parametrize(
    "text, left",
    [
        ("<cone><radius>1</radius><length>2</length></cone>", "convex"),
        (
            "<polyline><point>0 0</point><point>1 0</point><point>0 1</point><height>2</height></polyline>",
            "convex",
        ),
        ("<heightmap><uri>a.png</uri></heightmap>", None),
        ("<box><size>1 1 0</size></box>", None),
        ("<mesh><uri>model://nobody/m.stl</uri></mesh>", None),
    ],
)
def test_shapes_that_are_not_the_files(text: str, left: str | None) -> None:
    content = link("a", f'<collision name="c"><geometry>{text}</geometry></collision>')
    shapes = fw.loads(model(content), "sdf").link("a").geometries
    assert [shape.shape for shape in shapes] == ([left] if left else [])
    with pytest.raises(fw.ModelImportError, match="collision 'c' of link 'a'"):
        loaded(content)


def test_inertia_by_default_and_by_shapes() -> None:
    bare = loaded('<link name="a"/>').link("a").inertia
    assert bare is not None
    assert bare.mass == 1.0
    assert_close(bare.matrix, np.eye(3))
    cube = "<geometry><box><size>1 1 1</size></box></geometry>"
    box = f'<collision name="c"><pose>0 0 1 0 0 0</pose><density>500</density>{cube}</collision>'
    auto = loaded(f'<link name="a"><inertial auto="true"/>{box}</link>').link("a").inertia
    assert auto is not None
    assert auto.mass == pytest.approx(500.0)
    assert_close(auto.com, [0.0, 0.0, 1.0])
    assert_close(auto.matrix, 500.0 / 6.0 * np.eye(3))


def test_limits_far_away_are_none() -> None:
    limit = "<limit><lower>-1e16</lower><upper>1e16</upper><effort>-1</effort><velocity>-1</velocity></limit>"
    robot = loaded(link("a") + joint("j", "world", "a", content=f"<axis><xyz>0 0 1</xyz>{limit}</axis>"))
    assert (robot.lower[0], robot.upper[0], robot.effort_limit[0]) == (-np.inf, np.inf, np.inf)


def test_universal_joints_have_numbers_for_each_axis() -> None:
    first = "<axis><xyz>1 0 0</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>"
    second = "<axis2><xyz>0 0 1</xyz><dynamics><damping>2</damping></dynamics></axis2>"
    robot = loaded(link("a") + joint("j", "world", "a", "revolute2", first + second))
    assert robot.lower.tolist() == [-1.0, -np.inf]
    assert robot.damping.tolist() == [0.0, 2.0]


# -- included files --------------------------------------------------------------------------------------------------


def write_model(folder: Path, content: str, name: str = "model.sdf") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content)


def test_included_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(tmp_path / "store" / "ball", model("<pose>0 0 9 0 0 0</pose>" + link("l")), "ball-1.sdf")
    config = "<model><sdf version='1.4'>old.sdf</sdf><sdf version='1.9'>ball-1.sdf</sdf></model>"
    write_model(tmp_path / "store" / "ball", config, "model.config")
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(tmp_path / "store"))
    include = "<include><uri>model://ball</uri>{}</include>"
    world = include.format("") + include.format("<name>other</name><pose>1 0 0 0 0 0</pose><static>1</static>")
    text = f'<sdf version="1.9"><world name="w">{world}</world></sdf>'
    both = fw.loads(text, "sdf", strict=True)
    assert both.link_names == ("other::l", "m::l") or both.link_names == ("m::l", "other::l")
    assert both.nv == 6
    assert_close(place(both, "m::l")[:3, 3], [0.0, 0.0, 9.0])
    assert_close(place(both, "other::l")[:3, 3], [1.0, 0.0, 0.0])


def test_an_included_file_has_its_own_lines_and_version(tmp_path: Path) -> None:
    turned = '<link name="a"><pose>0 0 0 0 0 1.5707963267948966</pose>' + BODY + "</link>"
    write_model(
        tmp_path,
        model(turned + joint("j", "world", "a", content="<axis><xyz>0 1 0</xyz></axis>\n<odd/>"), "1.4"),
        "old.sdf",
    )
    write_model(
        tmp_path,
        '<sdf version="1.9">\n<model name="top">\n<include><uri>old.sdf</uri></include></model></sdf>',
        "top.sdf",
    )
    robot = fw.load(tmp_path / "top.sdf")
    [note] = robot.import_report.not_honoured
    assert note.line == 3
    assert "old.sdf:2: <odd> is left out" in note.message
    axis = robot.joint("m::j").axis
    assert axis is not None
    assert_close(axis, [1.0, 0.0, 0.0])  # given in the model, as before version 1.5


def test_files_that_include_themselves_are_refused(tmp_path: Path) -> None:
    write_model(tmp_path, model("<include><uri>loop.sdf</uri></include>" + link("a")), "loop.sdf")
    with pytest.raises(fw.ModelImportError, match="include each other more than"):
        fw.load(tmp_path / "loop.sdf")


def test_the_ground_and_the_sun_of_gazebo_need_no_gazebo() -> None:
    usual = "".join(f"<include><uri>model://{name}</uri></include>" for name in ("sun", "ground_plane"))
    ball = f'<model name="ball"><pose>0 0 0.1 0 0 0</pose>{link("l", SHAPE.format(""))}</model>'
    world = fw.loads(f'<sdf version="1.6"><world name="w">{usual}{ball}</world></sdf>', "sdf", strict=True)
    assert world.link("ground_plane::link").geometries[0].shape == "plane"
    sim = fw.Simulator(world, dt=0.002)
    state = sim.state()
    for _ in range(50):
        state = sim.step(state)
    assert abs(state.q[2] - 0.1) < 1e-4


def test_what_is_not_there_is_left_out() -> None:
    content = link("a") + "<include><uri>https://fuel/ball</uri></include>"
    assert fw.loads(model(content), "sdf").link_names == ("a",)
    with pytest.raises(fw.ModelImportError, match="include 'https://fuel/ball': not found"):
        loaded(content)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_gearbox_turns_links_by_angles_in_a_ratio(sign: int) -> None:
    """As seen from the reference body, in whichever direction its joints lead, and whichever way their axes point."""
    content = link("box") + link("motor") + link("arm")
    content += joint("spins", "box", "motor") + joint("swings", "arm", "box")  # which is turned around
    content += gearbox("motor", "arm", "box", "0 1 0", f"0 {sign} 0")
    robot = fw.loads(model(content), "sdf", strict=True)
    sim = fw.Simulator(robot, dt=1e-3)
    state, tau = sim.state(), np.zeros(robot.nv)
    tau[robot.joint("spins").v_slice] = 1.0
    for _ in range(100):
        state = sim.step(state, tau)

    def angle(of: str) -> float:
        """About y of the box."""
        R = (np.linalg.inv(place_at(robot, state.q, "box")) @ place_at(robot, state.q, of))[:3, :3]
        return float(np.arctan2(R[0, 2], R[0, 0]))

    assert abs(angle("motor")) > 1e-3
    assert_close(sign * angle("arm"), -4.0 * angle("motor"), 1e-12)


# -- what is reported and refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        link("a", "<kinematic>true</kinematic>"),
        link("a", "<velocity_decay><linear>0.1</linear></velocity_decay>"),
        link("a") + link("b") + gearbox("a", "b", "world"),  # without hinges to couple
        link("a", "<mystery/>"),
    ],
)
def test_physics_that_are_not_honoured_change_the_motion(content: str) -> None:
    assert fw.loads(model(content), "sdf").import_report.not_honoured
    with pytest.raises(fw.ModelImportError, match="strict"):
        loaded(content)


def test_pictures_never_stop_an_import() -> None:
    visual = '<visual name="v"><geometry><box><size>x</size></box></geometry><meta/></visual>'
    robot = loaded(link("a", visual) + '<plugin name="p"/><sensor name="s"/>')
    assert robot.import_report.changing(Severity.PICTURE)


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("<robot/>", "must have <sdf>"),
        ('<sdf version="1.9"/>', "holds no links"),
        (model(link("a") + link("a")), "used twice"),
        (model(link("a") + joint("j", "a", "nobody")), "no link, joint, frame or model 'nobody'"),
        (model(link("a") + joint("j", "world", "a", "wobble")), "unknown type 'wobble'"),
        (model(link("a") + '<frame name="f"><pose relative_to="f">0 0 0 0 0 0</pose></frame>'), "relative to itself"),
        (model(link("a") + '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'), "itself"),
        (model(link("a", pose="0 0 0")), "6 numbers"),
        (model(link("a").replace("<mass>1", "<mass>-1")), "mass must not be negative"),
        (model(link("a") + joint("j", "world", "a", content="<axis><xyz>0 0 0</xyz></axis>")), "axis is zero"),
        (model('<link name="a"><pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose></link>'), "length zero"),
        (
            model(
                link("a")
                + "".join(f'<frame name="f{k}" attached_to="f{k + 1}"/>' for k in range(3000))
                + '<frame name="f3000"/>'
            ),
            "too many",
        ),
    ],
)
def test_malformed_files_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(fw.ModelImportError, match=complaint) as caught:
        fw.loads(text, "sdf")
    assert caught.value.line is None or caught.value.line >= 1


def test_two_models_of_one_name() -> None:
    text = f'<sdf version="1.6">{2 * f"""<model name="m">{link("l")}</model>"""}</sdf>'
    assert fw.loads(text, "sdf", strict=True).link_names == ("m::l", "m_2::l")


def test_a_recorded_state_that_is_another_one_is_not_honoured() -> None:
    state = '<state world_name="w"><model name="m"><pose>0 0 {} 0 0 0</pose></model></state>'
    text = '<sdf version="1.6"><world name="w"><model name="m">' + link("l") + "</model>{}</world></sdf>"
    fw.loads(text.format(state.format(0)), "sdf", strict=True)
    with pytest.raises(fw.ModelImportError, match="recorded state"):
        fw.loads(text.format(state.format(1)), "sdf", strict=True)


INERTIAL = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"


@pytest.mark.parametrize("kind", ["link", "frame", "joint"])
def test_names_that_are_reserved(kind: str) -> None:
    """As the parent of a joint "world" is what does not move, whatever is called so; names like __model__ raise."""
    ends = "<parent>world</parent><child>base</child>"
    more = {
        "link": f"<link name='{{}}'>{INERTIAL}</link><joint name='j' type='fixed'>{ends}</joint>",
        "frame": f"<frame name='{{}}'/><joint name='j' type='fixed'>{ends}</joint>",
        "joint": f"<joint name='{{}}' type='fixed'>{ends}</joint>",
    }[kind]
    text = f"<sdf version='1.6'><model name='world'><link name='base'>{INERTIAL}</link>{more}</model></sdf>"
    model = fw.loads(text.format("world"), "sdf")
    assert next(joint for joint in model.description.joints if joint.child == "base").type == "fixed"
    said = [note.message for note in model.import_report if "reserved" in note.message]
    assert said == (["is called world_link: the name is reserved"] if kind == "link" else [])
    assert fw.Simulator(model).nu == 0  # a scene has room for a model of that name
    for name in ("__model__", "__root__", "__any__"):
        with pytest.raises(fw.ModelImportError, match=f"the name '{name}' is reserved"):
            fw.loads(text.format(name), "sdf")
