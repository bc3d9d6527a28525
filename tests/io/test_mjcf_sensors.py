"""Sensors from MJCF measure what they measure in MuJoCo."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close

import featherweight as fw
from featherweight.model.poses import rotation_from_quaternion

mujoco = pytest.importorskip("mujoco")

ROBOT = """<mujoco><worldbody><body name="trunk" pos="0 0 1"><freejoint/><geom size="0.1"/>
<site name="imu" pos="0.1 0.2 0" euler="30 40 50"/>
<body name="arm"><joint name="hinge" axis="0 1 1"/><geom size="0.1" pos="0.3 0 0"/>
<site name="tip" pos="0.5 0 0"/></body>
</body></worldbody><sensor>
<gyro name="gyro" site="imu"/><accelerometer name="accelerometer" site="imu"/><velocimeter name="speed" site="imu"/>
<jointpos name="angle" joint="hinge"/><jointvel name="rate" joint="hinge"/>
<framepos name="where" objtype="site" objname="tip"/><framequat name="turn" objtype="xbody" objname="arm"/>
<framelinvel name="velocity" objtype="site" objname="tip"/><frameangvel name="spin" objtype="xbody" objname="arm"/>
<touch name="touch" site="imu"/><framepos name="relative" objtype="site" objname="tip" reftype="site" refname="imu"/>
</sensor></mujoco>"""


@pytest.fixture(scope="module")
def sim() -> fw.Simulator:
    scene = fw.Scene()
    scene.add(fw.loads(ROBOT, "mjcf", strict=True), name="robot")
    return fw.Simulator(scene, dt=1e-5)


def measured(m: Any, data: Any, name: str) -> Any:
    return data.sensor(name).data


def test_sensors_read_what_mujoco_reads(sim: fw.Simulator) -> None:
    m = mujoco.MjModel.from_xml_string(ROBOT)
    data = mujoco.MjData(m)
    q, v = sim.model.random(0), np.random.default_rng(0).normal(size=sim.model.nv)
    data.qpos, data.qvel = fw.convert.to_mujoco(sim.model, q, v)
    mujoco.mj_forward(m, data)
    state = sim.state(q=q, v=v)
    sensors = fw.named_sensors(sim)
    for name in ("gyro", "speed", "angle", "rate", "where", "velocity", "spin"):
        assert_close(sensors[f"robot/{name}"].read(state), measured(m, data, name))
    R = rotation_from_quaternion(np.roll(measured(m, data, "turn"), -1))
    assert_close(sensors["robot/turn"].read(state), R)
    # Accelerations are means over a step, here of ten microseconds.
    after = sensors["robot/accelerometer"].read(sim.step(state))
    assert_close(after, measured(m, data, "accelerometer"), tolerance=1e-3)


def test_a_batch_is_read_at_once(sim: fw.Simulator) -> None:
    state = sim.state(3, q=sim.model.random(1, batch=3))
    assert {name: sensor.read(state).shape for name, sensor in fw.named_sensors(sim).items()} == {
        "robot/gyro": (3, 3),
        "robot/accelerometer": (3, 3),
        "robot/speed": (3, 3),
        "robot/angle": (3, 1),
        "robot/rate": (3, 1),
        "robot/where": (3, 3),
        "robot/turn": (3, 3, 3),
        "robot/velocity": (3, 3),
        "robot/spin": (3, 3),
    }


def test_sensors_without_a_counterpart_are_listed() -> None:
    told = [note.element for note in fw.loads(ROBOT, "mjcf").import_report if note.element.startswith("sensor")]
    assert told == ["sensor 'touch'", "sensor 'relative'"]


def test_sensors_survive_files_and_pickles(tmp_path: Path) -> None:
    model = fw.loads(ROBOT, "mjcf")
    model.save(tmp_path / "robot.json")
    assert fw.load(tmp_path / "robot.json") == model == pickle.loads(pickle.dumps(model))
    assert len(model.description.sensors) == 9


def test_wrong_sensors_are_refused() -> None:
    builder = fw.ModelBuilder().link("a", mass=1.0).sensor("s", "gyro", "b")
    with pytest.raises(fw.ModelError, match="sensor 's': 'b' is neither a link nor a frame"):
        builder.build()
    builder = fw.ModelBuilder().link("a", mass=1.0).sensor("s", "joint_position", "b")
    with pytest.raises(fw.ModelError, match="sensor 's': 'b' is not a joint"):
        builder.build()
    with pytest.raises(fw.ModelError, match="unknown quantity 'smell'"):
        builder.sensor("t", "smell", "a")  # type: ignore[arg-type]
