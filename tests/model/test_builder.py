"""ModelBuilder: what it builds, the order it gives, and everything it refuses, naming the culprit."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from helpers.compare import EPS, assert_close

import featherweight as fw
from featherweight import Geometry, Inertia, Mimic, ModelDescription, ModelError, solid_inertia
from featherweight.arrays import Array
from featherweight.model import poses
from featherweight.model.description import Frame, Joint, Link


def hinged(**options: Any) -> fw.ModelBuilder:
    """One link "a" on a hinge "j" about z."""
    builder = fw.ModelBuilder("m").link("a", mass=1.0, inertia=(1.0, 1.0, 1.0))
    return builder.joint("j", "revolute", "world", "a", **({"axis": "z"} | options))


def given(array: Array | None) -> Array:
    assert array is not None
    return array


# -- what it builds --------------------------------------------------------------------------------------------------


def test_joints_are_depth_first_in_the_order_they_were_added() -> None:
    builder = fw.ModelBuilder()
    for name in ("d", "c", "b", "a"):
        builder.link(name, mass=1.0, inertia=(1.0, 1.0, 1.0))
    for name, parent, child in (("1", "a", "b"), ("2", "a", "d"), ("0", "world", "a"), ("3", "b", "c")):
        builder.joint(name, "revolute", parent, child, axis="x")
    description = builder.describe()
    assert [joint.name for joint in description.joints] == ["0", "1", "3", "2"]
    assert [link.name for link in description.links] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("floating, kind", [(False, "fixed"), (True, "free")])
def test_the_link_without_a_joint_is_the_base(floating: bool, kind: str) -> None:
    builder = fw.ModelBuilder().link("base", mass=1.0, inertia=(1, 1, 1)).link("a", mass=1.0, inertia=(1, 1, 1))
    builder.joint("j", "revolute", "base", "a", axis="x")
    root = builder.describe(floating_base=floating).joints[0]
    assert (root.name, root.type, root.parent, root.child) == ("root_joint", kind, "world", "base")


def test_two_links_without_a_joint_are_refused() -> None:
    builder = fw.ModelBuilder().link("a").link("b")
    with pytest.raises(ModelError, match=r"link 'b': has no joint.*'a', 'b'"):
        builder.describe()


def test_floating_base_needs_a_base() -> None:
    with pytest.raises(ModelError, match="floating_base needs a base"):
        hinged().describe(floating_base=True)


def test_axes_are_normalised() -> None:
    assert_close(given(hinged(axis=(0, 3, 4)).describe().joints[0].axis), [0.0, 0.6, 0.8])
    assert_close(given(hinged(axis=(1e-200, 0, 0)).describe().joints[0].axis), [1.0, 0.0, 0.0])
    assert_close(given(hinged(axis=(1e200, 1e200, 0)).describe().joints[0].axis), [math.sqrt(0.5), math.sqrt(0.5), 0.0])


def test_numbers_spread_over_the_dofs() -> None:
    builder = fw.ModelBuilder().link("a", mass=1.0, inertia=(1, 1, 1))
    builder.joint("j", "free", "world", "a", damping=0.5, armature=[1, 2, 3, 4, 5, 6])
    joint = builder.describe().joints[0]
    assert_close(given(joint.damping), [0.5] * 6)
    assert_close(given(joint.armature), [1, 2, 3, 4, 5, 6])


def test_a_position_is_a_placement() -> None:
    assert_close(hinged(placement=(1, 2, 3)).describe().joints[0].placement, poses.pose((1, 2, 3)))


def test_rounded_rotations_are_made_orthonormal() -> None:
    X = poses.pose(rpy=(0.1, 0.2, 0.3)).round(8)
    R = hinged(placement=X).describe().joints[0].placement[:3, :3]
    assert np.abs(R @ R.T - np.eye(3)).max() < 16 * EPS
    assert_close(R, X[:3, :3], tolerance=1e-7)


def test_records_are_read_only_copies() -> None:
    com = np.array([0.0, 0.0, 1.0])
    builder = fw.ModelBuilder().link("a", mass=1.0, com=com)
    com[2] = 5.0
    inertia = builder.describe().links[0].inertia
    assert inertia is not None
    assert inertia.com[2] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        inertia.com[2] = 3.0


@pytest.mark.parametrize("model", [fw.models.chain, fw.models.tree])
def test_large_models_build_quickly(model: Any) -> None:
    start = time.process_time()
    assert model(1023).nv == 1023
    assert time.process_time() - start < 5.0


# -- solids ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, size, inside",
    [
        ("box", (0.4, 0.6, 1.0), lambda p: np.all(np.abs(p) <= np.array([0.2, 0.3, 0.5]), axis=-1)),
        ("sphere", (0.5,), lambda p: np.sum(p**2, axis=-1) <= 0.25),
        ("ellipsoid", (0.2, 0.3, 0.5), lambda p: np.sum((p / [0.2, 0.3, 0.5]) ** 2, axis=-1) <= 1.0),
        ("cylinder", (0.3, 1.0), lambda p: (np.hypot(p[..., 0], p[..., 1]) <= 0.3) & (np.abs(p[..., 2]) <= 0.5)),
        (
            "capsule",
            (0.2, 0.6),
            lambda p: (
                np.linalg.norm(p - [0, 0, 1] * np.clip(p[..., 2:], -0.3, 0.3), axis=-1)
                <= 0.2  # distance to the segment
            ),
        ),
    ],
)
def test_solid_inertia_is_the_integral_over_the_volume(shape: Any, size: Any, inside: Any) -> None:
    axis = np.linspace(-0.5, 0.5, 81)
    points = np.stack(np.meshgrid(axis, axis, axis), axis=-1)
    points = points[inside(points)]
    second = points.T @ points / len(points)
    expected = 3.0 * (np.trace(second) * np.eye(3) - second)
    assert_close(solid_inertia(shape, size, mass=3.0).matrix, expected, tolerance=0.01)


def test_solid_inertia_moves_with_its_placement() -> None:
    X = poses.pose((1, 2, 3), rpy=(0.4, 0.5, 0.6))
    still, moved = solid_inertia("box", (1, 2, 3), 2.0), solid_inertia("box", (1, 2, 3), 2.0, X)
    assert_close(moved.com, [1, 2, 3])
    assert_close(moved.matrix, X[:3, :3] @ still.matrix @ X[:3, :3].T)


def test_solid_links_have_their_shape() -> None:
    link = fw.ModelBuilder().solid("a", "capsule", (0.1, 0.4), mass=2.0, placement=(0, 0, 1)).describe().links[0]
    assert [(g.role, g.shape, g.size) for g in link.geometries] == [
        ("visual", "capsule", (0.1, 0.4)),
        ("collision", "capsule", (0.1, 0.4)),
    ]


# -- several models in one -------------------------------------------------------------------------------------------


def test_two_robots_and_a_box_make_a_forest() -> None:
    arm = fw.models.arm()
    builder = fw.ModelBuilder("cell")
    builder.add(arm, prefix="left/", placement=(0, 1, 0)).add(arm.description, prefix="right/", placement=(0, -1, 0))
    builder.add(fw.models.box())
    model = builder.build()
    assert (model.nq, model.nv) == (7 + 7 + 7, 7 + 7 + 6)
    assert_close(model.mass, 2 * arm.mass + 1.0)
    assert model.joint("right/joint_1").q_slice == slice(7, 8)
    assert_close(model.description.joints[0].placement, poses.pose((0, 1, 0)))


def test_a_gripper_on_a_flange() -> None:
    gripper = (
        fw.ModelBuilder("gripper").solid("palm", "box", (0.1, 0.1, 0.1), mass=0.3).frame("tcp", "palm", (0, 0, 0.1))
    )
    builder = fw.ModelBuilder("arm").add(fw.models.arm()).add(gripper.describe(), prefix="g_", parent="link_7")
    description = builder.describe()
    assert description.joints[-1].parent == "link_7"
    assert [frame.name for frame in description.frames] == ["flange", "g_tcp"]


def test_roots_are_freed_and_fixed() -> None:
    def types(model: fw.Model, floating: bool | None) -> list[str]:
        description = fw.ModelBuilder().add(model, floating=floating).describe()
        return [joint.type for joint in description.joints if joint.parent == "world"]

    assert types(fw.models.arm(), None) == ["fixed"]
    assert types(fw.models.arm(), True) == ["free"]
    assert types(fw.models.box(), False) == ["fixed"]
    with pytest.raises(ModelError, match=r"joint 'hinge'.*fixed or free root"):
        types(fw.models.pendulum(), True)


def test_mimics_keep_pointing_at_their_joint() -> None:
    builder = hinged().link("b", mass=1.0, inertia=(1, 1, 1))
    builder.joint("k", "revolute", "a", "b", axis="z", mimic=Mimic("j", 2.0))
    description = fw.ModelBuilder().add(builder.describe(), prefix="p_").describe()
    assert description.joints[1].mimic == Mimic("p_j", 2.0)


def test_a_different_gravity_is_noted() -> None:
    moon = fw.ModelBuilder("moon", gravity=(0, 0, -1.62)).link("a", mass=1.0)
    [note] = fw.ModelBuilder("earth").add(moon.describe()).describe().notes
    assert "-1.62" in note.message


def test_the_same_names_twice_are_refused() -> None:
    with pytest.raises(ModelError, match="link 'base': the name is used twice"):
        fw.ModelBuilder().add(fw.models.arm()).add(fw.models.arm())


# -- what it refuses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, complaint",
    [
        ({"mass": -1.0}, "mass must not be negative, got -1"),
        ({"mass": math.nan}, "mass must be finite"),
        ({"mass": "heavy"}, "mass must be one number, got 'heavy'"),
        ({"mass": [1.0, 2.0]}, "mass must be one number"),
        ({"mass": 1.0, "com": (0, 0)}, "com must be 3 numbers"),
        ({"mass": 1.0, "com": (0, 0, math.inf)}, "com must be finite"),
        ({"mass": 1.0, "inertia": (1, 1)}, "inertia must be 3x3 numbers"),
        ({"mass": 1.0, "inertia": [[1, 0, 0], [0.1, 1, 0], [0, 0, 1]]}, "symmetric"),
        ({"mass": 1.0, "inertia": (1, 1, -1)}, "not positive"),
        ({"mass": 1.0, "inertia": (1, 1, 3)}, "triangle inequality"),
        ({"mass": 1.0, "inertia": [[1, 2, 0], [2, 1, 0], [0, 0, 1]]}, "not positive"),
        ({"mass": 0.0, "inertia": (1, 1, 1)}, "mass is zero but the inertia is not"),
        ({"inertia": (1, 1, 1)}, "no mass"),
        ({"mass": 1.0, "inertia": Inertia(1.0, np.zeros(3), np.eye(3))}, "not both"),
        ({"geometries": ["box"]}, "must be Geometry records"),
        ({"geometries": [Geometry("g", "visual", "cone", (1,))]}, "unknown shape 'cone'"),  # type: ignore[arg-type]
        ({"geometries": [Geometry("g", "touch", "sphere", (1,))]}, "role"),  # type: ignore[arg-type]
        ({"geometries": [Geometry("g", "visual", "sphere", (1, 2))]}, "size must be 1 numbers"),
        ({"geometries": [Geometry("g", "visual", "sphere", (-1.0,))]}, "negative"),
        ({"geometries": [Geometry("g", "visual", "mesh", (1, 1, 1))]}, "a mesh needs a file"),
    ],
)
def test_bad_links_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ModelError, match=f"link 'a'.*{complaint}"):
        fw.ModelBuilder().link("a", **options)


def test_nonphysical_inertia_can_be_allowed_but_not_negative_mass() -> None:
    builder = fw.ModelBuilder(allow_nonphysical=True).link("a", mass=1.0, inertia=(1, 1, 3))
    [note] = builder.describe().notes
    assert (note.element, note.honoured) == ("link 'a'", False)
    with pytest.raises(ModelError, match="negative"):
        builder.link("b", mass=-1.0)


@pytest.mark.parametrize("moments", [(1e-300, 1e-300, 1e-300), (1e300, 1e300, 1e300), (0, 0, 0), (1, 1, 2.000001)])
def test_extreme_but_physical_inertias_pass(moments: tuple[float, float, float]) -> None:
    fw.ModelBuilder().link("a", mass=1.0, inertia=moments)


@pytest.mark.parametrize(
    "options, complaint",
    [
        ({"axis": (0, 0, 0)}, "axis is zero"),
        ({"axis": (0, 0, math.nan)}, "axis must be finite"),
        ({"axis": (0, 1)}, "axis must be 3 numbers"),
        ({"axis": "w"}, "axis must be"),
        ({"axis": None}, "axis is needed"),
        ({"axis2": "x"}, "has no axis2"),
        ({"pitch": 0.1}, "pitch belongs to helical"),
        ({"lower": 1.0, "upper": 0.0}, "lower limit 1 is above the upper limit 0"),
        ({"lower": math.nan}, "lower must be finite"),
        ({"lower": math.inf}, "leaves no range"),
        ({"lower": [0.0, 1.0]}, "lower must be one number or 1"),
        ({"damping": -0.1}, "damping must not be negative"),
        ({"damping": math.inf}, "damping must be finite"),
        ({"stiffness": -1.0}, "stiffness must not be negative"),
        ({"stiffness": math.nan}, "stiffness must be"),
        ({"stiffness": math.inf}, "stiffness must be finite"),
        ({"rest_position": math.inf}, "rest_position must be finite"),
        ({"rest_position": math.nan}, "rest_position must be"),
        ({"friction": -0.1}, "friction must not be negative"),
        ({"armature": -0.1}, "armature must not be negative"),
        ({"armature": [1.0, 2.0]}, "armature must be one number or 1"),
        ({"effort_limit": -1.0}, "effort_limit must not be negative"),
        ({"velocity_limit": math.nan}, "velocity_limit must be finite"),
        ({"placement": np.ones((4, 4))}, "last row"),
        ({"placement": np.diag([1.0, 1.0, -1.0, 1.0])}, "rotation matrix"),
        ({"placement": np.diag([2.0, 1.0, 1.0, 1.0])}, "rotation matrix"),
        ({"placement": (1, 2)}, "placement must be a 4x4 pose or 3 numbers"),
        ({"placement": np.full((4, 4), math.nan)}, "placement must be finite"),
        ({"mimic": Mimic("j", math.nan)}, "mimic multiplier must be finite"),
    ],
)
def test_bad_joints_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ModelError, match=f"joint 'j'.*{complaint}"):
        hinged(**options)


@pytest.mark.parametrize(
    "kind, options, complaint",
    [
        ("screw", {}, "unknown type 'screw'"),
        ("fixed", {"axis": "x"}, "has no axis"),
        ("fixed", {"damping": 1.0}, "no meaning for a fixed joint"),
        ("fixed", {"stiffness": 1.0}, "no meaning for a fixed joint"),
        ("spherical", {"stiffness": 1.0}, "a spherical joint cannot have a spring"),
        ("free", {"stiffness": [0, 0, 1, 0, 0, 0]}, "a free joint cannot have a spring"),
        ("free", {"axis": "x"}, "has no axis"),
        ("universal", {"axis": "x", "axis2": "x"}, "parallel"),
        ("universal", {"axis": "x"}, "axis2 is needed"),
        ("continuous", {"axis": "x", "lower": -1.0}, "limits on its rotation"),
        ("spherical", {"upper": 1.0}, "limits on its rotation"),
        ("free", {"lower": [0.0] * 7}, "limits on its rotation"),
        ("planar", {"mimic": Mimic("x")}, "cannot mimic"),
    ],
)
def test_what_a_joint_type_does_not_have_is_refused(kind: Any, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ModelError, match=f"joint 'j'.*{complaint}"):
        fw.ModelBuilder().link("a", mass=1.0).joint("j", kind, "world", "a", **options)


def test_a_free_joint_may_be_limited_in_position() -> None:
    low = [-1.0, -1.0, 0.0] + [-math.inf] * 4
    builder = fw.ModelBuilder().link("a", mass=1.0, inertia=(1, 1, 1)).joint("j", "free", "world", "a", lower=low)
    joint = builder.describe().joints[0]
    assert joint.lower is not None
    assert joint.lower.tolist() == low


@pytest.mark.parametrize(
    "tree, complaint",
    [
        ([("j", "nobody", "a")], "joint 'j': parent 'nobody' is not a link"),
        ([("j", "lin", "a")], "did you mean 'link'"),
        ([("j", "world", "nobody")], "joint 'j': child 'nobody' is not a link"),
        ([("j", "a", "a")], "its own parent"),
        ([("j", "a", "world")], "the world cannot be a child"),
        ([("j", "world", "a"), ("j", "a", "link")], "joint 'j': the name is used twice"),
        ([("j", "world", "a"), ("k", "link", "a")], "link 'a' has two parents: it is the child of joint 'j'"),
        ([("j", "link", "a"), ("k", "a", "link")], "is part of a loop"),
    ],
)
def test_bad_trees_are_refused(tree: list[tuple[str, str, str]], complaint: str) -> None:
    def build() -> None:
        builder = fw.ModelBuilder().link("a", mass=1.0).link("link", mass=1.0)
        for name, parent, child in tree:
            builder.joint(name, "revolute", parent, child, axis="x")
        builder.describe()

    with pytest.raises(ModelError, match=complaint):
        build()


def test_a_long_loop_is_found_without_recursion() -> None:
    builder = fw.ModelBuilder()
    for i in range(5000):
        builder.link(f"l{i}").joint(f"j{i}", "fixed", f"l{(i + 1) % 5000}", f"l{i}")
    with pytest.raises(ModelError, match="part of a loop"):
        builder.describe()


@pytest.mark.parametrize("name", ["", None, 5, "world"])
def test_bad_names_are_refused(name: Any) -> None:
    for add in (fw.ModelBuilder().link, lambda name: fw.ModelBuilder().link("a").frame(name, "a")):
        with pytest.raises(ModelError, match="name"):
            add(name)


@pytest.mark.parametrize("kind", ["model", "link", "joint", "frame"])
def test_names_that_utf8_cannot_hold_are_refused(kind: str) -> None:
    add: Any = {
        "model": fw.ModelBuilder,
        "link": hinged().link,
        "joint": lambda name: hinged().link("b").joint(name, "fixed", "a", "b"),
        "frame": lambda name: hinged().frame(name, "a"),
    }[kind]
    with pytest.raises(ModelError, match=rf"^{kind}: .*UTF-8.*'half \\ud800'"):
        add("half \ud800")
    add("whole \U0001f600")


def test_links_and_frames_share_their_names() -> None:
    with pytest.raises(ModelError, match="frame 'a': the name is used twice: a link has it already"):
        fw.ModelBuilder().link("a").frame("a", "a")


def test_frames_on_unknown_links_are_refused() -> None:
    with pytest.raises(ModelError, match="frame 'f': link 'nobody' is not a link"):
        hinged().frame("f", "nobody").describe()


@pytest.mark.parametrize(
    "target, complaint",
    [("nobody", "unknown joint 'nobody'"), ("k", "mimics itself"), ("free", "6 degrees of freedom")],
)
def test_bad_mimics_are_refused(target: str, complaint: str) -> None:
    builder = hinged().link("b", mass=1.0).joint("k", "revolute", "a", "b", axis="x", mimic=Mimic(target))
    builder.link("c", mass=1.0).joint("free", "free", "world", "c")
    with pytest.raises(ModelError, match=f"joint 'k'.*{complaint}"):
        builder.describe()


def test_an_empty_model_is_refused() -> None:
    with pytest.raises(ModelError, match="has no links"):
        fw.ModelBuilder().build()


@pytest.mark.parametrize("gravity", [(0, 0), (0, 0, math.nan), "down"])
def test_bad_gravity_is_refused(gravity: Any) -> None:
    with pytest.raises(ModelError, match="gravity"):
        fw.ModelBuilder(gravity=gravity)


# -- descriptions by hand --------------------------------------------------------------------------------------------


def test_a_description_is_checked_and_ordered() -> None:
    inertia = Inertia(1.0, np.zeros(3), np.eye(3))
    links = tuple(Link(name, inertia) for name in "abc")
    axis = np.array([1.0, 0.0, 0.0])
    joints = (
        Joint("1", "revolute", "a", "b", axis=axis),
        Joint("0", "revolute", "world", "a", axis=axis),
        Joint("2", "revolute", "a", "c", axis=axis),
    )
    model = fw.Model(ModelDescription("m", links, joints, (Frame("tip", "b"),)))
    assert model.joint_names == ("0", "1", "2")
    with pytest.raises(ModelError, match="link 'a': mass must not be negative"):
        fw.Model(ModelDescription("m", (Link("a", Inertia(-1.0, np.zeros(3), np.eye(3))),), (joints[1],)))


# -- motors, contacts, closures ------------------------------------------------------------------------------------


def two_balls() -> fw.ModelBuilder:
    builder = fw.ModelBuilder("m")
    for name in "ab":
        builder.solid(name, "sphere", (0.1,), mass=1.0)
    return builder.joint("root", "free", "world", "a").joint("j", "revolute", "a", "b", axis="x")


LAW = fw.ContactLaw(friction=0.5)


@pytest.mark.parametrize(
    "act, complaint",
    [
        (lambda b: b.actuator("m", "k"), "actuator 'm': acts on an unknown joint 'k'"),
        (lambda b: b.actuator("m", "root"), "actuator 'm': acts on joint 'root', which has 6 degrees of freedom"),
        (lambda b: b.actuator("m", "j").actuator("m", "j"), "actuator 'm': the name is used twice"),
        (lambda b: b.actuator("m", "j", "magnet"), "the kind must be one of motor, .*, got 'magnet'"),
        (lambda b: b.actuator("m", "j", bias=(1, 0, 0)), "a bias belongs to general actuators, not to a motor"),
        (lambda b: b.actuator("m", "j", others=[("j",)]), "others must be pairs of a joint and a number"),
        (lambda b: b.actuator("m", "j", others=[("nothing", 2.0)]), "acts on an unknown joint 'nothing'"),
        (lambda b: b.couple("c", "j", "nothing", [0, 1]), "coupling 'c': couples an unknown joint 'nothing'"),
        (lambda b: b.couple("c", "j", None, [0]).couple("c", "j", None, [0]), "coupling 'c': the name is used twice"),
        (lambda b: b.tendon("t", {"root": 1.0}), "tendon 't': runs over joint 'root', which has 6 degrees"),
        (lambda b: b.tendon("t", {"j": 1.0}, stiffness=-1.0), "stiffness must not be negative"),
        (lambda b: b.actuator("m", "j", kp=-1.0), "kp must not be negative"),
        (lambda b: b.actuator("m", "j", ctrl_range=(1.0, -1.0)), "ctrl_range must have its lower bound first"),
        (lambda b: b.actuator("m", "j", force_range=1.0), "force_range must be a lower and an upper number"),
        (lambda b: b.exclude("a", "c"), "contact exclusion of 'a' and 'c': link 'c' is not a link"),
        (lambda b: b.pair("a", "a_colision", "b", "b_collision", LAW), "no collision shape 'a_colision' .did you mean"),
        (lambda b: b.pair("a", "a_visual", "b", "b_collision", LAW), "no collision shape 'a_visual'"),
        (lambda b: b.pair("c", "x", "b", "b_collision", LAW), "link 'c' is not a link"),
        (lambda b: b.pair("a", "a_collision", "b", "b_collision", None), "needs a ContactLaw, got None"),
        (lambda b: b.close("l", "a", "c"), "closure 'l': link 'c' is not a link"),
        (lambda b: b.close("l", "a", "b", rows=("x", "x")), "closure 'l': rows must be distinct and among x, y, z"),
        (lambda b: b.close("l", "a", "b").close("l", "a", "b"), "closure 'l': the name is used twice"),
    ],
)
def test_wrong_motors_contacts_and_closures_are_refused(act: Any, complaint: str) -> None:
    with pytest.raises(ModelError, match=complaint):
        act(two_balls()).describe()


def test_added_models_bring_theirs_along() -> None:
    part = two_balls().actuator("m", "j", kp=3.0).exclude("a", "b").close("l", "b", "world", to_placement=(0, 0, 1))
    part.pair("a", "a_collision", "b", "b_collision", LAW)
    whole = fw.ModelBuilder("w").add(part.describe(), prefix="p_", placement=(1, 0, 0)).describe()
    assert [(m.name, m.joint, m.kp) for m in whole.actuators] == [("p_m", "p_j", 3.0)]
    assert whole.excludes == (("p_a", "p_b"),)
    assert [(p.link, p.geometry, p.other_link, p.law) for p in whole.pairs] == [("p_a", "a_collision", "p_b", LAW)]
    [closure] = whole.closures
    assert (closure.link, closure.to, closure.to_placement[:3, 3].tolist()) == ("p_b", "world", [1.0, 0.0, 1.0])
