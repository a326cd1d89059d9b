"""The example that models text."""

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "char_model.py"


def test_loss_falls_below_the_bigram_entropy() -> None:
    run = subprocess.run(
        [sys.executable, str(EXAMPLE), "--steps", "400"],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # tests run side by side
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    held_out = [float(loss) for loss in re.findall(r"^step .* held out (\S+)$", run.stdout, re.M)]
    final = re.search(r"^loss (\S+), bigram entropy (\S+) nats per character", run.stdout, re.M)
    assert final is not None
    loss, entropy = map(float, final.groups())
    assert len(held_out) == 10
    assert held_out[0] > loss == held_out[-1]
    assert 2 < entropy < 3
    assert loss < entropy
