"""A contraction rearranges its result inside its own node, whoever executes the product."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import Layout, Tensor
from strideweave.carriers.extension import reference_pattern
from strideweave.carriers.operation_policy import resolvable_plans
from strideweave.operation import ResolvedInvocation, operation_definition
from strideweave.ops.contraction_alignment import einsum_alignment

COMMAND = "a b, c b -> (c a) 1"
LHS, RHS = Layout.parse("(2,2):(1,2)"), Layout.parse("(3,2):(1,3)")
PRODUCT = [11.0, 14.0, 17.0, 22.0, 23.0, 30.0]  # in the order (a, c)
COTANGENT = [1.0, 10.0, 100.0, 2.0, 20.0, 200.0]  # in the order (c, a)
LHS_GRADIENT = [753.0, 1506.0, 864.0, 1728.0]
RHS_GRADIENT = [5.0, 50.0, 500.0, 6.0, 60.0, 600.0]


def multiplied(lhs: list[float], rhs: list[float]) -> list[float]:
    return [lhs[a] * rhs[c] + lhs[a + 2] * rhs[c + 3] for c in range(3) for a in range(2)]


class Product(sw.Operation):
    """A matrix product that its carrier wrote without a definition."""

    def _forward(self, *inputs: Any) -> Tensor:
        lhs, rhs = ([tensor[ordinal] for ordinal in range(tensor.size())] for tensor in inputs)
        carrier = inputs[0].carrier.new_like(multiplied(lhs, rhs))
        return Tensor(carrier, 0, Layout.parse("(2,3):(1,2)"))

    def backward(self, gradient: Tensor) -> Any:
        lhs, rhs = self.inputs()
        left = [
            sum(gradient[a, c] * rhs[c, b] for c in range(3)) for b in range(2) for a in range(2)
        ]
        right = [
            sum(gradient[a, c] * lhs[a, b] for a in range(2)) for b in range(2) for c in range(3)
        ]
        carrier = gradient.carrier
        return Tensor(carrier.new_like(left), 0, LHS), Tensor(carrier.new_like(right), 0, RHS)


class Listed(sw.Carrier):
    """A definition-free carrier over a list."""

    def __init__(self, values: Any) -> None:
        super().__init__()
        self.values = list(values)

    def size(self) -> int:
        return len(self.values)

    def dtype(self) -> sw.DType:
        return sw.DType.Float32

    def get_value(self, index: Any) -> Any:
        return self.values[index]

    def new_like(self, values: Any, *, mutable: bool = True) -> "Listed":  # type: ignore[override]  # C-35: enough
        return Listed(values)

    def _dispatch_op(self, operation_name: str) -> sw.Operation:
        return Product()


def check(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Contract, compare values and gradients, and give the result."""
    result = sw.einsum(lhs, rhs, COMMAND)
    assert str(result.layout) == "((3,2),1):((2,1),0)"
    assert [result[ordinal] for ordinal in range(6)] == [
        PRODUCT[a + 2 * c] for a in range(2) for c in range(3)
    ]
    stored = [COTANGENT[c + 3 * a] for c in range(3) for a in range(2)]
    cotangent = Tensor(result.carrier.new_like(stored), 0, result.layout)
    found: list[Any] = list(sw.grad(result, [lhs, rhs], cotangent))
    assert [gradient.layout for gradient in found] == [LHS, RHS]
    values = [[gradient[n] for n in range(gradient.size())] for gradient in found]
    assert values == [LHS_GRADIENT, RHS_GRADIENT]
    return result


@pytest.mark.rule("O-67", "F-38", "O-45")
def test_an_own_operation_is_lowered_and_its_result_viewed() -> None:
    lhs = Tensor(Listed([1.0, 2.0, 2.0, 2.0]), 0, LHS)
    rhs = Tensor(Listed([3.0, 5.0, 7.0, 4.0, 6.0, 8.0]), 0, RHS)
    check(lhs, rhs)


@pytest.mark.rule("O-67", "F-38", "O-70")
def test_a_kernel_sees_the_product_alone(workshop: Any) -> None:
    seen: list[ResolvedInvocation] = []
    matmul = operation_definition("matmul")
    inner = reference_pattern(matmul)

    def prepare(invocation: ResolvedInvocation, interface: Any) -> Any:
        seen.append(invocation)
        return inner.prepare(invocation, interface)

    plans = [plan for plan in resolvable_plans() if plan.operation == "matmul"]
    capabilities = list(map(sw.OperationCapability.from_plan, plans))
    pattern = sw.KernelPattern(matmul, capabilities, "look", prepare)
    carrier_class = workshop.defined([pattern])

    def tensor(values: list[float], layout: Layout) -> Tensor:
        carrier = carrier_class(0, dtype=sw.DType.Float32)
        return Tensor(carrier.new_like(values), 0, layout)

    result = check(tensor([1.0, 2.0, 2.0, 2.0], LHS), tensor([3.0, 5.0, 7.0, 4.0, 6.0, 8.0], RHS))
    assert str(seen[0].results[0].layout) == "(2,3):(1,2)"
    assert result.carrier.size() == 6 and result.offset == 0


@pytest.mark.rule("O-67", "L-21")
@pytest.mark.parametrize(
    ("command", "shape"),
    [
        ("a b, c b -> c a", "(2,3):(1,2)"),
        ("a b, c b -> (a 1 c)", "(2,3):(1,2)"),
        ("a b, b -> a", "(((2,2)),1):(((1,2)),4)"),
        ("a b, a c -> (c (a)) 1 b", "(2,3,((4,5))):(1,2,((6,24)))"),
        ("a, a -> 1 1", "(1,1):(1,1)"),
    ],
)
def test_restoring_undoes_publishing(command: str, shape: str) -> None:
    view = einsum_alignment(command).result_view
    layout = Layout.parse(shape)
    restored = view.restore(view.publish(layout))
    assert restored.shape == layout.shape
    ordinals = range(layout.size)
    assert [restored(n) for n in ordinals] == [layout(n) for n in ordinals]
