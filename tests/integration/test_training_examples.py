"""Examples that train a network: they reach what they promise."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(program: str, *arguments: str, seconds: int = 110) -> "subprocess.CompletedProcess[str]":
    """Run an example on one thread, since tests run side by side."""
    return subprocess.run(
        [sys.executable, str(EXAMPLES / program), *arguments],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def held_out_losses(printed: str) -> list[float]:
    return [float(loss) for loss in re.findall(r"^step .* held out (\S+)$", printed, re.M)]


def final_loss_and_entropy(printed: str) -> tuple[float, float]:
    final = re.search(r"^loss (\S+), bigram entropy (\S+) nats per character", printed, re.M)
    assert final is not None, printed
    return float(final[1]), float(final[2])


def test_convolutions_classify_digits() -> None:
    pytest.importorskip("sklearn")
    finished = run("convnet.py")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert len(re.findall(r"^epoch +\d+/12 ", finished.stdout, re.M)) == 12
    final = re.search(r"^test accuracy (\S+) after \S+ s$", finished.stdout, re.M)
    assert final is not None
    assert float(final[1]) >= 0.97


@pytest.mark.slow
def test_attention_beats_the_bigram_entropy() -> None:
    finished = run("char_model.py", seconds=1000)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    loss, entropy = final_loss_and_entropy(finished.stdout)
    assert 2 < entropy < 3
    assert loss < 0.95 * entropy
    held_out = held_out_losses(finished.stdout)
    assert len(held_out) == 5
    assert held_out == sorted(held_out, reverse=True)
    assert held_out[-1] == loss


def test_attention_that_learnt_little_says_so() -> None:
    finished = run("char_model.py", "--steps", "30")
    assert finished.returncode == 1
    loss, entropy = final_loss_and_entropy(finished.stdout)
    held_out = held_out_losses(finished.stdout)
    assert held_out[0] > held_out[-1] == loss >= entropy
    assert finished.stderr == "the loss did not fall below the bigram entropy\n"
