"""Tensors, carriers that nest executions, and a clock for the profiler's tests."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, OperationCapability, Shape, Tensor
from strideweave.carriers.operation_capability import register_operation_capabilities
from strideweave.carriers.operation_policy import resolve_operation_plan
from strideweave.layout.construction import canonical_layout
from strideweave.operation import bind_kernel
from strideweave.testing import ArrayCarrier

F = DType.Float32
UNARY = ("exp", "neg", "relu")


@pytest.fixture
def f() -> Callable[..., Tensor]:
    """``f(2, 3)`` is a Float32 tensor of shape (2, 3) on ArrayCarrier, holding 1, 2, ..."""

    def make(*extents: Any) -> Tensor:
        layout = canonical_layout(Shape(*extents))
        values = [float(value + 1) for value in range(layout.size)]
        return Tensor(ArrayCarrier(0, dtype=F).new_like(values), 0, layout)

    return make


class Shelves:
    """Makes definition-free carrier classes that hold another carrier."""

    def shelf_class(self, dispatch: Callable[[str], sw.Operation]) -> Any:
        """A class whose hook is ``dispatch``; it advertises the unary operations of UNARY."""

        class Shelf(sw.Carrier):
            def __init__(self, inner: sw.Carrier) -> None:
                super().__init__()
                self.inner = inner

            def size(self) -> int:
                return self.inner.size()

            def dtype(self) -> DType:
                return F

            def get_value(self, index: Any) -> Any:
                return self.inner.get_value(index)

            def new_like(self, values: Any, *, mutable: bool = True) -> "Shelf":  # type: ignore[override]  # C-35: enough
                return Shelf(self.inner.new_like(values))

            def _dispatch_op(self, operation_name: str) -> sw.Operation:
                return dispatch(operation_name)

        plans = [resolve_operation_plan(name, F) for name in UNARY]
        register_operation_capabilities(Shelf, [OperationCapability.from_plan(p) for p in plans])
        return Shelf

    def with_kernel(self, kernel: Callable[[Any], Any]) -> Any:
        """A class that runs ``kernel(invocation)`` for every operation."""
        return self.shelf_class(lambda name: bind_kernel(name, kernel))

    def delegating(self) -> Any:
        """A class that runs every operation on the carrier inside."""

        def kernel(invocation: Any) -> Tensor:
            (operand,) = invocation.operands
            inner = Tensor(operand.carrier.inner, operand.offset, operand.layout)
            result = getattr(sw, invocation.name)(inner)
            return Tensor(type(operand.carrier)(result.carrier), 0, result.layout)

        return self.with_kernel(kernel)

    def put(self, shelf_class: Any, tensor: Tensor) -> Tensor:
        """The same tensor on a shelf."""
        return Tensor(shelf_class(tensor.carrier), tensor.offset, tensor.layout)


@pytest.fixture
def shelves() -> Shelves:
    return Shelves()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``clock(10, 25)`` lets the profiler's next looks at the clock read 10 and 25."""

    def use(*readings: int) -> None:
        upcoming: Iterator[int] = iter(readings)
        monkeypatch.setattr(
            "strideweave.profiling.recorder.perf_counter_ns", lambda: next(upcoming)
        )

    return use
