"""The result of a rollout: what was recorded, to look at, to save and to show."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, files
from ..arrays import Array
from ..checks import counted
from ..core_tables import StepFigures
from ..records import Record
from .actuation import tendon_energy
from .contacts import Contacts
from .derivatives import Tape
from .lifts import carried_energy
from .state import State, failures
from .struts import strut_energy

if TYPE_CHECKING:
    from ..viewer.animation import Animation
    from .simulator import Simulator


@dataclass(frozen=True, eq=False)
class Trajectory(Record):
    """The result of a rollout. Arrays start with the batch, unless there is a single environment.

    Trajectories are pickled with everything that was recorded, and compare by value.

    >>> sim = fw.Simulator(fw.models.pendulum())
    >>> trajectory = sim.rollout(sim.state(q=[0.1]), n_steps=10)
    >>> len(trajectory), trajectory.time[-1].round(6)
    (10, np.float64(0.01))
    """

    simulator: Simulator
    final: State
    time: Array  # (steps,) [s], of the states recorded
    q: Array  # ([batch,] steps, nq)
    v: Array  # ([batch,] steps, nv)
    residuals: Array  # ([batch,] steps) relative residual; the worst since the row before
    penetrations: Array  # ([batch,] steps) [m] deepest overlap, likewise
    contacts: Sequence[Contacts]  # of every row, if recorded; forces are read when they are first asked for
    _totals: StepFigures  # the worst of all steps, and sums
    interrupted: bool = False
    _tape: Tape | None = None

    @property
    def residual(self) -> Any:
        """Largest natural residual of any step, relative to its velocities, ([batch])."""
        return self._squeeze(self._totals.residual)

    @property
    def penetration(self) -> Any:
        """Deepest overlap at the start of any step [m], ([batch])."""
        return self._squeeze(self._totals.penetration)

    @property
    def closure_error(self) -> Any:
        """Largest error of constraints at the end of any step [m or rad], ([batch])."""
        return self._squeeze(self._totals.closure_error)

    @property
    def unconverged(self) -> Any:
        """Steps that missed the tolerance, ([batch])."""
        return self._squeeze(self._totals.unconverged)

    @property
    def iterations(self) -> dict[str, Array]:
        """Iterations of "gauss_seidel", "newton" (factorisations) and "admm", summed over all steps, ([batch]) each."""
        total = self._totals
        counts = {"gauss_seidel": total.gauss_seidel, "newton": total.newton, "admm": total.admm}
        return {name: self._squeeze(values) for name, values in counts.items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Time, coordinates, velocities and diagnostics as an .npz file, in place of one that is there already.

        The scene is in it as well, so that ``featherweight view`` can show it.

        >>> import tempfile
        >>> sim = fw.Simulator(fw.models.pendulum())
        >>> file = tempfile.mkdtemp() + "/motion.npz"
        >>> sim.rollout(sim.state(q=[0.3]), n_steps=100).save(file)
        >>> np.load(file)["q"].shape
        (100, 1)
        """
        from ..viewer.motion_file import scene_arrays

        names = ("time", "q", "v", "residual", "penetration", "unconverged", "residuals", "penetrations")
        arrays = {name: getattr(self, name) for name in names}
        arrays |= {"dt": self.simulator.dt, "failed": self.final.failed}
        files.write_arrays(path, arrays | scene_arrays(self.simulator.scene))

    def animation(self) -> Animation:
        """The motion with contacts, if they were recorded, energies and residuals, for :func:`featherweight.view`."""
        from ..viewer.animation import Animation, ContactArrows
        from ..viewer.world import World, title_of

        if not len(self.time):
            raise ValueError("the trajectory has no rows to show: roll out with record=True and at least one step")
        q, v = (x.reshape(-1, len(self.time), x.shape[-1]) for x in (self.q, self.v))
        arrows = [ContactArrows(each.environment, each.position, each.force_world) for each in self.contacts]
        curves = self._energies(q, v) | {"residual": self.residuals.reshape(q.shape[:2])}
        return Animation(World.of(self.simulator.scene), title_of(self.simulator.scene), self.time, q, arrows, curves)

    def _energies(self, q: Array, v: Array) -> dict[str, Array]:
        """([environments], steps) [J] each."""
        scene, shape = self.simulator.scene, q.shape[:2]
        q, v = q.reshape(-1, q.shape[-1]), v.reshape(-1, v.shape[-1])
        kinetic = np.asarray(_core.kinetic_energy(scene.model, q, v))
        potential = np.asarray(_core.potential_energy(scene.model, q)) + scene.springs.energy(q)
        potential += tendon_energy(scene.model, q) + strut_energy(self.simulator, q) - carried_energy(scene.model, q)
        return {
            "energy [J]": (kinetic + potential).reshape(shape),
            "kinetic energy [J]": kinetic.reshape(shape),
        }

    def html(self, path: str | os.PathLike[str], *, fps: float = 50.0) -> None:
        """Save the motion as a web page: a single file that opens in any browser, offline.

        It shows the robot and the scene, contacts and their forces if they were recorded, frames, the centre of
        mass, energies and residuals; it plays, steps and scrubs. Up to 64 environments are shown side by side.
        fps: frames per second; long motions have fewer, at most 3000 in total.

        >>> import pathlib, tempfile
        >>> sim = fw.Simulator(fw.models.pendulum())
        >>> page = pathlib.Path(tempfile.mkdtemp(), "motion.html")
        >>> sim.rollout(sim.state(q=[0.3]), n_steps=100).html(page)
        >>> page.read_text()[:15]
        '<!doctype html>'
        """
        from ..viewer.page import save_page

        save_page(self.animation(), path, fps=fps)

    def video(
        self,
        path: str | os.PathLike[str],
        *,
        fps: float = 30.0,
        size: tuple[int, int] = (1280, 720),
        environment: int = 0,
        progress: bool = False,
    ) -> None:
        """Save the motion of one environment as an MP4 file, or as images if the name is like ``frame_%04d.png``.

        Rendered in software, without a display. size: width and height in pixels. Needs the extra
        ``featherweight[video]``.

        >>> sim = fw.Simulator(fw.models.pendulum())
        >>> motion = sim.rollout(sim.state(q=[0.3]), n_steps=100)
        >>> motion.video("motion.mp4")  # doctest: +SKIP
        >>> motion.video("frame_%04d.png", fps=10, size=(640, 360))  # doctest: +SKIP
        """
        from ..viewer.film import save_video

        save_video(self.animation(), path, fps=fps, size=size, environment=environment, progress=progress)

    def _squeeze(self, values: Array) -> Any:
        return values[0] if self.final.single else values

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        failed = failures(self.final.failed)
        return f"<Trajectory: {counted(len(self), 'step')}, worst residual {np.max(self.residual):.1e}{failed}>"
