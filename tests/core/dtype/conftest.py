"""Names for descriptors that tests register: registration is permanent, so none repeats."""

import itertools
from collections.abc import Callable

import pytest

_numbers = itertools.count()


@pytest.fixture
def fresh_name() -> Callable[[], str]:
    """Return a function whose every result is a dtype name that was never used before."""
    return lambda: f"Test{next(_numbers)}"
