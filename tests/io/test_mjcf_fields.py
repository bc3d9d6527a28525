"""Everything that an MJCF file says is honoured or listed: each field of MuJoCo's specification is changed in turn.

A change that reaches MuJoCo's compiled model must change the description or its notes. What it may leave alone is
listed here, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.io import mjcf, mjcf_options
from featherweight.io.mjcf_source import MjcfSource

mujoco = pytest.importorskip("mujoco")

BASE = """<mujoco>
<compiler autolimits="false"/>
<asset><mesh name="mesh" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
<hfield name="field" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 0 1"/></asset>
<worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="a" pos="0 0 1"><freejoint name="free"/><geom name="ball" size="0.1"/><site name="s"/>
<body name="b" pos="0 0 0.5"><joint name="hinge" damping="0.1" stiffness="3" frictionloss="0.2" limited="true"
 range="-1 1" actuatorfrclimited="true" actuatorfrcrange="-5 5"/>
<geom name="box" type="box" size="0.1 0.1 0.1" pos="0 0 0.3"/>
<body name="c" pos="0 0 0.5"><joint name="slide" type="slide"/><geom name="cap" type="capsule" size="0.1 0.1"/>
</body></body></body>
<geom name="hills" type="hfield" hfield="field" pos="5 0 0"/>
<body name="m" mocap="true"><geom name="shell" type="mesh" mesh="mesh"/></body></worldbody>
<contact><pair name="pair" geom1="floor" geom2="ball"/><exclude name="exclude" body1="a" body2="c"/></contact>
<equality><weld name="weld" body1="a" body2="m"/><connect name="connect" body1="a" body2="m" anchor="0 0 0"/>
<joint name="follow" joint1="hinge" joint2="slide"/></equality>
<tendon><fixed name="tendon" stiffness="1"><joint joint="hinge" coef="1"/></fixed></tendon>
<actuator><motor name="motor" joint="hinge" forcelimited="true" forcerange="-9 9" ctrllimited="true" ctrlrange="-1 1"/>
<position name="servo" joint="slide" kp="3"/></actuator>
<sensor><gyro name="gyro" site="s"/></sensor>
<keyframe><key name="home" qpos="0 0 2 1 0 0 0 0.1 0.2"/></keyframe></mujoco>"""

LISTS = {
    "body": "bodies",
    "joint": "joints",
    "geom": "geoms",
    "site": "sites",
    "equality": "equalities",
    "tendon": "tendons",
    "actuator": "actuators",
    "pair": "pairs",
    "exclude": "excludes",
    "key": "keys",
    "hfield": "hfields",
}

SOFTNESS = {f"{sol}_{of}" for sol in ("solref", "solimp") for of in ("limit", "friction")}
#: Of limits, friction and springs that some joints do not have.
OF_OTHERS = {"range", "margin", "springyield", "actfrcrange", "springref"} | SOFTNESS

#: Fields that change the compiled model and no motion, by kind or by element.
HARMLESS = {
    # for people and programs, not for the physics
    "body": {"userdata", "sleep"},
    "joint": {"userdata", "group", "actgravcomp"},  # gravcomp is told
    "geom": {"userdata", "group", "castshadow", "fluid_coefs"},  # coefficients of ellipsoids that they are not
    "site": {"userdata", "group", "rgba", "size", "type", "material"},  # sites are frames
    # forces of a tendon are told as a whole, and this one has some
    "tendon": {"userdata", "group", "rgba", "width", "material", "margin", "springyield"} | SOFTNESS,
    # of dynamics, histories and controllers that these actuators do not have
    "actuator": {"userdata", "group", "lengthrange", "cranklength", "actrange", "actearly", "dynprm"}
    | {"velrange", "ffrange", "ctrlspec", "interp", "nsample"},
    "equality": {"objtype"},
    "key": {"time", "mpos", "mquat", "act", "plastic"},  # mocap bodies and activations are told where they are given
    "hfield": {"userdata"},  # elevations in text, which are read from the compiled model
    # the hinge has them all
    "joint free": OF_OTHERS | {"ref", "axis", "pos"},
    "joint slide": OF_OTHERS,
    "geom floor": {"size", "fluid_ellipsoid"},  # planes have no end; nothing drags at what does not move
    "geom hills": {"fluid_ellipsoid"},
    "geom shell": {"rgba", "fluid_ellipsoid"},  # it has no file, and is not shown
    # without a bias, and one of zeros is none; a hinge is the same seen from its parent
    "actuator motor": {"biasprm", "trntype", "biastype", "gaintype"},
    "actuator servo": {"trntype", "gaintype"},
}

CANDIDATES: tuple[Any, ...] = (0.5, 1, 2, 0)


def compiled(spec: Any) -> tuple[Any, fw.ModelDescription]:
    m = spec.compile()
    return m, mjcf._translated(MjcfSource(mujoco, spec, m), False)


TABLES = [
    name
    for name in dir(mujoco.MjModel)
    if isinstance(getattr(mujoco.MjModel, name), property) and not name.startswith(("_", "n", "paths", "bvh", "vis"))
]
OPTIONS = [name for name in dir(mujoco.MjOption()) if not name.startswith("_")]


def tables(m: Any) -> dict[str, Any]:
    arrays = {name: getattr(m, name) for name in TABLES}
    return {name: x for name, x in arrays.items() if isinstance(x, np.ndarray)} | {
        f"opt.{name}": np.array(getattr(m.opt, name)) for name in OPTIONS
    }


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return all(np.array_equal(a[name], b[name]) for name in a)


def changes(value: Any) -> Iterator[Any]:
    """Other values of the same kind."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fi" and value.size:
        for candidate in CANDIDATES:
            yield np.full(value.shape, candidate, dtype=value.dtype)
            changed = value.copy()
            changed.flat[0] = candidate
            yield changed
    elif isinstance(value, bool | int | float) or type(value).__name__.startswith("mjt"):
        for candidate in CANDIDATES:
            try:
                yield type(value)(candidate)
            except (TypeError, ValueError):
                continue


def fields(element: Any) -> list[str]:
    skipped = {"id", "info", "name", "signature", "parent", "frame", "compiler", "classname", "alt", "ialt"}
    names = [name for name in dir(element) if not name.startswith("_") and name not in skipped]
    return [name for name in names if not callable(getattr(element, name))]


def elements() -> list[tuple[str, str]]:
    spec = mujoco.MjSpec.from_string(BASE)
    return [
        (kind, each.name)
        for kind, listed in LISTS.items()
        for each in getattr(spec, listed)
        if each.name not in ("world", "b", "c", "box", "cap")
    ]


@pytest.fixture(scope="module")
def base() -> tuple[dict[str, Any], fw.ModelDescription]:
    m, description = compiled(mujoco.MjSpec.from_string(BASE))
    return tables(m), description


@pytest.mark.parametrize("kind, name", elements())
def test_fields_of_elements_are_honoured_or_listed(
    kind: str, name: str, base: tuple[dict[str, Any], fw.ModelDescription]
) -> None:
    def find(spec: Any) -> Any:
        return next(each for each in getattr(spec, LISTS[kind]) if each.name == name)

    harmless = HARMLESS.get(kind, set()) | HARMLESS.get(f"{kind} {name}", set())
    silent = []
    plain = mujoco.MjSpec.from_string(BASE)
    for field in fields(find(plain)):
        for value in changes(getattr(find(plain), field)):
            spec = mujoco.MjSpec.from_string(BASE)
            try:
                setattr(find(spec), field, value)
                m, description = compiled(spec)
            except Exception:  # MuJoCo refuses the value, or we do: either is loud
                continue
            if same(tables(m), base[0]):
                continue
            if description == base[1] and field not in harmless:
                silent.append((field, value))
            break
    assert not silent


@pytest.mark.parametrize("field", fields(mujoco.MjSpec().option))
def test_options_are_honoured_or_listed(field: str, base: tuple[dict[str, Any], fw.ModelDescription]) -> None:
    moving_only = ("wind", "magnetic", "o_margin", "o_solref", "o_solimp", "o_friction")  # told with what they act on
    for value in changes(getattr(mujoco.MjSpec.from_string(BASE).option, field)):
        spec = mujoco.MjSpec.from_string(BASE)
        try:
            setattr(spec.option, field, value)
            m, description = compiled(spec)
        except Exception:
            continue
        if not same(tables(m), base[0]):
            assert description != base[1] or field in moving_only, (field, value)
            break


@pytest.mark.parametrize("kind", [mujoco.mjtDisableBit, mujoco.mjtEnableBit], ids=["disable", "enable"])
def test_every_flag_is_known(kind: Any) -> None:
    names = {name.split("_", 1)[1] for name in kind.__members__ if "_" in name}
    assert names - {*mjcf_options._APPLIED, *mjcf_options._HARMLESS} <= {"OVERRIDE"}


def test_every_table_of_the_compiled_model_is_known() -> None:
    m = mujoco.MjModel.from_xml_string(BASE)
    unknown = [
        name
        for prefix, known in mjcf_options._KNOWN.items()
        for name in dir(m)
        if name.startswith(f"{prefix}_") and name[len(prefix) + 1 :] not in known
    ]
    assert not unknown


def test_tables_of_later_versions_are_listed_where_they_say_something(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**mjcf_options._KNOWN, "geom": tuple(x for x in mjcf_options._KNOWN["geom"] if x != "friction")}
    monkeypatch.setattr(mjcf_options, "_KNOWN", known)
    plain = '<mujoco><worldbody><body><freejoint/><geom size="0.1"{}/></body></worldbody></mujoco>'
    fw.loads(plain.format(""), "mjcf", strict=True)
    [note] = fw.loads(plain.format(' friction="0.3"'), "mjcf").import_report.not_honoured
    assert note.element == "geom_friction"
