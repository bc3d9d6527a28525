"""Ten thousand damaged URDF files, and some SDF: each loads, or raises ModelImportError. Nothing else, and no hang.

Files are damaged as bytes (flips, cuts, copies) and as documents (numbers, names, elements moved, doubled, dropped).
Every file is made from a seed: a failure message holds what rebuilds it.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from helpers.forests import Forest, random_forest
from helpers.sdf_text import JOINTS_OF_SDF, sdf_of

import featherweight as fw
from featherweight import ModelDescription

DATA = Path(__file__).parents[1] / "data"
CASES = 10_000

NUMBER = re.compile(rb"(?<=[\" ])[-+0-9.eE]+(?=[\" ])")
ATTRIBUTE = re.compile(rb'"[^"]*"')
TAG = re.compile(rb"<[^<>]*>")
NUMBERS = (
    b"0 -0 1 -1 nan inf -inf 1e308 -1e308 1e-308 5e-324 1e999 0x10 1_000 1,5 1e \xd9\xa1 9999999999999999999999".split()
)
WORDS = [
    b"",
    b"world",
    b"base",
    b"a",
    b"root_joint",
    b"fixed",
    b"floating",
    b"planar",
    b"x" * 3000,
    b"&lt;",
    b"&bad;",
    b"\xff",
]


def seeds() -> list[bytes]:
    models = [fw.models.pendulum(), fw.models.arm(), fw.models.quadruped()]
    return [*(path.read_bytes() for path in sorted(DATA.glob("*.urdf"))), *(as_urdf(m.description) for m in models)]


def as_urdf(model: ModelDescription) -> bytes:
    """A plain URDF of a tree of hinges: links with inertia and first shape, joints with limits."""

    def text(values: object) -> str:
        return " ".join(repr(float(x)) for x in np.ravel(np.asarray(values)))

    parts = [f'<robot name="{model.name}">']
    for link in model.links:
        assert link.inertia is not None
        xx, xy, xz, _, yy, yz, _, _, zz = link.inertia.matrix.ravel()
        parts += [
            f'<link name="{link.name}"><inertial><origin xyz="{text(link.inertia.com)}" rpy="0 0 0"/>',
            f'<mass value="{link.inertia.mass}"/>',
            f'<inertia ixx="{xx}" ixy="{xy}" ixz="{xz}" iyy="{yy}" iyz="{yz}" izz="{zz}"/></inertial></link>',
        ]
    for joint in model.joints:
        if joint.parent == "world":
            continue
        kind = "revolute" if joint.type == "revolute" else "fixed"
        parts.append(
            f'<joint name="{joint.name}" type="{kind}"><origin xyz="{text(joint.placement[:3, 3])}" rpy="0 0 0"/>'
        )
        parts.append(f'<parent link="{joint.parent}"/><child link="{joint.child}"/>')
        if joint.axis is not None and joint.lower is not None and joint.upper is not None:
            parts.append(
                f'<axis xyz="{text(joint.axis)}"/><limit lower="{text(joint.lower)}" upper="{text(joint.upper)}"/>'
            )
        parts.append("</joint>")
    return "\n".join([*parts, "</robot>"]).encode()


def flip_bytes(rng: random.Random, text: bytes) -> bytes:
    damaged = bytearray(text)
    for _ in range(rng.randint(1, 4)):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


def cut(rng: random.Random, text: bytes) -> bytes:
    start = rng.randrange(len(text))
    return text[:start] + text[start + rng.choice([1, 5, 50, len(text)]) :]


def copy_bytes(rng: random.Random, text: bytes) -> bytes:
    start, to = rng.randrange(len(text)), rng.randrange(len(text))
    return text[:to] + text[start : start + rng.choice([1, 10, 200])] + text[to:]


def replace_one(rng: random.Random, text: bytes, spans: list[tuple[int, int]], new: Callable[[bytes], bytes]) -> bytes:
    if not spans:
        return text
    start, end = rng.choice(spans)
    return text[:start] + new(text[start:end]) + text[end:]


def matches(pattern: re.Pattern[bytes], text: bytes) -> list[tuple[int, int]]:
    return [match.span() for match in pattern.finditer(text)]


def elements(text: bytes) -> list[tuple[int, int]]:
    """Where the elements below the outermost one start and end, as far as tags still pair up."""
    spans: list[tuple[int, int]] = []
    open_tags: list[int] = []
    for tag in TAG.finditer(text):
        if tag.group().startswith(b"</"):
            if len(open_tags) > 1:
                spans.append((open_tags.pop(), tag.end()))
        elif tag.group().endswith(b"/>"):
            spans.append(tag.span())
        elif not tag.group().startswith((b"<?", b"<!")):
            open_tags.append(tag.start())
    return spans


def change_number(rng: random.Random, text: bytes) -> bytes:
    return replace_one(rng, text, matches(NUMBER, text), lambda _: rng.choice(NUMBERS))


def change_attribute(rng: random.Random, text: bytes) -> bytes:
    others = ATTRIBUTE.findall(text)
    new = rng.choice([b'"' + rng.choice(WORDS) + b'"', rng.choice(others or [b'""'])])
    return replace_one(rng, text, matches(ATTRIBUTE, text), lambda _: new)


def double_element(rng: random.Random, text: bytes) -> bytes:
    return replace_one(rng, text, elements(text), lambda element: element * rng.choice([2, 2, 2, 300]))


def drop_element(rng: random.Random, text: bytes) -> bytes:
    return replace_one(rng, text, elements(text), lambda _: b"")


def move_element(rng: random.Random, text: bytes) -> bytes:
    start, end = rng.choice(elements(text) or [(0, 0)])
    rest = text[:start] + text[end:]
    return replace_one(rng, rest, elements(rest), lambda other: text[start:end] + other)


def nest(rng: random.Random, text: bytes) -> bytes:
    depth = rng.choice([5, 190, 1000])
    return replace_one(rng, text, elements(text), lambda element: b"<link>" * depth + element + b"</link>" * depth)


def add_entities(rng: random.Random, text: bytes) -> bytes:
    return b'<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>' + change_attribute(rng, text)


MUTATIONS = [
    *(flip_bytes, cut, copy_bytes),
    *(change_number, change_number, change_attribute, change_attribute),
    *(double_element, drop_element, move_element),
    *(nest, add_entities),
]


def damaged(case: int, originals: list[bytes]) -> bytes:
    rng = random.Random(case)
    text = rng.choice(originals)
    for _ in range(rng.choice([1, 1, 2, 4])):
        text = rng.choice(MUTATIONS)(rng, text) or b"<"
    return text


def check_damaged_files(originals: list[bytes], format: Literal["urdf", "sdf"], cases: int) -> None:
    outcomes: Counter[str] = Counter()
    for case in range(cases):
        text = damaged(case, originals)
        try:
            model = fw.loads(text, format, floating_base=case % 2 == 0)
            assert model.nq >= model.nv
            outcomes["loaded"] += 1
        except fw.ModelImportError as error:
            assert error.line is None or error.line >= 1
            assert str(error)
            outcomes["refused"] += 1
        except Exception as error:
            raise AssertionError(f"case {case} raised {error!r} for {text[:2000]!r}") from error
    assert min(outcomes["loaded"], outcomes["refused"]) > cases // 10, outcomes


def test_ten_thousand_damaged_files() -> None:
    check_damaged_files(seeds(), "urdf", CASES)


def test_damaged_sdf_files() -> None:
    chain = random_forest(3, 6, joints=JOINTS_OF_SDF)
    plans = tuple(replace(plan, armature=False, massless=False) for plan in chain.plans)
    text = sdf_of(Forest(plans, 3).description, "1.9 relative").encode()
    check_damaged_files([(DATA / "features.sdf").read_bytes(), text], "sdf", CASES // 5)
