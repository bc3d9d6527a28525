"""Learning: policies that run without the library that they were learnt with.

>>> import tempfile
>>> policy = fw.learn.Policy.initial(4, 1, seed=0)
>>> with tempfile.TemporaryDirectory() as folder:
...     policy.save(folder + "/policy.npz")
...     fw.learn.Policy.load(folder + "/policy.npz") == policy
True
"""

from .actor_critic import ActorCritic, Score, compliant, shac
from .experts import Planners
from .imitation import Imitation, Round, imitate
from .libraries import rsl_rl, stable_baselines3
from .policy import Policy
from .regression import Learner, Regression

__all__ = [
    "ActorCritic",
    "Imitation",
    "Learner",
    "Planners",
    "Policy",
    "Regression",
    "Round",
    "Score",
    "compliant",
    "imitate",
    "rsl_rl",
    "shac",
    "stable_baselines3",
]
