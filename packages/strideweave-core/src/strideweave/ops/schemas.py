"""Short forms for the schemas and role checks of built-ins."""

from collections.abc import Callable
from typing import Any

from strideweave.dtype import DType
from strideweave.operation.schema import OperandKind, OperandSpec, OperationSchema, OptionSpec
from strideweave.tensor.tensor import Tensor


def tensor(name: str, *, differentiable: bool = True) -> OperandSpec:
    """Declare a Tensor operand."""
    return OperandSpec(name, OperandKind.TENSOR, differentiable)


def scalar(name: str) -> OperandSpec:
    """Declare a weak-scalar operand."""
    return OperandSpec(name, OperandKind.WEAK_SCALAR)


def structural(name: str) -> OperandSpec:
    """Declare a structural operand."""
    return OperandSpec(name, OperandKind.STRUCTURAL)


def schema(*operands: OperandSpec) -> OperationSchema:
    """Declare a form without options."""
    return OperationSchema(operands)


def with_accumulator(*operands: OperandSpec) -> OperationSchema:
    """Declare a form with the option ``accumulator_dtype=None``."""
    return OperationSchema(operands, (OptionSpec("accumulator_dtype", None),))


def role_dtypes(operation: str, **accepted: tuple[DType, ...]) -> Callable[[tuple[Any, ...]], None]:
    """Make the role check of an operation that names the dtypes of its Tensor operands.

    Args:
        operation: Operation name for messages.
        **accepted: Storage dtypes by operand name, in operand order.

    Returns:
        A function of the bound operands that raises TypeError for the first Tensor of another
        dtype. Python numbers pass.
    """
    roles = tuple(accepted.items())

    def check(operands: tuple[Any, ...]) -> None:
        for (name, dtypes), operand in zip(roles, operands, strict=False):
            if isinstance(operand, Tensor) and not any(operand.dtype() is d for d in dtypes):
                wanted = " or ".join(f"DType.{dtype.name}" for dtype in dtypes)
                raise TypeError(
                    f"{operation}: {name} must have dtype {wanted}, got "
                    f"DType.{operand.dtype().name}; convert it with cast"
                )

    return check
