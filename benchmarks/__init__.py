"""Benchmarks of featherweight beside its peers: ``python -m benchmarks``."""
