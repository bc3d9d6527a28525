"""The documentation tells the truth: its programs run, its links lead somewhere, what it names exists."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from benchmarks import machine, update_docs
from benchmarks.report import Row
from featherweight import _core
from tools import api_pages
from tools.typed_examples import public

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGE_OF_CONTACT = ROOT / "docs" / "theory_contact.md"
ROBOT = (ROOT / "tests" / "data" / "axes.urdf").read_text()

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))


@every_page
def test_python_blocks_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In order, in one namespace, beside a file robot.urdf; indented lines after a block that prints are its output."""
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.setattr("webbrowser.open", lambda *_: True)
    monkeypatch.chdir(tmp_path)
    Path("robot.urdf").write_text(ROBOT)
    names: dict[str, Any] = {"fw": fw, "np": np, "text": ROBOT}
    for code, shown in re.findall(r"^```python\n(.*?)^```\n\n?((?:    [^\n]*\n)*)", page.read_text(), re.M | re.S):
        exec(compile(code, str(page), "exec"), names)
        printed = capsys.readouterr().out
        if shown and "print" in code:
            assert printed == re.sub(r"^    ", "", shown, flags=re.M)


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\[[^\]]*\]\(([^)]+)\)", text):  # images too
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page if not path else page.parent / path
        assert file.exists(), f"{target} in {page.name}"
        if anchor:
            assert anchor in anchors(file), f"{target} in {page.name}"


def anchors(page: Path) -> set[str]:
    """As GitHub makes them from the titles of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "adr"
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text())
    assert listed == sorted(path.name for path in folder.glob("0*.md"))


def test_every_public_name_is_in_the_reference(tmp_path: Path) -> None:
    """What the directives find is checked by the build of the site."""
    api_pages.write(tmp_path)
    pages = {path.stem: path.read_text() for path in tmp_path.glob("*.md")}
    assert set(re.findall(r"^([a-z]+)$", pages["index"], re.M)) == pages.keys() - {"index"}
    text = "\n".join(pages.values())
    directives = set(re.findall(r"^\.\. auto\w+:: featherweight\.(\S+)$", text, re.M))
    members = re.findall(r"^\.\. automodule:: featherweight\.(\S+)\n.*\n   :members: (.+)$", text, re.M)
    described = directives | {f"{module}.{name}" for module, names in members for name in names.split(", ")}
    assert not public().keys() - described


def test_theory_has_the_section_that_the_core_cites() -> None:
    cited = re.findall(r'docs/theory\.md, "([^"]+)"', (ROOT / "core" / "dynamics" / "eliminate.hpp").read_text())
    titles = re.findall(r"^## (.*)$", (ROOT / "docs" / "theory.md").read_text().lower(), re.M)
    assert cited
    assert set(cited) <= set(titles)


def test_every_citation_is_in_the_bibliography() -> None:
    """Those in brackets, [Name and Other 1999], wherever they are."""
    pattern = r"\[((?:[A-Z]|van )[^\W\d_][^\[\]\d|]*\d{4})\]"
    listed = set(re.findall(rf"^- {pattern}|; with {pattern}", PAGE_OF_CONTACT.read_text(), re.M))
    names = {name for pair in listed for name in pair if name}
    files = [p for folder in ("core", "src", "docs") for p in (ROOT / folder).rglob("*.*")]
    cited = {
        name: path.name
        for path in files
        if path.suffix in (".hpp", ".cpp", ".py", ".md")
        for name in re.findall(pattern, path.read_text())
    }
    assert len(cited) > 10
    assert not {name: file for name, file in cited.items() if name not in names}


def test_every_make_target_in_the_docs_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        named = set(re.findall(r"^    make ([\w-]+)", page.read_text(), re.M)) | set(
            re.findall(r"`make ([\w-]+)`", page.read_text())
        )
        assert named <= targets, page.name


def test_readme_lists_every_function_of_a_model() -> None:
    table = (ROOT / "README.md").read_text().split("| kinematics |")[1].split("\n\n")[0]
    functions = {name for name in fw.__all__ if hasattr(_core, name)} - {"Model", "build_info"}
    assert functions <= set(re.findall(r"`(\w+)`", table))


@pytest.mark.parametrize("peers", [(), ("pin wheel",), ("pin wheel", "pin g++", "pin clang")])
def test_readme_shows_the_last_benchmark(peers: tuple[str, ...], tmp_path: Path) -> None:
    """With whatever peers took part, and without the robots that only docs/benchmarks.md lists."""
    times = {"core float64": 0.5, "core float32": 0.25} | dict.fromkeys(peers, 4.0)
    rows = [
        Row(robot, 18, algorithm, 256, times, {}, 0.0, 1.0, 100)
        for robot in ("Go2", "Panda", "Talos")
        for algorithm in ("aba", "rnea")
    ]
    run = {"machine": machine.describe(), "rows": [asdict(row) for row in rows]}
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- benchmark:begin -->\nold\n<!-- benchmark:end -->\nafter\n")
    update_docs.fill(page, "benchmark", update_docs.summary(run))
    text = page.read_text()
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    wheel = ["Pinocchio wheel (Python)"] if "pin wheel" in peers else []
    clang = ["Pinocchio C++ (clang)"] if "pin clang" in peers else []
    ratios = ["clang / float64"] * len(clang) + ["wheel / float64"] * len(wheel)
    assert table[0] == ["robot", "algorithm", *wheel, *clang, "float64 lanes", "float32 lanes", *ratios]
    assert table[2] == ["Talos (nv 18)", "`aba`"] + ["4.00"] * len(ratios) + ["0.500", "0.250"] + ["8.0x"] * len(ratios)
    assert [row[0] for row in table[2:]] == ["Talos (nv 18)"] * 2 + ["Panda (nv 18)"] * 2
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert f"instruction set {fw.build_info()['isa']}" in text
