"""Checks of where a Tensor lies in its carrier."""

from operator import index

from strideweave.carriers.base import Carrier
from strideweave.dtype import CompoundDType, DType, SimpleDType
from strideweave.layout import Layout


def checked_offset(offset: object) -> int:
    """Turn an index-like offset into a plain ``int``.

    Raises:
        TypeError: If it has no ``__index__`` or is a ``bool``.
    """
    if isinstance(offset, bool):
        raise TypeError("Tensor offset must be an integer, got a bool")
    try:
        return index(offset)  # type: ignore[arg-type]  # the call is the test
    except TypeError:
        kind = type(offset).__qualname__
        raise TypeError(f"Tensor offset must be an integer, got {kind}") from None


def storage_schema(dtype: DType) -> tuple[SimpleDType, ...]:
    """List the storage dtypes that values of a logical dtype need.

    Returns:
        One dtype per subtensor, level 0 first.

    Raises:
        ValueError: If the dtype is an abstract category.
    """
    if isinstance(dtype, SimpleDType):
        return (dtype,)
    if isinstance(dtype, CompoundDType):
        return dtype.simple_types
    raise ValueError(
        f"{dtype.name} is an abstract dtype category with no Tensor storage schema; values have a "
        f"simple or a compound dtype"
    )


def check_one_carrier_stores(dtype: object) -> None:
    """Refuse a dtype whose values do not lie in one carrier.

    Raises:
        TypeError: If ``dtype`` is no DType.
        ValueError: If it is an abstract category or takes several carriers.
    """
    if not isinstance(dtype, DType):
        raise TypeError(f"carrier dtype must be a DType, got {type(dtype).__qualname__}")
    schema = storage_schema(dtype)
    if schema != (dtype,):
        planes = ", ".join(plane.name for plane in schema)
        raise ValueError(
            f"{dtype.name} is stored in planes ({planes}); a Tensor over one carrier needs a "
            f"carrier of a simple dtype"
        )


def check_bounds(carrier: Carrier, offset: int, layout: Layout) -> None:
    """Refuse a placement that reaches beyond its carrier.

    Raises:
        ValueError: If the carrier reports a negative size, or a size below
            ``offset + layout.cosize``.
    """
    size = carrier.size()
    if size < 0:
        raise ValueError(
            f"carrier size must be non-negative, {type(carrier).__qualname__} reports {size}"
        )
    needed = offset + layout.cosize
    if needed > size:
        state = "; it is released" if carrier.is_released() else ""
        raise ValueError(
            f"Tensor storage exceeds carrier size: offset {offset} and layout {layout} need "
            f"{needed} slots, {type(carrier).__qualname__} has {size}{state}"
        )
