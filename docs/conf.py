"""The documentation site: Sphinx with MyST on the Markdown pages of the checkout. ``make docs`` builds it."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from sphinx.application import Sphinx  # noqa: E402
from sphinx.environment import BuildEnvironment  # noqa: E402
from sphinx.util import logging  # noqa: E402

import featherweight as fw  # noqa: E402
from tools import api_pages, typed_examples  # noqa: E402

project = "featherweight"
author = "The featherweight authors"
version = release = fw.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
root_doc = "docs/README"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**"]
exclude_patterns = ["docs/conf.py", "build", "**/node_modules"]

# Links work as in the plain files: to titles of other pages, and to files next to the pages.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = [
    "myst.header",  # pages may begin with a second-level title
    "myst.xref_missing",  # links to folders of the checkout; tests/test_docs.py checks that all links lead somewhere
    "misc.highlighting_failure",  # sketches of C++ are not complete
]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": False}
add_module_names = False
nitpicky = False

html_theme = "furo"
html_title = "featherweight"
html_theme_options = {"sidebar_hide_name": False}

api_pages.write(ROOT / "docs" / "api")

#: The order of the pages in the sidebar; titles are those of the pages.
CONTENTS = {
    "Tutorials": (
        *("first-hour", "quickstart", "tutorials/own-urdf", "tutorials/pick-a-cube", "learning"),
        *("tutorials/closed-loops", "tutorials/gradients", "cluster"),
    ),
    "User guide": (
        *(
            "notation",
            "importing",
            "scene",
            "simulator",
            "actuators",
            "mechanisms",
            "viewing",
            "control",
            "mpc",
            "demonstrations",
            "policies",
            "planning",
        ),
        *("constraints", "which-algorithm", "delassus", "derivatives", "step_derivatives", "smoothing"),
        *("reliability", "coming-from-mujoco", "coming-from-pinocchio", "file_format", "api/index"),
    ),
    "Results": ("scoreboard", "zoo", "benchmarks"),
    "For developers": ("theory", "theory_contact", "architecture", "adr/README"),
    "The project": ("/README", "/CONTRIBUTING", "/CHANGELOG"),
}


def setup(app: Sphinx) -> None:
    app.connect("env-check-consistency", all_is_described)
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-docstring", as_written)


def all_is_described(app: Sphinx, env: BuildEnvironment) -> None:
    """Warns, and so fails the build, unless every public name is on a page of the reference."""
    python = env.domains.python_domain
    known = {*python.objects, *python.modules}
    if missing := [name for name in typed_examples.public() if f"featherweight.{name}" not in known]:
        logging.getLogger(__name__).warning("not in the reference: %s", ", ".join(missing))


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Adds tables of contents, which would be in the way where pages are read as plain files."""
    if page == root_doc:
        listed = {name for names in CONTENTS.values() for name in names}
        rest = tuple(sorted(path.stem for path in (ROOT / "docs").glob("*.md") if path.stem not in {*listed, "README"}))
        for caption, names in {**CONTENTS, **({"More": rest} if rest else {})}.items():
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(names) + "\n```\n"
    elif page == "docs/adr/README":
        decisions = sorted(path.stem for path in (ROOT / "docs" / "adr").glob("0*.md"))
        source[0] += "\n```{toctree}\n:hidden:\n\n" + "\n".join(decisions) + "\n```\n"


def as_written(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Docstrings are prose with roles and examples: stars and bars mean themselves, indented lines are blocks."""
    shown: list[str] = []
    depth, in_example = 0, False
    for line in lines:
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        indent = len(line) - len(line.lstrip())
        if not in_example and line.strip() and indent != depth and shown and shown[-1].strip():
            shown.append("")
        if line.strip():
            depth = indent
        if not in_example:
            parts = line.split("``")
            parts[::2] = [part.replace("*", r"\*").replace("|", r"\|") for part in parts[::2]]
            line = "``".join(parts)
        shown.append(line)
    lines[:] = shown
