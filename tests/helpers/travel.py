"""Journeys of an object to another process and back, and what workers do there."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

import featherweight as fw
from featherweight.arrays import Array
from helpers.scenes import drop, tumbled


def _out_of_band(value: Any) -> Any:
    """As Ray and joblib do it: arrays travel beside the pickle, in memory that nobody may write to."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])


#: By name, each returns an object like the one it is given.
JOURNEYS: dict[str, Callable[[Any], Any]] = {
    "pickle 2": lambda value: pickle.loads(pickle.dumps(value, protocol=2)),
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "out of band": _out_of_band,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def crowded() -> fw.Scene:
    """A robot with servos, bodies of several kinds with hulls among them, uneven ground, a constraint, own laws."""
    rng = np.random.default_rng(0)
    ground = fw.HeightField(0.02 * rng.random((30, 20)), (8, 6), friction=0.7)
    scene = drop(rng, ("box", "sphere", "capsule", "convex"), ground=ground)
    robot = scene.add(fw.models.quadruped(), name="robot", pose=(1.5, 0, 0.45))
    load = scene.add(fw.box((0.1, 0.1, 0.1)), name="load", pose=tumbled(rng, (1.5, 0, 0.7)))
    scene.constrain(fw.PointConstraint("sphere_1", rows=["x"], offset=np.array([0.0, 0.01, 0.0])))
    scene.servo(robot, kp=60, kd=4)
    scene.exclude(robot, "box_0")
    scene.pair(load, "robot/trunk", friction=0.9)
    return scene


def various(sim: fw.Simulator, batch: int) -> fw.State:
    """Environments that differ in all that they may differ in."""
    rng = np.random.default_rng(1)
    state = sim.state(batch, v=0.3 * rng.normal(size=(batch, sim.model.nv)))
    return state.randomised(
        friction=rng.uniform(0.5, 1.0, batch),
        gains=rng.uniform(0.8, 1.2, (batch, sim.nu)),
        gravity=rng.normal((0, 0, -9.81), 1.0, (batch, 3)),
        masses=rng.uniform(0.8, 1.2, (batch, sim.model.n_links)),
        heights={"ground": 0.02 * rng.random((batch, 30, 20))},
    )


def end_of(state: fw.State) -> tuple[Array, Array]:
    """What a worker computes: coordinates and impulses of contacts after some steps."""
    end = state.simulator.rollout(state, control=np.zeros(state.simulator.nu), n_steps=20).final
    return end.q, end.contacts.impulse


def stepped(job: tuple[fw.Simulator, fw.State]) -> fw.State:
    """A state that came apart from the simulator it is stepped by."""
    simulator, state = job
    return simulator.step(state)


def call(data: bytes) -> Any:
    """What a pickled function without arguments returns."""
    return pickle.loads(data)()
