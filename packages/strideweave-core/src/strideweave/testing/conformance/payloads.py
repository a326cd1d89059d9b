"""What is moved by the checks of transfers: values, and the layouts in which they lie."""

from collections.abc import Iterator
from typing import Final, final

from strideweave._record import record
from strideweave.dtype import SimpleDType
from strideweave.layout import Layout, Shape, Stride
from strideweave.layout.enumeration import slots
from strideweave.testing.conformance.values import SPECIAL, distinct
from strideweave.testing.operation_case import Value

_PLACEMENTS: Final[tuple[tuple[Layout, int], ...]] = (
    (Layout(Shape(6), Stride(1)), 0),
    (Layout(Shape(4), Stride(1)), 3),
    (Layout(Shape(3), Stride(2)), 1),
    (Layout(Shape(2, 3), Stride(3, 1)), 2),
    (Layout(Shape((2, 2), 3), Stride((1, 6), 2)), 1),
    (Layout(Shape(2, 3), Stride(1, 0)), 2),
)
"""Layouts with their offsets: flat, inside, with holes, permuted, nested, and of stride 0."""

_EXTRA: Final = 2
_MANY: Final = 2053


@final
@record
class Payload:
    """A Tensor to move.

    Attributes:
        values: Of all slots of the source.
        layout: Of the Tensor.
        offset: Of the Tensor.
        note: What is notable, for messages.
    """

    values: list[Value]
    layout: Layout
    offset: int
    note: str

    @property
    def room(self) -> int:
        """Slots of a destination that is larger than need be."""
        return self.layout.cosize + _EXTRA

    @property
    def logical(self) -> list[Value]:
        """The values in logical order."""
        return [self.values[self.offset + slot] for slot in slots(self.layout)]


def payloads(dtype: SimpleDType, salt: int = 0) -> Iterator[Payload]:
    """Give values that tell slots apart in every layout, special values, and many values."""
    for layout, offset in _PLACEMENTS:
        values = distinct(dtype, offset + layout.cosize + _EXTRA, salt)
        yield Payload(values, layout, offset, f"{layout} at offset {offset}")
    for values, note in (
        ([*SPECIAL[dtype]], "special values"),
        (distinct(dtype, _MANY, salt), f"{_MANY} values"),
    ):
        yield Payload(values, Layout(Shape(len(values)), Stride(1)), 0, note)
