"""Rotations and poses by their logarithms; inverse kinematics."""
