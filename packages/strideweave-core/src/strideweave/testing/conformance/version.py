"""The version of the kit, apart from that of the package."""

from typing import Final

CONFORMANCE_VERSION: Final = "1.0.0"
"""Semantic version of the conformance kit.

A new major version may fail a carrier that passed before. A minor version adds abilities with their
checks, and hooks with defaults. A patch words messages or runs faster.
"""
