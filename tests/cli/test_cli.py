"""The command line: what it prints, what it writes, and how it fails."""

import io
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import featherweight as fw
from featherweight.cli import demo, doctor
from featherweight.cli.info import builtin_models
from featherweight.cli.main import main
from featherweight.cli.simulate import Drop
from featherweight.progress import ProgressBar
from featherweight.simulation.posture import lowest_point

DATA = Path(__file__).parents[1] / "data"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of ``featherweight arguments``."""
    try:
        code = main(arguments)
    except SystemExit as stop:  # argparse
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "featherweight", *arguments]


# -- info ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", builtin_models())
def test_info_names_every_joint_and_link_of_a_builtin_model(capsys: pytest.CaptureFixture[str], name: str) -> None:
    model = getattr(fw.models, name)()
    code, out, _ = run(capsys, "info", name)
    assert code == 0
    assert set(model.joint_names) | set(model.link_names) <= set(out.split())
    assert f"{model.mass:.6g} kg" in out


def test_info_of_a_file_with_limits_and_what_was_not_honoured(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "info", str(DATA / "features.urdf"))
    assert code == 0
    turn = next(line for line in out.splitlines() if line.startswith("turn "))
    assert turn.split() == [
        "turn",
        "revolute",
        "base",
        "shoulder",
        "z",
        "0",
        "0",
        "-1.5",
        "..",
        "2.5",
        "30",
        "4",
        "0.4",
        "0",
        "0",
    ]
    assert "mimics 'turn': scenes hold it" in out


def test_info_draws_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "info", "quadruped")
    table = out.split("\nlink ")[1].splitlines()
    lines = [line[: table[0].index("mass") + len("link ")].rstrip() for line in table]
    assert lines[lines.index("trunk") :][:6] == [
        "trunk",
        "├── front_left_hip",
        "│   └── front_left_thigh",
        "│       └── front_left_calf",
        "│           └── front_left_foot",
        "├── front_right_hip",
    ]
    assert any(line.startswith("└── hind_right_hip") for line in lines)


def test_info_counts_what_a_loop_leaves_free(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "info", "five_bar")
    assert "4 degrees of freedom (nq 4, nv 4)" in out
    assert next(line for line in out.splitlines() if line.startswith("tip_pin")).split() == [
        *("tip_pin", "left_rod", "right_rod", "x", "z"),
    ]
    assert "with 1 loop closed: 2 degrees of freedom" in out
    assert "with 1 loop closed: 1 degree of freedom\n" in run(capsys, "info", "four_bar")[1] + "\n"


def test_info_lists_couplings_actuators_sensors_and_keyframes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    builder = fw.ModelBuilder.from_description(fw.models.arm().description)
    builder.couple("gear", "joint_7", "joint_6", [0.1, -2.0]).keyframe("home")
    builder.build().save(tmp_path / "arm.json")
    _, out, _ = run(capsys, "info", str(tmp_path / "arm.json"))
    assert "gear      joint_7 = -2 joint_6 + 0.1" in out
    assert "\nkeyframe: home" in out
    assert "1 moving joint," in run(capsys, "info", "pendulum")[1]


def test_info_frees_the_base_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    _, fixed, _ = run(capsys, "info", str(DATA / "axes.urdf"))
    _, floating, _ = run(capsys, "info", str(DATA / "axes.urdf"), "--floating-base")
    assert "free" not in fixed.split()
    assert "free" in floating.split()


def test_strict_info_names_the_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (DATA / "features.urdf").read_text().replace("<mimic ", "<mystery/><mimic ")
    (tmp_path / "odd.urdf").write_text(text)
    code, _, err = run(capsys, "info", str(tmp_path / "odd.urdf"), "--strict")
    assert code == 2
    assert "odd.urdf:84: " in err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nothing_here.urdf"], "does not exist"),
        (["quadrupet"], "did you mean 'quadruped'"),
        (["neither"], "the models are"),
        ([str(DATA)], "is a directory"),
        (["motion.npz"], "featherweight view shows motions"),
        (["arm", "--floating-base"], "built-in"),
    ],
)
def test_bad_models_are_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    code, out, err = run(capsys, "info", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("featherweight info: ")
    assert expected in err
    assert err.count("\n") == 1


def test_malformed_file_is_refused_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.urdf"
    bad.write_text("<robot name='r'>\n<link name='a'>\n</robot>\n")
    code, _, err = run(capsys, "info", str(bad))
    assert code == 2
    assert "bad.urdf:3" in err


@pytest.mark.parametrize("arguments", [[], ["fly"], ["demo", "--batch", "0"], ["demo", "--seconds", "nan"], ["info"]])
def test_wrong_usage_is_exit_code_2(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert err.startswith("usage: featherweight")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--version")
    assert (code, out) == (0, f"featherweight {fw.__version__}\n")


def test_bench_has_its_own_options(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "bench", "--help")
    assert code == 0
    assert "--rounds" in out
    code, _, err = run(capsys, "bench", "no_such_robot", "--algorithms", "aba")
    assert code == 2
    assert "robot 'no_such_robot': neither a file nor one of" in err and "Traceback" not in err


def test_reader_that_leaves_early_is_not_an_error() -> None:
    reader = subprocess.Popen(
        command("info", "humanoid"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert reader.stdout is not None
    assert reader.stderr is not None
    reader.stdout.close()
    assert reader.wait(60) == 0
    assert reader.stderr.read() == b""
    reader.stderr.close()


# -- simulate ------------------------------------------------------------------------------------------------------


def test_simulated_quadruped_stands_and_is_recorded_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plot = tmp_path / "new" / "walk.npz", tmp_path / "pictures" / "walk.png"
    code, text, err = run(capsys, "simulate", "quadruped", "--seconds", "1", "--out", str(out), "--plot", str(plot))
    assert (code, err) == (0, "")
    assert "times real time" in text
    assert str(out) in text
    assert str(plot) in text
    assert plot.read_bytes().startswith(b"\x89PNG")
    model = fw.models.quadruped()
    with np.load(out) as file:
        assert file["q"].shape == (501, model.nq)
        assert file["v"].shape == (501, model.nv)
        np.testing.assert_allclose(file["time"], 0.002 * np.arange(501), atol=1e-12)
        assert [name.removeprefix("robot/") for name in file["joint_names"]] == list(model.joint_names)
        assert file["contacts"][-1] == 4
        assert file["q"][-1, 2] > 0.3  # it stands
        assert file["residual"].max() < 1e-6
        np.testing.assert_allclose(file["normal_force"][-1], model.mass * 9.81, rtol=1e-3)
        assert not file["interrupted"]
    assert [path.name for path in out.parent.iterdir()] == ["walk.npz"]


def test_humanoid_stands_for_a_while() -> None:
    record = Drop(fw.models.humanoid()).run(2.0, every=10)
    assert record.base_height[-1, 0] == pytest.approx(record.base_height[0, 0], abs=0.03)
    assert record.failed == 0


@pytest.mark.parametrize("name", builtin_models())
def test_every_builtin_model_can_be_simulated(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = run(capsys, "simulate", name, "--seconds", "0.1")
    assert code == 0
    assert "failed environments" in text


@pytest.mark.parametrize("name", ["delta", "slider_crank", "stewart"])
def test_what_a_loop_ties_to_the_world_is_no_base(name: str) -> None:
    """A platform on a free joint is carried by the rods at its rim: the ground is below all of it."""
    drop = Drop(getattr(fw.models, name)())
    assert not drop.bases
    assert not drop.simulator.overlaps(drop.start())
    assert [base.link for base in Drop(fw.models.loop_biped()).bases] == ["torso"]


@pytest.mark.parametrize("file", ["features.urdf", "axes.urdf", "features.xml"])
def test_every_format_can_be_simulated(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    if file.endswith(".xml"):
        pytest.importorskip("mujoco")
    code, text, _ = run(capsys, "simulate", str(DATA / file), "--seconds", "0.1", "--ground", "none")
    assert code == 0
    assert "base f" in text


def test_simulated_batch_differs_by_its_seed_and_starts_above_the_ground(tmp_path: Path) -> None:
    heights = []
    for seed in (0, 0, 1):
        drop = Drop(fw.models.quadruped(), height=0.03)
        state = drop.start(5, seed)
        np.testing.assert_allclose(lowest_point(drop.simulator.scene, state.q), 0.03, atol=1e-12)
        heights.append(drop.run(0.1, batch=5, seed=seed, every=7).base_height)
    assert heights[0].shape == (9, 5)  # the start, seven times seven steps, and the last one
    np.testing.assert_array_equal(heights[0], heights[1])
    assert np.all(heights[0][:, 1:] != heights[2][:, 1:])
    np.testing.assert_array_equal(heights[0][:, 0], heights[2][:, 0])


def test_no_environment_of_a_batch_starts_with_limbs_inside_each_other() -> None:
    drop = Drop(fw.models.humanoid())
    assert drop.simulator.step(drop.start(64)).penetration.max() < 2e-3


def test_zero_control_lets_the_robot_collapse() -> None:
    held, loose = (
        Drop(fw.models.quadruped(), controller=c).run(1.0, every=50).base_height[-1, 0] for c in ("hold", "zero")
    )
    assert loose < held - 0.1


@pytest.mark.parametrize(
    "shape", [fw.box((0.3, 0.2, 0.1)), fw.sphere(0.1), fw.capsule(0.05, 0.2), fw.cylinder(0.1, 0.05),
              fw.ellipsoid((0.1, 0.2, 0.3)), fw.convex([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0.2, 0.1, 1)])],
    ids=lambda body: body.kind,
)  # fmt: skip
def test_lowest_point_is_where_a_plane_first_touches(shape: fw.Body) -> None:
    scene = fw.Scene()
    scene.add(shape, name="body")
    q = np.concatenate([(0.1, 0.2, 0.3), np.array((0.2, -0.5, 0.4, 0.7)) / np.linalg.norm((0.2, -0.5, 0.4, 0.7))])
    lowest = float(lowest_point(scene.compile(), q))
    scene = fw.Scene(ground=fw.Plane(offset=lowest + 1e-4))
    scene.add(shape, name="body")
    sim = fw.Simulator(scene)
    assert sim.step(sim.state(q=q)).contacts.gap.min() == pytest.approx(-1e-4, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["quadrupet"], "did you mean 'quadruped'"),
        (["quadruped", "--dt", "0.5"], "dt must be a time between 0 and 0.1 s"),
        (["quadruped", "--integrator", "rk4"], "for smooth motion"),
        (["quadruped", "--batch", "100000"], "--every"),
        (["quadruped", "--out", "."], "is a directory"),
        (["quadruped", "--out", "motion.txt"], "motion.txt: expected a name that ends in .npz"),
        (["quadruped", "--html", "page"], "page: expected a name that ends in .html"),
        (["quadruped", "--plot", "picture.foo"], "picture.foo: a picture's name ends in .avif, .eps"),
        (["quadruped", "--video", "video"], "video: the name of a video ends in .mp4, .mov, .mkv or .avi"),
        (["nothing_here.urdf"], "does not exist"),
    ],
)
def test_what_cannot_be_simulated_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    code, out, err = run(capsys, "simulate", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("featherweight simulate: ")
    assert expected in err
    assert err.count("\n") == 1


def test_simulate_without_matplotlib_says_so_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, out, err = run(capsys, "simulate", "box", "--plot", str(tmp_path / "x.png"))
    assert (code, out) == (2, "")
    assert 'pip install "featherweight[plot]"' in err


def test_interrupted_simulation_leaves_a_valid_file(tmp_path: Path) -> None:
    out = tmp_path / "partial.npz"
    running = subprocess.Popen(
        command("simulate", "quadruped", "--seconds", "1000", "--out", str(out)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell may ignore it in the background
    )
    try:
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        text, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "interrupted after" in text
    assert "Traceback" not in err
    with np.load(out) as file:
        assert file["interrupted"]
        assert 1 < len(file["time"]) == len(file["q"]) < 500_000
        assert np.isfinite(file["q"]).all()


def test_an_interrupted_video_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    pytest.importorskip("panda3d")
    monkeypatch.setattr("featherweight.viewer.film.save_video", interrupted)
    code, out, err = run(capsys, "simulate", "box", "--seconds", "0.1", "--video", str(tmp_path / "box.mp4"))
    assert (code, err) == (130, "\ninterrupted\n")
    assert out.endswith(f"video until then: {tmp_path / 'box.mp4'}\n")


# -- demo ----------------------------------------------------------------------------------------------------------


def test_demo_checks_the_physics_and_saves_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "new" / "fall.png"
    code, out, err = run(capsys, "demo", "--out", str(picture), "--batch", "5", "--seconds", "0.1")
    assert (code, err) == (0, "")
    assert out.count("  ok\n") == 3
    assert str(picture) in out
    assert fw.build_info()["isa"] in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_fails_when_the_physics_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "STEP", 0.05)
    monkeypatch.setattr(demo, "_LOOKS", 2)
    picture = tmp_path / "fall.png"
    code, out, _ = run(capsys, "demo", "--out", str(picture), "--batch", "2", "--seconds", "0.5")
    assert code == 1
    assert "TOO LARGE" in out


def test_demo_without_matplotlib_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, out, err = run(capsys, "demo", "--out", str(tmp_path / "x.png"), "--batch", "1", "--seconds", "0.01")
    assert code == 2
    assert out.count("  ok\n") == 3
    assert 'pip install "featherweight[plot]"' in err


def test_demo_says_where_it_cannot_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = run(capsys, "demo", "--out", str(tmp_path / "file" / "x.png"), "--batch", "1", "--seconds", "0.01")
    assert code == 2
    assert str(tmp_path / "file") in err


def test_interrupted_demo_leaves_without_a_traceback() -> None:
    falling = subprocess.Popen(
        command("demo", "--batch", "64", "--seconds", "1000"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell may ignore it in the background
    )
    try:
        assert falling.stdout is not None
        for line in falling.stdout:
            if line.startswith("instruction set"):
                break
        time.sleep(0.2)
        falling.send_signal(signal.SIGINT)
        _, err = falling.communicate(timeout=60)
    finally:
        falling.kill()
    assert falling.returncode == 130
    assert err == "\ninterrupted\n"


def test_free_fall_improves_with_the_square_of_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = []
    for step in (4e-3, 2e-3):
        monkeypatch.setattr(demo, "STEP", step)
        errors.append(demo.free_fall(fw.models.quadruped(), batch=3, seconds=0.4).energy_error[-1])
    assert 3.0 < errors[0] / errors[1] < 5.5


def test_free_fall_looks_at_the_times_asked_for() -> None:
    result = demo.free_fall(fw.models.box(), batch=2, seconds=0.123)
    np.testing.assert_allclose([result.times[0], result.times[-1]], [0.0, 0.123])
    np.testing.assert_allclose(result.fall, np.broadcast_to(result.depth[:, None], result.fall.shape), atol=1e-5)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_bar_fills_up_on_a_terminal_only() -> None:
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        bar = ProgressBar(stream)
        bar.update(0.5)
        bar.clear()
    assert "#" * 20 + "." * 20 in terminal.getvalue()
    assert file.getvalue() == ""


# -- doctor, completion, help --------------------------------------------------------------------------------------


def test_doctor_finds_the_package_well_and_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(doctor.EXTRAS, "wings", ("flight", ("no_such_module_of_anybody",)))
    code, out, _ = run(capsys, "doctor")
    assert code == 0
    assert fw.build_info()["isa"] in out and "free fall of a quadruped: right" in out
    assert "wings        no   flight (needs no_such_module_of_anybody)" in out
    install = next(line for line in out.splitlines() if 'pip install "featherweight[' in line)
    assert "wings" in install


def test_doctor_knows_every_extra_for_users() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    extras = text.split("[project.optional-dependencies]")[1].split("\n[")[0]
    named = {line.partition(" =")[0] for line in extras.splitlines() if " = [" in line and not line.startswith(" ")}
    developers = {"build", "test", "robots", "zoo", "lint", "bench", "docs", "release"}
    assert set(doctor.EXTRAS) >= named - developers


@pytest.mark.parametrize("command_", ["info", "simulate", "view", "demo", "scoreboard", "doctor", "completion"])
def test_help_has_examples(capsys: pytest.CaptureFixture[str], command_: str) -> None:
    code, out, _ = run(capsys, command_, "--help")
    assert code == 0
    assert f"examples:\n  featherweight {command_}" in out


def test_bash_completes_commands_options_and_models(capsys: pytest.CaptureFixture[str]) -> None:
    _, script, _ = run(capsys, "completion", "bash")

    def completed(*words: str) -> set[str]:
        line = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _featherweight; echo ${{COMPREPLY[@]}}"
        shell = subprocess.run(["bash", "-c", script + line], capture_output=True, text=True, check=True)
        return set(shell.stdout.split())

    assert {"info", "simulate", "doctor"} <= completed("featherweight", '""')
    assert completed("featherweight", "simulate", "--pl") == {"--plot"}
    assert completed("featherweight", "info", "quad") == {"quadruped"}
    for shell in ("zsh", "fish"):
        assert "simulate" in run(capsys, "completion", shell)[1]


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys)
    assert code == 2
    assert "examples:" in err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("view", "missing.npz"), "missing.npz: No such file or directory"),
        (("view", "junk.npz"), "junk.npz: not a motion saved by featherweight simulate --out"),
        (("simulate", "quadruped", "--keyframe", "home"), "unknown keyframe 'home': the model has no keyframes"),
        (("simulate", "arm", "--seconds", "0.01", "--html", "/proc/arm.html"), "/proc/arm.html: cannot be written"),
        (("simulate", "arm", "--seconds", "0.01", "--video", "/proc/arm.mp4"), "/proc/arm.mp4: cannot be written"),
    ],
)
def test_bad_files_are_one_sentence_that_names_them(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    if "/proc" in message and not Path("/proc").is_dir():
        pytest.skip("no folder that nobody can write to")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "junk.npz").write_bytes(b"junk")
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_warnings_are_a_line_each_and_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.urdf").write_text(
        '<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
        'iyz="0"/></inertial><visual><geometry><mesh filename="nowhere.stl"/></geometry></visual></link></robot>'
    )
    out, page = tmp_path / "r.npz", str(tmp_path / "r.html")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        arguments = ("simulate", str(tmp_path / "r.urdf"), "--floating-base", "--seconds", "0.01", "--ground", "none")
        code, _, err = run(capsys, *arguments, "--out", str(out), "--html", page)
        assert code == 0
        assert re.fullmatch(r"featherweight simulate: warning: .* is not shown: .*nowhere\.stl.*\n", err)
        (tmp_path / "r.urdf").unlink()  # the file of the motion is enough
        code, _, err = run(capsys, "view", str(out), "--out", page, "--no-browser")
        assert code == 0
        assert err.count("\n") == 1
