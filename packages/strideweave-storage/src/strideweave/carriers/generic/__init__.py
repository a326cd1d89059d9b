"""The reference carrier: Python values in a list."""
