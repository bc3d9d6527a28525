"""The saved model file: an exact round trip, valid JSON, and clear errors for anything else."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.forests import Forest, forests
from hypothesis import given

import featherweight as fw
from featherweight.model import saved

DATA = Path(__file__).parents[1] / "data"


def same_bits(a: Any, b: Any) -> bool:
    """Equal in type, value and every bit of every number."""
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(
            same_bits(x, y) for x, y in zip(vars(a).values(), vars(b).values(), strict=True)
        )
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(same_bits(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float):
        return isinstance(b, float) and a.hex() == b.hex()
    return type(a) is type(b) and bool(a == b)


@pytest.mark.parametrize(
    "model",
    [
        fw.models.arm(),
        fw.models.humanoid(),
        fw.models.four_bar(),
        *(fw.models.random_tree(seed, 30, floating=seed % 2 == 0) for seed in range(6)),
        fw.load(DATA / "features.urdf", floating_base=True),
        fw.load(DATA / "two_trees.urdf"),
    ],
    ids=lambda model: model.name,
)
def test_round_trip_is_exact(model: fw.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model.json")
    back = fw.Model.load(tmp_path / "model.json")
    assert same_bits(back.description, model.description)
    back.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


@given(forests())
def test_round_trip_of_random_forests_is_exact(forest: Forest) -> None:
    description = fw.Model(forest.description).description
    assert same_bits(saved.decode(saved.encode(description)), description)


def test_contacts_motors_and_closures_survive() -> None:
    material = fw.Material(friction=1 / 3, torsional=1e-300, stiffness=1e5, damping=0.1, dim=4)
    table = np.random.default_rng(0).normal(size=(3, 4))
    cloud = np.random.default_rng(1).normal(size=(9, 3))
    shapes = [
        fw.Geometry("h", "collision", "heightfield", (1.0, 2.0), heights=table, contype=2**32 - 1, conaffinity=0),
        fw.Geometry("c", "collision", "convex", (), vertices=cloud, material=material, margin=0.1 + 0.2, priority=-7),
    ]
    builder = fw.ModelBuilder("full").link("a", mass=1.0, inertia=(1, 1, 1), geometries=shapes[:1])
    builder.link("b", mass=1.0, inertia=(1, 1, 1), geometries=shapes[1:])
    builder.joint("j", "fixed", "world", "a").joint(
        "k", "revolute", "a", "b", axis="x", stiffness=1 / 3, rest_position=-0.7, start=[1 / 7], parent_contact=True
    )
    builder.link("c", mass=1.0, inertia=(1, 1, 1)).joint("l", "prismatic", "b", "c", axis="z")
    builder.actuator("m", "k", "position", gear=-2.0, kp=1 / 3, kd=0.1, ctrl_range=(-1, 1), force_range=(-0.0, 5e-324))
    builder.actuator("n", "k", "general", kp=-1 / 3, bias=(0.1, -0.2, 0.0))
    builder.actuator("o", "k", others=[("k", 1 / 7)])
    builder.couple("follow", "k", None, [1 / 3, 0.1]).couple("other", "l", "k", [0.0, 1 / 3])
    builder.tendon("t", {"k": 1 / 3}, range=(-1, 1), stiffness=0.1, rest_range=(0, 1 / 3), damping=0.2, friction=0.3)
    builder.keyframe("home", q={"k": [1 / 3]}, v={"k": [0.1]}, control={"n": 0.7})
    builder.exclude("a", "b")
    builder.pair("a", "h", "b", "c", fw.ContactLaw(friction=0.1, rolling=0.2, margin=0.3, dim=6))
    builder.pair("a", "h", "b", "c", fw.ContactLaw(stiffness=1e4, damping=3.0))
    builder.close(
        "loop", "b", "world", placement=(1, 2, 3), to_placement=fw.pose(rpy=(0.1, 0.2, 0.3)), rows=("x", "rz")
    )
    description = builder.describe()
    text = saved.encode(description)
    assert same_bits(saved.decode(text), description)
    assert saved.encode(saved.decode(text)) == text
    for part in (description, saved.decode(text)):
        assert not any(g.heights.flags.writeable for g in part.links[0].geometries if g.heights is not None)


def test_models_without_contacts_are_written_as_before() -> None:
    document = json.loads(saved.encode(fw.models.arm().description))
    assert set(document) == {"format", "version", "name", "gravity", "links", "joints", "frames", "notes"}
    assert set(document["links"][0]["geometries"][1]) == {"name", "role", "shape", "size", "placement", "rgba"}


def test_awkward_numbers_survive() -> None:
    builder = fw.ModelBuilder("awkward", gravity=(-0.0, 5e-324, 0.1 + 0.2))
    builder.link("a", mass=1 / 3, com=(1e-300, -0.0, 1e300), inertia=(1e-310, 1e-310, 1e-310))
    builder.joint("j", "prismatic", "world", "a", axis=(1, 1e-9, 0), lower=-np.inf, upper=0.1, effort_limit=np.inf)
    description = builder.describe()
    assert same_bits(saved.decode(saved.encode(description)), description)


def test_nonphysical_inertia_survives_with_its_note() -> None:
    builder = fw.ModelBuilder("odd", allow_nonphysical=True)
    builder.link("a", mass=1.0, inertia=(1.0, 1.0, 3.0)).joint("j", "revolute", "world", "a", axis="z")
    description = builder.describe()
    assert len(description.notes) == 1
    assert same_bits(saved.decode(saved.encode(description)), description)


def test_notes_of_files_from_before_there_were_severities() -> None:
    document = json.loads(saved.encode(fw.load(DATA / "features.urdf").description))
    for note in document["notes"]:
        note["honoured"] = note.pop("severity") != "motion"
    again, notes = fw.loads(json.dumps(document), "json"), fw.load(DATA / "features.urdf").import_report
    assert [note.message for note in again.import_report] == [note.message for note in notes]
    assert [note.honoured for note in again.import_report] == [note.honoured for note in notes]


def test_file_is_strict_json() -> None:
    def reject(constant: str) -> None:
        raise AssertionError(constant)

    json.loads(saved.encode(fw.load(DATA / "features.urdf").description), parse_constant=reject)


DOCUMENT = json.loads(saved.encode(fw.load(DATA / "features.urdf").description))
POSE = np.eye(4).tolist()


def changed(path: str, value: Any) -> str:
    """The document with the value at ``path`` ("joints/1/axis") replaced; ``...`` deletes it."""
    document = copy.deepcopy(DOCUMENT)
    *parents, last = [int(key) if key.isdigit() else key for key in path.split("/")]
    holder = document
    for key in parents:
        holder = holder[key]
    if value is ...:
        del holder[last]
    else:
        holder[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    "path, value, complaint",
    [
        ("format", "other", "is not a saved model"),
        ("version", 2, "version: must be 1, got 2"),
        ("version", ..., "version: must be 1, got None"),
        ("name", 5, "'name' must be a string"),
        ("gravity", [0, 0], "gravity must be 3 numbers"),
        ("gravity", [0, 0, "inf"], "'gravity' must be numbers"),
        ("extra", 1, "unknown key 'extra'"),
        ("links", {}, "'links' must be a list"),
        ("links/0", [], "link: must be an object"),
        ("links/0/name", ..., "'name' is missing"),
        ("links/0/inertia/mass", -1.0, "mass must not be negative"),
        ("links/0/inertia/mass", True, "'mass' must be numbers"),
        ("links/0/inertia/matrix", [[1, 0], [0]], "'matrix' must be numbers"),
        ("links/0/geometries/0/shape", "cone", "unknown shape 'cone'"),
        ("links/0/geometries/0/shape", [], "'shape' must be a string"),
        ("links/0/geometries/0/size", [1, 2], "size must be 3 numbers"),
        ("links/0/geometries/0/contype", 1.5, "'contype' must be an integer"),
        ("links/0/geometries/0/contype", -1, "contype must be 32 bits"),
        ("links/0/geometries/0/material", {"friction": -1.0}, "Material: friction must be finite and not negative"),
        ("links/0/geometries/0/material", {"friction": "x"}, "'friction' must be numbers"),
        ("links/0/geometries/0/material", {"colour": 1.0}, "unknown key 'colour'"),
        ("links/0/geometries/0/vertices", POSE, "a convex shape needs vertices, and no other shape may have them"),
        ("links/0/geometries/0/heights", POSE, "a height field needs heights, and no other shape may have them"),
        ("actuators", [{"name": "m", "joint": "x", "kind": "motor", "gear": 1, "kp": 1, "kd": 0}], "unknown joint 'x'"),
        ("excludes", [["base"]], "'excludes' must be pairs"),
        ("excludes", [["base", "nobody"]], "link 'nobody' is not a link"),
        ("closures", [{"name": "c", "link": "base", "to": "world"}], "'placement' is missing"),
        ("pairs", [{"link": "base"}], "'geometry' is missing"),
        ("joints/1/type", "screw", "unknown type 'screw'"),
        ("joints/1/parent", "nobody", "parent 'nobody' is not a link"),
        ("joints/1/axis", [0, 0, 0], "axis is zero"),
        ("joints/1/lower", ["nan"], "'lower' must be numbers"),
        ("joints/1/lower", 5, "'lower' must be numbers"),
        ("joints/1/colour", "red", "joint 'turn': unknown key 'colour'"),
        ("joints/0", ..., "has no joint"),
        ("joints/1/placement/3/3", 2.0, "last row"),
        ("name", "\ud800", r"model: the name .*UTF-8.*'\\ud800'"),
        ("links/0/name", "\udfff", r"link: the name .*UTF-8.*'\\udfff'"),
        ("joints/1/name", "\ud800", r"joint: the name .*UTF-8.*'\\ud800'"),
        ("joints/1/parent", "\ud800", r"parent of joint 'turn': the name .*UTF-8.*'\\ud800'"),
        (
            "frames",
            [{"name": "\ud800", "link": "world", "placement": np.eye(4).tolist()}],
            r"frame: the name .*UTF-8.*'\\ud800'",
        ),
        ("notes/0/line", 1.5, "'line' must be an integer"),
        ("notes/0/severity", "grave", "'severity' must be one of motion, picture, nothing, got 'grave'"),
        ("notes/0/severity", ..., "'severity' is missing"),
    ],
)
def test_wrong_documents_are_refused(path: str, value: Any, complaint: str) -> None:
    with pytest.raises(fw.ModelImportError, match=complaint):
        fw.loads(changed(path, value), "json")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": NaN}', "[" * 100_000, "\x00", '{"a": ' + "1" * 10_000 + "}"]
)
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(fw.ModelImportError, match="is not"):
        fw.loads(text, "json")


def test_broken_json_names_the_line() -> None:
    with pytest.raises(fw.ModelImportError) as caught:
        fw.loads('{\n"format":\n}', "json")
    assert caught.value.line == 3
