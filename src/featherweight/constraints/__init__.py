"""Held points and frames, and what they do to accelerations, velocities and forces."""
