"""Height fields: faces beside the path of what they carry are not felt, those in its way are."""

import math

import numpy as np
import pytest

import featherweight as fw
from physics.fields import along_a_canyon, past_a_spike
from physics.motion import position, run, velocity
from physics.passing import BODIES

ROUND = ("ball", "capsule", "ellipsoid")


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("cell", [0.01, 0.05, 0.25])
def test_what_slides_past_a_spike_does_not_feel_it(kind: str, cell: float) -> None:
    """From a fifth of a cell in a step to twelve: the plane of a face goes on where the face ends."""
    for speed in (1.0, 5.0, 20.0, 60.0):
        if kind in ROUND and speed * 2e-3 > cell:
            continue  # round shapes that pass several cells in a step may still feel the faces of a spike
        assert past_a_spike(kind, speed, cell=cell) < 1e-6 * speed


@pytest.mark.parametrize("kind", BODIES)
def test_what_slides_along_a_canyon_does_not_feel_its_walls(kind: str) -> None:
    for speed in (1.0, 10.0, 40.0):
        assert along_a_canyon(kind, speed) < 2e-5 * speed


@pytest.mark.parametrize("kind", ["box", "ball", "hull"])
@pytest.mark.parametrize("speed", [0.5, 5.0, 50.0])
def test_a_wall_of_a_field_stops_what_slides_against_it(kind: str, speed: float) -> None:
    """Nearly upright: nothing gets into it, however fast."""
    cell, steep = 0.05, 20.0
    heights = np.where(np.arange(81) > 40, steep, 0.0)[:, None] * np.ones((1, 81))
    scene = fw.Scene()
    scene.add(fw.HeightField(heights, (80 * cell, 80 * cell), friction=0.0), name="field")
    scene.add(BODIES[kind](0.0), name="body", pose=(-0.513, 0.017, 0.1))
    motion = run(scene, 2e-3, 0.002 * math.ceil(600 / speed), v={"body": (speed, 0, 0, 0, 0, 0)}, record=True)
    way = position(motion, "body")[:, 0]
    assert way.max() < -0.1 + 3e-4  # half an edge before the foot of the wall, which leans by 2.5 mrad
    assert way.max() > -0.1
    assert abs(velocity(motion, "body")[-1, 0]) < 0.2 * speed


def test_a_ball_between_two_slopes_presses_on_both() -> None:
    """A groove of a field: both faces carry, and neither takes the other's place."""
    angle = math.radians(50)
    across = np.abs(np.arange(-20, 21)) * 0.1 * math.tan(angle)
    scene = fw.Scene(ground=fw.HeightField(np.tile(across, (41, 1)), (4.0, 4.0), friction=0.0))
    scene.add(fw.sphere(0.08, mass=2.0), name="ball", pose=(0.013, 0.0, 0.08 / math.cos(angle)))
    motion = run(scene, 2e-3, 1.0)
    contacts = motion.final.contacts
    force = np.linalg.norm(contacts.force, axis=1)
    pushes = force > 1e-6
    np.testing.assert_allclose(force[pushes].sum(), 2.0 * 9.81 / math.cos(angle), rtol=1e-6)
    assert np.sign(contacts.normal[pushes][:, 1]).min() < 0 < np.sign(contacts.normal[pushes][:, 1]).max()
    np.testing.assert_allclose(position(motion.final, "ball")[1:], (0.0, 0.08 / math.cos(angle)), atol=1e-8)


def test_a_box_falls_beside_a_spike_and_lies_flat() -> None:
    """It comes down 1 mm beside the foot of a spike that is higher than itself."""
    heights = np.zeros((201, 201))
    heights[100, 100] = 1.0
    scene = fw.Scene(ground=fw.HeightField(heights, (2.0, 2.0), friction=0.5))
    scene.add(fw.box((0.2, 0.2, 0.2)), name="box", pose=(0.111, 0.013, 0.2))
    motion = run(scene, 2e-3, 0.5, record=True)
    np.testing.assert_allclose(position(motion, "box")[-1], (0.111, 0.013, 0.1), atol=1e-8)
    np.testing.assert_allclose(velocity(motion, "box")[:, :2], 0.0, atol=1e-9)
