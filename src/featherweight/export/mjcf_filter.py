"""Which shapes of a scene may touch, as MJCF: what MuJoCo's own rules do not say is excluded, and pairs are listed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from xml.etree.ElementTree import SubElement

import numpy as np

from ..model.description import WORLD, ModelDescription
from ..model.materials import ContactLaw
from ..scene.compiled import CompiledScene
from .mjcf_geoms import written_friction
from .writing import MjcfText, text_of

#: Pairs beyond which nothing is compared: the filter of so many shapes is that of their bits.
MOST_PAIRS = 10**6


def write_filter(
    text: MjcfText, scene: CompiledScene, description: ModelDescription, links: Sequence[str], geoms: Sequence[str]
) -> None:
    """links: of each shape, "world" for the world; geoms: their names."""
    table = scene.pair_table(MOST_PAIRS)
    if table is None:
        text.leave_out(f"which of more than {MOST_PAIRS} pairs of shapes may touch, beyond their bits")
        return
    ours = {(int(i), int(j)): scene.laws[int(k)] for i, j, k in zip(table.first, table.second, table.law, strict=True)}
    weld, above = _bodies(description)
    by_links: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for i in range(len(links)):
        for j in range(i + 1, len(links)):
            if weld[links[i]] != weld[links[j]]:
                by_links[links[i], links[j]].append((i, j))
    for (a, b), pairs in by_links.items():
        filtered = weld[a] != WORLD and weld[b] != WORLD and (above[weld[a]] == weld[b] or above[weld[b]] == weld[a])
        theirs = {pair for pair in pairs if not filtered and _bits_meet(scene, *pair)}
        here = {pair for pair in pairs if pair in ours}
        if theirs - here:
            _exclude(text, a, b)
        listed = here if theirs - here else here - theirs
        for pair in sorted(listed | {pair for pair in here if not _combine_alike(scene, *pair, ours[pair])}):
            _list(text, ours[pair], geoms[pair[0]], geoms[pair[1]])


def _exclude(text: MjcfText, a: str, b: str) -> None:
    SubElement(text.section("contact"), "exclude", {"body1": a, "body2": b})


def _list(text: MjcfText, law: ContactLaw, geom1: str, geom2: str) -> None:
    friction = (law.friction, law.friction, law.torsional, law.rolling, law.rolling)
    options = {"geom1": geom1, "geom2": geom2, "condim": str(law.dim), "friction": text_of(np.maximum(friction, 1e-5))}
    if law.margin:
        options["margin"] = repr(law.margin)
    if law.restitution or law.tangential_restitution or np.isfinite(law.stiffness):
        text.leave_out(f"restitution and stiffness of {geom1!r} on {geom2!r}")
    SubElement(text.section("contact"), "pair", options)


def _combine_alike(scene: CompiledScene, i: int, j: int, law: ContactLaw) -> bool:
    """Whether MuJoCo makes this law of the two materials as written: the larger ones, or the one in charge."""
    surfaces = [scene.surfaces[scene.shapes[k].surface] for k in (i, j)]
    leads = max(surface.priority for surface in surfaces)
    written = [written_friction(surface.material) for surface in surfaces if surface.priority == leads]
    dim = max(rows for *_, rows in written)
    slide, spin, roll = np.max([numbers for *numbers, _ in written], axis=0)
    theirs = ContactLaw(float(slide), float(spin), float(roll), dim=dim)  # without rows that rub nothing
    return (law.friction, law.torsional, law.rolling, law.dim) == (
        theirs.friction,
        theirs.torsional,
        theirs.rolling,
        theirs.dim,
    )


def _bits_meet(scene: CompiledScene, i: int, j: int) -> bool:
    a, b = scene.shapes[i], scene.shapes[j]
    return bool(a.contype & b.conaffinity or b.contype & a.conaffinity)


def _bodies(description: ModelDescription) -> tuple[dict[str, str], dict[str, str]]:
    """Of each link, the first one of its body, "world" for what does not move; of that, the body that carries it."""
    weld, above = {WORLD: WORLD}, {WORLD: WORLD}
    for joint in description.joints:
        if joint.nv:
            weld[joint.child], above[joint.child] = joint.child, weld[joint.parent]
        else:
            weld[joint.child] = weld[joint.parent]
    return weld, above
