"""What controllers are made of: trajectories through configurations, and inertial parameters from motion."""
