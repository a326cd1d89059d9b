"""The structures of the DLPack ABI, and the capsules that carry them.

https://dmlc.github.io/dlpack/latest/c_api.html
"""

from collections.abc import Callable
from ctypes import (
    CFUNCTYPE,
    POINTER,
    PYFUNCTYPE,
    Structure,
    addressof,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
    pythonapi,
)
from functools import partial
from typing import Any, Final, TypeAlias, final

Capsule: TypeAlias = Any  # a PyCapsule, which Python has no name for

CPU_DEVICE: Final = 1
READ_ONLY: Final = 1
"""The bit of ``VersionedTensor.flags`` that says not to write."""
VERSION: Final = (1, 0)

INTEGER, FLOAT, BOOLEAN = 0, 2, 6
"""Codes of element types."""


@final
class Device(Structure):
    """``DLDevice``."""

    _fields_ = (("kind", c_int32), ("number", c_int32))
    kind: int
    number: int


@final
class ElementType(Structure):
    """``DLDataType``."""

    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))
    code: int
    bits: int
    lanes: int


@final
class TensorHeader(Structure):
    """``DLTensor``; strides count elements, and null strides stand for row-major order."""

    _fields_ = (
        ("data", c_void_p),
        ("device", Device),
        ("ndim", c_int32),
        ("element_type", ElementType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )
    data: int | None
    device: Device
    ndim: int
    element_type: ElementType
    shape: Any
    strides: Any
    byte_offset: int


@final
class LegacyTensor(Structure):
    """``DLManagedTensor``, which has no version and no flags."""

    _fields_ = (("header", TensorHeader), ("context", c_void_p), ("deleter", c_void_p))
    header: TensorHeader
    deleter: int | None


@final
class VersionedTensor(Structure):
    """``DLManagedTensorVersioned``."""

    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("header", TensorHeader),
    )
    major: int
    minor: int
    deleter: int | None
    flags: int
    header: TensorHeader


ManagedTensor: TypeAlias = LegacyTensor | VersionedTensor

_NAMES: Final[dict[type[ManagedTensor], tuple[bytes, bytes]]] = {
    LegacyTensor: (b"dltensor", b"used_dltensor"),
    VersionedTensor: (b"dltensor_versioned", b"used_dltensor_versioned"),
}
"""Capsule names before and after somebody took the tensor over."""

# A private prototype each: those of `ctypes.pythonapi` belong to the whole process.
_is_valid = PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_IsValid", pythonapi))
_pointer = PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", pythonapi))
_rename = PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_SetName", pythonapi))
_keep_forever = PYFUNCTYPE(None, py_object)(("Py_IncRef", pythonapi))
# Called without the interpreter lock, since a deleter may wait for a thread that needs it.
_DELETER = CFUNCTYPE(None, c_void_p)

for _, _used in _NAMES.values():
    _keep_forever(_used)  # a renamed capsule keeps only the address of its name


def managed_tensor(capsule: Capsule) -> ManagedTensor | None:
    """Find the tensor of a capsule that nobody took over yet.

    Returns:
        The structure in the capsule's own memory, or None for any other object.
    """
    for kind, (name, _) in _NAMES.items():
        if _is_valid(capsule, name):
            return kind.from_address(_pointer(capsule, name))
    return None


def mark_used(capsule: Capsule, managed: ManagedTensor) -> None:
    """Take the tensor over: from now on its deleter is ours to call."""
    _, used = _NAMES[type(managed)]
    _rename(capsule, used)


def deleter(managed: ManagedTensor) -> Callable[[], object] | None:
    """Bind the deleter to its tensor.

    Returns:
        A callable to be called once, or None where the producer needs no call.
    """
    if not managed.deleter:
        return None
    return partial(_DELETER(managed.deleter), addressof(managed))
