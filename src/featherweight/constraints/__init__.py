"""Anchors and closures, and what they do to accelerations, velocities and forces."""
