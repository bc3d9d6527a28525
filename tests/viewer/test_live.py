"""Live views."""

import socket
import threading
import urllib.request
from typing import Any

import numpy as np
import pytest

import featherweight as fw

pytest.importorskip("viser", reason="live views need the extra featherweight[view]")


def test_a_live_view_is_served_and_follows_the_simulation() -> None:
    scene = fw.Scene(ground=fw.Plane())
    scene.add(fw.sphere(0.1), name="ball", pose=(0.0, 0.0, 1.0))
    sim = fw.Simulator(scene, 2e-3)
    shown = fw.view(sim, live=True, open_browser=False)
    assert isinstance(shown, fw.LiveView)
    with shown:
        assert urllib.request.urlopen(shown.url, timeout=10).status == 200
        state = sim.state()
        for _ in range(10):
            state = sim.step(state)
            shown.update(state)
        assert np.allclose(shown._environments[0].links[0].position, state.q[:3])
        assert shown._curves is not None
        time, kinetic, potential, _ = shown._curves._points[-1]
        assert time == state.time
        assert np.isclose(kinetic + potential, fw.kinetic_energy(sim.model, state.q, state.v) + potential)


def test_a_batch_stands_side_by_side_with_contacts_at_its_feet() -> None:
    scene = fw.Scene(ground=fw.Plane())
    scene.add(fw.box((0.2, 0.2, 0.2)), name="crate", pose=(0.0, 0.0, 0.1))
    sim = fw.Simulator(scene, 2e-3)
    with fw.view(sim, live=True, open_browser=False) as shown:
        state = sim.step(sim.state(batch=20))
        shown.update(state)
        shown.update(sim.step(state))
        offsets = np.array([each.offset for each in shown._environments])
        assert len(offsets) == 16  # as many as are shown
        apart = np.linalg.norm(offsets[:, None] - offsets, axis=-1)[np.triu_indices(16, 1)]
        assert apart.min() > 0.2  # wider than a crate
        points, forces = shown._contacts
        assert len(points.points) == len(forces.points) == 4 * 16
        lengths = np.linalg.norm(forces.points[:, 1] - forces.points[:, 0], axis=-1).reshape(16, 4).sum(axis=1)
        assert np.allclose(lengths, 0.4 * shown._size, rtol=1e-3)  # the arrows of a crate: its weight
        shown._switch("frames", True)
        assert all(link.show_axes for each in shown._environments for link in each.links)
        shown._switch("visual", False)
        assert not any(mesh.visible for each in shown._environments for mesh in each._meshes["visual"])


def test_sliders_move_a_paused_view_and_a_closed_browser_is_not_missed() -> None:
    model = fw.models.arm()
    with fw.view(model, live=True, open_browser=False) as shown:
        urllib.request.urlopen(shown.url, timeout=10).close()  # someone looked, and left
        shown._goes_on.clear()
        shown._turn(0, 0.5)
        assert np.allclose(shown._environments[0].links[2].wxyz[3], np.sin(0.25))
        shown._go_on(step_only=False)
        shown.update(model.neutral())


def test_a_live_view_waits_while_it_is_paused() -> None:
    sim = fw.Simulator(fw.models.pendulum())
    with fw.view(sim, live=True, open_browser=False) as shown:
        shown._press("pause")
        waiting = threading.Thread(target=shown.update, args=(sim.state(),))
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        shown._press("step")
        waiting.join(10.0)
        assert not waiting.is_alive() and not shown._goes_on.is_set()  # one, and it waits again


def test_a_live_view_is_called_by_what_it_shows() -> None:
    scene = fw.Scene()
    scene.add(fw.models.pendulum(), name="clock")
    with fw.view(fw.Simulator(scene), live=True, open_browser=False) as shown:
        assert repr(shown) == f"<LiveView of 'clock' at {shown.url}>"


def test_a_closed_view_says_so() -> None:
    shown = fw.view(fw.models.pendulum(), live=True, open_browser=False)
    shown.close()
    shown.close()
    with pytest.raises(RuntimeError, match="this live view was closed"):
        shown.update([0.1])


@pytest.mark.parametrize("port", [70000, -1, True, "80"])
def test_a_port_that_is_none_is_named(port: Any) -> None:
    with pytest.raises(ValueError, match="port must be an integer from 0 to 65535"):
        fw.view(fw.models.pendulum(), live=True, port=port, open_browser=False)


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} of 127.0.0.1 cannot be used"):
            fw.view(fw.models.pendulum(), live=True, port=port, open_browser=False)
