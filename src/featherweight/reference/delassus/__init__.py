"""Twins of the Delassus family: J H^-1 J^T, the inverse operational-space inertia, of rows on one link or between two.

All but ltl_osim start with the same sweep (bodies.py) and cross joints by the same two steps; they differ in how often
a row crosses a joint. The inverses and the operator take a damping R, with which they answer for any rows.
"""
