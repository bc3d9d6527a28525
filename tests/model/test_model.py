"""The compiled model: names, slices, limits, random configurations, immutability."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close, assert_same_bits

import featherweight as fw
from featherweight import Inertia, ModelDescription
from featherweight.model.description import Joint, Link
from featherweight.model.saved import encode

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def model() -> fw.Model:
    return fw.load(DATA / "features.urdf")


@pytest.fixture(scope="module")
def zoo() -> fw.Model:
    """Every joint type, many times."""
    return fw.models.random_tree(1, 60, floating=True)


def test_names(model: fw.Model) -> None:
    assert model.name == "features"
    assert "mount" not in model.joint_names  # fixed
    assert model.frame_names[: model.n_links] == model.link_names
    assert fw.models.arm().frame_names[-1] == "flange"


def test_slices_cover_q_and_v_in_order(zoo: fw.Model) -> None:
    q, v = 0, 0
    for joint in zoo.joints:
        assert joint.q_slice == slice(q, q + joint.nq)
        assert joint.v_slice == slice(v, v + joint.nv)
        q, v = q + joint.nq, v + joint.nv
    assert (q, v) == (zoo.nq, zoo.nv)


def test_joint_by_name(model: fw.Model) -> None:
    lift = model.joint("lift")
    assert (lift.name, lift.type, lift.parent, lift.child) == ("lift", "prismatic", "shoulder", "slider")
    assert (lift.q_slice, lift.v_slice) == (slice(2, 3), slice(2, 3))
    mount = model.joint("mount")
    assert (mount.nq, mount.nv) == (0, 0)
    assert model.lower[mount.q_slice].size == 0


def test_link_and_frame_by_name(model: fw.Model) -> None:
    link = model.link("slider")
    assert (link.index, link.mass, link.joint) == (4, 1.0, "lift")
    arm = fw.models.arm()
    flange = arm.frame("flange")
    assert (flange.index, flange.link) == (arm.n_links, "link_7")
    assert_close(flange.placement[:3, 3], [0, 0, 0.06])
    assert arm.frame("link_3").link == "link_3"


@pytest.mark.parametrize("kind", ["joint", "link", "frame"])
def test_unknown_names_suggest_close_ones(model: fw.Model, kind: str) -> None:
    wrong = {"joint": "lfit", "link": "slidr", "frame": "slidr"}[kind]
    with pytest.raises(ValueError, match=f"unknown {kind} '{wrong}'.*did you mean"):
        getattr(model, kind)(wrong)
    with pytest.raises(ValueError, match="unknown link 'world'"):
        model.link("world")


def test_limits_and_coefficients_are_read_only_arrays(zoo: fw.Model) -> None:
    for name, size in (("lower", zoo.nq), ("upper", zoo.nq)):
        assert getattr(zoo, name).shape == (size,)
    for name in ("effort_limit", "velocity_limit", "damping", "stiffness", "rest_position", "friction", "armature"):
        array = getattr(zoo, name)
        assert array.shape == (zoo.nv,)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
        for joint in zoo.joints:
            assert_same_bits(array[joint.v_slice], getattr(joint, name))


# -- random configurations -------------------------------------------------------------------------------------------


def test_random_is_within_limits(zoo: fw.Model) -> None:
    q = zoo.random(0, batch=1000)
    assert q.shape == (1000, zoo.nq)
    assert q.dtype == np.float64
    assert (q >= zoo.lower).all()
    assert (q <= zoo.upper).all()
    for joint in zoo.joints:
        part = q[:, joint.q_slice]
        if joint.type in ("spherical", "free"):
            assert_close(np.linalg.norm(part[:, -4:], axis=-1), np.ones(1000))
        if joint.type == "free":
            assert np.abs(part[:, :3]).max() <= 1.0
        if joint.type in ("continuous", "helical", "universal"):
            assert 3.0 < np.abs(part).max() <= np.pi
        if joint.type == "planar":
            assert np.abs(part[:, :2]).max() <= 1.0 < np.abs(part[:, 2]).max() <= np.pi


def test_random_orientations_are_uniform() -> None:
    """Uniform on the 3-sphere: mean 0 and covariance 1/4."""
    q = fw.models.box().random(0, batch=100_000)[:, 3:]
    assert_close(q.mean(axis=0), np.zeros(4), tolerance=0.01)
    assert_close(q.T @ q / len(q), np.eye(4) / 4, tolerance=0.01)


def test_random_honours_a_limit_on_one_side() -> None:
    builder = fw.ModelBuilder().link("a", mass=1.0, inertia=(1, 1, 1)).link("b", mass=1.0, inertia=(1, 1, 1))
    builder.joint("j", "prismatic", "world", "a", axis="z", lower=5.0)
    builder.joint("k", "revolute", "a", "b", axis="z", upper=-9.0)
    q = builder.build().random(0, batch=1000)
    assert_close([q[:, 0].min(), q[:, 0].max()], [5.0, 7.0], tolerance=0.01)
    assert_close([q[:, 1].min(), q[:, 1].max()], [-9.0 - 2 * np.pi, -9.0], tolerance=0.01)


def test_random_is_repeatable(zoo: fw.Model) -> None:
    assert_same_bits(zoo.random(7), zoo.random(7))
    assert_same_bits(zoo.random(np.random.default_rng(7)), zoo.random(7))
    assert zoo.random().shape == (zoo.nq,)


@pytest.mark.parametrize("batch", [0, -1, 1.5, True, "3"])
def test_random_refuses_bad_batches(zoo: fw.Model, batch: object) -> None:
    with pytest.raises(ValueError, match="batch"):
        zoo.random(0, batch=batch)  # type: ignore[arg-type]


def test_random_does_not_overflow() -> None:
    builder = fw.ModelBuilder().link("a", mass=1.0, inertia=(1, 1, 1))
    builder.joint("j", "prismatic", "world", "a", axis="z", lower=-1.7e308, upper=1.7e308)
    assert np.isfinite(builder.build().random(0, batch=100)).all()


# -- the object ------------------------------------------------------------------------------------------------------


def test_models_are_immutable(model: fw.Model) -> None:
    for name in ("description", "lower", "nq", "anything"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(model, name, None)
        with pytest.raises(AttributeError, match="immutable"):
            delattr(model, name)


def arrays_in(part: object) -> Iterator[Any]:
    """All arrays that can be reached through records, tuples and dictionaries."""
    if isinstance(part, np.ndarray):
        yield part
    elif isinstance(part, tuple | dict):
        for item in part.values() if isinstance(part, dict) else part:
            yield from arrays_in(item)
    elif is_dataclass(part):
        yield from arrays_in(vars(part))


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize("robot", ["features", "zoo", "arm", "floating"])
def test_all_arrays_of_a_model_are_read_only(robot: str, pickled: bool, zoo: fw.Model) -> None:
    robots = {"zoo": zoo, "arm": fw.models.arm(), "features": fw.load(DATA / "features.urdf")}
    robots["floating"] = fw.load(DATA / "features.urdf", floating_base=True)
    model = robots[robot]
    if pickled:
        model = pickle.loads(pickle.dumps(model))
    parts = [model.description, model.joints, tuple(model.joint(j.name) for j in model.description.joints)]
    parts += [model.link(name) for name in model.link_names] + [model.frame(name) for name in model.frame_names]
    arrays = list(arrays_in(tuple(parts)))
    assert len(arrays) > 5 * model.n_links
    assert not any(array.flags.writeable for array in arrays)


def test_a_description_given_stays_the_callers() -> None:
    placement = np.eye(4)
    link = Link("a", Inertia(1.0, np.zeros(3), np.eye(3)))
    description = ModelDescription("m", (link,), (Joint("j", "revolute", "world", "a", placement, axis=np.eye(3)[2]),))
    model = fw.Model(description)
    placement[0, 3] = 1.0  # still writable, and a copy was taken
    assert_close(model.description.joints[0].placement, np.eye(4))


def test_pickle_and_copy(model: fw.Model) -> None:
    back = pickle.loads(pickle.dumps(model))
    assert repr(back) == repr(model)
    assert_same_bits(back.description.joints[1].placement, model.description.joints[1].placement)
    assert_same_bits(back.random(0), model.random(0))
    assert copy.copy(model) is model
    assert copy.deepcopy(model) is model


def test_import_errors_survive_pickling() -> None:
    error = fw.ModelImportError("joint 'j'", "is odd", "file.urdf", 7)
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "file.urdf:7: joint 'j': is odd"


def test_reprs_are_informative(model: fw.Model) -> None:
    assert repr(model).startswith("<Model 'features': nq=13, nv=12, 5 moving joints, 7 links, 8.5 kg")
    assert "1 moving joint, 1 link," in repr(fw.models.pendulum())
    assert repr(model.joint("lift")) == "<joint 'lift': prismatic, 'shoulder' -> 'slider', q[2:3], v[2:3]>"
    assert repr(model.link("slider")) == "<link 'slider': 1 kg, 0 shapes, carried by 'lift'>"
    assert repr(model.frame("slider")) == "<frame 'slider' on 'slider'>"


def test_import_report_reads_like_a_table(model: fw.Model) -> None:
    report = model.import_report
    assert repr(report) == "<ImportReport: 9 notes, 0 change the motion>"
    assert len(report) == len(list(report)) == 9
    assert "84  joint 'lift'" in str(report)
    assert str(fw.models.box().import_report) == "import report: nothing to report"


def test_a_joint_that_moves_no_mass_is_refused() -> None:
    builder = fw.ModelBuilder().link("a").joint("j", "revolute", "world", "a", axis="z")
    with pytest.raises(ValueError, match="'j'"):
        builder.build()
    saved = json.loads(encode(fw.models.pendulum().description))
    saved["links"] = [{"name": link["name"]} for link in saved["links"]]
    with pytest.raises(fw.ModelImportError, match=r"^<string>: joint .*: nothing it moves has inertia"):
        fw.loads(json.dumps(saved), "json")


def test_import_reports_put_what_changes_the_motion_first() -> None:
    builder = fw.ModelBuilder().link("a", mass=1.0)
    for severity in (fw.Severity.NOTHING, fw.Severity.PICTURE, fw.Severity.MOTION):
        builder.note(fw.ImportNote(f"the {severity}", None, "differs", severity))
    report = builder.build().import_report
    assert [note.element for note in report.not_honoured] == ["the motion"]
    assert [note.honoured for note in report] == [True, True, False]
    assert [note.element for note in report.changing(fw.Severity.PICTURE)] == ["the picture"]
    assert [line.split()[0] for line in str(report).splitlines()[2:]] == ["MOTION", "picture", "nothing"]
