"""A scene in the browser while it is simulated, through viser."""

from __future__ import annotations

import importlib
import os
import socket
import threading
import time as clock
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from .live_curves import LiveCurves
from .live_environment import Layer, LiveEnvironment, add_item
from .world import World

#: Environments of a batch that are shown side by side.
MOST_ENVIRONMENTS = 16

_FIRST_PORT = 8080
_INSTALL = 'pip install "featherweight[view]"'
_TRAIL, _TRAIL_PERIOD = 1000, 0.1  # points, and the least time between two drawings [s]
_RED, _PINK, _GRID = (220, 40, 40), (208, 28, 139), (150, 160, 172)
_FIELD = np.deg2rad(35.0)  # of view
_DIRECTION = np.array([0.57, -0.74, 0.35])  # towards the camera
_LAYERS: dict[Layer, str] = {
    "visual": "visual shapes",
    "collision": "collision shapes",
    "frames": "link frames",
    "centre": "centre of mass",
}


class LiveView:
    """A page that follows a simulation: created by :func:`featherweight.view`, moved by :meth:`update`.

    ``url`` is its address. For states, it also shows contact points with their forces, the trail of the centre of mass,
    and curves of the energies and of the residual. Environments of a batch are shown side by side, up to 16 of them.
    While "pause" is pressed, :meth:`update` blocks; "step" lets one call through. Browsers may come and go. Close the
    view with :meth:`close`, or use it in a ``with`` block.

    >>> sim = fw.Simulator(fw.models.arm())
    >>> live = fw.view(sim, live=True)  # doctest: +SKIP
    >>> live.update(sim.state())  # doctest: +SKIP
    """

    def __init__(
        self, world: World, q: ArrayLike, title: str, *, host: str = "127.0.0.1", port: int | None = None
    ) -> None:
        viser = _viser()
        wanted = _FIRST_PORT if port is None else _checked_port(host, port)
        self.world = world
        self._title = title
        self._server = viser.ViserServer(host=host, port=wanted, label=f"featherweight: {title}", verbose=False)
        self._closed = False
        self.url = f"http://{host}:{self._server.get_port()}"  # viser takes the next free port
        self._server.scene.set_up_direction("+z")
        self._add_lights()
        self._goes_on = threading.Event()
        self._goes_on.set()
        self._visible = {"visual": True, "collision": False, "frames": False, "centre": False}
        self._add_switches()
        start = np.atleast_2d(np.asarray(q, dtype=np.float64))[:MOST_ENVIRONMENTS]
        lower, upper = world.bounds(np.asarray(_core.forward_kinematics(world.model, start[0])))
        self._size = max(float(np.linalg.norm(upper - lower)), 0.1)
        self._spacing = 1.15 * max(float((upper - lower)[:2].max()), 0.05) + 0.1 * self._size
        self._middle = 0.5 * (lower + upper)
        for k, item in enumerate(world.items):
            if item.link < 0:
                add_item(self._server, world, k, f"/world/{k}", visible=True)
        self._add_grid(world.floor() or 0.0)
        self._environments: list[LiveEnvironment] = []
        self._curves: LiveCurves | None = None  # created when there is something to draw
        self._contacts: list[Any] = []
        self._trail: deque[Array] = deque(maxlen=_TRAIL)
        self._trail_line: Any = None
        self._trail_drawn = -np.inf
        self._q = start[0]  # of the first environment
        self._show(start)

    def update(self, q: ArrayLike | Any, *, time: float | None = None) -> None:
        """Show a state, or configurations ``q`` (nq,) or (batch, nq). Raises a RuntimeError after :meth:`close`."""
        if self._closed:
            raise RuntimeError("this live view was closed; open another one with fw.view(..., live=True)")
        given = np.atleast_2d(np.asarray(getattr(q, "q", q), dtype=np.float64))
        time = getattr(q, "time", time)
        with self._server.atomic():
            centre = self._show(given)
            if time is not None:
                self._clock.value = f"{np.ravel(time)[0]:.3f} s"
            if hasattr(q, "contacts"):
                self._show_contacts(q.contacts)
                self._add_to_curves(q)
                self._add_to_trail(centre)
        self._goes_on.wait()
        if self._step_only:
            self._goes_on.clear()

    def add_joint_sliders(self) -> None:
        """Add sliders that move the joints with one degree of freedom, to inspect a model by hand."""
        for joint in self.world.model.joints:
            if joint.nq != 1:
                continue
            at = joint.q_slice.start
            low, high = float(self.world.model.lower[at]), float(self.world.model.upper[at])
            low, high = (low if np.isfinite(low) else -np.pi), (high if np.isfinite(high) else np.pi)
            slider = self._server.gui.add_slider(joint.name, low, high, (high - low) / 1000 or 1e-3, float(self._q[at]))
            slider.on_update(lambda _, at=at, slider=slider: self._turn(at, float(slider.value)))

    def close(self) -> None:
        """Stop serving the page, and let an :meth:`update` that waits continue."""
        self._go_on(step_only=False)
        if not self._closed:
            self._closed = True
            self._server.stop()

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<LiveView of {self._title!r} at {self.url}>"

    def _show(self, q: Array) -> Array:
        """Environments at q (n, nq), as many as are shown; returns the centre of mass of the first, (3,)."""
        shown = q[:MOST_ENVIRONMENTS]
        if len(shown) > len(self._environments):
            self._look_at(len(shown))
        for k in range(len(self._environments), len(shown)):
            place = self._spacing * np.array([k % _columns(len(shown)), k // _columns(len(shown)), 0.0])
            added = LiveEnvironment(self._server, self.world, k, place, self._size, self._visible)
            self._environments.append(added)
        self._q = np.array(shown[0])
        centres = [environment.move(row) for environment, row in zip(self._environments, shown, strict=False)]
        return centres[0]

    def _show_contacts(self, contacts: Any) -> None:
        """Points, and lines along the forces on the shape that is named first."""
        environment = np.asarray(contacts.environment)
        seen = environment < len(self._environments)
        offsets = np.array([each.offset for each in self._environments])[environment[seen]]
        at = (np.asarray(contacts.position)[seen] + offsets).astype(np.float32)
        model = self.world.model
        weight = model.mass * float(np.linalg.norm(model.gravity)) or 1.0
        ends = at + 0.4 * self._size * np.asarray(contacts.force_world)[seen] / weight  # as on a page
        for handle in self._contacts:
            handle.remove()
        scene = self._server.scene
        self._contacts = [
            scene.add_point_cloud("/contacts/points", at, _RED, point_size=0.016 * self._size, point_shape="circle"),
            scene.add_arrows(
                "/contacts/forces",
                np.stack([at, ends.astype(np.float32)], axis=1),
                _RED,
                shaft_radius=0.006 * self._size,
                head_radius=0.02 * self._size,
                head_length=0.05 * self._size,
            ),
        ]
        self._switch_contacts()

    def _add_to_curves(self, state: Any) -> None:
        if self._curves is None:
            self._curves = LiveCurves(_viser(), self._server, self.world.model)
        first = np.atleast_2d(np.asarray(state.v))[0]
        self._curves.add(self._q, first, float(np.ravel(state.time)[0]), float(np.ravel(state.residual)[0]))

    def _add_to_trail(self, centre: Array) -> None:
        self._trail.append(centre)
        if len(self._trail) < 2 or clock.monotonic() - self._trail_drawn < _TRAIL_PERIOD:
            return
        self._trail_drawn = clock.monotonic()
        points = np.array(self._trail, dtype=np.float32)
        if self._trail_line is not None:
            self._trail_line.remove()
        self._trail_line = self._server.scene.add_line_segments(
            "/trail", np.stack([points[:-1], points[1:]], axis=1), _PINK, thickness=2.0, thickness_units="screen",
            visible=bool(self._trail_box.value),
        )  # fmt: skip

    def _add_lights(self) -> None:
        """As on a page: the surroundings that viser lights with make dark robots pale, its shadows are striped."""
        scene = self._server.scene
        scene.configure_environment_map(None)
        scene.configure_default_lights(enabled=False)
        scene.add_light_hemisphere("/lights/sky", ground_color=(185, 194, 208), intensity=1.9)
        scene.add_light_directional("/lights/sun", color=(255, 246, 234), intensity=2.0, position=(0.7, -0.9, 2.4))

    def _add_grid(self, floor: float) -> None:
        """In the colours of a page, and faint where lines would run into each other."""
        tile = 10.0 ** np.round(np.log10(self._size)) / 2.0
        self._server.scene.add_grid(
            "/grid",
            infinite_grid=True,
            plane="xy",
            position=(0.0, 0.0, floor + 4e-3 * self._size),
            cell_size=tile,
            section_size=tile,
            cell_color=_GRID,
            section_color=_GRID,
            fade_distance=30.0 * self._size,
        )

    def _look_at(self, n: int) -> None:
        """Puts the camera, of browsers that are here and of those to come, where ``n`` environments are in view."""
        across = self._spacing * (_columns(n) - 1)
        target = self._middle + 0.5 * across * np.array([1.0, 1.0, 0.0])
        here = [client.camera for client in self._server.get_clients().values()]
        for camera in (self._server.initial_camera, *here):
            camera.fov = _FIELD
            camera.position = target + (self._size + across) * 2.2 * _DIRECTION
            camera.look_at = target

    def _turn(self, at: int, value: float) -> None:
        q = self._q.copy()
        q[at] = value
        self._show(q[None])  # without waiting: sliders work while the view is paused

    def _add_switches(self) -> None:
        gui = self._server.gui
        self._clock = gui.add_text("time", "0.000 s", disabled=True)
        self._step_only = False
        buttons = gui.add_button_group("simulation", ("pause", "step", "continue"))
        buttons.on_click(lambda _: self._press(buttons.value))
        for layer, name in _LAYERS.items():
            box = gui.add_checkbox(name, self._visible[layer])
            box.on_update(lambda _, layer=layer, box=box: self._switch(layer, bool(box.value)))
        self._trail_box = gui.add_checkbox("path of the centre of mass", False)
        self._trail_box.on_update(lambda _: self._switch_trail())
        self._contacts_box = gui.add_checkbox("contacts and forces", True)
        self._contacts_box.on_update(lambda _: self._switch_contacts())

    def _switch_contacts(self) -> None:
        for handle in self._contacts:
            handle.visible = bool(self._contacts_box.value)

    def _switch_trail(self) -> None:
        if self._trail_line is not None:
            self._trail_line.visible = bool(self._trail_box.value)

    def _press(self, button: str) -> None:
        if button == "pause":
            self._goes_on.clear()
        else:
            self._go_on(step_only=button == "step")

    def _go_on(self, *, step_only: bool) -> None:
        self._step_only = step_only
        self._goes_on.set()

    def _switch(self, layer: Layer, visible: bool) -> None:
        self._visible[layer] = visible
        for environment in self._environments:
            environment.show(layer, visible)


def _columns(n: int) -> int:
    """Of the square in which n environments stand."""
    return int(np.ceil(np.sqrt(n)))


def _viser() -> Any:
    try:
        return importlib.import_module("viser")
    except ImportError:
        raise ImportError(f"a live view needs viser: {_INSTALL}; trajectory.html() needs nothing") from None


def _checked_port(host: str, port: int) -> int:
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise ValueError(f"port must be an integer from 0 to 65535, got {port!r}")
    with socket.socket() as probe:
        if os.name == "posix":  # a server that has just ended leaves its port waiting, which hinders no new one
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise OSError(
                f"port {port} of {host} cannot be used ({error.strerror}): leave it out for a free one"
            ) from None
    return port
