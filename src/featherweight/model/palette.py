"""Colours of the robots and mechanisms that come with the package, (r, g, b, a)."""

GREY = (0.75, 0.75, 0.78, 1.0)
DARK = (0.25, 0.26, 0.3, 1.0)
BLUE = (0.2, 0.45, 0.75, 1.0)
ORANGE = (0.9, 0.5, 0.2, 1.0)
