"""Whole rollouts, evaluations and sweeps, on the machines of a Ray cluster or in this process.

What is distributed are items of work that take a tenth of a second or more, never single steps. Results are in the
order of the items and have the same bits for any number of workers, with Ray and without.

Workers need the extra ``featherweight[cluster]``; without it, or without ``workers``, everything runs in this process.

>>> sim = fw.Simulator(fw.models.pendulum())
>>> runs = fw.cluster.rollouts(sim, sim.state(batch=100, q=[0.1]), n_steps=50)
>>> runs.q.shape
(100, 50, 1)
"""

from .evaluation import Evaluation, evaluate
from .items import ItemError, map  # noqa: A004 - read as cluster.map
from .rollouts import rollouts
from .sweeps import Sweep, sweep

__all__ = ["Evaluation", "ItemError", "Sweep", "evaluate", "map", "rollouts", "sweep"]
