"""Matrix products, one or a batch of them: the last modes of both operands are contracted."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

from strideweave.dtype import DType
from strideweave.layout.construction import canonical_layout
from strideweave.layout.shape import Shape
from strideweave.operation.definition import OperationDefinition, define_builtin
from strideweave.operation.evaluation import evaluate
from strideweave.operation.invocation import BoundOperationCall, ResolvedInvocation, VJPContext
from strideweave.operation.policy import Arithmetic
from strideweave.operation.schema import OperationSchema
from strideweave.ops import binary32
from strideweave.ops.gradients import vjp_of
from strideweave.ops.metadata import reshaped_canonical, swapped
from strideweave.ops.reference import Numbers, allocated, checked_int32, converted_operands
from strideweave.ops.results import planned, resolved
from strideweave.ops.schemas import schema, tensor, with_accumulator
from strideweave.tensor.tensor import Tensor

_MODES = {"matmul": ("outer", "inner"), "_batched_matmul": ("batch", "outer", "inner")}
_COUNTS = {2: "two", 3: "three"}


def _resolve(call: BoundOperationCall) -> ResolvedInvocation:
    plan = planned(call)
    operands: tuple[Any, ...] = call.operands
    name, modes = call.definition.name, _MODES[call.definition.name]
    for side, operand in zip(("lhs", "rhs"), operands, strict=True):
        if len(operand.layout) != len(modes):
            raise ValueError(
                f"{name}: {side} must have exactly {_COUNTS[len(modes)]} top-level modes "
                f"({', '.join(modes)}), got {len(operand.layout)} in {operand.layout}; group modes "
                "with rearrange, or use einsum"
            )
    lhs, rhs = (operand.shape for operand in operands)
    *batch, outer, inner = range(len(modes))
    for mode in (*batch, inner):
        if lhs[mode].size != rhs[mode].size:
            raise ValueError(
                f"{name}: the {modes[mode]} modes must have equal sizes, got lhs={lhs[mode].size}, "
                f"rhs={rhs[mode].size}; lhs times rhs transposed is computed"
            )
    layout = canonical_layout(Shape([*lhs.top_level[:inner], rhs.top_level[outer]]))
    exact = plan.compute is not Arithmetic.BINARY32
    return resolved(call, plan, layout, saved=(0, 1), exact=exact)


def _products(invocation: ResolvedInvocation) -> Iterator[Numbers]:
    """Yield for each contracted position the products of all rows of lhs and rhs.

    They are in the order of the result: batch, rows of lhs, rows of rhs.
    """
    lhs, rhs = converted_operands(invocation)
    *batch_mode, rows, columns = (mode.size for mode in invocation.results[0].layout)
    batch = batch_mode[0] if batch_mode else 1
    row_block, column_block = batch * rows, batch * columns
    for row_start, column_start in zip(
        range(0, len(lhs), row_block), range(0, len(rhs), column_block), strict=True
    ):
        row = lhs[row_start : row_start + row_block]
        column = rhs[column_start : column_start + column_block]
        yield [
            left * right
            for start in range(0, column_block, batch)
            for left, right in zip(row, cycle(column[start : start + batch]), strict=False)
        ]


def _product(invocation: ResolvedInvocation) -> Tensor:
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
    invocation = context.invocation
    operand: Any = invocation.operands[position]
    options: dict[str, Any] = dict(invocation.options)
    product = evaluate(invocation.name, cotangent, swapped(partner), **options)
    # The contracted mode came with the partner's nesting.
    return reshaped_canonical(product, operand.shape)


def _lhs(context: VJPContext, cotangent: Tensor) -> Tensor:
    return _product_gradient(context, cotangent, context.saved_operands[1], 0)


def _rhs(context: VJPContext, cotangent: Tensor) -> Tensor:
    return _product_gradient(context, swapped(cotangent), context.saved_operands[0], 1)


def _define(name: str, form: OperationSchema) -> OperationDefinition:
    return define_builtin(
        name, (form,), _resolve, reference=_product, vjp=vjp_of(lhs=_lhs, rhs=_rhs)
    )


MATMUL = _define("matmul", with_accumulator(tensor("lhs"), tensor("rhs")))
BATCHED_MATMUL = _define("_batched_matmul", schema(tensor("lhs"), tensor("rhs")))
