"""Checks of new_like and allocate_like."""

from collections.abc import Callable
from functools import partial
from typing import Any

from strideweave.carriers.base import Carrier
from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.check import ConformanceFailure, check, require
from strideweave.testing.conformance.values import distinct, same


@check("factories.values")
def values(subject: CarrierAdapter[Any]) -> None:
    """new_like gives the values and the dtype that it was asked for."""
    for origin in subject.dtypes:
        prototype = subject.make(2, origin)
        for dtype in subject.dtypes:
            what = f"new_like of a {subject.name} of {origin.name}, asked for {dtype.name}"
            for count in (9, *subject.empty_size):
                expected = distinct(dtype, count)
                given = list(expected)
                fresh = _made(partial(prototype.new_like, given, dtype=dtype), what, count)
                require(fresh.dtype() is dtype, f"{what}, gave {fresh.dtype()!r}")
                given[:] = distinct(dtype, count, salt=5)  # the carrier must not keep the list
                _require_values(fresh, expected, what)
            fresh = prototype.new_like(iter(distinct(dtype, 3)), dtype=dtype)
            _require_values(fresh, distinct(dtype, 3), f"{what} by an iterator")
            empty = prototype.allocate_like(5, dtype=dtype)
            require(
                empty.size() == 5 and empty.dtype() is dtype,
                f"allocate_like of a {subject.name} of {origin.name}, asked for 5 {dtype.name} "
                f"slots, gave {empty.size()} of {empty.dtype()!r}",
            )


def _made(make: Callable[[], Carrier], what: str, count: int) -> Carrier:
    try:
        return make()
    except Exception as error:
        raise ConformanceFailure(f"{what}, failed for {count} values: {error!r}") from error


def _require_values(carrier: Carrier, expected: list[Any], what: str) -> None:
    require(carrier.size() == len(expected), f"{what}, gave {carrier.size()} slots")
    for slot, value in enumerate(expected):
        found = carrier[slot]
        require(same(found, value), f"{what}, put {found!r} for {value!r} into slot {slot}")


@check("factories.zeros")
def zeros(subject: CarrierAdapter[Any]) -> None:
    """Fresh slots hold zero, also in memory that was used before."""
    for dtype in subject.dtypes:
        used = [subject.make(5, dtype) for _ in range(2)]
        for carrier in used:
            for slot in range(5):
                carrier[slot] = max(distinct(dtype, 8))  # not zero
        for carrier in used:
            carrier.release()
        prototype = subject.make(1, dtype)
        for origin, fresh in (
            ("allocate_like", prototype.allocate_like(5)),
            ("make", subject.make(5, dtype)),
        ):
            for slot in range(5):
                require(
                    not fresh[slot],
                    f"{origin} gave a {subject.name} of 5 {dtype.name} slots that holds "
                    f"{fresh[slot]!r} in slot {slot}; fresh slots hold zero, whatever was in "
                    "memory that another carrier released",
                )


@check("factories.independent")
def independent(subject: CarrierAdapter[Any]) -> None:
    """Live carriers share no memory."""
    for dtype in subject.dtypes:
        first = subject.make(4, dtype)
        expected = distinct(dtype, 4)
        for slot, value in enumerate(expected):
            first[slot] = value
        others = (
            ("make", subject.make(4, dtype)),
            ("allocate_like", first.allocate_like(4)),
            ("new_like", first.new_like(distinct(dtype, 4, salt=3))),
        )
        for origin, other in others:
            for slot, value in enumerate(expected):
                other[slot] = not value if isinstance(value, bool) else value + 1
            for slot, value in enumerate(expected):
                require(
                    same(first[slot], value),
                    f"writing a {subject.name} from {origin} changed another live one of the same "
                    f"size: slot {slot} is {first[slot]!r} instead of {value!r}; they share memory",
                )


@check("factories.after-release")
def after_release(subject: CarrierAdapter[Any]) -> None:
    """Both factories work on a released carrier."""
    for dtype in subject.dtypes:
        prototype = subject.make(3, dtype)
        prototype.release()
        expected = distinct(dtype, 3)
        for factory, make in (
            ("new_like", partial(prototype.new_like, expected)),
            ("allocate_like", partial(prototype.allocate_like, 3)),
        ):
            what = f"{factory} of a released {subject.name}"
            try:
                fresh = make()
            except Exception as error:
                raise ConformanceFailure(
                    f"{what} of {dtype.name} failed: {error!r}; factories read nothing from the "
                    "released storage"
                ) from error
            require(fresh.dtype() is dtype, f"{what} of {dtype.name} gave {fresh.dtype()!r}")
