"""Tensor factories and summaries."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Shape, Tensor
from strideweave.testing import ArrayCarrier

F: Any = sw.friendly  # called with wrong arguments too
ON = {"carrier": ArrayCarrier}


@pytest.mark.rule("N-50")
def test_public_names() -> None:
    assert (
        sorted(F.__all__)
        == (
            "arange column_major full item mean ones rand randn row_major sum tensor to_list zeros"
        ).split()
    )


@pytest.mark.rule("N-50")
def test_carrier_is_a_class_or_a_prototype(make: Callable[..., Any]) -> None:
    prototype = make([1], dtype=DType.Int32).carrier
    for carrier in (ArrayCarrier, prototype, ArrayCarrier(3, dtype=DType.Float32)):
        made = F.full(2, value=1.5, carrier=carrier)
        assert type(made.carrier) is ArrayCarrier and made.tolist() == [1.5, 1.5]
        assert made.dtype() is DType.Float32 and made.carrier is not prototype
    for wrong in (3, int, "CPU", Layout):
        with pytest.raises(TypeError, match="carrier must be"):
            F.zeros(1, carrier=wrong)


@pytest.mark.rule("N-51", "Z-40")
def test_layout_builders() -> None:
    assert str(F.row_major(2, 3, 4)) == "(2,3,4):(12,4,1)"
    assert str(F.column_major(2, 3, 4)) == "(2,3,4):(1,2,6)"
    assert F.row_major(5) == F.column_major(5) == Layout.parse("(5):(1)")
    for build in (F.row_major, F.column_major):
        with pytest.raises(ValueError, match="at least one extent"):
            build()
        for wrong in (0, -1, True, 2.0, "2", None):
            with pytest.raises(ValueError, match="positive integers"):
                build(2, wrong)


@pytest.mark.rule("N-51", "N-52")
@pytest.mark.parametrize("name", ["zeros", "ones", "rand", "randn", "column_major", "row_major"])
@pytest.mark.parametrize("extents", [((2, 3),), ([2, 3],), (Shape(2, 3),), (Shape(2), 3)])
def test_extents_in_one_argument_are_written_out(name: str, extents: tuple[Any, ...]) -> None:
    with pytest.raises(
        ValueError, match=rf"^{name}: .* positive integers.*; write {name}\(2, 3\)$"
    ):
        getattr(F, name)(*extents)
    for hopeless in ((0,), (2.0,), ((0, 2),), (iter([2]),)):
        with pytest.raises(ValueError, match=rf"^{name}: .* positive integers, extent 0 is [^;]*$"):
            getattr(F, name)(*hopeless)


@pytest.mark.rule("N-52")
def test_factories_allocate_exact_column_major_storage() -> None:
    for made, values in (
        (F.full(2, 3, value=7, **ON), [7.0] * 6),
        (F.zeros(2, 3, **ON), [0.0] * 6),
        (F.ones(2, 3, dtype=DType.Int32, **ON), [1] * 6),
        (F.ones(2, 3, dtype=DType.Bool, **ON), [True] * 6),
        (F.zeros(2, 3, dtype=DType.Bool, **ON), [False] * 6),
    ):
        assert F.to_list(made) == values
        assert made.layout == F.column_major(2, 3) and made.offset == 0
        assert made.carrier.size() == 6 and made.version == 0 and made.is_mutable()
        assert [type(value) for value in F.to_list(made)] == [type(value) for value in values]


@pytest.mark.rule("N-52")
def test_arange_counts_from_zero() -> None:
    assert F.arange(3, **ON).tolist() == [0.0, 1.0, 2.0]
    assert F.arange(3, dtype=DType.Int32, **ON).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="Bool"):
        F.arange(3, dtype=DType.Bool, **ON)


@pytest.mark.rule("N-52")
def test_factory_failures() -> None:
    with pytest.raises(TypeError, match="value"):
        F.full(2, **ON)
    with pytest.raises(ValueError, match="positive integers"):
        F.full(0, value="x", **ON)
    with pytest.raises(TypeError):
        F.full(2, value="x", **ON)
    with pytest.raises(TypeError):
        F.full(2, value=1.5, dtype=DType.Int32, **ON)
    with pytest.raises(OverflowError):
        F.full(2, value=2**31, dtype=DType.Int32, **ON)
    with pytest.raises(TypeError, match="storage dtype"):
        F.zeros(2, dtype=DType.Float64, **ON)


@pytest.mark.rule("N-53", "Z-39")
def test_random_factories_draw_in_logical_order() -> None:
    assert F.rand(2, rng=random.Random(0), **ON).tolist() == [
        0.8444218635559082,
        0.7579544186592102,
    ]
    assert F.randn(2, rng=random.Random(0), **ON).tolist() == [
        0.94171541929245,
        -1.396578073501587,
    ]
    drawn, rng = F.rand(2, 3, rng=random.Random(1), **ON), random.Random(1)
    assert F.to_list(drawn) == pytest.approx([rng.random() for _ in range(6)], abs=1e-7)
    assert F.rand(64, **ON).tolist() != F.rand(64, **ON).tolist()
    assert F.randn(2, **ON).dtype() is DType.Float32
    with pytest.raises(AttributeError):
        F.rand(2, rng=object(), **ON)
    with pytest.raises(AttributeError):
        F.randn(2, rng=object(), **ON)


@pytest.mark.rule("N-54", "Z-34")
def test_tensor_from_nested_lists() -> None:
    t = F.tensor([[1.0, 2.0], [3.0, 4.0]], **ON)
    assert t.layout == Layout.parse("(2,2):(1,2)") and t[1, 0] == 3.0
    assert F.to_list(t) == [1.0, 3.0, 2.0, 4.0]
    nested = [[[1, 2], [3, 4], [5, 6]]] * 2
    deep = F.tensor(tuple(nested), dtype=DType.Int32, **ON)
    assert deep.layout == F.column_major(2, 3, 2) and deep.tolist() == nested


@pytest.mark.rule("N-54", "Z-35")
def test_tensor_with_a_layout() -> None:
    t = F.tensor([1.0, 2.0, 3.0, 4.0], layout=F.row_major(2, 2), **ON)
    assert t[1, 0] == 2.0 and t.layout == Layout.parse("(2,2):(2,1)")
    holes = F.tensor(iter([1.0, 2.0]), layout=Layout.parse("(2):(3)"), **ON)
    assert [holes.carrier[slot] for slot in range(4)] == [1.0, 0.0, 0.0, 2.0]
    shared = F.tensor([5.0, 5.0], layout=Layout.parse("(2):(0)"), **ON)
    assert shared.carrier.size() == 1 and shared.tolist() == [5.0, 5.0]


@pytest.mark.rule("N-54", "Z-36")
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, 2.0], [3.0]], "rectangular"),
        ([1.0, [2.0]], "rectangular"),
        ([[1.0], 2.0], "rectangular"),
        ([[], []], "empty levels"),
        ([[1.0], []], "empty levels"),
        (3, r"non-empty list or tuple, got 3; write one number as \[number\]"),
        ([], "non-empty list or tuple"),
        (iter([1.0]), "non-empty list or tuple"),
    ],
)
def test_nested_values_must_be_rectangular(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        F.tensor(values, **ON)


@pytest.mark.rule("N-54", "Z-37")
def test_tensor_values_are_normalized() -> None:
    for values, dtype, kind in (
        ([1.5], DType.Int32, TypeError),
        ([1, 0], DType.Bool, TypeError),
        ([2**40], DType.Int32, OverflowError),
        (["x"], DType.Float32, TypeError),
    ):
        with pytest.raises(kind):
            F.tensor(values, dtype=dtype, **ON)


@pytest.mark.rule("N-54")
def test_tensor_with_a_layout_checks_before_it_allocates() -> None:
    def failing() -> Iterator[float]:
        yield 1.0
        raise ArithmeticError("boom")

    pair = Layout.parse("(2):(1)")
    for values, layout, kind, message in (
        (failing(), "pair", TypeError, "layout must be a Layout"),
        (3, pair, TypeError, "values must be iterable"),
        ([1.0], pair, ValueError, "logical size"),
        ([1.0] * 3, pair, ValueError, "logical size"),
        (failing(), pair, ArithmeticError, "boom"),
        ([1.0, 2.0], Layout.parse("(2):(0)"), ValueError, "share slot 0"),
    ):
        with pytest.raises(kind, match=message):
            F.tensor(values, layout=layout, **ON)


@pytest.mark.rule("N-55", "Z-38")
def test_sum_and_mean(make: Callable[..., Any]) -> None:
    t = F.tensor([[1.0, 2.0], [3.0, 4.0]], **ON)
    assert F.sum(t).tolist() == [10.0] and F.sum(t).layout == Layout.parse("(1):(1)")
    assert F.mean(t).tolist() == [2.5]
    integers = make([1, 2], dtype=DType.Int32)
    assert F.sum(integers).dtype() is DType.Int32 and F.sum(integers).item() == 3
    assert F.mean(integers).dtype() is DType.Float32 and F.mean(integers).item() == 1.5
    F.mean(t).backward()
    assert F.to_list(t.grad) == [0.25] * 4


@pytest.mark.rule("N-55")
def test_sum_and_mean_need_flat_tensors(make: Callable[..., Any]) -> None:
    for summary in (F.sum, F.mean):
        for wrong in ("():()", "(2,(1,1)):(1,(2,2))"):
            with pytest.raises(ValueError, match="flat tensor"):
                summary(make([1.0] * Layout.parse(wrong).size, wrong))
        wide = Tensor(make([1.0]).carrier, 0, F.column_major(*[1] * 27))
        with pytest.raises(ValueError, match="too many modes"):
            summary(wide)
        with pytest.raises(AttributeError, match="layout"):
            summary([1.0])
    assert F.sum(Tensor(make([2.0]).carrier, 0, F.column_major(*[1] * 26))).item() == 2.0


@pytest.mark.rule("N-56")
def test_item_and_to_list(make: Callable[..., Any]) -> None:
    assert F.item(make([3.0], "():()")) == 3.0
    assert F.item(make([3.0], "(1,1):(5,9)")) == 3.0
    shifted = Tensor(make([0.0, 1.0, 2.0, 3.0, 4.0]).carrier, 1, Layout.parse("(2,2):(2,1)"))
    assert F.to_list(shifted) == [1.0, 3.0, 2.0, 4.0]
    with pytest.raises(ValueError, match="exactly one element"):
        F.item(shifted)
    with pytest.raises(AttributeError, match="size"):
        F.item(3.0)
    shifted.carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        F.to_list(shifted)
