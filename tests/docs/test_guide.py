"""The carrier of the author's guide passes the conformance kit."""

import re
from pathlib import Path
from typing import Any

GUIDE = Path(__file__).parents[2] / "docs/writing-a-carrier.md"


def program(path: Path) -> dict[str, Any]:
    """Run the Python blocks of a page that hold no session, as one program."""
    names: dict[str, Any] = {"__name__": "guide"}
    for block in re.findall(r"^```python\n(.*?)^```$", path.read_text(), re.M | re.S):
        if ">>>" not in block:
            exec(compile(block, str(path), "exec"), names)
    return names


TestPacked = program(GUIDE)["TestPacked"]
