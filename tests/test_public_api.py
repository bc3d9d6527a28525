"""What ``import featherweight as fw`` shows: the public API, all of it, under one name each, and nothing else."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import featherweight as fw

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_every_public_name_exists() -> None:
    assert len(fw.__all__) == len(set(fw.__all__))
    for name in fw.__all__:
        assert getattr(fw, name) is not None


def test_dir_is_the_public_api() -> None:
    names = set(dir(fw))
    assert {name for name in names if not name.startswith("_")} == set(fw.__all__)
    assert {"__version__", "__all__", "__doc__", "__file__", "__name__", "__path__"} <= names
    assert all(name.startswith("__") and hasattr(fw, name) for name in names - set(fw.__all__))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'featherweight' has no attribute 'abba'"):
        fw.abba  # type: ignore[attr-defined]  # noqa: B018


def test_star_brings_the_public_api() -> None:
    names: dict[str, object] = {}
    exec("from featherweight import *", names)
    assert names.keys() - {"__builtins__"} == set(fw.__all__)


@pytest.mark.parametrize("name", ["convert", "models", "reference", "torch", "jax"])
def test_public_modules_can_be_imported_by_their_public_name(name: str) -> None:
    assert importlib.import_module(f"featherweight.{name}") is getattr(fw, name)


def test_import_leaves_out_what_few_need() -> None:
    """Neither twins, pictures and the command, nor a package that is optional."""
    optional = [
        "mujoco",
        "pinocchio",
        "scipy",
        "trimesh",
        "matplotlib",
        "gymnasium",
        "torch",
        "jax",
        "importlib.metadata",
        "argparse",
        "subprocess",
        "zipfile",
    ]
    folders = (
        *("reference", "viewer", "cli", "export", "io", "sensors", "smoothing", "gym", "mpc", "planning", "cluster"),
        "learn",
    )
    late = [*optional, *(f"featherweight.{name}" for name in folders)]
    code = f"""
import sys
before = set(sys.modules)  # of the interpreter's own start
import numpy.typing
before |= set(sys.modules)
import featherweight
print(sorted((set(sys.modules) - before) & {set(late)!r}))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def programs() -> Iterator[tuple[str, str]]:
    for example in EXAMPLES:
        yield example.name, example.read_text()
    for page in PAGES:
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S):
            yield page.name, block


def test_programs_in_docs_and_examples_use_one_path_to_each_name() -> None:
    """It is ``fw.name``: nothing is imported from inside the package, and ``fw.`` is followed by public names."""
    known = {*fw.__all__, "__version__"}
    for where, program in programs():
        for node in ast.walk(ast.parse(program)):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] != "featherweight", f"{where}: {ast.unparse(node)}"
            elif isinstance(node, ast.Import):
                ours = [alias for alias in node.names if alias.name.partition(".")[0] == "featherweight"]
                assert all((each.name, each.asname) == ("featherweight", "fw") for each in ours), where
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "fw":
                assert node.attr in known, f"{where}: fw.{node.attr}"
