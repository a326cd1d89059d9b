"""``matmul``: the second modes of both operands are contracted."""

from collections.abc import Iterator
from typing import Any

from strideweave.dtype import DType
from strideweave.layout.construction import canonical_layout
from strideweave.layout.shape import Shape
from strideweave.operation.definition import define_builtin
from strideweave.operation.evaluation import evaluate
from strideweave.operation.invocation import BoundOperationCall, ResolvedInvocation, VJPContext
from strideweave.operation.policy import Arithmetic
from strideweave.ops import binary32
from strideweave.ops.gradients import vjp_of
from strideweave.ops.metadata import reshaped_canonical, swapped
from strideweave.ops.reference import Numbers, allocated, checked_int32, converted_operands
from strideweave.ops.results import planned, resolved
from strideweave.ops.schemas import tensor, with_accumulator
from strideweave.tensor.tensor import Tensor


def _resolve(call: BoundOperationCall) -> ResolvedInvocation:
    plan = planned(call)
    operands: tuple[Any, ...] = call.operands
    for name, operand in zip(("lhs", "rhs"), operands, strict=True):
        if len(operand.layout) != 2:
            raise ValueError(
                f"matmul: {name} must have exactly two top-level modes, got "
                f"{len(operand.layout)} in {operand.layout}; group modes with rearrange, or use "
                "einsum"
            )
    lhs, rhs = (operand.shape for operand in operands)
    if lhs[1].size != rhs[1].size:
        raise ValueError(
            "matmul: the second modes must have equal sizes, got "
            f"lhs={lhs[1].size}, rhs={rhs[1].size}; lhs times rhs transposed is computed"
        )
    layout = canonical_layout(Shape([lhs.top_level[0], rhs.top_level[0]]))
    exact = plan.compute is not Arithmetic.BINARY32
    return resolved(call, plan, layout, saved=(0, 1), exact=exact)


def _products(invocation: ResolvedInvocation) -> Iterator[Numbers]:
    """Yield for each contracted position the products of all rows of lhs and rhs."""
    lhs, rhs = converted_operands(invocation)
    rows, columns = (extent.size for extent in invocation.results[0].layout)
    for row_start, column_start in zip(
        range(0, len(lhs), rows), range(0, len(rhs), columns), strict=True
    ):
        row = lhs[row_start : row_start + rows]
        column = rhs[column_start : column_start + columns]
        yield [left * right for right in column for left in row]


def _matmul(invocation: ResolvedInvocation) -> Tensor:
    plan = invocation.plan
    totals: Numbers
    if plan.compute is not Arithmetic.BINARY32:
        totals = [sum(terms) for terms in zip(*_products(invocation), strict=True)]
        return allocated(invocation, checked_int32(invocation.name, totals))
    totals = [0.0] * invocation.results[0].layout.size
    terms = map(binary32.rounded, _products(invocation))
    if plan.accumulator_dtype is DType.Float64:
        for step in terms:
            totals = [total + term for total, term in zip(totals, step, strict=True)]
        return allocated(invocation, binary32.rounded(totals))
    for step in terms:
        totals = binary32.add(totals, step)
    return allocated(invocation, totals)


def _product_gradient(
    context: VJPContext, cotangent: Tensor, partner: Tensor, position: int
) -> Tensor:
    operand: Any = context.invocation.operands[position]
    accumulator = context.invocation.options["accumulator_dtype"]
    product = evaluate("matmul", cotangent, swapped(partner), accumulator_dtype=accumulator)
    # The contracted mode came with the partner's nesting.
    return reshaped_canonical(product, operand.shape)


def _lhs(context: VJPContext, cotangent: Tensor) -> Tensor:
    return _product_gradient(context, cotangent, context.saved_operands[1], 0)


def _rhs(context: VJPContext, cotangent: Tensor) -> Tensor:
    return _product_gradient(context, swapped(cotangent), context.saved_operands[0], 1)


MATMUL = define_builtin(
    "matmul",
    (with_accumulator(tensor("lhs"), tensor("rhs")),),
    _resolve,
    reference=_matmul,
    vjp=vjp_of(lhs=_lhs, rhs=_rhs),
)
