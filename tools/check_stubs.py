"""Checks that src/featherweight/_core.pyi is what the built module generates; `--update` makes it so."""

import difflib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "src/featherweight/_core.pyi"
FRESH = ROOT / "build/dev/_core.pyi"


def main() -> int:
    if not FRESH.exists():
        print(f"{FRESH.relative_to(ROOT)} is missing: run `make build` first", file=sys.stderr)
        return 1
    fresh = FRESH.read_text()
    if "--update" in sys.argv:
        KEPT.write_text(fresh)
    kept = KEPT.read_text() if KEPT.exists() else ""
    if kept == fresh:
        return 0
    sys.stderr.writelines(difflib.unified_diff(kept.splitlines(True), fresh.splitlines(True), "kept", "fresh"))
    print("the stub is out of date: run `python -m tools.check_stubs --update`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
