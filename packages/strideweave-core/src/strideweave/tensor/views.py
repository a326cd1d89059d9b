"""Public zero-copy views.

Each runs through the carrier's dispatch, so that a custom carrier may serve it, and is recorded
like any operation. A view has the source's dtype and carrier; writing through one shows in the
other.
"""

from collections.abc import Iterable
from typing import SupportsIndex, overload

from strideweave.commands.rearrange import parse_rearrange
from strideweave.layout import Shape, Stride, Tree
from strideweave.tensor.tensor import Tensor
from strideweave.tensor.view_arguments import integer
from strideweave.tensor.view_operation import require_tensor


def _dispatched(name: str, tensor: Tensor, *arguments: object) -> Tensor:
    require_tensor(tensor)
    view: Tensor = tensor.carrier.dispatch_op(name).forward(tensor, *arguments)
    return view


@overload
def rearrange(tensor: Tensor, output: str) -> Tensor: ...
@overload
def rearrange(tensor: Tensor, output: Tree, selection: Tree | None = None) -> Tensor: ...
def rearrange(tensor: Tensor, output: Tree | str, selection: Tree | None = None) -> Tensor:
    """Reorder, nest, drop and insert modes.

    Args:
        tensor: The source.
        output: A description such as ``"a b -> b 1 a"``, or a Tree whose ``Node.id(n)`` leaves
            place source ``n`` and whose plain leaves insert extent 1 with stride 0.
        selection: The modes that count as sources, as a Tree along the shape; by default every
            leaf, depth first. Only together with a Tree.

    Returns:
        The view.

    Raises:
        TypeError: If a string comes with a selection, or an argument has the wrong type.
        ValueError: If the description is malformed, the selection does not fit the shape, or a
            source of more than one element is missing, repeated or out of range.

    Examples:
        >>> from strideweave import DType, Layout, Shape, Stride, Tensor, rearrange
        >>> from strideweave.testing import ArrayCarrier
        >>> matrix = Tensor(
        ...     ArrayCarrier(6, dtype=DType.Float32), 0, Layout(Shape(2, 3), Stride(1, 2))
        ... )
        >>> str(rearrange(matrix, "a b -> b 1 a").layout)
        '(3,1,2):(2,0,1)'
    """
    if isinstance(output, str):
        if selection is not None:
            raise TypeError(
                "string descriptions do not accept an explicit selection: the left side of "
                f"{output!r} is the selection"
            )
        spec = parse_rearrange(output)
        output, selection = spec.output, spec.selection
    return _dispatched("rearrange", tensor, output, selection)


def permute(tensor: Tensor, *order: int | Iterable[int]) -> Tensor:
    """Reorder the top-level modes.

    Args:
        tensor: The source.
        *order: For each mode of the view the source mode it shows, as several integers or one
            iterable; a nested mode moves whole.

    Returns:
        The view.

    Raises:
        TypeError: If ``tensor`` is no Tensor or an entry is not exactly an ``int``.
        ValueError: If the order is no complete permutation of the modes.

    Examples:
        >>> from strideweave import DType, Layout, Shape, Stride, Tensor, permute
        >>> from strideweave.testing import ArrayCarrier
        >>> matrix = Tensor(
        ...     ArrayCarrier(6, dtype=DType.Float32), 0, Layout(Shape(2, 3), Stride(1, 2))
        ... )
        >>> str(permute(matrix, 1, 0).layout)
        '(3,2):(2,1)'
    """
    return _dispatched("permute", tensor, *order)


def reshape(tensor: Tensor, shape: Shape) -> Tensor:
    """Show the same values, in the same logical order, in another shape.

    Args:
        tensor: The source. Its layout must step evenly: visited first mode fastest, its slots are
            equally far apart.
        shape: The target, of the same size; nothing is inferred.

    Returns:
        The view. This never copies.

    Raises:
        TypeError: If ``tensor`` is no Tensor or ``shape`` no Shape.
        ValueError: If the sizes differ or the layout does not step evenly.

    Examples:
        >>> from strideweave import DType, Layout, Shape, Stride, Tensor, reshape
        >>> from strideweave.testing import ArrayCarrier
        >>> matrix = Tensor(
        ...     ArrayCarrier(11, dtype=DType.Float32), 0, Layout(Shape(2, 3), Stride(2, 4))
        ... )
        >>> str(reshape(matrix, Shape(3, 2)).layout)
        '(3,2):(2,6)'
    """
    return _dispatched("reshape", tensor, shape)


def as_strided(tensor: Tensor, shape: Shape, stride: Stride) -> Tensor:
    """Select source ordinals by a layout.

    Args:
        tensor: The source.
        shape: The shape of the view.
        stride: Strides in *ordinals* of the source, not in slots: coordinate ``c`` of the view
            shows source ordinal ``Layout(shape, stride)(c)``.

    Returns:
        The view, which starts at ordinal zero.

    Raises:
        TypeError: If an argument has the wrong type.
        RuntimeError: If the carrier is released.
        ValueError: If shape and stride are nested differently, the selection repeats or exceeds
            the source's ordinals, two coordinates would share a slot, or no layout expresses it.

    Examples:
        >>> from strideweave import DType, Layout, Shape, Stride, Tensor, as_strided
        >>> from strideweave.testing import ArrayCarrier
        >>> matrix = Tensor(
        ...     ArrayCarrier(10, dtype=DType.Float32), 0, Layout(Shape(2, 3), Stride(1, 4))
        ... )
        >>> str(as_strided(matrix, Shape(3, 2), Stride(2, 1)).layout)
        '(3,2):(4,1)'
    """
    return _dispatched("as_strided", tensor, shape, stride)


def broadcast_to(tensor: Tensor, target: Shape) -> Tensor:
    """Widen extent-one leaves with stride zero.

    Args:
        tensor: The source.
        target: A shape of the same nesting whose leaves equal the source's or replace an extent
            of 1.

    Returns:
        The view; repeated coordinates share one slot.

    Raises:
        TypeError: If ``tensor`` is no Tensor or ``target`` no Shape.
        ValueError: If the nestings differ or a leaf of another extent would change.

    Examples:
        >>> from strideweave import DType, Layout, Shape, Stride, Tensor, broadcast_to
        >>> from strideweave.testing import ArrayCarrier
        >>> row = Tensor(ArrayCarrier(3, dtype=DType.Float32), 0, Layout(Shape(1, 3), Stride(1, 1)))
        >>> str(broadcast_to(row, Shape(4, 3)).layout)
        '(4,3):(0,1)'
    """
    return _dispatched("broadcast_to", tensor, target)


def broadcast_in_dim(
    tensor: Tensor, target: Shape, broadcast_dimensions: Iterable[SupportsIndex]
) -> Tensor:
    """Insert modes, then widen.

    Args:
        tensor: The source.
        target: The shape of the view.
        broadcast_dimensions: For each source mode the target mode that it occupies, strictly
            increasing. The other target modes are inserted as leaves.

    Returns:
        The view. Each insertion and the widening are recorded as nodes of their own.

    Raises:
        TypeError: If an argument has the wrong type or a position is no integer.
        ValueError: If the positions are too few, too many, out of range or not increasing, or the
            result cannot be widened to ``target``.

    Examples:
        >>> from strideweave import DType, Layout, Shape, Stride, Tensor, broadcast_in_dim
        >>> from strideweave.testing import ArrayCarrier
        >>> vector = Tensor(ArrayCarrier(2, dtype=DType.Float32), 0, Layout(Shape(2), Stride(1)))
        >>> str(broadcast_in_dim(vector, Shape(3, 2, 4), (1,)).layout)
        '(3,2,4):(0,1,0)'
    """
    require_tensor(tensor)
    if not isinstance(target, Shape):
        raise TypeError(
            f"target must be a Shape such as Shape(2, 3), got {type(target).__qualname__}"
        )
    occupied = _positions(broadcast_dimensions, len(tensor.layout), len(target))
    for position in range(len(target)):
        if position not in occupied:
            tensor = unsqueeze(tensor, position)
    return broadcast_to(tensor, target)


def _positions(values: object, source_rank: int, target_rank: int) -> list[int]:
    if not isinstance(values, Iterable):
        raise TypeError(
            f"broadcast_dimensions must contain integers, got {type(values).__qualname__}"
        )
    positions = []
    for value in values:
        position = integer(value)
        if position is None:
            raise TypeError(
                f"broadcast_dimensions must contain integers, got {type(value).__qualname__}"
            )
        positions.append(position)
    if len(positions) != source_rank:
        raise ValueError(
            f"broadcast_dimensions needs one position per source mode: {source_rank} expected, "
            f"got {len(positions)}"
        )
    for position in positions:
        if not 0 <= position < target_rank:
            raise ValueError(
                f"broadcast_dimensions has the out-of-range position {position}, the target has "
                f"{target_rank} modes"
            )
    if positions != sorted(set(positions)):
        raise ValueError(f"broadcast_dimensions must be strictly increasing, got {positions}")
    return positions


def unsqueeze(tensor: Tensor, dim: SupportsIndex) -> Tensor:
    """Insert an extent-one mode.

    Args:
        tensor: The source.
        dim: Where the new mode stands in the view, in ``[-(rank + 1), rank]``.

    Returns:
        The view; the new mode has stride zero.

    Raises:
        TypeError: If ``tensor`` is no Tensor or ``dim`` no integer.
        ValueError: If ``dim`` is out of range.

    Examples:
        >>> from strideweave import DType, Layout, Shape, Stride, Tensor, unsqueeze
        >>> from strideweave.testing import ArrayCarrier
        >>> vector = Tensor(ArrayCarrier(2, dtype=DType.Float32), 0, Layout(Shape(2), Stride(1)))
        >>> str(unsqueeze(vector, 0).layout), str(unsqueeze(vector, -1).layout)
        ('(1,2):(0,1)', '(2,1):(1,0)')
    """
    return _dispatched("unsqueeze", tensor, dim)


def squeeze(tensor: Tensor, dim: SupportsIndex) -> Tensor:
    """Remove an extent-one mode.

    Args:
        tensor: The source.
        dim: The mode to remove, in ``[-rank, rank - 1]``; a top-level leaf of extent 1.

    Returns:
        The view.

    Raises:
        TypeError: If ``tensor`` is no Tensor or ``dim`` no integer.
        ValueError: If ``dim`` is out of range or the mode is no extent-one leaf.

    Examples:
        >>> from strideweave import DType, Layout, Shape, Stride, Tensor, squeeze
        >>> from strideweave.testing import ArrayCarrier
        >>> row = Tensor(ArrayCarrier(3, dtype=DType.Float32), 0, Layout(Shape(1, 3), Stride(1, 1)))
        >>> str(squeeze(row, 0).layout)
        '3:1'
    """
    return _dispatched("squeeze", tensor, dim)
