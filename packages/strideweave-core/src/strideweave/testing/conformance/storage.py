"""Checks of the slots: extent, reads, writes, and what a write must leave alone."""

from typing import Any

from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.check import ConformanceFailure, check, require
from strideweave.testing.conformance.values import SPECIAL, distinct, same

_SIZES = (1, 2, 7, 64, 300)


@check("storage.extent")
def extent(subject: CarrierAdapter[Any]) -> None:
    """A carrier has as many slots as it was made with."""
    for dtype in subject.dtypes:
        for size in filter(subject.has_room, (*subject.empty_size, *_SIZES, 70_001)):
            try:
                found = subject.make(size, dtype).size()
            except Exception as error:
                raise ConformanceFailure(
                    f"{subject.name} of {size} {dtype.name} slots cannot be made: {error!r}"
                ) from error
            require(
                found == size,
                f"{subject.name} made with {size} {dtype.name} slots says that it has {found}",
            )


@check("storage.read")
def read(subject: CarrierAdapter[Any]) -> None:
    """Reading a slot gives what is in that slot of the memory."""
    for dtype in subject.dtypes:
        for size in _SIZES:
            values = distinct(dtype, size)
            carrier = subject.filled(values, dtype)
            for slot, value in enumerate(values):
                found = carrier[slot]
                require(
                    same(found, value),
                    f"{subject.name} read slot {slot} of {size} {dtype.name} slots as {found!r}, "
                    f"but its memory holds {value!r}",
                )


@check("storage.write")
def write(subject: CarrierAdapter[Any]) -> None:
    """Writing a slot puts the value into that slot of the memory."""
    for dtype in subject.dtypes:
        for size in _SIZES:
            values = distinct(dtype, size, salt=1)
            carrier = subject.make(size, dtype)
            for slot, value in enumerate(values):
                carrier[slot] = value
            for slot, value in enumerate(values):
                found = subject.raw_read(carrier, slot)
                require(
                    same(found, value),
                    f"{subject.name} wrote {value!r} to slot {slot} of {size} {dtype.name} slots, "
                    f"but its memory holds {found!r}",
                )


@check("storage.neighbours")
def neighbours(subject: CarrierAdapter[Any]) -> None:
    """Writing a slot leaves every other slot as it is."""
    for dtype in subject.dtypes:
        before = distinct(dtype, 12, salt=2)
        for slot in range(12):
            carrier = subject.filled(before, dtype)
            carrier[slot] = distinct(dtype, 1, salt=900 + slot)[0]
            for other in range(12):
                found = subject.raw_read(carrier, other)
                require(
                    other == slot or same(found, before[other]),
                    f"{subject.name}: writing slot {slot} of 12 {dtype.name} slots changed its "
                    f"neighbour, slot {other}, from {before[other]!r} to {found!r}",
                )


@check("storage.values")
def values(subject: CarrierAdapter[Any]) -> None:
    """Special values come back bit for bit."""
    for dtype in subject.dtypes:
        carrier = subject.make(len(SPECIAL[dtype]), dtype)
        for slot, value in enumerate(SPECIAL[dtype]):
            carrier[slot] = value
            found = carrier[slot]
            require(
                same(found, value),
                f"{subject.name} does not keep {dtype.name} {value!r}: it reads back {found!r}",
            )
