"""Kernels give what the references give: over dtypes, layouts, offsets and special values."""

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import strideweave as sw
from strideweave import DType, Layout, Shape, Stride, Tensor
from strideweave.testing import ArrayCarrier

from strideweave_opencl import OpenCLBuffer

EXACT = "neg abs sign recip sqrt rsqrt floor ceil round relu leaky_relu".split()
LIBRARY = "exp exp2 log log2 sin cos erf sigmoid tanh gelu silu softplus elu".split()
BINARY = "add sub elementwise_mul div maximum minimum rem eq ne lt le".split()
SPECIAL = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.7, -3.7, 1e-40, -1e-40),
    *(math.inf, -math.inf, math.nan, 1e30, -1e30, 88.7, -103.0, 16777217.0),
]
OTHERS = [SPECIAL[(7 * position + 3) % len(SPECIAL)] for position in range(len(SPECIAL))]
INTEGERS = [0, 1, -1, 7, -7, 46340, -46340, 2**30, -(2**30), 5, 16777217, -3]

CONTIGUOUS = (Layout(Shape(20), Stride(1)), 0)
ROW_MAJOR = (Layout(Shape(4, 5), Stride(5, 1)), 0)
NESTED = (Layout(Shape(2, (2, 3)), Stride(9, (3, 0))), 1)
"""Holes, a stride of zero, a nested mode and an offset, all within 20 slots."""
PLACEMENTS = [CONTIGUOUS, ROW_MAJOR, NESTED]

Maker = Callable[[Sequence[Any], DType], sw.Carrier]


def canonical(shape: Shape) -> Layout:
    """The layout of a shape without holes, first mode fastest."""
    stride = 1

    def strides(items: Any) -> list[Any]:
        nonlocal stride
        found: list[Any] = []
        for item in items:
            found.append(strides(item) if isinstance(item, tuple) else stride)
            stride *= 1 if isinstance(item, tuple) else item
        return found

    return Layout(shape, Stride(strides(shape.top_level)))


def on_opencl(values: Sequence[Any], dtype: DType) -> sw.Carrier:
    return OpenCLBuffer(0, dtype=dtype).new_like(values)


def on_array(values: Sequence[Any], dtype: DType) -> sw.Carrier:
    return ArrayCarrier(0, dtype=dtype).new_like(values)


def same_bits(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    return len(found) == len(expected) and all(map(_same, found, expected))


def _same(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and not math.isnan(expected):
        return struct.pack("f", found) == struct.pack("f", expected)
    return type(found) is type(expected) and (found == expected or found != found)


def near(found: Sequence[float], expected: Sequence[float]) -> bool:
    return len(found) == len(expected) and all(
        _same(one, other)
        or (math.isfinite(other) and other != 0 and abs(one - other) <= 1e-6 + 1e-5 * abs(other))
        for one, other in zip(found, expected, strict=True)
    )


def values_of(tensor: Tensor) -> list[Any]:
    """All values in logical order, with the layout's own order of slots."""
    host = sw.copy(tensor, sw.CPU(tensor.layout.cosize, dtype=tensor.dtype()))
    return [host.carrier[tensor.layout.index(ordinal)] for ordinal in range(tensor.size())]


def compare(compute: Callable[[Maker], Tensor], close: Callable[[Any, Any], bool]) -> None:
    found, expected = compute(on_opencl), compute(on_array)
    assert (found.layout, found.dtype()) == (expected.layout, expected.dtype())
    computed, reference = values_of(found), values_of(expected)
    assert close(computed, reference), f"{computed} instead of {reference}"


@pytest.mark.parametrize("placement", PLACEMENTS, ids=["contiguous", "row-major", "nested"])
@pytest.mark.parametrize("name", [*EXACT, *LIBRARY, "logical_not"])
def test_unary(name: str, placement: tuple[Layout, int]) -> None:
    layout, offset = placement
    function = getattr(sw, name)
    compare(
        lambda make: function(Tensor(make(SPECIAL, DType.Float32), offset, layout)),
        near if name in LIBRARY else same_bits,
    )


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("placement", PLACEMENTS, ids=["contiguous", "row-major", "nested"])
def test_binary(name: str, placement: tuple[Layout, int]) -> None:
    layout, offset = placement
    function = getattr(sw, name)

    def compute(make: Maker) -> Tensor:
        lhs = Tensor(make(SPECIAL, DType.Float32), offset, layout)
        rhs = Tensor(make(OTHERS, DType.Float32), 0, canonical(layout.shape))
        return function(lhs, rhs)  # type: ignore[no-any-return]  # found by its name

    compare(compute, same_bits)


def flat(make: Maker, values: Sequence[Any], dtype: DType = DType.Float32) -> Tensor:
    return Tensor(make(values, dtype), 0, Layout(Shape(len(values)), Stride(1)))


def ints(make: Maker, values: Sequence[int] = INTEGERS) -> Tensor:
    return flat(make, values, DType.Int32)


def bools(make: Maker) -> Tensor:
    return flat(make, [True, False, True, True, False, False] * 2, DType.Bool)


def matrix(make: Maker, *shape: Any, dtype: DType = DType.Float32) -> Tensor:
    """Values that leave no sum in doubt, first mode fastest."""
    layout = canonical(Shape(*shape))
    numbers = [(7 * position) % 11 - 5 for position in range(layout.size)]
    return Tensor(make(numbers, dtype), 0, layout)


def swapped(tensor: Tensor) -> Tensor:
    return sw.permute(tensor, 1, 0)


EXACT_CALLS: dict[str, Callable[[Maker], Tensor]] = {
    "int add": lambda make: sw.add(ints(make), ints(make, INTEGERS[::-1])),
    "mixed mul": lambda make: sw.mul(ints(make), flat(make, OTHERS[:12])),
    "int mul by a number": lambda make: sw.mul(ints(make, INTEGERS[:6]), -3),
    "mul by an infinity": lambda make: sw.mul(flat(make, SPECIAL), 1e300),
    "int power": lambda make: sw.pow(ints(make, [3, -2, 0, 1, -1]), 19),
    "power of a parity": lambda make: sw.pow(ints(make, [1, 0, -1]), 2**24 + 1),
    "int relu": lambda make: sw.relu(ints(make)),
    "int eq": lambda make: sw.eq(ints(make), ints(make, INTEGERS[::-1])),
    "and": lambda make: sw.logical_and(bools(make), sw.gt(ints(make), ints(make, [0] * 12))),
    "or": lambda make: sw.logical_or(bools(make), sw.gt(ints(make), ints(make, [0] * 12))),
    "xor": lambda make: sw.logical_xor(bools(make), sw.gt(ints(make), ints(make, [0] * 12))),
    "select": lambda make: sw.select(
        bools(make), flat(make, SPECIAL[:12]), flat(make, OTHERS[:12])
    ),
    "clamp": lambda make: sw.clamp(flat(make, SPECIAL), -1.5, 2.0),
    "cast to int": lambda make: sw.cast(flat(make, [1.9, -1.9, -(2.0**31)]), DType.Int32),
    "cast to bool": lambda make: sw.cast(flat(make, SPECIAL), DType.Bool),
    "cast to float": lambda make: sw.cast(ints(make), DType.Float32),
    "broadcast": lambda make: sw.add(matrix(make, 3, 1), matrix(make, 1, 5)),
    "sum": lambda make: sw.reduce_sum(matrix(make, 3, 4, 5), "a b c -> c a"),
    "wide sum": lambda make: sw.reduce_sum(
        flat(make, [1.0, *[2.0**-25] * 4]), "a -> 1", accumulator_dtype=DType.Float64
    ),
    "int sum": lambda make: sw.reduce_sum(ints(make, [2**31 - 1, 5, -10]), "a -> 1"),
    "prod": lambda make: sw.reduce_prod(flat(make, [1e30, 1e-30, 1e30]), "a -> 1"),
    "max": lambda make: sw.reduce_max(
        Tensor(make(SPECIAL, DType.Float32), 0, ROW_MAJOR[0]), "a b -> a"
    ),
    "min of zeros": lambda make: sw.reduce_min(flat(make, [0.0, -0.0, 0.0]), "a -> 1"),
    "argmax": lambda make: sw.argmax(matrix(make, 5, 7), "a b -> a"),
    "argmin with NaN": lambda make: sw.argmin(flat(make, [1.0, math.nan, -5.0]), "a -> 1"),
    "cumsum": lambda make: sw.cumsum(swapped(matrix(make, 3, (2, 2))), 0),
    "matmul": lambda make: sw.matmul(matrix(make, 3, 4), swapped(matrix(make, 4, 5))),
    "nested matmul": lambda make: sw.matmul(
        sw.permute(matrix(make, 4, (2, 3)), 1, 0), swapped(matrix(make, 4, 5))
    ),
    "int matmul": lambda make: sw.matmul(
        matrix(make, 3, 4, dtype=DType.Int32), matrix(make, 5, 4, dtype=DType.Int32)
    ),
    "rounded products": lambda make: sw.matmul(
        Tensor(make([1 + 2**-23, 1.0], DType.Float32), 0, canonical(Shape(1, 2))),
        Tensor(make([1 + 2**-23, -(1 + 2**-22)], DType.Float32), 0, canonical(Shape(1, 2))),
        accumulator_dtype=DType.Float64,
    ),
    "batches": lambda make: sw.einsum(
        matrix(make, 2, 3, 4), matrix(make, 2, 5, 4), "b i k, b j k -> b i j"
    ),
    "gather": lambda make: sw.gather(
        swapped(matrix(make, 3, (2, 2))),
        Tensor(make([3, 0, 2, 3], DType.Int32), 0, canonical(Shape(2, 2))),
        0,
    ),
    "scatter_add": lambda make: sw.scatter_add(
        matrix(make, 3, 4, 2), ints(make, [3, 0, 3]), matrix(make, 3, 3, 2), 1
    ),
    "sort by reference": lambda make: sw.sort(flat(make, SPECIAL)).values,
}


@pytest.mark.parametrize("name", EXACT_CALLS)
def test_exact(name: str) -> None:
    compare(EXACT_CALLS[name], same_bits)


@pytest.mark.parametrize(
    ("base", "exponent"),
    [(0.0, -1.0), (-0.0, -1.0), (-8.0, 1 / 3), (math.nan, 0.0), (1.0, math.nan), (2.5, 3.25)],
)
def test_powers(base: float, exponent: float) -> None:
    compare(lambda make: sw.pow(flat(make, [base]), flat(make, [exponent])), near)


def test_products_are_not_fused() -> None:
    """A fused multiply-add of these would give 2**-46, not zero."""

    def compute(make: Maker) -> Tensor:
        layout = canonical(Shape(1, 2))
        factor = 1 + 2.0**-23
        lhs = Tensor(make([factor, 1.0], DType.Float32), 0, layout)
        rhs = Tensor(make([factor, -(1 + 2.0**-22)], DType.Float32), 0, layout)
        return sw.matmul(lhs, rhs)

    compare(compute, same_bits)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda make: sw.add(ints(make, [2**31 - 1]), ints(make, [1])), OverflowError, "int32"),
        (lambda make: sw.pow(ints(make, [2]), 31), OverflowError, "int32"),
        (lambda make: sw.reduce_sum(ints(make, [2**31 - 1, 5]), "a -> 1"), OverflowError, "int32"),
        (lambda make: sw.cast(flat(make, [math.inf]), DType.Int32), OverflowError, "int32"),
        (
            lambda make: sw.gather(flat(make, [1.0]), ints(make, [0, 1, 2]), 0),
            IndexError,
            "ordinal 1",
        ),
        (
            lambda make: sw.scatter_add(flat(make, [1.0]), ints(make, [-1]), flat(make, [2.0]), 0),
            IndexError,
            "out of range",
        ),
        (lambda make: sw.mul(flat(make, [1.0]), 10**400), OverflowError, "large"),
    ],
)
def test_faults_of_element_values_are_raised(
    call: Callable[[Maker], Tensor], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(on_opencl)
    with pytest.raises(error):
        call(on_array)


def test_gradients_agree_with_the_references() -> None:
    def gradients(make: Maker) -> list[list[float]]:
        weight, inputs = matrix(make, 3, (2, 2)), matrix(make, (2, 2), 5)
        hidden = sw.sigmoid(sw.matmul(swapped(inputs), weight) * 0.125)
        picked = sw.gather(hidden, ints(make, [1, 0, 1]), 0)
        loss = sw.reduce_sum(sw.log(sw.reduce_sum(picked, "a b -> a")), "a -> 1")
        loss.backward()
        assert weight.grad is not None and inputs.grad is not None
        assert type(weight.grad.carrier) is type(weight.carrier)
        return [values_of(weight.grad), values_of(inputs.grad)]

    for found, expected in zip(gradients(on_opencl), gradients(on_array), strict=True):
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)
