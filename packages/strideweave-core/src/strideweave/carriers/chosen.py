"""Storage of a carrier class that the user chose, by the class or by an instance."""

from typing import TypeGuard

from strideweave.carriers.base import Carrier
from strideweave.dtype import DType


def is_carrier_class(choice: object) -> TypeGuard[type[Carrier]]:
    """Tell whether a choice is a Carrier class."""
    return isinstance(choice, type) and issubclass(choice, Carrier)


def allocated(choice: type[Carrier] | Carrier, slots: int, dtype: DType) -> Carrier:
    """Allocate fresh mutable storage.

    Args:
        choice: A class whose constructor takes ``(slots, *, dtype, mutable)``, or a prototype.
        slots: The slot count.
        dtype: The storage dtype.

    Raises:
        Exception: What the constructor or ``allocate_like`` raises.
    """
    if not isinstance(choice, Carrier):
        return constructed(choice, slots, dtype)
    if dtype is choice.dtype():  # a class that keeps its dtype need not know ``dtype=``
        return choice.allocate_like(slots)
    return choice.allocate_like(slots, dtype=dtype)


def constructed(carrier_class: type[Carrier], slots: int, dtype: DType) -> Carrier:
    """Call a constructor that should take ``(slots, *, dtype, mutable)``."""
    try:
        return carrier_class(slots, dtype=dtype, mutable=True)
    except TypeError as error:
        error.add_note(
            f"the class was called as {carrier_class.__qualname__}({slots}, dtype={dtype!r}, "
            "mutable=True); where its constructor takes something else, pass an instance to "
            "allocate like, such as Generic([])"
        )
        raise
