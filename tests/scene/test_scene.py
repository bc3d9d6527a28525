"""Scenes become one model: names, coordinates and placements of the parts are kept, and bad input is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close, assert_same_bits

import featherweight as fw
from featherweight import Scene
from featherweight.arrays import Array
from featherweight.model import poses

DATA = Path(__file__).parents[1] / "data"
TURNED = poses.pose((0.3, -0.2, 0.9), rpy=(0.4, -1.1, 2.5))


def shape(scene: fw.CompiledScene, name: str) -> fw.CompiledShape:
    return next(each for each in scene.shapes if each.name == name)


def placed(scene: fw.CompiledScene, each: fw.CompiledShape, q: Array) -> Array:
    return each.placement if each.link < 0 else fw.forward_kinematics(scene.model, q)[each.link] @ each.placement


# -- one model -----------------------------------------------------------------------------------------------------


def test_parts_keep_their_coordinates_side_by_side() -> None:
    scene = Scene(ground=fw.Plane())
    scene.add(fw.models.quadruped(), name="a")
    scene.add(fw.box((1, 1, 1)), name="crate")
    scene.add(fw.models.arm(), name="b")
    compiled = scene.compile()
    assert compiled.model.nv == 18 + 6 + 7
    parts = compiled.parts
    assert list(parts) == ["ground", "a", "crate", "b"]
    assert (parts["a"].q, parts["crate"].q, parts["b"].q) == (slice(0, 19), slice(19, 26), slice(26, 33))
    assert (parts["a"].v, parts["crate"].v, parts["b"].v) == (slice(0, 18), slice(18, 24), slice(24, 31))
    assert (parts["ground"].q, parts["ground"].links) == (slice(0, 0), slice(0, 0))
    assert compiled.model.joint("a/front_left_calf_joint").q_slice == slice(9, 10)
    assert compiled.model.joint("crate").type == "free"
    assert compiled.model.link_names[parts["b"].links] == tuple(f"b/{n}" for n in fw.models.arm().link_names)
    assert [compiled.shapes[i].part for i in parts["crate"].shapes] == ["crate"]


def test_dynamics_of_a_part_are_its_own() -> None:
    arm, walker = fw.models.arm(), fw.models.humanoid()
    scene = Scene()
    scene.add(walker)
    scene.add(fw.sphere(0.1))
    scene.add(arm)
    compiled = scene.compile()
    rng = np.random.default_rng(1)
    q, v, tau = compiled.model.random(rng), rng.normal(size=compiled.model.nv), rng.normal(size=compiled.model.nv)
    a = fw.aba(compiled.model, q, v, tau)
    for model, name in ((arm, "arm"), (walker, "humanoid")):
        part = compiled.parts[name]
        assert_close(a[part.v], fw.aba(model, q[part.q], v[part.v], tau[part.v]), tolerance=1e-10)


def test_limits_friction_and_motors_come_along() -> None:
    builder = fw.ModelBuilder("slider").link("a", mass=1.0)
    spring: dict[str, Any] = {"stiffness": 7.0, "rest_position": 0.2}
    builder.joint("j", "prismatic", "world", "a", axis="x", lower=-1.0, upper=2.0, friction=0.3, damping=0.4, **spring)
    builder.actuator("m", "j", "position", kp=5.0, kd=1.0, ctrl_range=(-1.0, 1.0))
    scene = Scene()
    scene.add(fw.sphere(1.0))
    with pytest.warns(UserWarning, match="'s' has no collision shapes on its only link: nothing can touch it"):
        scene.add(builder.build(), name="s")
    compiled = scene.compile()
    limits = compiled.limits
    assert (limits.q_index.tolist(), limits.v_index.tolist()) == ([7], [6])
    assert (limits.lower.tolist(), limits.upper.tolist()) == ([-1.0], [2.0])
    assert (compiled.model.friction[6], compiled.model.damping[6]) == (0.3, 0.4)
    springs = compiled.springs
    assert (springs.q_index.tolist(), springs.v_index.tolist()) == ([7], [6])
    assert (springs.stiffness.tolist(), springs.rest_position.tolist()) == ([7.0], [0.2])
    [motor] = compiled.model.description.actuators
    assert (motor.name, motor.joint, motor.kp, motor.ctrl_range) == ("s/m", "s/j", 5.0, (-1.0, 1.0))


# -- where things are ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", [fw.models.quadruped(), fw.models.quadruped(floating=False), fw.models.chain(3)], ids=lambda c: c.name
)
def test_pose_moves_the_whole_model(content: fw.Model) -> None:
    scene = Scene()
    rng = np.random.default_rng(3)
    q = content.random(rng)
    scene.add(content, "m", pose=TURNED, q=q)
    compiled = scene.compile()
    expected = TURNED @ fw.forward_kinematics(content, q)
    assert_close(fw.forward_kinematics(compiled.model, compiled.q0), expected)


def test_free_bodies_have_world_coordinates() -> None:
    scene = Scene()
    scene.add(fw.box((1, 1, 1), pose=(1, 2, 3)), "a")
    scene.add(fw.box((1, 1, 1), pose=(1, 2, 3)), "b", pose=TURNED)
    compiled = scene.compile()
    assert_same_bits(compiled.q0[:7], [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    assert_close(placed(compiled, shape(compiled, "b"), compiled.q0), TURNED)


def test_static_things_hang_on_the_world() -> None:
    scene = Scene(ground=fw.Plane(normal=(0, 0.6, 0.8), offset=0.5))
    scene.add(fw.box((1, 1, 1), static=True), "table", pose=TURNED)
    scene.add(fw.models.arm(), "arm", pose=TURNED)
    scene.add(fw.HeightField(np.zeros((3, 4)), (2.0, 3.0), pose=(0, 0, -1)), "hills")
    compiled = scene.compile()
    for name in ("ground", "table", "hills", "arm/base/base_collision"):
        assert shape(compiled, name).link == -1
        assert shape(compiled, name).static
    assert_close(shape(compiled, "table").placement, TURNED)
    assert_close(shape(compiled, "arm/base/base_collision").placement, TURNED @ poses.pose((0, 0, 0.08)))
    assert_close(shape(compiled, "ground").placement[:3, 3], [0.0, 0.3, 0.4])
    assert shape(compiled, "arm/link_1/link_1_collision").link == compiled.model.link("arm/link_1").index


def test_shapes_have_the_cores_sizes() -> None:
    scene = Scene()
    cube = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    bodies = {
        "box": (fw.box((1, 2, 3)), (0.5, 1.0, 1.5)),
        "sphere": (fw.sphere(0.2), (0.2,)),
        "capsule": (fw.capsule(0.1, 0.6), (0.1, 0.3)),
        "cylinder": (fw.cylinder(0.1, 0.6), (0.1, 0.3)),
        "ellipsoid": (fw.ellipsoid((0.1, 0.2, 0.3)), (0.1, 0.2, 0.3)),
        "convex": (fw.convex(cube), ()),
        "heightfield": (fw.HeightField(np.ones((2, 5)), (2, 4)), (1.0, 2.0)),
        "plane": (fw.Plane(), ()),
    }
    for body, _ in bodies.values():
        scene.add(body)
    compiled = scene.compile()
    for name, (_, size) in bodies.items():
        assert (shape(compiled, name).kind, shape(compiled, name).size) == (name, size)
    vertices, faces = shape(compiled, "convex").vertices, shape(compiled, "convex").faces
    assert vertices is not None and vertices.shape == (8, 3)
    assert faces is not None and faces.shape == (12, 3)
    heights = shape(compiled, "heightfield").heights
    assert heights is not None and heights.shape == (2, 5)


def test_collision_meshes_of_a_urdf_become_hulls() -> None:
    inertial = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    mesh = '<geometry><mesh filename="meshes/tetra.obj" scale="1 2 -1"/></geometry>'
    ball = "<geometry><sphere radius='9'/></geometry>"
    text = (
        f'<robot name="r"><link name="a">{inertial}<visual>{ball}</visual><collision>{mesh}</collision></link></robot>'
    )
    model = fw.loads(text, "urdf", floating_base=True, directory=DATA)
    scene = Scene()
    scene.add(model)
    [hull] = scene.compile().shapes  # what is only seen never touches
    assert hull.kind == "convex"
    assert hull.vertices is not None
    trimesh = pytest.importorskip("trimesh")
    expected = trimesh.load(DATA / "meshes" / "tetra.obj").vertices * (1.0, 2.0, -1.0)
    assert {tuple(v) for v in hull.vertices} == {tuple(v) for v in expected}


# -- names ---------------------------------------------------------------------------------------------------------


def test_copies_get_names_of_their_own() -> None:
    scene = Scene()
    box = fw.box((1, 1, 1))
    assert [scene.add(box).name for _ in range(3)] == ["box", "box_2", "box_3"]
    assert [scene.add(fw.models.arm()).name for _ in range(2)] == ["arm", "arm_2"]
    assert scene.compile().model.nv == 3 * 6 + 2 * 7
    with pytest.raises(ValueError, match="the name 'box_2' is used twice"):
        scene.add(box, "box_2")


def test_handles_name_what_is_inside() -> None:
    scene = Scene()
    robot, ball = scene.add(fw.models.quadruped(), "robot"), scene.add(fw.sphere(1.0), "ball")
    assert robot.link("trunk") == "robot/trunk"
    assert robot.joint("front_left_hip_joint") == "robot/front_left_hip_joint"
    with pytest.raises(ValueError, match=r"unknown frame 'trnk'.*did you mean 'trunk'"):
        robot.link("trnk")
    with pytest.raises(ValueError, match="'ball' is a body"):
        ball.link("x")


# -- constraints ---------------------------------------------------------------------------------------------------


def test_constraints_hold_what_is_at_the_start() -> None:
    scene = Scene()
    arm = scene.add(fw.models.arm(), pose=TURNED)
    crate = scene.add(fw.box((1, 1, 1)), "crate", pose=(0.5, 0, 1))
    scene.constrain(fw.FrameConstraint(arm.link("flange"), to=crate.name, offset=poses.pose((0, 0, 0.1))))
    scene.constrain(fw.PointConstraint("crate", offset=(0.1, 0.2, 0.3)))
    scene.constrain(fw.PointConstraint("crate", position=(9, 8, 7)))
    compiled = scene.compile()
    weld, pin, drawn = compiled.constraints
    X = fw.forward_kinematics(compiled.model, compiled.q0)
    assert_close(X[weld.link] @ weld.placement, X[weld.to] @ weld.to_placement)
    assert (pin.to, pin.link) == (-1, compiled.model.link("crate").index)
    assert_close(pin.to_placement[:3, 3], [0.6, 0.2, 1.3])
    assert_close(drawn.to_placement[:3, 3], [9.0, 8.0, 7.0])
    rows = fw.ConstraintSet(compiled.model, [each.constraint for each in compiled.constraints])
    assert rows.n_rows == 12


def test_closures_of_a_model_come_along() -> None:
    bars = fw.models.four_bar(closed=False)
    builder = fw.ModelBuilder.from_description(bars.description)
    ends = [builder.describe().frames[k] for k in (0, 1)]
    at, to = (end.placement for end in ends)
    builder.close("loop", ends[0].link, ends[1].link, placement=at, to_placement=to, rows=("x", "z"))
    builder.close(
        "nail",
        "crank",
        "world",
        to_placement=fw.forward_kinematics(bars, bars.neutral())[1],
        rows=("x", "y", "z", "rx", "ry", "rz"),
    )
    scene = Scene()
    scene.add(fw.sphere(1.0))
    scene.add(builder.build(), "bars", pose=TURNED)
    compiled = scene.compile()
    loop, nail = compiled.constraints
    X = fw.forward_kinematics(compiled.model, compiled.q0)
    assert_close((X[loop.link] @ loop.placement)[:3, 3], (X[loop.to] @ loop.to_placement)[:3, 3])
    assert_close(X[nail.link] @ nail.placement, nail.to_placement)
    assert fw.ConstraintSet(compiled.model, [loop.constraint, nail.constraint]).n_rows == 8


# -- what is refused -----------------------------------------------------------------------------------------------


def filled() -> Scene:
    scene = Scene(ground=fw.Plane())
    scene.add(fw.models.arm(), "arm")
    scene.add(fw.box((1, 1, 1)), "crate")
    return scene


UNTYPED: Any = fw


@pytest.mark.parametrize(
    "act, complaint",
    [
        (lambda scene: scene.add("arm"), "expected a Model or a body"),
        (lambda scene: scene.add(fw.models.arm(), "arm"), "the name 'arm' is used twice"),
        (lambda scene: scene.add(fw.sphere(1.0), "world"), "reserved"),
        (lambda scene: scene.add(fw.sphere(1.0), "arm/base"), "has a link or frame 'arm/base' already"),
        (lambda scene: scene.add(fw.models.arm(), q=[0.0] * 6), "q must be 7 numbers"),
        (lambda scene: scene.add(fw.sphere(1.0), q=[0.0] * 7), "q and keyframes belong to models"),
        (lambda scene: scene.add(fw.sphere(1.0), pose=(0, 0)), "pose must be a 4x4 pose"),
        (lambda scene: scene.add(fw.models.arm(), self_collision="no"), "self_collision must be"),
        (lambda scene: scene.exclude("arm", "crat"), r"no part, link or shape 'crat' \(did you mean 'crate'"),
        (lambda scene: scene.exclude("arm", filled().add(fw.sphere(1.0))), "no part, link or shape 'sphere'"),
        (lambda scene: scene.exclude("arm", Scene().add(fw.sphere(1.0), "crate")), "belongs to another scene"),
        (lambda scene: scene.pair("arm", "crate", fricton=1.0), "unknown property 'fricton'"),
        (lambda scene: scene.pair("arm", "crate", friction=-1.0), "friction must be finite and not negative"),
        (lambda scene: scene.pair("arm", "crate", dim=5), "dim must be 1, 3, 4 or 6"),
        (lambda scene: scene.constrain(fw.PointConstraint("flange")), "no link or frame 'flange'"),
        (lambda scene: scene.constrain(fw.PointConstraint(3)), "no link or frame 3"),
        (lambda scene: scene.constrain("crate"), "expected a constraint such as fw.PointConstraint"),
        (lambda scene: scene.constrain(fw.PointConstraint("crate", position=np.zeros((4, 3)))), "one position"),
    ],
)
def test_nonsense_is_refused(act: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        act(filled())


def test_ground_must_not_move() -> None:
    with pytest.raises(ValueError, match="ground must be a Plane"):
        Scene(ground=fw.box((1, 1, 1)))


def test_a_scene_without_anything_that_moves_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing in it can move"):
        Scene(ground=fw.Plane()).compile()


def test_planes_that_move_and_shapes_without_volume_are_refused() -> None:
    for kind, size, complaint in (("plane", (), "a plane must not move"), ("box", (1.0, 0.0, 1.0), "has no volume")):
        shapes = [fw.Geometry("g", "collision", kind, size)]  # type: ignore[arg-type]
        model = fw.ModelBuilder().link("a", mass=1.0, inertia=(1, 1, 1), geometries=shapes).build(floating_base=True)
        scene = Scene()
        scene.add(model, "m")
        with pytest.raises(ValueError, match=f"shape 'm/a/g': .*{complaint}"):
            scene.compile()


def test_pairs_that_cannot_move_apart_are_refused() -> None:
    scene = filled()
    scene.pair("ground", "arm/base")
    with pytest.raises(ValueError, match="'ground' and 'arm/base' have no two collision shapes that move relative"):
        scene.compile()


def test_constraints_on_what_never_moves_are_refused() -> None:
    scene = filled()
    scene.constrain(fw.PointConstraint("arm/base", to="ground"))
    with pytest.raises(ValueError, match="constraint on 'arm/base': neither of its frames can move"):
        scene.compile()


def test_compiled_scenes_do_not_change_with_the_scene() -> None:
    scene = filled()
    compiled = scene.compile()
    scene.add(fw.sphere(1.0))
    assert len(compiled.shapes) == 1 + 8 + 1
    assert not compiled.q0.flags.writeable
    assert math.isinf(compiled.law_values[0, 4])
