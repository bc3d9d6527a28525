"""What touched in a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..core_tables import ContactTable
from ..records import Record

if TYPE_CHECKING:
    from .simulator import Simulator


@dataclass(frozen=True, eq=False)
class Contacts(Record):
    """The n points of contact of the last step, of all environments together, ordered by environment.

    ``frame`` has rows t1, t2, normal; the normal points from shape b to shape a, and forces act on a.
    Contacts can be pickled and compare by value.

    >>> scene = fw.Scene(ground=fw.Plane())
    >>> ball = scene.add(fw.sphere(0.1, mass=1.0), name="ball", pose=(0, 0, 0.1))
    >>> sim = fw.Simulator(scene)
    >>> contacts = sim.step(sim.state()).contacts
    >>> len(contacts), contacts.force.round(2) + 0.0
    (1, array([[0.  , 0.  , 9.81]]))
    """

    environment: NDArray[np.int64]  # (n,)
    shape_a: NDArray[np.int64]  # (n,) index in the scene's shapes
    shape_b: NDArray[np.int64]  # (n,)
    names: tuple[str, ...]  # of the scene's shapes
    position: Array  # (n, 3) [m], world
    frame: Array  # (n, 3, 3), world axes
    gap: Array  # (n,) [m] at the start of the step, negative where they overlap
    impulse: Array  # (n, 6) along t1, t2, normal and about them [N s, N m s]
    dt: float

    @classmethod
    def of(cls, simulator: Simulator, core: _core.Environments, impulse: Array | None = None) -> Contacts:
        """impulse: as it is read, if that is known already."""
        table = ContactTable.of(core)
        counts = table.counts
        return cls(
            environment=np.repeat(np.arange(len(counts)), counts),
            shape_a=table.integers("shape_a"),
            shape_b=table.integers("shape_b"),
            names=tuple(shape.name for shape in simulator.scene.shapes),
            position=table.numbers("position"),
            frame=table.numbers("frame"),
            gap=table.numbers("gap"),
            impulse=core.read_impulses(simulator.num_threads)[0] if impulse is None else impulse,
            dt=simulator.dt,
        )

    @property
    def normal(self) -> Array:
        """(n, 3), world axes, from b to a."""
        return self.frame[:, 2]

    @property
    def force(self) -> Array:
        """On a, (n, 3) [N], along t1, t2 and the normal: the mean over the step."""
        return self.impulse[:, :3] / self.dt

    @property
    def force_world(self) -> Array:
        """On a, (n, 3) [N], world axes."""
        return np.asarray(np.einsum("nij,ni->nj", self.frame, self.force))

    def __len__(self) -> int:
        return len(self.gap)

    def __repr__(self) -> str:
        lines = [f"<Contacts: {len(self)}>"]
        for k in range(min(len(self), 10)):
            a, b = self.names[self.shape_a[k]], self.names[self.shape_b[k]]
            lines.append(f"  [{self.environment[k]}] {a} - {b}: gap {self.gap[k]:.2e} m, {self.force[k, 2]:.3g} N")
        return "\n".join(lines + (["  ..."] if len(self) > 10 else []))
