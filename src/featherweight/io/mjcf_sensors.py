"""Sensors of a compiled MJCF file: those that measure what sensors here do."""

from __future__ import annotations

from ..model.description import SensorQuantity, Severity
from .mjcf_source import MjcfSource

#: What each kind of sensor measures, by its name in MuJoCo without "mjSENS_".
_OF_SITES: dict[str, SensorQuantity] = {
    "GYRO": "gyro",
    "ACCELEROMETER": "accelerometer",
    "VELOCIMETER": "velocimeter",
}
_OF_JOINTS: dict[str, SensorQuantity] = {"JOINTPOS": "joint_position", "JOINTVEL": "joint_velocity"}
_OF_FRAMES: dict[str, SensorQuantity] = {
    "FRAMEPOS": "frame_position",
    "FRAMEQUAT": "frame_rotation",
    "FRAMELINVEL": "frame_velocity",
    "FRAMEANGVEL": "frame_angular_velocity",
}


def add_sensors(source: MjcfSource) -> None:
    """Sensors with a counterpart; the others are listed."""
    m = source.m
    for number, name in enumerate(source.names("sensor", m.nsensor)):
        kind = source.mujoco.mjtSensor(int(m.sensor_type[number])).name.removeprefix("mjSENS_")
        found = _place(source, number, kind)
        if found is None:
            source.note("sensor", number, f"{kind.lower()} has no counterpart: left out", Severity.NOTHING)
            continue
        source.builder.sensor(name, *found)
        if m.sensor_cutoff[number] > 0.0:
            source.note("sensor", number, "is not cut off here", Severity.NOTHING)


def _place(source: MjcfSource, number: int, kind: str) -> tuple[SensorQuantity, str] | None:
    """What is measured, and the frame, link or joint it is measured at."""
    m, objects = source.m, source.mujoco.mjtObj
    target, of = int(m.sensor_objid[number]), int(m.sensor_objtype[number])
    if kind in _OF_JOINTS:
        return _OF_JOINTS[kind], source.joints[target]
    quantity = _OF_SITES.get(kind) or _OF_FRAMES.get(kind)
    if quantity is None or int(m.sensor_refid[number]) >= 0:  # relative to another frame
        return None
    if of == int(objects.mjOBJ_SITE):
        return quantity, source.sites[target]
    if of == int(objects.mjOBJ_XBODY) and target > 0:
        return quantity, source.bodies[target]
    return None
