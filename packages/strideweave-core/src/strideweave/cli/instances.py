"""Instances of carrier classes that the command knows by name only."""

from collections.abc import Callable

from strideweave.carriers.base import Carrier
from strideweave.carriers.chosen import constructed
from strideweave.dtype import DType
from strideweave.dtype.storage import storage_zero


def new_instance(carrier_class: type[Carrier], slots: int, dtype: DType) -> Carrier:
    """Make mutable storage of zeros.

    Args:
        carrier_class: A class whose constructor takes ``(slots, *, dtype, mutable)``, or values in
            place of the count, as that of Generic does.
        slots: The slot count.
        dtype: The storage dtype.

    Raises:
        Exception: What the constructor raises for the count.
    """
    try:
        return constructed(carrier_class, slots, dtype)
    except TypeError:
        construct: Callable[..., Carrier] = carrier_class
        try:
            return construct([storage_zero(dtype)] * slots, dtype=dtype, mutable=True)
        except TypeError:
            pass
        raise
