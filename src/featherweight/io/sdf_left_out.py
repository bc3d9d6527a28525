"""What an SDF file may hold beyond what is read, and what leaving it out changes. Whatever is not listed here may mean
anything, and so counts as changing the motion."""

from __future__ import annotations

from ..model.description import Severity
from .reader import MOTION, NOTHING, PICTURE
from .xml import Element

_WHY: dict[tuple[Severity, str], tuple[str, ...]] = {
    (NOTHING, "not part of the model"): (
        *("plugin", "sensor", "battery", "audio_source", "audio_sink", "spherical_coordinates", "magnetic_field"),
        *("atmosphere", "grid", "must_be_base_link", "gripper", "laser_retro", "description", "performer"),
        *("author", "version", "license", "simulation"),
    ),
    (NOTHING, "a setting of another solver"): (
        *("physics", "allow_auto_disable", "max_contacts", "max_vel", "min_depth", "soft_erp", "provide_feedback"),
        *("split_impulse", "split_impulse_penetration_threshold", "dart", "simbody", "poissons_ratio"),
        *("elastic_modulus", "cfm_damping", "threshold"),
    ),
    (PICTURE, "not part of the picture here"): (
        *("light", "projector", "scene", "gui", "actor", "road", "particle_emitter", "transparency", "cast_shadows"),
        *("meta", "visibility_flags", "material", "particle_scatter_ratio", "audio"),
    ),
}
_ELEMENTS = {tag: found for found, tags in _WHY.items() for tag in tags}
_PICTURES = ("visual", "material")


def judge(path: tuple[Element, ...], key: str | None) -> tuple[Severity, str]:
    """What leaving out the end of ``path``, or its attribute ``key``, changes, and why it is left out."""
    element = path[-1]
    around = {each.tag for each in path[1:-1]}
    if around.intersection(_PICTURES) or (key is not None and element.tag in _PICTURES):
        return PICTURE, "not part of the picture here"
    if key == "":
        return NOTHING, "text there has no meaning"
    if key is not None:
        return MOTION, "not known here"
    return _ELEMENTS.get(element.tag, (MOTION, "not known here"))
