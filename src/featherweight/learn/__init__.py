"""Learning: policies that run without the library that they were learnt with.

>>> import tempfile
>>> policy = fw.learn.Policy.initial(4, 1, seed=0)
>>> with tempfile.TemporaryDirectory() as folder:
...     policy.save(folder + "/policy.npz")
...     fw.learn.Policy.load(folder + "/policy.npz") == policy
True
"""

from .experts import Planners
from .imitation import Imitation, Round, imitate
from .policy import Policy
from .regression import Learner, Regression

__all__ = ["Imitation", "Learner", "Planners", "Policy", "Regression", "Round", "imitate"]
