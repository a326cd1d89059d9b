"""Construction, slots, writes, spans and lifetime of Metal."""

import importlib
import inspect
import math
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import DType, Layout, Metal, Tensor
from strideweave.carriers import carrier_names, load_carrier

FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool
storage: Any = importlib.import_module("strideweave.carriers.metal.storage")


def slots(carrier: Any) -> list[Any]:
    return [carrier[slot] for slot in range(carrier.size())]


@pytest.mark.rule("MT-1", "C-1")
def test_one_class_under_its_public_names() -> None:
    module = importlib.import_module("strideweave.carriers.metal")
    assert sw.Metal is sw.carriers.Metal is module.Metal is Metal
    assert load_carrier("Metal") is Metal and "Metal" in carrier_names()
    names = [str(parameter) for parameter in inspect.signature(Metal).parameters.values()]
    assert [name.split(":")[0] for name in names] == ["size", "mutable", "dtype", "empty"]
    with pytest.raises(TypeError, match="closed"):
        type("Faster", (Metal,), {})


@pytest.mark.rule("MT-4", "C-28", "C-30")
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize(
    ("dtype", "zero"), [(FLOAT, 0.0), (INT, 0), (BOOL, False)], ids=["Float32", "Int32", "Bool"]
)
def test_slots_start_as_zero_and_factories_outlive_release(
    dtype: DType, zero: object, empty: bool
) -> None:
    carrier = Metal(3, mutable=1, dtype=dtype, empty=empty)  # type: ignore[arg-type]  # coerced
    assert carrier.is_mutable() is True and carrier.version == 0
    assert [type(value) for value in slots(carrier)] == [type(zero)] * 3
    assert slots(carrier) == [zero] * 3
    carrier.release()
    assert (carrier.size(), carrier.dtype(), carrier.is_released()) == (0, dtype, True)
    assert carrier.supports_storage_dtype(INT) and not carrier.supports_storage_dtype(DType.Float64)
    assert slots(carrier.new_like([zero, None])) == [zero, zero]
    assert carrier.allocate_like(2, dtype=INT).dtype() is INT
    with pytest.raises(RuntimeError, match="released"):
        carrier[0]


@pytest.mark.rule("MT-3", "MT-4", "C-33")
@pytest.mark.parametrize("count", [2**31, 2**40])
def test_an_allocation_that_mlx_refuses(count: int) -> None:
    with pytest.raises(RuntimeError, match=rf"MLX \d.*{count} slots of .*Int32") as caught:
        Metal(count, dtype=INT)
    assert isinstance(caught.value.__cause__, OverflowError)
    with pytest.raises(OverflowError, match="address space"):
        Metal(0).allocate_like(2**62)
    with pytest.raises(ValueError, match="size must be non-negative, got -1"):
        Metal(0).allocate_like(-1)
    with pytest.raises(TypeError, match="dtype"):
        Metal(0).allocate_like(1, dtype="Float32")  # type: ignore[arg-type]


@pytest.mark.rule("MT-3")
def test_an_allocation_that_fails_on_the_device_exposes_nothing(completions: Any) -> None:
    completions.failures.append(RuntimeError("out of memory"))
    with pytest.raises(RuntimeError, match=r"could not allocate 8 slots.*out of memory"):
        Metal(8)
    assert Metal(8).size() == 8


@pytest.mark.rule("MT-5", "C-13", "C-21", "C-26")
def test_reads_and_writes_follow_the_rules_of_all_carriers() -> None:
    carrier = Metal(2)
    for value, stored in [(0.1, 0.10000000149011612), (1e300, math.inf), (True, 1.0), (7, 7.0)]:
        carrier[0] = value
        assert carrier[0] == stored and type(carrier[0]) is float
    assert carrier.version == 4 and carrier[1] == 0.0
    integers = Metal(1, dtype=INT)
    for refused, error in [(2**31, OverflowError), (1.5, TypeError), ("1", TypeError)]:
        with pytest.raises(error):
            integers[0] = refused
    for index in (-1, 1):
        with pytest.raises(IndexError, match="out of range"):
            integers[index]
        with pytest.raises(IndexError, match="out of range"):
            integers[index] = 1
    assert integers.version == 0 and integers[0] == 0
    with pytest.raises(RuntimeError, match="not mutable"):
        Metal(1, mutable=False)[0] = 1.0


@pytest.mark.rule("MT-5", "MT-11")
def test_reads_wait_for_pending_work(completions: Any, make_tensor: Any) -> None:
    result = sw.add(make_tensor([1.0, 2.0]), make_tensor([10.0, 20.0]))
    before = completions.count
    assert result[1] == 22.0 and completions.count == before + 1


@pytest.mark.rule("MT-6", "MT-12", "G-3")
def test_a_write_that_fails_at_completion_changes_nothing(completions: Any) -> None:
    carrier = Metal(0).new_like([1.0, 2.0, 3.0])
    view = storage.to_host(carrier._slots)
    before = carrier._slots
    completions.failures.append(RuntimeError("device lost"))
    with pytest.raises(RuntimeError, match="device lost"):
        carrier[1] = 9.0
    assert carrier._slots is before and carrier.version == 0
    assert slots(carrier) == [1.0, 2.0, 3.0] == view.tolist()
    carrier[1] = 9.0
    assert slots(carrier) == [1.0, 9.0, 3.0] and carrier.version == 1


@pytest.mark.rule("MT-6", "MT-8", "C-41", "T-47")
def test_a_bulk_write_that_fails_at_completion_changes_nothing(
    completions: Any, make_tensor: Any
) -> None:
    tensor = make_tensor([1.0, 2.0, 3.0, 4.0])
    completions.failures.append(RuntimeError("device lost"))
    with pytest.raises(RuntimeError, match="device lost"):
        tensor[...] = np.full(4, 5, np.float32)
    assert tensor.tolist() == [1.0, 2.0, 3.0, 4.0] and tensor.carrier.version == 0
    tensor[...] = np.full(4, 5, np.float32)
    assert tensor.tolist() == [5.0] * 4 and tensor.carrier.version == 1


@pytest.mark.rule("MT-12", "MT-13", "G-7")
def test_host_views_share_memory_are_read_only_and_keep_their_values() -> None:
    carrier = Metal(0).new_like(np.arange(5, dtype=np.float32))
    view, again = storage.to_host(carrier._slots), storage.to_host(carrier._slots)
    assert np.shares_memory(view, again) and not view.flags.writeable
    carrier[2] = -1.0
    carrier._write_span(0, np.full(5, 8, np.float32).data)
    carrier.release()
    assert view.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.rule("MT-8", "C-40", "C-41", "M-47")
def test_spans_are_offered_and_live_storage_is_not() -> None:
    carrier = Metal(0, dtype=BOOL).new_like([True, False, True])
    out = np.zeros(2, np.bool_)
    assert carrier._read_span(1, out.data) is None and out.tolist() == [False, True]
    raw = np.array([0, 7], np.uint8).view(np.bool_)  # others may give any byte for True
    assert carrier._write_span(1, raw.data) is None
    assert slots(carrier) == [True, False, True]
    assert carrier._host_array() is None
    with pytest.raises(BufferError, match="Metal"):
        carrier.dlpack_info()
    with pytest.raises(BufferError, match="Metal"):
        Tensor(carrier, 0, Layout.parse("3:1")).numpy()
    carrier.release()
    assert carrier._read_span(0, out.data) is NotImplemented
    assert carrier._write_span(0, out.data) is NotImplemented


@pytest.mark.rule("MT-8", "M-49")
def test_numpy_copies_and_friendly_factories_make_cpu_tensors(make_tensor: Any) -> None:
    tensor = make_tensor([1.0, 2.0, 3.0, 4.0, 5.0], "(2,2):(1,3)")
    array = np.asarray(tensor)
    assert array.tolist() == [[1.0, 4.0], [2.0, 5.0]]
    array[0, 0] = 9.0
    assert tensor[0] == 1.0
    assert type(sw.friendly.zeros(2).carrier) is sw.CPU


VALUES: list[tuple[DType, Any]] = [
    (FLOAT, [1, True, 2.5, None, 1e300, -0.0]),
    (FLOAT, np.arange(6, dtype=np.float32)[::2]),
    (FLOAT, np.arange(3, dtype=">f4")),
    (FLOAT, np.arange(3, dtype=np.float64)),
    (INT, [1, None, -(2**31), 2**31 - 1]),
    (INT, np.array([1, 2, 2**31 - 1], np.int32)),
    (INT, np.array([1, 2], ">i4")),
    (INT, np.array([1, 2], np.int64)),
    (INT, [1.5]),
    (INT, [2**31]),
    (INT, [np.int32(3)]),
    (INT, np.array([2**40])),
    (BOOL, [True, None, False]),
    (BOOL, np.array([True, False])),
    (BOOL, [1]),
    (BOOL, [0, "1"]),
]


@pytest.mark.rule("MT-14", "C-21", "C-31", "C-32")
@pytest.mark.parametrize(("dtype", "values"), VALUES, ids=str)
def test_factories_take_what_those_of_cpu_take(dtype: DType, values: Any) -> None:
    def outcome(prototype: Any) -> Any:
        try:
            return [(type(value), value) for value in slots(prototype.new_like(values))]
        except (TypeError, OverflowError) as error:
            return type(error)

    assert repr(outcome(Metal(0, dtype=dtype))) == repr(outcome(sw.CPU(0, dtype=dtype)))


@pytest.mark.rule("MT-14", "C-21")
def test_any_byte_is_a_bool() -> None:
    carrier = Metal(0, dtype=BOOL).new_like(np.array([0, 7, 1], np.uint8).view(np.bool_))
    tensor = Tensor(carrier, 0, Layout.parse("3:1"))
    assert slots(carrier) == [False, True, True]
    assert sw.logical_xor(tensor, tensor).tolist() == [False] * 3
    assert sw.logical_and(tensor, tensor).tolist() == [False, True, True]


@pytest.mark.rule("MT-14", "C-31")
def test_factories_copy_arrays() -> None:
    array = np.arange(3, dtype=np.float32)
    carrier = Metal(0).new_like(array, mutable=False)
    array[:] = 9
    assert slots(carrier) == [0.0, 1.0, 2.0]
    assert (carrier.version, carrier.is_mutable()) == (0, False)
    with pytest.raises(TypeError, match=r"^Metal\.new_like: values must be iterable, got 3"):
        carrier.new_like(3)  # type: ignore[arg-type]
