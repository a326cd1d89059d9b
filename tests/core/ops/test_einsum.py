"""``einsum`` and the products that it is lowered to."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw

unchecked: Any = sw  # for calls that the signatures forbid
Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Vjp = Callable[..., list[Any]]

pytestmark = pytest.mark.rule("F-37", "F-38")


@pytest.mark.rule("X-55", "F-8", "O-67")
def test_result_layouts_are_views_of_a_product(f: Make, values: Values) -> None:
    a, c = f(range(6), 2, 3), f(range(12), 4, 3)
    product = sw.matmul(a, c)
    swapped = sw.einsum(a, c, "a b, c b -> c a")
    assert str(swapped.layout) == "(4,2):(2,1)" and swapped.carrier.size() == 8
    assert swapped.tolist() == [list(column) for column in zip(*product.tolist(), strict=True)]
    widened = sw.einsum(a, c, "a b, c b -> a 1 c")
    assert str(widened.layout) == "(2,1,4):(1,0,2)"
    assert values(widened) == values(product)
    v = f([1, 2, 3])
    dot = sw.einsum(v, v, "b, b -> 1")
    assert str(dot.layout) == "1:0" and values(dot) == [14]


@pytest.mark.rule("X-56")
def test_shared_symbols_that_are_kept_are_batches(f: Make, values: Values) -> None:
    m = f(range(1, 13), 2, 2, 3)
    result = sw.einsum(m, m, "b i k, b j k -> b i j")
    assert values(result) == [107, 140, 137, 176, 137, 176, 179, 224]
    assert str(result.layout) == "(2,2,2):(1,2,4)"
    node: Any = result.autograd_ctx
    assert node._operation_name == "_batched_matmul" and node.inputs() == (m, m)
    products = sw.einsum(f([1, 2, 3]), f([4, 5, 6]), "a, a -> a")
    assert values(products) == [4, 10, 18] and str(products.layout) == "3:1"


@pytest.mark.rule("A-8")
def test_one_call_is_one_node_over_the_callers_tensors(f: Make) -> None:
    a, c = f(range(6), 2, 3), f(range(12), 3, 4)
    result = sw.einsum(a, c, "a b, b c -> c a")
    node: Any = result.autograd_ctx
    assert node._operation_name == "matmul" and node.inputs() == (a, c)
    assert node.output_position(result) == 0


@pytest.mark.rule("N-18")
def test_names_of_nested_modes(f: Make, values: Values) -> None:
    lhs, rhs = f(range(12), 2, (3, 2)), f(range(12), 6, 2)
    # The sizes are compared, not the nestings.
    assert values(sw.einsum(lhs, rhs, "a b, b c -> a c")) == values(
        sw.einsum(lhs, f(range(12), (2, 3), 2), "a b, b c -> a c")
    )
    kept = sw.einsum(lhs, f([1, 1]), "a b, a -> b")
    assert str(kept.layout) == "((3,2)):((1,3))"
    grouped = sw.einsum(lhs, f([1, 10]), "a (b c), a -> (c b)")
    assert str(grouped.layout) == "((2,3)):((3,1))"
    assert values(grouped) == [10, 76, 32, 98, 54, 120]
    inserted = sw.einsum(f([1, 2, 3], 1, 3), f([2.0], 1), "a b, a -> (b 1)")
    assert str(inserted.layout) == "((3,1)):((1,0))" and values(inserted) == [2, 4, 6]


@pytest.mark.rule("F-14", "F-36", "A-13")
@pytest.mark.parametrize(
    ("command", "shapes"),
    [
        ("a b, c b -> c a", ((2, 3), (4, 3))),
        ("a b, b c -> (c a) 1", ((2, 3), (3, 2))),
        ("a (b c), c b -> a", ((2, (3, 2)), (2, 3))),
        ("b i k, j b k -> j 1 (b i)", ((2, 2, 3), (1, 2, 3))),
        ("a b, a b -> b a", ((2, 3), (2, 3))),
        ("a b, a -> b", ((2, (3, 2)), (2,))),
        ("a b, b -> a", (((3, 2), 2), (2,))),
    ],
)
def test_gradients_contract_with_the_other_operand(
    command: str, shapes: Any, f: Make, vjp: Vjp, values: Values
) -> None:
    """The product is linear in each operand, so the gradient is its matrix times the cotangent."""
    sizes = [f([0.0], *shape).size() for shape in shapes]
    data = [[float(3 * n % 7 - 2) for n in range(size)] for size in sizes]
    operands = [f(entries, *shape) for entries, shape in zip(data, shapes, strict=True)]

    def call(x: sw.Tensor, y: sw.Tensor) -> sw.Tensor:
        return sw.einsum(x, y, command)

    output = call(*operands)
    g = [float(5 * n % 11 - 4) for n in range(output.size())]
    gradients = vjp(call, *operands, g=g)
    for position in (0, 1):
        expected = []
        for ordinal in range(sizes[position]):
            unit = [float(n == ordinal) for n in range(sizes[position])]
            inputs = list(operands)
            inputs[position] = f(unit, *shapes[position])
            column = values(call(*inputs))
            expected.append(sum(weight * entry for weight, entry in zip(g, column, strict=True)))
        assert gradients[position] == expected


@pytest.mark.rule("F-35", "F-10")
def test_integers_are_exact(i: Make, f: Make, values: Values) -> None:
    big = i([2**30, 2**30], 1, 2)
    assert values(sw.einsum(big, i([4, -4], 1, 2), "a b, a b -> a")) == [0]
    with pytest.raises(OverflowError, match="out of int32 range"):
        sw.einsum(big, i([4], 1), "a b, a -> a b")
    mixed = sw.einsum(i([1, 2], 1, 2), f([0.5, 0.25], 1, 2), "a b, a b -> a")
    assert values(mixed) == [1.0] and mixed.dtype() is sw.DType.Float32


@pytest.mark.rule("F-35", "F-4")
def test_hand_driven_batches(f: Make, b: Make) -> None:
    def forward(lhs: sw.Tensor, rhs: sw.Tensor) -> Any:
        return lhs.carrier.dispatch_op("_batched_matmul").forward(lhs, rhs)

    x = f(range(6), (2, 1), 1, 3)
    assert str(forward(x, f(range(12), 2, 2, 3)).layout) == "((2,1),1,2):((1,2),2,2)"
    with pytest.raises(NotImplementedError, match="Bool"):
        forward(b([True]), b([True]))
    with pytest.raises(ValueError, match="lhs must have exactly three top-level modes"):
        forward(f([1.0]), f([1.0]))
    with pytest.raises(ValueError, match="rhs must have exactly three"):
        forward(x, f([1.0]))
    with pytest.raises(ValueError, match="batch modes must have equal sizes, got lhs=2, rhs=1"):
        forward(x, f(range(3), 1, 1, 3))
    with pytest.raises(ValueError, match="inner modes must have equal sizes, got lhs=3, rhs=2"):
        forward(x, f(range(4), 2, 1, 2))


@pytest.mark.rule("F-4", "O-83")
def test_errors_and_explanations(f: Make, b: Make, workshop: Any) -> None:
    x = f([1.0, 2.0])
    other = workshop.tensor(workshop.defined(()), 1.0)
    with pytest.raises(TypeError, match="carriers must match"):
        sw.einsum(x, other, "a b, b -> a")
    with pytest.raises(ValueError, match="profile do not match"):
        sw.einsum(b([True]), b([True]), "a b, b -> a")
    with pytest.raises(NotImplementedError, match="Bool"):
        sw.einsum(b([True]), b([True]), "a, a -> 1")
    with pytest.raises(
        TypeError, match=r"'i k, k j -> i j' in einsum\(lhs, rhs, description\), got Tensor"
    ):
        unchecked.einsum("i k, k j -> i j", x, x)
    released = f([1.0, 2.0])
    released.carrier.release()
    with pytest.raises(ValueError, match="mismatched logical size"):
        sw.einsum(released, f([1.0]), "a, a -> 1")
    with pytest.raises(RuntimeError, match="released"):
        sw.einsum(released, x, "a, a -> 1")
    assert sw.explain(sw.einsum, x, x, "a, a -> a").definition.name == "_batched_matmul"
