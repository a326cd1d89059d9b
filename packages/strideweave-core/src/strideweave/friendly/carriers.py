"""Which carrier a factory allocates."""

from collections.abc import Iterable
from typing import TypeAlias, cast

from strideweave._optional import load_optional
from strideweave.carriers.base import Carrier
from strideweave.carriers.chosen import constructed, is_carrier_class
from strideweave.dtype import DType

CarrierChoice: TypeAlias = type[Carrier] | Carrier | None

_DEFAULT = {"CPU": ("strideweave.carriers.cpu", "strideweave-compute")}


def prototype(choice: CarrierChoice, dtype: DType) -> Carrier:
    """Give a carrier whose factories make storage of the chosen class.

    Args:
        choice: A Carrier class whose constructor takes ``(slots, *, dtype, mutable)``, an instance
            of any class, or None for CPU.
        dtype: What the storage will hold.

    Raises:
        TypeError: It is something else.
        ImportError: It is None and strideweave-compute is not installed.
    """
    if choice is None:
        choice = _default()
    if isinstance(choice, Carrier):
        return choice
    if is_carrier_class(choice):
        return constructed(choice, 0, dtype)
    raise TypeError(
        "carrier must be a Carrier class, a Carrier instance to allocate like, or None for CPU, "
        f"got {choice!r}"
    )


def _default() -> type[Carrier]:
    try:
        return cast(type[Carrier], load_optional("strideweave", "CPU", _DEFAULT))
    except ModuleNotFoundError as error:
        text = f"{error}; CPU is the default carrier, carrier= chooses another"
        raise ModuleNotFoundError(text, name=error.name) from None


def new_like(source: Carrier, values: Iterable[object], dtype: DType) -> Carrier:
    """Build fresh storage from values; a class that keeps its dtype need not know ``dtype=``."""
    if dtype is source.dtype():
        return source.new_like(values)
    return source.new_like(values, dtype=dtype)
