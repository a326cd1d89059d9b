"""``pow`` with Tensors and Python numbers on either side."""

from typing import Any

from strideweave.dtype import DType
from strideweave.operation.definition import define_builtin
from strideweave.operation.evaluation import evaluate
from strideweave.operation.invocation import VJPContext
from strideweave.ops import binary32
from strideweave.ops.alignment import PointwiseAlignment
from strideweave.ops.gradients import mul, sub, vjp_of
from strideweave.ops.metadata import constant_like
from strideweave.ops.reference import convert_weak_scalar, pointwise_reference
from strideweave.ops.results import pointwise_resolve, tensors_saved
from strideweave.ops.schemas import scalar, schema, tensor
from strideweave.tensor.tensor import Tensor


def exact_power(base: int, exponent: int) -> int:
    """Raise an Int32 base to a non-negative exponent.

    Args:
        base: An Int32 value.
        exponent: From 0 to 2**31 - 1.

    Returns:
        The exact power; ``0 ** 0`` is 1.

    Raises:
        OverflowError: The power is not an Int32.
    """
    if base in (0, 1):
        return base if exponent else 1
    if base == -1:
        return -1 if exponent % 2 else 1
    if exponent > 31:  # the magnitude is at least 2**32; do not build it
        raise OverflowError(f"pow: {base} ** {exponent} is out of int32 range")
    power: int = base**exponent
    return power


def _integer_powers(bases: list[int], exponents: list[int]) -> list[int]:
    return list(map(exact_power, bases, exponents))


def _as_float(operand: Tensor) -> Tensor:
    return operand if operand.dtype() is DType.Float32 else evaluate("_cast_float32", operand)


def _base(context: VJPContext, cotangent: Tensor) -> Tensor:
    base, exponent = context.saved_operands
    lowered = sub(exponent, constant_like(cotangent, 1.0))
    return mul(mul(cotangent, exponent), evaluate("pow", base, lowered))


def _base_with_number(context: VJPContext, cotangent: Tensor) -> Tensor:
    (base,) = context.saved_operands
    given: Any = context.invocation.operands[1]
    exponent = convert_weak_scalar(given, DType.Float32)
    lowered = binary32.rounded_scalar(exponent - 1.0)
    return mul(mul(cotangent, exponent), evaluate("pow", base, lowered))


def _exponent(context: VJPContext, cotangent: Tensor) -> Tensor:
    given: Any = context.invocation.operands[0]
    exponent = context.saved_operands[-1]
    if isinstance(given, Tensor):
        base = context.saved_operands[0]
        output = evaluate("pow", base, exponent)
        return mul(mul(cotangent, output), evaluate("log", _as_float(base)))
    number = convert_weak_scalar(given, DType.Float32)
    output = evaluate("pow", number, exponent)
    return mul(mul(cotangent, output), binary32.log([number])[0])


POW = define_builtin(
    "pow",
    (
        schema(tensor("base"), tensor("exponent")),
        schema(tensor("tensor"), scalar("exponent")),
        schema(scalar("base"), tensor("exponent")),
    ),
    pointwise_resolve(tensors_saved, exact=False),
    reference=pointwise_reference(binary32.power, _integer_powers),
    vjp=vjp_of(base=_base, tensor=_base_with_number, exponent=_exponent),
    alignment=PointwiseAlignment(("base", "exponent")),
)
