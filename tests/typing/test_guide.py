"""The program of the author's guide passes ``mypy --strict``."""

import re
from pathlib import Path

from mypy import api

GUIDE = Path(__file__).parents[2] / "docs/writing-a-carrier.md"


def test_the_guide_type_checks(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)
    program = tmp_path / "guide.py"
    program.write_text("\n".join(block for block in blocks if ">>>" not in block))
    options = ("--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}")
    assert api.run([*options, str(program)]) == (
        "Success: no issues found in 1 source file\n",
        "",
        0,
    )
