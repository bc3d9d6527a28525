"""What is in the world, and the same as the core takes it."""
