"""The command ``featherweight``: inspect a model, simulate it, measure physics and speed."""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import featherweight as fw

from .. import files
from ..checks import counted
from ..model.model import Model
from ..progress import ProgressBar
from ..scene.decomposition import decomposed
from .checkout import import_from_checkout
from .completion import SHELLS
from .completion import script as completion
from .info import builtin_models, describe, find_model

if TYPE_CHECKING:
    from .simulate import Drop

#: Errors larger than this, relative to what was to be simulated, mean that something is wrong.
DEMO_TOLERANCE = 1e-4

#: Bytes of motion that one simulation may record.
MAX_RECORD = 2e9

EXIT_CHECK_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv`` (``sys.argv[1:]`` when left out); returns the exit code.

    0: done; 1: a simulation broke down, or the physics check of the demo failed; 2: wrong usage, a bad file or a
    missing package; 130: Ctrl-C.
    """
    parser = _parser()
    options, rest = parser.parse_known_args(argv)
    if options.command is None:
        parser.print_help(sys.stderr)
        return EXIT_BAD_INPUT
    if rest and options.command != "bench":
        parser.error(f"unknown arguments: {' '.join(rest)}")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # of terminals without the letters of a name, or the lines of a tree
    try:
        with _warnings_in_a_line(options.command):
            return int(options.run(options, rest))
    except (ValueError, OSError, ImportError) as error:
        if isinstance(error, BrokenPipeError):  # the reader, `head` or a pager, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"featherweight {options.command}: {_sentence(error)}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


@contextmanager
def _warnings_in_a_line(command: str) -> Iterator[None]:
    """Each of them once, without the line of our source that gave it."""
    told: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in told:
            told.add(str(message))
            print(f"featherweight {command}: warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _sentence(error: Exception) -> str:
    """Of the operating system's errors, the file and the reason, without their number."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="featherweight",
        description="Inspect, simulate and view robots, from URDF, SDF and MJCF files or built in.",
        epilog="examples:\n  featherweight simulate quadruped --html out/quadruped.html\n"
        "  featherweight info robot.urdf\n  featherweight COMMAND --help",
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"featherweight {fw.__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")

    text = "Describe a robot: joints, the tree of links, loops, actuators, sensors, keyframes, import report."
    info = commands.add_parser("info", help="describe a robot", description=text)
    _add_model_options(info)
    info.set_defaults(run=_info)

    text = "Simulate a robot, dropped on the ground or on its fixed base; print a summary; save motion, picture, video."
    simulate = commands.add_parser("simulate", help="simulate a robot, record and draw its motion", description=text)
    _add_model_options(simulate)
    simulate.add_argument(
        "--seconds", type=_positive_float, default=5.0, metavar="S", help="simulated time [s] (%(default)s)"
    )
    simulate.add_argument(
        "--dt", type=_positive_float, default=2e-3, metavar="S", help="length of a step [s] (%(default)s)"
    )
    simulate.add_argument(
        "--batch", type=_positive_int, default=1, metavar="N", help="robots, which differ slightly at the start (1)"
    )
    simulate.add_argument(
        "--seed", type=_whole, default=0, metavar="N", help="random seed of these differences (%(default)s)"
    )
    simulate.add_argument(
        "--controller",
        choices=("hold", "zero"),
        default="hold",
        help="hold: servos keep the posture; zero: no forces (%(default)s)",
    )
    simulate.add_argument(
        "--integrator",
        choices=("implicit", "semi_implicit", "verlet", "rk4"),
        default="implicit",
        help="rule by which a step advances (%(default)s)",
    )
    simulate.add_argument(
        "--ground", choices=("plane", "none"), default="plane", help="what is below the robot (%(default)s)"
    )
    simulate.add_argument(
        "--height",
        type=_height,
        default=None,
        metavar="M",
        help="initial height above the ground [m], or auto: just above it (auto)",
    )
    simulate.add_argument("--keyframe", metavar="NAME", help="keyframe to start from (default: the initial state)")
    simulate.add_argument("--every", type=_positive_int, default=1, metavar="N", help="record every Nth step (1)")
    simulate.add_argument("--out", type=Path, metavar="FILE.npz", help="where to save the motion")
    simulate.add_argument("--plot", type=Path, metavar="FILE.png", help="where to save a picture")
    simulate.add_argument("--html", type=Path, metavar="FILE.html", help="where to save a page that plays the motion")
    simulate.add_argument("--video", type=Path, metavar="FILE.mp4", help="where to save a video")
    simulate.set_defaults(run=_simulate)

    text = "Show a robot or a saved motion in the browser, as a single page that works offline."
    view = commands.add_parser("view", help="show a robot or a saved motion in the browser", description=text)
    _add_model_options(view)
    view.add_argument("--robot", metavar="MODEL", help="the robot of a motion whose file does not name it")
    view.add_argument("--out", type=Path, metavar="FILE.html", help="where to save the page (a temporary file)")
    view.add_argument("--no-browser", action="store_true", help="only save the page")
    view.set_defaults(run=_view)

    text = "Convert a robot to MJCF (.xml, .mjcf) or to featherweight's own format (.json)."
    convert = commands.add_parser("convert", help="convert a robot to another file format", description=text)
    _add_model_options(convert)
    convert.add_argument("out", type=Path, metavar="FILE", help="file to write: .xml, .mjcf or .json")
    convert.set_defaults(run=_convert)

    text = "Throw a batch of built-in quadrupeds, check the physics of their fall and save a picture."
    demo = commands.add_parser("demo", help="check and draw a batch of robots in free fall", description=text)
    demo.add_argument("--out", type=Path, default=Path("out/free_fall.png"), help="picture to write (%(default)s)")
    demo.add_argument("--batch", type=_positive_int, default=1024, help="number of robots (%(default)s)")
    demo.add_argument("--seconds", type=_positive_float, default=1.0, help="simulated time [s] (%(default)s)")
    demo.set_defaults(run=_demo)

    text = "Score physics cases with exact answers, next to MuJoCo (if installed) and to published results."
    scores = commands.add_parser("scoreboard", help="score physics with exact answers", description=text)
    scores.add_argument("--case", nargs="+", metavar="NAME", help="cases to run (all); an unknown name lists them")
    scores.add_argument("--out", type=Path, default=Path("build/scoreboard"), help="folder for results (%(default)s)")
    scores.set_defaults(run=_scoreboard)

    bench = commands.add_parser("bench", help="time the algorithms, next to Pinocchio if installed", add_help=False)
    bench.set_defaults(run=_bench)

    text = "Report how the package runs on this machine, check one result, and list optional packages to install."
    check = commands.add_parser("doctor", help="check the installation and the optional packages", description=text)
    check.set_defaults(run=_doctor)

    text = "Print a script that lets a shell complete commands, options and the names of built-in models."
    complete = commands.add_parser("completion", help="print a completion script for a shell", description=text)
    complete.add_argument("shell", choices=SHELLS, help="the shell")
    complete.set_defaults(run=lambda options, rest: _completion(options.shell, parser))

    for name, command in commands.choices.items():
        command.formatter_class = _Help
        command.epilog = "\n".join(
            ["examples:", *(f"  featherweight {name} {line}".rstrip() for line in _EXAMPLES[name])]
        )
    return parser


_EXAMPLES = {
    "info": ("quadruped", "robot.urdf --floating-base", "robot.xml --strict"),
    "simulate": (
        "quadruped --seconds 5 --plot out/quadruped.png --html out/quadruped.html",
        "robot.urdf --floating-base --batch 64 --every 10 --out out/robot.npz",
        "robot.xml --keyframe home --video out/robot.mp4",
    ),
    "view": ("robot.urdf", "out/quadruped.npz", "arm --out arm.html --no-browser"),
    "convert": ("robot.urdf robot.xml", "robot.xml robot.json --strict"),
    "demo": ("", "--batch 4096 --seconds 2"),
    "scoreboard": ("", "--case incline"),
    "bench": ("", "--help"),
    "doctor": ("",),
    "completion": (
        "bash > ~/.local/share/bash-completion/completions/featherweight",
        "zsh >> ~/.zshrc",
        "fish > ~/.config/fish/completions/featherweight.fish",
    ),
}


class _Help(argparse.HelpFormatter):
    """Examples keep their lines, and every command has its description beside it."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, **{"max_help_position": 28} | options)
        self._action_max_length = 14  # the longest command, which argparse does not count

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:") else super()._fill_text(text, width, indent)


def _add_model_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "model",
        metavar="MODEL",
        help="a URDF, SDF, xacro, MJCF or saved file, a name of robot_descriptions such as go2_description, or one of "
        f"{', '.join(builtin_models())}",
    )
    command.add_argument("--floating-base", action="store_true", help="let the base of a robot from a file move freely")
    command.add_argument(
        "--strict", action="store_true", help="fail if anything that changes the motion is not honoured"
    )
    command.add_argument(
        "--package-dir", action="append", metavar="DIR", help="folder with package:// meshes; repeatable"
    )
    command.add_argument(
        "--decompose",
        action="store_true",
        help="decompose collision meshes into convex pieces instead of using their convex hulls",
    )


def _model_of(options: argparse.Namespace) -> Model:
    model = find_model(
        options.model, floating_base=options.floating_base, strict=options.strict, package_dirs=options.package_dir
    )
    return decomposed(model, progress=True) if options.decompose else model


# -- info ----------------------------------------------------------------------------------------------------------


def _info(options: argparse.Namespace, rest: list[str]) -> int:
    print(describe(_model_of(options)))
    sys.stdout.flush()  # here, so that a closed pipe is noticed here
    return 0


# -- convert -------------------------------------------------------------------------------------------------------


def _convert(options: argparse.Namespace, rest: list[str]) -> int:
    suffix = options.out.suffix.lower()
    if suffix not in (".xml", ".mjcf", ".json"):
        given = f"not {suffix!r}" if suffix else "and the name has no suffix"
        raise ValueError(f"{options.out}: can write .xml, .mjcf and .json files, {given}")
    model = _model_of(options)
    if suffix == ".json":
        model.save(options.out)
    else:
        text = fw.to_mjcf(model, strict=options.strict)
        with files.replacing(options.out) as file:
            file.write(text.encode())
    print(repr(model))
    if model.import_report.not_honoured:
        print(_not_honoured(model, options.model))
    print(f"file: {options.out}")
    return 0


# -- simulate ------------------------------------------------------------------------------------------------------


def _simulate(options: argparse.Namespace, rest: list[str]) -> int:
    from ..viewer.film import save_video
    from ..viewer.page import save_page
    from .simulate import Drop
    from .simulate_picture import save_picture

    model = _model_of(options)
    _check_files(options)
    _check_size(model, options)
    drop = Drop(
        model,
        options.dt,
        controller=options.controller,
        integrator=options.integrator,
        ground=options.ground == "plane",
        height=options.height,
        keyframe=options.keyframe,
    )
    print(f"{model!r}, base {_base(drop)}")
    if model.keyframes and options.keyframe is None:
        print(f"available keyframes: {', '.join(model.keyframes)}")
    if drop.has_ground and options.ground == "plane":
        print("it stands on the ground defined in its file")
    if all(shape.static for shape in drop.simulator.scene.shapes):
        print("it has no collision shapes, so nothing can touch it")
    if model.import_report.not_honoured:
        print(_not_honoured(model, "the file"))
    sys.stdout.flush()

    record = drop.run(
        options.seconds, batch=options.batch, seed=options.seed, every=options.every, progress=sys.stderr.isatty()
    )
    if record.interrupted:
        print(f"interrupted after {record.final.time:.4g} s of {options.seconds:g} s; results are up to then")
    print(_lines(record.summary()))
    if options.out is not None:
        record.save(options.out)
        print(f"motion{' until then' if record.interrupted else ''}: {options.out}")
    if options.plot is not None:
        save_picture(record, options.plot)
        print(f"picture: {options.plot}")
    if options.html is not None:
        save_page(record.animation(), options.html)
        print(f"page: {options.html}")
    if options.video is not None:
        try:
            save_video(record.animation(), options.video, progress=sys.stderr.isatty())
        except KeyboardInterrupt:
            print(f"video until then: {options.video}")
            raise
        print(f"video: {options.video}")
    if record.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_CHECK_FAILED if record.failed else 0


def _check_files(options: argparse.Namespace) -> None:
    """That they can be written is found out before the work, not after it."""
    from ..viewer.film import check_installed, check_name
    from .simulate_picture import check_format

    for path, suffix in ((options.out, ".npz"), (options.html, ".html"), (options.plot, ""), (options.video, "")):
        if path is None:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a directory, expected a file")
        if not path.name.endswith(suffix):
            raise ValueError(f"{path}: expected a name that ends in {suffix}")
        if not os.access(path.parent, os.W_OK):
            raise PermissionError(f"{path}: no permission to write to {path.parent}")
    if options.plot is not None:
        check_format(options.plot)
    if options.video is not None:
        check_installed()
        check_name(options.video)


def _not_honoured(model: Model, file: str) -> str:
    n = len(model.import_report.not_honoured)
    what = f"{counted(n, 'element')} of {file} that would change the motion {'is' if n == 1 else 'are'} not honoured"
    return f"{what}: see featherweight info"


def _base(drop: Drop) -> str:
    kinds = {joint.type for base in drop.bases for joint in base.joints}
    return "fixed" if not drop.bases else "free" if "free" in kinds else "free in some directions"


def _check_size(model: Model, options: argparse.Namespace) -> None:
    rows = options.seconds / options.dt / options.every * options.batch
    size = 8 * rows * (model.nq + model.nv + 4)
    if size > MAX_RECORD:
        every = int(np.ceil(options.every * size / MAX_RECORD))
        raise ValueError(f"the recording would take {size / 1e9:.1f} GB: use --every {every} or more")


def _lines(facts: dict[str, str]) -> str:
    width = max(map(len, facts))
    return "\n".join(f"  {what:<{width}}  {fact}" for what, fact in facts.items())


# -- view ----------------------------------------------------------------------------------------------------------


def _view(options: argparse.Namespace, rest: list[str]) -> int:
    from ..viewer.motion_file import saved_motion
    from ..viewer.view import view

    browser = not options.no_browser
    if options.model.endswith(".npz"):
        motion = saved_motion(
            Path(options.model),
            lambda robot: _model_of(argparse.Namespace(**vars(options) | {"model": robot})),
            options.robot,
        )
        page = view(motion, path=options.out, open_browser=browser)
    else:
        page = view(_model_of(options), path=options.out, open_browser=browser)
    print(f"page: {page}")
    return 0


# -- demo ----------------------------------------------------------------------------------------------------------


def _demo(options: argparse.Namespace, rest: list[str]) -> int:
    from .demo import free_fall, save_picture

    model = fw.models.quadruped()
    print(describe(model))
    build = fw.build_info()
    print(
        f"\nfree fall of {options.batch} quadrupeds for {options.seconds:g} s, "
        f"random postures and velocities, on {build['threads']} threads\n"
        f"instruction set {build['isa']}: {build['lanes_float64']} simulations per vector register\n"
    )
    bar = ProgressBar(sys.stderr)
    try:
        result = free_fall(model, options.batch, options.seconds, progress=bar.update)
    finally:
        bar.clear()

    total = result.steps * result.batch
    print(f"{total:,} steps of {result.times[-1] / result.steps:.3g} s in {result.seconds:.2f} s:", end=" ")
    print(
        f"{total / result.seconds:,.0f} steps/s, {1e6 * result.seconds / total:.3f} us each (two evaluations of aba)\n"
    )
    passed = True
    for what, error in result.relative_errors.items():
        good = error <= DEMO_TOLERANCE
        passed &= good
        print(f"  {what:<32} {error:.1e}  {'ok' if good else f'TOO LARGE, expected {DEMO_TOLERANCE:g} at most'}")
    print("  (largest of the batch, relative to the depth fallen, the momentum and the work of gravity)\n")
    save_picture(result, options.out)
    print(f"picture: {options.out}")
    return 0 if passed else EXIT_CHECK_FAILED


def _positive_int(text: str) -> int:
    value = int(text) if text.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got {text!r}")
    return value


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a non-negative integer, got {text!r}")
    return int(text)


def _height(text: str) -> float | None:
    return None if text == "auto" else _positive_float(text)


def _positive_float(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")
    return value


# -- scoreboard ----------------------------------------------------------------------------------------------------


def _scoreboard(options: argparse.Namespace, rest: list[str]) -> int:
    scoreboard = import_from_checkout("physics.scoreboard", target="scoreboard")
    board = scoreboard.measure(options.case)
    print(board.text())
    board.save(options.out)
    try:
        board.plot(options.out)
        if options.case is None or "incline" in options.case:
            scoreboard.plot_creep(options.out)
    except ImportError:
        print("note: pictures need matplotlib (pip install matplotlib)", file=sys.stderr)
    print(f"\nalso as JSON and Markdown in {options.out}")
    return 0


# -- doctor --------------------------------------------------------------------------------------------------------


def _completion(shell: str, parser: argparse.ArgumentParser) -> int:
    sys.stdout.write(completion(shell, parser))
    return 0


def _doctor(options: argparse.Namespace, rest: list[str]) -> int:
    from .doctor import doctor

    return doctor()


# -- bench ---------------------------------------------------------------------------------------------------------


def _bench(options: argparse.Namespace, rest: list[str]) -> int:
    return int(import_from_checkout("benchmarks.main", target="bench").main(rest))
