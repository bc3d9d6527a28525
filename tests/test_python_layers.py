"""The folders of the package are in order: each imports only those before it, in functions and for types as well."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "featherweight"

#: What every folder may use: modules beside the folders, lowest first.
SHARED = ["_core", "_testing", "errors", "arrays", "checks", "records", "core_tables", "files", "progress"]
#: The folders, and ``featherweight`` itself: what a user sees of those before it.
LAYERS = [
    *SHARED,
    "model",
    "kinematics",
    "control",
    "io",
    "constraints",
    "derivatives",
    "scene",
    "export",
    "viewer",
    "simulation",
    "smoothing",
    "sensors",
    "mpc",
    "planning",
    "gym",
    "cluster",
    "torch",
    "jax",
    "learn",
    "reference",
    "featherweight",
    "cli",
    "__main__",
]
#: Folders of the checkout that use the package; benchmarks first, since the scoreboard prints its tables.
OUTSIDE = ["featherweight", "benchmarks", "physics"]


def imported(path: Path, package: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Line and full name, in parts, of everything the file imports, in functions and for type checkers as well."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            module = base + (node.module.split(".") if node.module else [])
            yield from ((node.lineno, [*module, alias.name]) for alias in node.names)


def layer_of(name: list[str]) -> str:
    """Of something in the package; a name that is no module of it comes from ``featherweight`` itself."""
    part = name[1] if len(name) > 1 else ""
    is_module = part in SHARED or (PACKAGE / part).is_dir() or (PACKAGE / f"{part}.py").exists()
    return part if part and is_module else "featherweight"


def files_of(layer: str) -> list[Path]:
    folder = PACKAGE / layer
    if layer == "featherweight":
        return [PACKAGE / "__init__.py"]
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{layer}.py"]


def test_every_module_is_in_a_layer() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    assert folders | modules | {"_core", "featherweight"} == set(LAYERS)
    assert len(LAYERS) == len(set(LAYERS))


@pytest.mark.parametrize("layer", [layer for layer in LAYERS if layer != "_core"])
def test_layer_imports_only_those_before_it(layer: str) -> None:
    before = set(LAYERS[: LAYERS.index(layer) + 1])
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports {'.'.join(name)}"
        for path in files_of(layer)
        for line, name in imported(path, ["featherweight", *path.relative_to(PACKAGE).parts[:-1]])
        if name[0] == "featherweight" and layer_of(name) not in before
    ]
    assert not wrong


def test_package_imports_nothing_of_the_checkout() -> None:
    outside = {"benchmarks", "physics", "tests", "helpers", "tools"}
    for path in PACKAGE.rglob("*.py"):
        assert not [name for _, name in imported(path, ["featherweight"]) if name[0] in outside], path


@pytest.mark.parametrize("folder", OUTSIDE[1:])
def test_folder_of_the_checkout_imports_only_those_before_it(folder: str) -> None:
    after = set(OUTSIDE[OUTSIDE.index(folder) + 1 :])
    for path in sorted((ROOT / folder).rglob("*.py")):
        assert not [name for _, name in imported(path, [folder]) if name[0] in after], path


def test_imports_are_seen_in_all_their_forms(tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    file.write_text("import a.b\ndef f():\n    from .. import c\n    from .d import e\n    from ..g.h import i, j\n")
    names = [".".join(name) for _, name in imported(file, ["featherweight", "model"])]
    assert names == ["a.b", "featherweight.c", "featherweight.model.d.e", "featherweight.g.h.i", "featherweight.g.h.j"]
    assert layer_of(["featherweight", "Scene"]) == layer_of(["featherweight"]) == "featherweight"
    assert layer_of(["featherweight", "scene", "scene", "Scene"]) == "scene"
