"""Every public name has a docstring whose example runs, and says what it prints."""

import doctest
import importlib.util
import inspect
from collections.abc import Iterator

import numpy as np
import pytest

import featherweight as fw

#: Their documentation is that of what is in them.
NAMESPACES = ("cluster", "gym", "learn", "mpc", "reference")
GLOBALS = {"fw": fw, "np": np}
#: Public modules that need a package that may not be there.
MISSING = [name for name in ("torch", "jax") if importlib.util.find_spec(name) is None]


@pytest.mark.parametrize("name", fw.__all__)
def test_every_public_name_has_an_example_that_runs(name: str) -> None:
    if name in MISSING:
        pytest.skip(f"needs featherweight[{name}]")
    documentation = inspect.getdoc(getattr(fw, name)) or ""
    assert len(documentation) > 20, "no docstring"
    if ">>>" not in documentation and (name in NAMESPACES or name.endswith("Derivatives")):
        return  # shown by the functions that return them
    assert ">>>" in documentation, "no example"
    run(name, documentation)


def methods() -> Iterator[tuple[str, str]]:
    """Of public classes, and functions of public modules, that have examples of their own."""
    for owner in [*(name for name in fw.__all__ if name not in MISSING), "gym.terms", "gym.tasks"]:
        thing = fw
        for part in owner.split("."):
            thing = getattr(thing, part)
        if inspect.isclass(thing):
            members = vars(thing)
        else:
            members = {name: getattr(thing, name) for name in getattr(thing, "__all__", ())}
        for name, member in members.items():
            if name == "Array":  # NumPy's
                continue
            text = inspect.getdoc(member) if callable(member) or isinstance(member, property) else None
            if not name.startswith("_") and text and ">>>" in text:
                yield f"{owner}.{name}", text


@pytest.mark.parametrize("name, documentation", [pytest.param(*each, id=each[0]) for each in methods()])
def test_examples_of_methods_run(name: str, documentation: str) -> None:
    run(name, documentation)


def run(name: str, documentation: str) -> None:
    example = doctest.DocTestParser().get_doctest(documentation, dict(GLOBALS), name, None, 0)
    told: list[str] = []
    result = doctest.DocTestRunner().run(example, out=told.append)
    assert not result.failed, "".join(told)
