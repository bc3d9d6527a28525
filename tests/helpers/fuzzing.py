"""Inputs by the thousand that nobody would write: files damaged, arrays of any kind, scenes without sense.

A fuzzer makes one input from a seed, tries it, and raises if the answer is neither a result nor an error of the kind
that is promised, if numbers that are not finite come back as if nothing were wrong, or if it takes too long. The suite
tries some hundred of each, ``make fuzz`` as many as it is told; both name the seed, and
``python -m tools.fuzz NAME --seed N --inputs 1`` repeats one.
"""

from __future__ import annotations

import json
import warnings
from functools import cache
from typing import Any

import numpy as np

import featherweight as fw
from featherweight.model import saved as saved_models
from featherweight.scene import mesh_files
from featherweight.simulation import saved as saved_states

from .functions import FUNCTIONS, arrays_of
from .fuzzing_inputs import NUMBERS, Fuzzer, Rng, any_array, assert_sound, choice, damaged_bytes, folder, robot
from .fuzzing_mechanisms import constraints, mechanisms, texts

# -- models ----------------------------------------------------------------------------------------------------------


@cache
def model_texts() -> list[str]:
    models = (fw.models.pendulum(), fw.models.arm(), fw.models.quadruped())
    return [saved_models.encode(model.description) for model in models]


def damage_document(rng: Rng, value: Any) -> Any:
    """One place of a document, however deep, becomes something else."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = choice(rng, sorted(value))
        kind = rng.random()
        if kind < 0.1:
            return {k: v for k, v in value.items() if k != key}
        if kind < 0.15:
            return value | {"surprise": value[key]}
        return value | {key: damage_document(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        k = int(rng.integers(len(value)))
        kind = rng.random()
        if kind < 0.1:
            return value[:k] + value[k + 1 :]
        if kind < 0.2:
            return value[: k + 1] + value[k:]
        return [*value[:k], damage_document(rng, value[k]), *value[k + 1 :]]
    words = ("", "world", "base", "fixed", "free", "inf", "x" * 1000, "\0", "\ud800")
    others: list[Any] = [None, True, [], {}, [[]], 0, -1, 2**70, 1e308, -1e308, 1e-320, *words]
    return choice(rng, others)


def models(rng: Rng) -> None:
    text = choice(rng, model_texts())
    if rng.random() < 0.3:
        data: str | bytes = damaged_bytes(rng, text.encode())
    else:
        document = json.loads(text)
        for _ in range(int(rng.integers(1, 4))):
            document = damage_document(rng, document)
        data = json.dumps(document)
    try:
        model = fw.loads(data, "json")
    except fw.ModelError as error:
        assert str(error)
        return
    assert np.isfinite(fw.crba(model, model.neutral())).all()


# -- drives and loops ------------------------------------------------------------------------------------------------


@cache
def driven_text() -> str:
    """A model with every kind of actuator, a tendon, weight that is carried, and a keyframe."""
    builder = fw.ModelBuilder("driven")
    builder.link("a", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1), gravity_compensation=0.5)
    builder.link("b", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.joint("j", "continuous", "world", "a", axis="y").joint("k", "prismatic", "a", "b", axis="z")
    builder.frame("tip", "b", (0.1, 0, 0))
    builder.actuator("servo", "j", "position", kp=5.0, others=[("k", -0.5)], activation=fw.Activation("filter", (0.1,)))
    builder.actuator(
        "muscle", "k", "muscle", muscle=fw.Muscle(10.0, 0.0, 1.0), activation=fw.Activation("muscle", (0.1, 0.2, 0.3))
    )
    builder.actuator(
        "grown", "j", "general", bias=(1.0, 0.5, 0.2), slopes=(1.0, 2.0), activation=fw.Activation("integrator")
    )
    builder.actuator(
        "thrust", None, frame="tip", wrench=(0, 0, 1, 0, 0, 0.1), activation=fw.Activation("exact_filter", (0.1,))
    )
    builder.tendon("t", {"j": 0.5, "k": -1.0}, stiffness=3.0, rest_range=(-0.1, 0.2), damping=0.1)
    builder.keyframe("home", activation={"servo": 0.5})
    return saved_models.encode(builder.describe())


def drives(rng: Rng) -> None:
    document = json.loads(driven_text())
    if rng.random() < 0.5:
        document["tendons"][0] |= {"range": [-0.05, 0.05], "friction": 0.1}
    for part in ("actuators", "tendons", "keyframes", "links"):
        if rng.random() < 0.5:
            document[part] = damage_document(rng, document[part])
    try:
        model = fw.loads(json.dumps(document), "json")
        sim = fw.Simulator(model, dt=float(choice(rng, (1e-3, 0.1))), integrator=choice(rng, ("implicit", "rk4")))
    except ValueError as error:
        assert str(error)
        return
    state = sim.state(choice(rng, (None, 3)), keyframe=next(iter(model.keyframes), None))
    for _ in range(3):
        control = float(choice(rng, (0.0, 1.0, -1e9, 1e200, np.nan))) * np.ones(sim.nu) if sim.nu else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state = sim.step(state, control=control)
        assert_sound(state)
        assert np.isfinite(state.activation).all()


LOOP: dict[str, Any] = {
    "type": "hinge",
    "link": "a",
    "to": "b",
    "xyz": [0, 0, 1],
    "axis": [0, 1, 0],
    "to_xyz": [0, 0, 0],
}
ROBOT = (
    '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
    '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    '<joint name="k" type="continuous"><parent link="b"/><child link="c"/></joint></robot>'
)


def loops(rng: Rng) -> None:
    coupling = {"joint": "j", "to": "k", "polynomial": [0.1, 1.0]}
    document = damage_document(rng, {"loops": [LOOP, LOOP | {"to": "world"}], "couplings": [coupling]})
    data = json.dumps(document).encode()
    path = folder() / "robot.urdf"
    path.write_text(ROBOT)
    suffix = choice(rng, (".json", ".yaml"))
    beside = folder() / f"said{suffix}"
    beside.write_bytes(damaged_bytes(rng, data) if rng.random() < 0.3 else data)
    try:
        model = fw.load(path, loops=beside)
    except fw.ModelError as error:
        assert str(error)
        return
    assert np.isfinite([closure.to_placement for closure in model.description.closures]).all()


# -- states ----------------------------------------------------------------------------------------------------------


@cache
def saved_state() -> tuple[fw.Simulator, dict[str, Any], bytes]:
    scene = fw.Scene(ground=fw.Plane(friction=0.7))
    scene.add(fw.models.quadruped(), pose=(0, 0, 0.35))
    scene.add(fw.box((0.2, 0.2, 0.2)), pose=(1, 0, 0.1))
    sim = fw.Simulator(scene, dt=2e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fw.SimulationWarning)  # it starts in the ground
        state = sim.rollout(sim.state(3).randomised(friction=[0.5, 1.0, 2.0]), n_steps=60).final
    assert len(state.contacts) > 5
    path = folder() / "sound.npz"
    state.save(path)
    arrays = {"format": np.array(saved_states.FORMAT)} | {k: np.array(v) for k, v in state._arrays().items()}
    return sim, arrays, path.read_bytes()


def damaged_array(rng: Rng, array: Any) -> Any:
    result = np.array(array)
    kind = int(rng.integers(7))
    if kind < 3:
        result = result.astype(np.float64)
        if result.size:
            result.flat[int(rng.integers(result.size))] = choice(rng, NUMBERS)
    elif kind == 3:
        result = result.astype(choice(rng, ("f4", "i8", "u1", "?", "c16", "U5", ">f8", "f2")))
    elif kind == 4:
        shape = choice(rng, (result.T.shape, (*result.shape, 1), (result.size,), (0,), (1, *result.shape), ()))
        result = np.resize(result, shape)
    elif kind == 5 and result.ndim:
        result = np.concatenate([result, result[:1]]) if rng.random() < 0.5 else result[1:]
    else:
        result = np.asfortranarray(result)
    return result


def damaged_arrays(rng: Rng, arrays: dict[str, Any]) -> dict[str, Any]:
    changed = dict(arrays)
    for _ in range(int(rng.integers(1, 3))):
        name = choice(rng, sorted(changed))
        if rng.random() < 0.1:
            del changed[name]
        elif rng.random() < 0.1:
            changed[name + "x"] = changed.pop(name)
        else:
            changed[name] = damaged_array(rng, changed[name])
    return changed


def states(rng: Rng) -> None:
    sim, arrays, data = saved_state()
    path = folder() / "damaged.npz"
    if rng.random() < 0.3:
        path.write_bytes(damaged_bytes(rng, data))
    else:
        with path.open("wb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers that do not fit where they are put
            np.savez(file, **damaged_arrays(rng, arrays))
    try:
        state = fw.State.load(sim, path)
    except ValueError as error:
        assert str(error)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fw.SimulationWarning)
        assert_sound(sim.step(state))


# -- meshes ----------------------------------------------------------------------------------------------------------


@cache
def meshes_sound() -> dict[str, bytes]:
    import trimesh

    body = trimesh.creation.icosphere(subdivisions=1, radius=0.2)
    sound = {suffix: body.export(file_type=suffix) for suffix in ("stl", "obj", "ply", "off", "glb", "dae")}
    sound["ascii.stl"] = trimesh.exchange.stl.export_stl_ascii(body)
    return {suffix: data.encode() if isinstance(data, str) else data for suffix, data in sound.items()}


def meshes(rng: Rng) -> None:
    suffix = choice(rng, sorted(meshes_sound()))
    path = folder() / f"mesh.{suffix}"
    path.write_bytes(damaged_bytes(rng, meshes_sound()[suffix]))
    mesh_files._read_mesh.cache_clear()
    try:
        parts = mesh_files.read_mesh("mesh", str(path))
    except fw.ModelError as error:
        assert str(error)
        return
    for vertices, faces in parts:
        assert np.isfinite(vertices).all() and faces.min() >= 0 and faces.max() < len(vertices)


# -- functions -------------------------------------------------------------------------------------------------------


def functions(rng: Rng) -> None:
    forest, model = robot()
    function = choice(rng, FUNCTIONS)
    arrays: dict[str, Any] = dict(arrays_of(forest.state(int(rng.integers(100)))))
    for name in function.arrays:
        if rng.random() < 0.6:
            arrays[name] = any_array(rng, arrays[name])
    options: dict[str, Any] = (
        {"num_threads": choice(rng, (None, 1, 2, 0, -1, 2**70, 1.5, "1"))} if rng.random() < 0.2 else {}
    )
    try:
        result = function(model, arrays, **options)
    except (ValueError, TypeError):
        return
    moderate = all(np.abs(np.asarray(arrays[name], dtype=float)).max(initial=0.0) < 1e50 for name in function.arrays)
    assert np.isfinite(result).all() or not moderate  # squares of larger numbers overflow


# -- scenes ----------------------------------------------------------------------------------------------------------

SIZES = (0.1, 0.1, 0.1, 0.3, 1.0, 1e-3, 1e-6, 30.0, 1e4, 0.0, -1.0, np.nan)
FACTORS = (0.0, 0.3, 0.7, 1.0, 1.0, 5.0, 1e3, 1e9, -1.0, np.nan)


def any_body(rng: Rng) -> fw.Body:
    a, b, c = (float(choice(rng, SIZES)) for _ in range(3))
    options: dict[str, Any] = {"friction": float(choice(rng, FACTORS))}
    if rng.random() < 0.2:
        options["restitution"] = float(choice(rng, (0.0, 0.5, 1.0, 2.0)))
    if rng.random() < 0.2:
        options["density"] = float(choice(rng, (1e-6, 1.0, 1000.0, 1e9, 0.0)))
    if rng.random() < 0.1:
        options["stiffness"] = float(choice(rng, (1.0, 1e4, 1e12)))
    kind = int(rng.integers(6))
    if kind == 0:
        return fw.box((a, b, c), **options)
    if kind == 1:
        return fw.sphere(a, **options)
    if kind == 2:
        return fw.capsule(a, b, **options)
    if kind == 3:
        return fw.cylinder(a, b, **options)
    if kind == 4:
        return fw.ellipsoid((a, b, c), **options)
    return fw.convex(rng.standard_normal((int(rng.integers(3, 12)), 3)) * (a, b, c), **options)


def any_ground(rng: Rng) -> fw.Body | None:
    kind = int(rng.integers(4))
    if kind == 0:
        return None
    if kind == 1:
        heights = float(choice(rng, SIZES[:8])) * rng.random((int(rng.integers(2, 9)), int(rng.integers(2, 9))))
        return fw.HeightField(heights, (4.0, 4.0))
    return fw.Plane(friction=float(choice(rng, FACTORS)))


def any_scene(rng: Rng) -> fw.Scene:
    scene = fw.Scene(ground=any_ground(rng))
    for _ in range(int(rng.integers(1, 5))):
        position = rng.standard_normal(3) * float(choice(rng, (0.0, 0.1, 1.0, 1e3, 1e8)))
        scene.add(any_body(rng), pose=position)
    if rng.random() < 0.4:
        robot = choice(rng, (fw.models.pendulum, fw.models.arm, fw.models.quadruped))()
        scene.add(robot, name="robot", pose=(0, 0, float(choice(rng, (0.0, 0.4, 2.0)))))
        if rng.random() < 0.5:
            scene.servo("robot", kp=float(choice(rng, (0.0, 50.0, 1e6, 1e12))), kd=float(choice(rng, (0.0, 2.0, 1e6))))
    return scene


def scenes(rng: Rng) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scene = any_scene(rng)
            sim = fw.Simulator(
                scene,
                dt=float(choice(rng, (1e-3, 5e-3, 0.1, 1e-9))),
                integrator=choice(rng, ("semi_implicit", "implicit")),
                solver=choice(
                    rng, ("auto", "auto", fw.GaussSeidel(max_iterations=200), fw.Newton(), fw.ADMM(max_iterations=20))
                ),
            )
            batch = choice(rng, (None, None, 1, 3, 9))
            scale = float(choice(rng, (0.0, 1.0, 100.0, 1e6, 1e100)))
            state = sim.state(batch, v=scale * rng.standard_normal(sim.model.nv))
    except ValueError as error:
        assert str(error)
        return
    for _ in range(3):
        tau = float(choice(rng, (0.0, 1.0, 1e6, 1e300, np.nan))) * np.ones(sim.model.nv)
        control = float(choice(rng, (0.0, 1.0, -1e9))) * np.ones(sim.nu) if sim.nu else None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                state = sim.step(state, tau if rng.random() < 0.5 else None, control=control)
        except ValueError as error:
            assert str(error)
            return
        assert_sound(state)


FUZZERS: dict[str, Fuzzer] = {
    "models": models,
    "drives": drives,
    "loops": loops,
    "states": states,
    "meshes": meshes,
    "functions": functions,
    "scenes": scenes,
    "texts": texts,
    "constraints": constraints,
    "mechanisms": mechanisms,
}
