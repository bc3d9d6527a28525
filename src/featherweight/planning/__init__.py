"""Planning with tools: search over skeletons of skills, whose parameters are found by simulating samples of them.

A :class:`Problem` is a scene with a hand, tools that it can hold, and a goal; :func:`solve` finds a :class:`Plan` that
also holds at half the step and with friction 10 % less or more. What the hand holds is welded to it by switches
(:meth:`featherweight.Scene.constrain`).

>>> [skill.title for skill in (fw.planning.Grasp("hook"), fw.planning.Push("block", tool="hook", face="-x"))]
['grasp hook', 'push block with hook']
"""

from .plan import Plan, Stage, Statistics, Verdict
from .problem import Near, Problem, Tool, View
from .search import solve
from .skills import Grasp, Parameter, Pull, Push, Release, Skill, Strike, Throw, Wait, skills_for

__all__ = [
    "Grasp",
    "Near",
    "Parameter",
    "Plan",
    "Problem",
    "Pull",
    "Push",
    "Release",
    "Skill",
    "Stage",
    "Statistics",
    "Strike",
    "Throw",
    "Tool",
    "Verdict",
    "View",
    "Wait",
    "skills_for",
    "solve",
]
