"""Prints the requirements of an extra of pyproject.toml, one per argument, for `pip install`."""

import re
import sys
from pathlib import Path


def requirements(extra: str) -> list[str]:
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    section = text.split("[project.optional-dependencies]")[1].split("\n[")[0]  # tomllib needs Python 3.11
    found = re.search(rf"^{extra} = \[(.*?)\]", section, re.M | re.S)
    if not found:
        raise SystemExit(f"pyproject.toml has no extra '{extra}'")
    return re.findall(r'"([^"]+)"', found.group(1))


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1])))
