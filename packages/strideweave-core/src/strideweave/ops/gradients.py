"""How vector-Jacobian products are assembled from one rule per operand.

A rule is written with ``evaluate`` and metadata views only, so it runs on every carrier. Its
gradient has the aligned operand's Shape; the framework folds it back to the source.
"""

from collections.abc import Callable
from typing import TypeAlias

from strideweave.dtype import DType
from strideweave.operation.evaluation import evaluate
from strideweave.operation.invocation import VJPContext
from strideweave.ops.metadata import constant_like
from strideweave.tensor.tensor import Tensor

Cotangents: TypeAlias = tuple[Tensor | None, ...]
VJP: TypeAlias = Callable[[VJPContext, Cotangents], Cotangents]
Rule: TypeAlias = Callable[[VJPContext, Tensor], Tensor]


def takes_gradient(operand: object) -> bool:
    """Tell whether an operand is a Tensor that gradients flow into."""
    return isinstance(operand, Tensor) and operand.dtype() is DType.Float32


def vjp_of(**rules: Rule) -> VJP:
    """Make a vjp from one rule per differentiable operand.

    Args:
        **rules: By operand name, a function of the context and the cotangent of the single
            result. Operands of a dtype that takes no gradient get None.
    """

    def vjp(context: VJPContext, cotangents: Cotangents) -> Cotangents:
        (cotangent,) = cotangents
        invocation = context.invocation
        return tuple(
            None
            if cotangent is None or not takes_gradient(operand)
            else rules[spec.name](context, cotangent)
            for spec, operand in zip(
                invocation.call.schema.operands, invocation.operands, strict=True
            )
            if spec.differentiable
        )

    return vjp


def unary_rule(rule: Callable[[Tensor, Tensor], Tensor]) -> Rule:
    """Adapt a function of the cotangent and the saved operand."""

    def adapted(context: VJPContext, cotangent: Tensor) -> Tensor:
        return rule(cotangent, context.saved_operands[0])

    return adapted


def binary_rule(rule: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Rule:
    """Adapt a function of the cotangent and the two saved operands."""

    def adapted(context: VJPContext, cotangent: Tensor) -> Tensor:
        lhs, rhs = context.saved_operands
        return rule(cotangent, lhs, rhs)

    return adapted


def pass_through(context: VJPContext, cotangent: Tensor) -> Tensor:
    """Hand the cotangent on unchanged."""
    return cotangent


def negated(context: VJPContext, cotangent: Tensor) -> Tensor:
    """Hand the negated cotangent on."""
    return neg(cotangent)


def add(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Evaluate ``lhs + rhs``."""
    return evaluate("add", lhs, rhs)


def sub(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Evaluate ``lhs - rhs``."""
    return evaluate("sub", lhs, rhs)


def mul(lhs: Tensor, rhs: Tensor | float) -> Tensor:
    """Evaluate ``lhs * rhs``."""
    return evaluate("mul", lhs, rhs)


def div(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Evaluate ``lhs / rhs``."""
    return evaluate("div", lhs, rhs)


def neg(tensor: Tensor) -> Tensor:
    """Evaluate ``-tensor``."""
    return evaluate("neg", tensor)


def recip(tensor: Tensor) -> Tensor:
    """Evaluate ``1 / tensor``."""
    return evaluate("recip", tensor)


def one_minus(tensor: Tensor) -> Tensor:
    """Evaluate ``1 - tensor``."""
    return sub(constant_like(tensor, 1.0), tensor)
