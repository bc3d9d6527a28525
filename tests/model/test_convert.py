"""Configurations of other libraries: there and back, and the same physics on both sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close, assert_same_bits

import featherweight as fw
from featherweight import reference

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def zoo() -> fw.Model:
    return fw.models.random_tree(2, 40, floating=True)


def state(model: fw.Model, batch: int | None) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return model.random(rng, batch=batch), rng.normal(size=model.nv if batch is None else (batch, model.nv))


@pytest.mark.parametrize("batch", [None, 1, 5])
def test_mujoco_there_and_back(zoo: fw.Model, batch: int | None) -> None:
    q, v = state(zoo, batch)
    qpos, qvel = fw.convert.to_mujoco(zoo, q, v)
    back_q, back_v = fw.convert.from_mujoco(zoo, qpos, qvel)
    assert_close(back_q, q)
    assert_close(back_v, v)
    assert_close(fw.convert.from_mujoco(zoo, fw.convert.to_mujoco(zoo, q)), q)


def test_normalised_quaternions_keep_their_bits() -> None:
    box = fw.models.box()
    q = box.random(0, batch=1000)
    assert_same_bits(fw.convert.from_mujoco(box, fw.convert.to_mujoco(box, q)), q)
    assert_same_bits(fw.convert.from_pinocchio(box, fw.convert.to_pinocchio(box, q)), q)


def test_mujoco_has_the_scalar_first_and_world_velocities() -> None:
    box = fw.models.box()
    half = np.sqrt(0.5)
    q = np.array([1.0, 2.0, 3.0, 0.0, 0.0, half, half])  # a quarter turn about z
    qpos, qvel = fw.convert.to_mujoco(box, q, [1.0, 0.0, 0.0, 0.1, 0.2, 0.3])
    assert_close(qpos, [1, 2, 3, half, 0, 0, half])
    assert_close(qvel, [0.0, 1.0, 0.0, 0.1, 0.2, 0.3])


@pytest.mark.parametrize("batch", [None, 1, 5])
def test_pinocchio_there_and_back(zoo: fw.Model, batch: int | None) -> None:
    q, v = state(zoo, batch)
    theirs = fw.convert.to_pinocchio(zoo, q, v)
    back_q, back_v = fw.convert.from_pinocchio(zoo, *theirs)
    assert_close(back_q, q)
    assert_close(back_v, v)
    assert_close(fw.convert.from_pinocchio(zoo, theirs[0]), q)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("file", ["axes.urdf", "features.urdf"])
def test_pinocchio_sees_the_same_robot(file: str, floating: bool) -> None:
    pin = pytest.importorskip("pinocchio")
    # Pinocchio takes the plane of a planar joint across z, whatever its axis.
    head, planar, tail = (DATA / file).read_text().partition('type="planar"')
    text = head + planar + tail.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 0 1"/>', 1) if planar else head
    model = fw.loads(text, "urdf", floating_base=floating)
    peer = pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromXML(text)
    data = peer.createData()
    q, v = state(model, None)
    their_q, their_v = fw.convert.to_pinocchio(model, q, v)
    assert_close(their_q, fw.convert.to_pinocchio(model, q, joint_names=peer.names))
    pin.forwardKinematics(peer, data, their_q, their_v)
    pin.updateFramePlacements(peer, data)
    for name in model.link_names:
        frame = peer.getFrameId(name, pin.FrameType.BODY)
        assert_close(reference.frame_placement(model.description, q, name), data.oMf[frame].homogeneous)
        velocity = pin.getFrameVelocity(peer, data, frame, pin.ReferenceFrame.LOCAL).vector
        assert_close(reference.frame_velocity(model.description, q, v, name), velocity)
    assert_close(
        reference.kinetic_energy(model.description, q, v), pin.computeKineticEnergy(peer, data, their_q, their_v)
    )


def test_pinocchio_order_can_be_given() -> None:
    model = fw.load(DATA / "axes.urdf")  # joints j3, j1 (continuous), j2
    q = np.array([0.1, 0.2, 0.3])
    assert_close(fw.convert.to_pinocchio(model, q), [0.3, 0.1, np.cos(0.2), np.sin(0.2)])
    names = ["universe", "j3", "j1", "j2"]
    assert_close(fw.convert.to_pinocchio(model, q, joint_names=names), [0.1, np.cos(0.2), np.sin(0.2), 0.3])
    with pytest.raises(ValueError, match=r"missing: .'j1', 'j2'.*unknown: .'j9'"):
        fw.convert.to_pinocchio(model, q, joint_names=["j3", "j9"])


# -- what is refused -------------------------------------------------------------------------------------------------

every_function = pytest.mark.parametrize("function", ["from_mujoco", "to_mujoco", "from_pinocchio", "to_pinocchio"])


def converted(function: str, model: fw.Model, q: Any, v: Any) -> tuple[Any, Any]:
    """Convert, with q and v given by a change of valid inputs."""
    inputs: tuple[Any, Any] = state(model, 2)
    library = function.split("_")[1]
    if function.startswith("from"):
        inputs = getattr(fw.convert, f"to_{library}")(model, *inputs)
    result: tuple[Any, Any] = getattr(fw.convert, function)(model, q(inputs[0]), v(inputs[1]))
    return result


def same(x: Any) -> Any:
    return x


@every_function
@pytest.mark.parametrize(
    "change, complaint",
    [
        (lambda x: x[:, 1:], r"expected shape \(\.\.\., \d+\), got \(2, \d+\)"),
        (lambda x: 1.0, r"expected shape .*, got \(\)"),
        (lambda x: x[:0], "the batch is empty"),
        (lambda x: [[1.0], [2.0, 3.0]], "expected an array of numbers, got list"),
        (lambda x: x.astype(str), "real numbers .*, got dtype <U"),
        (lambda x: x.astype(object), "real numbers .*, got dtype object"),
        (lambda x: x.astype(bool), "real numbers .*, got dtype bool"),
        (lambda x: x + 0j, "real numbers .*, got dtype complex128"),
        (
            lambda x: np.where(np.arange(x.size).reshape(x.shape) == x.shape[1] + 3, np.nan, x),
            "entry 3 of sample 1 is nan",
        ),
        (lambda x: np.where(np.arange(x.size).reshape(x.shape) == 2, np.inf, x), "entry 2 of sample 0 is inf"),
    ],
)
def test_what_is_not_finite_real_numbers_is_refused_by_argument(
    zoo: fw.Model, function: str, change: Any, complaint: str
) -> None:
    q_name, v_name = ("qpos", "qvel") if function == "from_mujoco" else ("q", "v")
    with pytest.raises(ValueError, match=f"^{q_name}: .*{complaint}"):
        converted(function, zoo, change, same)
    with pytest.raises(ValueError, match=f"^{v_name}: .*{complaint}"):
        converted(function, zoo, same, change)


@every_function
def test_batches_must_agree(zoo: fw.Model, function: str) -> None:
    with pytest.raises(ValueError, match="a batch of 1 does not match the batch of 2 in q"):
        converted(function, zoo, same, lambda v: v[:1])
    _, v = converted(function, zoo, lambda q: q[0], same)
    assert_close(v[0], converted(function, zoo, same, same)[1][0])


@every_function
@pytest.mark.parametrize("scale", [0.0, 1.0 - 2e-6, 1.0 + 2e-6, 2.0])
@pytest.mark.parametrize("kind", ["free", "spherical"])
def test_quaternions_far_from_unit_length_are_refused(function: str, scale: float, kind: Any) -> None:
    body = fw.ModelBuilder().link("b", mass=1.0, inertia=(1, 1, 1)).joint("ball", kind, "world", "b").build()
    factor = np.ones(body.nq)
    factor[-4:] = scale
    with pytest.raises(ValueError, match=rf"^q\w*: the quaternion of joint 'ball' of sample 0 has length {scale:.9g};"):
        converted(function, body, lambda q: factor * q, same)


@every_function
def test_quaternions_close_to_unit_length_are_normalised(function: str) -> None:
    body = fw.models.box()
    exact = converted(function, body, same, same)
    close = converted(function, body, lambda q: q * np.r_[1.0, 1.0, 1.0, np.full(4, 1.0 + 5e-7)], same)
    assert_close(close[0], exact[0])
    assert_close(close[1], exact[1])


def test_pinocchios_cosine_and_sine_must_belong_together() -> None:
    model = fw.load(DATA / "axes.urdf")  # q: j3, j1 (continuous), j2; Pinocchio's: j2, j3, cos j1, sin j1
    for theirs in ([0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]):
        with pytest.raises(ValueError, match=r"q: the cosine and sine of joint 'j1' has length [02]"):
            fw.convert.from_pinocchio(model, theirs)


def test_inputs_are_not_changed(zoo: fw.Model) -> None:
    q, v = state(zoo, 3)
    q.setflags(write=False)
    v.setflags(write=False)
    for library in ("mujoco", "pinocchio"):
        theirs = getattr(fw.convert, f"to_{library}")(zoo, q, v)
        for array in theirs:
            array.setflags(write=False)
        getattr(fw.convert, f"from_{library}")(zoo, *theirs)
