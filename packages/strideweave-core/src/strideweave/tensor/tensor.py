"""The Tensor: one carrier, a physical offset and a placement layout."""

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, overload

from strideweave._late import LateModule
from strideweave.carriers.base import Carrier
from strideweave.dtype import DType, SimpleDType
from strideweave.layout import Layout, Shape
from strideweave.tensor import access
from strideweave.tensor.access import Value
from strideweave.tensor.boundary import refuse_several, require_one_subtensor
from strideweave.tensor.placement import check_bounds, check_one_carrier_stores, checked_offset
from strideweave.tensor.representation import DeeperLevels, Subtensor, TensorRepresentation

if TYPE_CHECKING:
    from types import EllipsisType

    import strideweave.autograd.backward as autograd
    import strideweave.functional as functional
    import strideweave.tensor.bulk as bulk
    import strideweave.tensor.constants as constants
    import strideweave.tensor.dlpack_export as dlpack_export
    import strideweave.tensor.interchange as interchange
    from strideweave.operation.operation import Operation
else:
    # All of these import Tensor, and Tensor needs them only when its methods run.
    autograd = LateModule("strideweave.autograd.backward")
    functional = LateModule("strideweave.functional")
    bulk = LateModule("strideweave.tensor.bulk")
    constants = LateModule("strideweave.tensor.constants")
    dlpack_export = LateModule("strideweave.tensor.dlpack_export")
    interchange = LateModule("strideweave.tensor.interchange")

Number: TypeAlias = Real | float
VersionToken: TypeAlias = tuple[tuple[Carrier, int], ...]

_FLOAT32 = DType.Float32
_new = object.__new__


class Tensor:
    """Values in a carrier's slots, addressed through a hierarchical layout.

    Coordinate ``c`` lives in slot ``offset + layout.index(c)``. Building a Tensor reads, copies
    and changes nothing; carrier and layout are kept by identity. Tensors compare and hash by
    identity.

    Args:
        carrier: The owner of the storage. Its dtype becomes the Tensor's dtype.
        offset: The slot of the layout's index zero, at least 0.
        layout: Maps coordinates to slots relative to ``offset``; ``offset + layout.cosize``
            must not exceed ``carrier.size()``.

    Raises:
        TypeError: If ``offset`` is no integer (``bool`` included), ``carrier`` no Carrier or
            ``layout`` no Layout.
        ValueError: If the dtype is an abstract category or takes several carriers, ``offset``
            is negative, or the layout reaches beyond the carrier.

    Examples:
        >>> from strideweave import DType, Layout, Shape, Stride, Tensor
        >>> from strideweave.testing import ArrayCarrier
        >>> carrier = ArrayCarrier(6, dtype=DType.Float32)
        >>> tensor = Tensor(carrier, 0, Layout(Shape(2, 3), Stride(1, 2)))
        >>> tensor[1, 2] = 5.0
        >>> tensor[5], carrier[5], tensor.size(), str(tensor.layout)
        (5.0, 5.0, 6, '(2,3):(1,2)')
    """

    __slots__ = (
        "__weakref__",
        "_autograd_ctx",
        "_carrier",
        "_deeper",
        "_dtype",
        "_grad",
        "_layout",
        "_offset",
        "_retains_grad",
    )

    _carrier: Carrier
    _offset: int
    _layout: Layout
    _dtype: DType
    # Everything beyond subtensor zero; None exactly for one subtensor.
    _deeper: DeeperLevels | None
    _autograd_ctx: "Operation | None"
    _grad: "Tensor | None"
    _retains_grad: bool | None  # None marks a constant, which takes no gradient at all

    def __init__(self, carrier: Carrier, offset: int, layout: Layout) -> None:
        # Providers build their results here, so checks that pass take no frame of their own.
        start = offset if type(offset) is int else checked_offset(offset)
        if not isinstance(carrier, Carrier):
            raise TypeError(f"carrier must be a Carrier, got {_kind(carrier)}")
        dtype = carrier.dtype()
        if type(dtype) is not SimpleDType:
            check_one_carrier_stores(dtype)
        if start < 0:
            raise ValueError(f"Tensor offset must be non-negative, got {start}")
        if not isinstance(layout, Layout):
            raise TypeError(
                f"{dtype.name} subtensor 0 placement must be a Layout, got {_kind(layout)}"
            )
        if start + layout.cosize > carrier.size():
            check_bounds(carrier, start, layout)  # raises
        self._carrier = carrier
        self._offset = start
        self._layout = layout
        self._dtype = dtype
        self._deeper = None
        self._autograd_ctx = None
        self._grad = None
        self._retains_grad = False

    @property
    def carrier(self) -> Carrier:
        """The carrier that owns the storage."""
        return self._carrier

    @property
    def offset(self) -> int:
        """The slot of the layout's index zero."""
        return self._offset

    @property
    def layout(self) -> Layout:
        """The placement layout."""
        return self._layout

    @property
    def shape(self) -> Shape:
        """The hierarchical shape of the placement layout."""
        return self._layout.shape

    @property
    def version(self) -> int:
        """The carrier's version, which every Tensor over that carrier shares."""
        return self._carrier.version

    def size(self) -> int:
        """Count the logical coordinates.

        Returns:
            The product of all extents; 1 for rank zero. Broadcast modes count in full.
        """
        return self._layout.size

    def dtype(self) -> DType:
        """Tell the dtype of the values.

        Returns:
            The logical dtype; compare it with ``is``.
        """
        return self._dtype

    def carrier_type(self) -> type[Carrier]:
        """Tell the exact class of the carrier.

        Returns:
            The class that decides which kernels run.
        """
        return type(self._carrier)

    def is_mutable(self) -> bool:
        """Tell whether values may be written through this Tensor.

        Returns:
            What ``carrier.is_mutable()`` answers; always ``False`` for several subtensors.
        """
        return self._deeper is None and self._carrier.is_mutable()

    def is_differentiable(self) -> bool:
        """Tell whether gradients exist for this dtype.

        Returns:
            ``True`` exactly for ``DType.Float32``.
        """
        return self._dtype is _FLOAT32

    def item(self) -> Value:
        """Read the only value.

        Returns:
            The value as a plain Python number.

        Raises:
            NotImplementedError: If the Tensor has several subtensors.
            ValueError: If the Tensor holds more than one value.
            RuntimeError: If the carrier is released.
        """
        require_one_subtensor(self, "indexing")
        return access.item(self)

    def tolist(self) -> Any:  # nested lists as deep as the rank
        """Read all values.

        Returns:
            One list per top-level mode, a nested mode by its ordinals, so that
            ``tensor.tolist()[i][j] == tensor[i, j]``. Rank zero gives the bare value.

        Raises:
            NotImplementedError: If the Tensor has several subtensors.
            RuntimeError: If the carrier is released.
        """
        require_one_subtensor(self, "indexing")
        return access.tolist(self)

    def detach(self) -> "Tensor":
        """Cut the graph.

        Returns:
            A new leaf over the same carrier, offset and layout.

        Raises:
            NotImplementedError: If the Tensor has several subtensors.
        """
        require_one_subtensor(self, "indexing")
        return tensor_over(self._carrier, self._offset, self._layout, self._dtype)

    @property
    def autograd_ctx(self) -> "Operation | None":
        """The operation that produced this Tensor, or ``None`` for a leaf."""
        return self._autograd_ctx

    @autograd_ctx.setter
    def autograd_ctx(self, operation: "Operation | None") -> None:
        if operation is not None:
            self._require_differentiable("autograd_ctx")
        self._autograd_ctx = operation

    @property
    def grad(self) -> "Tensor | None":
        """The accumulated gradient, or ``None``.

        Raises:
            RuntimeError: If the dtype is not differentiable.
        """
        self._require_differentiable("grad")
        return self._grad

    @grad.setter
    def grad(self, gradient: "Tensor | None") -> None:
        if gradient is not None:
            self._require_differentiable("grad")
        self._grad = gradient

    def retain_grad(self, retain: bool = True) -> None:
        """Keep this Tensor's own gradient in later traversals, also when it is no leaf.

        Args:
            retain: ``False`` switches it off again.

        Raises:
            RuntimeError: If the dtype is not differentiable.
        """
        self._require_differentiable("retain_grad")
        self._retains_grad = bool(retain)

    def backward(self, gradient: "Tensor | None" = None, retain_graph: bool = False) -> None:
        """Accumulate the gradients of the leaves below this Tensor.

        Args:
            gradient: The cotangent, in this Tensor's layout. ``None`` stands for 1 and is only
                accepted for a single top-level leaf of extent 1.
            retain_graph: Keep the graph for another traversal.

        Raises:
            NotImplementedError: If the Tensor has several subtensors.
            RuntimeError: If the dtype is not differentiable, the graph was released, or a saved
                value was modified in place.
            TypeError: If ``gradient`` is no Tensor.
            ValueError: If ``gradient`` is missing or its layout does not fit.
        """
        autograd.run_backward(self, gradient, retain_graph)

    @staticmethod
    def backwards_traversal(
        gradient: "Tensor", operation: "Operation | None", retain_graph: bool = False
    ) -> None:
        """Run the graph rooted at an operation.

        Args:
            gradient: The cotangent, handed to that operation as it is.
            operation: The root node; ``None`` does nothing.
            retain_graph: Keep the graph for another traversal.

        Raises:
            AttributeError: If ``operation`` is no node.
            RuntimeError: If the graph was released or a saved value was modified in place.
        """
        autograd.backwards_traversal(gradient, operation, retain_graph)

    def numpy(self) -> Any:  # a numpy.ndarray; core does not depend on numpy
        """View the values as a NumPy array without copying.

        Returns:
            An array with one axis per layout leaf, depth first, over the carrier's own memory.
            It is read-only if the Tensor is not mutable or its layout is not injective.

        Raises:
            NotImplementedError: If the Tensor has several subtensors.
            BufferError: If the carrier class keeps no NumPy buffer; ``numpy.asarray`` copies.
            RuntimeError: If the carrier is released.
            ImportError: If NumPy is not installed.
        """
        return interchange.numpy_view(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return interchange.numpy_array(self, dtype, copy)

    def __dlpack__(
        self,
        stream: object = None,
        *,
        max_version: Sequence[int] | None = None,
        dl_device: Sequence[int] | None = None,
        copy: bool | None = None,
    ) -> Any:  # a PyCapsule
        # Host memory is always ready, so there is no stream to wait for.
        return dlpack_export.capsule(self, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack_export.device(self)

    __array_ufunc__ = None  # NumPy operators leave the decision to the Tensor's own

    @overload
    def __getitem__(self, key: int) -> Value: ...
    @overload
    def __getitem__(self, key: slice) -> "Tensor": ...
    @overload
    def __getitem__(self, key: object) -> Any: ...  # a Tensor where a slice stands in the key
    def __getitem__(self, key: object) -> Any:
        if self._deeper is not None and not access.contains_slice(key):
            refuse_several("indexing")
        if access.is_coordinate(key):
            return self._carrier[self._offset + self._layout.index(key)]
        if access.contains_slice(key):
            return self._carrier.dispatch_op("view").forward(self, key)
        raise TypeError(access.key_message(key))

    def __setitem__(self, key: "Key | EllipsisType", value: Any) -> None:
        if self._deeper is not None:
            refuse_several("mutation")
        if key is ...:
            bulk.write(self, value)
            return
        if not access.is_coordinate(key):
            raise TypeError(access.key_message(key))
        self._carrier[self._offset + self._layout.index(key)] = value

    def __add__(self, other: "Tensor | Number") -> "Tensor":
        return functional.add(self, constants.operand(other, self))

    def __radd__(self, other: Number) -> "Tensor":
        return functional.add(constants.operand(other, self), self)

    def __sub__(self, other: "Tensor | Number") -> "Tensor":
        return functional.sub(self, constants.operand(other, self))

    def __rsub__(self, other: Number) -> "Tensor":
        return functional.sub(constants.operand(other, self), self)

    def __truediv__(self, other: "Tensor | Number") -> "Tensor":
        return functional.div(self, constants.operand(other, self))

    def __rtruediv__(self, other: Number) -> "Tensor":
        return functional.div(constants.operand(other, self), self)

    def __lt__(self, other: "Tensor | Number") -> "Tensor":
        return functional.lt(self, constants.operand(other, self))

    def __le__(self, other: "Tensor | Number") -> "Tensor":
        return functional.le(self, constants.operand(other, self))

    def __gt__(self, other: "Tensor | Number") -> "Tensor":
        return functional.gt(self, constants.operand(other, self))

    def __ge__(self, other: "Tensor | Number") -> "Tensor":
        return functional.ge(self, constants.operand(other, self))

    def __matmul__(self, other: "Tensor") -> "Tensor":
        if not isinstance(other, Tensor):
            raise TypeError(f"rhs must be a Tensor, got {_kind(other)}")
        return functional.matmul(self, other)

    def __neg__(self) -> "Tensor":
        return functional.neg(self)

    def __mul__(self, other: "Tensor | Number") -> "Tensor":
        return functional.mul(self, other)

    def __rmul__(self, other: Number) -> "Tensor":
        return functional.mul(other, self)

    def __pow__(self, exponent: "Tensor | Number") -> "Tensor":
        return functional.pow(self, exponent)

    def __rpow__(self, base: Number) -> "Tensor":
        return functional.pow(base, self)

    __iter__ = None  # otherwise __getitem__ would make every Tensor iterable by ordinals

    def __len__(self) -> NoReturn:
        raise TypeError(
            "a Tensor has no len(): use size() for the number of values, len(tensor.shape) for the "
            "number of modes"
        )

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a Tensor has no truth value: use item() for the value of a one-element Tensor"
        )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "a Tensor can be neither copied nor pickled, because it only refers to its carrier: "
            "build a carrier from values with tensor.carrier.new_like(...), or save tolist() or "
            "numpy.asarray(tensor)"
        )

    def __repr__(self) -> str:
        carrier = type(self._carrier).__qualname__
        deeper = "" if self._deeper is None else f" and {len(self._deeper.subtensors)} deeper"
        return (
            f"<{type(self).__qualname__} {self._dtype.name} {self._layout} "
            f"at slot {self._offset} of {carrier}{deeper}>"
        )

    @staticmethod
    def _from_representation(representation: TensorRepresentation) -> "Tensor":
        """Wrap a validated representation; the one way to a Tensor of several subtensors."""
        if not isinstance(representation, TensorRepresentation):
            raise TypeError(
                f"Tensor._from_representation requires a TensorRepresentation, got "
                f"{_kind(representation)}"
            )
        leading, *deeper = representation.subtensors
        dtype = representation.logical_dtype
        tensor = tensor_over(leading.carrier, leading.offset, leading.layout, dtype)
        if deeper:
            tensor._deeper = DeeperLevels(tuple(deeper), representation.adjacent_layouts)
        return tensor

    def _representation(self) -> TensorRepresentation:
        """Describe the storage completely, which validates it anew."""
        leading = Subtensor(self._carrier.dtype(), self._carrier, self._offset, self._layout)
        deeper = self._deeper
        if deeper is None:
            return TensorRepresentation(self._dtype, (leading,))
        subtensors = (leading, *deeper.subtensors)
        return TensorRepresentation(self._dtype, subtensors, deeper.adjacent_layouts)

    def _version_token(self) -> VersionToken:
        """Pair each distinct carrier with its current version; reads no value."""
        leading = self._carrier
        if self._deeper is None:
            return ((leading, leading.version),)
        carriers = [leading, *(subtensor.carrier for subtensor in self._deeper.subtensors)]
        distinct = {id(carrier): carrier for carrier in carriers}  # in order of occurrence
        return tuple((carrier, carrier.version) for carrier in distinct.values())

    def _takes_gradient(self) -> bool:
        """Tell whether a traversal may hand a gradient to this Tensor."""
        return self._dtype is _FLOAT32 and self._retains_grad is not None

    def _require_differentiable(self, member: str) -> None:
        if self._dtype is not _FLOAT32:
            raise RuntimeError(
                f"{member} is not available on a {self._dtype.name} Tensor; only Float32 Tensors "
                f"are differentiable"
            )


Key: TypeAlias = "int | tuple[Key, ...] | list[Key]"


def tensor_over(
    carrier: Carrier, offset: int, layout: Layout, dtype: DType | None = None
) -> Tensor:
    """Build a plain Tensor without any check.

    Args:
        carrier: The owner of the storage.
        offset: The slot of the layout's index zero.
        layout: The placement, known to fit into the carrier.
        dtype: The carrier's dtype, when the caller knows it already.

    Returns:
        A leaf.
    """
    tensor = _new(Tensor)
    tensor._carrier = carrier
    tensor._offset = offset
    tensor._layout = layout
    tensor._dtype = carrier.dtype() if dtype is None else dtype
    tensor._deeper = None
    tensor._autograd_ctx = None
    tensor._grad = None
    tensor._retains_grad = False
    return tensor


def _kind(value: object) -> str:
    return type(value).__qualname__
