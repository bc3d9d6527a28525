"""The examples of all public names as one typed program, for type checkers to look at.

python -m tools.typed_examples program.py
"""

from __future__ import annotations

import doctest
import inspect
import sys
from pathlib import Path

import featherweight as fw

HEAD = '''"""The examples of all public names."""

import numpy as np

import featherweight as fw
'''


def public() -> dict[str, object]:
    """What a user sees, by name."""
    return {name: getattr(fw, name) for name in fw.__all__ if not name.startswith("_")}


def example_of(name: str, thing: object) -> str:
    """The statements of the example of a name, as the body of a function; those that show errors are left out."""
    text = inspect.getdoc(thing) or ""
    statements = [example.source for example in doctest.DocTestParser().get_examples(text) if example.exc_msg is None]
    body = "".join(statements).replace("\n", "\n    ").rstrip()
    return f"\n\ndef example_of_{name}() -> None:\n    {body}\n" if body else ""


def program() -> str:
    return HEAD + "".join(example_of(name, thing) for name, thing in public().items() if not inspect.ismodule(thing))


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(program())
