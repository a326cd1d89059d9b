"""Checks of new_like and allocate_like."""

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
            expected = distinct(dtype, 9)
            fresh = prototype.new_like(iter(expected), dtype=dtype)
            what = f"new_like of a {subject.name} of {origin.name}, asked for {dtype.name}"
            require(fresh.dtype() is dtype, f"{what}, gave {fresh.dtype()!r}")
            _require_values(fresh, expected, what)
            empty = prototype.allocate_like(5, dtype=dtype)
            require(
                empty.size() == 5 and empty.dtype() is dtype,
                f"allocate_like of a {subject.name} of {origin.name}, asked for 5 {dtype.name} "
                f"slots, gave {empty.size()} of {empty.dtype()!r}",
            )


def _require_values(carrier: Carrier, expected: list[Any], what: str) -> None:
    require(carrier.size() == len(expected), f"{what}, gave {carrier.size()} slots")
    for slot, value in enumerate(expected):
        found = carrier[slot]
        require(same(found, value), f"{what}, put {found!r} for {value!r} into slot {slot}")


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
