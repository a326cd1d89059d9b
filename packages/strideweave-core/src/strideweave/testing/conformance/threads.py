"""Running something in several threads at once, and the check of slots under it."""

import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from strideweave.carriers.base import Carrier
from strideweave.dtype import DType
from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.check import ConformanceFailure, check, require
from strideweave.testing.conformance.values import distinct, same
from strideweave.testing.operation_case import Value

THREADS: Final = 4
_PATIENCE_SECONDS: Final = 20.0


def run_in_threads(work: Callable[[int], None], what: str) -> None:
    """Run work in several threads that start together and switch often.

    Args:
        work: Gets the number of its thread.
        what: What runs, for messages.

    Raises:
        ConformanceFailure: A thread raised, or did not end.
    """
    failures: list[BaseException] = []
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> None:
        try:
            barrier.wait(_PATIENCE_SECONDS)
            work(number)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(THREADS)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(_PATIENCE_SECONDS)
    finally:
        sys.setswitchinterval(interval)
    require(not any(worker.is_alive() for worker in workers), f"{what}: a thread never ended")
    for error in failures:
        if isinstance(error, ConformanceFailure):
            raise error
        raise ConformanceFailure(f"{what} in {THREADS} threads: {error!r}") from error


@check("threads.slots")
def slots(subject: CarrierAdapter[Any]) -> None:
    """Threads read and write different slots of one carrier at once."""
    dtype = next((dtype for dtype in subject.dtypes if dtype is not DType.Bool), subject.dtypes[0])
    carrier = subject.make(8 * THREADS, dtype)
    values = [distinct(dtype, 8, salt=100 * number) for number in range(THREADS)]
    run_in_threads(partial(_write_and_read, subject, carrier, values), f"use of a {subject.name}")


def _write_and_read(
    subject: CarrierAdapter[Any], carrier: Carrier, values: list[list[Value]], number: int
) -> None:
    for turn in range(25):
        for position in range(8):
            slot = position * THREADS + number
            value = values[number][(position + turn) % 8]
            carrier[slot] = value
            found = carrier[slot]
            require(
                same(found, value),
                f"a thread wrote {value!r} to slot {slot} of a {subject.name} and read {found!r} "
                "while other threads used other slots",
            )


@check("threads.lifetime")
def lifetime(subject: CarrierAdapter[Any]) -> None:
    """Any thread makes a carrier, and any other one releases it."""
    dtype = subject.dtypes[0]
    expected = distinct(dtype, 6)
    carriers: list[Carrier] = []

    def make(number: int) -> None:
        made = subject.make(6, dtype)
        for slot, value in enumerate(expected):
            made[slot] = value
        carriers.append(made)

    run_in_threads(make, f"making a {subject.name}")
    for carrier in carriers:
        found = [carrier[slot] for slot in range(6)]
        require(
            all(map(same, found, expected)),
            f"a thread wrote {expected!r} to a {subject.name}, and another one reads {found!r}",
        )
    run_in_threads(
        lambda number: carriers[number].release(),
        f"releasing a {subject.name} that another thread made",
    )
