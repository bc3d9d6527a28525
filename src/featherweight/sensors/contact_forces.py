"""What contacts do to a link or a shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..arrays import Array
from ..checks import close_names
from ..records import Record
from ..simulation.state import State
from .last_step import last_step
from .reading import WrenchReading, model_of, squeezed


@dataclass(frozen=True)
class ContactForceSensor(Record):
    """Sum of the contact forces on a link, or on one shape: world axes, torque about the link's origin.

    of: a link ("robot/foot"), a body, or a shape; torques on what never moves ("ground") are about the world's origin.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> box = scene.add(fw.box((0.2, 0.2, 0.2), mass=1.0), name="box", pose=(0, 0, 0.1))
    >>> sim = fw.Simulator(scene)
    >>> force = fw.ContactForceSensor("box").read(sim.step(sim.state())).force
    >>> force.round(3) + 0.0
    array([0.  , 0.  , 9.81])
    """

    of: str

    def read(self, state: State) -> WrenchReading:
        """In the last step of ``state``: force (..., 3) [N] and torque (..., 3) [N m]."""
        scene, model = state.simulator.scene, model_of(state)
        links = set(model.link_names)
        shapes = [
            k for k, s in enumerate(scene.shapes) if self.of == (s.name if s.link < 0 else model.link_names[s.link])
        ]
        shapes = shapes or [k for k, s in enumerate(scene.shapes) if self.of == s.name]
        if not shapes and self.of not in links:
            known = links | {shape.name for shape in scene.shapes}
            raise ValueError(f"unknown link or shape {self.of!r}{close_names(self.of, known)}")
        link = scene.shapes[shapes[0]].link if shapes else -1
        q, _, _ = last_step(state)
        at = None if link < 0 else model.link_names[link]
        origin = np.zeros((len(q), 3)) if at is None else np.asarray(_core.frame_placement(model, q, at))[:, :3, 3]
        force, torque = contact_wrench(state, shapes, origin)
        return WrenchReading(squeezed(force, state), squeezed(torque, state))


def contact_wrench(state: State, shapes: list[int], origin: Array) -> tuple[Array, Array]:
    """Force and torque about ``origin`` (batch, 3) on the shapes, (batch, 3) each, world axes."""
    flags = np.zeros(len(state.simulator.scene.shapes), dtype=np.bool_)
    flags[shapes] = True
    wrench = state._core.contact_wrenches(state._read.contacts, flags, np.ascontiguousarray(origin))
    wrench /= state.simulator.dt
    return wrench[:, :3], wrench[:, 3:]
