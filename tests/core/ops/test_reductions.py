"""Reductions by description and in carrier form."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

import strideweave as sw
from strideweave.carriers.operation_policy import operation_execution_options

unchecked: Any = sw  # for calls that the signatures forbid
Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Same = Callable[[Any, Any], bool]
Vjp = Callable[..., list[Any]]

FLOAT64 = sw.DType.Float64
NAMES = ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "argmax", "argmin"]


def rows(function: Callable[..., sw.Tensor]) -> Callable[[sw.Tensor], sw.Tensor]:
    return lambda tensor: function(tensor, "a b -> a")


@pytest.mark.rule("F-26", "F-8", "X-37")
@pytest.mark.parametrize(
    ("description", "expected", "layout"),
    [
        ("a b -> b", [3, 7, 11], "3:1"),
        ("a b -> 1", [21], "1:1"),
        ("a b -> (a 1)", [9, 12], "((2,1)):((1,2))"),
        ("1 a -> a", [3, 7, 11], "3:1"),
        ("a b -> 1 b", [3, 7, 11], "(1,3):(1,1)"),
    ],
)
def test_descriptions(
    description: str, expected: list[float], layout: str, f: Make, values: Values
) -> None:
    result = sw.reduce_sum(f([1, 2, 3, 4, 5, 6], 2, 3), description)
    assert values(result) == expected and str(result.layout) == layout


@pytest.mark.rule("F-26", "F-8", "N-10", "X-38")
def test_kept_groups_are_nested_as_written(f: Make, values: Values) -> None:
    cube = f(range(1, 25), 2, 3, 4)
    result = sw.reduce_sum(cube, "a b c -> (c a)")
    assert values(result) == [9, 27, 45, 63, 12, 30, 48, 66]
    assert str(result.layout) == "((4,2)):((1,4))"
    assert str(sw.reduce_sum(cube, "a b c -> c a").layout) == "(4,2):(1,4)"
    nested = f(range(1, 25), 2, (3, 4))
    assert str(sw.reduce_sum(nested, "a b -> b").layout) == "((3,4)):((1,3))"
    assert values(sw.reduce_sum(nested, "a (b c) -> b")) == [84, 100, 116]


@pytest.mark.rule("F-26", "N-2", "N-3")
@pytest.mark.parametrize("name", NAMES)
def test_description_errors(name: str, f: Make) -> None:
    reduce = getattr(sw, name)
    x = f([1.0, 2.0], 1, 2)
    for wrong in (0, (0,), None):
        with pytest.raises(TypeError, match="description must be a str"):
            reduce(x, wrong)
    with pytest.raises(ValueError, match="omit at least one dimension"):
        reduce(3, "a b -> a b")
    with pytest.raises(TypeError, match="tensor must be a Tensor, got int"):
        reduce(3, "a b -> a")
    with pytest.raises(ValueError, match="layout and tree profile do not match"):
        reduce(x, "a b c -> a")


@pytest.mark.rule("F-26", "F-33", "F-4", "O-16")
def test_an_accumulator_request_is_checked_before_the_command(f: Make, i: Make) -> None:
    x = f([1.0, 2.0], 1, 2)
    with pytest.raises(TypeError, match="description must be a str"):
        unchecked.reduce_sum(x, 1, accumulator_dtype="Float64")
    with pytest.raises(TypeError):
        unchecked.reduce_sum(x, "-", accumulator_dtype="Float64")
    with pytest.raises(TypeError):
        unchecked.reduce_sum(x, "-", accumulator_dtype=sw.DType.Floating)
    with pytest.raises(NotImplementedError):
        sw.reduce_sum(x, "-", accumulator_dtype=sw.DType.Int32)
    with pytest.raises(TypeError):
        sw.reduce_sum(i([1, 2], 1, 2), "a b -> a", accumulator_dtype=FLOAT64)
    with pytest.raises(TypeError):
        unchecked.reduce_max(x, "a b -> a", accumulator_dtype=FLOAT64)


@pytest.mark.rule("F-28", "O-66")
@pytest.mark.parametrize("name", NAMES)
def test_carrier_form(name: str, f: Make, i: Make, b: Make) -> None:
    x = f([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], (3, 1), 2)
    result = x.carrier.dispatch_op(name).forward(x)
    assert str(result.layout) == "(3,1):(1,3)"
    for shape in ((6,), (1, 2, 3)):
        wrong = f([1.0] * 6, *shape)
        with pytest.raises(ValueError, match=f"{name}: tensor must have exactly two"):
            wrong.carrier.dispatch_op(name).forward(wrong)
    flags = b([True])
    with pytest.raises(NotImplementedError):
        flags.carrier.dispatch_op(name).forward(flags)
    if name != "reduce_sum":
        with pytest.raises(TypeError, match="Int32"):
            getattr(sw, name)(i([1, 2], 1, 2), "a b -> a")


@pytest.mark.rule("F-28", "F-33", "F-12", "O-6", "O-69", "X-39")
def test_sums_in_an_accumulator(f: Make, values: Values) -> None:
    x = f([16777216, 1, 1], 1, 3)
    assert values(sw.reduce_sum(x, "a b -> a")) == [16777216.0]
    wide = sw.reduce_sum(x, "a b -> a", accumulator_dtype=FLOAT64)
    assert values(wide) == [16777218.0] and wide.dtype() is sw.DType.Float32
    options = operation_execution_options("reduce_sum", accumulator_dtype=FLOAT64)
    assert values(x.carrier.dispatch_op("reduce_sum").forward(x, options=options)) == [16777218.0]
    small = f([1.0, *[2.0**-25] * 4], 1, 5)
    assert values(sw.reduce_sum(small, "a b -> a")) == [1.0]
    wide = sw.reduce_sum(small, "a b -> a", accumulator_dtype=FLOAT64)
    assert values(wide) == [1.0000001192092896]


@pytest.mark.rule("F-28", "F-10", "O-6", "X-40")
def test_int32_sums_check_the_total_only(i: Make, values: Values) -> None:
    total = sw.reduce_sum(i([2147483647, 1, -1], 1, 3), "a b -> a")
    assert total.dtype() is sw.DType.Int32 and values(total) == [2147483647]
    assert total.autograd_ctx is None
    with pytest.raises(OverflowError, match=r"reduce_sum: .* out of int32 range"):
        sw.reduce_sum(i([2147483647, 1], 1, 2), "a b -> a")


@pytest.mark.rule("F-34", "F-28", "X-41")
def test_negative_zeros_sum_to_positive_zero(f: Make, values: Values, same: Same) -> None:
    zeros = f([-0.0, -0.0], 1, 2)
    assert same(values(sw.reduce_sum(zeros, "a b -> a")), [0.0])
    wide = sw.reduce_sum(zeros, "a b -> a", accumulator_dtype=FLOAT64)
    assert same(values(wide), [0.0])


@pytest.mark.rule("F-28", "F-27", "F-12", "X-42", "X-43")
def test_products_are_sequential(f: Make, values: Values, vjp: Vjp) -> None:
    assert values(sw.reduce_prod(f([1e30, 1e30, 1e-30], 1, 3), "a b -> a")) == [inf]
    product = sw.reduce_prod(f([1e30, 1e-30, 1e30], 1, 3), "a b -> a")
    assert values(product) == [1.0000000150474662e30]
    x = f([2, 2, 0, 3, 2, 3], 2, 3)
    assert vjp(rows(sw.reduce_prod), x, g=[10, 100]) == [[0, 900, 40, 600, 0, 600]]
    nested = f([2, 3, 5, 7], 1, (2, 2))
    assert vjp(rows(sw.reduce_prod), nested) == [[105, 70, 42, 30]]


@pytest.mark.rule("F-29")
def test_extremes(f: Make, values: Values, same: Same) -> None:
    x = f([1, nan, 2, -0.0, 5, 0.0, 3, -0.0], 4, 2)
    assert same(values(sw.reduce_max(x, "a b -> a")), [5.0, nan, 3.0, -0.0])
    assert same(values(sw.reduce_min(x, "a b -> a")), [1.0, nan, 2.0, -0.0])
    zeros = f([0.0, -0.0, -0.0, -0.0, 0.0, -0.0], layout="(3,2):(2,1)")
    assert same(values(sw.reduce_max(zeros, "a b -> a")), [0.0, 0.0, -0.0])
    assert same(values(sw.reduce_min(zeros, "a b -> a")), [-0.0, -0.0, -0.0])
    assert same(values(sw.reduce_max(f([-inf, -inf], 1, 2), "a b -> a")), [-inf])


@pytest.mark.rule("F-30", "F-14", "X-44")
def test_maximum_gradient(f: Make, vjp: Vjp, same: Same) -> None:
    reduce = rows(sw.reduce_max)
    assert vjp(reduce, f([2, 2, 0, 3, 2, 3], 2, 3), g=[10, 100]) == [[5, 0, 0, 50, 5, 50]]
    (spoiled,) = vjp(reduce, f([nan, 2, 0, 3, 2, 3], 2, 3), g=[10, 100])
    assert same(spoiled, [nan, 0.0, nan, 50.0, nan, 50.0])
    (infinite,) = vjp(reduce, f([inf, 2, inf, 3, 2, 3], 2, 3), g=[10, 100])
    assert same(infinite[::2], [5.0, 5.0, 0.0])
    (lost,) = vjp(reduce, f([1, 2], 1, 2), g=[inf])
    assert same(lost, [0.0, inf])
    assert vjp(rows(sw.reduce_min), f([0.0, -0.0, 1], 1, 3), g=[8]) == [[4, 4, 0]]


@pytest.mark.rule("F-31", "F-27", "X-45", "X-46")
def test_positions(f: Make, values: Values) -> None:
    x = f([1, 9, 3, 9, 5, 9], 2, 3)
    assert values(sw.argmax(x, "a b -> a")) == [2, 0]
    assert values(sw.argmax(x, "a b -> 1")) == [1]
    assert values(sw.argmin(f([0.0, -0.0], 1, 2), "a b -> a")) == [0]
    cube = [0.0] * 24
    cube[0 + 2 * 1 + 6 * 3] = 5.0
    assert values(sw.argmax(f(cube, 2, 3, 4), "a b c -> b")) == [0, 6, 0]
    assert values(sw.argmax(f([1, nan, 9, nan], 1, 4), "a b -> a")) == [1]
    assert values(sw.argmin(f([-inf, nan, 9], 1, 3), "a b -> a")) == [1]
    result = sw.argmax(x, "a b -> a")
    assert result.dtype() is sw.DType.Int32 and result.autograd_ctx is None


@pytest.mark.rule("F-27", "F-36")
def test_a_stride_zero_mode_repeats_its_terms(f: Make, values: Values, vjp: Vjp) -> None:
    x = f([1, 2], 2, 3, layout="(2,3):(1,0)")
    assert values(sw.reduce_sum(x, "a b -> a")) == [3, 6]
    assert values(sw.reduce_prod(x, "a b -> a")) == [1, 8]
    assert vjp(rows(sw.reduce_sum), x, g=[1, 10]) == [[3, 30, 3, 30, 3, 30]]


@pytest.mark.rule("F-26", "A-6", "A-8", "F-28")
def test_a_description_is_one_node_over_the_callers_tensor(f: Make, vjp: Vjp) -> None:
    x = f(range(1, 25), 2, (3, 4))
    total: Any = sw.reduce_sum(x, "a (b c) -> (c a)")
    assert total.autograd_ctx._operation_name == "reduce_sum"
    assert total.autograd_ctx.inputs() == (x,)
    g = list(range(8))
    (gradient,) = vjp(lambda t: sw.reduce_sum(t, "a (b c) -> (c a)"), x, g=g)
    assert gradient == [g[c + 4 * a] for c in range(4) for b in range(3) for a in range(2)]


@pytest.mark.rule("F-28")
def test_a_fiber_beyond_int32_is_refused(f: Make) -> None:
    fiber = sw.Tensor(f([1.0]).carrier, 0, sw.Layout.parse("(1,2147483649):(1,0)"))
    for name in ("argmax", "argmin"):
        with pytest.raises(OverflowError, match="out of int32 range"):
            getattr(sw, name)(fiber, "a b -> a")
