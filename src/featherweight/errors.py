"""Exceptions and warnings of the package. Exceptions are ``ValueError``: what was given does not make a valid model."""

from __future__ import annotations

from pathlib import Path


class ModelError(ValueError):
    """A model that cannot be built. ``element`` names the culprit, e.g. ``"joint 'elbow'"``.

    >>> try:
    ...     fw.ModelBuilder().link("a", mass=-1.0)
    ... except fw.ModelError as error:
    ...     print(error)
    link 'a': mass must not be negative, got -1
    """

    def __init__(self, element: str, problem: str) -> None:
        super().__init__(f"{element}: {problem}")
        self.element = element
        self.problem = problem

    def __reduce__(self) -> tuple[type[ModelError], tuple[str, str]]:
        return type(self), (self.element, self.problem)


class ModelImportError(ModelError):
    """A file that cannot be imported, with the place where it fails: ``path``, ``line`` (None when unknown).

    >>> try:
    ...     fw.loads("<robot name='r'><link/></robot>", "urdf")
    ... except fw.ModelImportError as error:
    ...     print(error.line)
    1
    """

    def __init__(self, element: str, problem: str, path: str | Path | None = None, line: int | None = None) -> None:
        super().__init__(element, problem)
        self.path = path
        self.line = line

    def __str__(self) -> str:
        place = "<string>" if self.path is None else str(self.path)
        if self.line is not None:
            place += f":{self.line}"
        return f"{place}: {self.element}: {self.problem}"

    def __reduce__(self) -> tuple[type[ModelError], tuple[object, ...]]:  # type: ignore[override]
        return type(self), (self.element, self.problem, self.path, self.line)


class SimulationWarning(UserWarning):
    """Warns of a failed environment, or of an initial state that is impossible for rigid bodies.

    Filter it like any other warning: ``warnings.filterwarnings("ignore", category=fw.SimulationWarning)``.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", fw.SimulationWarning)  # trouble becomes an exception
    """


class PlanningError(ValueError):
    """Nothing was found that could be done; the message says what came closest.

    >>> raise fw.PlanningError("no skill is applicable")
    Traceback (most recent call last):
    featherweight.errors.PlanningError: no skill is applicable
    """
