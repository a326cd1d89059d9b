"""Bulk writes on the carrier whose storage is an array."""

from array import array
from ctypes import addressof, c_uint8

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, DType, Generic, Layout, Tensor


def cpu(values: list[float], layout: str, offset: int = 0) -> Tensor:
    return Tensor(CPU(0).new_like(values), offset, Layout.parse(layout))


@pytest.mark.rule("T-47", "50/E-12", "50/E-13")
def test_a_buffer_reaches_only_the_slots_of_the_layout() -> None:
    carrier = CPU(6)
    tensor = Tensor(carrier, 1, Layout.parse("3:2"))
    tensor[...] = array("f", [1, 2, 3])
    assert [carrier[slot] for slot in range(6)] == [0, 1, 0, 2, 0, 3] and carrier.version == 1
    with pytest.raises(ValueError):
        tensor[...] = array("f", [1, 2])
    assert carrier.version == 1


@pytest.mark.rule("T-47")
@pytest.mark.parametrize(("source", "target"), [(0, 1), (1, 0)])
def test_overlapping_storage_is_read_first(source: int, target: int) -> None:
    carrier = CPU(0).new_like([0.0, 1.0, 2.0, 3.0, 4.0])
    layout = Layout.parse("4:1")
    Tensor(carrier, target, layout)[...] = Tensor(carrier, source, layout)
    expected = [0.0, 1.0, 2.0, 3.0, 4.0]
    expected[target : target + 4] = expected[source : source + 4]
    assert [carrier[slot] for slot in range(5)] == expected


@pytest.mark.rule("T-47")
def test_a_transposed_self_assignment() -> None:
    tensor = cpu([0.0, 1.0, 2.0, 3.0], "(2,2):(1,2)")
    tensor[...] = sw.permute(tensor, 1, 0)
    assert tensor.numpy().ravel(order="F").tolist() == [0.0, 2.0, 1.0, 3.0]


@pytest.mark.rule("T-47", "C-56")
def test_the_carrier_classes_may_differ() -> None:
    generic = Tensor(Generic([5.0, 6.0]), 0, Layout.parse("2:1"))
    tensor = cpu([0.0, 0.0], "2:1")
    tensor[...] = generic
    assert tensor.tolist() == [5.0, 6.0]
    generic[...] = cpu([7.0, 0.0, 8.0], "2:2")
    assert generic.tolist() == [7.0, 8.0]


@pytest.mark.rule("T-47", "C-53")
def test_any_true_byte_is_stored_as_one() -> None:
    memory = (c_uint8 * 2)(2, 0)
    source = Tensor(CPU(2, addressof(memory), dtype=DType.Bool), 0, Layout.parse("2:1"))
    tensor = Tensor(CPU(2, dtype=DType.Bool), 0, Layout.parse("2:1"))
    tensor[...] = source
    assert tensor.numpy().view(np.uint8).tolist() == [1, 0]
    tensor[...] = False
    tensor[...] = memoryview(memory).cast("B").cast("?")
    assert tensor.numpy().view(np.uint8).tolist() == [1, 0]
