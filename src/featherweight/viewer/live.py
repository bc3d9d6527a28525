"""A scene in the browser while it is simulated, through viser."""

from __future__ import annotations

import importlib
import socket
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array
from ..model.poses import quaternion_from_rotation
from .world import World

_FIRST_PORT = 8080
_INSTALL = 'pip install "featherweight[view]"'


class LiveView:
    """A page that follows a robot: made by :func:`featherweight.view`, moved by :meth:`update`.

    ``url`` is where it is shown. A view closes with :meth:`close`, or at the end of a ``with`` block.

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
        self._add_switches()
        self._sliders: list[tuple[int, Any]] = []
        self._q = np.array(q, dtype=np.float64)
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
                self._clock.value = f"{time:.3f} s"

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
        self._server.stop()

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<LiveView of {self.world.model.name!r} at {self.url}>"

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
        for role, name in (("visual", "robot"), ("collision", "collision shapes")):
            if self._by_role[role]:
                box = gui.add_checkbox(name, role != "collision")
                box.on_update(lambda _, role=role, box=box: self._show(role, bool(box.value)))

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
