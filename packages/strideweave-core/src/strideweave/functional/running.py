"""How a public function reaches the pipeline."""

from collections.abc import Callable, Mapping

from strideweave.dtype import SimpleDType
from strideweave.operation.pipeline import invoke
from strideweave.operation.policy import operation_execution_options
from strideweave.operation.resolution import NO_OPTIONS
from strideweave.tensor.tensor import Tensor

# Every built-in declares exactly one result.
run: Callable[..., Tensor] = invoke


def accumulator_option(
    operation: str, accumulator_dtype: SimpleDType | None
) -> Mapping[str, object]:
    """Validate an accumulator request before anything else is looked at.

    Args:
        operation: ``"reduce_sum"`` or ``"matmul"``.
        accumulator_dtype: The request; None for the default.

    Returns:
        The options of the call.

    Raises:
        TypeError: The request is no simple dtype.
        NotImplementedError: It is another dtype than Float32 and Float64.
    """
    if accumulator_dtype is None:
        return NO_OPTIONS
    operation_execution_options(operation, accumulator_dtype=accumulator_dtype)
    return {"accumulator_dtype": accumulator_dtype}
