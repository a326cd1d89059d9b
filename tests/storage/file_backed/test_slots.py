"""Slots, extents, versions and factories of FileBacked."""

import struct
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import DType, FileBacked
from strideweave.carriers.operation_capability import (
    capabilities_for_carrier_class,
    register_operation_capabilities,
)
from strideweave.operation import operation_definitions

FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool
STORED = pytest.mark.parametrize(
    ("dtype", "values", "layout"),
    [(FLOAT, [1.5, -0.0], "2f"), (INT, [-7, 2**31 - 1], "2i"), (BOOL, [True, False], "2?")],
)


def slots(carrier: Any) -> list[Any]:
    return [carrier[slot] for slot in range(carrier.size())]


@pytest.mark.rule("C-59", "50/E-14", "50/E-25")
def test_a_new_carrier_is_empty() -> None:
    carrier = FileBacked()
    assert carrier.size() == 0 and carrier.dtype() is FLOAT and carrier.is_mutable()
    assert (carrier.version, carrier.path.stat().st_size) == (0, 0)


@pytest.mark.rule("C-59", "50/E-14")
def test_allocation_sets_the_extent_with_zeros() -> None:
    carrier = FileBacked()
    carrier._allocate(3)
    assert slots(carrier) == [0.0, 0.0, 0.0] and carrier.path.stat().st_size == 12
    carrier[2] = 5.0
    carrier._allocate(2)
    carrier._allocate(4)
    assert slots(carrier) == [0.0] * 4 and carrier.version == 1
    carrier._allocate(0)
    assert carrier.size() == 0


@pytest.mark.rule("C-59")
def test_faults_of_allocation() -> None:
    carrier = FileBacked()
    with pytest.raises(ValueError, match="at least 0, got -1"):
        carrier._allocate(-1)
    with pytest.raises(TypeError):
        carrier._allocate("3")  # type: ignore[arg-type]
    carrier.release()
    with pytest.raises(RuntimeError, match="FileBacked is released"):
        carrier._allocate(1)


@pytest.mark.rule("C-59")
@STORED
def test_the_file_is_headerless_in_host_byte_order(
    dtype: DType, values: list[Any], layout: str
) -> None:
    carrier = FileBacked(dtype=dtype)
    carrier._allocate(2)
    for slot, value in enumerate(values):
        carrier[slot] = value
    assert carrier.path.read_bytes() == struct.pack(layout, *values)
    assert slots(carrier) == values and type(carrier[0]) is type(values[0])
    assert carrier.version == 2


@pytest.mark.rule("C-59")
def test_the_size_counts_whole_items() -> None:
    carrier = FileBacked().new_like([1.0, 2.0])
    with carrier.path.open("ab") as file:
        file.write(b"\0\0\0\0\0\0\0")
    assert carrier.size() == 3


@pytest.mark.rule("C-13", "C-14", "C-15", "C-21")
def test_order_of_checks() -> None:
    carrier = FileBacked().new_like([1.0])
    fixed = carrier.new_like([1.0], mutable=False)
    with pytest.raises(TypeError, match="slot index must be an integer"):
        carrier["0"]  # type: ignore[index]
    for index in (-1, 1, 2**70):
        with pytest.raises(IndexError, match="FileBacked of 1 slots"):
            carrier[index]
        with pytest.raises(IndexError):
            carrier.set_value(index, 1.0)
    with pytest.raises(RuntimeError, match="not mutable"):
        fixed[9] = 1.0
    with pytest.raises(TypeError, match="real number"):
        carrier[0] = "1"
    carrier[0] = 1e300
    assert carrier[0] == float("inf") and carrier.version == 1 and fixed.version == 0
    carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        carrier[9]
    with pytest.raises(RuntimeError, match="released"):
        carrier.set_value(9, 1.0)


@pytest.mark.rule("C-22", "C-23", "C-24")
def test_ownership_closes_it_to_others() -> None:
    carrier = FileBacked().new_like([1.0])
    token = carrier._claim_ownership()
    with pytest.raises(RuntimeError, match="owned"):
        carrier.release()
    with pytest.raises(RuntimeError, match="not mutable"):
        carrier[0] = 2.0
    assert carrier[0] == 1.0 and carrier.path.exists()
    carrier._begin_owner_access(token)
    carrier[0] = 2.0
    carrier.release()
    assert not carrier.path.exists()


@pytest.mark.rule("C-31", "C-32", "C-61")
@STORED
def test_new_like_stores_the_values(dtype: DType, values: list[Any], layout: str) -> None:
    prototype = FileBacked(dtype=dtype)
    carrier = prototype.new_like(iter([*values, None]), mutable=False)
    assert slots(carrier) == [*values, type(values[0])()]
    assert carrier.dtype() is dtype and carrier.version == 0 and not carrier.is_mutable()
    assert prototype.size() == 0 and prototype.new_like([]).size() == 0


@pytest.mark.rule("C-61", "M-34")
def test_new_like_takes_arrays_of_its_element_type_at_once() -> None:
    carrier = FileBacked()
    values = np.array([1.5, np.nan, -0.0], np.float32)
    assert carrier._copies_arrays()
    assert carrier.new_like(values).path.read_bytes() == values.tobytes()
    assert slots(carrier.new_like(np.array([True, False]), dtype=BOOL)) == [True, False]
    assert slots(carrier.new_like(values[::2])) == [1.5, -0.0]
    assert slots(carrier.new_like(np.array([0.1]))) == [np.float32(0.1)]
    with pytest.raises(TypeError, match="integer other than bool"):
        carrier.new_like(values, dtype=INT)


@pytest.mark.rule("C-31")
def test_a_failed_factory_leaves_no_file() -> None:
    carrier = FileBacked(dtype=INT)
    before = set(carrier.path.parent.iterdir())
    faults: list[tuple[type[Exception], Any]]
    faults = [(TypeError, 3), (TypeError, [1, "x"]), (OverflowError, [2**31])]
    for kind, values in faults:
        with pytest.raises(kind):
            carrier.new_like(values)
    with pytest.raises(ValueError, match="cannot store"):
        carrier.new_like([1], dtype=DType.Float64)
    faults = [(TypeError, "x"), (ValueError, -1), (OverflowError, 2**62)]
    for kind, size in faults:
        with pytest.raises(kind):
            carrier.allocate_like(size)
    assert set(carrier.path.parent.iterdir()) == before


@pytest.mark.rule("C-30", "C-33", "C-61")
def test_allocate_like_works_after_release() -> None:
    prototype = FileBacked()
    prototype.release()
    carrier = prototype.allocate_like(3, dtype=BOOL, mutable=False, empty=True)
    assert slots(carrier) == [False] * 3 and not carrier.is_mutable() and carrier.version == 0
    assert slots(prototype.new_like([2.0])) == [2.0] and prototype.dtype() is FLOAT


@pytest.mark.rule("D-41", "D-42")
def test_three_dtypes_are_stored() -> None:
    carrier = FileBacked()
    carrier.release()
    supported = [entry for entry in DType.registered() if carrier.supports_storage_dtype(entry)]
    assert supported == [FLOAT, INT, BOOL]


@pytest.mark.rule("C-45", "C-60", "O-30", "O-44", "50/E-14")
def test_it_executes_nothing() -> None:
    carrier = FileBacked()
    for name in ["view", "permute", "nope", *(entry.name for entry in operation_definitions())]:
        with pytest.raises(NotImplementedError, match=rf"FileBacked.*{name!r}"):
            carrier.dispatch_op(name)
    assert carrier.operation_capabilities() == () == capabilities_for_carrier_class(FileBacked)
    tensor = sw.Tensor(carrier.new_like([1.0]), 0, sw.Layout.parse("1:1"))
    with pytest.raises(NotImplementedError):
        sw.add(tensor, tensor)
    with pytest.raises(NotImplementedError):
        sw.permute(tensor, 0)


@pytest.mark.rule("C-60", "M-47")
def test_it_exports_nothing() -> None:
    with pytest.raises(BufferError, match="FileBacked"):
        FileBacked().dlpack_info()


@pytest.mark.rule("C-4", "O-31")
def test_it_takes_no_late_authority() -> None:
    never: Any = NotImplemented.__init__
    storage = sw.StorageProvider(never, never, never, never, never, never)
    with pytest.raises(TypeError):
        sw.register_carrier_definition(FileBacked, sw.CarrierDefinition(storage))
    with pytest.raises(TypeError, match="too late"):
        register_operation_capabilities(FileBacked, ())


@pytest.mark.rule("C-46", "C-6")
def test_it_is_neither_copied_nor_faceted() -> None:
    class Facet(sw.CarrierFacet):
        pass

    carrier = FileBacked()
    assert carrier.facet(Facet) is None
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        carrier.__reduce_ex__(2)


@pytest.mark.rule("T-47", "M-49", "C-41")
def test_tensors_read_and_write_it_whole() -> None:
    carrier = FileBacked().allocate_like(6)
    tensor = sw.Tensor(carrier, 1, sw.Layout(sw.Shape(3), sw.Stride(2)))
    tensor[...] = np.array([1, 2, 3], np.float32)
    assert slots(carrier) == [0, 1, 0, 2, 0, 3] and carrier.version == 1
    assert tensor.tolist() == [1, 2, 3] and np.asarray(tensor).tolist() == [1, 2, 3]
    tensor[1] = 9.0
    assert carrier.version == 2 and tensor[1] == 9.0


@pytest.mark.rule("C-40")
def test_flush() -> None:
    carrier = FileBacked().new_like([1.0])
    carrier.flush()
    assert carrier.version == 0
    carrier.release()
    with pytest.raises(RuntimeError, match="FileBacked is released and cannot be flushed"):
        carrier.flush()
