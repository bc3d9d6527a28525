"""Twins of the contact solvers: sigma = G lambda + g, with a law for each block of rows.

The laws and how far they are from being obeyed are in residuals.py; block.py solves one block exactly with all others
held, gauss_seidel.py goes from block to block, newton.py takes all at once and admm.py alternates between the linear
problem and the laws.
"""
