"""A scene in the browser while it is simulated, through viser."""

from __future__ import annotations

import importlib
import socket
import threading
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..model.poses import quaternion_from_rotation
from .live_curves import LiveCurves
from .world import World

_FIRST_PORT = 8080
_INSTALL = 'pip install "featherweight[view]"'


class LiveView:
    """A page that follows a robot: made by :func:`featherweight.view`, moved by :meth:`update`.

    ``url`` is where it is shown. Of states, it shows contacts with their forces, and curves of energies and of the
    residual. While someone has pressed "pause", :meth:`update` waits; "step" lets one through. A view closes with
    :meth:`close`, or at the end of a ``with`` block.

    >>> sim = fw.Simulator(fw.models.arm())
    >>> live = fw.view(sim, live=True)  # doctest: +SKIP
    >>> live.update(sim.state())  # doctest: +SKIP
    """

    def __init__(self, world: World, q: Array, *, host: str = "127.0.0.1", port: int | None = None) -> None:
        viser = _viser()
        wanted = _FIRST_PORT if port is None else _checked_port(host, port)
        self.world = world
        self._server = viser.ViserServer(
            host=host, port=wanted, label=f"featherweight: {world.model.name}", verbose=False
        )
        self.url = f"http://{host}:{self._server.get_port()}"  # viser takes the next one that is free
        self._server.scene.set_up_direction("+z")
        self._links = [self._server.scene.add_frame(f"/links/{k}", show_axes=False) for k in range(world.model.n_links)]
        self._by_role: dict[str, list[Any]] = {"visual": [], "collision": [], "ground": []}
        for k, item in enumerate(world.items):
            self._add(k, item)
        self._server.scene.add_grid("/grid", infinite_grid=True, plane="xy")
        self._goes_on = threading.Event()
        self._goes_on.set()
        self._add_switches()
        self._curves: LiveCurves | None = None  # made when there is something to draw
        self._arrows: Any = None
        self._q = np.array(q, dtype=np.float64)
        self._look_at(q)
        self.update(q)

    def update(self, q: ArrayLike | Any, *, time: float | None = None) -> None:
        """Move to a configuration ``q`` (nq,), or to a state; of a batch the first environment is shown."""
        given = getattr(q, "q", q)
        time = getattr(q, "time", time)
        values = np.asarray(given, dtype=np.float64)
        self._q = values = np.array(values[0] if values.ndim == 2 else values)
        placements = np.asarray(_core.forward_kinematics(self.world.model, values))
        with self._server.atomic():
            for handle, X in zip(self._links, placements, strict=True):
                handle.position = X[:3, 3]
                handle.wxyz = _wxyz(X[:3, :3])
            if time is not None:
                self._clock.value = f"{np.ravel(time)[0]:.3f} s"
            if hasattr(q, "contacts"):
                self._show_state(q)
        self._goes_on.wait()
        if self._step_only:
            self._goes_on.clear()

    def _show_state(self, state: Any) -> None:
        contacts = state.contacts
        of_first = np.asarray(contacts.environment) == 0
        at, force = np.asarray(contacts.position)[of_first], np.asarray(contacts.force_world)[of_first]
        model = self.world.model
        size = model.mass * float(np.linalg.norm(model.gravity)) or 1.0
        ends = np.stack([at, at + 0.4 * force / size], axis=1).astype(np.float32)  # the weight of everything: 0.4 m
        if self._arrows is not None:
            self._arrows.remove()
        self._arrows = self._server.scene.add_line_segments(
            "/contacts", ends, (220, 40, 40), thickness=4.0, thickness_units="screen"
        )
        if self._curves is None:
            self._curves = LiveCurves(_viser(), self._server, model)
        v = np.asarray(state.v)
        first = v[0] if v.ndim == 2 else v
        self._curves.add(self._q, first, float(np.ravel(state.time)[0]), float(np.ravel(state.residual)[0]))

    def add_joint_sliders(self) -> None:
        """Sliders that move the joints with one degree of freedom, for a look at a model by hand."""
        for joint in self.world.model.joints:
            if joint.nq != 1:
                continue
            at = joint.q_slice.start
            low, high = float(self.world.model.lower[at]), float(self.world.model.upper[at])
            low, high = (low if np.isfinite(low) else -np.pi), (high if np.isfinite(high) else np.pi)
            slider = self._server.gui.add_slider(joint.name, low, high, (high - low) / 1000 or 1e-3, float(self._q[at]))
            slider.on_update(lambda _, at=at, slider=slider: self._turn(at, float(slider.value)))

    def close(self) -> None:
        self._go_on(step_only=False)
        self._server.stop()

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<LiveView of {self.world.model.name!r} at {self.url}>"

    def _look_at(self, q: Array) -> None:
        """Puts the camera where all links are in view at first."""
        lower, upper = self.world.bounds(np.asarray(_core.forward_kinematics(self.world.model, q)))
        middle, size = 0.5 * (lower + upper), max(float(np.linalg.norm(upper - lower)), 0.1)
        self._server.initial_camera.look_at = middle
        self._server.initial_camera.position = middle + size * np.array([1.1, -1.1, 0.7])

    def _turn(self, at: int, value: float) -> None:
        q = self._q.copy()
        q[at] = value
        self.update(q)

    def _add(self, k: int, item: Any) -> None:
        surface = self.world.surfaces[item.surface]
        r, g, b, alpha = item.colour
        place = f"/links/{item.link}/{k}" if item.link >= 0 else f"/world/{k}"
        handle = self._server.scene.add_mesh_simple(
            place,
            surface.vertices.astype(np.float32),
            surface.faces.astype(np.uint32),
            color=(0.9, 0.45, 0.25) if item.role == "collision" else (r, g, b),
            opacity=min(alpha, 0.45) if item.role == "collision" else alpha if alpha < 1.0 else None,
            flat_shading=not surface.smooth,
            side="double",
            position=item.placement[:3, 3],
            wxyz=_wxyz(item.placement[:3, :3]),
            visible=item.role != "collision",
        )
        self._by_role[item.role].append(handle)

    def _add_switches(self) -> None:
        gui = self._server.gui
        self._clock = gui.add_text("time", "0.000 s", disabled=True)
        self._step_only = False
        gui.add_button("pause").on_click(lambda _: self._goes_on.clear())
        gui.add_button("step").on_click(lambda _: self._go_on(step_only=True))
        gui.add_button("go on").on_click(lambda _: self._go_on(step_only=False))
        for role, name in (("visual", "robot"), ("collision", "collision shapes")):
            if self._by_role[role]:
                box = gui.add_checkbox(name, role != "collision")
                box.on_update(lambda _, role=role, box=box: self._show(role, bool(box.value)))

    def _go_on(self, *, step_only: bool) -> None:
        self._step_only = step_only
        self._goes_on.set()

    def _show(self, role: str, visible: bool) -> None:
        for handle in self._by_role[role]:
            handle.visible = visible


def _wxyz(R: Array) -> Array:
    x, y, z, w = quaternion_from_rotation(np.asarray(R))
    return np.array([w, x, y, z])


def _viser() -> Any:
    try:
        return importlib.import_module("viser")
    except ImportError:
        raise ImportError(f"a live view needs viser: {_INSTALL}; trajectory.html() needs nothing") from None


def _checked_port(host: str, port: int) -> int:
    with socket.socket() as probe:
        try:
            probe.bind((host, port))
        except OSError as error:
            raise OSError(
                f"port {port} of {host} cannot be used ({error.strerror}): leave it out for a free one"
            ) from None
    return port
