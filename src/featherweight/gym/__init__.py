"""Gymnasium environments: tasks assembled from small terms, stepped a thousand at a time.

Needs the extra ``featherweight[gym]``.

>>> import gymnasium
>>> gymnasium.register_envs(fw.gym)
>>> envs = gymnasium.make_vec("featherweight/CartPole-v0", num_envs=3)
>>> observations, infos = envs.reset(seed=0)
>>> observations.shape
(3, 4)
"""

try:
    import gymnasium as _gymnasium  # noqa: F401
except ImportError:
    raise ImportError('featherweight.gym needs gymnasium: pip install "featherweight[gym]"') from None

from ..arrays import Array
from . import terms
from .actions import Action, Grip, Increments, Rule, Targets
from .columns import Columns
from .randomness import Draws
from .task import Repeated, Task
from .term import Term, term
from .vector_env import Env, VectorEnv
from .world import Names, World

from . import tasks  # isort: skip  # made of the above
from .registration import register

register()

__all__ = [
    "Action",
    "Array",
    "Columns",
    "Draws",
    "Env",
    "Grip",
    "Increments",
    "Names",
    "Repeated",
    "Rule",
    "Targets",
    "Task",
    "Term",
    "VectorEnv",
    "World",
    "register",
    "tasks",
    "term",
    "terms",
]
