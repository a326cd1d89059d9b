"""Execution options: the accumulator dtype that a caller may choose."""

from typing import final

from strideweave._record import record
from strideweave.dtype import DType, SimpleDType
from strideweave.operation.policy.records import (
    ACCUMULATOR_CONFIGURABLE_OPERATIONS,
    SUPPORTED_ACCUMULATOR_DTYPES,
)


def validate_accumulator(operation: object, accumulator_dtype: object) -> SimpleDType:
    """Return an explicit accumulator dtype that the operation supports.

    Args:
        operation: The name of the operation.
        accumulator_dtype: The requested accumulator.

    Returns:
        ``accumulator_dtype`` itself.

    Raises:
        TypeError: The operation takes no accumulator, or the dtype is not a ``SimpleDType``.
        NotImplementedError: The dtype is not in ``SUPPORTED_ACCUMULATOR_DTYPES``.
    """
    if not isinstance(operation, str) or operation not in ACCUMULATOR_CONFIGURABLE_OPERATIONS:
        names = ", ".join(sorted(ACCUMULATOR_CONFIGURABLE_OPERATIONS))
        raise TypeError(
            f"operation {operation!r} takes no accumulator_dtype; only {names} let a caller "
            "choose it"
        )
    if not isinstance(accumulator_dtype, DType):
        raise TypeError(
            f"{operation} accumulator_dtype must be a DType, got {accumulator_dtype!r} of type "
            f"{type(accumulator_dtype).__qualname__}"
        )
    supported = " and ".join(f"DType.{dtype.name}" for dtype in SUPPORTED_ACCUMULATOR_DTYPES)
    if not isinstance(accumulator_dtype, SimpleDType):
        raise TypeError(
            f"{operation} accumulator_dtype must be a SimpleDType, got {accumulator_dtype!r}; "
            f"{supported} are supported"
        )
    if not any(accumulator_dtype is dtype for dtype in SUPPORTED_ACCUMULATOR_DTYPES):
        raise NotImplementedError(
            f"{operation} cannot accumulate in {accumulator_dtype!r}; {supported} are supported"
        )
    return accumulator_dtype


@final
@record
class OperationExecutionOptions:
    """Options of one call of one operation.

    Args:
        operation: The name of the operation that the options are for.
        accumulator_dtype: The dtype of a ``FLOATING`` accumulation; ``None`` selects the default.

    Raises:
        TypeError: The operation takes no accumulator, or the dtype is not a ``SimpleDType``.
        NotImplementedError: The dtype is not in ``SUPPORTED_ACCUMULATOR_DTYPES``.

    Examples:
        >>> from strideweave.carriers.dtype import DType
        >>> OperationExecutionOptions("matmul", DType.Float64).accumulator_dtype
        SimpleDType('Float64')
    """

    operation: str
    """The name of the operation that the options are for."""
    accumulator_dtype: SimpleDType | None = None
    """The dtype of a ``FLOATING`` accumulation; ``None`` selects the default."""

    def __post_init__(self) -> None:
        if self.accumulator_dtype is not None:
            validate_accumulator(self.operation, self.accumulator_dtype)


def operation_execution_options(
    operation: str, *, accumulator_dtype: SimpleDType | None = None
) -> OperationExecutionOptions:
    """Return validated execution options; the arguments and errors are those of the record.

    Examples:
        >>> operation_execution_options("reduce_sum")
        OperationExecutionOptions(operation='reduce_sum', accumulator_dtype=None)
    """
    return OperationExecutionOptions(operation, accumulator_dtype)
