"""A definition-free carrier that overrides hooks."""

from collections.abc import Iterable
from typing import Any, SupportsIndex

from strideweave import Carrier, DType, Tensor
from strideweave.operation import Operation, ResolvedInvocation, bind_kernel


def first_operand(invocation: ResolvedInvocation) -> Tensor:
    operand = invocation.operands[0]
    assert isinstance(operand, Tensor)
    return operand


class Listed(Carrier):
    def __init__(self, values: Iterable[float]) -> None:
        super().__init__()
        self.values = list(values)

    def size(self) -> int:
        return len(self.values)

    def dtype(self) -> DType:
        return DType.Float32

    def get_value(self, index: SupportsIndex) -> float:
        return self.values[index]

    def set_value(self, index: SupportsIndex, value: float) -> None:
        self.values[index] = value
        self._increment_version()

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> "Listed":
        return Listed(values)

    def _is_mutable(self) -> bool:
        return True

    def _read_span(self, start: int, out: memoryview) -> None:
        out[:] = memoryview(bytes(len(out)))

    def _dispatch_op(self, operation_name: str) -> Operation:
        return bind_kernel(operation_name, first_operand)


carrier = Listed([1.0])
carrier[0] = 2.0
token = carrier._claim_ownership()
carrier._relinquish_ownership(token)
