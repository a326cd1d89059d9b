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
from strideweave.testing.conformance.values import distinct, same

_SLOTS: Final = 64

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
    """A Tensor reads and writes the slots that its layout names."""

    @settings(max_examples=40, deadline=None, database=None, derandomize=True)
    @given(_placements())
    def hold(placement: tuple[Layout, int]) -> None:
        layout, offset = placement
        dtype = subject.dtypes[0]
        carrier = subject.make(_SLOTS, dtype)
        before = distinct(dtype, _SLOTS)
        for slot, value in enumerate(before):
            carrier[slot] = value
        tensor = Tensor(carrier, offset, layout)
        last = tuple(extent - 1 for extent in layout.leaf_extents)
        tensor[last] = distinct(dtype, 1, salt=7000)[0]
        _require_changed(subject, carrier, tensor, before, last)

    hold()


@st.composite
def _placements(draw: st.DrawFn) -> tuple[Layout, int]:
    extents = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    strides = [draw(st.integers(0, 6)) for _ in extents]
    layout = Layout(Shape(*extents), Stride(*strides))
    return layout, draw(st.integers(0, _SLOTS - layout.cosize))


def _require_changed(
    subject: CarrierAdapter[Any],
    carrier: Carrier,
    tensor: Tensor,
    before: list[Any],
    last: tuple[int, ...],
) -> None:
    written = tensor.offset + tensor.layout.cosize - 1
    for slot, value in enumerate(before):
        found = carrier[slot]
        require(
            slot == written or same(found, value),
            f"writing coordinate {last} of a Tensor of {tensor.layout} at offset {tensor.offset} "
            f"changed slot {slot} of its {subject.name}, which the coordinate does not name",
        )
    require(
        same(tensor[last], carrier[written]),
        f"coordinate {last} of a Tensor of {tensor.layout} at offset {tensor.offset} is "
        f"{tensor[last]!r}, slot {written} of its {subject.name} holds {carrier[written]!r}",
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
