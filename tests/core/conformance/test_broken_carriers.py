"""Each broken carrier is caught, by a failure that names its fault."""

import re
from typing import Any

import pytest


@pytest.mark.rule("C-86")
def test_it_is_caught(broken: Any, find_failures: Any) -> None:
    message = find_failures(broken).get(broken.caught_by, "nothing")
    assert re.search(broken.says, message, re.DOTALL)
