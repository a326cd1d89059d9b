"""``tensor[...] = value`` replaces every logical value in one version step."""

from array import array
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, DType, Layout, Tensor
from strideweave.testing import ArrayCarrier

Build = Callable[[list[Any], DType], Carrier]
ZEROS: dict[DType, float] = {DType.Float32: 0.0, DType.Int32: 0, DType.Bool: False}

pytestmark = pytest.mark.usefixtures("host_library")


def over(build: Build, layout: str, dtype: DType = DType.Float32, offset: int = 0) -> Tensor:
    """Build a Tensor with a spare slot behind it; every slot holds zero."""
    placement = Layout.parse(layout)
    return Tensor(build([ZEROS[dtype]] * (offset + placement.cosize + 1), dtype), offset, placement)


def slots(tensor: Tensor) -> list[Any]:
    return [tensor.carrier[slot] for slot in range(tensor.carrier.size())]


@pytest.mark.rule("T-47", "C-26", "C-84")
def test_a_number_fills_every_coordinate_and_no_hole(carrier_of: Build) -> None:
    tensor = over(carrier_of, "(2,2):(1,3)", offset=1)
    tensor[...] = 2.5
    assert slots(tensor) == [0.0, 2.5, 2.5, 0.0, 2.5, 2.5, 0.0]
    assert tensor.version == 1 and tensor.autograd_ctx is None


@pytest.mark.rule("T-47", "C-21")
@pytest.mark.parametrize(
    ("dtype", "value", "stored"),
    [
        (DType.Float32, True, 1.0),
        (DType.Float32, 0.1, 0.10000000149011612),
        (DType.Float32, 1e300, float("inf")),
        (DType.Int32, -7, -7),
        (DType.Bool, True, True),
    ],
)
def test_numbers_are_normalised(
    carrier_of: Build, dtype: DType, value: float, stored: float
) -> None:
    tensor = over(carrier_of, "2:1", dtype)
    tensor[...] = value
    assert slots(tensor)[:2] == [stored, stored]
    assert type(slots(tensor)[0]) is type(stored)


@pytest.mark.rule("T-47")
def test_a_buffer_in_logical_order(carrier_of: Build) -> None:
    tensor = over(carrier_of, "(2,3):(3,1)")
    tensor[...] = array("f", [0, 1, 2, 3, 4, 5])
    assert [tensor[ordinal] for ordinal in range(6)] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert tensor.version == 1


@pytest.mark.rule("T-47", "C-84")
def test_a_buffer_reaches_only_the_slots_of_the_layout(carrier_of: Build) -> None:
    tensor = over(carrier_of, "3:2", offset=1)
    tensor[...] = array("f", [1, 2, 3])
    assert slots(tensor) == [0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0]


@pytest.mark.rule("T-47")
def test_a_buffer_with_the_leaf_extents(carrier_of: Build) -> None:
    tensor = over(carrier_of, "(2,(3,2)):(1,(2,6))")
    rows = memoryview(array("f", range(12)).tobytes()).cast("f", [2, 3, 2])
    tensor[...] = rows
    assert all(
        tensor[i, [j, k]] == rows[i, j, k] for i in range(2) for j in range(3) for k in range(2)
    )


@pytest.mark.rule("T-47")
@pytest.mark.parametrize(
    ("dtype", "buffer", "expected"),
    [
        (DType.Int32, array("i", [3, -4]), [3, -4]),
        (DType.Bool, memoryview(bytes([0, 1])).cast("?"), [False, True]),
    ],
)
def test_buffers_of_each_storage_dtype(
    carrier_of: Build, dtype: DType, buffer: Any, expected: list[Any]
) -> None:
    tensor = over(carrier_of, "2:1", dtype)
    tensor[...] = buffer
    assert slots(tensor)[:2] == expected
    assert [type(value) for value in slots(tensor)[:2]] == [type(value) for value in expected]


@pytest.mark.rule("T-47")
def test_a_strided_buffer(carrier_of: Build) -> None:
    tensor = over(carrier_of, "3:1")
    tensor[...] = memoryview(array("f", range(6)))[::-2]
    assert slots(tensor)[:3] == [5.0, 3.0, 1.0]


@pytest.mark.rule("T-47")
def test_rank_zero_takes_a_single_item(carrier_of: Build) -> None:
    tensor = over(carrier_of, "():()")
    tensor[...] = array("f", [4])
    assert tensor.item() == 4.0


@pytest.mark.rule("T-47")
def test_a_tensor_is_read_by_coordinate(carrier_of: Build, ramp: Callable[..., Tensor]) -> None:
    tensor, source = over(carrier_of, "(2,3):(1,2)"), ramp("(2,3):(3,1)", 2)
    tensor[...] = source
    assert slots(tensor)[:6] == [2.0, 5.0, 3.0, 6.0, 4.0, 7.0]
    assert (tensor.version, source.version) == (1, 0)


@pytest.mark.rule("T-47")
def test_the_carrier_classes_may_differ(carrier_of: Build) -> None:
    source = over(carrier_of, "2:1")
    source[...] = array("f", [1, 2])
    tensor = Tensor(ArrayCarrier(2, dtype=DType.Float32), 0, Layout.parse("2:1"))
    tensor[...] = source
    assert tensor.tolist() == [1.0, 2.0]


@pytest.mark.rule("T-47")
def test_an_overlapping_source_is_read_first(carrier_of: Build) -> None:
    carrier = carrier_of([float(value) for value in range(5)], DType.Float32)
    ahead, behind = Layout.parse("4:1"), Tensor(carrier, 0, Layout.parse("4:1"))
    Tensor(carrier, 1, ahead)[...] = behind
    assert [carrier[slot] for slot in range(5)] == [0.0, 0.0, 1.0, 2.0, 3.0]
    assert carrier.version == 1


@pytest.mark.rule("T-47")
def test_a_broadcast_source_repeats_its_values(
    carrier_of: Build, ramp: Callable[..., Tensor]
) -> None:
    tensor = over(carrier_of, "(2,3):(1,2)")
    tensor[...] = ramp("(2,3):(0,1)")
    assert slots(tensor)[:6] == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]


@pytest.mark.rule("T-47")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "number, a Tensor or a buffer"),
        (None, "number, a Tensor or a buffer"),
        ([1.0, 2.0], "a buffer, got list; friendly.tensor makes"),
        (1j, "number, a Tensor or a buffer"),
        (array("d", [1, 2]), "takes a buffer of that dtype"),
        (array("i", [1, 2]), "takes a buffer of that dtype"),
        (b"12", "takes a buffer of that dtype"),
    ],
)
def test_values_of_another_type(carrier_of: Build, value: Any, text: str) -> None:
    tensor = over(carrier_of, "2:1")
    with pytest.raises(TypeError, match=text):
        tensor[...] = value
    assert tensor.version == 0


@pytest.mark.rule("T-47", "C-21")
@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        (DType.Int32, 1.0, TypeError),
        (DType.Int32, True, TypeError),
        (DType.Int32, 2**31, OverflowError),
        (DType.Bool, 1, TypeError),
        (DType.Float32, 10**400, OverflowError),
    ],
)
def test_numbers_the_dtype_refuses(
    carrier_of: Build, dtype: DType, value: float, error: type[Exception]
) -> None:
    tensor = over(carrier_of, "2:1", dtype)
    with pytest.raises(error):
        tensor[...] = value
    assert slots(tensor)[0] == 0 and tensor.version == 0


@pytest.mark.rule("T-47")
def test_a_tensor_of_another_dtype(carrier_of: Build, ramp: Callable[..., Tensor]) -> None:
    tensor = over(carrier_of, "2:1")
    with pytest.raises(TypeError, match=r"Int32.*Float32"):
        tensor[...] = ramp("3:1", dtype=DType.Int32)


@pytest.mark.rule("T-47")
def test_shapes_must_agree(carrier_of: Build, ramp: Callable[..., Tensor]) -> None:
    tensor = over(carrier_of, "(2,3):(1,2)")
    with pytest.raises(ValueError, match="keeps the shape"):
        tensor[...] = ramp("(3,2):(1,3)")
    for wrong in (array("f", [1] * 5), memoryview(bytes(24)).cast("B").cast("f", [3, 2])):
        with pytest.raises(ValueError, match="buffer of shape"):
            tensor[...] = wrong
    assert tensor.version == 0


@pytest.mark.rule("T-47", "G-5")
@pytest.mark.parametrize("layout", ["(2,2):(0,1)", "(3,2):(1,1)"])
def test_a_layout_that_aliases_is_refused(
    carrier_of: Build, ramp: Callable[..., Tensor], layout: str
) -> None:
    tensor = over(carrier_of, layout)
    for value in (1.0, ramp(layout), array("f", [0] * tensor.size())):
        with pytest.raises(ValueError, match="injective"):
            tensor[...] = value
    with pytest.raises(ValueError, match="keeps the shape"):
        tensor[...] = ramp("5:1")
    assert tensor.version == 0 and set(slots(tensor)) == {0.0}


@pytest.mark.rule("T-47", "C-23")
def test_a_carrier_that_is_not_mutable_or_released(
    ramp: Callable[..., Tensor],
) -> None:
    tensor, released = ramp("2:1", mutable=False), ramp("2:1")
    released.carrier.release()
    for value in (1.0, array("f", [1, 2]), ramp("2:1"), released):
        with pytest.raises(RuntimeError, match="not mutable"):
            tensor[...] = value
        with pytest.raises(RuntimeError, match="released"):
            released[...] = value
    with pytest.raises(ValueError, match="injective"):
        ramp("2:0", mutable=False)[...] = 1.0
    assert tensor.version == 0


@pytest.mark.rule("T-47")
def test_a_released_source_is_reported_last(ramp: Callable[..., Tensor]) -> None:
    tensor, source = ramp("2:1"), ramp("2:1")
    source.carrier.release()
    with pytest.raises(RuntimeError, match="source's ArrayCarrier carrier is released"):
        tensor[...] = source
    assert tensor.version == 0


@pytest.mark.rule("T-47", "M-29", "G-3")
def test_a_callback_that_raises_leaves_the_version() -> None:
    class Failing(Carrier):
        cells: list[float]

    def write(carrier: Failing, slot: int, value: float) -> None:
        if slot == 1:
            raise OSError("broken cell")
        carrier.cells[slot] = value

    provider = sw.StorageProvider[Failing](
        supports_dtype=lambda carrier, dtype: True,
        physical_size=lambda carrier: len(carrier.cells),
        allocate=lambda carrier, slots: setattr(carrier, "cells", [0.0] * slots),
        release=lambda carrier: carrier.cells.clear(),
        read=lambda carrier, slot: carrier.cells[slot],
        write=write,
    )
    sw.register_carrier_definition(Failing, sw.CarrierDefinition(provider))
    tensor = Tensor(Failing(3, dtype=DType.Float32), 0, Layout.parse("3:1"))
    with pytest.raises(OSError, match="broken cell"):
        tensor[...] = 1.0
    assert tensor.version == 0


@pytest.mark.rule("T-47", "A-24")
def test_backward_sees_the_new_version(ramp: Callable[..., Tensor]) -> None:
    tensor = ramp("2:1")
    result = tensor * 2.0
    tensor[...] = 1.0
    with pytest.raises(RuntimeError, match="modified in-place"):
        result.backward(ramp("2:1"))
