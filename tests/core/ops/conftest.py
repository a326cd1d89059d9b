"""Tensors on ArrayCarrier from values in logical order, and gradients of a call."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave.layout.construction import canonical_layout
from strideweave.testing import ArrayCarrier
from strideweave.testing.operation_case import operand


def _placed(
    dtype: Any, values: Sequence[Any], shape: tuple[Any, ...], layout: str | None
) -> sw.Tensor:
    if layout is None:
        placement = canonical_layout(sw.Shape(list(shape) if shape else [len(values)]))
    else:
        placement = sw.Layout.parse(layout)
    return operand(dtype, values, placement).tensor(_array_carrier)


def _array_carrier(values: Sequence[Any], dtype: sw.DType) -> sw.Carrier:
    return ArrayCarrier(0, dtype=dtype).new_like(values)


@pytest.fixture
def f() -> Callable[..., sw.Tensor]:
    """``f(values, *shape, layout=None)``: a Float32 Tensor, canonical unless a layout is given."""
    return lambda values, *shape, layout=None: _placed(sw.DType.Float32, values, shape, layout)


@pytest.fixture
def i() -> Callable[..., sw.Tensor]:
    """The same for Int32."""
    return lambda values, *shape, layout=None: _placed(sw.DType.Int32, values, shape, layout)


@pytest.fixture
def b() -> Callable[..., sw.Tensor]:
    """The same for Bool."""
    return lambda values, *shape, layout=None: _placed(sw.DType.Bool, values, shape, layout)


@pytest.fixture
def vjp() -> Callable[..., list[list[float] | None]]:
    """``vjp(function, *operands, g=None)``: gradients of all Tensor operands, in logical order.

    ``g`` lists the cotangent in logical order; one value is repeated.
    """

    def gradients(
        function: Callable[..., sw.Tensor], *operands: Any, g: Sequence[float] = (1.0,)
    ) -> list[list[float] | None]:
        output = function(*operands)
        cotangent = operand(sw.DType.Float32, g, output.layout).tensor(_array_carrier)
        tensors = [given for given in operands if isinstance(given, sw.Tensor)]
        wanted = [tensor for tensor in tensors if tensor.is_differentiable()]
        found = iter(sw.grad(output, wanted, cotangent))
        results = [next(found) if tensor in wanted else None for tensor in tensors]
        return [None if gradient is None else logical(gradient) for gradient in results]

    return gradients


def logical(tensor: sw.Tensor) -> list[Any]:
    return [tensor[ordinal] for ordinal in range(tensor.size())]


@pytest.fixture
def values() -> Callable[[sw.Tensor], list[Any]]:
    """All values of a Tensor in logical order, read one by one."""
    return logical


@pytest.fixture
def same() -> Callable[[Sequence[Any], Sequence[Any]], bool]:
    """Compare lists of numbers bit by bit; any NaN equals any NaN."""
    return lambda actual, expected: list(map(repr, actual)) == list(map(repr, expected))
