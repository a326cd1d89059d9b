"""Sharing values with NumPy, and with other libraries through DLPack."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn

import strideweave.host as host
from strideweave._late import LateModule
from strideweave.carriers.base import Carrier
from strideweave.carriers.dependent import DependentCarrier
from strideweave.dtype import DType
from strideweave.layout import Layout, Shape, Stride
from strideweave.tensor.access import logical_values
from strideweave.tensor.boundary import require_one_subtensor
from strideweave.tensor.tensor import Tensor, tensor_over

if TYPE_CHECKING:
    import strideweave.tensor.dlpack_import as dlpack_import
else:  # loads ctypes, which most programs never need
    dlpack_import = LateModule("strideweave.tensor.dlpack_import")

_DTYPES: Final = {"float32": DType.Float32, "int32": DType.Int32, "bool": DType.Bool}


def from_numpy(array: Any) -> Tensor:
    """Wrap a NumPy array without copying.

    Args:
        array: A native-endian ``float32``, ``int32`` or ``bool`` array without zero-length axes,
            whose strides are non-negative multiples of the item size.

    Returns:
        A Tensor on a CPU carrier that holds the array: one mode per axis, ``Shape(1)`` for a
        zero-dimensional array, offset 0. It is mutable exactly if the array is writeable.

    Raises:
        TypeError: If ``array`` is no plain ``ndarray`` or has another dtype.
        ValueError: If its shape, strides or alignment do not qualify.
        ImportError: If NumPy or the CPU distribution is not installed.

    Examples:
        >>> import numpy as np
        >>> import strideweave as sw
        >>> array = np.arange(6, dtype=np.float32).reshape(2, 3)
        >>> tensor = sw.from_numpy(array)
        >>> tensor[1, 2] = 9.0
        >>> float(array[1, 2]), str(tensor.layout)
        (9.0, '(2,3):(3,1)')
    """
    numpy = require_numpy("from_numpy")
    if not isinstance(array, numpy.ndarray) or isinstance(array, numpy.ma.MaskedArray):
        raise TypeError(
            f"from_numpy takes a numpy.ndarray without a mask, got {type(array).__qualname__}; "
            f"make one with numpy.asarray or filled()"
        )
    dtype = _DTYPES.get(array.dtype.name) if array.dtype.isnative else None
    if dtype is None:
        raise TypeError(
            f"from_numpy takes float32, int32 or bool in native byte order, got {array.dtype!r}; "
            f"convert with array.astype(numpy.{_closest(array.dtype)})"
        )
    layout = element_layout("from_numpy", array)
    mutable = bool(array.flags.writeable)
    return cpu_tensor(cpu_class("from_numpy"), array, layout, dtype, mutable=mutable)


def from_dlpack(producer: Any) -> Tensor:
    """Wrap memory that another library exports through DLPack, without copying.

    Args:
        producer: An object with ``__dlpack__`` and ``__dlpack_device__``, such as an array of
            NumPy or a tensor of PyTorch, in host memory. Its elements are float32, int32 or
            bool, no axis has length zero, and no stride is negative.

    Returns:
        A Tensor on a CPU carrier that keeps the memory until the carrier is released and the last
        view of it is gone: one mode per axis, ``Shape(1)`` for a zero-dimensional array, offset 0.
        It is immutable exactly if the producer says read-only.

    Raises:
        TypeError: If ``producer`` lacks one of the methods or exports no capsule.
        BufferError: If the memory is on another device or the element type is not supported.
        ValueError: If the shape, strides or alignment do not qualify.
        ImportError: If NumPy or the CPU distribution is not installed.

    Examples:
        >>> import numpy as np
        >>> import strideweave as sw
        >>> array = np.arange(6, dtype=np.float32).reshape(2, 3)
        >>> tensor = sw.from_dlpack(array)
        >>> tensor[1, 2] = 9.0
        >>> float(array[1, 2]), np.from_dlpack(tensor).shape
        (9.0, (2, 3))
    """
    return dlpack_import.tensor_of(producer)


def cpu_tensor(
    carrier_class: Any, array: Any, layout: Layout, dtype: DType, *, mutable: bool
) -> Tensor:
    """Give an array's memory, placed by ``layout``, to a CPU carrier."""
    numpy = require_numpy("cpu_tensor")
    flat = numpy.lib.stride_tricks.as_strided(array, (layout.cosize,), (array.itemsize,))
    carrier = carrier_class._adopt(flat, dtype, mutable=mutable, is_foreign=True)
    return tensor_over(carrier, 0, layout, dtype)


def cpu_class(subject: str) -> Any:  # its way to adopt an array is internal to its distribution
    """Find the CPU carrier class.

    Raises:
        ImportError: If its distribution is not installed.
    """
    module = "strideweave.carriers.cpu"
    try:
        return import_module(module).CPU
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ImportError(
            f"{subject} needs the CPU carrier of the distribution 'strideweave-compute', which is "
            "not installed: python -m pip install strideweave-compute"
        ) from None


def _closest(dtype: Any) -> str:
    return {"b": "bool_", "i": "int32", "u": "int32"}.get(dtype.kind, "float32")


def element_layout(subject: str, array: Any) -> Layout:
    """Give one mode per axis with the strides in elements.

    Args:
        subject: The function that views the array; its messages start with it.
        array: The array.

    Raises:
        ValueError: If no layout describes it.
    """
    itemsize = array.itemsize
    if not array.flags.aligned:
        _refuse_array(subject, array, "its data is not aligned")
    strides = []
    for extent, stride in zip(array.shape, array.strides, strict=True):
        if extent == 0:
            raise ValueError(
                f"{subject} cannot view an array of shape {array.shape}: an axis has length zero, "
                "and a Tensor has at least one element"
            )
        if stride < 0 or stride % itemsize != 0:
            if extent > 1:
                _refuse_array(subject, array, f"a byte stride is {stride}")
            stride = itemsize
        strides.append(stride // itemsize)
    if array.ndim == 0:
        return Layout.leaf(1, 1)
    return Layout(Shape(list(array.shape)), Stride(strides))


def _refuse_array(subject: str, array: Any, reason: str) -> NoReturn:
    raise ValueError(
        f"{subject} cannot view an array of shape {array.shape} and byte strides {array.strides}: "
        f"{reason}; copy it first, for example with numpy.ascontiguousarray"
    )


def numpy_view(tensor: Tensor) -> Any:
    """View a Tensor's values as an array, without copying (M-48)."""
    require_one_subtensor(tensor, "NumPy export")
    carrier = tensor._carrier
    if not _keeps_host_array(carrier):
        raise BufferError(
            f"numpy(): {type(carrier).__qualname__} keeps no NumPy buffer to view; "
            f"numpy.asarray(tensor) copies the values"
        )
    require_numpy("numpy()")
    _require_live(carrier, "numpy()")
    view = host.host_view(tensor)
    if view is None:
        raise BufferError(
            f"numpy(): the layout {tensor._layout} has more leaves than an array has axes; "
            f"reshape the Tensor first"
        )
    view = view.T  # one axis per leaf, depth first
    if not (tensor.is_mutable() and tensor._layout.is_injective):
        view.flags.writeable = False
    return view


def numpy_array(tensor: Tensor, dtype: Any, copy: bool | None) -> Any:
    """Give the values as an array, as NumPy's ``__array__`` protocol asks for them."""
    require_one_subtensor(tensor, "NumPy export")
    numpy = require_numpy("numpy.asarray")
    carrier = tensor._carrier
    if _keeps_host_array(carrier):
        view = numpy_view(tensor)
        if dtype is None or numpy.dtype(dtype) == view.dtype:
            return view.copy() if copy else view
        if copy is False:
            raise ValueError(
                f"a {view.dtype} Tensor cannot be shown as {numpy.dtype(dtype)} without a copy"
            )
        return view.astype(dtype)
    _require_live(carrier, "numpy.asarray")
    if copy is False:
        raise ValueError(
            f"{type(carrier).__qualname__} keeps no NumPy buffer, so its values cannot be shown "
            f"without a copy"
        )
    return _dense(tensor, numpy, dtype)


def _dense(tensor: Tensor, numpy: Any, dtype: Any) -> Any:
    values = host.read_array(tensor)
    if values is None:
        values = numpy.array(logical_values(tensor), host.SPAN_FORMATS.get(tensor._dtype))
        values = values.reshape(tensor._layout.leaf_extents[::-1])
    return numpy.array(values.T, dtype, order="C")


def _keeps_host_array(carrier: Carrier) -> bool:
    """Tell whether the class keeps its storage in a NumPy array, whatever state it is in."""
    # A dependent carrier only passes on the array of a tier that it may replace.
    owns = type(carrier)._host_array is not Carrier._host_array
    return owns and not isinstance(carrier, DependentCarrier)


def _require_live(carrier: Carrier, subject: str) -> None:
    if carrier.is_released():
        raise RuntimeError(f"{subject}: the {type(carrier).__qualname__} carrier is released")


def require_numpy(subject: str) -> Any:
    """Load NumPy.

    Raises:
        ImportError: If it is not installed.
    """
    numpy = host.numpy_module()
    if numpy is None:
        raise ImportError(f"{subject} needs NumPy: python -m pip install numpy")
    return numpy
