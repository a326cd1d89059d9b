"""Values of one top-level mode as slices, and the structural parameter that names the mode."""

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from strideweave.layout.layout import Layout
from strideweave.ops.reference import Numbers


def checked_integer(operation: str, name: str, value: object) -> int:
    """Return an integer parameter as an int.

    Raises:
        TypeError: The value is a bool or no integer.
    """
    if type(value) is int:
        return value
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        return index(value)
    raise TypeError(
        f"{operation}: {name} must be an integer, got {type(value).__qualname__} {value!r}"
    )


def checked_axis(operation: str, value: object, layout: Layout, name: str = "axis") -> int:
    """Return the position of a top-level mode, counted from 0.

    Args:
        operation: Operation name for messages.
        value: What the caller gave; a negative integer counts from the end.
        layout: Layout of the operand.
        name: Name of the parameter.

    Raises:
        TypeError: The value is a bool or no integer.
        ValueError: The operand has no such mode.
    """
    axis = checked_integer(operation, name, value)
    rank = len(layout)
    if not -rank <= axis < rank:
        raise ValueError(
            f"{operation}: {name} out of range: {axis} for layout {layout}, which has {rank} "
            "top-level mode(s)"
        )
    return axis % rank


def checked_new_axis(operation: str, value: object, rank: int) -> int:
    """Return where a mode is inserted, counted from 0.

    Args:
        operation: Operation name for messages.
        value: What the caller gave; a negative integer counts from the end of the result.
        rank: Top-level modes before the insertion.

    Raises:
        TypeError: The value is a bool or no integer.
        ValueError: There is no such place.
    """
    axis = checked_integer(operation, "axis", value)
    if not -rank - 1 <= axis <= rank:
        raise ValueError(
            f"{operation}: axis out of range: {axis} for a mode inserted into {rank}, give "
            f"{-rank - 1} to {rank}"
        )
    return axis % (rank + 1)


def stride_of_axis(layout: Layout, axis: int) -> int:
    """Count the coordinates that precede one step along a mode in logical order."""
    return layout[:axis].size if axis else 1


def split(values: Numbers, extent: int, inner: int) -> list[Numbers]:
    """Split values into one list per position along a mode.

    Args:
        values: Values in logical order.
        extent: Size of the mode.
        inner: Coordinates that precede one step along the mode.

    Returns:
        For each position, the values of all other coordinates in logical order.
    """
    if inner == 1:
        return [values[position::extent] for position in range(extent)]
    block = extent * inner
    return [
        [
            value
            for start in range(position * inner, len(values), block)
            for value in values[start : start + inner]
        ]
        for position in range(extent)
    ]


def joined(slices: Sequence[Numbers], inner: int) -> Numbers:
    """Undo ``split`` for a mode with one position per slice."""
    if not slices:
        return []
    return [
        value
        for start in range(0, len(slices[0]), inner)
        for entries in slices
        for value in entries[start : start + inner]
    ]
