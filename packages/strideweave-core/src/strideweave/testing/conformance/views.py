"""Checks of Tensors over a carrier, and of views of them."""

from collections.abc import Callable
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from strideweave.carriers.base import Carrier
from strideweave.functional import (
    broadcast_to,
    permute,
    rearrange,
    reshape,
    squeeze,
    unsqueeze,
)
from strideweave.layout import Layout, Node, Shape, Stride, Tree
from strideweave.operation.grad_mode import no_grad
from strideweave.tensor.tensor import Tensor
from strideweave.testing.conformance.abilities import Ability
from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.check import ConformanceFailure, check, require
from strideweave.testing.conformance.values import distinct, same, span_of

_SLOTS: Final = 64
_BULK_SLOTS: Final = 24

_VIEWS: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    "view": lambda tensor: tensor[:, 1:2],
    "rearrange": lambda tensor: rearrange(tensor, Tree(Node.id(1), Node.id(0))),
    "permute": lambda tensor: permute(tensor, 1, 0),
    "reshape": lambda tensor: reshape(tensor, Shape(6)),
    "broadcast_to": lambda tensor: broadcast_to(tensor, Shape(2, 3)),
    "unsqueeze": lambda tensor: unsqueeze(tensor, 0),
    "squeeze": lambda tensor: squeeze(unsqueeze(tensor, 0), 0),
}


@check("views.layouts")
def layouts(subject: CarrierAdapter[Any]) -> None:
    """A Tensor reads and writes the slots that its layout names, and no others."""

    @settings(max_examples=20, deadline=None, database=None, derandomize=True)
    @given(_placements())
    def hold(placement: tuple[Layout, int]) -> None:
        layout, offset = placement
        dtype = subject.dtypes[0]
        carrier = subject.make(_SLOTS, dtype)
        before = distinct(dtype, _SLOTS)
        for slot, value in enumerate(before):
            carrier[slot] = value
        for slot in range(_SLOTS):
            carrier[slot]  # what is read before a write must not be read again after it
        tensor = Tensor(carrier, offset, layout)
        last = tuple(extent - 1 for extent in layout.leaf_extents)
        expected = list(before)
        expected[offset + layout.cosize - 1] = tensor[last] = distinct(dtype, 1, salt=7000)[0]
        _require_slots(subject, carrier, tensor, expected)

    hold()


@st.composite
def _placements(draw: st.DrawFn) -> tuple[Layout, int]:
    extents = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    strides = [draw(st.integers(0, 6)) for _ in extents]
    layout = Layout(Shape(*extents), Stride(*strides))
    return layout, draw(st.integers(0, _SLOTS - layout.cosize))


def _require_slots(
    subject: CarrierAdapter[Any], carrier: Carrier, tensor: Tensor, expected: list[Any]
) -> None:
    what = f"after a write to the last element of {tensor.layout} at offset {tensor.offset}"
    for slot, value in enumerate(expected):
        found = carrier[slot]
        require(
            same(found, value),
            f"{what} slot {slot} of its {subject.name} is {found!r}, it must be {value!r}",
        )


@check("views.bulk-writes")
def bulk_writes(subject: CarrierAdapter[Any]) -> None:
    """Slots read after a bulk write have its values."""
    for dtype in subject.dtypes:
        carrier = subject.make(_BULK_SLOTS, dtype)
        expected = [carrier[slot] for slot in range(_BULK_SLOTS)]  # none is to be read again after
        for start, count in ((17, 5), (0, _BULK_SLOTS), (2, 9)):
            values = distinct(dtype, count, salt=13 + start)
            Tensor(carrier, start, Layout(Shape(count), Stride(1)))[...] = span_of(dtype, values)
            expected[start : start + count] = values
            for slot, value in enumerate(expected):
                found = carrier[slot]
                require(
                    same(found, value),
                    f"after a bulk write of {count} {dtype.name} values from slot {start} on, slot "
                    f"{slot} of a {subject.name} reads {found!r}, it must be {value!r}",
                )


@check("views.alias")
def alias(subject: CarrierAdapter[Any]) -> None:
    """A view shares the storage of the Tensor that it views."""
    dtype = subject.dtypes[0]
    for name, view in _VIEWS.items():
        carrier = subject.make(9, dtype)
        tensor = Tensor(carrier, 2, Layout(Shape(2, 3), Stride(1, 2)))
        try:
            with no_grad():
                viewed = view(tensor)
        except NotImplementedError as error:
            if Ability.COMPUTES not in subject.abilities:
                continue  # a carrier that executes nothing may refuse every name
            raise ConformanceFailure(f"{subject.name} has no {name}: {error}") from error
        require(
            viewed.carrier is carrier,
            f"{name} of a Tensor on a {subject.name} copied into another carrier; a view shares "
            "the storage",
        )
        value = distinct(dtype, 1, salt=8000)[0]
        viewed[(0,) * len(viewed.layout.shape.top_level)] = value
        require(
            any(same(carrier[slot], value) for slot in range(9)),
            f"a write through {name} did not reach the viewed {subject.name}",
        )
