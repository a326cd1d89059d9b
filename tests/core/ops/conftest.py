"""Tensors from values in logical order, and gradients of a call.

They live on ArrayCarrier here; tests/integration/catalogue runs the same tests on other carriers.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave.layout.construction import canonical_layout
from strideweave.testing import ArrayCarrier
from strideweave.testing.operation_case import operand

MakeCarrier = Callable[[Sequence[Any], Any], sw.Carrier]
MakeTensor = Callable[..., sw.Tensor]


@pytest.fixture
def make_carrier() -> MakeCarrier:
    """Make a carrier from values and a dtype."""
    return lambda values, dtype: ArrayCarrier(0, dtype=dtype).new_like(values)


def _maker(dtype: Any, make_carrier: MakeCarrier) -> MakeTensor:
    def make(values: Sequence[Any], *shape: Any, layout: str | None = None) -> sw.Tensor:
        if layout is None:
            placement = canonical_layout(sw.Shape(list(shape) if shape else [len(values)]))
        else:
            placement = sw.Layout.parse(layout)
        return operand(dtype, values, placement).tensor(make_carrier)

    return make


@pytest.fixture
def f(make_carrier: MakeCarrier) -> MakeTensor:
    """``f(values, *shape, layout=None)``: a Float32 Tensor, canonical unless a layout is given."""
    return _maker(sw.DType.Float32, make_carrier)


@pytest.fixture
def i(make_carrier: MakeCarrier) -> MakeTensor:
    """The same for Int32."""
    return _maker(sw.DType.Int32, make_carrier)


@pytest.fixture
def b(make_carrier: MakeCarrier) -> MakeTensor:
    """The same for Bool."""
    return _maker(sw.DType.Bool, make_carrier)


@pytest.fixture
def vjp(make_carrier: MakeCarrier) -> Callable[..., list[list[float] | None]]:
    """``vjp(function, *operands, g=None)``: gradients of all Tensor operands, in logical order.

    ``g`` lists the cotangent in logical order; one value is repeated.
    """

    def gradients(
        function: Callable[..., sw.Tensor], *operands: Any, g: Sequence[float] = (1.0,)
    ) -> list[list[float] | None]:
        output = function(*operands)
        cotangent = operand(sw.DType.Float32, g, output.layout).tensor(make_carrier)
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
