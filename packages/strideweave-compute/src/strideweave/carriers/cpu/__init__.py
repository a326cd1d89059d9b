"""The NumPy carrier."""
