"""The examples of all public names, and all attributes of public classes, as one typed program for type checkers.

python -m tools.typed_examples program.py
"""

from __future__ import annotations

import argparse
import doctest
import importlib.util
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import featherweight as fw

#: The module that is not looked into: twins are for reading, and it shows how one is called.
TWINS = "reference"
#: Modules that need the package of the same name.
OPTIONAL = ("torch", "jax")

HEAD = '''"""The examples of all public names, and what public classes have."""

from collections.abc import Callable
from typing import Any

import numpy as np

import featherweight as fw
'''


def public() -> dict[str, object]:
    """What a user sees, as it is reached from ``fw``; without modules whose package is not installed."""
    left_out = {"Array", *(name for name in OPTIONAL if importlib.util.find_spec(name) is None)}  # Array is NumPy's
    return dict(_inside(fw, "", left_out))


def _inside(home: ModuleType, path: str, left_out: set[str]) -> Iterator[tuple[str, object]]:
    """What a module shows, and what is shown by the modules that it shows."""
    for name in home.__all__:
        if name in left_out:
            continue
        thing = getattr(home, name)
        yield f"{path}{name}", thing
        if inspect.ismodule(thing) and name != TWINS:
            yield from _inside(thing, f"{path}{name}.", left_out)


def example_of(name: str, thing: object) -> str:
    """The statements of the example of a name, as the body of a function; those that show errors are left out."""
    text = inspect.getdoc(thing) or ""
    statements = [example.source for example in doctest.DocTestParser().get_examples(text) if example.exc_msg is None]
    body = "".join(statements).replace("\n", "\n    ").rstrip()
    return f"\n\ndef example_of_{_word(name)}() -> None:\n    {body}\n" if body else ""


def attributes_of(name: str, thing: type) -> str:
    """A function that takes a value of a class, and reads all that users may read of it."""
    members = {member for base in thing.__mro__ for member in [*vars(base), *vars(base).get("__annotations__", ())]}
    shown = sorted(member for member in members if not member.startswith("_"))
    body = "".join(f"    value.{member}\n" for member in shown) or "    assert value\n"
    return f"\n\ndef attributes_of_{_word(name)}(value: fw.{name}) -> None:\n{body}"


def program(names: dict[str, object]) -> str:
    """All of them."""
    text = HEAD
    for name, thing in names.items():
        if not inspect.ismodule(thing):
            text += example_of(name, thing)
        if inspect.isclass(thing):
            text += attributes_of(name, thing)
    return text


def _word(name: str) -> str:
    return name.replace(".", "_")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    file: Path = parser.parse_args().file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(program(public()))
