"""The XML reader: line numbers, and no way to make it expand, recurse or read other files."""

import pytest

import featherweight as fw
from featherweight.io import xml

BILLION_LAUGHS = b"""<?xml version="1.0"?>
<!DOCTYPE robot [
<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<robot name="&c;"/>"""


def test_elements_know_their_lines() -> None:
    root = xml.parse(b"<robot>\n\n<link name='a'/><link\nname='b'/></robot>")
    assert [(child.tag, child.attributes["name"], child.line) for child in root.children] == [
        ("link", "a", 3),
        ("link", "b", 3),
    ]


@pytest.mark.parametrize(
    "text",
    [
        BILLION_LAUGHS,
        b'<!DOCTYPE robot SYSTEM "file:///etc/passwd"><robot/>',
        b'<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
    ],
)
def test_document_types_are_refused(text: bytes) -> None:
    with pytest.raises(fw.ModelImportError, match="DOCTYPE"):
        xml.parse(text)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(fw.ModelImportError, match="nested deeper"):
        xml.parse(b"<a>" * 100_000)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00",
        b"<a b='1' b='2'/>",
        b"<a>&undefined;</a>",
        b"<a>\xff\xfe</a>",
        b"<?xml version='1.0' encoding='klingon'?><a/>",
        b"<?xml version='1.0' encoding='shift_jis'?><a/>",
        b"\xff\xfe<\x00",
    ],
)
def test_malformed_text_is_refused(text: bytes) -> None:
    with pytest.raises(fw.ModelImportError, match="malformed"):
        xml.parse(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_encodings(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><robot name="Zoé"/>'
    assert xml.parse(text.encode(encoding)).attributes["name"] == "Zoé"


def test_root_tag_is_found_behind_comments() -> None:
    assert xml.root_tag(b"<?xml version='1.0'?><!-- <robot> -- --><mujoco model='m'>") == "mujoco"
    assert xml.root_tag(b"no tags") is None
