"""Would the tests notice? Applies small errors to a copy of the sources, one at a time; each must fail the tests named.

    make seeded-faults                            all of them, some minutes each where the core is built again
    make seeded-faults FAULTS="python armature"   those whose names contain one of the words; "python": without building

A fault that no longer applies, since its line has changed, is an error as well: write it anew.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "seeded"
TREE = PLACE / "tree"
PYTHON = PLACE / "venv" / "bin" / "python"
COPIED = ("src", "core", "bindings", "cmake", "tests", "physics", "benchmarks", "tools", "examples")
FILES = ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE")


@dataclass(frozen=True)
class Fault:
    name: str
    file: str
    old: str  # occurs exactly once in the file
    new: str
    tests: str  # arguments of pytest

    @property
    def is_python(self) -> bool:
        return self.file.endswith(".py")


REPORTED = "tests/simulation/test_what_is_reported.py"
DEPTHS, FACING = "tests/collision/test_depths.py", "tests/collision/test_facing.py"
SIMULATION = "src/featherweight/simulation"

FAULTS = (
    Fault("python: reset keeps impulses", f"{SIMULATION}/state.py",
          "for never in (core.impulses, core.acceleration", "for never in (core.acceleration", REPORTED),
    Fault("python: times shifted by a step", f"{SIMULATION}/recording.py",
          "np.arange(1, self.rows(done) + 1)", "np.arange(self.rows(done))", REPORTED),
    Fault("python: load forgets what failed", f"{SIMULATION}/state.py",
          "    reports.hand_to(core)\n", "", REPORTED),
    Fault("a contact's torque without its arm", "bindings/step.cpp",
          " + cross(vector(c->position) - origin, push)", "", REPORTED),
    Fault("python: totals of the last stretch only", "src/featherweight/core_tables.py",
          "both._table = self._table.copy()", "both._table = np.zeros_like(self._table)", REPORTED),
    Fault("python: quaternions of files unchecked", f"{SIMULATION}/saved.py",
          'for name in ("q", "q_start"):', "for name in ():", "tests/robustness/test_saved_states.py"),
    Fault("python: files written in place", "src/featherweight/files.py",
          "if mode is not None and not stat.S_ISREG(mode):", "if True:", "tests/robustness/test_written_files.py"),
    Fault("python: an interrupt forgets where it was", f"{SIMULATION}/rollouts.py",
          "else at.core.copy()", "else at.core", "tests/robustness/test_interrupts.py tests/simulation"),
    Fault("python: a rollout's gradient forgets all states but the last", f"{SIMULATION}/derivatives.py",
          "        x += np.concatenate([dq[:, k], dv[:, k]], axis=1)",
          "        x += np.concatenate([dq[:, k], dv[:, k]], axis=1) * (k == steps - 1)",
          "tests/simulation/test_step_derivatives.py"),
    Fault("python: loops that stay open count as closed", "src/featherweight/constraints/consistent.py",
          "converged=(error <= tolerance)", "converged=(error <= 1e9)", "tests/constraints/test_consistent.py"),
    Fault("python: velocities projected without their weights", "src/featherweight/constraints/consistent.py",
          "    scale = 1.0 / np.sqrt(_weights(model, weights))\n    A =", "    scale = np.ones(model.nv)\n    A =",
          "tests/constraints/test_consistent.py"),
    Fault("python: a mimic's offset dropped", "src/featherweight/model/description.py",
          "(self.offset, self.multiplier)", "(0.0, self.multiplier)",
          "tests/io tests/simulation/test_couplings_hold.py"),
    Fault("python: an average keeps gradients that a jump hides from", "src/featherweight/smoothing/estimators.py",
          "share = np.where(biased, 0.0,", "share = np.where(biased & False, 0.0,", "tests/smoothing"),
    Fault("python: tendons without their lower limit", f"{SIMULATION}/core_arguments.py",
          "        if np.isfinite(lower):\n            yield", "        if False:\n            yield",
          "tests/simulation/test_tendons.py"),
    Fault("python: struts without their lower limit", f"{SIMULATION}/struts.py",
          "        if 0.0 < lower < np.inf:\n", "        if False:\n", "tests/simulation/test_strut_lines.py"),
    Fault("a strut does not press where it leaves a shape", "core/step/strut_lengths.hpp",
          "    grow_with(shape.at.link, shape.slot, leaves, outward * S(-1));\n", "",
          "tests/simulation/test_strut_lines.py"),
    Fault("what sticks is pushed off", "core/step/adhere.hpp",
          "pull * (side == 0 ? -1.0 : 1.0)", "pull * (side == 0 ? 1.0 : -1.0)", "tests/simulation/test_adhesion.py"),
    Fault("python: MJCF written without dampers", "src/featherweight/export/mjcf_bodies.py",
          '            ("damping", joint.damping),\n', "", "tests/export"),
    Fault("half the curvature of a coupling", "core/rows/coupling.hpp",
          "  p.curvature = p.curvature + p.curvature;\n", "", "tests/rows tests/constrained/test_loops.py"),
    Fault("a rod without its centripetal acceleration", "core/constrained/loop_pv.hpp",
          "S k = problem.targets[row.first] - rod_bias(closure, a, b, aba_.motion[closure.a.link], v_b);",
          "S k = problem.targets[row.first];", "tests/constrained/test_loops.py tests/rows"),
    Fault("closures that open along the tangent", "core/step/settle.hpp",
          "select(here, w.errors[r] * relaxation.share * S(1 / job.dt), S(0))", "S(0)",
          "tests/physics/test_closed_loops.py tests/simulation/test_closures_hold.py"),
    Fault("a tendon forgets its second branch", "core/step/joint_rows.hpp",
          "    if (row.n_beside == row.n_more) return;\n", "    if (row.n_beside <= row.n_more) return;\n",
          "tests/simulation/test_tendons.py"),
    Fault("derivatives without the armature of balls", "core/dynamics/rnea_diff.hpp",
          "    H = H + l.armature[k];\n", "", "tests/derivatives tests/dynamics"),
    Fault("records of where a step ends instead of where it began", "core/step/record.hpp",
          "store(w.kept_q, trace.nq,", "store(w.q, trace.nq,", "tests/simulation/test_recording.py"),
    Fault("steps of second order carry contacts by the velocity of their neighbours' time", "core/step/step.hpp",
          "if (scene.is_verlet() && (some || touching)) place_links(scene, w);",
          "if (scene.is_verlet() && some) place_links(scene, w);", "tests/simulation/test_neighbours.py"),
    Fault("armature of a free joint dropped", "core/dynamics/eliminate.hpp",
          "  factor.D = ldl(I, l.armature);\n  S tau[6];",
          "  C none[6] = {};\n  factor.D = ldl(I, none);\n  S tau[6];", REPORTED),
    Fault("armature of hinges dropped in inverse dynamics", "core/dynamics/rnea.hpp",
          "tau[k] = tau[k] + acceleration[k] * l.armature[k];", "tau[k] = tau[k] + acceleration[k] * S(0);",
          "tests/dynamics"),
    Fault("sign of a Coriolis force", "core/spatial/spatial.hpp",
          "  add_cross(f.lin, v.ang, cross(v.ang, b.h));", "  add_cross(f.lin, cross(v.ang, b.h), v.ang);",
          "tests/dynamics"),
    Fault("cone projected as a cylinder", "core/cones/admm.hpp",
          "max_of((mu * length + y[2]) / (1 + mu * mu), 0)", "max_of(y[2], 0)", "tests/contact"),
    Fault("primal residual of normals misreported", "core/cones/residuals.hpp",
          "        keep_worst(primal, min_of(l[2], 0));\n", "", REPORTED),
    Fault("friction of a block coupled to its normal the wrong way", "core/cones/block.hpp",
          "f.w0 = G(0, 2) * f.inverse, f.w1 = G(1, 2) * f.inverse;",
          "f.w0 = -G(0, 2) * f.inverse, f.w1 = G(1, 2) * f.inverse;", "tests/contact"),
    Fault("warm starts of any feature", "core/scene/contacts.cpp",
          "      if (o.feature != c.feature) continue;\n", "", "tests/simulation"),
    Fault("the pool forgets forks", "core/runtime/thread_pool.cpp",
          "if (!instance || owner != platform::process_number()) {", "if (!instance) {", "tests/batch/test_process.py"),
    Fault("denormals not flushed in a rollout", "core/step/environments.cpp",
          "    const FlushDenormals flush;\n", "", REPORTED),
    Fault("unconverged steps not counted", "core/step/solve.hpp",
          "  total.unconverged += last.unconverged;\n", "", REPORTED),
    Fault("the lower velocity limit dropped", "core/step/predict.hpp",
          "(abs(v) > S(m.velocity))", "(v > S(m.velocity))", REPORTED),
    Fault("a limit that pulls", "core/step/along_row.hpp",
          "return (read(q[row.term.q]) - row.bound) * row.term.coefficient;",
          "return (read(q[row.term.q]) - row.bound) * 1.0;", "tests/simulation"),
    Fault("bounces inward", "core/step/contact_rows.hpp",
          "return {material.restitution * approach.before, 0, open_shift, true};",
          "return {-material.restitution * approach.before, 0, open_shift, true};", "tests/physics tests/simulation"),
    Fault("interrupts that nobody hears", "core/runtime/interrupt.cpp",
          "  if (stop) __atomic_store_n(&stopped_, true, __ATOMIC_RELAXED);\n", "",
          "tests/robustness/test_interrupts.py"),
    Fault("contacts of a file written without room", "bindings/step.cpp",
          "x == std::floor(x))", "true)", "tests/robustness/test_saved_states.py"),
    Fault("collision: axes of boxes by rounding", "core/collision/box_box.cpp",
          "better = 1e-10;", "better = 0;", DEPTHS),
    Fault("collision: edges of boxes known better than they are", "core/collision/box_box.cpp",
          "rounding = 1e-15;", "rounding = 0;", DEPTHS),
    Fault("collision: edges of boxes too uncertain to count", "core/collision/box_box.cpp",
          "rounding = 1e-15;", "rounding = 1e-10;", DEPTHS),
    Fault("collision: edges of boxes almost sharp", "core/collision/box_box.cpp",
          "roundness = 1e-4,", "roundness = 1e-7,", DEPTHS),
    Fault("collision: edges of boxes too round", "core/collision/box_box.cpp",
          "roundness = 1e-4,", "roundness = 1e-2,", DEPTHS),
    Fault("collision: rods as round as they are thick", "core/collision/box_box.cpp",
          "of_thickness = 1e-2;", "of_thickness = 1;", DEPTHS),
    Fault("collision: polytopes that see faces by rounding", "core/collision/epa.cpp",
          "rounding = 1e-13;", "rounding = 0;", DEPTHS),
    Fault("collision: polytopes that stop early", "core/collision/epa.cpp",
          "rounding = 1e-13;", "rounding = 1e-6;", DEPTHS),
    Fault("collision: capsules that lie however steep", "core/collision/convex.cpp",
          "tilted_segment = 0.1;", "tilted_segment = 0.3;", FACING),
    Fault("collision: capsules that hardly ever lie", "core/collision/convex.cpp",
          "tilted_segment = 0.1;", "tilted_segment = 0.01;", FACING),
    Fault("collision: faces told apart by rounding", "core/collision/convex.cpp",
          "equal = 1e-9;", "equal = 0;", FACING),
    Fault("collision: facets that are all alike", "core/collision/convex.cpp",
          "equal = 1e-9;", "equal = 1e-3;", FACING),
    Fault("walked rows forget their second end", "core/step/quartets.hpp",
          "e < quartet.n_ends; ++e) {\n    const QuartetEnd& end = quartet.ends[e];\n    for_path(scene, end.link",
          "e < 1; ++e) {\n    const QuartetEnd& end = quartet.ends[e];\n    for_path(scene, end.link",
          "tests/simulation/test_bounded_effort.py"),
)  # fmt: skip


def run(*command: str | Path, cwd: Path = ROOT, timeout: float = 1800) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    try:
        return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:  # a fault that hangs is noticed
        return subprocess.CompletedProcess(words, 1, "", "timeout")


def install() -> None:
    path = f"{ROOT / '.venv' / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    build = ("-Cbuild-dir=" + str(PLACE / "cmake"), "-Ccmake.define.FEATHERWEIGHT_ISAS=native")
    result = run("env", f"PATH={path}", PYTHON, "-m", "pip", "--disable-pip-version-check", "-q", "install",
                 "--no-build-isolation", "--no-deps", "--force-reinstall", *build, TREE)  # fmt: skip
    if result.returncode:
        raise SystemExit(f"the build failed:\n{result.stdout[-3000:]}{result.stderr[-3000:]}")


def prepare() -> None:
    """A copy of the sources, and an environment that has the packages of the ordinary one but not its featherweight."""
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    for name in COPIED:
        shutil.copytree(ROOT / name, TREE / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy2(ROOT / name, TREE / name)
    if not PYTHON.exists():
        run(sys.executable, "-m", "venv", PLACE / "venv")
        site = next((PLACE / "venv" / "lib").glob("python*")) / "site-packages"
        packages = next((ROOT / ".venv" / "lib").glob("python*")) / "site-packages"
        (site / "packages.pth").write_text(f"{packages}\n")  # whose own .pth files, the editable one among them, rest
    install()


def installed(fault: Fault) -> Path:
    site = next((PLACE / "venv" / "lib").glob("python*")) / "site-packages"
    return site / Path(fault.file).relative_to("src")


def is_noticed(fault: Fault) -> bool:
    path = TREE / fault.file
    sound = path.read_text()
    if sound.count(fault.old) != 1:
        raise SystemExit(
            f"{fault.name}: {fault.file} has its line {sound.count(fault.old)} times: write the fault anew"
        )
    path.write_text(sound.replace(fault.old, fault.new))
    try:
        if fault.is_python:
            shutil.copy2(path, installed(fault))
        else:
            install()
        options = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider")
        tests = run(PYTHON, "-m", "pytest", *options, *fault.tests.split(), cwd=TREE)
    finally:
        path.write_text(sound)
        if fault.is_python:
            shutil.copy2(path, installed(fault))
    if tests.returncode > 1:  # below zero: it crashed, which is noticed
        raise SystemExit(f"{fault.name}: the tests did not run:\n{tests.stdout[-3000:]}{tests.stderr[-3000:]}")
    return tests.returncode != 0


def main() -> int:
    words = sys.argv[1:]
    chosen = [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]
    prepare()
    survivors = []
    for fault in chosen:
        start = time.monotonic()
        noticed = is_noticed(fault)
        print(f"{'noticed' if noticed else 'SURVIVED':10}{time.monotonic() - start:6.0f} s  {fault.name}", flush=True)
        survivors += [] if noticed else [fault.name]
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} noticed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
