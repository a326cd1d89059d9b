"""The deliberately broken carriers, and what the kit finds in each."""

from functools import cache
from typing import Any

import pytest

from strideweave.testing.conformance import ConformanceFailure, applicable_checks

from .broken import computing, moving, storing, without_definition
from .broken.workshop import Broken

CARRIERS = [*storing.BROKEN, *without_definition.BROKEN, *moving.BROKEN, *computing.BROKEN]


@cache
def failures(carrier: Broken) -> dict[str, str]:
    """Run every check that applies, and give the messages of those that fail."""
    found = {}
    for check in applicable_checks(carrier.adapter):
        try:
            check.examine(carrier.adapter)
        except ConformanceFailure as failure:
            found[check.identifier] = str(failure)
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "broken" in metafunc.fixturenames:
        metafunc.parametrize("broken", CARRIERS, ids=str)


@pytest.fixture
def find_failures() -> Any:
    return failures


@pytest.fixture
def broken_carriers() -> list[Broken]:
    return CARRIERS
