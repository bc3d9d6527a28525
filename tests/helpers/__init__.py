"""What the tests share: random robots, comparison with a stated scale, finite differences."""
