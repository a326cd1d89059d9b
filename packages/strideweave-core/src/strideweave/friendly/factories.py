"""Tensors of given extents, column-major, in fresh storage."""

from collections.abc import Iterable
from random import Random

from strideweave.autograd.buffers import placed_copy
from strideweave.dtype import DType
from strideweave.friendly.carriers import CarrierChoice, new_like, prototype
from strideweave.friendly.layouts import column_major_for
from strideweave.layout import Layout, Stride
from strideweave.tensor.tensor import Tensor


def full(
    *extents: int, value: float, dtype: DType = DType.Float32, carrier: CarrierChoice = None
) -> Tensor:
    """Make a tensor that holds one value everywhere.

    Args:
        *extents: At least one extent, each at least 1.
        value: A number that the dtype accepts.
        dtype: What to store; a carrier that does not store it raises its own error.
        carrier: A Carrier class, an instance to allocate like, or None for CPU.

    Returns:
        A leaf in ``column_major(*extents)`` at offset 0 of exactly as many slots.

    Raises:
        ValueError: There is no extent, or one is no positive integer.
        TypeError: The dtype does not accept the value, or ``carrier`` is something else.
        OverflowError: The value is too large for the dtype, or the extents for the address space.
        ImportError: ``carrier`` is None and strideweave-compute is not installed.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> sw.friendly.full(2, 2, value=0.5, carrier=ArrayCarrier).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """
    return _filled(column_major_for("full", extents), value, dtype, carrier)


def zeros(*extents: int, dtype: DType = DType.Float32, carrier: CarrierChoice = None) -> Tensor:
    """Make a tensor of zeros, or of False.

    Args:
        *extents: At least one extent, each at least 1.
        dtype: What to store; a carrier that does not store it raises its own error.
        carrier: A Carrier class, an instance to allocate like, or None for CPU.

    Returns:
        A leaf in ``column_major(*extents)`` at offset 0 of exactly as many slots.

    Raises:
        ValueError: There is no extent, or one is no positive integer.
        TypeError: ``carrier`` is something else.
        ImportError: ``carrier`` is None and strideweave-compute is not installed.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> sw.friendly.zeros(2, carrier=ArrayCarrier).tolist()
        [0.0, 0.0]
    """
    zero = False if dtype is DType.Bool else 0
    return _filled(column_major_for("zeros", extents), zero, dtype, carrier)


def ones(*extents: int, dtype: DType = DType.Float32, carrier: CarrierChoice = None) -> Tensor:
    """Make a tensor of ones, or of True.

    Args:
        *extents: At least one extent, each at least 1.
        dtype: What to store; a carrier that does not store it raises its own error.
        carrier: A Carrier class, an instance to allocate like, or None for CPU.

    Returns:
        A leaf in ``column_major(*extents)`` at offset 0 of exactly as many slots.

    Raises:
        ValueError: There is no extent, or one is no positive integer.
        TypeError: ``carrier`` is something else.
        ImportError: ``carrier`` is None and strideweave-compute is not installed.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> sw.friendly.ones(2, dtype=sw.DType.Bool, carrier=ArrayCarrier).tolist()
        [True, True]
    """
    one = True if dtype is DType.Bool else 1
    return _filled(column_major_for("ones", extents), one, dtype, carrier)


def arange(count: int, *, dtype: DType = DType.Float32, carrier: CarrierChoice = None) -> Tensor:
    """Make a one-mode tensor of 0, 1, 2, ...

    Args:
        count: The number of values, at least 1.
        dtype: What to store, not Bool; a carrier that does not store it raises its own error.
        carrier: A Carrier class, an instance to allocate like, or None for CPU.

    Returns:
        A leaf in the layout ``(count):(1)``.

    Raises:
        ValueError: ``count`` is no positive integer.
        TypeError: The dtype is Bool, or ``carrier`` is something else.
        ImportError: ``carrier`` is None and strideweave-compute is not installed.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> sw.friendly.arange(3, dtype=sw.DType.Int32, carrier=ArrayCarrier).tolist()
        [0, 1, 2]
    """
    layout = column_major_for("arange", (count,))
    if dtype is DType.Bool:
        raise TypeError("arange: a Bool tensor cannot count; pass dtype=DType.Int32 or Float32")
    return Tensor(new_like(prototype(carrier, dtype), range(count), dtype), 0, layout)


def rand(*extents: int, rng: Random | None = None, carrier: CarrierChoice = None) -> Tensor:
    """Draw a Float32 tensor from the uniform distribution on [0, 1).

    Args:
        *extents: At least one extent, each at least 1.
        rng: Its ``random()`` is called once per element in logical order, first mode fastest; a
            freshly seeded generator when None.
        carrier: A Carrier class, an instance to allocate like, or None for CPU.

    Returns:
        A leaf in ``column_major(*extents)``.

    Raises:
        ValueError: There is no extent, or one is no positive integer.
        TypeError: ``carrier`` is something else.
        ImportError: ``carrier`` is None and strideweave-compute is not installed.

    Examples:
        >>> import random
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> drawn = sw.friendly.rand(2, rng=random.Random(0), carrier=ArrayCarrier)
        >>> [round(value, 4) for value in drawn.tolist()]
        [0.8444, 0.758]
    """
    layout = column_major_for("rand", extents)
    draw = (Random() if rng is None else rng).random
    return _drawn(layout, (draw() for _ in range(layout.size)), carrier)


def randn(*extents: int, rng: Random | None = None, carrier: CarrierChoice = None) -> Tensor:
    """Draw a Float32 tensor from the standard normal distribution.

    Args:
        *extents: At least one extent, each at least 1.
        rng: Its ``gauss(0.0, 1.0)`` is called once per element in logical order, first mode
            fastest; a freshly seeded generator when None.
        carrier: A Carrier class, an instance to allocate like, or None for CPU.

    Returns:
        A leaf in ``column_major(*extents)``.

    Raises:
        ValueError: There is no extent, or one is no positive integer.
        TypeError: ``carrier`` is something else.
        ImportError: ``carrier`` is None and strideweave-compute is not installed.

    Examples:
        >>> import random
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> drawn = sw.friendly.randn(2, rng=random.Random(0), carrier=ArrayCarrier)
        >>> [round(value, 4) for value in drawn.tolist()]
        [0.9417, -1.3966]
    """
    layout = column_major_for("randn", extents)
    draw = (Random() if rng is None else rng).gauss
    return _drawn(layout, (draw(0.0, 1.0) for _ in range(layout.size)), carrier)


def _filled(layout: Layout, value: float, dtype: DType, carrier: CarrierChoice) -> Tensor:
    source = prototype(carrier, dtype)
    one = new_like(source, [value], dtype)  # converts or refuses the value once
    everywhere = Tensor(one, 0, Layout(layout.shape, Stride([0] * len(layout))))
    return placed_copy(everywhere, source, layout, dtype)


def _drawn(layout: Layout, values: Iterable[float], carrier: CarrierChoice) -> Tensor:
    source = prototype(carrier, DType.Float32)
    return Tensor(new_like(source, values, DType.Float32), 0, layout)
