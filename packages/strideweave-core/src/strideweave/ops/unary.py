"""Unary arithmetic: sign, roots, exponentials, logarithms, trigonometry and rounding."""

from collections.abc import Callable, Iterable
from typing import Any

from strideweave.operation.definition import OperationDefinition, define_builtin
from strideweave.operation.evaluation import evaluate
from strideweave.operation.invocation import VJPContext
from strideweave.ops import binary32
from strideweave.ops.gradients import Rule, mul, neg, negated, recip, unary_rule, vjp_of
from strideweave.ops.reference import pointwise_reference
from strideweave.ops.results import Saved, nothing_saved, pointwise_resolve, tensors_saved
from strideweave.ops.schemas import schema, tensor
from strideweave.tensor.tensor import Tensor


def define_unary(
    name: str,
    compute: Callable[[list[float]], list[float]],
    rule: Rule,
    *,
    exact: bool = True,
    saved: Saved = tensors_saved,
    integer: Callable[[list[int]], Iterable[Any]] | None = None,
) -> OperationDefinition:
    """Define one operation of a single Tensor.

    Args:
        name: Catalogue name.
        compute: Binary32 reference on a list.
        rule: The operand's gradient.
        exact: Whether every carrier gives the same bits; library functions do not.
        saved: What the gradient reads.
        integer: Reference of the plan that stays Int32.
    """
    return define_builtin(
        name,
        (schema(tensor("tensor")),),
        pointwise_resolve(saved, exact=exact),
        reference=pointwise_reference(compute, integer),
        vjp=vjp_of(tensor=rule),
    )


def _zero_slope(context: VJPContext, cotangent: Tensor) -> Tensor:
    # The IEEE product applies: NaN for an infinite cotangent, -0 for a negative one.
    return mul(cotangent, 0.0)


@unary_rule
def _abs(cotangent: Tensor, operand: Tensor) -> Tensor:
    return mul(cotangent, evaluate("sign", operand))


@unary_rule
def _recip(cotangent: Tensor, operand: Tensor) -> Tensor:
    return mul(cotangent, neg(recip(mul(operand, operand))))


@unary_rule
def _sqrt(cotangent: Tensor, operand: Tensor) -> Tensor:
    return mul(cotangent, recip(mul(evaluate("sqrt", operand), 2.0)))


@unary_rule
def _rsqrt(cotangent: Tensor, operand: Tensor) -> Tensor:
    output = evaluate("rsqrt", operand)
    cube = mul(mul(output, output), output)
    return mul(cotangent, mul(neg(cube), 0.5))


@unary_rule
def _exp(cotangent: Tensor, operand: Tensor) -> Tensor:
    return mul(cotangent, evaluate("exp", operand))


@unary_rule
def _exp2(cotangent: Tensor, operand: Tensor) -> Tensor:
    return mul(cotangent, mul(evaluate("exp2", operand), binary32.LN_2))


@unary_rule
def _log(cotangent: Tensor, operand: Tensor) -> Tensor:
    return mul(cotangent, recip(operand))


@unary_rule
def _log2(cotangent: Tensor, operand: Tensor) -> Tensor:
    return mul(cotangent, recip(mul(operand, binary32.LN_2)))


@unary_rule
def _sin(cotangent: Tensor, operand: Tensor) -> Tensor:
    return mul(cotangent, evaluate("cos", operand))


@unary_rule
def _cos(cotangent: Tensor, operand: Tensor) -> Tensor:
    return mul(cotangent, neg(evaluate("sin", operand)))


@unary_rule
def _erf(cotangent: Tensor, operand: Tensor) -> Tensor:
    bell = evaluate("exp", neg(mul(operand, operand)))
    return mul(cotangent, mul(bell, binary32.TWO_OVER_SQRT_PI))


NEG = define_unary("neg", binary32.neg, negated, saved=nothing_saved)
ABS = define_unary("abs", binary32.absolute, _abs)
SIGN = define_unary("sign", binary32.sign, _zero_slope, saved=nothing_saved)
RECIP = define_unary("recip", binary32.recip, _recip)
SQRT = define_unary("sqrt", binary32.sqrt, _sqrt)
RSQRT = define_unary("rsqrt", binary32.rsqrt, _rsqrt)
EXP = define_unary("exp", binary32.exp, _exp, exact=False)
EXP2 = define_unary("exp2", binary32.exp2, _exp2, exact=False)
LOG = define_unary("log", binary32.log, _log, exact=False)
LOG2 = define_unary("log2", binary32.log2, _log2, exact=False)
SIN = define_unary("sin", binary32.sin, _sin, exact=False)
COS = define_unary("cos", binary32.cos, _cos, exact=False)
ERF = define_unary("erf", binary32.erf, _erf, exact=False)
FLOOR = define_unary("floor", binary32.floor, _zero_slope, saved=nothing_saved)
CEIL = define_unary("ceil", binary32.ceil, _zero_slope, saved=nothing_saved)
ROUND = define_unary("round", binary32.round_half_even, _zero_slope, saved=nothing_saved)
