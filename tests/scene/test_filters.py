"""Who may touch whom: the rules one by one, and MuJoCo's own filter on its own robots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close

import featherweight as fw
from featherweight import Scene
from featherweight.model import poses

Pairs = set[tuple[str, str]]


def pairs(scene: fw.CompiledScene) -> Pairs:
    """Names of the shapes that may touch, by table; the question one by one has the same answers."""
    table = scene.pair_table()
    assert table is not None
    listed = set(zip(table.first.tolist(), table.second.tolist(), strict=True))
    n = len(scene.shapes)
    assert listed == {(i, j) for i in range(n) for j in range(i + 1, n) if scene.may_touch(i, j)}
    for i, j, law in zip(table.first, table.second, table.law, strict=True):
        assert scene.laws[law] == scene.law(int(i), int(j)) == scene.law(int(j), int(i))
    return {named(scene, i, j) for i, j in listed}


def named(scene: fw.CompiledScene, i: int, j: int) -> tuple[str, str]:
    a, b = sorted(scene.shapes[k].name.rpartition("/")[2] for k in (i, j))
    return a, b


def row_of_balls(joints: tuple[str, ...]) -> fw.Model:
    """Balls "a", "b", "c", ... in a row, each on a joint on the one before; the first is free."""
    builder = fw.ModelBuilder("row")
    names = "abcdefgh"[: len(joints) + 1]
    for k, name in enumerate(names):
        ball = fw.Geometry(name, "collision", "sphere", (0.1,))
        builder.link(name, mass=1.0, inertia=(1, 1, 1), geometries=[ball])
        if k:
            axis = None if joints[k - 1] in ("fixed", "spherical") else "y"
            builder.joint(f"j{k}", joints[k - 1], names[k - 1], name, axis=axis)  # type: ignore[arg-type]
    return builder.build(floating_base=True)


def test_neighbours_in_a_chain_do_not_touch() -> None:
    scene = Scene()
    scene.add(row_of_balls(("revolute", "revolute")))
    assert pairs(scene.compile()) == {("a", "c")}


def test_links_on_fixed_joints_are_one_body() -> None:
    scene = Scene()
    scene.add(row_of_balls(("fixed", "revolute", "fixed", "revolute")))  # a-b, c-d, e
    assert pairs(scene.compile()) == {("a", "e"), ("b", "e")}


@pytest.mark.parametrize(
    "self_collision, expected",
    [(True, {("a", "c")}), (False, set()), ("adjacent", {("a", "b"), ("a", "c"), ("b", "c")})],
)
def test_self_collision(self_collision: Any, expected: Pairs) -> None:
    scene = Scene(ground=fw.Plane())
    scene.add(row_of_balls(("revolute", "revolute")), self_collision=self_collision)
    assert pairs(scene.compile()) == expected | {(name, "ground") for name in "abc"}


def test_static_things_do_not_touch_each_other() -> None:
    scene = Scene(ground=fw.Plane())
    scene.add(fw.box((1, 1, 1), static=True), "wall")
    scene.add(fw.models.arm())
    scene.add(fw.sphere(0.1), "ball")
    found = pairs(scene.compile())
    assert {("ground", "wall"), ("base_collision", "ground"), ("base_collision", "wall")}.isdisjoint(found)
    assert {("ball", "base_collision"), ("ball", "ground"), ("ball", "wall"), ("ground", "link_1_collision")} <= found
    assert ("base_collision", "link_1_collision") not in found  # joined by one joint, though the base never moves


def test_bits_meet_in_either_direction() -> None:
    scene = Scene()
    for name, contype, conaffinity in (("a", 1, 0), ("b", 0, 1), ("c", 2, 2), ("d", 0, 0), ("e", 6, 1)):
        scene.add(fw.sphere(0.1, contype=contype, conaffinity=conaffinity), name)
    assert pairs(scene.compile()) == {("a", "b"), ("a", "e"), ("c", "e")}


def test_excludes_and_pairs_by_part_link_and_shape() -> None:
    scene = Scene(ground=fw.Plane())
    first = scene.add(row_of_balls(("revolute", "revolute")), "first")
    ball = scene.add(fw.sphere(0.1), "ball")
    scene.exclude(first, "ground")
    scene.exclude(first.link("a"), ball)
    scene.exclude("first/b/b", ball)
    assert pairs(scene.compile()) == {("a", "c"), ("ball", "c"), ("ball", "ground")}
    scene.pair(first.link("a"), first.link("b"))  # neighbours, if one insists
    scene.pair(first.link("a"), ball)  # stronger than the exclusion
    assert pairs(scene.compile()) == {("a", "c"), ("ball", "c"), ("ball", "ground"), ("a", "b"), ("a", "ball")}


def test_exclusions_of_a_model_come_along() -> None:
    builder = fw.ModelBuilder.from_description(row_of_balls(("revolute",) * 3).description)
    scene = Scene()
    scene.add(builder.exclude("a", "d").build(), "m")
    assert pairs(scene.compile()) == {("a", "c"), ("b", "d")}


def test_large_scenes_have_no_table() -> None:
    scene = Scene(ground=fw.Plane())
    for _ in range(100):
        scene.add(fw.sphere(0.1))
    compiled = scene.compile()
    assert compiled.pair_table() is None
    table = compiled.pair_table(max_pairs=5050)
    assert table is not None
    assert len(table) == 101 * 100 // 2


# -- laws ----------------------------------------------------------------------------------------------------------


def law(scene: Scene, a: str, b: str) -> fw.ContactLaw:
    compiled = scene.compile()
    names = [shape.name for shape in compiled.shapes]
    return compiled.law(names.index(a), names.index(b))


def test_ground_decides_for_what_says_nothing() -> None:
    scene = Scene(ground=fw.Plane(friction=0.3))
    scene.add(fw.models.quadruped(), "robot")
    scene.add(fw.box((1, 1, 1), friction=0.5, margin=0.01), "crate")
    assert law(scene, "ground", "robot/trunk/trunk_collision").friction == 0.3
    assert law(scene, "ground", "crate").friction == 0.5
    assert law(scene, "ground", "crate").margin == 0.01


def test_priority_decides_alone() -> None:
    scene = Scene(ground=fw.Plane(friction=0.3, margin=0.02, priority=1))
    scene.add(fw.box((1, 1, 1), friction=0.5, restitution=0.4, margin=0.01), "crate")
    found = law(scene, "ground", "crate")
    assert (found.friction, found.restitution) == (0.3, 0.0)
    assert_close(found.margin, 0.03)


def test_pairs_override_what_they_state() -> None:
    scene = Scene(ground=fw.Plane(friction=0.3, restitution=0.2))
    scene.add(fw.box((1, 1, 1)), "crate")
    scene.pair("ground", "crate", friction=0.9)
    scene.pair("ground", "crate", torsional=0.01)
    found = law(scene, "crate", "ground")
    assert (found.friction, found.torsional, found.restitution, found.dim) == (0.9, 0.01, 0.2, 4)


# -- MuJoCo --------------------------------------------------------------------------------------------------------


def touching_in_mujoco(spec: Any) -> tuple[Pairs, dict[tuple[str, str], tuple[Any, ...]]]:
    """Every pair that its filter lets through, with friction and rows: with such margins all of them are contacts."""
    mujoco = pytest.importorskip("mujoco")
    for element in (*spec.geoms, *spec.pairs):
        element.margin = 1e3
    m = spec.compile()
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    found = {}
    for k in range(data.ncon):
        a, b = sorted(m.geom(geom).name or f"geom_{geom}" for geom in data.contact.geom[k])
        found[a, b] = (*data.contact.friction[k][[0, 2, 3]], int(data.contact.dim[k]))
    return set(found), found


def gymnasium_robots() -> list[Path]:
    gymnasium = pytest.importorskip("gymnasium")
    return sorted((Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets").glob("*.xml"))


@pytest.mark.filterwarnings("ignore:.*no collision shapes", "ignore:compiler attribute")
@pytest.mark.parametrize("path", gymnasium_robots(), ids=lambda path: path.stem)
def test_mujocos_robots_touch_as_in_mujoco(path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    scene = Scene()
    scene.add(fw.load(path))
    assert pairs(scene.compile()) == touching_in_mujoco(mujoco.MjSpec.from_file(str(path)))[0]


FRICTION = """<mujoco><worldbody>
<geom name="floor" type="plane" size="9 9 1" friction="0.7 0.01 0.001"/>
<body name="a"><freejoint/><geom name="a" size="0.1" friction="0.3 0.02 0.002" condim="4"/>
  <body name="a2" pos="0.4 0 0"><geom name="a2" size="0.1"/>
    <body name="a3" pos="0.4 0 0"><joint axis="1 0 0"/><joint/><geom name="a3" size="0.1" condim="6"/>
      <body name="a4" pos="0.4 0 0"><joint/><geom name="a4" size="0.1" contype="2" conaffinity="1"/></body>
    </body></body></body>
<body name="b" pos="0 1 0"><freejoint/><geom name="b" size="0.1" friction="0.1 0 0" condim="1" priority="2"/></body>
<body name="c" pos="0 2 0"><freejoint/><geom name="c" size="0.1" contype="0" conaffinity="0"/></body>
<body name="d" pos="0 3 0"><joint/><geom name="d" size="0.1" conaffinity="2"/></body>
</worldbody>
<contact><exclude body1="a" body2="d"/><exclude body1="world" body2="b"/>
<pair geom1="a" geom2="c" friction="0.2 0.2 0.03 0.004 0.004" condim="6"/></contact></mujoco>"""


def test_filters_and_laws_are_mujocos() -> None:
    mujoco = pytest.importorskip("mujoco")
    scene = Scene()
    scene.add(fw.loads(FRICTION, "mjcf", strict=True))
    compiled = scene.compile()
    found, contacts = touching_in_mujoco(mujoco.MjSpec.from_string(FRICTION))
    assert pairs(compiled) == found
    table = compiled.pair_table()
    assert table is not None
    for i, j in zip(table.first.tolist(), table.second.tolist(), strict=True):
        law, (friction, spin, roll, dim) = compiled.law(i, j), contacts[named(compiled, i, j)]
        assert law.dim == dim
        if dim > 1:
            assert_close([law.friction, law.torsional, law.rolling], [friction, spin, roll], tolerance=1e-15)


def test_neighbours_of_what_is_welded_to_the_world_touch_it_as_in_mujoco() -> None:
    text = """<mujoco><worldbody><body name="base"><geom name="base" size="0.1"/>
    <body name="arm"><joint/><geom name="arm" size="0.1"/></body></body></worldbody></mujoco>"""
    scene = Scene()
    scene.add(fw.loads(text, "mjcf"), name="m")
    assert pairs(scene.compile()) == {("arm", "base")}


@pytest.mark.parametrize("build", [fw.models.quadruped, fw.models.humanoid, fw.models.arm, fw.models.four_bar])
def test_built_in_robots_do_not_overlap_at_rest(build: Any) -> None:
    mujoco = pytest.importorskip("mujoco")
    scene = Scene()
    scene.add(build())
    compiled = scene.compile()
    placements = np.concatenate([fw.forward_kinematics(compiled.model, compiled.q0), np.eye(4)[None]])
    spec = mujoco.MjSpec()
    for k, shape in enumerate(compiled.shapes):
        X = placements[shape.link] @ shape.placement
        kind = getattr(mujoco.mjtGeom, f"mjGEOM_{shape.kind.upper()}")
        size = (*shape.size, 0.0, 0.0)[:3]
        geom = spec.worldbody.add_geom(name=str(k), type=kind, size=size, pos=X[:3, 3])
        geom.quat = np.roll(poses.quaternion_from_rotation(X[:3, :3]), 1)
    m = spec.compile()
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    table = compiled.pair_table()
    assert table is not None
    for i, j in zip(table.first.tolist(), table.second.tolist(), strict=True):
        gap = mujoco.mj_geomDistance(m, data, i, j, 1.0, None)
        assert gap > 0.0, f"{compiled.shapes[i].name} and {compiled.shapes[j].name}: {gap}"


def test_links_that_overlap_by_their_making_do_not_touch_when_asked() -> None:
    """Three balls in a row: the outer ones reach into each other, and a fourth far away does not."""
    builder = fw.ModelBuilder("row")
    parent = "world"
    for k, x in enumerate((0.0, 0.06, 0.06, 1.0)):
        builder.solid(f"ball_{k}", "sphere", (0.1,), mass=1.0)
        builder.joint(f"joint_{k}", "revolute", parent, f"ball_{k}", placement=(x, 0, 0), axis=(0, 1, 0))
        parent = f"ball_{k}"
    touching = {}
    for choice in (True, "apart"):
        scene = fw.Scene()
        scene.add(builder.build(), name="row", self_collision=choice)
        compiled = scene.compile()
        touching[choice] = {(i, j) for i in range(4) for j in range(i + 1, 4) if compiled.may_touch(i, j)}
    assert touching[True] == {(0, 2), (0, 3), (1, 3)}
    assert touching["apart"] == {(0, 3), (1, 3)}


def test_links_that_overlap_their_fixed_base_do_not_touch_it_when_asked() -> None:
    """The base of an arm belongs to it, a table in the same file does not."""
    builder = fw.ModelBuilder("arm")
    for name, shift in (("base", 0.0), ("upper", 0.05), ("lower", 0.1), ("table", 0.12)):
        builder.solid(name, "sphere", (0.1,), mass=1.0, placement=(shift, 0, 0))
    builder.joint("fixed", "fixed", "world", "base")
    builder.joint("shoulder", "revolute", "base", "upper", axis=(0, 1, 0))
    builder.joint("elbow", "revolute", "upper", "lower", axis=(0, 1, 0))
    builder.joint("stand", "fixed", "world", "table")
    scene = fw.Scene()
    scene.add(builder.build(), name="arm", self_collision="apart")
    compiled = scene.compile()
    place = {shape.name.split("/")[1]: k for k, shape in enumerate(compiled.shapes)}
    assert not compiled.may_touch(place["base"], place["lower"])
    assert compiled.may_touch(place["table"], place["lower"])
