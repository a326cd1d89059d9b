"""The same values tiled in several ways give the untiled results and gradients."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import strideweave as sw
from strideweave import DType, Layout, Shape, Tensor, TiledEvictable
from strideweave.layout.construction import canonical_layout
from strideweave.testing import ArrayCarrier

ROWS, COLUMNS = 6, 4
SPECIAL = (float("nan"), -0.0, 0.0, float("inf"), -float("inf"), 1e-45, 3e38, -3e38, 1.0, -2.5)
SUMMABLE = (float("nan"), -0.0, 0.0, float("inf"), -float("inf"), 1.0, 1.0, -2.0, 3.0)

Operation = Callable[..., Tensor]
POINTWISE: dict[str, Operation] = {
    "add": sw.add,
    "mul": sw.mul,
    "elementwise_mul": sw.elementwise_mul,
    "scaled": lambda x, y: sw.mul(x, -0.5),
    "relu": lambda x, y: sw.relu(x),
}
SUMMING: dict[str, Operation] = {
    "matmul": sw.matmul,
    "rows": lambda x, y: sw.reduce_sum(x, "a b -> b"),
    "columns": lambda x, y: sw.reduce_sum(x, "a b -> a"),
    "all": lambda x, y: sw.reduce_sum(x, "a b -> 1"),
}
tilings = st.tuples(
    st.sampled_from([1, 2, 3, 6]), st.sampled_from([1, 2, 4]), st.sampled_from([None, 1, 2, 3])
)


def over(values: list[float], extents: tuple[int, ...]) -> Tensor:
    carrier = ArrayCarrier(0, dtype=DType.Float32).new_like(values)
    return Tensor(carrier, 0, canonical_layout(Shape(list(extents))))


def tiled_over(
    values: list[float], extents: tuple[int, ...], tiles: tuple[int, ...], capacity: int | None
) -> Tensor:
    store = ArrayCarrier(0, dtype=DType.Float32).new_like(values)
    grid = [extent // tile for extent, tile in zip(extents, tiles, strict=True)]
    carrier = TiledEvictable(
        ArrayCarrier(0, dtype=DType.Float32), store, grid, tiles, primary_capacity=capacity
    )
    return Tensor(carrier, 0, canonical_layout(Shape(list(extents))))


def bits(tensor: Tensor | None) -> list[str]:
    """Tell zeros by their sign, and take all NaNs for one."""
    assert tensor is not None
    return [repr(tensor[ordinal]) for ordinal in range(tensor.size())]


def outcome(operation: Operation, x: Tensor, y: Tensor, scale: float) -> list[list[str]]:
    result = operation(x, y)
    cotangent = [scale * (ordinal % 3 - 1) for ordinal in range(result.size())]
    inner = ArrayCarrier(0, dtype=DType.Float32).new_like(cotangent)
    result.backward(Tensor(inner, 0, result.layout))
    return [bits(result), *(bits(t.grad) for t in (x, y) if t.grad is not None)]


def values(choices: tuple[float, ...], count: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.sampled_from(choices), min_size=count, max_size=count)


@pytest.mark.rule("G-13", "TE-83", "TE-85", "TE-95", "TE-96")
@settings(max_examples=40, deadline=None)
@given(
    x=values(SPECIAL, ROWS * COLUMNS),
    y=values(SPECIAL, ROWS * COLUMNS),
    first=tilings,
    second=tilings,
    name=st.sampled_from(sorted(POINTWISE)),
)
def test_pointwise_operations_are_bit_identical(
    x: list[float], y: list[float], first: Any, second: Any, name: str
) -> None:
    extents = (ROWS, COLUMNS)
    tiled = [tiled_over(v, extents, t[:2], t[2]) for v, t in ((x, first), (y, second))]
    dense = [over(v, extents) for v in (x, y)]
    assert outcome(POINTWISE[name], tiled[0], tiled[1], 1.5) == outcome(
        POINTWISE[name], dense[0], dense[1], 1.5
    )


@pytest.mark.rule("G-13", "TE-83", "TE-85", "TE-95", "TE-96")
@settings(max_examples=40, deadline=None)
@given(
    x=values(SUMMABLE, ROWS * COLUMNS),
    y=values(SUMMABLE, ROWS * COLUMNS),
    first=tilings,
    second=tilings,
    name=st.sampled_from(sorted(SUMMING)),
)
def test_exact_sums_do_not_depend_on_the_tiles(
    x: list[float], y: list[float], first: Any, second: Any, name: str
) -> None:
    extents = (ROWS, COLUMNS)
    tiled = [tiled_over(v, extents, t[:2], t[2]) for v, t in ((x, first), (y, second))]
    dense = [over(v, extents) for v in (x, y)]
    assert outcome(SUMMING[name], tiled[0], tiled[1], 1.0) == outcome(
        SUMMING[name], dense[0], dense[1], 1.0
    )


@pytest.mark.rule("G-13", "TE-81", "TE-95", "TE-96")
@settings(max_examples=40, deadline=None)
@given(
    x=values((-2.0, -0.0, 0.5, 3.0), ROWS * COLUMNS),
    y=values((-1.0, 0.0, 2.0), ROWS),
    first=tilings,
    second=tilings,
    name=st.sampled_from(["add", "mul"]),
    is_swapped=st.booleans(),
)
@example(  # a sum of negative zeros is +0.0
    x=[-0.0] * (ROWS * COLUMNS),
    y=[2.0] * ROWS,
    first=(2, 1, 1),
    second=(3, 1, 1),
    name="mul",
    is_swapped=False,
)
def test_broadcast_operands(
    x: list[float], y: list[float], first: Any, second: Any, name: str, is_swapped: bool
) -> None:
    def call(wide: Tensor, narrow: Tensor) -> Tensor:
        pair = (narrow, wide) if is_swapped else (wide, narrow)
        return POINTWISE[name](*pair)

    tiled = (
        tiled_over(x, (ROWS, COLUMNS), first[:2], first[2]),
        tiled_over(y, (ROWS, 1), (second[0], 1), second[2]),
    )
    dense = over(x, (ROWS, COLUMNS)), over(y, (ROWS, 1))
    assert outcome(call, *tiled, 1.0) == outcome(call, *dense, 1.0)


@pytest.mark.rule("G-13", "TE-27", "TE-84", "TE-96")
@pytest.mark.parametrize("tiles", [(4, 6), (6, 2), (12, 3)])
@pytest.mark.parametrize("name", ["mul", "relu", "matmul", "rows", "columns", "all"])
def test_leaves_may_cross_the_borders_of_tiles(name: str, tiles: tuple[int, int]) -> None:
    """Nested leaves that count on are compatible with tiles that end in the middle of one."""
    x = [float(slot % 7 - 3) for slot in range(144)]
    y = [float(slot % 5 - 2) for slot in range(144)]
    layout = Layout.parse("((3,4),(4,3)):((1,3),(12,48))")
    operation = (POINTWISE | SUMMING)[name]
    dense = [Tensor(over(values, (144,)).carrier, 0, layout) for values in (x, y)]
    tiled = [
        Tensor(tiled_over(values, (12, 12), shape, 2).carrier, 0, layout)
        for values, shape in ((x, tiles), (y, tiles[::-1]))
    ]
    assert outcome(operation, tiled[0], tiled[1], 1.0) == outcome(
        operation, dense[0], dense[1], 1.0
    )
