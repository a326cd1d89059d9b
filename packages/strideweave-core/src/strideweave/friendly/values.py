"""Tensors from Python values."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, TypeAlias

from strideweave.dtype import DType, storage_zero
from strideweave.friendly.carriers import CarrierChoice, new_like, prototype
from strideweave.friendly.layouts import column_major
from strideweave.layout import Layout
from strideweave.layout.enumeration import slots
from strideweave.tensor.tensor import Tensor

Nested: TypeAlias = "Sequence[float | Nested]"


def tensor(
    values: "Nested | Iterable[float]",
    *,
    layout: Layout | None = None,
    dtype: DType = DType.Float32,
    carrier: CarrierChoice = None,
) -> Tensor:
    """Make a tensor from Python values.

    Args:
        values: Without a layout, nested lists or tuples: one flat mode per level, outermost first,
            so that ``tensor(values)[i, j] == values[i][j]``. With a layout, any finite iterable of
            values in logical order, first mode fastest.
        layout: Where the values are placed; column-major when None. Coordinates that share a slot
            need equal values.
        dtype: What to store; a carrier that does not store it raises its own error.
        carrier: A Carrier class, an instance to allocate like, or None for CPU.

    Returns:
        A leaf at offset 0 of ``layout.cosize`` fresh slots; slots outside the layout hold zero.

    Raises:
        ValueError: Nested values are empty or not rectangular, or there are more or fewer values
            than coordinates.
        TypeError: ``layout`` is no Layout, ``values`` is not iterable, a value does not fit the
            dtype, or ``carrier`` is something else.
        OverflowError: A value is too large for the dtype.
        ImportError: ``carrier`` is None and strideweave-compute is not installed.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> t = sw.friendly.tensor([[1.0, 2.0], [3.0, 4.0]], carrier=ArrayCarrier)
        >>> str(t.layout), t[1, 0], sw.friendly.to_list(t)
        ('(2,2):(1,2)', 3.0, [1.0, 3.0, 2.0, 4.0])
    """
    if layout is None:
        extents = _extents(values)
        _require_rectangular(values, extents)
        placed = _first_mode_fastest(values, len(extents))
        layout = column_major(*extents)
    else:
        placed = _placed(values, layout, dtype)
    return Tensor(new_like(prototype(carrier, dtype), placed, dtype), 0, layout)


def _extents(values: object) -> tuple[int, ...]:
    """Follow the first entry of each level down to a value."""
    if not isinstance(values, (list, tuple)) or not values:
        raise ValueError(
            f"tensor: values must be a non-empty list or tuple, got {values!r}; write one number "
            "as [number], and hand a NumPy array to strideweave.from_numpy"
        )
    extents = []
    level: object = values
    while isinstance(level, (list, tuple)):
        if not level:
            raise ValueError("tensor: values must not contain empty levels")
        extents.append(len(level))
        level = level[0]
    return tuple(extents)


def _require_rectangular(level: Any, extents: tuple[int, ...]) -> None:
    for entry in level:
        is_level = isinstance(entry, (list, tuple))
        if is_level and not entry:
            raise ValueError("tensor: values must not contain empty levels")
        if is_level != (len(extents) > 1) or (is_level and len(entry) != extents[1]):
            raise ValueError(
                "tensor: values must be rectangular, each level with entries of one length and "
                f"depth; found {entry!r} among entries of extents {extents[1:]}"
            )
        if is_level:
            _require_rectangular(entry, extents[1:])


def _first_mode_fastest(level: Any, depth: int) -> list[Any]:
    if depth == 1:
        return list(level)
    parts = [_first_mode_fastest(part, depth - 1) for part in level]
    return list(chain.from_iterable(zip(*parts, strict=True)))


def _placed(values: object, layout: object, dtype: DType) -> list[Any]:
    if not isinstance(layout, Layout):
        raise TypeError(f"tensor: layout must be a Layout, got {type(layout).__qualname__}")
    if not isinstance(values, Iterable):
        raise TypeError(f"tensor: values must be iterable, got {type(values).__qualname__}")
    listed = list(values)
    if len(listed) != layout.size:
        raise ValueError(
            f"tensor: {len(listed)} values do not fill the logical size {layout.size} of {layout!r}"
        )
    placed: list[Any] = [storage_zero(dtype)] * layout.cosize
    for slot, value in zip(slots(layout), listed, strict=True):
        placed[slot] = value
    if not layout.is_injective:
        _require_agreement(listed, placed, layout)
    return placed


def _require_agreement(listed: list[Any], placed: list[Any], layout: Layout) -> None:
    for ordinal, (slot, value) in enumerate(zip(slots(layout), listed, strict=True)):
        if placed[slot] is not value and placed[slot] != value:
            raise ValueError(
                f"tensor: coordinates of {layout!r} share slot {slot} but are given different "
                f"values; ordinal {ordinal} is {value!r}, a later one {placed[slot]!r}"
            )
