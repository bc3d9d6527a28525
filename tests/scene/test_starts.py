"""Where models start: as their description says, moved by their pose, at keyframes; saved, pickled, compared."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from helpers.compare import assert_close, assert_same_bits

import featherweight as fw
from featherweight.model import poses

HALF_TURN = (0.0, 0.0, 1.0, 0.0)


def hopper() -> fw.Model:
    """A free trunk half a metre up with a bent knee, and a name for standing straight."""
    builder = fw.ModelBuilder("hopper")
    builder.solid("trunk", "box", (0.2, 0.1, 0.1), mass=2.0).solid("shin", "capsule", (0.02, 0.2), mass=0.3)
    builder.joint("base", "free", "world", "trunk", start=(0.1, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0))
    builder.joint("knee", "revolute", "trunk", "shin", axis="y", lower=-2.0, upper=2.0, start=[0.7])
    builder.actuator("motor", "knee", "position", kp=10.0)
    builder.keyframe("straight", q={"knee": [0.0]}, v={"knee": [0.2]}, control={"motor": 0.1})
    return builder.build()


def test_a_model_starts_where_its_description_says() -> None:
    model = hopper()
    assert_same_bits(model.q0, np.array([0.1, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0, 0.7]))
    assert not model.q0.flags.writeable
    assert_same_bits(fw.Simulator(model).state().q, model.q0)
    assert_same_bits(fw.models.quadruped().q0, fw.models.quadruped().neutral())


def test_keyframes_have_whole_vectors() -> None:
    straight = hopper().keyframes["straight"]
    assert_same_bits(straight.q, np.array([0.1, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0, 0.0]))
    assert_same_bits(straight.v, np.array([0.0] * 6 + [0.2]))
    assert_same_bits(straight.control, np.array([0.1]))
    with pytest.raises(ValueError, match=r"unknown keyframe 'strait' .did you mean 'straight'"):
        hopper().keyframe("strait")


def test_pose_moves_starts_and_keyframes_of_free_bases() -> None:
    scene = fw.Scene()
    X = fw.pose((1.0, 2.0, 0.0), xyzw=HALF_TURN)
    scene.add(hopper(), name="a", pose=X)
    scene.add(hopper(), name="b", keyframe="straight")
    crate = scene.add(fw.box((0.1, 0.1, 0.1)), name="crate", pose=(0, 0, 3))
    sim = fw.Simulator(scene)
    parts = sim.scene.parts
    assert_close(sim.state().q[parts["a"].q], [0.9, 2.0, 0.5, *HALF_TURN, 0.7])
    assert_close(sim.state().q[parts["b"].q], [0.1, 0.0, 0.5, 0, 0, 0, 1, 0.0])
    assert_close(sim.state().q[parts[crate.name].q][:3], [0, 0, 3])
    assert_same_bits(sim.model.q0, sim.scene.q0)
    at = sim.state(2, keyframe="a/straight")
    assert_close(at.q[1][parts["a"].q], [0.9, 2.0, 0.5, *HALF_TURN, 0.0])
    assert_close(at.v[0][parts["a"].v], [0, 0, 0, 0, 0, 0, 0.2])
    assert_same_bits(at.q[0][parts["b"].q], sim.scene.q0[parts["b"].q])
    assert_close(sim.keyframe("a/straight").control, [0.1, 0.0])
    with pytest.raises(ValueError, match="'straight' is in several parts: 'a/straight', 'b/straight'"):
        sim.state(keyframe="straight")


def test_a_keyframe_of_one_part_needs_no_part() -> None:
    sim = fw.Simulator(hopper())
    assert sim.state(keyframe="straight") == sim.state(keyframe="hopper/straight")
    assert sim.state(keyframe="straight", v=np.zeros(7)).v[-1] == 0.0


def test_q_of_the_scene_wins_over_that_of_the_model() -> None:
    scene = fw.Scene()
    q = hopper().neutral()
    scene.add(hopper(), q=q)
    assert_same_bits(scene.compile().q0, q)
    with pytest.raises(ValueError, match="give q or a keyframe, not both"):
        scene.add(hopper(), q=q, keyframe="straight")
    with pytest.raises(ValueError, match="belong to models"):
        scene.add(fw.box((1, 1, 1)), keyframe="straight")


def test_starts_and_keyframes_survive_files_and_pickles(tmp_path: Path) -> None:
    model = hopper()
    model.save(tmp_path / "hopper.json")
    for again in (fw.load(tmp_path / "hopper.json"), pickle.loads(pickle.dumps(model))):
        assert again == model
        assert_same_bits(again.q0, model.q0)
        assert again.keyframes["straight"] == model.keyframes["straight"]
    other = fw.ModelBuilder.from_description(model.description).keyframe("straight", q={"knee": [1e-300]}).build()
    assert other != model


def test_models_put_together_keep_their_starts() -> None:
    builder = fw.ModelBuilder("two").add(hopper(), prefix="left_")
    builder.add(hopper(), prefix="right_", floating=False, placement=(0, 1, 0))
    model = builder.build()
    assert_close(model.q0, [*hopper().q0, 0.7])
    assert_close(model.keyframes["left_straight"].q, [*hopper().keyframes["straight"].q, 0.7])
    assert_close(model.keyframes["right_straight"].q, [*hopper().q0, 0.0])


@pytest.mark.parametrize(
    "keyframe, complaint",
    [
        ({"q": {"kne": [0.0]}}, "keyframe 'k': has an unknown joint 'kne' .did you mean 'knee'"),
        ({"control": {"moto": 0.0}}, "has an unknown actuator 'moto'"),
        ({"q": {"knee": [0.0, 1.0]}}, "keyframe 'k', joint 'knee': start must be 1 coordinate, got"),
        ({"v": {"base": [0.0]}}, "joint 'base': velocity must be 6 numbers"),
        ({"q": {"base": [0, 0, 0, 0, 0, 0, 2]}}, "quaternion of length 2"),
        ({"control": {"motor": np.nan}}, "control of 'motor' must be finite"),
    ],
)
def test_wrong_keyframes_are_refused(keyframe: dict[str, dict[str, object]], complaint: str) -> None:
    builder = fw.ModelBuilder.from_description(hopper().description).keyframe("k", **keyframe)  # type: ignore[arg-type]
    with pytest.raises(fw.ModelError, match=complaint):
        builder.build()


def test_wrong_starts_are_refused() -> None:
    builder = fw.ModelBuilder().link("a", mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(fw.ModelError, match="start must be 7 coordinates"):
        builder.joint("j", "free", "world", "a", start=[0.0])
    with pytest.raises(fw.ModelError, match=r"quaternion of length 1\.1"):
        builder.joint("j", "spherical", "world", "a", start=[0, 0, 0, 1.1])


def on_a_floor(parent_contact: bool = False) -> fw.Model:
    floor = fw.Geometry("floor", "collision", "plane", ())
    ball = fw.Geometry("ball", "collision", "sphere", (0.1,))
    builder = fw.ModelBuilder("ball").link("ground", geometries=[floor]).joint("g", "fixed", "world", "ground")
    builder.link("arm", mass=1.0, inertia=(1, 1, 1), geometries=[ball])
    builder.link("stand", geometries=[ball]).joint("s", "fixed", "world", "stand", placement=(0, 0, 1))
    builder.joint("j", "revolute", "stand", "arm", axis="x", placement=(0, 0, 0.1), parent_contact=parent_contact)
    return builder.build()


def touching(model: fw.Model, self_collision: bool = True) -> set[frozenset[str]]:
    scene = fw.Scene()
    scene.add(model, name="m", self_collision=self_collision)
    compiled = scene.compile()
    table = compiled.pair_table()
    assert table is not None
    names = [shape.name.split("/")[1] for shape in compiled.shapes]
    return {frozenset((names[i], names[j])) for i, j in zip(table.first, table.second, strict=True)}


def test_the_floor_of_a_file_is_no_part_of_the_robot() -> None:
    assert touching(on_a_floor(), self_collision=False) == {frozenset({"ground", "arm"})}
    assert touching(on_a_floor()) == {frozenset({"ground", "arm"})}


def test_neighbours_touch_where_the_joint_lets_them() -> None:
    assert touching(on_a_floor(parent_contact=True)) == {frozenset({"ground", "arm"}), frozenset({"stand", "arm"})}
    assert touching(on_a_floor(parent_contact=True), self_collision=False) == {frozenset({"ground", "arm"})}


def test_rotated_free_start_is_where_it_should_be() -> None:
    scene = fw.Scene()
    X = fw.pose((0.3, -0.2, 0.1), rpy=(0.4, 0.5, 0.6))
    scene.add(hopper(), name="a", pose=X)
    compiled = scene.compile()
    own = hopper().q0
    expected = X @ poses.pose(own[:3], xyzw=own[3:7])
    assert_close(fw.forward_kinematics(compiled.model, compiled.q0)[0], expected)
