"""The convolutional example."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "convnet.py"


def test_example_reaches_its_accuracy() -> None:
    pytest.importorskip("sklearn")
    run = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # tests run side by side
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert len(re.findall(r"^epoch +\d+/12 ", run.stdout, re.M)) == 12
    final = re.search(r"^test accuracy (\S+) after \S+ s$", run.stdout, re.M)
    assert final is not None
    assert float(final[1]) >= 0.97
