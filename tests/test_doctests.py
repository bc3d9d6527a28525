"""Every public name has a docstring whose example runs, and says what it prints."""

import dataclasses
import doctest
import inspect
import re
from collections.abc import Iterator
from types import FunctionType

import numpy as np
import pytest

import featherweight as fw
from tools.typed_examples import TWINS, program, public

GLOBALS = {"fw": fw, "np": np}
PUBLIC = public()
#: Methods by which the package speaks to itself, or that others ask for: Gymnasium, planners, pages.
INNER = {
    *("arguments", "of", "from_arrays", "arrays", "hand_to", "changed_by", "checked", "animation", "as_coupling"),
    *("ModelBuilder.check_size", "ModelBuilder.note", "ModelBuilder.link_names", "ModelBuilder.root_links"),
    *("FluidShape.force", "LiveView.add_joint_sliders", "LiveView.close", "learn.Policy.from_torch"),
    *("size", "rules", "gym.Columns.read", "gym.Draws.scatter", "gym.Draws.normal", "gym.Task.terms"),
    *("gym.Task.repeats", "gym.Term.picked", "gym.VectorEnv.forget_ends", "gym.VectorEnv.close_extras"),
    *("mpc.FDDP.reset", "mpc.ILQR.reset", "mpc.Sampling.reset", "mpc.Sampling.update", "mpc.ClosedLoop.html"),
    *("mpc.ClosedLoop.video", "mpc.Plan.node", "mpc.Residual.bound", "mpc.Residual.value", "mpc.Residual.slopes"),
    *("mpc.Schedule.compiled", "mpc.Task.costs", "mpc.Task.quadratic", "mpc.Term.follow", "mpc.Term.targets"),
    *("is_applicable", "is_idle_after", "path", "cost"),  # of planning's skills
}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example_that_runs(name: str) -> None:
    documentation = inspect.getdoc(PUBLIC[name]) or ""
    assert len(documentation) > 20, "no docstring"
    if inspect.ismodule(PUBLIC[name]) and ">>>" not in documentation:
        return  # every name in it has one
    assert ">>>" in documentation, "no example"
    run(name, documentation)


def test_the_program_for_type_checkers_uses_every_public_name() -> None:
    text = program(PUBLIC)
    assert not [name for name in PUBLIC if name != TWINS and not re.search(rf"\bfw\.{name}\b", text)]


@pytest.mark.parametrize("name", [name for name, thing in PUBLIC.items() if inspect.isclass(thing)])
def test_everything_that_a_public_class_does_is_documented(name: str) -> None:
    """Its methods and properties; fields have comments, with shapes and units."""
    cls = PUBLIC[name]
    shown = {each: member for each, member in vars(cls).items() if not each.startswith("_")}
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    does = {each for each, member in shown.items() if inspect.isroutine(member) or isinstance(member, property)}
    assert not [each for each in does - fields if not inspect.getdoc(getattr(cls, each))]


def methods() -> Iterator[tuple[str, str]]:
    """Of public classes, those that have examples of their own."""
    for owner, thing in PUBLIC.items():
        for name, member in vars(thing).items() if inspect.isclass(thing) else ():
            text = inspect.getdoc(member) if callable(member) or isinstance(member, property) else None
            if not name.startswith("_") and text and ">>>" in text:
                yield f"{owner}.{name}", text


@pytest.mark.parametrize("name", [name for name, thing in PUBLIC.items() if inspect.isclass(thing)])
def test_what_users_call_of_a_public_class_is_in_an_example(name: str) -> None:
    """Of its own, of the class or of another method; those that others inherit are looked at where they are."""
    members = {each: member for each, member in vars(PUBLIC[name]).items() if not each.startswith("_")}
    texts = [inspect.getdoc(thing) or "" for thing in (PUBLIC[name], *members.values())]
    shown = "\n".join(example.source for text in texts for example in doctest.DocTestParser().get_examples(text))
    methods = (FunctionType, classmethod, staticmethod)
    called = [each for each, member in members.items() if isinstance(member, methods)]
    missing = [each for each in called if f".{each}(" not in shown]
    assert not [each for each in missing if not {each, f"{name}.{each}"} & INNER]


@pytest.mark.parametrize("name, documentation", [pytest.param(*each, id=each[0]) for each in methods()])
def test_examples_of_methods_run(name: str, documentation: str) -> None:
    run(name, documentation)


def run(name: str, documentation: str) -> None:
    example = doctest.DocTestParser().get_doctest(documentation, dict(GLOBALS), name, None, 0)
    told: list[str] = []
    result = doctest.DocTestRunner().run(example, out=told.append)
    assert not result.failed, "".join(told)
