"""Robots from files: URDF and MJCF."""
