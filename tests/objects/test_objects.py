"""What the compiler made of the kernels: no code shared between instruction sets, no loops where none belong."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build/dev"
NAMESPACES = ("scalar", "counting", "baseline", "v3", "v4")

pytestmark = pytest.mark.skipif(
    not (BUILD / "CMakeFiles").is_dir() or shutil.which("nm") is None or shutil.which("objdump") is None,
    reason="needs the object files of `make build` and binutils",
)


def objects(namespace: str) -> list[Path]:
    return sorted((BUILD / f"CMakeFiles/kernels_{namespace}.dir").rglob("*.o"))


def built() -> list[str]:
    return [namespace for namespace in NAMESPACES if objects(namespace)]


def defined_symbols(path: Path) -> Iterator[str]:
    listing = subprocess.run(["nm", "-C", "--defined-only", str(path)], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        _, kind, name = line.split(" ", 2)
        if kind in "TWVuDBR":  # what a linker could merge or resolve from elsewhere
            yield name


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_no_code_can_leak_into_another_instruction_set(namespace: str) -> None:
    if namespace not in built():
        pytest.skip(f"{namespace} is not built on this platform")
    own = f"featherweight::{namespace}::"
    strangers = {
        (path.name, name)
        for path in objects(namespace)
        for name in defined_symbols(path)
        if own not in name and not name.startswith("DW.ref.")
    }
    assert not strangers


def test_instruction_sets_use_only_their_registers() -> None:
    registers = {"baseline": r"%[yz]mm", "scalar": r"%zmm", "counting": r"%[yz]mm", "v3": r"%zmm"}
    for namespace, forbidden in registers.items():
        for path in objects(namespace):
            code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(path)], capture_output=True, text=True)
            assert not re.search(forbidden, code.stdout), f"{path.name} of {namespace}"


def functions(path: Path) -> dict[str, list[str]]:
    """Instructions of every function of an object."""
    code = subprocess.run(
        ["objdump", "-dC", "--no-show-raw-insn", str(path)], capture_output=True, text=True, check=True
    )
    found: dict[str, list[str]] = {}
    for block in code.stdout.split("\n\n"):
        lines = block.strip().splitlines()
        if lines and (head := re.match(r"[0-9a-f]+ <(.*)>:$", lines[0])):
            found[head[1]] = [line.split("\t", 1)[1] for line in lines[1:] if "\t" in line]
    return found


# The speed of the kernels rests on these steps being straight-line code that keeps matrices in registers. A change of
# source order or of a struct can lose a factor of two without changing a single result; instruction counts notice.
STEPS = {
    "project_out_axis<true, false, 0, false, true, false,": 445,
    "project_out_axis<false, false, 0, false, true, false,": 505,
    "move_outward<featherweight::v3::AxisJoint<0, false, true, false>": 140,
    "accelerate<featherweight::v3::AxisJoint<0, false, true, false>": 60,
    "rnea_outward<featherweight::v3::AxisJoint<0, false, true, false>": 190,
    "rnea_inward<featherweight::v3::AxisJoint<0, false, true, false>": 182,
    "crba_inward<featherweight::v3::AxisJoint<0, false, true, false>": 136,
}


@pytest.mark.parametrize("step", STEPS)
def test_steps_of_a_revolute_joint_stay_lean(step: str) -> None:
    if "v3" not in built():
        pytest.skip("the counts are for x86-64-v3")
    if "gcc" not in _compiler():
        pytest.skip("the counts are for GCC")
    matching = {
        name: code
        for path in objects("v3")
        for name, code in functions(path).items()
        if step in name and "Lanes<double, 32>" in name
    }
    assert matching, f"no function contains {step}"
    for name, code in matching.items():
        assert len(code) <= STEPS[step], f"{name}: {len(code)} instructions"
        assert not any(line.startswith("rep ") for line in code), f"{name} copies through memory"


def _compiler() -> str:
    import featherweight as fw

    return str(fw.build_info()["compiler"])
