"""Checks of who may write, and of ownership."""

from collections.abc import Callable
from functools import partial
from typing import Any

from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.check import ConformanceFailure, check, require
from strideweave.testing.conformance.values import distinct, same


def require_refused(act: Callable[[], object], what: str) -> None:
    """Fail unless something raises RuntimeError."""
    __tracebackhide__ = True
    try:
        act()
    except RuntimeError:
        return
    except Exception as error:
        raise ConformanceFailure(f"{what} must raise RuntimeError, it raised {error!r}") from error
    raise ConformanceFailure(f"{what} must raise RuntimeError, but it was accepted")


@check("mutability.immutable")
def immutable(subject: CarrierAdapter[Any]) -> None:
    """An immutable carrier says so, and refuses writes."""
    for dtype in subject.dtypes:
        value = distinct(dtype, 1)[0]
        made = subject.make(2, dtype, mutable=False)
        copied = made.new_like(distinct(dtype, 2), mutable=False)
        alike = subject.make(2, dtype).allocate_like(2, mutable=False)
        for origin, carrier in (
            ("made", made),
            ("given by new_like", copied),
            ("given by allocate_like", alike),
        ):
            what = f"a {subject.name} {origin} with mutable=False"
            require(not carrier.is_mutable(), f"{what} says that it is mutable")
            before = carrier[0]
            require_refused(partial(carrier.__setitem__, 0, value), f"writing {what}")
            require(same(carrier[0], before), f"{what} was changed by a refused write")
        require(
            subject.make(1, dtype).is_mutable(),
            f"a {subject.name} made with mutable=True says that it is not mutable",
        )


@check("mutability.owned")
def owned(subject: CarrierAdapter[Any]) -> None:
    """An owned carrier can be read, and not written or released, from outside."""
    dtype = subject.dtypes[0]
    carrier = subject.make(2, dtype)
    token = carrier._claim_ownership()
    try:
        what = f"a {subject.name} that another carrier owns"
        require(
            not carrier.is_mutable(),
            f"{what} says that it is mutable; a class never overrides is_mutable",
        )
        require_refused(lambda: carrier.__setitem__(0, distinct(dtype, 1)[0]), f"writing {what}")
        require_refused(carrier.release, f"releasing {what}")
        carrier[0]
    finally:
        carrier._relinquish_ownership(token)
    require(carrier.is_mutable(), f"a {subject.name} given back by its owner is not mutable")


@check("mutability.after-release")
def after_release(subject: CarrierAdapter[Any]) -> None:
    """Release does not change whether a carrier is mutable."""
    for mutable in (True, False):
        carrier = subject.make(2, subject.dtypes[0], mutable=mutable)
        carrier.release()
        require(
            carrier.is_mutable() is mutable,
            f"a {subject.name} made with mutable={mutable} says after its release that it is "
            f"{'not ' if mutable else ''}mutable",
        )
