"""``maximum``, ``minimum`` and ``clamp``: the winner takes the cotangent."""

from math import nan
from typing import Any

from strideweave.dtype import DType
from strideweave.operation.definition import define_builtin
from strideweave.operation.evaluation import evaluate
from strideweave.operation.invocation import VJPContext
from strideweave.ops import binary32
from strideweave.ops.alignment import PointwiseAlignment
from strideweave.ops.arithmetic import define_binary
from strideweave.ops.binary32 import Values
from strideweave.ops.gradients import binary_rule, mul, vjp_of
from strideweave.ops.metadata import constant_like
from strideweave.ops.reference import convert_weak_scalar, pointwise_reference
from strideweave.ops.results import pointwise_resolve, tensors_saved
from strideweave.ops.routing import choose, is_equal, is_less, is_nan
from strideweave.ops.schemas import role_dtypes, scalar, schema, tensor
from strideweave.tensor.tensor import Tensor


def _share(
    extremum: str, cotangent: Tensor, own: Tensor, other: Tensor, *, splits_ties: bool = True
) -> Tensor:
    """The part of the cotangent of ``extremum(own, other)`` that flows into ``own``.

    Args:
        extremum: ``"maximum"`` or ``"minimum"``.
        cotangent: Cotangent of the extremum.
        own: The operand asked about.
        other: The operand it competes with.
        splits_ties: Whether equal values get half each; otherwise ``own`` takes all.
    """
    wins = is_less(other, own) if extremum == "maximum" else is_less(own, other)
    half = mul(cotangent, 0.5) if splits_ties else cotangent
    beaten = choose(wins, cotangent, constant_like(cotangent, 0.0))
    ordered = choose(is_equal(own, other), half, beaten)
    unordered = is_nan(evaluate(extremum, own, other))
    return choose(unordered, constant_like(cotangent, nan), ordered)


@binary_rule
def _maximum_lhs(cotangent: Tensor, lhs: Tensor, rhs: Tensor) -> Tensor:
    return _share("maximum", cotangent, lhs, rhs)


@binary_rule
def _maximum_rhs(cotangent: Tensor, lhs: Tensor, rhs: Tensor) -> Tensor:
    return _share("maximum", cotangent, rhs, lhs)


@binary_rule
def _minimum_lhs(cotangent: Tensor, lhs: Tensor, rhs: Tensor) -> Tensor:
    return _share("minimum", cotangent, lhs, rhs)


@binary_rule
def _minimum_rhs(cotangent: Tensor, lhs: Tensor, rhs: Tensor) -> Tensor:
    return _share("minimum", cotangent, rhs, lhs)


MAXIMUM = define_binary("maximum", binary32.maximum, _maximum_lhs, _maximum_rhs)
MINIMUM = define_binary("minimum", binary32.minimum, _minimum_lhs, _minimum_rhs)


def _clamp(values: Values, lower: Values, upper: Values) -> Values:
    return binary32.minimum(binary32.maximum(values, lower), upper)


def _operands(context: VJPContext) -> tuple[Tensor, Tensor, Tensor]:
    """The clamped Tensor and both bounds; a Python number becomes one broadcast value."""
    saved = iter(context.saved_operands)
    values = next(saved)
    bounds: list[Tensor] = []
    given: tuple[Any, ...] = context.invocation.operands[1:]
    for bound in given:
        if isinstance(bound, Tensor):
            bounds.append(next(saved))
        else:
            bounds.append(constant_like(values, convert_weak_scalar(bound, DType.Float32)))
    return values, bounds[0], bounds[1]


def _raised_share(context: VJPContext, cotangent: Tensor) -> Tensor:
    """The part that flows into ``maximum(tensor, lower)``; a number as bound takes none."""
    values, lower, upper = _operands(context)
    raised = evaluate("maximum", values, lower)
    splits = isinstance(context.invocation.operands[2], Tensor)
    return _share("minimum", cotangent, raised, upper, splits_ties=splits)


def _clamp_tensor(context: VJPContext, cotangent: Tensor) -> Tensor:
    values, lower, _ = _operands(context)
    splits = isinstance(context.invocation.operands[1], Tensor)
    share = _raised_share(context, cotangent)
    return _share("maximum", share, values, lower, splits_ties=splits)


def _clamp_lower(context: VJPContext, cotangent: Tensor) -> Tensor:
    values, lower, _ = _operands(context)
    return _share("maximum", _raised_share(context, cotangent), lower, values)


def _clamp_upper(context: VJPContext, cotangent: Tensor) -> Tensor:
    values, lower, upper = _operands(context)
    return _share("minimum", cotangent, upper, evaluate("maximum", values, lower))


_FLOAT = (DType.Float32,)

CLAMP = define_builtin(
    "clamp",
    (
        schema(tensor("tensor"), tensor("lower"), tensor("upper")),
        schema(tensor("tensor"), tensor("lower"), scalar("upper")),
        schema(tensor("tensor"), scalar("lower"), tensor("upper")),
        schema(tensor("tensor"), scalar("lower"), scalar("upper")),
    ),
    pointwise_resolve(tensors_saved, exact=True),
    reference=pointwise_reference(_clamp),
    vjp=vjp_of(tensor=_clamp_tensor, lower=_clamp_lower, upper=_clamp_upper),
    alignment=PointwiseAlignment(("tensor", "lower", "upper"), ("tensor", "bound")),
    roles=role_dtypes("clamp", tensor=_FLOAT, lower=_FLOAT, upper=_FLOAT),
)
