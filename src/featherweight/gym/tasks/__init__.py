"""Built-in tasks: each function returns a new :class:`featherweight.gym.Task`."""

from .ant import ant
from .arm import pick_and_place, reach
from .cart_pole import cart_pole
from .hopper import hopper
from .humanoid import humanoid
from .quadruped import quadruped

__all__ = ["ant", "cart_pole", "hopper", "humanoid", "pick_and_place", "quadruped", "reach"]
