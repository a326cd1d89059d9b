"""Memory of other libraries as CPU Tensors, from producers of every sort."""

import ctypes
import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, DType, Layout, Shape, Stride, Tensor
from strideweave.tensor import dlpack_abi
from strideweave.tensor.dlpack_abi import Device, ElementType, LegacyTensor, TensorHeader

_new_capsule = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_exported: list["Producer"] = []  # a deleter must be there as long as somebody may call it


class Producer:
    """A producer written by hand, whose deleter counts its calls."""

    def __init__(
        self,
        shape: Sequence[int] = (2, 3),
        strides: Sequence[int] | None = (1, 2),
        *,
        element: tuple[int, int, int] = (2, 32, 1),
        offset_bytes: int = 0,
        device: tuple[int, int] = (1, 0),
        version: tuple[int, int] | None = (1, 0),
        flags: int = 0,
        has_deleter: bool = True,
        data: int | None = -1,
    ) -> None:
        self.deleted = 0
        self.requests: list[dict[str, Any]] = []
        self.reported = device
        self.memory = (ctypes.c_float * 32)(*range(32))
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self.deleter = _DELETER(self._count)
        header = TensorHeader(
            ctypes.addressof(self.memory) if data == -1 else data,
            Device(*device),
            len(shape),
            ElementType(*element),
            self.shape,
            ctypes.POINTER(ctypes.c_int64)() if self.strides is None else self.strides,
            offset_bytes,
        )
        pointer = ctypes.cast(self.deleter, ctypes.c_void_p) if has_deleter else None
        self.managed: dlpack_abi.ManagedTensor
        if version is None:
            self.managed = LegacyTensor(header, None, pointer)
        else:
            self.managed = dlpack_abi.VersionedTensor(*version, None, pointer, flags, header)
        self.is_versioned = version is not None

    def _count(self, address: int) -> None:
        assert address == ctypes.addressof(self.managed)
        self.deleted += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.reported

    def __dlpack__(self, **options: Any) -> Any:
        self.requests.append(options)
        _exported.append(self)
        name = b"dltensor_versioned" if self.is_versioned else b"dltensor"
        return _new_capsule(ctypes.addressof(self.managed), name, None)


class OldProducer(Producer):
    """A producer from before there were versions."""

    def __init__(self, **options: Any) -> None:
        super().__init__(version=None, **options)

    def __dlpack__(self) -> Any:  # type: ignore[override]  # older than the keyword
        return super().__dlpack__()


def values(tensor: Tensor) -> list[Any]:
    return [tensor[ordinal] for ordinal in range(tensor.size())]


# What is asked for


@pytest.mark.rule("M-52")
def test_a_new_producer_is_asked_for_version_one() -> None:
    producer = Producer()
    sw.from_dlpack(producer)
    assert producer.requests == [{"max_version": (1, 0)}]


@pytest.mark.rule("M-52")
def test_an_old_producer_is_asked_again_without_arguments() -> None:
    producer = OldProducer()
    tensor = sw.from_dlpack(producer)
    assert producer.requests == [{}]
    assert values(tensor) == [0, 1, 2, 3, 4, 5]


@pytest.mark.rule("M-52", "G-17")
def test_memory_elsewhere_is_refused_before_anything_is_exported() -> None:
    producer = Producer(device=(2, 7))
    with pytest.raises(BufferError, match=r"device type 1.*\(2, 7\).*copy in host memory"):
        sw.from_dlpack(producer)
    assert producer.requests == []
    producer.reported = (1, 0)  # and the capsule says otherwise
    with pytest.raises(BufferError, match=r"\(2, 7\)"):
        sw.from_dlpack(producer)
    assert producer.deleted == 0


@pytest.mark.rule("M-52")
def test_what_a_producer_raises_propagates() -> None:
    class Broken(Producer):
        def __dlpack__(self, **options: Any) -> Any:
            raise TypeError("broken") if not options else OSError("refused")

    with pytest.raises(OSError, match="refused"):
        sw.from_dlpack(Broken())


@pytest.mark.rule("M-52", "G-17")
def test_only_an_unused_capsule_is_taken() -> None:
    class Second(Producer):
        capsule: Any = None

        def __dlpack__(self, **options: Any) -> Any:
            return self.capsule

    producer = Second()
    producer.capsule = Producer.__dlpack__(producer)
    sw.from_dlpack(producer)
    with pytest.raises(TypeError, match=r"Second.__dlpack__\(\) must return a DLPack capsule"):
        sw.from_dlpack(producer)
    producer.capsule = 3
    with pytest.raises(TypeError, match="got 3"):
        sw.from_dlpack(producer)


@pytest.mark.rule("M-52")
def test_a_future_version_is_refused() -> None:
    producer = Producer(version=(2, 0))
    with pytest.raises(BufferError, match=r"reads DLPack 1.x, the producer made 2.0"):
        sw.from_dlpack(producer)
    assert producer.deleted == 0
    assert values(sw.from_dlpack(Producer(version=(1, 7)))) == [0, 1, 2, 3, 4, 5]


# What comes in


@pytest.mark.rule("M-52", "M-51")
@pytest.mark.parametrize(
    ("shape", "strides", "layout"),
    [
        ((2, 3), (1, 2), "(2,3):(1,2)"),
        ((2, 3), (3, 1), "(2,3):(3,1)"),
        ((2, 3), None, "(2,3):(3,1)"),
        ((2, 3), (0, 4), "(2,3):(0,4)"),
        ((4,), (3,), "4:3"),
        ((), (), "1:1"),
        ((), None, "1:1"),
        ((1, 3), (-5, 1), "(1,3):(1,1)"),
    ],
)
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_one_mode_per_axis(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, layout: str, version: Any
) -> None:
    producer = Producer(shape, strides, offset_bytes=8, version=version)
    tensor = sw.from_dlpack(producer)
    assert str(tensor.layout) == layout and type(tensor.carrier) is CPU
    assert tensor.offset == 0 and tensor.carrier.size() == tensor.layout.cosize
    assert values(tensor) == [2 + tensor.layout(i) for i in range(tensor.size())]
    tensor[0] = 70.0
    assert producer.memory[2] == 70.0


@pytest.mark.rule("M-52")
@pytest.mark.parametrize(
    ("element", "dtype"),
    [((2, 32, 1), DType.Float32), ((0, 32, 1), DType.Int32), ((6, 8, 1), DType.Bool)],
)
def test_element_types(element: tuple[int, int, int], dtype: DType) -> None:
    tensor = sw.from_dlpack(Producer((4,), (1,), element=element))
    assert tensor.dtype() is dtype and tensor.is_differentiable() is (dtype is DType.Float32)
    assert tensor.autograd_ctx is None and tensor.version == 0


@pytest.mark.rule("M-52", "G-17")
@pytest.mark.parametrize(
    "element", [(2, 64, 1), (2, 16, 1), (0, 64, 1), (1, 32, 1), (2, 32, 4), (6, 1, 1), (4, 16, 1)]
)
def test_other_element_types_are_refused(element: tuple[int, int, int]) -> None:
    producer = Producer(element=element)
    code, bits, lanes = element
    text = f"type code {code} with {bits} bits and {lanes} lanes"
    with pytest.raises(BufferError, match=f"takes float32, int32 and bool, got.*{text}"):
        sw.from_dlpack(producer)
    assert producer.deleted == 0


@pytest.mark.rule("M-52", "G-17")
def test_the_refusal_names_the_element_type() -> None:
    with pytest.raises(BufferError, match=r"got int64 elements, .* convert them with the"):
        sw.from_dlpack(np.arange(3))


@pytest.mark.rule("M-52")
def test_any_byte_but_zero_is_true() -> None:
    array = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    assert values(sw.from_dlpack(array)) == [False, True, True, True]


@pytest.mark.rule("M-52", "M-51")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"shape": (0, 2)}, "an axis has length zero"),
        ({"shape": (3,), "strides": (-1,)}, "a byte stride is -4"),
        ({"offset_bytes": 2}, "its data is not aligned"),
    ],
)
def test_limits_of_a_layout(options: dict[str, Any], text: str) -> None:
    producer = Producer(**{"shape": (2, 3), "strides": None} | options)
    with pytest.raises(ValueError, match=f"from_dlpack cannot view.*{text}"):
        sw.from_dlpack(producer)
    assert producer.deleted == 0


@pytest.mark.rule("M-52")
def test_a_null_pointer_is_no_memory() -> None:
    with pytest.raises(BufferError, match=r"got no memory for the shape \(2, 3\)"):
        sw.from_dlpack(Producer(data=None))
    with pytest.raises(ValueError, match="an axis has length zero"):
        sw.from_dlpack(Producer((0, 3), None, data=None))


@pytest.mark.rule("M-52", "G-16")
@pytest.mark.parametrize(
    ("producer", "mutable"),
    [
        (lambda: Producer(flags=0), True),
        (lambda: Producer(flags=1), False),
        (lambda: Producer(flags=2), True),
        (lambda: Producer(flags=3), False),
        (lambda: Producer(version=None), True),
    ],
)
def test_read_only_stays_read_only(producer: Callable[[], Producer], mutable: bool) -> None:
    tensor = sw.from_dlpack(producer())
    assert tensor.is_mutable() is mutable
    assert tensor.numpy().flags.writeable is mutable
    assert np.from_dlpack(tensor).flags.writeable is mutable
    if not mutable:
        with pytest.raises(RuntimeError, match="mutable"):
            tensor[0] = 1.0
        with pytest.raises(RuntimeError, match="mutable"):
            tensor[...] = 1.0


@pytest.mark.rule("M-52", "M-45")
@pytest.mark.parametrize("dtype", [DType.Float32, DType.Int32])
def test_a_tensor_comes_back_as_an_alias(dtype: DType) -> None:
    tensor = Tensor(CPU(14, dtype=dtype), 2, Layout(Shape([2, [3]]), Stride([1, [4]])))
    alias = sw.from_dlpack(tensor)
    assert str(alias.layout) == "(2,3):(1,4)" and alias.carrier is not tensor.carrier
    alias[1, 2] = 9
    assert tensor[1, 2] == 9 and (tensor.version, alias.version) == (0, 1)
    assert alias.is_differentiable() is tensor.is_differentiable()


@pytest.mark.rule("M-53", "M-52")
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.bool_])
def test_numpy_as_the_producer(dtype: Any) -> None:
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    for view in (array, array.T, array[:, 1], array[1:, ::2], np.broadcast_to(array, (5, 2, 3, 4))):
        tensor = sw.from_dlpack(view)
        assert values(tensor) == view.ravel(order="F").tolist()
        assert tensor.is_mutable() is view.flags.writeable
        assert np.shares_memory(tensor.numpy(), array)
    with pytest.raises(ValueError, match="a byte stride is -"):
        sw.from_dlpack(array[::-1])
    with pytest.raises(BufferError, match="convert them with the producer's library first"):
        sw.from_dlpack(array.astype(np.float64))


# The deleter


@pytest.mark.rule("M-52", "M-46")
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_the_deleter_runs_once_when_the_carrier_is_gone(version: Any) -> None:
    producer = Producer(version=version)
    tensor = sw.from_dlpack(producer)
    view = sw.permute(tensor, 1, 0)
    del tensor
    gc.collect()
    assert producer.deleted == 0
    del view
    gc.collect()
    assert producer.deleted == 1


@pytest.mark.rule("M-52", "C-55")
def test_a_release_gives_the_memory_back_unless_it_is_viewed() -> None:
    first, second = Producer(), Producer()
    sw.from_dlpack(first).carrier.release()
    assert first.deleted == 1
    tensor = sw.from_dlpack(second)
    array = tensor.numpy()[1:]
    again = np.from_dlpack(tensor)
    tensor.carrier.release()
    assert second.deleted == 0 and array[0, 0] == 1.0
    del array
    assert second.deleted == 0 and again[1, 2] == 5.0
    del again
    assert second.deleted == 1


@pytest.mark.rule("M-52")
def test_a_producer_without_a_deleter_needs_no_call() -> None:
    producer = Producer(has_deleter=False)
    assert values(sw.from_dlpack(producer))[-1] == 5.0
    gc.collect()
    assert producer.deleted == 0


@pytest.mark.rule("M-52", "G-3")
def test_a_refused_array_is_let_go() -> None:
    class Tracked(np.ndarray[Any, Any]):
        pass

    for array in (np.zeros(3, np.float64), np.zeros((0, 2), np.float32)):
        tracked = array.view(Tracked)
        gone = weakref.ref(tracked)
        with pytest.raises((BufferError, ValueError)):
            sw.from_dlpack(tracked)
        del tracked
        gc.collect()
        assert gone() is None
