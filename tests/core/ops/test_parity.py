"""Every reference against formulas written one element at a time, over all operation cases."""

import math
import re
import struct
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from math import copysign, inf, isfinite, nan
from typing import Any

import pytest

import strideweave as sw
from strideweave.carriers.operation_policy import resolvable_plans
from strideweave.testing import ArrayCarrier
from strideweave.testing.cases import (
    OperandCase,
    OperationCase,
    gradient_cases,
    gradient_disagreement,
    operation_cases,
    run_case,
)


def grouped(cases: list[OperationCase]) -> dict[str, list[OperationCase]]:
    groups: dict[str, list[OperationCase]] = defaultdict(list)
    for case in cases:
        groups[case.operation].append(case)
    return groups


CASES, GRADIENT_CASES = grouped(operation_cases()), grouped(gradient_cases())


def make_carrier(values: Sequence[Any], dtype: sw.DType) -> sw.Carrier:
    return ArrayCarrier(0, dtype=dtype).new_like(values)


def rounded(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return copysign(inf, value)


def total(function: Callable[..., float], *arguments: float) -> float:
    """Evaluate with IEEE results where Python raises."""
    try:
        return function(*arguments)
    except OverflowError:
        return inf
    except (ValueError, ZeroDivisionError):
        return nan


def quotient(x: float, y: float) -> float:
    if y != 0:
        return rounded(x / y)
    return nan if x == 0 or math.isnan(x) else copysign(inf, x) * copysign(1.0, y)


def logarithm(x: float) -> float:
    return -inf if x == 0 else total(math.log, x)


def power(x: float, y: float) -> float:
    if x == 0 and y < 0 and isfinite(y):
        return copysign(inf, x) if y % 2 == 1 else inf
    if x < 0 and isfinite(x) and abs(y) >= 2**24 and isfinite(y):  # an even integer
        return total(math.pow, -x, y)
    return total(math.pow, x, y)


def larger(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y):
        return nan
    return max(x, y, key=lambda value: (value, copysign(1.0, value)))


def clamped(x: float, low: float, high: float) -> float:
    return -larger(-larger(x, low), -high)


def whole(x: float, function: Callable[[float], int]) -> float:
    return copysign(float(function(x)), x) if isfinite(x) else x


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0 if x < 0 else nan


FORMULAS: dict[str, Callable[..., Any]] = {
    "neg": lambda x: -x,
    "abs": math.fabs,
    "sign": lambda x: x if math.isnan(x) else 0.0 if x == 0 else copysign(1.0, x),
    "recip": lambda x: quotient(1.0, x),
    "sqrt": lambda x: rounded(total(math.sqrt, x)),
    "rsqrt": lambda x: quotient(1.0, rounded(total(math.sqrt, x))),
    "exp": lambda x: total(math.exp, x),
    "exp2": lambda x: total(math.exp2, x),
    "log": logarithm,
    "log2": lambda x: logarithm(x) / math.log(2),
    "sin": lambda x: total(math.sin, x),
    "cos": lambda x: total(math.cos, x),
    "erf": math.erf,
    "floor": lambda x: whole(x, math.floor),
    "ceil": lambda x: whole(x, math.ceil),
    "round": lambda x: whole(x, round),
    "relu": lambda x: x if x > 0 else type(x)(0),
    "sigmoid": sigmoid,
    "tanh": math.tanh,
    "gelu": lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),
    "silu": lambda x: x * sigmoid(x),
    "softplus": lambda x: x if x > 30 else math.log1p(total(math.exp, x)),
    "elu": lambda x: x if x > 0 else math.expm1(x),
    "leaky_relu": lambda x: x if x >= 0 else rounded(rounded(0.01) * x),
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "elementwise_mul": lambda x, y: x * y,
    "div": quotient,
    "pow": power,
    "maximum": larger,
    "minimum": lambda x, y: -larger(-x, -y),
    "rem": lambda x, y: total(math.fmod, x, y),
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "logical_not": lambda x: x == 0,
    "logical_and": lambda x, y: x and y,
    "logical_or": lambda x, y: x or y,
    "logical_xor": lambda x, y: x is not y,
    "select": lambda condition, x, y: x if condition else y,
    "clamp": clamped,
    "_cast_float32": float,
    "_cast_int32": int,
    "_cast_bool": lambda x: x != 0,
}
FOLDS: dict[str, Callable[[list[Any]], Any]] = {
    "reduce_sum": sum,
    "reduce_max": lambda fiber: _folded(larger, fiber),
    "reduce_min": lambda fiber: _folded(lambda x, y: -larger(-x, -y), fiber),
    "reduce_prod": lambda fiber: _folded(lambda x, y: rounded(x * y), fiber),
    "argmax": lambda fiber: _first(fiber, max),
    "argmin": lambda fiber: _first(fiber, min),
}
KEPT_LEAVES = {  # by rank of the source, then by command
    2: {"a b -> a": [0], "a b -> b": [1], "a b -> 1": [], "a b -> (a 1)": [0]},
    3: {"a b -> a": [0], "a (b c) -> c a": [2, 0], "a (b c) -> (b a)": [1, 0]},
}


def _folded(combine: Callable[[Any, Any], Any], fiber: list[Any]) -> Any:
    result = fiber[0]
    for value in fiber[1:]:
        result = combine(result, value)
    return result


def _first(fiber: list[float], best: Callable[[list[float]], float]) -> int:
    spoiled = [ordinal for ordinal, value in enumerate(fiber) if math.isnan(value)]
    return spoiled[0] if spoiled else fiber.index(best(fiber))


def element(given: Any, coordinate: tuple[int, ...]) -> Any:
    """Read one coordinate of a case's operand, extent-1 leaves widened; numbers stay."""
    if not isinstance(given, OperandCase):
        return given
    pairs = zip(coordinate, given.layout.leaf_extents, given.layout.leaf_strides, strict=True)
    slot = sum((0 if extent == 1 else at) * stride for at, extent, stride in pairs)
    value = given.storage[given.offset + slot]
    return rounded(value) if type(value) is float else value


def coordinates(extents: Sequence[int]) -> list[tuple[int, ...]]:
    if not extents:
        return [()]
    return [(first, *rest) for rest in coordinates(extents[1:]) for first in range(extents[0])]


def expected_pointwise(case: OperationCase, result: sw.Tensor) -> list[Any]:
    formula = FORMULAS[case.operation]
    is_float = result.dtype() is sw.DType.Float32
    columns = []
    for coordinate in coordinates(result.layout.leaf_extents):
        arguments = [element(given, coordinate) for given in case.operands]
        integers = all(type(value) is int for value in arguments)
        compares = case.operation in {"eq", "ne", "lt", "le", "_cast_bool"}
        if is_float or (compares and not integers):
            arguments = [
                value if type(value) is bool else rounded(float(value)) for value in arguments
            ]
        value = formula(*arguments)
        columns.append(rounded(float(value)) if is_float else value)
    return columns


def expected_reduction(case: OperationCase) -> list[Any]:
    (given,) = case.operands
    extents = given.layout.leaf_extents
    kept = KEPT_LEAVES[len(extents)][case.description or ""]
    fibers: dict[int, list[Any]] = defaultdict(list)
    for coordinate in coordinates(extents):
        ordinal, radix = 0, 1
        for leaf in kept:
            ordinal += radix * coordinate[leaf]
            radix *= extents[leaf]
        fibers[ordinal].append(element(given, coordinate))
    return [FOLDS[case.operation](fibers[ordinal]) for ordinal in sorted(fibers)]


def agree(actual: Any, expected: Any, case: OperationCase) -> bool:
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(actual, float) and math.isnan(actual)
    if case.agreement == "exact":
        return type(actual) is type(expected) and repr(actual) == repr(expected)
    return bool(actual == expected or abs(actual - expected) <= 1e-5 + 1e-5 * abs(expected))


def check(case: OperationCase, expected: list[Any], result: sw.Tensor) -> None:
    found = [result[ordinal] for ordinal in range(result.size())]
    assert len(found) == len(expected), case
    for ordinal, (actual, wanted) in enumerate(zip(found, expected, strict=True)):
        assert agree(actual, wanted, case), f"{case}: {actual!r} for {wanted!r} at {ordinal}"


@pytest.mark.rule("F-9", "F-10", "F-12", "F-15", "F-16", "F-18", "F-19", "F-20", "F-21", "F-22")
@pytest.mark.rule("F-23", "F-24", "F-25", "F-48", "O-5", "O-65", "G-13")
@pytest.mark.parametrize("operation", FORMULAS)
def test_pointwise_operations(operation: str) -> None:
    for case in CASES[operation]:
        result = run_case(case, make_carrier)
        check(case, expected_pointwise(case, result), result)


@pytest.mark.rule("F-27", "F-28", "F-29", "F-31", "F-12", "O-6")
@pytest.mark.parametrize("operation", FOLDS)
def test_reductions(operation: str) -> None:
    for case in CASES[operation]:
        check(case, expected_reduction(case), run_case(case, make_carrier))


@pytest.mark.rule("F-35", "F-37", "F-38", "F-10")
@pytest.mark.parametrize("operation", ["matmul", "_batched_matmul"])
def test_products(operation: str) -> None:
    plain = "i k, j k -> i j" if operation == "matmul" else "b i k, b j k -> b i j"
    for case in CASES[operation]:
        inputs, output = (case.description or plain).split("->")
        names = [re.findall("[a-z]", reference) for reference in (*inputs.split(","), output)]
        tables: list[dict[tuple[int, ...], Any]] = []
        extents: dict[str, int] = {}
        for given, symbols in zip(case.operands, names, strict=False):
            modes = [mode.size for mode in given.layout.shape]
            sizes = modes if len(modes) == len(symbols) else given.layout.leaf_extents
            tables.append(
                dict(zip(coordinates(sizes), at_coordinates(given).values(), strict=True))
            )
            extents.update(zip(symbols, sizes, strict=True))
        check(case, contracted(names, tables, extents), run_case(case, make_carrier))


def contracted(
    names: list[list[str]], tables: list[dict[tuple[int, ...], Any]], extents: dict[str, int]
) -> list[Any]:
    lhs, rhs, kept = names
    summed = sorted({*lhs, *rhs} - {*kept})
    results = []
    for outer in coordinates([extents[name] for name in kept]):
        total = 0
        for inner in coordinates([extents[name] for name in summed]):
            at = dict(zip([*kept, *summed], [*outer, *inner], strict=True))
            left, right = (
                table[tuple(at[name] for name in symbols)]
                for table, symbols in zip(tables, (lhs, rhs), strict=True)
            )
            total += left * right
        results.append(total)
    return results


@pytest.mark.rule("F-39")
def test_convolution() -> None:
    for case in CASES["conv_general"]:
        lhs, kernel, *parameters = case.operands
        result = run_case(case, make_carrier)
        positions = [mode.size for mode in result.layout.shape][2:]
        check(case, convolved(lhs, kernel, positions, *parameters), result)


def convolved(
    lhs: OperandCase,
    kernel: OperandCase,
    positions: list[int],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...] | None = None,
    kernel_dilation: tuple[int, ...] | None = None,
    groups: int = 1,
) -> list[float]:
    """Spread every product of an element and a weight to the position where they meet."""
    rank = len(strides)
    steps = list(
        zip(
            strides,
            padding,
            lhs_dilation or (1,) * rank,
            kernel_dilation or (1,) * rank,
            strict=True,
        )
    )
    elements, weights = (
        dict(
            zip(
                coordinates([mode.size for mode in given.layout.shape]),
                at_coordinates(given).values(),
                strict=True,
            )
        )
        for given in (lhs, kernel)
    )
    features, channels = kernel.layout.shape[0].size, kernel.layout.shape[1].size
    sums: dict[tuple[int, ...], float] = defaultdict(float)
    for (batch, channel, *element), value in elements.items():
        for (feature, own, *tap), weight in weights.items():
            distances = [
                e * apart + before - t * spread
                for e, t, (_, (before, _), apart, spread) in zip(element, tap, steps, strict=True)
            ]
            meets = all(d % stride == 0 for d, (stride, *_) in zip(distances, steps, strict=True))
            if meets and channel == own + channels * (feature * groups // features):
                place = (d // stride for d, (stride, *_) in zip(distances, steps, strict=True))
                sums[(batch, feature, *place)] += value * weight
    return [sums[at] for at in coordinates([lhs.layout.shape[0].size, features, *positions])]


@pytest.mark.rule("F-41", "F-42", "F-43", "F-32")
@pytest.mark.parametrize("operation", ["gather", "scatter", "scatter_add", "cumsum", "flip"])
def test_operations_along_a_mode(operation: str) -> None:
    for case in CASES[operation]:
        source, *others, axis = case.operands
        arrays = [list(at_coordinates(given).values()) for given in others]
        inner = math.prod(mode.size for mode in source.layout.shape[:axis])

        change = partial(along, operation, arrays, inner)
        check(case, changed_fibers(source, axis, change), run_case(case, make_carrier))


def changed_fibers(
    source: OperandCase, axis: int, change: Callable[[list[Any], int, int], list[Any]]
) -> list[Any]:
    """Replace every fiber along a mode; ``change`` gets the other ordinals, before and after it."""
    extents = [mode.size for mode in source.layout.shape]
    inner, extent = math.prod(extents[:axis]), extents[axis]
    outer = math.prod(extents[axis + 1 :])
    values = list(at_coordinates(source).values())
    changed = [
        [
            change([values[a + inner * (k + extent * c)] for k in range(extent)], a, c)
            for c in range(outer)
        ]
        for a in range(inner)
    ]
    length = len(changed[0][0])
    return [changed[a][c][k] for c in range(outer) for k in range(length) for a in range(inner)]


@pytest.mark.rule("F-45")
@pytest.mark.parametrize("operation", [name for name in CASES if name[:5] in ("_sort", "_topk")])
def test_ordering(operation: str) -> None:
    for case in CASES[operation]:
        source, *count, axis, descending = case.operands
        length = count[0] if count else None
        change = partial(ordered, descending, length, "indices" in operation)
        check(case, changed_fibers(source, axis, change), run_case(case, make_carrier))


def ordered(
    descending: bool, length: int | None, is_index: bool, fiber: list[float], a: int, c: int
) -> list[Any]:
    def rank(ordinal: int) -> tuple[bool, float]:
        value = fiber[ordinal]
        if math.isnan(value):
            return not descending, 0.0
        return descending, -value if descending else value

    order = sorted(range(len(fiber)), key=rank)[:length]
    return order if is_index else [fiber[ordinal] for ordinal in order]


def at_coordinates(given: OperandCase) -> dict[tuple[int, ...], Any]:
    """The values of a case's operand by coordinates, one per leaf."""
    return {at: element(given, at) for at in coordinates(given.layout.leaf_extents)}


@pytest.mark.rule("F-49")
def test_concat() -> None:
    for case in CASES["concat"]:
        lhs, rhs, axis = case.operands
        result = run_case(case, make_carrier)
        extent = lhs.layout.leaf_extents[axis]
        placed = at_coordinates(lhs)
        for at, value in at_coordinates(rhs).items():
            placed[(*at[:axis], at[axis] + extent, *at[axis + 1 :])] = value
        expected = [placed[at] for at in coordinates(result.layout.leaf_extents)]
        check(case, expected, result)


@pytest.mark.rule("F-49")
def test_pad() -> None:
    for case in CASES["pad"]:
        source, padding, value = case.operands
        result = run_case(case, make_carrier)
        values = at_coordinates(source)
        befores = [before for before, _ in padding] + [0] * len(source.layout.leaf_extents)
        expected = [
            values.get(tuple(c - before for c, before in zip(at, befores, strict=False)), value)
            for at in coordinates(result.layout.leaf_extents)
        ]
        check(case, expected, result)


def along(
    operation: str, arrays: list[list[Any]], inner: int, fiber: list[Any], a: int, c: int
) -> list[Any]:
    """The result of one fiber: ``arrays`` holds the indices and the updates."""
    if operation == "flip":
        return fiber[::-1]
    if operation == "cumsum":
        running, sums = 0.0, []
        for value in fiber:
            running = rounded(running + value)
            sums.append(running)
        return sums
    indices = arrays[0]
    if operation == "gather":
        return [fiber[index] for index in indices]
    written = list(fiber)
    for position, index in enumerate(indices):
        update = arrays[1][a + inner * (position + len(indices) * c)]
        written[index] = rounded(written[index] + update) if "add" in operation else update
    return written


@pytest.mark.rule("F-14", "F-15", "F-18", "F-20", "F-21", "F-22", "F-24", "F-25", "F-28", "F-30")
@pytest.mark.rule(
    "F-32",
    "F-35",
    "F-36",
    "F-38",
    "F-39",
    "F-41",
    "F-42",
    "F-43",
    "F-45",
    "F-48",
    "F-49",
    "S-1",
    "G-13",
)
@pytest.mark.parametrize("operation", GRADIENT_CASES)
def test_gradients_agree_with_central_differences(operation: str) -> None:
    for case in GRADIENT_CASES[operation]:
        assert gradient_disagreement(case, make_carrier) is None


def test_a_wrong_gradient_would_be_found() -> None:
    case = GRADIENT_CASES["mul"][0]
    assert "central differences give" in str(gradient_disagreement(case, make_carrier, -1.0))


def test_every_operation_has_cases() -> None:
    assert {plan.operation for plan in resolvable_plans()} == set(CASES)
    assert len({str(case) for cases in CASES.values() for case in cases}) == sum(
        map(len, CASES.values())
    )
