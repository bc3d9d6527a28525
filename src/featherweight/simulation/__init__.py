"""Steps of a scene: states, batches, solvers, drives, and what environments have of their own."""
