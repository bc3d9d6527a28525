"""Robots: their description, the one place where it is judged valid, and the model compiled from it."""
