"""Value types of tiled residency."""
