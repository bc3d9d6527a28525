"""What environments of one batch have of their own, in place of the scene's: for domain randomisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..arrays import Array, real_numbers
from ..checks import close_names
from ..records import Record
from ..scene.compiled import CompiledShape, thickness

if TYPE_CHECKING:
    from .simulator import Simulator


@dataclass(frozen=True, eq=False)
class Parameters(Record):
    """Parameters of each environment of a batch; those of the scene where None. Arrays are read-only.

    Parameters can be pickled and compare by value.

    >>> sim = fw.Simulator(fw.models.pendulum())
    >>> state = sim.state(batch=2).randomised(gravity=[(0, 0, -9.81), (0, 0, -1.62)])
    >>> np.asarray(state.parameters.gravity)[1]
    array([ 0.  ,  0.  , -1.62])
    """

    friction: Array | None = None  # (batch,) factors on all coefficients of friction
    gains: Array | None = None  # (batch, nu) factors on the forces of actuators, but not on their limits
    gravity: Array | None = None  # (batch, 3) [m/s^2], world axes
    masses: Array | None = None  # (batch, n_links) factors on mass and inertia of links; their centres stay
    heights: Mapping[str, Array] = field(default_factory=dict)  # by shape, (batch, nx, ny) [m], as in HeightField

    @classmethod
    def checked(
        cls,
        simulator: Simulator,
        batch: int,
        *,
        friction: ArrayLike | None = None,
        gains: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        masses: ArrayLike | None = None,
        heights: Mapping[str, ArrayLike] | None = None,
    ) -> Parameters:
        """The parameters given; what is wrong with them raises a ValueError that names the culprit."""
        n, nu, links = batch, simulator.nu, simulator.model.link_names
        if gains is not None and np.ndim(gains) == 1:
            gains = np.tile(np.asarray(gains)[:, None], nu)
        return cls(
            friction=None if friction is None else _factors("friction", friction, (n,)),
            gains=None if gains is None else _factors("gains", gains, (n, nu)),
            gravity=None if gravity is None else _numbers("gravity", gravity, (n, 3)),
            masses=None if masses is None else _mass_factors(masses, n, links),
            heights={} if heights is None else _heights(simulator, heights, n),
        )

    def changed_by(self, other: Parameters) -> Parameters:
        """These, replaced by those that ``other`` has."""
        fields = {name: value for name, value in vars(other).items() if value is not None}
        return Parameters(**{**vars(self), **fields, "heights": {**self.heights, **other.heights}})

    def hand_to(self, core: _core.Environments, simulator: Simulator) -> None:
        """Give them to the environments."""
        setters = {
            "friction": core.set_friction,
            "gains": core.set_gains,
            "gravity": core.set_gravity,
            "masses": core.set_masses,
        }
        for name, set_values in setters.items():
            if (values := getattr(self, name)) is not None:
                set_values(simulator._actuation.gains(values) if name == "gains" else values)
        for name, values in self.heights.items():
            bases = np.array([thickness(each) for each in values])
            core.set_heights(_shape(simulator, name)[0], np.ascontiguousarray(np.swapaxes(values, 1, 2)), bases)

    def arrays(self) -> dict[str, Array]:
        """All that is given, by name, to be saved."""
        flat = {name: value for name, value in vars(self).items() if value is not None and name != "heights"}
        return flat | {_HEIGHTS + name: values for name, values in self.heights.items()}

    @classmethod
    def from_arrays(cls, simulator: Simulator, batch: int, saved: Mapping[str, Array]) -> Parameters:
        """What :meth:`arrays` returned, checked; other names are left alone."""
        heights = {name.removeprefix(_HEIGHTS): saved[name] for name in saved if name.startswith(_HEIGHTS)}
        names = [name for name in _PLAIN if name in saved]
        return cls.checked(simulator, batch, heights=heights, **{name: saved[name] for name in names})


_PLAIN = ("friction", "gains", "gravity", "masses")
_HEIGHTS = "heights/"


def is_parameter(name: str) -> bool:
    """Whether :meth:`Parameters.arrays` may hold an array under this name."""
    return name in _PLAIN or name.startswith(_HEIGHTS)


def _numbers(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    array = np.array(real_numbers(name, value))
    if array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    for environment in np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(axis=1))[:1]:
        raise ValueError(f"{name}: contains numbers that are not finite, in environment {environment}")
    array.setflags(write=False)
    return array


def _factors(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    array = _numbers(name, value, shape)
    for environment in np.flatnonzero((array < 0.0).reshape(len(array), -1).any(axis=1))[:1]:
        raise ValueError(f"{name}: factors must not be negative, they are in environment {environment}")
    return array


def _mass_factors(value: ArrayLike, batch: int, links: tuple[str, ...]) -> Array:
    array = _numbers("masses", value, (batch, len(links)))
    for environment, link in np.argwhere(array <= 0.0)[:1].tolist():
        raise ValueError(
            f"masses: factors must be positive, got {array[environment, link]:g} for link {links[link]!r} "
            f"of environment {environment}"
        )
    return array


def _heights(simulator: Simulator, given: Mapping[str, ArrayLike], batch: int) -> dict[str, Array]:
    if not isinstance(given, Mapping):
        raise ValueError(f"heights: expected a dictionary from shapes to arrays, got {type(given).__name__}")
    checked = {}
    for name, values in given.items():
        like = _shape(simulator, name)[1].heights
        if like is None:
            raise ValueError(f"heights: shape {name!r} is a {_shape(simulator, name)[1].kind}, not a heightfield")
        checked[name] = _numbers(f"heights: {name!r}", values, (batch, *like.shape))
    return checked


def _shape(simulator: Simulator, name: str) -> tuple[int, CompiledShape]:
    shapes = simulator.scene.shapes
    for k, shape in enumerate(shapes):
        if shape.name == name:
            return k, shape
    raise ValueError(f"heights: unknown shape {name!r}{close_names(str(name), [shape.name for shape in shapes])}")
