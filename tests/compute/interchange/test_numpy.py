"""NumPy interchange: views out, views in, and the array protocol."""

import gc
import sys
from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, Carrier, DType, Generic, Layout, Shape, Stride, Tensor


class FreeCarrier(Carrier):
    """A definition-free carrier with slots only."""

    def __init__(self, cells: list[Any], dtype: DType) -> None:
        super().__init__()
        self.cells, self.stored = cells, dtype

    def size(self) -> int:
        return len(self.cells)

    def dtype(self) -> DType:
        return self.stored

    def get_value(self, index: SupportsIndex) -> Any:
        return self.cells[index]


def cpu(
    layout: str, offset: int = 0, dtype: DType = DType.Float32, *, mutable: bool = True
) -> Tensor:
    """Build a CPU Tensor in which every slot holds its own number."""
    placement = Layout.parse(layout)
    slots = range(offset + placement.cosize)
    values = [bool(slot % 2) if dtype is DType.Bool else slot for slot in slots]
    return Tensor(CPU(0, dtype=dtype).new_like(values, mutable=mutable), offset, placement)


def generic(layout: str, values: list[Any], dtype: DType = DType.Float32) -> Tensor:
    return Tensor(Generic(values, dtype=dtype), 0, Layout.parse(layout))


# Tensor.numpy()


@pytest.mark.rule("M-48", "T-5")
@pytest.mark.parametrize(
    ("layout", "shape", "strides"),
    [
        ("(2,3):(1,2)", (2, 3), (4, 8)),
        ("(2,(3,4)):(1,(10,100))", (2, 3, 4), (4, 40, 400)),
        ("((4)):((3))", (4,), (12,)),
        ("(2,3):(0,1)", (2, 3), (0, 4)),
        ("():()", (), ()),
    ],
)
def test_numpy_views_every_layout(
    layout: str, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    tensor = cpu(layout, 5)
    view = tensor.numpy()
    assert (view.shape, view.strides, view.dtype) == (shape, strides, np.float32)
    assert view.ravel(order="F").tolist() == [tensor[i] for i in range(tensor.size())]


@pytest.mark.rule("M-48")
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(DType.Float32, np.float32), (DType.Int32, np.int32), (DType.Bool, np.bool_)],
)
def test_numpy_element_types(dtype: DType, expected: type) -> None:
    view = cpu("3:1", 1, dtype).numpy()
    assert view.dtype == expected
    assert view.tolist() == ([True, False, True] if dtype is DType.Bool else [1, 2, 3])


@pytest.mark.rule("M-48", "C-28")
def test_numpy_shares_memory_both_ways_without_a_version_step() -> None:
    tensor = cpu("(2,2):(1,3)")
    view = tensor.numpy()
    view[1, 1] = 42.0
    assert tensor[1, 1] == 42.0 and tensor.version == 0
    tensor[0, 1] = 7.0
    assert view[0, 1] == 7.0


@pytest.mark.rule("M-48", "G-5")
def test_numpy_is_read_only_where_writing_is_not_safe() -> None:
    assert cpu("(2,2):(1,2)").numpy().flags.writeable
    assert not cpu("2:1", mutable=False).numpy().flags.writeable
    assert not cpu("(2,2):(0,1)").numpy().flags.writeable
    assert not cpu("(2,2):(1,1)").numpy().flags.writeable
    owned = cpu("2:1")
    owned.carrier._claim_ownership()
    assert not owned.numpy().flags.writeable


@pytest.mark.rule("M-48", "C-55")
def test_numpy_keeps_the_buffer_alive() -> None:
    tensor = cpu("3:1")
    view = tensor.numpy()
    tensor.carrier.release()
    del tensor
    gc.collect()
    assert view.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.rule("M-49", "T-5")
def test_numpy_of_another_carrier_names_the_way_to_copy() -> None:
    with pytest.raises(BufferError, match=r"Generic.*numpy\.asarray"):
        generic("1:1", [1.0]).numpy()


@pytest.mark.rule("M-49")
def test_the_class_is_checked_before_the_release() -> None:
    released = generic("1:1", [1.0])
    released.carrier.release()
    with pytest.raises(BufferError, match="Generic"):
        released.numpy()
    tensor = cpu("1:1")
    tensor.carrier.release()
    with pytest.raises(RuntimeError, match="CPU carrier is released"):
        tensor.numpy()


@pytest.mark.rule("M-49", "A-4")
def test_export_records_no_node_and_changes_no_version() -> None:
    tensor = cpu("3:1")
    np.asarray(tensor)
    tensor.numpy()
    assert tensor.autograd_ctx is None and tensor.version == 0


# __array__


@pytest.mark.rule("M-48", "M-49")
def test_asarray_of_a_cpu_tensor_is_the_view() -> None:
    tensor = cpu("(2,3):(3,1)")
    assert np.shares_memory(np.asarray(tensor), tensor.numpy())
    assert np.asarray(tensor).tolist() == tensor.tolist()


@pytest.mark.rule("M-49")
def test_asarray_of_a_cpu_tensor_copies_on_demand() -> None:
    tensor = cpu("2:1")
    for copied in (tensor.__array__(copy=True), tensor.__array__(np.float64)):
        assert not np.shares_memory(copied, tensor.numpy())
        assert copied.tolist() == [0.0, 1.0]
    assert tensor.__array__(np.float64).dtype == np.float64
    assert np.shares_memory(tensor.__array__(np.float32, copy=False), tensor.numpy())
    with pytest.raises(ValueError, match="without a copy"):
        tensor.__array__(np.float64, copy=False)


@pytest.mark.rule("M-49", "C-41")
@pytest.mark.parametrize(
    ("dtype", "values", "expected"),
    [
        (DType.Float32, [0.5, 1.5, 2.5, 3.5], np.float32),
        (DType.Int32, [1, 2, 3, 4], np.int32),
        (DType.Bool, [True, False, True, True], np.bool_),
    ],
)
def test_asarray_of_other_carriers_is_a_dense_copy(
    dtype: DType, values: list[Any], expected: type
) -> None:
    for tensor in (
        generic("(2,2):(1,2)", values, dtype),
        Tensor(FreeCarrier(values, dtype), 0, Layout.parse("(2,2):(1,2)")),
    ):
        copied = np.asarray(tensor)
        assert copied.dtype == expected and copied.flags.c_contiguous
        assert copied.tolist() == tensor.tolist()
        copied[0, 0] = copied[1, 1]
        assert tensor[0, 0] == values[0]


@pytest.mark.rule("M-49")
def test_asarray_of_other_carriers_cannot_avoid_the_copy() -> None:
    with pytest.raises(ValueError, match=r"Generic.*without a copy"):
        generic("1:1", [1.0]).__array__(copy=False)


@pytest.mark.rule("M-49")
@pytest.mark.parametrize("build", [lambda: generic("1:1", [1.0]), lambda: cpu("1:1")])
def test_asarray_of_a_released_carrier(build: Callable[[], Tensor]) -> None:
    tensor = build()
    tensor.carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        np.asarray(tensor)


@pytest.mark.rule("M-49")
def test_asarray_converts_other_carriers() -> None:
    assert np.asarray(generic("2:1", [1.5, 2.5]), dtype=np.float64).dtype == np.float64


@pytest.mark.rule("M-50", "T-8")
def test_numpy_operators_leave_the_decision_to_the_tensor() -> None:
    tensor = cpu("2:1")
    scalar: Any = np.float32(1.5)  # numpy's stubs know no other operand
    integer: Any = np.int32(2)
    assert Tensor.__array_ufunc__ is None
    total = scalar + tensor
    assert type(total) is Tensor and total.tolist() == [1.5, 2.5]
    assert total.autograd_ctx is not None
    product = integer * tensor
    assert type(product) is Tensor and product.tolist() == [0.0, 2.0]
    with pytest.raises(TypeError, match=r"rhs must be a Tensor.*from_numpy"):
        np.array([1.0, 2.0], dtype=np.float32) + tensor
    with pytest.raises(TypeError):
        np.add(np.ones(2, dtype=np.float32), tensor)


# from_numpy


@pytest.mark.rule("M-51")
def test_from_numpy_shares_the_memory() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = sw.from_numpy(array)
    assert str(tensor.layout) == "(2,3):(3,1)" and tensor.offset == 0
    assert type(tensor.carrier) is CPU and tensor.carrier.size() == 6
    tensor[1, 2] = 9.0
    assert array[1, 2] == 9.0
    array[0, 1] = -1.0
    assert tensor[0, 1] == -1.0
    assert np.shares_memory(tensor.numpy(), array)


@pytest.mark.rule("M-51")
@pytest.mark.parametrize(
    ("array", "layout", "slots"),
    [
        (np.arange(4, dtype=np.int32), "4:1", 4),
        (np.array(3.0, dtype=np.float32), "1:1", 1),
        (np.arange(12, dtype=np.float32).reshape(3, 4).T, "(4,3):(1,4)", 12),
        (np.arange(12, dtype=np.float32).reshape(3, 4)[1:, ::2], "(2,2):(4,2)", 7),
        (np.broadcast_to(np.arange(3, dtype=np.float32), (2, 3)), "(2,3):(0,1)", 3),
        (np.zeros((4, 3), dtype=np.float32)[::-1][:1], "(1,3):(1,1)", 3),
        (np.zeros((2, 1, 2), dtype=np.bool_), "(2,1,2):(2,2,1)", 4),
    ],
)
def test_from_numpy_layouts(array: Any, layout: str, slots: int) -> None:
    tensor = sw.from_numpy(array)
    assert str(tensor.layout) == layout
    assert tensor.carrier.size() == slots
    assert tensor.numpy().tolist() == array.reshape(array.shape or (1,)).tolist()


@pytest.mark.rule("M-51", "T-5")
@pytest.mark.parametrize(
    ("element", "dtype"),
    [(np.float32, DType.Float32), (np.int32, DType.Int32), (np.bool_, DType.Bool)],
)
def test_from_numpy_dtypes(element: type, dtype: DType) -> None:
    tensor = sw.from_numpy(np.zeros(2, dtype=element))
    assert tensor.dtype() is dtype
    assert tensor.is_differentiable() == (dtype is DType.Float32)
    assert tensor.autograd_ctx is None


@pytest.mark.rule("M-51")
def test_from_numpy_follows_the_writeable_flag() -> None:
    array = np.arange(3, dtype=np.float32)
    assert sw.from_numpy(array).is_mutable()
    array.flags.writeable = False
    tensor = sw.from_numpy(array)
    assert not tensor.is_mutable()
    with pytest.raises(RuntimeError, match="mutable"):
        tensor[0] = 1.0
    assert (tensor + 1.0).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.rule("M-51", "C-55")
def test_from_numpy_holds_the_array_until_released() -> None:
    array = np.arange(3, dtype=np.float32)
    before = sys.getrefcount(array)
    tensor = sw.from_numpy(array[:])
    assert sys.getrefcount(array) > before
    tensor.carrier.release()
    gc.collect()
    assert sys.getrefcount(array) == before


@pytest.mark.rule("M-51")
@pytest.mark.parametrize("value", [[1.0], 1.0, None, np.float32(1.0)])
def test_from_numpy_takes_arrays_only(value: object) -> None:
    with pytest.raises(TypeError, match=r"numpy\.ndarray without a mask"):
        sw.from_numpy(value)


@pytest.mark.rule("M-51")
def test_from_numpy_refuses_a_masked_array() -> None:
    with pytest.raises(TypeError, match="without a mask, got MaskedArray"):
        sw.from_numpy(np.ma.masked_array(np.zeros(2, dtype=np.float32), [True, False]))


@pytest.mark.rule("M-51")
@pytest.mark.parametrize(
    ("array", "remedy"),
    [
        (np.zeros(2), "float32"),
        (np.zeros(2, dtype=np.int64), "int32"),
        (np.zeros(2, dtype=np.uint8), "int32"),
        (np.zeros(2, dtype=np.float16), "float32"),
        (np.zeros(2, dtype=np.dtype(np.float32).newbyteorder()), "float32"),
    ],
)
def test_from_numpy_names_the_conversion(array: Any, remedy: str) -> None:
    with pytest.raises(TypeError, match=rf"array\.astype\(numpy\.{remedy}\)"):
        sw.from_numpy(array)


@pytest.mark.rule("M-51")
@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros((2, 3), dtype=np.float32)[:, ::-1], "byte stride is -4"),
        (np.zeros(3, dtype=[("a", np.float32), ("b", np.uint8)])["a"], "not aligned|byte stride"),
        (np.frombuffer(bytes(9), dtype=np.float32, count=2, offset=1), "not aligned"),
    ],
)
def test_from_numpy_refuses_what_no_layout_expresses(array: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=rf"({reason}).*ascontiguousarray"):
        sw.from_numpy(array)


@pytest.mark.rule("M-51")
def test_from_numpy_refuses_an_empty_array_without_a_remedy_that_fails() -> None:
    with pytest.raises(ValueError, match=r"\(2, 0\): an axis has length zero, and a Tensor has"):
        sw.from_numpy(np.zeros((2, 0), dtype=np.float32))


@pytest.mark.rule("M-53", "A-4")
def test_an_imported_float_is_a_leaf() -> None:
    tensor = sw.from_numpy(np.array([1.0, 2.0], dtype=np.float32))
    (tensor * 3.0).backward(sw.from_numpy(np.array([1.0, 10.0], dtype=np.float32)))
    assert tensor.grad is not None and tensor.grad.tolist() == [3.0, 30.0]


@pytest.mark.rule("M-53")
def test_importing_without_numpy_or_cpu_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import strideweave.host as host

    array = np.zeros(2, dtype=np.float32)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "strideweave.carriers.cpu", None)
        with pytest.raises(ImportError, match="pip install strideweave-compute"):
            sw.from_numpy(array)
    monkeypatch.setattr(host, "numpy_module", lambda: None)
    with pytest.raises(ImportError, match="pip install numpy"):
        sw.from_numpy(array)
    with pytest.raises(ImportError, match="pip install numpy"):
        cpu("1:1").numpy()


@pytest.mark.rule("T-47")
def test_bulk_write_from_numpy_arrays() -> None:
    tensor = cpu("(2,(3,2)):(1,(2,6))")
    values = np.arange(12, dtype=np.float32).reshape(2, 3, 2)[:, ::-1]
    tensor[...] = values
    assert tensor.numpy().tolist() == values.tolist() and tensor.version == 1
    tensor[...] = np.arange(12, dtype=np.float32)
    assert [tensor[i] for i in range(12)] == list(range(12))
    with pytest.raises(TypeError, match="takes a buffer of that dtype"):
        tensor[...] = np.zeros(12)
    with pytest.raises(ValueError, match="buffer of shape"):
        tensor[...] = np.zeros((2, 6), dtype=np.float32)


@pytest.mark.rule("60/E-28")
def test_worked_example_of_a_shared_array() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = sw.from_numpy(array)
    tensor[1, 2] = 9.0
    assert array[1, 2] == 9.0
    assert tensor.layout == Layout(Shape([2, 3]), Stride([3, 1]))
    assert np.shares_memory(tensor.numpy(), array)


@pytest.mark.rule("60/E-29")
def test_worked_example_of_refused_arrays() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    with pytest.raises(ValueError, match="ascontiguousarray"):
        sw.from_numpy(array[:, ::-1])
    with pytest.raises(TypeError, match="astype"):
        sw.from_numpy(array.astype(np.float64))


@pytest.mark.rule("60/E-30")
def test_worked_example_of_a_carrier_without_a_buffer() -> None:
    tensor = generic("1:1", [1.0])
    with pytest.raises(BufferError):
        tensor.numpy()
    assert np.asarray(tensor).tolist() == [1.0]
