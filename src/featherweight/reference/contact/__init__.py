"""Twins of the contact solvers: sigma = G lambda + g, with a law for each block of rows.

residuals.py measures how far the laws are from being obeyed; block.py solves one block exactly with all others fixed,
gauss_seidel.py goes from block to block, newton.py takes all at once and admm.py alternates between the linear problem
and the laws.
"""
