"""The host array hook of a definition-free class is checked before anything goes through it."""

from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import Carrier, DType, Layout, Shape, Stride, Tensor

FLAT = Layout(Shape(2), Stride(1))


class Claiming(Carrier):
    """Two Float32 slots, and whatever stands in for their host array."""

    def __init__(self, array: Any) -> None:
        super().__init__()
        self.array = array

    def size(self) -> int:
        return 2

    def dtype(self) -> DType:
        return DType.Float32

    def get_value(self, index: Any) -> Any:
        return 1.0

    def set_value(self, index: Any, value: Any) -> None:
        raise AssertionError("values go through the array")

    def _is_mutable(self) -> bool:
        return True

    def _host_array(self) -> Any:
        return self.array


@pytest.mark.rule("C-40", "C-41", "G-17")
@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.ones(2), r"float64 of shape \(2,\)"),
        (np.ones(2, ">f4"), r">f4 of shape \(2,\)"),
        (np.ones(2, "i4"), r"int32 of shape \(2,\)"),
        (np.ones(1, "f4"), r"float32 of shape \(1,\)"),
        (np.ones((1, 2), "f4"), r"float32 of shape \(1, 2\)"),
        ([1.0, 1.0], "list"),
    ],
)
def test_a_host_array_that_is_not_the_storage(array: Any, found: str) -> None:
    carrier = Claiming(array)
    tensor = Tensor(carrier, 0, FLAT)
    values = sw.from_numpy(np.zeros(2, "f4"))

    def write() -> None:
        tensor[...] = values

    for use in (
        tensor.tolist,
        tensor.numpy,
        write,
        lambda: sw.copy(tensor, sw.CPU(2)),
        lambda: sw.copy(values, carrier),
        lambda: sw.copy(tensor, sw.Generic([0.0, 0.0])),
    ):
        message = rf"Claiming\._host_array must return None, or .* its 2 .*Float32.* got {found}"
        with pytest.raises(TypeError, match=message):
            use()
    assert carrier.version == 0
