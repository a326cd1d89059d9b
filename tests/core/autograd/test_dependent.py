"""Differentiation over a dependent carrier goes through its three hooks."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsIndex

import pytest

import strideweave as sw
from strideweave import Carrier, DependentCarrier, DType, Layout, Operation, Tensor
from strideweave.operation import bind_kernel, operation_definition
from strideweave.testing import ArrayCarrier


class Unhooked(DependentCarrier):
    """Stores in an ArrayCarrier that it composes, and computes by reference."""

    def __init__(self, inner: Carrier) -> None:
        super().__init__()
        self.inner = inner
        self._finalize_dependent_capabilities()

    def _generate_operation_capabilities(self) -> Any:
        return self.inner.operation_capabilities()

    def size(self) -> int:
        return self.inner.size()

    def dtype(self) -> DType:
        return self.inner.dtype()

    def get_value(self, index: SupportsIndex) -> Any:
        return self.inner[index]

    def set_value(self, index: SupportsIndex, value: Any) -> None:
        self.inner[index] = value

    def _is_mutable(self) -> bool:
        return True

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> Any:
        return type(self)(self.inner.new_like(values, dtype=dtype))

    def _dispatch_op(self, operation_name: str) -> Operation:
        reference = operation_definition(operation_name).reference
        assert reference is not None
        return bind_kernel(operation_name, reference)


class Hooked(Unhooked):
    """Notes what its hooks are asked for."""

    asked: list[tuple[str, Tensor]]

    def _vjp_operand(self, tensor: Tensor) -> Tensor:
        self.asked.append(("operand", tensor))
        return Tensor(self.inner, tensor.offset, tensor.layout)

    def _vjp_gradient(self, gradient: Tensor, operand: Tensor) -> Tensor:
        self.asked.append(("gradient", operand))
        assert type(gradient.carrier) is ArrayCarrier
        return Tensor(type(self)(gradient.carrier), gradient.offset, gradient.layout)

    def _accumulate_gradient(self, total: Tensor, gradient: Tensor) -> Tensor:
        self.asked.append(("sum", gradient))
        added = [total[k] + gradient[k] for k in range(total.size())]
        return Tensor(self.new_like(added), 0, total.layout)


@pytest.fixture
def over() -> Callable[..., Any]:
    def make(kind: type[Unhooked], values: Sequence[float]) -> Tensor:
        inner = ArrayCarrier(0, dtype=DType.Float32).new_like(values)
        return Tensor(kind(inner), 0, Layout.parse(f"({len(values)}):(1)"))

    Hooked.asked = []
    return make


@pytest.mark.rule("A-35", "A-14")
def test_gradients_are_computed_on_stand_ins_and_added_by_the_carrier(
    over: Callable[..., Any],
) -> None:
    x, cotangent = over(Hooked, [2.0, 3.0]), over(Hooked, [1.0, 10.0])
    result = x * x
    assert type(result.carrier) is Hooked
    result.backward(cotangent)
    assert type(x.grad.carrier) is Hooked
    assert x.grad.tolist() == [4.0, 60.0]
    hooks = [hook for hook, _ in Hooked.asked]
    assert hooks.count("gradient") == 2 and hooks.count("sum") == 1


@pytest.mark.rule("A-35")
def test_only_operands_whose_values_the_vjp_reads_are_asked_for(over: Callable[..., Any]) -> None:
    x, y = over(Hooked, [2.0, 3.0]), over(Hooked, [4.0, 5.0])
    cotangent = over(Hooked, [1.0, 10.0])
    (x + y).backward(cotangent)
    assert [tensor for hook, tensor in Hooked.asked if hook == "operand"] == [cotangent]
    assert x.grad.tolist() == y.grad.tolist() == [1.0, 10.0]


@pytest.mark.rule("A-35", "A-17")
def test_second_traversal_adds_into_the_same_gradient(over: Callable[..., Any]) -> None:
    x, cotangent = over(Hooked, [2.0, 3.0]), over(Hooked, [1.0, 10.0])
    (x + x).backward(cotangent)
    first = x.grad
    (x + x).backward(cotangent)
    assert x.grad is first and first.tolist() == [4.0, 40.0]


class Blockwise(Hooked):
    """Differentiates slot by slot."""

    def _differentiate(self, call: Any) -> tuple[Tensor | None, ...]:
        positions, (cotangent,) = call.tensor_positions, call.cotangents()
        gradients: list[list[float]] = [[] for _ in positions]
        one = Layout.parse("(1):(1)")
        for slot in range(self.size()):
            operands = [
                Tensor(operand.carrier.inner, slot, one) if hasattr(operand, "carrier") else operand
                for operand in call.invocation.operands
            ]
            block = Tensor(cotangent.carrier, slot, one)
            for values, entry in zip(
                gradients, call.differentiate_block(operands, block), strict=True
            ):
                values.append(entry[0])
        sources = [call.invocation.call.sources[position] for position in positions]
        return tuple(
            Tensor(self.new_like(values), 0, source.layout)
            if call.takes_gradient(position)
            else None
            for position, values, source in zip(positions, gradients, sources, strict=True)
        )


@pytest.mark.rule("A-35")
def test_a_carrier_may_differentiate_block_by_block(over: Callable[..., Any]) -> None:
    x, y = over(Blockwise, [2.0, 3.0]), over(Blockwise, [4.0, 5.0])
    cotangent = over(Blockwise, [1.0, 10.0])
    (x * y).backward(cotangent)
    assert x.grad.tolist() == [4.0, 50.0] and y.grad.tolist() == [2.0, 30.0]
    assert [tensor for hook, tensor in Hooked.asked if hook == "operand"] == [cotangent]
    (x * 3.0).backward(cotangent)
    assert x.grad.tolist() == [7.0, 80.0]
    (x.detach() * y).backward(cotangent)
    assert y.grad.tolist() == [4.0, 60.0]


@pytest.mark.rule("A-35", "G-3")
def test_missing_hooks_are_named(over: Callable[..., Any]) -> None:
    class Passed(Operation):
        def _forward(self, *inputs: Any) -> Tensor:
            return Tensor(inputs[0].carrier, 0, inputs[0].layout)

        def backward(self, gradient: Any) -> Sequence[Tensor | None]:
            return (gradient, gradient)

    x, cotangent = over(Unhooked, [2.0]), over(Unhooked, [1.0])
    with pytest.raises(NotImplementedError, match="Unhooked must implement _accumulate_gradient"):
        Passed().forward(x, x).backward(cotangent)
    with pytest.raises(NotImplementedError, match="Unhooked must implement _vjp_operand"):
        sw.mul(x, x).backward(cotangent)
    assert x.grad is None
