"""Models, constraints and solutions arrive elsewhere as they left: equal, read-only, and with the same bits."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits
from helpers.travel import JOURNEYS

import featherweight as fw
from featherweight import records
from featherweight.model.description import Frame, Joint, Link

DATA = Path(__file__).parents[1] / "data"
FEET = ("front_left_foot", "front_right_foot", "hind_left_foot")

every_journey = pytest.mark.parametrize("travel", JOURNEYS.values(), ids=JOURNEYS.keys())
Travel = Callable[[Any], Any]


def robots() -> list[fw.Model]:
    return [fw.models.quadruped(), fw.models.arm(), fw.load(DATA / "features.urdf", floating_base=True)]


@every_journey
@pytest.mark.parametrize("model", robots(), ids=lambda model: model.name)
def test_models(travel: Travel, model: fw.Model) -> None:
    back = travel(model)
    assert back == model and hash(back) == hash(model)
    assert back.description == model.description
    assert back.import_report == model.import_report and len(back.import_report) == len(model.import_report)
    q, v = model.random(0, batch=5), np.random.default_rng(0).normal(size=(5, model.nv))
    assert_same_bits(fw.aba(back, q, v, v), fw.aba(model, q, v, v))
    assert_same_bits(back.random(1), model.random(1))
    assert not any(getattr(back, name).flags.writeable for name in ("lower", "upper", "damping", "armature"))
    assert not back.description.joints[0].placement.flags.writeable


def changed(description: fw.ModelDescription) -> dict[str, fw.ModelDescription]:
    """Each differs in a detail."""
    last = description.joints[-1]
    bent = last.placement.copy()
    bent[0, 3] = np.nextafter(bent[0, 3], 1.0)
    link = description.links[-1]
    shape = link.geometries[0]
    notes = (fw.ImportNote("joint 'x'", 3, "is odd", fw.Severity.NOTHING),)
    return {
        "name": replace(description, name="other"),
        "one bit of a placement": replace(
            description, joints=(*description.joints[:-1], replace(last, placement=bent))
        ),
        "sign of a zero": replace(description, gravity=np.where(description.gravity == 0, -0.0, description.gravity)),
        "colour": replace(
            description,
            links=(
                *description.links[:-1],
                replace(link, geometries=(replace(shape, rgba=(0, 0, 0, 1)), *link.geometries[1:])),
            ),
        ),
        "a frame": replace(description, frames=(*description.frames, Frame("here", link.name))),
        "the import report": replace(description, notes=notes),
    }


@pytest.mark.parametrize("detail", changed(fw.models.quadruped().description))
def test_models_that_differ_in_a_detail(detail: str) -> None:
    model = fw.models.quadruped()
    other = fw.Model(changed(model.description)[detail])
    assert other != model
    assert model == fw.models.quadruped() != other
    assert len({model, other, fw.models.quadruped()}) == 2


def test_a_model_is_no_other_thing() -> None:
    assert fw.models.arm() != "arm"
    assert fw.models.arm() != None  # noqa: E711


@every_journey
@pytest.mark.parametrize(
    "record",
    [
        fw.Inertia(1.0, np.zeros(3), np.eye(3)),
        fw.Geometry("hull", "collision", "convex", (), vertices=np.random.default_rng(0).random((9, 3))),
        Link("a", fw.Inertia(1.0, np.zeros(3), np.eye(3))),
        Joint("j", "revolute", "world", "a", axis=np.eye(3)[2], lower=np.array([-np.inf])),
        fw.Closure("c", "a", "b"),
        fw.Material(friction=0.3, stiffness=1e4),
        fw.ContactLaw(margin=0.01),
        fw.Actuator("motor", "j", ctrl_range=(-1.0, 1.0)),
        fw.ImportNote("robot", None, "fine", fw.Severity.NOTHING),
        fw.models.quadruped().joints[0],
        fw.models.quadruped().link("trunk"),
        fw.models.quadruped().frame("trunk"),
        fw.Newton(max_iterations=7),
        fw.Automatic(tolerance=1e-7),
        fw.GaussSeidel(),
        fw.ADMM(matrix_free=True),
        fw.IMU("trunk"),
        fw.ForceTorque("hip"),
        fw.FrameSensor("trunk"),
        fw.JointSensor("hip"),
        fw.ContactForceSensor("foot"),
        fw.convex(np.random.default_rng(0).normal(size=(20, 3)), friction=0.2),
        fw.Plane(normal=(0, 1, 1)),
    ],
    ids=lambda record: type(record).__name__,
)
def test_records(travel: Travel, record: Any) -> None:
    back = travel(record)
    assert type(back) is type(record) and back == record and hash(back) == hash(record)
    assert repr(back) == repr(record)
    assert back != replace_name(record) if hasattr(record, "name") else back != 0


def replace_name(record: Any) -> object:
    return fw.box((1, 1, 1), name="another") if isinstance(record, fw.Body) else fw.Actuator("another", "j")


# -- constraints -----------------------------------------------------------------------------------------------------


def constraints() -> list[fw.PointConstraint | fw.FrameConstraint]:
    return [
        *(fw.PointConstraint(foot) for foot in FEET[:2]),
        fw.PointConstraint(FEET[2], ["z", "x"], np.array([0.0, 0.0, 0.01]), compliance=[1e-3, 1e-4]),
        fw.FrameConstraint("trunk", rows=("z", "rx"), position=fw.pose((0, 0, 0.4)), stiffness=100, damping=20),
    ]


@every_journey
@pytest.mark.parametrize("constraint", constraints(), ids=lambda constraint: constraint.frame)
def test_constraints(travel: Travel, constraint: Any) -> None:
    back = travel(constraint)
    assert back == constraint and hash(back) == hash(constraint) and repr(back) == repr(constraint)


def test_constraints_compare_by_value() -> None:
    point = fw.PointConstraint("foot", offset=[0, 0, 0.1])
    for same in ((0, 0, 0.1), np.array([0, 0, 0.1]), [0.0, 0.0, 0.1]):
        assert fw.PointConstraint("foot", offset=same) == point
        assert hash(fw.PointConstraint("foot", offset=same)) == hash(point)
    for other in (
        fw.PointConstraint("foot"),
        fw.PointConstraint("hand", offset=[0, 0, 0.1]),
        fw.PointConstraint("foot", ("x",), [0, 0, 0.1]),
        fw.PointConstraint("foot", offset=[0, 0, 0.1], to="hand"),
        fw.PointConstraint("foot", offset=[0, 0, 0.1], position=(0, 0, 0)),
        fw.FrameConstraint("foot"),
    ):
        assert other != point
    poses = np.tile(np.eye(4), (3, 1, 1))
    assert fw.FrameConstraint("a", position=poses) == fw.FrameConstraint("a", position=poses.tolist())
    assert fw.FrameConstraint("a", position=poses) != fw.FrameConstraint("a", position=poses[:2])


def test_constraints_keep_copies_of_what_they_are_given() -> None:
    offset, rows, pose = np.zeros(3), ["x", "y"], np.eye(4)
    point, frame = fw.PointConstraint("foot", rows, offset), fw.FrameConstraint("foot", offset=pose)
    offset[0], pose[0, 3] = 1.0, 1.0
    rows.append("z")
    assert point == fw.PointConstraint("foot", ("x", "y")) and frame == fw.FrameConstraint("foot")
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(frame.offset)[0, 3] = 1.0


@every_journey
def test_a_set_stays_with_its_model(travel: Travel) -> None:
    model = fw.models.quadruped()
    compiled = fw.ConstraintSet(model, constraints())
    there, back = travel((model, compiled))
    assert back.model is there
    assert back == compiled and hash(back) == hash(compiled) and back.slices == compiled.slices
    v = np.random.default_rng(0).normal(size=(4, model.nv))
    arguments = model.random(0, batch=4), v, np.zeros((4, model.nv))
    expected = fw.constrained_dynamics(model, *arguments, compiled)
    got = fw.constrained_dynamics(there, *arguments, back)
    assert_same_bits(got.a, expected.a)
    assert got == expected and travel(expected) == expected
    assert got != fw.constrained_dynamics(model, *arguments, compiled, active=np.zeros(4, dtype=bool))


def test_sets_compare_by_model_and_constraints() -> None:
    model = fw.models.quadruped()
    compiled = fw.ConstraintSet(model, constraints())
    assert compiled == fw.ConstraintSet(fw.models.quadruped(), constraints())
    assert compiled != fw.ConstraintSet(model, constraints()[1:])
    alone = pickle.loads(pickle.dumps(compiled))  # brings its model along
    assert alone.model == model and alone.model is not model
    with pytest.raises(ValueError, match="compiled for another model"):
        fw.delassus(model, model.neutral(), alone)
    assert_same_bits(fw.delassus(alone.model, model.neutral(), alone), fw.delassus(model, model.neutral(), compiled))


# -- pickles that are not ours ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        fw.models.arm(),
        fw.ConstraintSet(fw.models.arm(), [fw.PointConstraint("link_7")]),
        fw.PointConstraint("foot"),
        fw.Material(),
        fw.Newton(),
        fw.IMU("trunk"),
        fw.Scene(),
        fw.box((1, 1, 1)),
        fw.Simulator(fw.models.arm()),
        fw.Simulator(fw.models.arm()).state(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_pickles_of_another_format_are_refused(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "PICKLE_FORMAT", 7)
    data = pickle.dumps(value)
    monkeypatch.undo()
    now = records.PICKLE_FORMAT
    with pytest.raises(pickle.UnpicklingError, match=rf"^pickle of \w+: expected format {now}.*got format 7"):
        pickle.loads(data)


@pytest.mark.parametrize(
    "state, complaint",
    [
        ({"friction": 1.0}, f"expected format {records.PICKLE_FORMAT} of featherweight, got a dict that states none"),
        (None, "got a NoneType that states none"),
        ((), "got a tuple that states none"),
        ((records.PICKLE_FORMAT, {"friction": 1.0}, []), "expected friction, torsional, .*, got friction"),
        ((records.PICKLE_FORMAT, {}, []), "got nothing"),
        ((records.PICKLE_FORMAT, 3, []), r"got \(3, \[\]\)"),
        ((records.PICKLE_FORMAT,), r"got \(\)"),
    ],
)
def test_pickles_with_other_contents_are_refused(state: object, complaint: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match=complaint):
        fw.Material.__new__(fw.Material).__setstate__(state)
