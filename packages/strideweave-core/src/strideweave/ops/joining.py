"""``concat`` and ``pad``: copies of Tensors side by side, and of one inside a border."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

from strideweave.carriers.normalization import normalize
from strideweave.dtype import DType
from strideweave.dtype.storage import storage_zero
from strideweave.layout.construction import canonical_layout
from strideweave.layout.layout import Layout
from strideweave.layout.shape import Shape
from strideweave.operation.definition import define_builtin
from strideweave.operation.invocation import BoundOperationCall, ResolvedInvocation, VJPContext
from strideweave.ops.axes import checked_axis, joined, split, stride_of_axis
from strideweave.ops.gradients import vjp_of
from strideweave.ops.metadata import window
from strideweave.ops.nesting import with_mode
from strideweave.ops.parameters import checked_pairs
from strideweave.ops.reference import allocated, converted_operands
from strideweave.ops.results import planned, resolved
from strideweave.ops.schemas import role_dtypes, schema, structural, tensor
from strideweave.tensor.tensor import Tensor

_ANY = (DType.Float32, DType.Int32, DType.Bool)


def check_equal_dtypes(operation: str, names: Sequence[str], tensors: Sequence[Tensor]) -> None:
    """Require the dtype of the first Tensor of all.

    Raises:
        TypeError: A Tensor has another dtype.
    """
    expected = tensors[0].dtype()
    for name, entry in zip(names, tensors, strict=True):
        if entry.dtype() is not expected:
            raise TypeError(
                f"{operation}: {name} must have dtype DType.{expected.name} like {names[0]}, got "
                f"DType.{entry.dtype().name}; convert it with cast"
            )


def check_joinable(
    operation: str, names: Sequence[str], shapes: Sequence[Shape], axis: int
) -> None:
    """Require shapes that differ in the extent of one top-level leaf mode only.

    Raises:
        ValueError: The mode is nested, or another shape differs elsewhere.
    """
    first = shapes[0]
    if not isinstance(first.top_level[axis], int):
        raise ValueError(
            f"{operation}: mode {axis} of {names[0]} is nested in {first}; join along a leaf mode"
        )
    for name, shape in zip(names, shapes, strict=True):
        if not _differs_only_at(first, shape, axis):
            raise ValueError(
                f"{operation}: {name} must have the shape {first} of {names[0]} except for the "
                f"extent of leaf mode {axis}, got {shape}"
            )


def _differs_only_at(first: Shape, other: Shape, axis: int) -> bool:
    return (
        len(other.top_level) == len(first.top_level)
        and isinstance(other.top_level[axis], int)
        and with_mode(other.top_level, axis, ()) == with_mode(first.top_level, axis, ())
    )


_PAIR = ("lhs", "rhs")


def _with_axis(operands: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    lhs, rhs, axis = operands
    return lhs, rhs, checked_axis("concat", axis, lhs.layout)


def _check_pair(operands: tuple[Any, ...]) -> None:
    role_dtypes("concat", lhs=_ANY)(operands)
    check_equal_dtypes("concat", _PAIR, operands[:2])


def _resolve_concat(call: BoundOperationCall) -> ResolvedInvocation:
    plan = planned(call)
    operands: tuple[Any, ...] = call.operands
    lhs, rhs, axis = operands
    check_joinable("concat", _PAIR, (lhs.shape, rhs.shape), axis)
    extent = lhs.shape[axis].size + rhs.shape[axis].size
    shape = Shape(with_mode(lhs.shape.top_level, axis, [extent]))
    return resolved(call, plan, canonical_layout(shape))


def _concat(invocation: ResolvedInvocation) -> Tensor:
    operands: tuple[Any, ...] = invocation.operands
    *tensors, axis = operands
    inner = stride_of_axis(invocation.results[0].layout, axis)
    slices = [
        part
        for operand, values in zip(tensors, converted_operands(invocation), strict=True)
        for part in split(values, operand.layout[axis].size, inner)
    ]
    return allocated(invocation, joined(slices, inner))


def starts_along(axis: int, start: int) -> tuple[int, ...]:
    """First coordinates of a block that leaves all modes but one whole."""
    return (0,) * axis + (start,)


def _concat_lhs(context: VJPContext, cotangent: Tensor) -> Tensor:
    operands: tuple[Any, ...] = context.invocation.operands
    return window(cotangent, operands[0].shape, ())


def _concat_rhs(context: VJPContext, cotangent: Tensor) -> Tensor:
    operands: tuple[Any, ...] = context.invocation.operands
    lhs, rhs, axis = operands
    return window(cotangent, rhs.shape, starts_along(axis, lhs.shape[axis].size))


CONCAT = define_builtin(
    "concat",
    (schema(tensor("lhs"), tensor("rhs"), structural("axis")),),
    _resolve_concat,
    reference=_concat,
    vjp=vjp_of(lhs=_concat_lhs, rhs=_concat_rhs),
    roles=_check_pair,
    parameters=_with_axis,
)


def _checked_padding(padding: object, layout: Layout) -> tuple[tuple[int, int], ...]:
    """Return one pair of counts per top-level mode.

    Raises:
        TypeError: An entry is no pair of integers.
        ValueError: A count is negative, a nested mode would grow, or the number of pairs differs
            from the number of modes.
    """
    pairs = checked_pairs("pad", "padding", padding)
    if len(pairs) != len(layout):
        raise ValueError(
            f"pad: padding must have one pair per top-level mode, {len(layout)} for layout "
            f"{layout}, got {len(pairs)}"
        )
    for mode, (pair, extent) in enumerate(zip(pairs, layout.shape.top_level, strict=True)):
        if any(pair) and not isinstance(extent, int):
            raise ValueError(
                f"pad: padding[{mode}] must be (0, 0), because mode {mode} of layout {layout} is "
                f"nested, got {pair}; only leaf modes grow"
            )
    return pairs


def _checked_value(value: object, dtype: DType) -> Any:
    """Return what the border holds; the integer 0 stands for the zero of every dtype.

    Raises:
        TypeError: The value is no real number, or not one that the dtype stores.
        OverflowError: It is an integer out of range.
    """
    if type(value) is int and value == 0:
        return storage_zero(dtype)
    if not isinstance(value, Real):
        raise TypeError(f"pad: value must be a real Python number, got {type(value).__qualname__}")
    try:
        return normalize(dtype, value)
    except (TypeError, OverflowError) as error:
        raise type(error)(f"pad: value does not fit the tensor: {error}") from None


def _with_padding(operands: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    operand, padding, value = operands
    pairs = _checked_padding(padding, operand.layout)
    return operand, pairs, _checked_value(value, operand.dtype())


def _resolve_pad(call: BoundOperationCall) -> ResolvedInvocation:
    plan = planned(call)
    operands: tuple[Any, ...] = call.operands
    operand, padding, _ = operands
    modes = [
        before + mode + after if isinstance(mode, int) else mode
        for mode, (before, after) in zip(operand.shape.top_level, padding, strict=True)
    ]
    return resolved(call, plan, canonical_layout(Shape(modes)))


def _pad(invocation: ResolvedInvocation) -> Tensor:
    operands: tuple[Any, ...] = invocation.operands
    operand, padding, value = operands
    (values,) = converted_operands(invocation)
    inner = 1
    for mode, (before, after) in zip(operand.shape, padding, strict=True):
        border = [value] * (len(values) // mode.size)
        slices = split(values, mode.size, inner)
        values = joined([border] * before + slices + [border] * after, inner)
        inner *= before + mode.size + after
    return allocated(invocation, values)


def starts_inside(padding: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """First coordinates of the block that a border surrounds."""
    return tuple(before for before, _ in padding)


def _pad_gradient(context: VJPContext, cotangent: Tensor) -> Tensor:
    operands: tuple[Any, ...] = context.invocation.operands
    operand, padding, _ = operands
    return window(cotangent, operand.shape, starts_inside(padding))


PAD = define_builtin(
    "pad",
    (schema(tensor("tensor"), structural("padding"), structural("value")),),
    _resolve_pad,
    reference=_pad,
    vjp=vjp_of(tensor=_pad_gradient),
    roles=role_dtypes("pad", tensor=_ANY),
    parameters=_with_padding,
    optional=(0,),
)
