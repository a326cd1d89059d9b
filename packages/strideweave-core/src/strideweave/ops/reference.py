"""What every pure-Python reference does: read operands, convert them, allocate the result.

References read values in logical order, compute on whole lists and allocate the result with
``new_like`` of the first Tensor operand's carrier, so they run on every carrier.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from strideweave.dtype import DType
from strideweave.layout.construction import canonical_layout
from strideweave.layout.enumeration import slots
from strideweave.layout.layout import Layout
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.operation.policy import INT32_MAX, INT32_MIN, Arithmetic
from strideweave.operation.schema import OperandKind
from strideweave.ops import binary32
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor, tensor_over

# Values of one operand: floats, ints or bools, by the dtype they were converted to.
Numbers: TypeAlias = list[Any]


def int32_overflow(name: str, value: int) -> OverflowError:
    """Build the error of an Int32 operation whose exact result does not fit."""
    return OverflowError(
        f"{name}: the exact result {value} is out of int32 range [{INT32_MIN}, {INT32_MAX}]; "
        "convert the operands with cast(tensor, DType.Float32) to compute in Float32"
    )


def checked_int32(name: str, values: list[int]) -> list[int]:
    """Return exact integers unchanged.

    Raises:
        OverflowError: A value leaves Int32; the first one is named.
    """
    if min(values) < INT32_MIN or max(values) > INT32_MAX:
        raise int32_overflow(
            name, next(value for value in values if not INT32_MIN <= value <= INT32_MAX)
        )
    return values


def convert_weak_scalar(value: Any, dtype: DType) -> float:
    """Materialize a Python number in the dtype the plan converts it to.

    Args:
        value: A real Python number.
        dtype: Float32 or Int32.

    Returns:
        The int itself, or the float rounded to binary32 (an infinity when too large).

    Raises:
        OverflowError: An integer does not fit a binary64.
    """
    if dtype is DType.Int32:
        return int(value)
    try:
        return binary32.rounded_scalar(float(value))
    except OverflowError:
        raise OverflowError(
            f"weak scalar {type(value).__qualname__} is too large for a binary64; pass a number "
            "below 2**1024 in magnitude"
        ) from None


def converted_operands(invocation: ResolvedInvocation) -> list[Numbers]:
    """Read every planned operand in logical order, converted as the plan says.

    Args:
        invocation: Its Tensor operands are aligned; a weak scalar stands for as many equal values
            as the result has.

    Returns:
        One list per TENSOR or WEAK_SCALAR operand.
    """
    plans = iter(invocation.plan.operands)
    size = invocation.results[0].layout.size
    columns: list[Numbers] = []
    for spec, operand in zip(invocation.call.schema.operands, invocation.operands, strict=True):
        if spec.kind is OperandKind.STRUCTURAL:
            continue
        target = next(plans).convert_to
        if isinstance(operand, Tensor):
            columns.append(_converted(logical_values(operand), operand.dtype(), target))
        else:
            columns.append([convert_weak_scalar(operand, target)] * size)
    return columns


def _converted(values: Numbers, source: DType, target: DType) -> Numbers:
    if source is target:
        return values
    return binary32.rounded(values) if target is DType.Float32 else [int(value) for value in values]


def first_tensor(invocation: ResolvedInvocation) -> Tensor:
    """Return the Tensor operand whose carrier allocates the results."""
    for operand in invocation.operands:
        if isinstance(operand, Tensor):
            return operand
    raise TypeError(f"{invocation.name}: a reference needs a Tensor operand to allocate like")


def storage_order(layout: Layout, values: Sequence[Any]) -> Sequence[Any]:
    """Place values in logical order at the slots of a compact layout."""
    if layout == canonical_layout(layout.shape):
        return values
    stored = list(values)
    for slot, value in zip(slots(layout), values, strict=True):
        stored[slot] = value
    return stored


def allocated(invocation: ResolvedInvocation, values: Sequence[Any]) -> Tensor:
    """Publishable result: values in logical order over a fresh carrier.

    Args:
        invocation: Names the result's dtype and its compact layout.
        values: One value per coordinate, first mode fastest.

    Returns:
        A Tensor at offset 0 of a carrier with ``layout.cosize`` slots.
    """
    spec = invocation.results[0]
    carrier = first_tensor(invocation).carrier
    stored = storage_order(spec.layout, values)
    if spec.dtype is carrier.dtype():
        fresh = carrier.new_like(stored)
    else:
        fresh = carrier.new_like(stored, dtype=spec.dtype)
    return tensor_over(fresh, 0, spec.layout)


def pointwise_reference(
    compute: Callable[..., Iterable[Any]], integer: Callable[..., Iterable[Any]] | None = None
) -> Callable[[ResolvedInvocation], Tensor]:
    """Make the reference of a pointwise operation from a function of one list per operand.

    Args:
        compute: The function for BINARY32 plans, and for all plans without ``integer``.
        integer: The function for Int32 plans; a checked plan's result is range-checked.
    """

    def reference(invocation: ResolvedInvocation) -> Tensor:
        columns = converted_operands(invocation)
        arithmetic = invocation.plan.compute
        if integer is None or arithmetic is Arithmetic.BINARY32:
            return allocated(invocation, list(compute(*columns)))
        values = list(integer(*columns))
        if arithmetic is Arithmetic.INT32_EXACT_CHECKED:
            checked_int32(invocation.name, values)
        return allocated(invocation, values)

    return reference
