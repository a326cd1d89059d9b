"""Checks of the version: what advances it, by one, and what must not."""

from typing import Any

from strideweave.testing.conformance.adapter import CarrierAdapter, over
from strideweave.testing.conformance.check import check, require
from strideweave.testing.conformance.values import distinct, span_of


@check("versions.writes")
def writes(subject: CarrierAdapter[Any]) -> None:
    """Writing a slot advances the version by one."""
    for dtype in subject.dtypes:
        values = distinct(dtype, 3)
        carrier = subject.make(3, dtype)
        require(carrier.version == 0, f"a fresh {subject.name} has version {carrier.version}")
        for count, value in enumerate(values, start=1):
            carrier[count - 1] = value
            require(
                carrier.version == count,
                f"{count} writes of single slots took a {subject.name} of {dtype.name} to version "
                f"{carrier.version}; the framework counts, a callback must not",
            )


@check("versions.reads")
def reads(subject: CarrierAdapter[Any]) -> None:
    """Reading, asking and releasing leave the version alone."""
    carrier = subject.filled(distinct(subject.dtypes[0], 4), subject.dtypes[0])
    for action, act in (
        ("reading a slot", lambda: carrier[1]),
        ("reading a Tensor", lambda: over(carrier, 4).tolist()),
        ("asking for size and dtype", lambda: (carrier.size(), carrier.dtype())),
        ("asking for dtype support", lambda: carrier.supports_storage_dtype(subject.dtypes[0])),
        ("making another carrier", lambda: carrier.allocate_like(2)),
        ("the release", carrier.release),
    ):
        before = carrier.version
        act()
        require(
            carrier.version == before,
            f"{action} took a {subject.name} from version {before} to {carrier.version}; only "
            "writes advance it",
        )


@check("versions.bulk")
def bulk(subject: CarrierAdapter[Any]) -> None:
    """A bulk write advances the version by one, and a new carrier starts at version 0."""
    for dtype in subject.dtypes:
        carrier = subject.make(6, dtype)
        for count in (1, 2):
            over(carrier, 6)[...] = span_of(dtype, distinct(dtype, 6, salt=count))
            require(
                carrier.version == count,
                f"{count} bulk writes took a {subject.name} of {dtype.name} to version "
                f"{carrier.version}; the framework counts, a callback must not",
            )
        fresh = carrier.new_like(distinct(dtype, 6))
        require(
            fresh.version == 0,
            f"new_like gave a {subject.name} of version {fresh.version}, a new one has version 0",
        )
