"""Configurations of other libraries: there and back, and the same physics on both sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close

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


@pytest.mark.parametrize("function", ["from_mujoco", "to_mujoco", "from_pinocchio", "to_pinocchio"])
def test_wrong_sizes_are_refused(zoo: fw.Model, function: str) -> None:
    with pytest.raises(ValueError, match="numbers in its last dimension"):
        getattr(fw.convert, function)(zoo, np.zeros(3))
