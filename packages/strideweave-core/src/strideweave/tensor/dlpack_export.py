"""DLPack export: the storage of a Tensor, without a copy, in a capsule for another library.

NumPy makes the capsule. A capsule's destructor and a tensor's deleter run wherever the last
reference is dropped, also on foreign threads, after the interpreter's end, and while an exception
is on its way, which a callback written in Python would lose: the interpreter crashes then.
"""

from ctypes import POINTER, c_int64, cast
from operator import index
from typing import Any, Final, TypeAlias, final

from strideweave.carriers import spans
from strideweave.carriers.base import Carrier
from strideweave.dtype import DType
from strideweave.tensor.boundary import require_one_subtensor
from strideweave.tensor.dlpack_abi import (
    VERSION,
    Capsule,
    Device,
    VersionedTensor,
    managed_tensor,
)
from strideweave.tensor.interchange import require_numpy
from strideweave.tensor.tensor import Tensor

DeviceNumbers: TypeAlias = tuple[int, int]

_ITEMSIZE: Final = 4
_ELEMENTS: Final[dict[DType, str]] = {DType.Float32: "=f4", DType.Int32: "=i4"}


def device(tensor: Tensor) -> DeviceNumbers:
    """Tell where the storage lies.

    Returns:
        Device type and device id, as the carrier reports them.

    Raises:
        NotImplementedError: If the Tensor has several subtensors.
        BufferError: If the carrier does not export its storage, or has none.
        TypeError: If the carrier describes it wrongly.
        KeyError: If the carrier describes it incompletely.
    """
    require_one_subtensor(tensor, "DLPack export")
    _, numbers = _location(tensor._carrier)
    return numbers


def capsule(tensor: Tensor, max_version: object, dl_device: object, copy: object) -> Capsule:
    """Export the storage.

    Args:
        tensor: A Float32 or Int32 Tensor.
        max_version: The newest version that the consumer reads, a pair; from major 1 on the
            capsule is a versioned one.
        dl_device: The device that the consumer asks for, a pair or None.
        copy: Anything true is refused.

    Returns:
        A capsule that keeps Tensor and storage alive until it, or its consumer, is gone.

    Raises:
        NotImplementedError: If the Tensor has several subtensors.
        BufferError: If a copy, another device or an unsupported dtype is asked for, or the
            carrier does not export its storage.
        TypeError: If an argument has a wrong type, or the carrier describes itself wrongly.
        ValueError: If a pair has another length, or the version is negative.
        KeyError: If the carrier describes itself incompletely.
        ImportError: If NumPy is not installed.
    """
    require_one_subtensor(tensor, "DLPack export")
    if copy:
        raise BufferError(
            "DLPack export never copies; build a fresh Tensor with carrier.new_like(...) and "
            "export that"
        )
    pointer, numbers = _location(tensor._carrier)
    asked = _pair("dl_device", dl_device)
    if asked is not None and asked != numbers:
        raise BufferError(
            f"DLPack export never copies: the storage lies on device {numbers}, dl_device asks for "
            f"{asked}; move the Tensor to a carrier of that device first"
        )
    if tensor._dtype not in _ELEMENTS:
        raise BufferError(
            f"DLPack export takes Float32 and Int32, this Tensor holds {tensor._dtype.name}"
        )
    version = _pair("max_version", max_version)
    if version is not None and min(version) < 0:
        raise ValueError(f"max_version must not be negative, got {version}")
    return _capsule(tensor, pointer, numbers, version is not None and version[0] >= VERSION[0])


def _location(carrier: Carrier) -> tuple[int, DeviceNumbers]:
    """Give address and device of a carrier's storage."""
    described: object = carrier.dlpack_info()
    subject = f"{type(carrier).__qualname__}.dlpack_info()"
    try:
        info = dict(described)  # type: ignore[call-overload]  # the call is the test
    except (TypeError, ValueError):
        raise TypeError(f"{subject} must return a dict, got {described!r}") from None
    values = {key: info[key] for key in ("pointer", "device_type", "device_id")}
    pointer, kind, number = (
        _integer(f"{subject}[{key!r}]", value) for key, value in values.items()
    )
    if pointer == 0:
        state = "it is released" if carrier.is_released() else "its pointer is 0"
        raise BufferError(f"this {type(carrier).__qualname__} has no storage to export: {state}")
    return pointer, (kind, number)


def _pair(name: str, value: object) -> tuple[int, int] | None:
    if value is None:
        return None
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{name} must be a tuple, list or None, got {type(value).__qualname__}")
    if len(value) != 2:
        raise ValueError(f"{name} must be a pair, got {value!r}")
    return _integer(f"{name}[0]", value[0]), _integer(f"{name}[1]", value[1])


def _integer(name: str, value: Any) -> int:
    try:
        if not isinstance(value, bool):
            return index(value)
    except TypeError:
        pass
    raise TypeError(f"{name} must be an integer, got {value!r} ({type(value).__qualname__})")


@final
class _ExportedMemory:
    """What a capsule keeps alive; NumPy views it through the array interface."""

    def __init__(self, tensor: Tensor, pointer: int, *, is_read_only: bool) -> None:
        layout = tensor._layout
        self.tensor: Final = tensor
        # A released carrier lets go of its buffer; a consumer still reads it.
        self.buffer: Final = spans.host_array(tensor._carrier)
        self.strides: Final = (c_int64 * len(layout.leaf_strides))(*layout.leaf_strides)
        self.__array_interface__: Final = {
            "version": 3,
            "data": (pointer + tensor._offset * _ITEMSIZE, is_read_only),
            "typestr": _ELEMENTS[tensor._dtype],
            "shape": layout.leaf_extents,
            "strides": tuple(stride * _ITEMSIZE for stride in layout.leaf_strides),
        }


def _capsule(tensor: Tensor, pointer: int, numbers: DeviceNumbers, is_versioned: bool) -> Capsule:
    numpy = require_numpy("DLPack export")
    # NumPy refuses a legacy capsule of a read-only array, since nothing in it says read-only.
    memory = _ExportedMemory(tensor, pointer, is_read_only=is_versioned and not tensor.is_mutable())
    try:
        view = numpy.asarray(memory)
    except ValueError as error:
        raise BufferError(
            f"DLPack export of a layout with {len(tensor._layout.leaf_extents)} leaves: {error}; "
            f"reshape the Tensor first"
        ) from None
    made = view.__dlpack__(max_version=VERSION) if is_versioned else view.__dlpack__()
    managed = managed_tensor(made)
    assert managed is not None, "NumPy has just made the capsule"
    if isinstance(managed, VersionedTensor):
        managed.major, managed.minor = VERSION
    header = managed.header
    header.data = pointer
    header.byte_offset = tensor._offset * _ITEMSIZE
    header.device = Device(*numbers)
    header.strides = cast(memory.strides, POINTER(c_int64))
    return made
