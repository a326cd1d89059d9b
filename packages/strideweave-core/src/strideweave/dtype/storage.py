"""Helpers by which carriers accept storage dtypes."""

from strideweave.dtype.compound import CompoundDType
from strideweave.dtype.descriptor import DType


def accepts_storage_dtype(dtype: object, accepted: tuple[DType, ...]) -> bool:
    """Tell whether ``dtype`` is one of the accepted descriptors, by identity; never raises.

    Args:
        dtype: Any object.
        accepted: The descriptors that a carrier stores.

    Examples:
        >>> from strideweave.carriers.dtype import DType, accepts_storage_dtype
        >>> accepts_storage_dtype(DType.Int32, (DType.Float32, DType.Int32))
        True
        >>> accepts_storage_dtype("Int32", (DType.Int32,))
        False
    """
    return any(dtype is entry for entry in accepted)


def validate_storage_dtype(dtype: DType, *, carrier: str, accepted: tuple[DType, ...]) -> DType:
    """Return ``dtype`` unchanged when a carrier stores it, and explain otherwise.

    Args:
        dtype: The requested storage dtype.
        carrier: The name of the carrier class, for messages.
        accepted: The descriptors that the carrier stores, compared by identity.

    Returns:
        ``dtype`` itself.

    Raises:
        TypeError: ``dtype`` is not a ``DType``.
        ValueError: ``dtype`` is compound, or it is not among ``accepted``, which the message lists.

    Examples:
        >>> from strideweave.carriers.dtype import DType, validate_storage_dtype
        >>> validate_storage_dtype(DType.Int32, carrier="Demo", accepted=(DType.Int32,))
        SimpleDType('Int32')
    """
    if accepts_storage_dtype(dtype, accepted):
        return dtype
    if not isinstance(dtype, DType):
        raise TypeError(
            f"{carrier} dtype must be a DType, got {dtype!r} of type {type(dtype).__qualname__}"
        )
    names = ", ".join(f"DType.{entry.name}" for entry in accepted)
    if isinstance(dtype, CompoundDType):
        raise ValueError(
            f"{carrier} cannot store {dtype!r}: one carrier holds one plane and this dtype has "
            f"{dtype.num_carriers} planes; use one carrier per plane, each of its simple dtype "
            f"({carrier} accepts {names})"
        )
    raise ValueError(f"{carrier} cannot store {dtype!r}; it accepts {names}")


def storage_zero(dtype: object) -> object:
    """Return the zero of a storage dtype with kernels; a result grants no carrier support.

    Args:
        dtype: Any object.

    Returns:
        ``0.0`` for ``Float32``, ``0`` for ``Int32``, ``False`` for ``Bool``, else ``None``.

    Examples:
        >>> from strideweave.carriers.dtype import DType, storage_zero
        >>> storage_zero(DType.Float32), storage_zero(DType.Floating)
        (0.0, None)
    """
    if dtype is DType.Float32:
        return 0.0
    if dtype is DType.Int32:
        return 0
    if dtype is DType.Bool:
        return False
    return None
