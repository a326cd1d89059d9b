"""Binary arithmetic on aligned Tensors, and ``mul`` with a Python number."""

import operator
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from strideweave.dtype import DType
from strideweave.operation.definition import OperationDefinition, define_builtin
from strideweave.operation.evaluation import evaluate
from strideweave.operation.invocation import BoundOperationCall, VJPContext
from strideweave.ops import binary32
from strideweave.ops.alignment import BINARY
from strideweave.ops.binary32 import Values
from strideweave.ops.gradients import (
    Rule,
    binary_rule,
    div,
    mul,
    neg,
    negated,
    pass_through,
    vjp_of,
)
from strideweave.ops.metadata import constant_like
from strideweave.ops.reference import convert_weak_scalar, pointwise_reference
from strideweave.ops.results import Saved, nothing_saved, pointwise_resolve, tensors_saved
from strideweave.ops.routing import choose, is_less
from strideweave.ops.schemas import scalar, schema, tensor
from strideweave.tensor.tensor import Tensor

PAIR = schema(tensor("lhs"), tensor("rhs"))
SCALED = schema(tensor("tensor"), scalar("scalar"))


def define_binary(
    name: str,
    compute: Callable[[Values, Values], Values],
    lhs: Rule,
    rhs: Rule,
    *,
    saved: Saved = tensors_saved,
    integer: Callable[[list[int], list[int]], Iterable[Any]] | None = None,
) -> OperationDefinition:
    """Define one exact operation of two aligned Tensors.

    Args:
        name: Catalogue name.
        compute: Binary32 reference on two lists.
        lhs: Gradient of the left operand.
        rhs: Gradient of the right operand.
        saved: What the gradients read.
        integer: Reference of Int32 plans.
    """
    return define_builtin(
        name,
        (PAIR,),
        pointwise_resolve(saved, exact=True),
        reference=pointwise_reference(compute, integer),
        vjp=vjp_of(lhs=lhs, rhs=rhs),
        alignment=BINARY,
    )


@binary_rule
def _factor_lhs(cotangent: Tensor, lhs: Tensor, rhs: Tensor) -> Tensor:
    return mul(cotangent, rhs)


@binary_rule
def _factor_rhs(cotangent: Tensor, lhs: Tensor, rhs: Tensor) -> Tensor:
    return mul(cotangent, lhs)


def _factor_scaled(context: VJPContext, cotangent: Tensor) -> Tensor:
    factor: Any = context.invocation.operands[1]
    return mul(cotangent, convert_weak_scalar(factor, DType.Float32))


@binary_rule
def _dividend(cotangent: Tensor, lhs: Tensor, rhs: Tensor) -> Tensor:
    return div(cotangent, rhs)


@binary_rule
def _divisor(cotangent: Tensor, lhs: Tensor, rhs: Tensor) -> Tensor:
    return div(mul(neg(cotangent), lhs), mul(rhs, rhs))


@binary_rule
def _modulus(cotangent: Tensor, lhs: Tensor, rhs: Tensor) -> Tensor:
    return mul(cotangent, neg(truncated(div(lhs, rhs))))


def truncated(value: Tensor) -> Tensor:
    """Round toward zero: down where the value is positive, up elsewhere."""
    above = is_less(constant_like(value, 0.0), value)
    return choose(above, evaluate("floor", value), evaluate("ceil", value))


def _saved_by_product(call: BoundOperationCall) -> tuple[int, ...]:
    return (0, 1) if call.schema is PAIR else ()


ADD = define_binary(
    "add",
    binary32.add,
    pass_through,
    pass_through,
    saved=nothing_saved,
    integer=partial(map, operator.add),
)
SUB = define_binary(
    "sub",
    binary32.sub,
    pass_through,
    negated,
    saved=nothing_saved,
    integer=partial(map, operator.sub),
)
ELEMENTWISE_MUL = define_binary(
    "elementwise_mul",
    binary32.mul,
    _factor_lhs,
    _factor_rhs,
    integer=partial(map, operator.mul),
)
MUL = define_builtin(
    "mul",
    (PAIR, SCALED),
    pointwise_resolve(_saved_by_product, exact=True),
    reference=pointwise_reference(binary32.mul, partial(map, operator.mul)),
    vjp=vjp_of(lhs=_factor_lhs, rhs=_factor_rhs, tensor=_factor_scaled),
    alignment=BINARY,
)
DIV = define_binary("div", binary32.div, _dividend, _divisor)
REM = define_binary("rem", binary32.rem, pass_through, _modulus)
