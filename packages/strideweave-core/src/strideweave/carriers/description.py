"""What ``repr`` shows of a carrier."""

from typing import TYPE_CHECKING

from strideweave.carriers.class_record import UNINITIALIZED

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier


def described(carrier: "Carrier") -> str:
    """Show class, extent and dtype; it reads no slot and raises nothing, in any state."""
    name = type(carrier).__qualname__
    if carrier._class_record is UNINITIALIZED:
        return f"<{name}, not constructed>"
    try:
        if carrier.is_released():
            return f"<{name}, released>"
        immutable = "" if carrier.is_mutable() else ", immutable"
        return f"<{name} of {carrier.size()} {carrier.dtype().name} slots{immutable}>"
    except Exception:  # a missing or broken callback is best seen where it is called
        return f"<{name}>"
