"""Which check finds which broken carrier: the kit needs every one of its checks."""

from typing import Any

import pytest

from strideweave.testing.conformance import CHECKS

pytestmark = pytest.mark.rule("C-86")

IDENTIFIERS = [check.identifier for check in CHECKS]


@pytest.mark.parametrize("removed", IDENTIFIERS)
def test_without_one_check_a_broken_carrier_escapes(
    removed: str, broken_carriers: Any, find_failures: Any
) -> None:
    escaping = [
        str(carrier) for carrier in broken_carriers if not find_failures(carrier).keys() - {removed}
    ]
    assert escaping


def test_with_all_checks_no_broken_carrier_escapes(
    broken_carriers: Any, find_failures: Any
) -> None:
    assert [str(carrier) for carrier in broken_carriers if not find_failures(carrier)] == []
