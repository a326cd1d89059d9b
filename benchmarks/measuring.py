"""Ratios of medians, measured side by side in one process."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Clock: TypeAlias = Callable[[], float]

ROUNDS = 15
BLOCK_SECONDS = 0.05
PAUSE_SECONDS = 0.15
"""How long the threads of OpenBLAS take to stop spinning after a product, and some more."""


@dataclass(frozen=True)
class Comparison:
    """One measured claim.

    Attributes:
        name: What is compared.
        ours: The call under test.
        yardstick: The call it is measured against.
        target: The largest ratio that keeps the claim.
    """

    name: str
    ours: Callable[[], Any]
    yardstick: Callable[[], Any]
    target: float


def report(comparisons: list[Comparison], clock: Clock = time.perf_counter) -> int:
    """Measure and print every claim.

    Args:
        comparisons: What to measure.
        clock: The clock to read; one of processor time leaves out what else the machine does.

    Returns:
        The exit status: 0 when every ratio keeps its target, else 1.
    """
    print_heading()
    kept = [_report_one(comparison, clock) for comparison in comparisons]
    return 0 if all(kept) else 1


def _report_one(comparison: Comparison, clock: Clock) -> bool:
    ours, yardstick = medians(comparison.ours, comparison.yardstick, clock)
    return print_ratio(comparison.name, ours, yardstick, comparison.target)


def print_heading() -> None:
    """Print what the columns of ``print_ratio`` are."""
    print(f"{'':38}{'ours':>12}{'yardstick':>12}{'ratio':>8}{'target':>8}")


def print_ratio(name: str, ours: float, yardstick: float, target: float | None) -> bool:
    """Print one ratio.

    Args:
        name: What is compared.
        ours: Seconds of the call under test.
        yardstick: Seconds of the call it is measured against.
        target: The largest ratio that keeps the claim; None where nothing is claimed.

    Returns:
        Whether the target is kept.
    """
    ratio = ours / yardstick
    kept = target is None or ratio <= target
    print(
        f"{name:38}{ours * 1e6:>9.2f} us{yardstick * 1e6:>9.2f} us"
        f"{ratio:>8.2f}{'none' if target is None else f'{target:.2f}':>8}"
        f"{'' if kept else '  MISSED'}",
        flush=True,
    )
    return kept


def medians(
    first: Callable[[], Any], second: Callable[[], Any], clock: Clock
) -> tuple[float, float]:
    """Time two calls in alternating blocks, so that both meet the same disturbances.

    Each block is what a loop over one of them would see: what the other one left running has come
    to rest, and the same call has just been made for as long.

    Returns:
        The median seconds of one call of each.
    """
    samples: tuple[list[float], list[float]] = ([], [])
    blocks = [
        (call, _block_length(call, clock), times)
        for call, times in zip((first, second), samples, strict=True)
    ]
    for _ in range(ROUNDS):
        for call, count, times in blocks:
            time.sleep(PAUSE_SECONDS)
            _seconds(call, count, clock)
            times.append(_seconds(call, count, clock) / count)
        blocks.reverse()  # neither always follows the other, which warms or evicts what it uses
    return statistics.median(samples[0]), statistics.median(samples[1])


def _block_length(call: Callable[[], Any], clock: Clock) -> int:
    count = 1
    while (elapsed := _seconds(call, count, clock)) < BLOCK_SECONDS / 2:
        count *= 2
    return max(1, round(count * BLOCK_SECONDS / elapsed))


def _seconds(call: Callable[[], Any], count: int, clock: Clock) -> float:
    repeat = range(count)
    start = clock()
    for _ in repeat:
        call()
    return clock() - start
