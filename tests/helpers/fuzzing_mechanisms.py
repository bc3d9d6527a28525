"""More fuzzers (see fuzzing.py): texts of robots, constraints, mechanisms, derivatives, recordings and smoothing."""

from __future__ import annotations

import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import featherweight as fw

from .forests import Forest
from .fuzzing_inputs import NUMBERS, Rng, any_array, assert_sound, choice, damaged_bytes, robot

DATA = Path(__file__).parents[1] / "data"

# -- texts -------------------------------------------------------------------------------------------------------------

_NUMBER = re.compile(rb"(?<=[\" ])[-+0-9.eE]+(?=[\" ])")
_STRANGE = [repr(float(x)).encode() for x in NUMBERS] + [b"1e999", b"x", b"", b"0x1"]


@cache
def texts_sound() -> list[tuple[str, bytes]]:
    import mujoco  # noqa: F401  # without it there is no MJCF

    found: list[tuple[str, bytes]] = []
    for path in sorted(DATA.iterdir()):
        format_ = {".urdf": "urdf", ".xml": "mjcf", ".sdf": "sdf"}.get(path.suffix)
        if format_:
            found.append((format_, path.read_bytes()))
    for make in (fw.models.arm, fw.models.four_bar, fw.models.quadruped):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(("mjcf", fw.to_mjcf(make()).encode()))
    return found


def texts(rng: Rng) -> None:
    """URDF, SDF and MJCF, damaged; what loads is written as MJCF, and loads again."""
    format_, text = choice(rng, texts_sound())
    for _ in range(int(rng.integers(1, 4))):
        spans = [match.span() for match in _NUMBER.finditer(text)]
        if spans and rng.random() < 0.7:
            start, end = choice(rng, spans)
            text = text[:start] + choice(rng, _STRANGE) + text[end:]
        else:
            text = damaged_bytes(rng, text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = fw.loads(text, format_)
        except fw.ModelError as error:
            assert str(error)
            return
        assert np.isfinite(model.q0).all()
        try:
            written = fw.to_mjcf(model)
        except ValueError as error:
            assert str(error)
            return
        assert written.startswith("<mujoco")


# -- constraints -------------------------------------------------------------------------------------------------------

ROWS: tuple[Any, ...] = (("x",), ("x", "y", "z"), ("x", "x"), ("q",), (), "xyz", None, 3)


def any_constraint(rng: Rng, forest: Forest) -> Any:
    frames = [*(frame.name for frame in forest.description.frames), "nowhere", 0, -1, 99, None]
    joints = [*(joint.name for joint in forest.description.joints), "nothing", None]
    number = float(choice(rng, (0.0, 0.0, 1.0, *NUMBERS)))
    frame, to = choice(rng, frames), choice(rng, frames)
    held: dict[str, Any] = (
        {"acceleration": number} if rng.random() < 0.3 else {"compliance": abs(number)} if rng.random() < 0.3 else {}
    )
    kind = int(rng.integers(6))
    if kind == 0:
        return fw.PointConstraint(frame, to=to, **({"rows": choice(rng, ROWS)} if rng.random() < 0.3 else {}), **held)
    if kind == 1:
        return fw.FrameConstraint(frame, to=to, **held)
    if kind == 2:
        return fw.HingeConstraint(frame, to, axis=choice(rng, ("x", "y", "z", "z", "w")), **held)
    if kind == 3:
        return fw.DistanceConstraint(frame, to, length=choice(rng, (None, 1.0, number)), **held)
    if kind == 4:
        return fw.JointCoupling(
            choice(rng, joints), choice(rng, joints), choice(rng, ((0.0, 1.0), (number, 2.0, 1.0), ())), **held
        )
    return fw.JointCombination({choice(rng, joints): number, choice(rng, joints): 1.0}, value=number, **held)


CONSTRAINED = (
    "constrained_dynamics",
    "impulse_dynamics",
    "constrained_inverse_dynamics",
    "constrained_dynamics_derivatives",
    "delassus",
    "close_loops",
    "project_velocity",
    "loop_error",
    "loop_jacobian",
    "mobility",
    "constraint_jacobian",
    "constraint_bias",
)
METHODS = ("auto", "limb_pv", "pv", "pv_soft", "pv_early", "prox_pv", "constrained_aba", "ltl", "kkt", "none such")


def constraints(rng: Rng) -> None:
    """Every function that takes constraints, with any of them, on arrays of any kind."""
    forest, model = robot()
    state = forest.state(int(rng.integers(100)))
    name = choice(rng, CONSTRAINED)
    arrays: dict[str, Any] = {"q": state.q, "v": state.v, "tau": state.tau}
    for key in arrays:
        if rng.random() < 0.3:
            arrays[key] = any_array(rng, arrays[key])
    q, v, tau = arrays.values()
    used: tuple[Any, ...] = (q, v, tau)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            some = [any_constraint(rng, forest) for _ in range(int(rng.integers(0, 4)))]
            if name in ("constrained_dynamics", "constrained_inverse_dynamics"):
                options = {"method": choice(rng, METHODS)} if name == "constrained_dynamics" else {}
                result = getattr(fw, name)(model, q, v, tau, some, **options)
            elif name == "constrained_dynamics_derivatives":
                result = fw.constrained_dynamics_derivatives(model, q, v, tau, some)
            elif name in ("impulse_dynamics", "project_velocity", "constraint_bias"):
                used = (q, v)
                result = getattr(fw, name)(model, q, v, some)
            elif name == "loop_jacobian":
                used = (q,)
                result = fw.loop_jacobian(model, q, some, [choice(rng, model.joint_names)])
            else:
                used = (q,)
                result = getattr(fw, name)(model, q, some)
        except (ValueError, TypeError) as error:
            assert str(error)
            return
    sound = arrays_are_moderate(used)
    if sound and not isinstance(result, np.ndarray) and hasattr(result, "converged"):
        met = np.asarray(result.converged)
        main = next(np.asarray(x) for x in vars(result).values() if np.asarray(x).dtype == np.float64)
        assert np.isfinite(main[met]).all()
    elif sound and isinstance(result, np.ndarray):
        assert np.isfinite(result).all()


def arrays_are_moderate(arrays: Any) -> bool:
    return all(np.abs(np.asarray(array, dtype=float)).max(initial=0.0) < 1e50 for array in arrays)


# -- mechanisms --------------------------------------------------------------------------------------------------------


def held_scene(rng: Rng) -> fw.Scene:
    """A mechanism that somebody closed once more, coupled, or held far from where it is."""
    make = choice(rng, (fw.models.four_bar, fw.models.slider_crank, fw.models.five_bar, fw.models.arm))
    model = make()
    builder = fw.ModelBuilder.from_description(model.description)
    links, joints = model.link_names, [joint.name for joint in model.joints if joint.nv == 1]
    for k in range(int(rng.integers(0, 3))):
        place = tuple(float(choice(rng, (0.0, 0.1, 1.0, 1e3, 1e9))) for _ in range(3))
        rows = choice(rng, (("x", "y", "z"), ("x", "y", "z", "rx", "ry", "rz"), ("z",)))
        builder.close(f"held_{k}", choice(rng, links), choice(rng, (*links, "world")), placement=place, rows=rows)
    for k in range(int(rng.integers(0, 3))):
        polynomial = [float(choice(rng, (0.0, 1.0, -2.0, 1e6))) for _ in range(int(rng.integers(1, 4)))]
        builder.couple(f"gear_{k}", choice(rng, joints), choice(rng, (*joints, None)), polynomial)
    scene = fw.Scene(ground=choice(rng, (None, fw.Plane())))
    scene.add(builder.build(), name="robot", pose=(0, 0, float(choice(rng, (0.0, 1.0)))))
    if rng.random() < 0.3:
        scene.add(fw.sphere(0.1), pose=(0, 0, 1.0))
    return scene


def mechanisms(rng: Rng) -> None:
    """Steps, recordings, derivatives and averages of what is held together."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            sim = fw.Simulator(
                held_scene(rng),
                dt=float(choice(rng, (1e-3, 1e-2))),
                integrator=choice(rng, ("semi_implicit", "implicit", "verlet")),
            )
            batch = choice(rng, (None, 3))
            scale = float(choice(rng, (0.0, 1.0, 1e3, 1e9)))
            state = sim.state(batch, v=scale * rng.standard_normal(sim.model.nv))
            _try(rng, sim, state)
        except ValueError as error:
            assert str(error)


def _try(rng: Rng, sim: fw.Simulator, state: fw.State) -> None:
    kind = int(rng.integers(6))
    cotangent = any_array(rng, np.ones(sim.model.nv))
    if kind == 0:
        for _ in range(4):
            state = sim.step(state)
            assert_sound(state)
        assert np.isfinite(sim.step_solution(state).rows.impulse).all()
        failed = np.atleast_1d(state.failed)
        forces = (state.closures.force, state.couplings.force)
        assert failed.any() or all(np.isfinite(np.asarray(force)).all() for force in forces)
    elif kind == 1:
        every = choice(rng, (1, 3, 0, -1, 2**40, 1.5))
        trajectory = sim.rollout(state, n_steps=int(choice(rng, (0, 1, 7))), every=every, record_contacts=True)
        assert np.isfinite(trajectory.q).all() and np.isfinite(trajectory.v).all()
    elif kind == 2:
        wrt = choice(rng, (("q", "v", "tau"), ("friction", "masses"), ("nothing",), ("q", "q"), ()))
        derivatives = sim.step_derivatives(state, wrt=wrt)
        assert all(np.isfinite(x).all() for x in (*derivatives.dq.values(), *derivatives.dv.values()))
    elif kind == 3:
        _, pull = sim.step_vjp(state)
        gradient = pull(dq=cotangent, dv=np.ones(sim.model.nv) if rng.random() < 0.5 else None)
        assert np.isfinite(gradient.q).all() or not arrays_are_moderate([cotangent])
    elif kind == 4:
        trajectory = sim.rollout(state, n_steps=5, tape=choice(rng, (True, "all", False)))
        steps = np.repeat(np.ones((1, sim.model.nv)), 5, axis=0)
        found = sim.rollout_vjp(trajectory, dq=any_array(rng, steps) if rng.random() < 0.5 else steps)
        assert np.isfinite(found.q0).all()
    else:
        sigma: Any = choice(rng, (0.1, 0.0, -1.0, np.nan, {"v": 0.1}, {"nothing": 1.0}, 1e9))
        smoothed = fw.smooth_step(
            sim, state, sigma=sigma, samples=choice(rng, (4, 0, 1, 3)), order=choice(rng, ("mixed", "zeroth", "x"))
        )
        assert np.isfinite(smoothed.v).all()
