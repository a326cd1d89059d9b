"""The public functions that move and copy Tensors between carriers."""

from strideweave.carriers.base import Carrier
from strideweave.carriers.move import request
from strideweave.carriers.move.handles import AwaitMove
from strideweave.tensor.tensor import Tensor


def move(tensor: Tensor, destination: Carrier) -> Tensor:
    """Move the values of a Tensor into another carrier, and release the source carrier.

    The whole source carrier is released, also when the Tensor is a view of part of it: every
    Tensor over it becomes unusable. Gradients flow back through the move.

    Args:
        tensor: Any Tensor over a live carrier that nobody owns.
        destination: A mutable carrier of the same dtype with at least ``layout.cosize`` slots. An
            empty one that can allocate is given exactly that many.

    Returns:
        A Tensor over ``destination`` from slot 0, in the same layout and so of the same shape and
        dtype.

    Raises:
        NotImplementedError: No permitted route joins the two exact classes, a provider declines,
            or a gradient could not come back.
        TypeError: An argument has the wrong type, or the dtypes differ.
        ValueError: The destination is too small, or is the source's own carrier.
        RuntimeError: A carrier is released, owned, immutable or evicted.

    A failure leaves the source live and readable. What a provider raises propagates.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> source = ArrayCarrier(3, dtype=sw.DType.Float32).new_like([1, 2, 3])
        >>> tensor = sw.Tensor(source, 1, sw.Layout(sw.Shape(2), sw.Stride(1)))
        >>> moved = sw.move(tensor, ArrayCarrier(0, dtype=sw.DType.Float32))
        >>> moved.tolist(), moved.offset, moved.carrier.size(), source.is_released()
        ([2.0, 3.0], 0, 2, True)
    """
    return request.start(tensor, destination, is_blocking=True).wait()


def move_async(tensor: Tensor, destination: Carrier) -> AwaitMove[Tensor]:
    """Start a move and return without waiting for it.

    Until the outcome is recorded both carriers are owned by the request: reads go on, while
    writes, release and other moves are refused. Dropping the handle changes nothing.

    Args:
        tensor: As for ``move``.
        destination: As for ``move``.

    Returns:
        A handle whose ``wait()`` gives what ``move`` returns, or raises what the transfer raised.

    Raises:
        NotImplementedError: As for ``move``.
        TypeError: As for ``move``.
        ValueError: As for ``move``.
        RuntimeError: As for ``move``, and when the interpreter exits.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> source = ArrayCarrier(2, dtype=sw.DType.Float32).new_like([1, 2])
        >>> tensor = sw.Tensor(source, 0, sw.Layout(sw.Shape(2), sw.Stride(1)))
        >>> handle = sw.move_async(tensor, ArrayCarrier(2, dtype=sw.DType.Float32))
        >>> handle.wait().tolist()
        [1.0, 2.0]
    """
    return request.start(tensor, destination)


def copy(tensor: Tensor, destination: Carrier) -> Tensor:
    """Copy the values of a Tensor into another carrier; the source stays as it is.

    Everything else is as for ``move``, gradients included.

    Args:
        tensor: As for ``move``.
        destination: As for ``move``.

    Returns:
        A Tensor over ``destination`` from slot 0, in the same layout.

    Raises:
        NotImplementedError: As for ``move``.
        TypeError: As for ``move``.
        ValueError: As for ``move``.
        RuntimeError: As for ``move``.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> source = ArrayCarrier(2, dtype=sw.DType.Float32).new_like([1, 2])
        >>> tensor = sw.Tensor(source, 0, sw.Layout(sw.Shape(2), sw.Stride(1)))
        >>> copied = sw.copy(tensor, ArrayCarrier(2, dtype=sw.DType.Float32))
        >>> copied.tolist() == tensor.tolist(), source.is_released()
        (True, False)
    """
    return request.start(tensor, destination, keeps_source=True, is_blocking=True).wait()


def copy_async(tensor: Tensor, destination: Carrier) -> AwaitMove[Tensor]:
    """Start a copy and return without waiting for it.

    The source is owned by the request, as in a move, until the outcome is recorded.

    Args:
        tensor: As for ``move``.
        destination: As for ``move``.

    Returns:
        A handle whose ``wait()`` gives what ``copy`` returns, or raises what the transfer raised.

    Raises:
        NotImplementedError: As for ``move``.
        TypeError: As for ``move``.
        ValueError: As for ``move``.
        RuntimeError: As for ``move``, and when the interpreter exits.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> source = ArrayCarrier(2, dtype=sw.DType.Float32).new_like([1, 2])
        >>> tensor = sw.Tensor(source, 0, sw.Layout(sw.Shape(2), sw.Stride(1)))
        >>> handle = sw.copy_async(tensor, ArrayCarrier(2, dtype=sw.DType.Float32))
        >>> handle.wait().tolist(), source.is_owned()
        ([1.0, 2.0], False)
    """
    return request.start(tensor, destination, keeps_source=True)
