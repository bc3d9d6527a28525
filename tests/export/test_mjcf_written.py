"""What is written as MJCF is the same robot when MuJoCo, or we, read it."""

import warnings
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import featherweight as fw
from featherweight.export.mjcf_bodies import UNLIMITED
from featherweight.model.description import JointType

BUILT_IN = ["arm", "quadruped", "humanoid", "pendulum", "four_bar"]


def same_motion(model: fw.Model, again: fw.Model, samples: int = 3) -> None:
    assert (again.nq, again.nv) == (model.nq, model.nv)
    for seed in range(samples):
        rng = np.random.default_rng(seed)
        q, v = model.random(rng), rng.standard_normal(model.nv)
        for ours, theirs in (
            (fw.crba(model, q), fw.crba(again, q)),
            (fw.bias_forces(model, q, v), fw.bias_forces(again, q, v)),
        ):
            np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12 * max(np.abs(ours).max(), 1.0))
    np.testing.assert_allclose(again.q0, model.q0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*only the rows x, z")  # of a plane loop
@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_robots_come_back(name: str) -> None:
    model = getattr(fw.models, name)()
    again = fw.loads(fw.to_mjcf(model), "mjcf")
    same_motion(model, again)
    for limits in ("lower", "upper"):
        np.testing.assert_array_equal(getattr(again, limits), getattr(model, limits))
    assert set(model.link_names) <= set(again.link_names)


@pytest.mark.parametrize("seed", range(8))
def test_trees_of_all_joints_come_back(seed: int) -> None:
    """Universal and planar joints come back as their axes, in the same order of coordinates."""
    types: list[JointType] = ["revolute", "continuous", "prismatic", "universal", "planar"]
    model = fw.models.random_tree(seed, 8, types=types)
    again = fw.loads(fw.to_mjcf(model), "mjcf")
    same_motion(model, again)


def test_axes_that_start_turned_come_back() -> None:
    builder = fw.ModelBuilder()
    for name in ("a", "b"):
        builder.link(name, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.15))
    at = fw.pose((0, 0.1, 1), rpy=(0.3, 0.2, 0.1))
    builder.joint("plane", "planar", "world", "a", placement=at, child_placement=at, start=[0.1, 0.2, 0.7])
    builder.joint("cross", "universal", "a", "b", axis="x", axis2="y", placement=at, start=[0.4, -0.6])
    model = builder.build()
    same_motion(model, fw.loads(fw.to_mjcf(model, strict=True), "mjcf"))


def test_balls_come_back() -> None:
    builder = fw.ModelBuilder().link("a", mass=1.0, com=(0, 0, 0.3), inertia=(0.1, 0.2, 0.15))
    builder.joint("j", "spherical", "world", "a", placement=(0, 0, 1), child_placement=(0.1, 0, 0), armature=[0.2] * 3)
    model = builder.build()
    same_motion(model, fw.loads(fw.to_mjcf(model, strict=True), "mjcf"))


def test_mujoco_has_the_same_mass_matrix() -> None:
    model = fw.models.quadruped()
    m = mujoco.MjModel.from_xml_string(fw.to_mjcf(model))
    data = mujoco.MjData(m)
    q = model.random(np.random.default_rng(1))
    data.qpos = fw.convert.to_mujoco(model, q)
    mujoco.mj_forward(m, data)
    full = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, full, data.qM) if hasattr(data, "qM") else mujoco.mj_fullM(m, data, full)
    axes = np.eye(model.nv)
    axes[:3, :3] = fw.frame_placement(model, q, "trunk")[:3, :3]  # MuJoCo's free joints travel along the world's
    np.testing.assert_allclose(axes.T @ full @ axes, fw.crba(model, q), atol=1e-10)


def everything() -> fw.Model:
    """A robot with all that has a word in MJCF."""
    builder = fw.ModelBuilder("all", gravity=(0, 0, -3), medium=fw.Medium(density=1.2, wind=(1, 0, 0)))
    builder.solid("base", "box", (0.2, 0.2, 0.2), mass=2.0)
    builder.link("upper arm", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.15), gravity_compensation=0.5)
    builder.link("lower", mass=0.5, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.15))
    builder.link("finger", mass=0.1, inertia=(0.01, 0.02, 0.015))
    builder.joint("fixed", "fixed", "world", "base")
    builder.joint(
        "shoulder", "revolute", "base", "upper arm", axis=(0, 0.6, 0.8), placement=fw.pose((0, 0, 0.3), rpy=(1, 2, 3)),
        lower=-1.0, upper=2.0, effort_limit=7.0, damping=0.1, friction=0.2, armature=0.3, start=[0.4],
    )  # fmt: skip
    builder.joint(
        "elbow", "prismatic", "upper arm", "lower", axis="y", placement=(0.3, 0, 0), lower=-0.5, upper=np.inf,
        stiffness=3.0, rest_position=0.1, start=[-0.2],
    )  # fmt: skip
    builder.joint("knuckle", "continuous", "lower", "finger", axis="x", placement=(0.2, 0, 0))
    builder.frame("tool", "finger", (0.1, 0, 0))
    builder.actuator("m", "shoulder", gear=2.0, ctrl_range=(-1, 1), force_range=(-3, 4))
    builder.actuator("p", "elbow", kind="position", kp=30.0, kd=2.0)
    builder.actuator("v", "knuckle", kind="velocity", kp=0.0, kd=2.0, activation=fw.Activation("filter", (0.1,)))
    builder.actuator("g", "knuckle", kind="general", kp=2.0, bias=(1.0, -2.0, -0.5), slopes=(0.1, 0.2))
    builder.actuator("both", "shoulder", others=[("knuckle", -0.5)])
    builder.actuator("jet", None, frame="tool", wrench=(0, 0, 1, 0, 0.1, 0))
    muscle = fw.Muscle(peak=10.0, slack=0.1, optimal=0.2)
    builder.actuator(
        "pull", "knuckle", kind="muscle", muscle=muscle, activation=fw.Activation("muscle", (0.01, 0.04, 0))
    )
    builder.tendon("belt", {"shoulder": 1.0, "knuckle": -0.5}, range=(-1, 1), stiffness=2.0, damping=0.1, friction=0.2)
    builder.couple("gear", "knuckle", "shoulder", [0.1, 2.0, 0.5])
    builder.sensor("gyro", "gyro", "tool").sensor("angle", "joint_position", "shoulder")
    builder.keyframe("home", q={"shoulder": [0.5]}, control={"m": 0.7})
    return builder.build()


def test_everything_with_a_word_comes_back() -> None:
    model = everything()
    again = fw.loads(fw.to_mjcf(model, strict=True), "mjcf")
    same_motion(model, again)
    ours, theirs = model.description, again.description
    assert theirs.medium == ours.medium
    np.testing.assert_array_equal(theirs.gravity, ours.gravity)
    for a, b in zip(ours.actuators, theirs.actuators, strict=True):
        assert (a.name, a.kind, a.ctrl_range, a.force_range, a.activation) == (
            (b.name, b.kind, b.ctrl_range, b.force_range, b.activation)
        )
        np.testing.assert_allclose(b.law, a.law)
        assert b.slopes == a.slopes and b.frame == a.frame and b.wrench == a.wrench
        assert dict(b.joints) == pytest.approx(dict(a.joints))
        if a.muscle is not None:
            assert vars(b.muscle) == pytest.approx(vars(a.muscle))
    for name in ("damping", "friction", "armature", "stiffness", "rest_position", "effort_limit", "lower", "upper"):
        np.testing.assert_allclose(getattr(again, name), getattr(model, name), err_msg=name)
    [belt] = [tendon for tendon in theirs.tendons if tendon.name == "belt"]
    assert vars(belt) | {"rest_range": None} == vars(ours.tendons[0])
    np.testing.assert_allclose(theirs.couplings[0].polynomial[:3], ours.couplings[0].polynomial, atol=1e-15)
    assert [(s.name, s.quantity, s.of) for s in theirs.sensors] == [(s.name, s.quantity, s.of) for s in ours.sensors]
    np.testing.assert_allclose(again.keyframe("home").q, model.keyframe("home").q)
    np.testing.assert_allclose(again.keyframe("home").control, model.keyframe("home").control)
    assert again.link("upper arm").description.gravity_compensation == 0.5
    assert theirs.frames[0].link == "finger"


def test_limits_on_one_side_stay_on_one_side() -> None:
    text = fw.to_mjcf(everything())
    m = mujoco.MjModel.from_xml_string(text)
    np.testing.assert_allclose(m.joint("elbow").range, (-0.5, UNLIMITED))


@pytest.mark.filterwarnings("ignore:.*velocity limit")
def test_scenes_touch_as_they_did() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.3))
    robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.5), self_collision=False)
    scene.add(fw.sphere(0.1, friction=0.2), name="ball", pose=(1, 0, 1))
    scene.add(fw.box((0.2, 0.3, 0.4)), name="crate", pose=(2, 0, 1))
    scene.add(fw.convex(np.vstack([np.eye(3), np.zeros(3)]), friction=0.5), name="wedge", pose=(3, 0, 1))
    scene.exclude("ball", "crate")
    scene.pair("ball", "ground", friction=0.7)
    scene.servo(robot, kp=40.0, kd=1.0)
    compiled = scene.compile()
    again = fw.loads(fw.to_mjcf(scene), "mjcf")
    other = fw.Scene()
    other.add(again, name="s")
    theirs = other.compile()
    laws = []
    for each in (compiled, theirs):
        table = each.pair_table()
        assert table is not None
        names = [shape.name.rpartition("/")[2] for shape in each.shapes]
        laws.append(
            sorted(
                (*sorted((names[i], names[j])), each.laws[k].friction)
                for i, j, k in zip(table.first, table.second, table.law, strict=True)
            )
        )
    assert laws[1] == laws[0]
    same_motion(compiled.model, again)
    assert len(again.description.actuators) == 12


@pytest.mark.parametrize(
    ("rows", "expected"),
    [("xyz", [3]), (("x", "y", "z", "rx", "ry", "rz"), [6]), (("x", "y", "z", "rx", "ry"), [3, 3])],
    ids=["point", "weld", "hinge"],
)
def test_closures_hold_the_same_frames(rows: tuple[str, ...], expected: list[int]) -> None:
    builder = fw.ModelBuilder.from_description(fw.models.four_bar(closed=False).description)
    X, Y = fw.pose((0.35, 0, 0.1), rpy=(0.3, 0.2, 0.1)), fw.pose((0.25, 0, 0), rpy=(0.1, 0, 0.5))
    model = builder.close("loop", "coupler", "rocker", placement=X, to_placement=Y, rows=tuple(rows)).build()
    theirs = fw.loads(fw.to_mjcf(model, strict=True), "mjcf").description.closures
    assert [len(each.rows) for each in theirs] == expected
    assert {(each.link, each.to) for each in theirs} == {("coupler", "rocker")}
    np.testing.assert_allclose(theirs[0].placement[:3, 3], X[:3, 3], atol=1e-15)
    np.testing.assert_allclose(theirs[0].to_placement[:3, 3], Y[:3, 3], atol=1e-15)
    for each in theirs[1:]:  # a second point of the axis of the hinge, which is the third one of the frames
        for point, frame in ((each.placement, X), (each.to_placement, Y)):
            along = point[:3, 3] - frame[:3, 3]
            np.testing.assert_allclose(along / np.linalg.norm(along), frame[:3, 2], atol=1e-12)
    if expected == [6]:
        np.testing.assert_allclose(theirs[0].placement, X, atol=1e-12)
        np.testing.assert_allclose(theirs[0].to_placement, Y, atol=1e-12)


def test_what_mujoco_has_no_words_for_is_told() -> None:
    builder = fw.ModelBuilder().link("a", mass=1.0, inertia=np.ones(3))
    builder.joint("j", "revolute", "world", "a", axis="z", lower=-1, upper=1, velocity_limit=2.0)
    model = builder.actuator("m", "j").build()
    with pytest.warns(UserWarning, match="velocity limit"):
        text = fw.to_mjcf(model)
    assert "Not in this file: joint 'j': the velocity limit" in text
    with pytest.raises(ValueError, match=r"velocity limit.*strict"):
        fw.to_mjcf(model, strict=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (fw.models.random_tree(0, 3, types=["helical"]), "no counterpart"),
        ("robot.urdf", "expected a Model or a Scene"),
    ],
)
def test_what_cannot_be_written_raises(content: fw.Model, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fw.to_mjcf(content)


@pytest.mark.parametrize("dt", [0.0, -1.0, np.nan, np.inf])
def test_steps_have_a_length(dt: float) -> None:
    with pytest.raises(ValueError, match="dt"):
        fw.to_mjcf(fw.models.arm(), dt=dt)


def test_height_fields_come_back() -> None:
    heights = np.random.default_rng(0).uniform(-1, 2, (4, 6))
    scene = fw.Scene(ground=fw.HeightField(heights, (3.0, 5.0), friction=0.5))
    scene.add(fw.sphere(0.1, friction=0.5), name="ball", pose=(0, 0, 3))
    again = fw.loads(fw.to_mjcf(scene), "mjcf")
    [field] = [g for link in again.description.links for g in link.geometries if g.shape == "heightfield"][:1]
    np.testing.assert_allclose(field.heights + field.placement[2, 3], heights, atol=1e-6)
    assert field.size == (3.0, 5.0)


def test_fixed_links_may_become_part_of_what_carries_them() -> None:
    model = fw.models.quadruped()
    fused = mujoco.MjModel.from_xml_string(fw.to_mjcf(model, fuse=True))
    plain = mujoco.MjModel.from_xml_string(fw.to_mjcf(model))
    assert (fused.nbody, plain.nbody) == (14, 1 + model.n_links)


def test_a_robot_is_converted_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from featherweight.cli.main import main

    xml, json = tmp_path / "robot.xml", tmp_path / "robot.json"
    assert main(["convert", "quadruped", str(xml)]) == 0
    assert main(["convert", str(xml), str(json), "--strict"]) == 0
    same_motion(fw.models.quadruped(), fw.load(json))
    assert "robot.json" in capsys.readouterr().out
    assert main(["convert", "quadruped", str(tmp_path / "robot.urdf")]) == 2
    assert "can write .xml, .mjcf and .json" in capsys.readouterr().err


def test_warnings_name_the_place_of_the_call() -> None:
    builder = fw.ModelBuilder().link("a", mass=1.0, inertia=np.ones(3))
    builder.joint("j", "continuous", "world", "a", axis="z", velocity_limit=2.0).actuator("m", "j")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fw.to_mjcf(builder.build())
    assert [each.filename for each in caught] == [__file__]


def test_pictures_without_size_are_not_written() -> None:
    """MuJoCo refuses them."""
    seen = '<visual name="{}"><geometry><sphere radius="{}"/></geometry></visual>'
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    link = f'<link name="b">{inertia}{seen.format("ball", 0.1)}{seen.format("nothing", 0)}</link>'
    hinge = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
    model = fw.loads(f'<robot name="r"><link name="a"/>{link}{hinge}</robot>', "urdf")
    m = mujoco.MjModel.from_xml_string(fw.to_mjcf(model, strict=True))
    assert [m.geom(k).name for k in range(m.ngeom)] == ["ball_visual"]


def odd(mass: float, moments: tuple[float, float, float], beside: float = 1.0) -> fw.Model:
    """A swinging bar, and fixed to it a link with an inertia that no body may have."""
    builder = fw.ModelBuilder(allow_nonphysical=True)
    builder.solid("bar", "box", (0.3, 0.1, 0.2), mass=beside)
    builder.link("odd", mass=mass, com=(0.1, 0.0, 0.02), inertia=moments)
    builder.joint("swing", "revolute", "world", "bar", axis=(1, 2, 3))
    at = fw.pose((0.1, 0.2, 0.3), rpy=(0.5, 0.6, 0.7))
    builder.joint("weld", "fixed", "bar", "odd", placement=at)
    return builder.build()


@pytest.mark.parametrize(
    "moments", [(1e-3, 1e-3, 5e-3), (-1e-4, 1e-3, 1e-3), (1e-4, 2e-4, 3e-4 * (1 + 1e-9)), (0, 0, 0)]
)
@pytest.mark.parametrize("mass", [0.0, 0.5])
def test_what_is_odd_in_a_link_is_a_body_with_what_is_fixed_to_it(moments: Any, mass: float) -> None:
    model = odd(mass, moments)
    same_motion(model, fw.loads(fw.to_mjcf(model, strict=True), "mjcf"))


def test_bodies_that_are_odd_are_written_as_the_nearest_that_is_not() -> None:
    model = odd(0.5, (1.0, 1.0, 5.0), beside=1e-3)
    with pytest.raises(ValueError, match="an inertia that no body has"):
        fw.to_mjcf(model, strict=True)
    with pytest.warns(UserWarning, match="an inertia that no body has"):
        m = mujoco.MjModel.from_xml_string(fw.to_mjcf(model))
    np.testing.assert_allclose(np.sort(m.body("odd").inertia), (2.5, 2.5, 5.0))


def test_flat_and_thin_inertias_come_back() -> None:
    """Moments whose sum is another one to rounding, and tiny ones."""
    for k in range(200):
        rng = np.random.default_rng(k)
        a, b = 10.0 ** rng.uniform(-13, 2, 2)
        R = fw.pose((0, 0, 0), rpy=rng.uniform(-3, 3, 3))[:3, :3]
        builder = fw.ModelBuilder()
        builder.link("plate", mass=1.0, com=(0, 0, 0.1), inertia=R @ np.diag((a, b, a + b)) @ R.T)
        builder.joint("ball", "spherical", "world", "plate")
        same_motion(builder.build(), fw.loads(fw.to_mjcf(builder.build(), strict=True), "mjcf"), samples=1)
