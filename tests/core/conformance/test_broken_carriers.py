"""Each broken carrier is caught, by a failure that names its fault; and no check is too many."""

import re
from typing import Any

import pytest

from strideweave.testing.conformance import CHECKS, ConformanceFailure, applicable_checks

pytestmark = pytest.mark.rule("C-86")


def failing(carrier: Any) -> set[str]:
    """Run every check that applies, and name those that fail."""
    carrier.reset()
    found = set()
    for check in applicable_checks(carrier.adapter):
        try:
            check.examine(carrier.adapter)
        except ConformanceFailure:
            found.add(check.identifier)
    return found


def test_it_is_caught(broken: Any) -> None:
    broken.reset()
    (check,) = (
        check for check in applicable_checks(broken.adapter) if check.identifier == broken.caught_by
    )
    with pytest.raises(ConformanceFailure, match=re.compile(broken.says, re.DOTALL)):
        check.examine(broken.adapter)


def test_without_any_one_check_a_broken_carrier_escapes(broken_carriers: Any) -> None:
    table = {str(carrier): failing(carrier) for carrier in broken_carriers}
    assert [name for name, found in table.items() if not found] == []
    needless = [
        check.identifier
        for check in CHECKS
        if all(found - {check.identifier} for found in table.values())
    ]
    assert needless == []
