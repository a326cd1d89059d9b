"""Which carriers export their storage through DLPack."""

from collections.abc import Callable, Sequence

import pytest

from strideweave import CPU, Carrier, Evictable, FileBacked, Generic, Layout, Tensor

LAYOUT = Layout.parse("2:1")
OTHERS: dict[str, Callable[[Sequence[float]], Carrier]] = {
    "Generic": lambda values: Generic(values),
    "FileBacked": lambda values: FileBacked().new_like(values),
    "Evictable": lambda values: Evictable(CPU(0).new_like(values), CPU(0)),
}


@pytest.mark.rule("M-47", "G-17")
@pytest.mark.parametrize("name", OTHERS)
def test_other_carriers_say_that_they_do_not(name: str) -> None:
    tensor = Tensor(OTHERS[name]([1.0, 2.0]), 0, LAYOUT)
    for export in (Tensor.__dlpack__, Tensor.__dlpack_device__):
        with pytest.raises(BufferError, match=f"{name}.*does not export its storage"):
            export(tensor)


@pytest.mark.rule("M-44", "M-47", "60/E-20", "G-16")
def test_a_tier_is_exported_read_only() -> None:
    tier = CPU(0).new_like([1.0, 2.0])
    composite = Evictable(tier, CPU(0))
    tensor = Tensor(tier, 0, LAYOUT)
    assert composite.is_released() is False and not tensor.is_mutable()
    assert tensor.__dlpack_device__() == (1, 0)
