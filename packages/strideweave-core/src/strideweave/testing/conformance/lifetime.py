"""Checks of release, and of what may outlive a carrier."""

import gc
import weakref
from functools import partial
from typing import Any

from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.check import ConformanceFailure, check, require
from strideweave.testing.conformance.mutability import require_refused
from strideweave.testing.conformance.values import distinct, same


@check("release.memory")
def memory(subject: CarrierAdapter[Any]) -> None:
    """After release the memory is gone."""
    for dtype in subject.dtypes:
        carrier = subject.filled(distinct(dtype, 5), dtype)
        carrier.release()
        for slot in range(5):
            try:
                found = subject.raw_read(carrier, slot)
            except Exception:
                continue
            raise ConformanceFailure(
                f"{subject.name} leaks: after release slot {slot} of its {dtype.name} memory is "
                f"still there and holds {found!r} (raw_read raises where there is no memory)"
            )


@check("release.states")
def states(subject: CarrierAdapter[Any]) -> None:
    """Release works in every state, again too, and refuses use afterwards."""
    for size in (*subject.empty_size, 1, 5):
        for mutable in (True, False):
            for dtype in subject.dtypes:
                carrier = subject.make(size, dtype, mutable=mutable)
                what = f"a {subject.name} of {size} {dtype.name} slots (mutable={mutable})"
                for turn in ("", " again"):
                    try:
                        carrier.release()
                    except Exception as error:
                        raise ConformanceFailure(f"releasing {what}{turn}: {error!r}") from error
                require(carrier.is_released(), f"{what} says that it is live after its release")
                require_refused(partial(carrier.__getitem__, 0), f"reading {what} after release")
                value = distinct(dtype, 1)[0]
                write = partial(carrier.__setitem__, 0, value)
                require_refused(write, f"writing {what} after release")


@check("release.isolated")
def isolated(subject: CarrierAdapter[Any]) -> None:
    """Releasing one carrier leaves the values of others alone."""
    for dtype in subject.dtypes:
        released, first, second = (subject.make(size, dtype) for size in (11, 23, 37))
        for slot, value in enumerate(distinct(dtype, 23)):
            first[slot] = value
        for slot, value in enumerate(distinct(dtype, 37)):
            second[slot] = value
        released.release()
        for carrier, size in ((first, 23), (second, 37)):
            for slot, value in enumerate(distinct(dtype, size)):
                try:
                    found = carrier[slot]
                except Exception as error:
                    raise ConformanceFailure(
                        f"releasing one {subject.name} made another one unreadable: {error!r}"
                    ) from error
                require(
                    same(found, value),
                    f"releasing one {subject.name} changed slot {slot} of another one from "
                    f"{value!r} to {found!r}",
                )


@check("release.collected")
def collected(subject: CarrierAdapter[Any]) -> None:
    """Nothing keeps a carrier that nobody uses any more."""
    carrier = subject.make(3, subject.dtypes[0])
    carrier[0]
    carrier.release()
    reference = weakref.ref(carrier)
    del carrier
    if reference() is not None:
        gc.collect()
    require(
        reference() is None,
        f"a released {subject.name} that nobody uses is never collected: something of its module "
        "keeps the carrier",
    )
