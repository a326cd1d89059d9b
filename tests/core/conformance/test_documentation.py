"""The guide to the kit lists every check, and the broken carriers that it is there for."""

import re
from pathlib import Path
from typing import Any

import pytest

from strideweave.testing.conformance import CHECKS

GUIDE = Path(__file__).parents[3] / "docs" / "conformance-kit.md"


@pytest.mark.rule("C-86")
def test_the_tables_are_those_of_the_kit(broken_carriers: Any) -> None:
    rows = re.findall(r"^\| `([\w.-]+)` \| (.+) \| (.+) \|$", GUIDE.read_text(), re.M)
    found = {name: (summary, carriers) for name, summary, carriers in rows if "." in name}
    expected = {}
    for check in CHECKS:
        carriers = [f"`{held}`" for held in broken_carriers if held.caught_by == check.identifier]
        expected[check.identifier] = (check.summary, ", ".join(carriers))
    assert found == expected


@pytest.mark.rule("C-86")
def test_it_says_how_many_broken_carriers_there_are(broken_carriers: Any) -> None:
    assert f"\n{len(broken_carriers)} carriers have one realistic fault each" in GUIDE.read_text()
