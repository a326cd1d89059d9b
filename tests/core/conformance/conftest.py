"""The deliberately broken carriers."""

import pytest

from .broken import (
    computing,
    conditional_computing,
    conditional_storing,
    moving,
    storing,
    without_definition,
)
from .broken.workshop import Broken

CARRIERS = [
    *(*storing.BROKEN, *without_definition.BROKEN, *moving.BROKEN, *computing.BROKEN),
    *(*conditional_storing.BROKEN, *conditional_computing.BROKEN),
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "broken" in metafunc.fixturenames:
        metafunc.parametrize("broken", CARRIERS, ids=str)


@pytest.fixture
def broken_carriers() -> list[Broken]:
    return CARRIERS
