"""One catalogue call as data: operands with their storage and layout, without a carrier."""

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias, final

from strideweave._record import record
from strideweave.carriers.base import Carrier
from strideweave.dtype import DType, SimpleDType
from strideweave.layout.enumeration import slots
from strideweave.layout.layout import Layout
from strideweave.layout.shape import Shape
from strideweave.operation.definition import Alignment, operation_definition
from strideweave.operation.pipeline import invoke
from strideweave.ops.alignment import reduce_alignment
from strideweave.ops.contraction_alignment import einsum_alignment
from strideweave.ops.metadata import layout_of
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor

Value: TypeAlias = float | int | bool
MakeCarrier: TypeAlias = Callable[[Sequence[Value], SimpleDType], Carrier]

# Fills the slots that no coordinate reads; a kernel that uses one shows it.
_POISON: Mapping[SimpleDType, Value] = {
    DType.Float32: -12345.0,
    DType.Int32: -12345,
    DType.Bool: True,
}


@final
@record
class OperandCase:
    """One Tensor operand: the values of all slots of its carrier, and how it reads them.

    Attributes:
        dtype: Storage dtype.
        storage: Value of every slot.
        offset: Slot of the layout's index zero.
        layout: Placement layout.
    """

    dtype: SimpleDType
    storage: tuple[Value, ...]
    offset: int
    layout: Layout

    def tensor(self, make_carrier: MakeCarrier) -> Tensor:
        """Build the Tensor on a fresh carrier."""
        return Tensor(make_carrier(self.storage, self.dtype), self.offset, self.layout)


@final
@record
class OperationCase:
    """One call of a catalogue operation.

    Attributes:
        name: Unique description, for test ids.
        operation: Catalogue name.
        operands: OperandCases, Python numbers and structural values, in schema order.
        options: Options by name.
        description: Command that the operands are lowered by, or None: of a reduction, or of a
            contraction for products.
        agreement: ``"exact"`` for equal bits, ``"library"`` for functions and ``"sum"`` for sums in
            free order, within the tolerances of the catalogue.
    """

    name: str
    operation: str
    operands: tuple[Any, ...]
    options: Mapping[str, object] = field(default_factory=dict)
    description: str | None = None
    agreement: str = "exact"

    def __str__(self) -> str:
        return self.name

    def build(self, make_carrier: MakeCarrier) -> tuple[Any, ...]:
        """Build the operands on fresh carriers."""
        return tuple(
            operand.tensor(make_carrier) if isinstance(operand, OperandCase) else operand
            for operand in self.operands
        )


def call_case(case: OperationCase, operands: tuple[Any, ...]) -> Tensor:
    """Call the case's operation on operands that ``build`` made."""
    definition = operation_definition(case.operation)
    result: Tensor = invoke(definition, operands, case.options, _alignment(case))
    return result


def _alignment(case: OperationCase) -> Alignment | None:
    if case.description is None:
        return None
    lower = einsum_alignment if len(case.operands) > 1 else reduce_alignment
    return lower(case.description)


def run_case(case: OperationCase, make_carrier: MakeCarrier) -> Tensor:
    """Build the case on fresh carriers and execute it."""
    return call_case(case, case.build(make_carrier))


def operand(
    dtype: SimpleDType, values: Sequence[Value], layout: Layout, offset: int = 0
) -> OperandCase:
    """Place values in logical order; a slot read several times gets its first coordinate's value.

    Args:
        dtype: Storage dtype.
        values: Repeated as often as needed.
        layout: Placement; slots it skips are filled with a poison value.
        offset: Slots before the layout's index zero.
    """
    storage = [_POISON[dtype]] * (offset + layout.cosize + 1)
    reached = slots(layout)
    for ordinal in reversed(range(len(reached))):
        storage[offset + reached[ordinal]] = values[ordinal % len(values)]
    return OperandCase(dtype, tuple(storage), offset, layout)


def _strides(extents: Sequence[int], *, step: int = 1, padding: int = 0) -> tuple[int, ...]:
    strides: list[int] = []
    for extent in extents:
        strides.append(step)
        step = step * extent + padding
    return tuple(strides)


def placements(shape: Shape) -> dict[str, tuple[Layout, int]]:
    """The layout families of a shape with at least two leaves.

    Args:
        shape: Any nesting.

    Returns:
        Layout and offset by family name: contiguous, transposed, sliced, padded and stride 0 in
        the first or in the last leaf.
    """
    extents = shape.leaves
    contiguous = _strides(extents)
    families = {
        "contiguous": (contiguous, 0),
        "transposed": (_strides(extents[::-1])[::-1], 0),
        "sliced": (_strides(extents, step=2), 1),
        "padded": (_strides(extents, padding=1), 3),
        "stride0-first": ((0, *_strides(extents[1:])), 0),
        "stride0-last": ((*contiguous[:-1], 0), 2),
    }
    return {
        name: (layout_of(shape, strides), offset) for name, (strides, offset) in families.items()
    }


def absolute(case: OperationCase) -> OperationCase:
    """The same case over the magnitudes of all numbers: bounds the terms of a sum."""
    return replace(
        case,
        operands=tuple(
            replace(given, storage=tuple(abs(value) for value in given.storage))
            if isinstance(given, OperandCase) and given.dtype is not DType.Bool
            else given
            for given in case.operands
        ),
    )


def _same_bits(actual: Value, expected: Value) -> bool:
    if isinstance(expected, float):
        if math.isnan(expected):
            return isinstance(actual, float) and math.isnan(actual)
        return type(actual) is float and struct.pack("f", actual) == struct.pack("f", expected)
    return type(actual) is type(expected) and actual == expected


def _is_close(actual: Value, expected: Value, scale: float) -> bool:
    if _same_bits(actual, expected) or actual == expected:
        return True
    if not (math.isfinite(actual) and math.isfinite(expected)):
        return False
    return abs(actual - expected) <= 1e-6 + 1e-5 * scale


def disagreement(case: OperationCase, actual: Tensor, expected: Tensor) -> str | None:
    """Compare the result of a case with the reference carrier's.

    Args:
        case: The executed case.
        actual: Result on the carrier under test.
        expected: Result on the reference carrier, which also executes ``absolute(case)``.

    Returns:
        None where they agree, else what differs first.
    """
    for name, mine, wanted in (
        ("dtype", actual.dtype(), expected.dtype()),
        ("layout", actual.layout, expected.layout),
        ("offset", actual.offset, 0),
        ("slots", actual.carrier.size(), expected.layout.cosize),
    ):
        if mine != wanted:
            return f"{case}: {name} is {mine}, the reference has {wanted}"
    values = list(zip(logical_values(actual), logical_values(expected), strict=True))
    if case.agreement == "exact":
        wrong = [pair for pair in values if not _same_bits(*pair)]
    else:
        scales = _scales(case, expected)
        wrong = [
            pair for pair, scale in zip(values, scales, strict=True) if not _is_close(*pair, scale)
        ]
    if wrong:
        return f"{case}: {len(wrong)} values differ, first {wrong[0][0]!r} for {wrong[0][1]!r}"
    return None


def _scales(case: OperationCase, expected: Tensor) -> list[float]:
    if case.agreement == "library":
        return [abs(value) for value in logical_values(expected)]
    carrier = expected.carrier

    def same_class(values: Sequence[Value], dtype: SimpleDType) -> Carrier:
        return carrier.new_like(values, dtype=dtype)

    return [float(value) for value in logical_values(run_case(absolute(case), same_class))]
