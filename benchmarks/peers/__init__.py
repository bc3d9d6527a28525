"""Peers that have to be built before they can be timed."""
