"""StorageProvider: the callbacks behind a definition-backed carrier's slots."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Generic, final

from typing_extensions import TypeVar

from strideweave._record import record
from strideweave.carriers.base import Carrier
from strideweave.carriers.extension.validation import require_callable
from strideweave.dtype import DType

C_contra = TypeVar("C_contra", bound=Carrier, default=Carrier, contravariant=True)


@record
@final
class StorageProvider(Generic[C_contra]):
    """The complete storage surface of one definition-backed carrier class.

    The framework calls each callback with the exact instance, after it validated liveness,
    mutability and range where they apply. A wrong return type is a ``TypeError``; an exception
    propagates unchanged with a note, and changes no version, ownership or graph.

    Attributes:
        supports_dtype: ``(carrier, dtype) -> bool``. Matches the dtype by identity, allocates and
            changes nothing, and answers the same in every state of the carrier, released too.
        physical_size: ``(carrier) -> int``. The slot count, at least 0.
        allocate: ``(carrier, slots) -> None``. Establishes storage of that extent; also called on
            a live instance of zero size that a move sizes, or with 0 to undo that.
        release: ``(carrier) -> None``. Gives the storage up; succeeds at most once per instance.
        read: ``(carrier, index) -> object``. The value of a slot, in a form the dtype accepts.
        write: ``(carrier, index, value) -> None``. Stores one value, normalized for the dtype.
        elementwise_fallback: Whether moves without a route may copy by spans, else value by value.
        read_span: ``(carrier, start, out) -> None`` or None. Fills ``out``, a writable
            one-dimensional memoryview of format ``f``, ``i`` or ``?``, with what ``read`` gives
            for its ``len(out)`` slots from ``start``. The buffer is valid during the call only.
        write_span: ``(carrier, start, values) -> None`` or None. Leaves what successive ``write``
            calls would; ``values`` is read-only and valid during the call only.

    Raises:
        TypeError: A callback is not callable, or ``elementwise_fallback`` not a bool.

    Examples:
        >>> from strideweave import Carrier, CarrierDefinition, DType, StorageProvider
        >>> from strideweave import register_carrier_definition
        >>> class Listed(Carrier):
        ...     cells: list
        >>> provider = StorageProvider[Listed](
        ...     supports_dtype=lambda carrier, dtype: dtype is DType.Int32,
        ...     physical_size=lambda carrier: len(carrier.cells),
        ...     allocate=lambda carrier, slots: setattr(carrier, "cells", [0] * slots),
        ...     release=lambda carrier: carrier.cells.clear(),
        ...     read=lambda carrier, index: carrier.cells[index],
        ...     write=lambda carrier, index, value: carrier.cells.__setitem__(index, value),
        ... )
        >>> register_carrier_definition(Listed, CarrierDefinition(provider))
        >>> carrier = Listed(3, dtype=DType.Int32)
        >>> carrier[1] = 7
        >>> [carrier[slot] for slot in range(3)], carrier.version
        ([0, 7, 0], 1)
    """

    supports_dtype: Callable[[C_contra, DType], bool]
    physical_size: Callable[[C_contra], int]
    allocate: Callable[[C_contra, int], None]
    release: Callable[[C_contra], None]
    read: Callable[[C_contra, int], object]
    write: Callable[[C_contra, int, Any], None]  # Any: authors narrow the type of the value
    elementwise_fallback: bool = False
    _: KW_ONLY
    read_span: "Callable[[C_contra, int, memoryview[Any]], None] | None" = None
    write_span: "Callable[[C_contra, int, memoryview[Any]], None] | None" = None

    def __post_init__(self) -> None:
        required = ("supports_dtype", "physical_size", "allocate", "release", "read", "write")
        for name in required:
            require_callable(getattr(self, name), f"StorageProvider: {name}")
        if type(self.elementwise_fallback) is not bool:
            raise TypeError(
                "StorageProvider: elementwise_fallback must be a bool, got "
                f"{self.elementwise_fallback!r}"
            )
        for name in ("read_span", "write_span"):
            if getattr(self, name) is not None:
                require_callable(getattr(self, name), f"StorageProvider: {name}")
