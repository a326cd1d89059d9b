"""The deliberately broken carriers."""

import pytest

from .broken import computing, moving, storing, without_definition
from .broken.workshop import Broken

CARRIERS = [*storing.BROKEN, *without_definition.BROKEN, *moving.BROKEN, *computing.BROKEN]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "broken" in metafunc.fixturenames:
        metafunc.parametrize("broken", CARRIERS, ids=str)


@pytest.fixture
def broken_carriers() -> list[Broken]:
    return CARRIERS
