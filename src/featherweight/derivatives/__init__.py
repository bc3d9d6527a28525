"""Derivatives of dynamics, exact and in the tangent space of configurations, and their products with vectors."""
