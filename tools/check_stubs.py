"""Checks that the stubs in src/featherweight are what the built module generates; `--update` makes them so."""

import difflib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = ("_core.pyi", "_testing.pyi")  # the second is of featherweight._core._testing, and takes types from the first
TYPES = "from ._core import ConstraintSet, ConvexHull, HeightField, Model\n"


def main() -> int:
    out_of_date = False
    for name in NAMES:
        fresh_path, kept_path = ROOT / "build/dev" / name, ROOT / "src/featherweight" / name
        if not fresh_path.exists():
            print(f"{fresh_path.relative_to(ROOT)} is missing: run `make build` first", file=sys.stderr)
            return 1
        fresh = fresh_path.read_text()
        if name == "_testing.pyi":
            fresh = fresh.replace("import numpy.typing\n", f"import numpy.typing\n\n{TYPES}", 1)
        if "--update" in sys.argv:
            kept_path.write_text(fresh)
        kept = kept_path.read_text() if kept_path.exists() else ""
        if kept != fresh:
            sys.stderr.writelines(difflib.unified_diff(kept.splitlines(True), fresh.splitlines(True), "kept", "fresh"))
            out_of_date = True
    if out_of_date:
        print("stubs are out of date: run `python -m tools.check_stubs --update`", file=sys.stderr)
    return int(out_of_date)


if __name__ == "__main__":
    sys.exit(main())
