from collections.abc import Callable, Sequence

import pytest

from strideweave import DType, Layout, Parameter, Tensor
from strideweave.friendly import column_major
from strideweave.testing import ArrayCarrier


@pytest.fixture
def make() -> Callable[..., Tensor]:
    """Make a tensor on ArrayCarrier whose values are given per slot."""

    def tensor_of(
        values: Sequence[float],
        layout: str | Layout | None = None,
        dtype: DType = DType.Float32,
        mutable: bool = True,
    ) -> Tensor:
        if layout is None:
            layout = column_major(len(values))
        if isinstance(layout, str):
            layout = Layout.parse(layout)
        prototype = ArrayCarrier(0, dtype=dtype)
        return Tensor(prototype.new_like(values, mutable=mutable), 0, layout)

    return tensor_of


@pytest.fixture
def parameter(make: Callable[..., Tensor]) -> Callable[..., Parameter]:
    """Make a Parameter from the arguments of ``make`` and a gradient in its shape."""

    def parameter_of(
        values: Sequence[float], gradient: Sequence[float] | None = None, **arguments: object
    ) -> Parameter:
        made = Parameter(make(values, **arguments))
        if gradient is not None:
            made.grad = make(gradient)
        return made

    return parameter_of
