"""Gradients of what a random change of the input leads to on average."""
