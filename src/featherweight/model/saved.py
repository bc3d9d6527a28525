"""The saved model file: JSON, versioned, exact. The format is documented in docs/file_format.md.

Python writes the shortest decimal that reads back as the same double, so numbers survive bit for bit. JSON has no
infinity: it is written as the string "inf" or "-inf", and only limits may hold it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from .. import files
from ..arrays import Array
from ..errors import ModelError, ModelImportError
from .builder import ModelBuilder
from .description import (
    Activation,
    Actuator,
    Bend,
    Closure,
    Coupling,
    Geometry,
    ImportNote,
    Inertia,
    Joint,
    Keyframe,
    Link,
    Mimic,
    ModelDescription,
    Muscle,
    Severity,
    Strut,
    Tendon,
)
from .keyframes import by_joint
from .materials import ContactLaw, Material
from .medium import FluidShape, Medium

FORMAT = "featherweight-model"
VERSION = 1

_T = TypeVar("_T")

#: Fields of a geometry that are written only if they differ from these.
_CONTACT_FIELDS: dict[str, Any] = {"contype": 1, "conaffinity": 1, "margin": 0.0, "priority": 0}

_POSES = ("placement", "child_placement")
_LIMITS = ("lower", "upper", "effort_limit", "velocity_limit")
_JOINT_ARRAYS = (
    *("axis", "axis2", "limit_restitution", "damping", "stiffness", "rest_position", "friction", "armature", "start"),
)


def encode(description: ModelDescription) -> str:
    """The text of the file for ``description``."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "name": description.name,
        "gravity": description.gravity.tolist(),
        "links": [_encode_link(link) for link in description.links],
        "joints": [_encode_joint(joint) for joint in description.joints],
        "frames": [{"name": f.name, "link": f.link, "placement": f.placement.tolist()} for f in description.frames],
        "notes": [{**vars(note), "severity": note.severity.value} for note in description.notes],
    }
    contacts = {
        "actuators": [_encode_actuator(actuator) for actuator in description.actuators],
        "excludes": [list(links) for links in description.excludes],
        "pairs": [{**vars(pair), "law": _encode_surface(pair.law)} for pair in description.pairs],
        "closures": [_encode_fields(closure) for closure in description.closures],
        "couplings": [_encode_coupling(coupling) for coupling in description.couplings],
        "tendons": [_encode_fields(tendon) for tendon in description.tendons],
        "struts": [_encode_strut(strut) for strut in description.struts],
        "sensors": [vars(sensor) for sensor in description.sensors],
        "keyframes": [_encode_keyframe(keyframe, description) for keyframe in description.keyframes],
    }
    document |= {key: records for key, records in contacts.items() if records}
    if description.medium is not None:
        document["medium"] = _encode_fields(description.medium)
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def read(path: str | os.PathLike[str]) -> ModelDescription:
    """The description saved in the file at ``path``, checked."""
    return decode(files.read(Path(path)), path=Path(path))


def decode(text: str | bytes, path: Path | None = None) -> ModelDescription:
    """The description in ``text``; what is wrong with it raises :class:`ModelImportError`."""
    try:
        document = json.loads(text, parse_constant=_reject_constant)
    except json.JSONDecodeError as error:
        raise ModelImportError("file", f"is not JSON: {error.msg}", path, error.lineno) from None
    except (ValueError, RecursionError) as error:  # bad encoding, NaN, absurd nesting or numbers
        raise ModelImportError("file", f"is not JSON: {error}", path) from None
    try:
        return _decode_model(document)
    except ModelImportError:
        raise
    except ModelError as error:
        raise ModelImportError(error.element, error.problem, path) from None


def _encode_link(link: Link) -> dict[str, Any]:
    result: dict[str, Any] = {"name": link.name}
    inertia = link.inertia
    if inertia is not None:
        result["inertia"] = {"mass": inertia.mass, "com": inertia.com.tolist(), "matrix": inertia.matrix.tolist()}
    if link.geometries:
        result["geometries"] = [_encode_geometry(geometry) for geometry in link.geometries]
    if link.fluid_shapes:
        result["fluid_shapes"] = [_encode_fields(shape) for shape in link.fluid_shapes]
    if link.gravity_compensation != 0.0:
        result["gravity_compensation"] = link.gravity_compensation
    return result


def _encode_geometry(geometry: Geometry) -> dict[str, Any]:
    """Values that equal their defaults are left out, so that plain shapes stay short."""
    result = _encode_fields(geometry)
    if geometry.material is not None:
        result["material"] = _encode_surface(geometry.material)
    for key, default in _CONTACT_FIELDS.items():
        if result[key] == default:
            del result[key]
    return result


def _encode_surface(surface: Material | ContactLaw) -> dict[str, Any]:
    """Leaves out what is not given, and infinite stiffness, which means rigid."""
    return {key: value for key, value in vars(surface).items() if value is not None and value != math.inf}


def _encode_actuator(actuator: Actuator) -> dict[str, Any]:
    result = _encode_fields(actuator)
    for key, default in (
        ("bias", [0.0, 0.0, 0.0]),
        ("others", []),
        ("slopes", [0.0, 0.0]),
        ("wrench", []),
        ("reach", 0.0),
    ):
        if result[key] == default:
            del result[key]
    for key in ("muscle", "activation"):
        if key in result:
            result[key] = _encode_fields(result[key])
    return result


def _encode_strut(strut: Strut) -> dict[str, Any]:
    result = _encode_fields(strut) | {"points": [[link, list(p)] for link, p in strut.points]}
    for key, default in (("friction", 0.0), ("shares", []), ("bends", ())):
        if result[key] == default:
            del result[key]
    if strut.bends:
        result["bends"] = [_encode_fields(bend) for bend in strut.bends]
    return result


def _encode_coupling(coupling: Coupling) -> dict[str, Any]:
    result = _encode_fields(coupling)
    if not coupling.others:
        del result["others"]
    return result


def _encode_joint(joint: Joint) -> dict[str, Any]:
    result = _encode_fields(joint)
    if joint.mimic is not None:
        result["mimic"] = vars(joint.mimic)
    if not joint.parent_contact:
        del result["parent_contact"]
    return result


def _encode_keyframe(keyframe: Keyframe, description: ModelDescription) -> dict[str, Any]:
    """By name, since a reader may sort joints."""
    q, v = (by_joint(description, values, which) for which, values in enumerate((keyframe.q, keyframe.v)))
    return {
        "name": keyframe.name,
        "q": {name: part.tolist() for name, part in q.items()},
        "v": {name: part.tolist() for name, part in v.items()},
        "control": dict(zip((each.name for each in description.actuators), keyframe.control.tolist(), strict=True)),
        "activation": dict(
            zip(
                (each.name for each in description.actuators if each.activation is not None),
                keyframe.activation.tolist(),
                strict=True,
            )
        ),
    }


_Plain = Geometry | FluidShape | Joint | Actuator | Muscle | Activation | Closure | Coupling | Tendon | Strut | Bend


def _encode_fields(record: _Plain | Medium) -> dict[str, Any]:
    return {key: _plain(value) for key, value in vars(record).items() if value is not None}


def _plain(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return list(value) if isinstance(value, tuple) else value
    if np.isfinite(value).all():
        return value.tolist()
    return [x if np.isfinite(x) else ("inf" if x > 0 else "-inf") for x in value.tolist()]


def _reject_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


def _decode_model(document: object) -> ModelDescription:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelError("file", f'is not a saved model: it must hold "format": "{FORMAT}"')
    if document.get("version") != VERSION:
        raise ModelError("version", f"must be {VERSION}, got {document.get('version')!r}")
    fields = _Fields("file", document)
    fields.take("format", str)
    fields.take("version", int)
    # Non-physical inertias were noted when the model was first built.
    world: dict[str, Any] = {
        "gravity": fields.take("gravity", _numbers),
        "medium": fields.take("medium", _of_numbers(Medium), None),
    }
    builder = ModelBuilder(fields.take("name", str), **world, allow_nonphysical=True)
    links, joints, frames, notes = (fields.records(key) for key in ("links", "joints", "frames", "notes"))
    actuators, pairs, closures = (fields.records(key, optional=True) for key in ("actuators", "pairs", "closures"))
    keyframes, couplings, tendons, struts, sensors = (
        fields.records(key, optional=True) for key in ("keyframes", "couplings", "tendons", "struts", "sensors")
    )
    excludes = fields.take("excludes", list, [])
    fields.finish()
    builder.check_size(len(links))
    for note in notes:
        builder.note(_decode_note(note))
    for link in links:
        inertia = link.take("inertia", _record("inertia"), None)
        builder.link(
            link.take("name", str),
            inertia=None if inertia is None else _decode_inertia(inertia),
            geometries=[_decode_geometry(geometry) for geometry in link.records("geometries", optional=True)],
            fluid_shapes=link.take("fluid_shapes", _fluid_shapes, ()),
            gravity_compensation=link.take("gravity_compensation", _number, 0.0),
        )
        link.finish()
    for joint in joints:
        _decode_joint(builder, joint)
    for frame in frames:
        builder.frame(frame.take("name", str), frame.take("link", str), frame.take("placement", _numbers))
        frame.finish()
    _decode_contacts(builder, actuators, excludes, pairs, closures)
    for sensor in sensors:
        builder.sensor(sensor.take("name", str), cast(Any, sensor.take("quantity", str)), sensor.take("of", str))
        sensor.finish()
    for coupling in couplings:
        ends = coupling.take("name", str), coupling.take("joint", str), coupling.take("to", str, None)
        builder.couple(*ends, coupling.take("polynomial", _floats), coupling.take("others", list, []))
        coupling.finish()
    for tendon in tendons:
        over_joints, coefficients = tendon.take("joints", _names), tendon.take("coefficients", _floats)
        if len(over_joints) != len(coefficients) or len(set(over_joints)) != len(over_joints):
            raise ModelError("tendon", f"needs a coefficient for each joint, got {over_joints} and {coefficients}")
        over = dict(zip(over_joints, coefficients, strict=True))
        options: dict[str, Any] = {key: tendon.take(key, _number, 0.0) for key in ("stiffness", "damping", "friction")}
        options |= {key: tendon.take(key, _any, None) for key in ("range", "rest_range")}
        builder.tendon(tendon.take("name", str), over, **options)
        tendon.finish()
    for strut in struts:
        law: dict[str, Any] = {key: strut.take(key, _number, 0.0) for key in ("stiffness", "damping", "friction")}
        law |= {"range": strut.take("range", _any, None), "rest_length": strut.take("rest_range", _any, (0.0, 0.0))}
        law |= {"shares": strut.take("shares", _floats, ())}
        law |= {"bends": [_decode_bend(bend) for bend in strut.records("bends", optional=True)]}
        builder.strut(strut.take("name", str), strut.take("points", list), **law)
        strut.finish()
    for keyframe in keyframes:
        parts = {key: keyframe.take(key, dict) for key in ("q", "v", "control")}
        parts["activation"] = keyframe.take("activation", dict, {})
        builder.keyframe(keyframe.take("name", str), **parts)
        keyframe.finish()
    if builder.root_links():
        raise ModelError(f"link {builder.root_links()[0]!r}", "has no joint")
    return builder.describe()


def _decode_bend(fields: _Fields) -> Bend:
    bend = Bend(
        fields.take("span", int),
        fields.take("link", str),
        cast(Any, fields.take("shape", str)),
        fields.take("radius", _number),
        fields.take("placement", _numbers),
        cast(Any, fields.take("side", list, None)),
    )
    fields.finish()
    return bend


def _decode_inertia(fields: _Fields) -> Inertia:
    inertia = Inertia(fields.take("mass", _number), fields.take("com", _numbers), fields.take("matrix", _numbers))
    fields.finish()
    return inertia


def _decode_geometry(fields: _Fields) -> Geometry:
    geometry = Geometry(
        name=fields.take("name", str),
        role=cast(Any, fields.take("role", str)),
        shape=cast(Any, fields.take("shape", str)),
        size=fields.take("size", _any),
        placement=fields.take("placement", _numbers),
        mesh=fields.take("mesh", str, None),
        rgba=fields.take("rgba", _any, None),
        vertices=fields.take("vertices", _numbers, None),
        heights=fields.take("heights", _numbers, None),
        material=fields.take("material", _surface(Material), None),
        contype=fields.take("contype", int, 1),
        conaffinity=fields.take("conaffinity", int, 1),
        margin=fields.take("margin", _number, 0.0),
        priority=fields.take("priority", int, 0),
    )
    fields.finish()
    return geometry


def _decode_activation(value: object) -> Activation:
    fields = _Fields("Activation", value)
    kind, times = fields.take("kind", str), fields.take("time_constants", _floats, ())
    limits, early = fields.take("range", _any, None), fields.take("early", bool, False)
    fields.finish()
    return Activation(cast(Any, kind), tuple(times), limits, early)


def _of_numbers(kind: type[_T], *texts: str) -> Callable[[object], _T]:
    """A reader of records of numbers, but for ``texts``; their own checks say what is wrong with the values."""

    def decode(value: object) -> _T:
        fields = _Fields(kind.__name__, value)
        names = [field.name for field in dataclasses.fields(cast(Any, kind))]
        values = {name: fields.take(name, str if name in texts else _any) for name in names}
        fields.finish()
        return kind(**values)

    return decode


def _fluid_shapes(value: object) -> list[FluidShape]:
    if not isinstance(value, list):
        raise ModelError("file", f"'fluid_shapes' must be a list, got {_short(value)}")
    return [_of_numbers(FluidShape, "kind")(each) for each in value]


def _decode_contacts(
    builder: ModelBuilder,
    actuators: list[_Fields],
    excludes: list[Any],
    pairs: list[_Fields],
    closures: list[_Fields],
) -> None:
    for actuator in actuators:
        name, kind, joint = actuator.take("name", str), actuator.take("kind", str), actuator.take("joint", str, None)
        options: dict[str, Any] = {key: actuator.take(key, _number) for key in ("gear", "kp", "kd")}
        options |= {key: actuator.take(key, _any, None) for key in ("ctrl_range", "force_range")}
        options |= {"bias": actuator.take("bias", _any, (0.0, 0.0, 0.0)), "others": actuator.take("others", list, [])}
        options |= {"slopes": actuator.take("slopes", _any, (0.0, 0.0)), "wrench": actuator.take("wrench", _any, ())}
        options |= {"muscle": actuator.take("muscle", _of_numbers(Muscle), None)}
        options |= {"activation": actuator.take("activation", _decode_activation, None)}
        options |= {key: actuator.take(key, str, None) for key in ("frame", "strut", "sticky")}
        options |= {"reach": actuator.take("reach", _number, 0.0)}
        builder.actuator(name, joint, cast(Any, kind), **options)
        actuator.finish()
    for links in excludes:
        if not isinstance(links, list) or len(links) != 2:
            raise ModelError("file", f"'excludes' must be pairs of links, got {_short(links)}")
        builder.exclude(*links)
    for pair in pairs:
        ends = [pair.take(key, str) for key in ("link", "geometry", "other_link", "other_geometry")]
        builder.pair(ends[0], ends[1], ends[2], ends[3], pair.take("law", _surface(ContactLaw)))
        pair.finish()
    for closure in closures:
        name, link, to = (closure.take(key, str) for key in ("name", "link", "to"))
        frames = {key: closure.take(key, _numbers) for key in ("placement", "to_placement")}
        builder.close(name, link, to, rows=closure.take("rows", list), **frames)
        closure.finish()


def _surface(kind: type[_T]) -> Callable[[object], _T]:
    """A reader of ``kind``, a Material or a ContactLaw; its own checks say what is wrong with the values."""

    def decode(value: object) -> _T:
        fields = _Fields(kind.__name__, value)
        names = [field.name for field in dataclasses.fields(cast(Any, kind))]
        values = {name: fields.take(name, int if name == "dim" else _number, None) for name in names}
        fields.finish()
        try:
            return kind(**{name: given for name, given in values.items() if given is not None})
        except ValueError as error:
            raise ModelError(kind.__name__, str(error)) from None

    return decode


def _decode_joint(builder: ModelBuilder, fields: _Fields) -> None:
    mimic = fields.take("mimic", _record("mimic"), None)
    name, type_, parent, child = (fields.take(key, str) for key in ("name", "type", "parent", "child"))
    options: dict[str, Any] = {key: fields.take(key, _numbers, None) for key in (*_POSES, *_JOINT_ARRAYS)}
    options |= {key: fields.take(key, _limits, None) for key in _LIMITS}
    if mimic is not None:
        options["mimic"] = Mimic(
            mimic.take("joint", str), mimic.take("multiplier", _number), mimic.take("offset", _number)
        )
        mimic.finish()
    options["parent_contact"] = fields.take("parent_contact", bool, False)
    builder.joint(name, cast(Any, type_), parent, child, pitch=fields.take("pitch", _number, 0.0), **options)
    fields.finish()


def _decode_note(fields: _Fields) -> ImportNote:
    note = ImportNote(
        element=fields.take("element", str),
        line=fields.take("line", int, None),
        message=fields.take("message", str),
        severity=_decode_severity(fields),
    )
    fields.finish()
    return note


def _decode_severity(fields: _Fields) -> Severity:
    honoured = fields.take("honoured", bool, None)  # as files had it before there were severities
    if honoured is not None:
        return Severity.NOTHING if honoured else Severity.MOTION
    name = fields.take("severity", str)
    if name not in {severity.value for severity in Severity}:
        raise ModelError("note", f"'severity' must be one of {', '.join(map(str, Severity))}, got {name!r}")
    return Severity(name)


class _Fields:
    """A JSON object being read: every key is taken exactly once, and none may be left over."""

    def __init__(self, element: str, value: object) -> None:
        if not isinstance(value, dict):
            raise ModelError(element, f"must be an object, got {_short(value)}")
        self._element = f"{element} {value['name']!r}" if isinstance(value.get("name"), str) else element
        self._left = dict(value)

    def take(self, key: str, kind: Callable[[Any], _T], default: Any = ...) -> _T:
        if key not in self._left:
            if default is ...:
                raise ModelError(self._element, f"{key!r} is missing")
            return default  # type: ignore[no-any-return]
        value = self._left.pop(key)
        if value is None and default is None:
            return None  # type: ignore[return-value]
        if isinstance(kind, type) and type(value) is not kind:
            raise ModelError(self._element, f"{key!r} must be {_KIND_NAMES[kind]}, got {_short(value)}")
        try:
            return kind(value)
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(self._element, f"{key!r} must be numbers, got {_short(value)}") from None

    def records(self, key: str, *, optional: bool = False) -> list[_Fields]:
        values = self.take(key, list, [] if optional else ...)
        kind = key[:-1] if key != "geometries" else "geometry"
        return [_Fields(kind, value) for value in values]

    def finish(self) -> None:
        if self._left:
            raise ModelError(self._element, f"unknown key {next(iter(self._left))!r}")


_KIND_NAMES: dict[type, str] = {
    str: "a string",
    int: "an integer",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def _any(value: Any) -> Any:
    return value


def _record(element: str) -> Callable[[object], _Fields]:
    return lambda value: _Fields(element, value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _numbers(value: object) -> Array:
    """An array of any shape from nested lists; the builder checks the shape."""
    result = np.asarray(value)
    if result.size and result.dtype.kind not in "if":
        raise TypeError
    return result.astype(np.float64)


def _names(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ModelError("file", f"expected a list of names, got {_short(value)}")
    return value


def _floats(value: object) -> list[float]:
    if not isinstance(value, list):
        raise TypeError
    return [_number(x) for x in value]


def _limits(value: object) -> Array:
    if not isinstance(value, list):
        raise TypeError
    infinities = {"inf": np.inf, "-inf": -np.inf}
    return _numbers([infinities[x] if x in ("inf", "-inf") else x for x in value])


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "..."
