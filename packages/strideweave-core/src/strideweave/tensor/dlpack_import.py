"""DLPack import: memory of another library as the storage of a CPU carrier."""

from collections.abc import Callable
from typing import Any, Final, final

from strideweave.dtype import DType
from strideweave.tensor.dlpack_abi import (
    BOOLEAN,
    CPU_DEVICE,
    FLOAT,
    INTEGER,
    READ_ONLY,
    VERSION,
    Capsule,
    ElementType,
    ManagedTensor,
    VersionedTensor,
    deleter,
    managed_tensor,
    mark_used,
)
from strideweave.tensor.interchange import (
    cpu_class,
    cpu_tensor,
    element_layout,
    require_numpy,
)
from strideweave.tensor.tensor import Tensor

_ELEMENTS: Final = {
    (FLOAT, 32, 1): (DType.Float32, "=f4"),
    (INTEGER, 32, 1): (DType.Int32, "=i4"),
    (BOOLEAN, 8, 1): (DType.Bool, "|b1"),
}
"""For code, bits and lanes: the dtype, and NumPy's name of the element type."""

_KINDS: Final = {
    INTEGER: "int",
    1: "uint",
    FLOAT: "float",
    4: "bfloat",
    5: "complex",
    BOOLEAN: "bool",
}
"""For type codes of DLPack: how the names of such element types start."""


def tensor_of(producer: Any) -> Tensor:
    """Wrap a producer's memory; ``strideweave.from_dlpack`` describes it."""
    for method in ("__dlpack__", "__dlpack_device__"):
        if not callable(getattr(producer, method, None)):
            raise TypeError(
                f"from_dlpack takes an object with the methods __dlpack__ and __dlpack_device__, "
                f"{type(producer).__qualname__} has no {method}"
            )
    numpy, carrier_class = require_numpy("from_dlpack"), cpu_class("from_dlpack")
    kind, number = producer.__dlpack_device__()
    _require_host(kind, number)
    capsule = _requested(producer)
    managed = managed_tensor(capsule)
    if managed is None:
        raise TypeError(
            f"{type(producer).__qualname__}.__dlpack__() must return a DLPack capsule that nobody "
            f"took over yet, got {capsule!r}"
        )
    is_read_only = isinstance(managed, VersionedTensor) and bool(managed.flags & READ_ONLY)
    dtype, memory = _viewed(managed, is_read_only)
    array = numpy.asarray(memory)
    layout = element_layout("from_dlpack", array)
    # Up to here a failure leaves the capsule, which gives the memory back by itself.
    mark_used(capsule, managed)
    memory.give_back = deleter(managed)
    return cpu_tensor(carrier_class, array, layout, dtype, mutable=not is_read_only)


def _require_host(kind: int, number: int) -> None:
    if kind != CPU_DEVICE:
        raise BufferError(
            f"from_dlpack takes memory of the CPU, device type {CPU_DEVICE}, this is on device "
            f"({int(kind)}, {int(number)}); ask its library for a copy in host memory first"
        )


def _requested(producer: Any) -> Capsule:
    try:
        return producer.__dlpack__(max_version=VERSION)
    except TypeError:
        return producer.__dlpack__()  # of a library older than versions


@final
class _BorrowedMemory:
    """Memory of a producer, which gets it back when no array views it any more.

    Attributes:
        give_back: Called once; None while the memory is not ours.
    """

    def __init__(self, interface: dict[str, object]) -> None:
        self.__array_interface__: Final = interface
        self.give_back: Callable[[], object] | None = None

    def __del__(self) -> None:
        if self.give_back is not None:
            self.give_back()


def _viewed(managed: ManagedTensor, is_read_only: bool) -> tuple[DType, _BorrowedMemory]:
    """Describe the memory of a tensor for NumPy."""
    if isinstance(managed, VersionedTensor) and managed.major != VERSION[0]:
        raise BufferError(
            f"from_dlpack reads DLPack {VERSION[0]}.x, the producer made "
            f"{managed.major}.{managed.minor} although asked for {VERSION}"
        )
    header = managed.header
    _require_host(header.device.kind, header.device.number)
    dtype, element = _element(header.element_type)
    extents, strides = tuple(header.shape[: header.ndim]), None
    if 0 in extents:
        raise ValueError(
            f"from_dlpack cannot view an array of shape {extents}: an axis has length zero, "
            "and a Tensor has at least one element"
        )
    if header.data is None:
        raise BufferError(f"from_dlpack got no memory for the shape {extents}, but a null pointer")
    if header.strides:
        width = header.element_type.bits // 8
        strides = tuple(stride * width for stride in header.strides[: header.ndim])
    interface = {
        "version": 3,
        "data": (header.data + header.byte_offset, is_read_only),
        "typestr": element,
        "shape": extents,
        "strides": strides,
    }
    return dtype, _BorrowedMemory(interface)


def _element(given: ElementType) -> tuple[DType, str]:
    found = _ELEMENTS.get((given.code, given.bits, given.lanes))
    if found is None:
        name = f"{_KINDS.get(given.code, 'unknown')}{given.bits}"
        raise BufferError(
            f"from_dlpack takes float32, int32 and bool, got {name} elements, type code "
            f"{given.code} with {given.bits} bits and {given.lanes} lanes; convert them with the "
            "producer's library first"
        )
    return found
