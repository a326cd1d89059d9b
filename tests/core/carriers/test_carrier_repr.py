"""``repr`` of carriers: class, extent and dtype, in every state."""

from typing import Any

import strideweave as sw
from strideweave.testing import ArrayCarrier


def test_shows_class_extent_and_dtype() -> None:
    assert repr(ArrayCarrier(3, dtype=sw.DType.Int32)) == "<ArrayCarrier of 3 Int32 slots>"


def test_says_what_cannot_be_written() -> None:
    carrier = ArrayCarrier(0, dtype=sw.DType.Bool, mutable=False)
    assert repr(carrier) == "<ArrayCarrier of 0 Bool slots, immutable>"


def test_says_what_is_released() -> None:
    carrier = ArrayCarrier(3, dtype=sw.DType.Float32)
    carrier.release()
    assert repr(carrier) == "<ArrayCarrier, released>"


def test_reads_no_slot_and_changes_nothing(workshop: Any) -> None:
    def read(carrier: Any, index: int) -> object:
        raise AssertionError("a slot was read")

    carrier = workshop.defined(storage=workshop.storage(read=read))(2, dtype=sw.DType.Float32)
    assert " of 2 Float32 slots>" in repr(carrier)
    assert carrier.version == 0


def test_an_instance_whose_constructor_did_not_run_can_be_shown() -> None:
    class Hollow(sw.Carrier):
        def __init__(self) -> None:
            pass

    assert repr(Hollow()) == f"<{Hollow.__qualname__}, not constructed>"


def test_a_missing_hook_does_not_make_it_fail() -> None:
    class Half(sw.Carrier):
        pass

    assert repr(Half()) == f"<{Half.__qualname__}>"
