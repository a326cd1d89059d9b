"""Instances of carrier classes that the command knows by name only."""

from collections.abc import Callable

from strideweave.carriers.base import Carrier
from strideweave.carriers.chosen import constructed
from strideweave.cli.command import CommandError
from strideweave.cli.loading import one_line
from strideweave.dtype import DType
from strideweave.dtype.storage import storage_zero
from strideweave.layout.layout import Layout
from strideweave.tensor.tensor import Tensor


def new_instance(carrier_class: type[Carrier], slots: int, dtype: DType) -> Carrier:
    """Make mutable storage of zeros.

    Args:
        carrier_class: A class whose constructor takes ``(slots, *, dtype, mutable)``, or values in
            place of the count, as that of Generic does, or no count, as that of FileBacked does.
        slots: The slot count.
        dtype: The storage dtype.

    Raises:
        Exception: What the constructor raises for the count.
    """
    construct: Callable[..., Carrier] = carrier_class
    others: tuple[Callable[[], Carrier], ...] = (
        lambda: construct([storage_zero(dtype)] * slots, dtype=dtype, mutable=True),
        lambda: construct(dtype=dtype, mutable=True).allocate_like(slots, dtype=dtype),
    )
    try:
        return constructed(carrier_class, slots, dtype)
    except TypeError:
        for other in others:
            try:
                return other()
            except TypeError:
                continue
        raise


def new_tensor(carrier_class: type[Carrier], dtype: DType, layout: Layout) -> Tensor:
    """Make a Tensor of zeros on fresh storage.

    Raises:
        CommandError: The class cannot be constructed from here, or does not store the dtype.
    """
    try:
        return Tensor(new_instance(carrier_class, layout.cosize, dtype), 0, layout)
    except (Exception, SystemExit) as error:  # whatever somebody's constructor raises
        raise CommandError(
            f"cannot build a Tensor of {dtype.name} with {layout.cosize} slots on "
            f"{carrier_class.__qualname__}: {one_line(error)}"
        ) from error
