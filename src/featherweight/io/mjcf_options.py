"""What else an MJCF file says: options, flags, elements that are left out, and fields that nobody here knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.description import ImportNote, Severity
from .mjcf_source import MjcfSource, line_of

#: Kinds of elements that are left out: list in the specification, name in the file, what that changes, why.
_LEFT_OUT = (
    ("flexes", "flex", Severity.MOTION, "deformable bodies are not supported"),
    ("plugins", "plugin", Severity.MOTION, "plugins are not supported"),
    ("cameras", "camera", Severity.PICTURE, "cameras are not part of the model"),
    ("lights", "light", Severity.PICTURE, "lights are not part of the model"),
    ("skins", "skin", Severity.PICTURE, "skins are not part of the model"),
    ("textures", "texture", Severity.PICTURE, "textures are not part of the model"),
    ("numerics", "numeric", Severity.NOTHING, "custom data is not part of the model"),
    ("texts", "text", Severity.NOTHING, "custom data is not part of the model"),
    ("tuples", "tuple", Severity.NOTHING, "custom data is not part of the model"),
)

#: Flags that the translation applies.
_APPLIED = (
    *("CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT", "SPRING", "DAMPER", "GRAVITY", "CLAMPCTRL"),
    *("FILTERPARENT", "ACTUATION"),
)
#: Flags that say how MuJoCo computes, not what.
_HARMLESS = (
    *("WARMSTART", "REFSAFE", "SENSOR", "MIDPHASE", "EULERDAMP", "AUTORESET", "NATIVECCD", "ISLAND", "MULTICCD"),
    *("ENERGY", "FWDINV", "INVDISCRETE", "SLEEP", "DIAGEXACT", "IPC", "SPECULATIVE"),
)

#: Options that say what happens; all others say how it is computed.
_PHYSICS = ("gravity", "density", "viscosity", "wind", "disableflags", "enableflags", "disableactuator")
_OVERRIDES = ("o_margin", "o_friction", "o_solref", "o_solimp")

#: Fields of the compiled model that the translation reads, or that change no motion. Any other field is one that this
#: code has never heard of: it is reported where it differs from its default.
_KNOWN = {
    "body": (
        *("parentid", "weldid", "mocapid", "jntnum", "jntadr", "geomnum", "geomadr", "pos", "quat", "ipos", "iquat"),
        *("mass", "inertia", "gravcomp"),  # read
        *("rootid", "dofnum", "dofadr", "treeid", "simple", "sameframe", "subtreemass", "invweight0", "bvhadr"),
        *("bvhnum", "contype", "conaffinity", "margin", "user", "plugin"),  # computed by the compiler, or for others
    ),
    "jnt": (
        *("type", "qposadr", "dofadr", "bodyid", "limited", "actfrclimited", "solref", "solimp", "pos", "axis"),
        *("stiffness", "stiffnesspoly", "range", "actfrcrange", "margin", "springyield"),  # read
        *("group", "actgravcomp", "user", "actuatorid", "plasticadr"),
    ),
    "dof": (
        *("jntid", "solref", "solimp", "frictionloss", "armature", "damping", "dampingpoly"),  # read
        *("bodyid", "parentid", "treeid", "Madr", "simplenum", "invweight0", "M0", "length"),
    ),
    "geom": (
        *("type", "contype", "conaffinity", "condim", "bodyid", "dataid", "matid", "group", "priority", "solmix"),
        *("solref", "solimp", "size", "pos", "quat", "friction", "margin", "gap", "rgba", "adhesion", "surfacevel"),
        *("fluid",),  # read
        *("sameframe", "aabb", "rbound", "user", "plugin", "castshadow"),
    ),
    "pair": (
        *("dim", "geom1", "geom2", "solref", "solreffriction", "solimp", "margin", "gap", "friction", "adhesion"),
        "signature",
    ),
    "eq": ("type", "obj1id", "obj2id", "objtype", "active0", "solref", "solimp", "data"),
    "tendon": (
        *("adr", "num", "limited", "range", "stiffness", "stiffnesspoly", "damping", "dampingpoly", "frictionloss"),
        *("lengthspring", "armature"),  # read
        *("group", "matid", "width", "rgba", "user", "solref_lim", "solimp_lim", "solref_fri", "solimp_fri", "margin"),
        *("actfrclimited", "actfrcrange", "length0", "invweight0", "treenum", "treeid", "actuatorid", "springyield"),
        *("plasticadr", "type"),  # of interest only where forces act, which is told as a whole
    ),
    "actuator": (
        *("trntype", "trnid", "dyntype", "gaintype", "biastype", "gear", "gainprm", "biasprm", "dynprm", "group"),
        *("ctrllimited", "ctrlrange", "forcelimited", "forcerange", "armature", "damping", "dampingpoly", "delay"),
        *("plugin", "ctrladr", "actlimited", "actrange", "actearly"),  # read
        *("actadr", "actnum", "ctrlnum", "outadr", "outnum", "ctrlspec", "history", "historyadr", "cranklength"),
        *("acc0", "length0", "lengthrange", "user"),
    ),
}


def report_options(source: MjcfSource) -> None:
    option, default = source.m.opt, source.mujoco.MjOption()
    _report_flags(source)
    names = [name for name in dir(option) if not name.startswith("_") and name not in (*_PHYSICS, *_OVERRIDES)]
    changed = [name for name in names if not np.array_equal(getattr(option, name), getattr(default, name))]
    if changed:
        message = f"simulation settings ({', '.join(changed)}) are not part of the model"
        source.note_file("option", message, Severity.NOTHING)


def _report_flags(source: MjcfSource) -> None:
    mujoco, option = source.mujoco, source.m.opt
    members = (
        (mujoco.mjtDisableBit, "mjDSBL_", option.disableflags),
        (mujoco.mjtEnableBit, "mjENBL_", option.enableflags),
    )
    for kind, prefix, bits in members:
        found = {
            name[len(prefix) :] for name, bit in kind.__members__.items() if name.startswith(prefix) and bits & int(bit)
        }
        verb = "disable" if prefix == "mjDSBL_" else "enable"
        for names, message, severity in (
            (found & set(_APPLIED), "applied when the file is read", Severity.NOTHING),
            (found & set(_HARMLESS), "says how MuJoCo computes: left out", Severity.NOTHING),
            (found - {*_APPLIED, *_HARMLESS}, "is not imported", Severity.MOTION),
        ):
            if names:
                listed = ", ".join(sorted(name.lower() for name in names))
                source.note_file("option/flag", f"{verb} {listed}: {message}", severity)


def report_left_out(source: MjcfSource) -> None:
    for elements, kind, severity, message in _LEFT_OUT:
        for element in getattr(source.spec, elements, ()):
            label = f"{kind} {element.name!r}" if element.name else kind
            source.builder.note(ImportNote(label, line_of(element), message, severity))
    plugged = [body for body in range(source.m.nbody) if getattr(source.m, "body_plugin", {body: -1})[body] >= 0]
    source.note_all("body", plugged, "plugins are not supported", Severity.MOTION)


def report_unknown_fields(source: MjcfSource) -> None:
    """Fields of later versions of MuJoCo, where they differ from what an element has that says nothing."""
    plain: Any = None
    for prefix, known in _KNOWN.items():
        for name in dir(source.m):
            field = name[len(prefix) + 1 :]
            if not name.startswith(f"{prefix}_") or field in known:
                continue
            values = np.asarray(getattr(source.m, name))
            if plain is None:
                plain = source.mujoco.MjModel.from_xml_string(_PLAIN)
            default = np.asarray(getattr(plain, name))
            if len(values) and (
                not len(default) or not np.array_equal(values, np.broadcast_to(default[-1], values.shape))
            ):
                source.note_file(name, "is not known here: left out", Severity.MOTION)


#: One of everything, said as shortly as possible.
_PLAIN = """<mujoco><worldbody><geom name="f" type="plane" size="1 1 1"/>
<body><joint name="j"/><geom name="g" size="1"/></body></worldbody>
<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
<actuator><motor joint="j"/></actuator><contact><pair geom1="f" geom2="g"/></contact>
<equality><joint joint1="j"/></equality></mujoco>"""
