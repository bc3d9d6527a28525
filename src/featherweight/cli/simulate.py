"""A first simulation of any robot: dropped on the ground, held by servos, recorded. ``featherweight simulate`` runs it.

>>> drop = Drop(fw.models.quadruped(), dt=2e-3)
>>> record = drop.run(seconds=0.5)
>>> record.summary()["failed environments"]
'0 of 1'
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .. import _core, files
from ..arrays import Array
from ..checks import counted
from ..model.model import Model
from ..scene.scene import Scene
from ..scene.shapes import Plane
from ..simulation.contacts import Contacts
from ..simulation.core_arguments import Integrator
from ..simulation.posture import bases, holding_gains, lowest_point, start_posture
from ..simulation.recording import RecordedContacts
from ..simulation.simulator import Simulator
from ..simulation.state import State
from ..simulation.trajectory import Trajectory
from ..viewer.animation import Animation, ContactArrows
from ..viewer.motion_file import scene_arrays
from ..viewer.world import World

Controller = Literal["hold", "zero"]

CLEARANCE = 0.01  # [m] between the lowest point and the ground, unless told
SPREAD = 0.05  # [rad] or [m]: by how much the postures of a batch differ
OVERLAP = 1e-3  # [m]: initial postures may overlap by this much more than the posture itself
PUSH = 0.2  # [m/s]: initial speed of free bases


class Drop:
    """A scene with one robot just above the ground, its simulator, and what keeps its posture.

    ground: a plane under the robot, unless its file has a ground: then it starts exactly where the file says.
    height: of its lowest point above the ground [m], for robots whose base is not fixed. Under a fixed base the ground
    is at zero, or lower if the robot reaches below that in its initial posture.
    keyframe: of the robot, to start at; else it starts at ``start_posture``.
    controller: "hold": position servos keep the posture, the robot's own or, on joints without, new ones, and
    actuators are told what the keyframe says; "zero": no forces, controls at zero.
    """

    def __init__(
        self,
        model: Model,
        dt: float = 2e-3,
        *,
        controller: Controller = "hold",
        integrator: Integrator = "implicit",
        ground: bool = True,
        height: float | None = None,
        keyframe: str | None = None,
    ) -> None:
        self.robot = model
        self.clearance = CLEARANCE if height is None else height
        self.bases = bases(model)
        self.keyframe = None if keyframe is None else model.keyframe(keyframe)
        self.posture = q = start_posture(model) if self.keyframe is None else np.array(self.keyframe.q)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a robot that nothing can touch is simulated anyway
            world: dict[str, Any] = {"gravity": model.gravity, "medium": model.description.medium}
            scene = Scene(**world)
            scene.add(model, name="robot", q=q, self_collision="apart")
            self._lowest = scene.compile()
            self.has_ground = any(s.static and s.kind in ("plane", "heightfield") for s in self._lowest.shapes)
            ground = ground and not self.has_ground
            self._lifts = height is not None or not self.has_ground
            scene = Scene(ground=Plane(offset=self._ground_level(q)) if ground else None, **world)
            robot = scene.add(model, name="robot", q=self._lifted(q), self_collision="apart")
        targets = self._hold(scene, robot.name, q) if controller == "hold" else {}
        if self.keyframe is not None and controller == "hold":
            own = zip(model.description.actuators, self.keyframe.control.tolist(), strict=True)
            targets |= {f"{robot.name}/{actuator.name}": control for actuator, control in own}
        self.simulator = Simulator(scene, dt, integrator=integrator)
        # The length of an actuator at the posture: the target of a position servo. Motors are told zero.
        self.control = np.array([targets.get(actuator.name, 0.0) for actuator in self.simulator.actuators])

    @property
    def free(self) -> bool:
        """Whether the robot can go somewhere."""
        return bool(self.bases)

    def _ground_level(self, q: Array) -> float:
        lowest = float(lowest_point(self._lowest, q))
        return 0.0 if self.free or not np.isfinite(lowest) else min(0.0, lowest - self.clearance)

    def _lifted(self, q: Array) -> Array:
        """``q`` (..., nq) with bases so high that the lowest shape is just above the ground."""
        if not self._lifts:
            return q
        lowest = lowest_point(self._lowest, q)
        lifted = q.copy()
        if np.isfinite(lowest).all():
            for base in self.bases:
                if base.height is not None:
                    lifted[..., base.height] += self.clearance - lowest
        return lifted

    def _hold(self, scene: Scene, part: str, q: Array) -> dict[str, float]:
        """Puts servos where there are none; returns what each actuator is told."""
        own = [actuator for actuator in self.robot.description.actuators if actuator.kind == "position"]
        at = {joint.name: joint.q_slice.start for joint in self.robot.joints}
        targets = {f"{part}/{each.name}": sum(gear * float(q[at[name]]) for name, gear in each.joints) for each in own}
        kp, kd = holding_gains(self.robot, q)
        left = {name for actuator in own for name, _ in actuator.joints} | {
            joint.name for base in self.bases for joint in base.joints
        }
        free = [joint for joint in self.robot.joints if joint.nv == 1 and joint.name not in left]
        if free:
            dofs = [joint.v_slice.start for joint in free]
            names = scene.servo([f"{part}/{joint.name}" for joint in free], kp=kp[dofs], kd=kd[dofs])
            targets |= {name: float(q[joint.q_slice][0]) for name, joint in zip(names, free, strict=True)}
        return targets

    def start(self, batch: int = 1, seed: int = 0) -> State:
        """The first environment stands still; others differ a little in posture and, if free, in velocity."""
        sim, robot = self.simulator, self.robot
        rng = np.random.default_rng(seed)
        change = SPREAD * rng.standard_normal((batch, robot.nv))
        v = np.zeros((batch, robot.nv))
        for joint in (joint for base in self.bases for joint in base.joints):
            change[:, joint.v_slice] = 0.0
            if joint.type == "free":
                v[:, joint.v_slice.start : joint.v_slice.start + 3] = PUSH * rng.standard_normal((batch, 3))
        change[0] = v[0] = 0.0
        if self.keyframe is not None:
            v += self.keyframe.v
        posture = np.tile(self.posture, (batch, 1))
        for _ in range(6):  # differences that make limbs overlap are reduced
            within = np.clip(robot.integrate(posture, change), robot.lower, robot.upper)
            within[0] = self.posture  # exactly, even where a file starts beyond its limits
            q = self._lifted(within)
            state = sim.state(batch, q=q, v=v)
            overlap = sim.step(state).penetration
            change[overlap > overlap[0] + OVERLAP] *= 0.5
        return state

    def run(
        self, seconds: float = 5.0, *, batch: int = 1, seed: int = 0, every: int = 1, progress: bool = False
    ) -> Record:
        """Simulate; Ctrl-C ends it early. every: steps between two records."""
        sim = self.simulator
        steps = max(1, round(seconds / sim.dt))
        state = self.start(batch, seed)
        started = time.perf_counter()
        trajectory = sim.rollout(
            state,
            control=self.control if sim.nu else None,
            n_steps=steps,
            record_contacts=True,
            every=every,
            progress=progress,
            on_interrupt="return",
        )
        return Record(self, state, trajectory, time.perf_counter() - started)


class _Arrows(Sequence[ContactArrows]):
    """Of a start, where nothing has touched yet, and of each row of contacts: made for those that are shown."""

    def __init__(self, contacts: Sequence[Contacts]) -> None:
        self._contacts = contacts

    def __len__(self) -> int:
        return len(self._contacts) + 1

    def __getitem__(self, row: Any) -> Any:
        k = range(len(self))[row]
        if k == 0:
            return ContactArrows(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros((0, 3)))
        contacts = self._contacts[k - 1]
        return ContactArrows(contacts.environment, contacts.position, contacts.force_world)


@dataclass(frozen=True, eq=False)
class Record:
    """The result, and how long it took.

    Contacts and forces are those of the recorded step; residual and penetration are the worst since the row before.
    """

    drop: Drop
    start: State
    trajectory: Trajectory
    seconds: float  # of computing

    @cached_property
    def columns(self) -> dict[str, Array]:
        """By name, time first, then the environment; row 0 is the start. Forces are read here."""
        start, motion = self.start, self.trajectory
        contacts, none = motion.contacts, np.zeros((1, self.batch))
        assert isinstance(contacts, RecordedContacts)
        over_time = {
            "q": (start.q[None], np.moveaxis(motion.q, 1, 0)),
            "v": (start.v[None], np.moveaxis(motion.v, 1, 0)),
            "contacts": (none.astype(np.int64), contacts.counts),
            "normal_force": (none, contacts.normal_force),
            "residual": (none, motion.residuals.T),
            "penetration": (none, motion.penetrations.T),
        }
        return {"time": np.r_[start.time, motion.time]} | {name: np.concatenate(x) for name, x in over_time.items()}

    @property
    def final(self) -> State:
        return self.trajectory.final

    @property
    def interrupted(self) -> bool:
        return self.trajectory.interrupted

    @property
    def steps(self) -> int:
        """Of every environment."""
        return round((self.final.time - self.start.time) / self.drop.simulator.dt)

    @property
    def unconverged(self) -> int:
        """Steps of any environment that missed the solver's tolerance."""
        return int(self.trajectory.unconverged.sum())

    @property
    def batch(self) -> int:
        return self.final.batch_size

    @property
    def failed(self) -> int:
        """Environments whose numbers stopped being finite."""
        return int(np.count_nonzero(self.final.failed))

    @property
    def base_height(self) -> Array:
        """(n, batch) [m]: of the first base that is not fixed, else of the centre of mass."""
        q, model = self.columns["q"], self.drop.simulator.model
        flat = q.reshape(-1, q.shape[-1])
        if self.drop.bases:
            base = np.asarray(_core.frame_placement(model, flat, f"robot/{self.drop.bases[0].link}"))
            return base[:, 2, 3].reshape(q.shape[:2])
        return np.asarray(_core.center_of_mass(model, flat))[:, 2].reshape(q.shape[:2])

    def energy(self, row: int) -> float:
        """Kinetic and potential, springs included [J], the mean over environments, at a recorded row."""
        return float(np.mean(self._energies(self.columns["q"][row], self.columns["v"][row])))

    def _energies(self, q: Array, v: Array) -> Array:
        scene = self.drop.simulator.scene
        potential = _core.potential_energy(scene.model, q) + scene.springs.energy(q)
        return np.asarray(_core.kinetic_energy(scene.model, q, v) + potential)

    def animation(self) -> Animation:
        """The motion as it is shown, with contacts, energy and residual."""
        q, v = self.columns["q"], self.columns["v"]
        energy = self._energies(q.reshape(-1, q.shape[-1]), v.reshape(-1, v.shape[-1])).reshape(q.shape[:2])
        curves = {"energy [J]": energy.T, "residual": self.columns["residual"].T}
        world = World.of(self.drop.simulator.scene)
        arrows = _Arrows(self.trajectory.contacts)
        return Animation(world, self.drop.robot.name, self.columns["time"], np.moveaxis(q, 1, 0), arrows, curves)

    def summary(self) -> dict[str, str]:
        """The summary for the user, line by line."""
        sim, total = self.drop.simulator, self.steps * self.batch
        contacts = self.columns["contacts"][1:] if self.steps else self.columns["contacts"]
        rate = total / max(self.seconds, 1e-9)
        height = self.base_height
        what = "base" if self.drop.free else "centre of mass"
        spread = "" if self.batch == 1 else f" (first), {height[-1].min():.4f} to {height[-1].max():.4f} m (all)"
        return {
            "simulated": f"{self.steps * sim.dt:g} s, {self.steps:,} steps of {sim.dt:g} s, "
            f"{counted(self.batch, 'environment')}",
            "computed in": f"{self.seconds:.3g} s: {rate:,.0f} steps/s, {rate * sim.dt:,.1f} times real time",
            "contacts": f"{contacts.mean():.1f} on average, {contacts.max()} at most",
            "energy": f"{self.energy(0):.4g} J at the start, {self.energy(-1):.4g} J at the end",
            "worst residual": f"{self.columns['residual'].max():.2g}, relative to the velocities",
            "unconverged steps": f"{self.unconverged:,} of {total:,}",
            "deepest penetration": _millimetres(self.columns["penetration"].max()),
            "failed environments": f"{self.failed} of {self.batch}",
            f"final height of the {what}": f"{height[-1, 0]:.4f} m{spread}",
        }

    def save(self, path: Path) -> None:
        """An .npz file: arrays with the environment first, without it for a single one. Never a half-written one."""
        arrays: dict[str, Any] = dict(self.columns)
        for name in ("q", "v", "contacts", "normal_force", "residual", "penetration"):
            arrays[name] = np.moveaxis(arrays[name], 1, 0)[0 if self.batch == 1 else slice(None)]
        model = self.drop.simulator.model
        arrays |= {
            "dt": self.drop.simulator.dt,
            "joint_names": np.array(model.joint_names),
            "q_start": np.array([joint.q_slice.start for joint in model.joints]),  # of each joint's coordinates in q
            "v_start": np.array([joint.v_slice.start for joint in model.joints]),
            "failed": np.array(self.final.failed),
            "interrupted": self.interrupted,
        } | scene_arrays(self.drop.simulator.scene)
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_arrays(path, arrays)


def _millimetres(length: float) -> str:
    if 0.0 < length < 1e-6:
        return "below 0.001 mm"
    return f"{1e3 * length:.0f} mm" if length >= 0.1 else f"{1e3 * length:.2g} mm"
