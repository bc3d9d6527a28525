"""Twin of one step of one environment, by dense algebra: every stage a file, in the order of the step.

predict.py   the velocities at the end of the step if nothing touched
assemble.py  rows, their matrix and their laws: of closures, joints and contacts
solve.py     impulses that obey the laws
apply.py     the velocities they lead to, and the coordinates that follow
correct.py   overlaps and open closures taken out of the coordinates

What touches is an input: collision has oracles of its own. The equations are derived in docs/theory_contact.md.
"""

from featherweight.reference.stages.apply import apply
from featherweight.reference.stages.assemble import assemble
from featherweight.reference.stages.correct import correct
from featherweight.reference.stages.predict import predict
from featherweight.reference.stages.solve import solve

__all__ = ["apply", "assemble", "correct", "predict", "solve"]
