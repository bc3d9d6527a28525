"""Model predictive control: optimal control over a horizon of nodes.

So far the step that all such controllers solve again and again, a linear-quadratic problem: :func:`lqr`.

>>> solution = fw.mpc.lqr(A=np.eye(1), B=np.eye(1), Q=np.eye(1), R=np.eye(1), nodes=20, x0=[1.0])
>>> solution.gain[0]  # of the golden ratio, as it should be
array([[-0.61803399]])
"""

from .lqr import LqrSolution, lqr

__all__ = ["LqrSolution", "lqr"]
