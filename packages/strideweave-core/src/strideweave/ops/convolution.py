"""``conv_general``: grouped cross-correlation over any number of spatial modes."""

from collections.abc import Sequence
from itertools import accumulate
from math import inf, nan
from operator import mul
from typing import Any

from strideweave.dtype import DType
from strideweave.layout.construction import canonical_layout
from strideweave.layout.layout import Layout
from strideweave.layout.shape import Shape
from strideweave.layout.tree import LeafId, Node, Tree
from strideweave.operation.definition import define_builtin
from strideweave.operation.evaluation import evaluate
from strideweave.operation.invocation import BoundOperationCall, ResolvedInvocation, VJPContext
from strideweave.ops import binary32
from strideweave.ops.binary32 import Values
from strideweave.ops.convolution_sizes import Convolution, SpatialMode, convolution_of
from strideweave.ops.gradients import add, vjp_of
from strideweave.ops.metadata import (
    constant_like,
    filled,
    layout_of,
    reshaped_canonical,
    viewed,
)
from strideweave.ops.parameters import checked_count, checked_counts, checked_pairs
from strideweave.ops.reference import allocated, converted_operands
from strideweave.ops.results import planned, resolved
from strideweave.ops.routing import choose, is_equal, is_less, is_nan
from strideweave.ops.schemas import role_dtypes, schema, structural, tensor
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor, tensor_over

_NAME = "conv_general"
_TINY = 2.0**-126
"""The smallest normal number, which no cotangent multiplies to more than a few units."""


def _with_parameters(operands: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    lhs, kernel, strides, padding, lhs_dilation, kernel_dilation, feature_groups = operands
    steps = checked_counts(_NAME, "strides", strides)
    dilations = [
        None if value is None else checked_counts(_NAME, name, value)
        for name, value in (("lhs_dilation", lhs_dilation), ("kernel_dilation", kernel_dilation))
    ]
    pairs = checked_pairs(_NAME, "padding", padding)
    groups = checked_count(_NAME, "feature_groups", feature_groups)
    return lhs, kernel, steps, pairs, *dilations, groups


def _resolve(call: BoundOperationCall) -> ResolvedInvocation:
    plan = planned(call)
    operands: tuple[Any, ...] = call.operands
    lhs, kernel = (operand.shape.top_level for operand in operands[:2])
    positions = [mode.positions for mode in convolution_of(call).spatial]
    layout = canonical_layout(Shape([lhs[0], kernel[0], *positions]))
    return resolved(call, plan, layout, saved=(0, 1), exact=False)


def _sources(spatial: tuple[SpatialMode, ...]) -> list[list[int | None]]:
    """For each tap, the spatial ordinal of lhs that it meets at each position."""
    table: list[list[int | None]] = [[0]]
    radix = 1
    for mode in spatial:
        table = [
            [
                None if element is None or before is None else before + radix * element
                for element in (mode.source(position, tap) for position in range(mode.positions))
                for before in earlier
            ]
            for tap in range(mode.taps)
            for earlier in table
        ]
        radix *= mode.extent
    return table


def _conv(invocation: ResolvedInvocation) -> Tensor:
    """Add one product per channel and tap, the channel fastest; where a tap meets nothing, 0."""
    batch, channels, features, groups, spatial = convolution_of(invocation.call)
    lhs, kernel = converted_operands(invocation)
    totals: Values = [0.0] * invocation.results[0].layout.size
    nothing = [0.0] * batch
    for tap, sources in enumerate(_sources(spatial)):
        for channel in range(channels):
            start = features * (channel + channels * tap)
            products: Values = []
            for source in sources:
                for feature, weight in enumerate(kernel[start : start + features]):
                    block = nothing
                    if source is not None:
                        group = feature * groups // features
                        first = batch * (channel + channels * (group + groups * source))
                        block = lhs[first : first + batch]
                    products.extend([value * weight for value in block])
            totals = binary32.add(totals, binary32.rounded(products))
    return allocated(invocation, totals)


def _lhs_gradient(context: VJPContext, cotangent: Tensor) -> Tensor:
    lhs, kernel = context.saved_operands
    sizes = convolution_of(context.invocation.call)
    spread = _spread if _is_finite(kernel) else _spread_by_marks
    return spread(sizes, lhs.shape, kernel, cotangent)


def _spread(sizes: Convolution, shape: Shape, kernel: Tensor, cotangent: Tensor) -> Tensor:
    """Convolve the cotangent with the flipped finite kernel, in- and out-features exchanged."""
    _, channels, features, groups, spatial = sizes
    for axis in range(2, len(kernel.layout)):
        kernel = evaluate("flip", kernel, axis)
    taps = [mode.taps for mode in spatial]
    split = reshaped_canonical(kernel, Shape([features // groups, groups, channels, *taps]))
    exchanged = _rearranged(split, Tree(Node.id(2), Node.id(1)), Node.id(0))
    starts = [_elements_before(mode) for mode in spatial]
    result = evaluate(
        _NAME,
        cotangent,
        exchanged,
        tuple(mode.lhs_dilation for mode in spatial),
        tuple(map(_lhs_gradient_padding, spatial, starts)),
        tuple(mode.stride for mode in spatial),
        tuple(mode.kernel_dilation for mode in spatial),
        groups,
    )
    return _block(result, shape, (0, 1), starts)


def _spread_by_marks(sizes: Convolution, shape: Shape, kernel: Tensor, cotangent: Tensor) -> Tensor:
    """Spread through a kernel whose infinities and NaNs padding and holes must not meet.

    Tiny weights of the same sign stand for those. What they contribute is lost in the infinity or
    NaN that is then added wherever marks of cotangents meet marks of such weights.
    """
    one, zero, infinity = (constant_like(kernel, value) for value in (1.0, 0.0, inf))
    tiny, minus_tiny = constant_like(kernel, _TINY), constant_like(kernel, -_TINY)
    is_usual = is_less(evaluate("abs", kernel), infinity)
    tame = choose(is_usual, kernel, choose(is_less(kernel, zero), minus_tiny, tiny))
    plus = choose(is_equal(kernel, infinity), one, zero)
    minus = choose(is_equal(kernel, constant_like(kernel, -inf)), one, zero)
    spoiled = choose(is_nan(kernel), one, zero)
    positive = choose(is_less(zero, cotangent), one, zero)
    negative = choose(is_less(cotangent, zero), one, zero)
    absent = choose(is_equal(cotangent, zero), one, zero)
    gradient = _spread(sizes, shape, tame, cotangent)
    for value, weights, marks in (
        (inf, plus, positive),
        (inf, minus, negative),
        (-inf, plus, negative),
        (-inf, minus, positive),
        (nan, add(plus, minus), absent),
        (nan, spoiled, filled(cotangent.shape, 1.0, like=cotangent)),
    ):
        count = _spread(sizes, shape, weights, marks)
        gradient = add(gradient, choose(is_less(zero, count), constant_like(count, value), zero))
    return gradient


def _elements_before(mode: SpatialMode) -> int:
    """Elements to compute before the first one, where a padding exceeds the kernel."""
    before = (mode.kernel_span - 1) - mode.before
    return max(0, -(before // mode.lhs_dilation))


def _lhs_gradient_padding(mode: SpatialMode, start: int) -> tuple[int, int]:
    before = (mode.kernel_span - 1) - mode.before + start * mode.lhs_dilation
    needed = start * mode.lhs_dilation + mode.lhs_span + mode.kernel_span - 1
    return before, max(0, needed - before - mode.position_span)


def _kernel_gradient_padding(mode: SpatialMode) -> tuple[int, int]:
    needed = mode.kernel_span + mode.position_span - 1
    return mode.before, max(0, needed - mode.before - mode.lhs_span)


def _kernel_gradient(context: VJPContext, cotangent: Tensor) -> Tensor:
    """Convolve lhs with the cotangent, in-features as the batch and the batch as in-features."""
    lhs, kernel = context.saved_operands
    batch, channels, _, groups, spatial = convolution_of(context.invocation.call)
    if groups == 1:
        exchanged = _rearranged(lhs, Node.id(1), Node.id(0))
    else:
        copied = evaluate("pad", lhs, ((0, 0),) * len(lhs.layout))
        extents = [mode.extent for mode in spatial]
        split = reshaped_canonical(copied, Shape([batch, channels, groups, *extents]))
        exchanged = _rearranged(split, Node.id(1), Tree(Node.id(0), Node.id(2)))
    result = evaluate(
        _NAME,
        exchanged,
        _rearranged(cotangent, Node.id(1), Node.id(0)),
        tuple(mode.kernel_dilation for mode in spatial),
        tuple(
            (
                mode.before,
                max(0, mode.kernel_span - 1 + mode.position_span - mode.before - mode.lhs_span),
            )
            for mode in spatial
        ),
        tuple(mode.lhs_dilation for mode in spatial),
        tuple(mode.stride for mode in spatial),
        groups,
    )
    return _block(result, kernel.shape, (1, 0), [0] * len(spatial))


def _rearranged(tensor: Tensor, *leading: LeafId | Tree) -> Tensor:
    """View a Tensor with other modes in front of the spatial ones."""
    count = sum(1 if isinstance(entry, LeafId) else len(entry) for entry in leading)
    rank = len(tensor.layout)
    output = Tree(*leading, *map(Node.id, range(count, rank)))
    return viewed(tensor, Layout.rearrange(tensor.layout, output, Tree(*[Node.Leaf] * rank)))


def _block(result: Tensor, shape: Shape, leading: tuple[int, int], starts: Sequence[int]) -> Tensor:
    """View a block of a canonical result in a shape whose modes have the same ordinals.

    Args:
        result: Canonical, with two modes before the spatial ones.
        shape: Shape of the block.
        leading: Which of the two modes the first and the second mode of the shape are.
        starts: First spatial coordinates of the block.
    """
    steps = list(accumulate((mode.size for mode in result.shape), mul, initial=1))
    ordered = [steps[mode] for mode in (*leading, *range(2, len(starts) + 2))]
    strides: list[int] = []
    for mode, step in zip(shape, ordered, strict=True):
        strides.extend(step * stride for stride in canonical_layout(mode).leaf_strides)
    start = sum(map(mul, starts, steps[2:]))
    return tensor_over(result.carrier, result.offset + start, layout_of(shape, tuple(strides)))


def _is_finite(kernel: Tensor) -> bool:
    row = layout_of(Shape([1, kernel.shape.top_level]), (0, *kernel.layout.leaf_strides))
    largest = evaluate("reduce_max", evaluate("abs", viewed(kernel, row)))
    return logical_values(largest)[0] < inf


CONV_GENERAL = define_builtin(
    _NAME,
    (
        schema(
            tensor("lhs"),
            tensor("kernel"),
            structural("strides"),
            structural("padding"),
            structural("lhs_dilation"),
            structural("kernel_dilation"),
            structural("feature_groups"),
        ),
    ),
    _resolve,
    reference=_conv,
    vjp=vjp_of(lhs=_lhs_gradient, kernel=_kernel_gradient),
    roles=role_dtypes(_NAME, lhs=(DType.Float32,), kernel=(DType.Float32,)),
    parameters=_with_parameters,
    optional=(None, None, 1),
)
