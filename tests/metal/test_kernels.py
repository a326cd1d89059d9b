"""Results of Metal where MLX's own functions would differ, and refusals before any work."""

import importlib
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw
from strideweave import CPU, DType, Layout, Metal, Tensor, UnsupportedOperationPlan
from strideweave.operation import operation_definitions

MakeTensor = Callable[..., Tensor]
INF, NAN = math.inf, math.nan
INT, BOOL = DType.Int32, DType.Bool


def bits(values: Sequence[float]) -> list[object]:
    """Tell values apart by their bits, but one NaN from no other."""
    return ["nan" if value != value else struct.pack("f", value) for value in values]


def values(tensor: Tensor) -> list[Any]:
    return [tensor[ordinal] for ordinal in range(tensor.size())]


REDUCTIONS = (sw.reduce_sum, sw.reduce_prod, sw.reduce_max, sw.reduce_min)
EXACT: list[tuple[Callable[..., Tensor], list[list[float]], list[float]]] = [
    (sw.sign, [[NAN, 0.0, -0.0, -2.0, INF]], [NAN, 0.0, 0.0, -1.0, 1.0]),
    (sw.relu, [[NAN, -0.0, -1.0, INF, 3.0]], [0.0, 0.0, 0.0, INF, 3.0]),
    (sw.leaky_relu, [[NAN, -0.0, -1.0, INF]], [NAN, -0.0, -0.009999999776482582, INF]),
    (sw.round, [[0.5, 1.5, 2.5, -0.5, -1.5]], [0.0, 2.0, 2.0, -0.0, -2.0]),
    (sw.rsqrt, [[0.0, -0.0, 4.0, -1.0, INF]], [INF, -INF, 0.5, NAN, 0.0]),
    (sw.recip, [[0.0, -0.0, INF, -INF]], [INF, -INF, 0.0, -0.0]),
    (
        sw.maximum,
        [[0.0, -0.0, -0.0, NAN, 1.0], [-0.0, 0.0, -0.0, 1.0, NAN]],
        [0, 0, -0.0, NAN, NAN],
    ),
    (
        sw.minimum,
        [[0.0, -0.0, 0.0, NAN, 1.0], [-0.0, 0.0, 0.0, 1.0, NAN]],
        [-0.0, -0.0, 0, NAN, NAN],
    ),
    (
        sw.rem,
        [[5.5, -5.5, 5.5, -4.0, 1.0, INF, 5.5], [2.0, 2.0, -2.0, 2.0, 0.0, 2.0, INF]],
        [1.5, -1.5, 1.5, -0.0, NAN, NAN, 5.5],
    ),
    (lambda t: sw.cumsum(t, 0), [[-0.0, -0.0, 1.0]], [0.0, 0.0, 1.0]),
    (lambda t: sw.reduce_sum(t, "a -> 1"), [[-0.0, -0.0]], [0.0]),
    (lambda t: sw.reduce_max(t, "a -> 1"), [[-0.0, -1.0, 0.0]], [0.0]),
    (lambda t: sw.reduce_min(t, "a -> 1"), [[0.0, 1.0, -0.0]], [-0.0]),
    (lambda t: sw.reduce_max(t, "a -> 1"), [[1.0, NAN, INF]], [NAN]),
    (lambda t: sw.reduce_prod(t, "a -> 1"), [[1e30, 1e30, 1e-30]], [INF]),
    (lambda t: sw.argmax(t, "a -> 1"), [[1.0, NAN, NAN, INF]], [1]),
    (lambda t: sw.argmin(t, "a -> 1"), [[0.0, -0.0]], [0]),
    (lambda t: sw.sort(t).values, [[NAN, 0.0, -1.0, -0.0]], [-1.0, 0.0, -0.0, NAN]),
    (lambda t: sw.sort(t, descending=True).indices, [[1.0, NAN, 1.0, NAN]], [1, 3, 0, 2]),
    (lambda t: sw.topk(t, 3).values, [[-0.0, NAN, 0.0, 5.0]], [NAN, 5.0, -0.0]),
    (lambda t: sw.topk(t, 2, largest=False).indices, [[0.0, 2.0, -0.0, 1.0]], [0, 2]),
]


@pytest.mark.rule("MT-32", "F-16", "F-21", "F-22", "F-29", "F-31", "F-32", "F-34", "F-45")
@pytest.mark.parametrize("row", range(len(EXACT)))
def test_exact_results(row: int, make_tensor: MakeTensor) -> None:
    compute, operands, expected = EXACT[row]
    assert bits(values(compute(*map(make_tensor, operands)))) == bits(expected)


@pytest.mark.rule("MT-32", "F-16")
def test_functions_of_the_library_keep_their_special_values(make_tensor: MakeTensor) -> None:
    zeros = make_tensor([0.0, -0.0])
    for function in (sw.sin, sw.erf, sw.tanh, sw.gelu, sw.silu, sw.elu):
        assert bits(values(function(zeros))) == bits([0.0, -0.0])
    large = [88.0, 88.5, 88.72283, 88.73, -104.0, INF, -INF]
    found = values(sw.exp(make_tensor(large)))
    expected = [math.exp(value) if value < 88.73 else INF for value in large]
    for actual, wanted in zip(found, expected, strict=True):
        assert actual == wanted or math.isclose(actual, wanted, rel_tol=1e-5, abs_tol=1e-6)


FLOATS = st.floats(width=32)
Functions = list[tuple[Callable[..., Tensor], Callable[..., Any]]]
ARITHMETIC: Functions = [
    *((sw.add, np.add), (sw.sub, np.subtract), (sw.mul, np.multiply)),
    *((sw.div, np.divide), (sw.rem, np.fmod)),
]
COMPARISONS: Functions = [(sw.eq, np.equal), (sw.lt, np.less), (sw.le, np.less_equal)]


@pytest.mark.rule("MT-32", "MT-18", "F-12")
@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=40))
def test_any_bits_agree_with_numpy(pairs: list[tuple[float, float]]) -> None:
    columns = [np.array(column, np.float32) for column in zip(*pairs, strict=True)]
    flat = Layout.parse(f"{len(pairs)}:1")
    lhs, rhs = (Tensor(Metal(0).new_like(column), 0, flat) for column in columns)
    with np.errstate(all="ignore"):
        for function, reference in ARITHMETIC:
            assert bits(values(function(lhs, rhs))) == bits(reference(*columns).tolist())
        assert bits(values(sw.sqrt(lhs))) == bits(np.sqrt(columns[0]).tolist())
    for compare, expected in COMPARISONS:
        assert values(compare(lhs, rhs)) == expected(*columns).tolist()


@pytest.mark.rule("MT-32", "F-45")
@given(st.lists(FLOATS | st.sampled_from([0.0, -0.0, 1.0, NAN]), min_size=1, max_size=60))
def test_sorting_is_stable_both_ways(entries: list[float]) -> None:
    flat = Layout.parse(f"{len(entries)}:1")
    array = np.array(entries, np.float32)
    on_metal, on_cpu = (Tensor(made.new_like(array), 0, flat) for made in (Metal(0), CPU(0)))
    for descending in (False, True):
        actual, expected = (sw.sort(t, descending=descending) for t in (on_metal, on_cpu))
        assert values(actual.indices) == values(expected.indices)
        assert bits(values(actual.values)) == bits(values(expected.values))


@pytest.mark.rule("MT-32", "F-12", "F-33", "F-35")
@pytest.mark.parametrize("count", [33, 1024, 100_003, 2**20])
def test_long_sums_stay_in_their_accuracy_class(count: int) -> None:
    for value in (0.1, 0.7, 1 / 3):
        storage = Metal(0).new_like(np.full(count, value, np.float32))
        exact = count * float(np.float32(value))
        total = sw.reduce_sum(Tensor(storage, 0, Layout.parse(f"{count}:1")), "a -> 1")
        column = sw.reduce_sum(Tensor(storage, 0, Layout.parse(f"(2,{count}):(0,1)")), "a b -> a")
        row = Tensor(storage, 0, Layout.parse(f"(1,{count}):(0,1)"))
        ones = Tensor(Metal(0).new_like([1.0]), 0, Layout.parse(f"(1,{count}):(0,0)"))
        for found in (total[0], column[1], sw.matmul(row, ones)[0]):
            assert abs(found - exact) <= 1e-6 + 1e-5 * exact


@pytest.mark.rule("MT-32", "F-32", "F-27")
def test_scans_and_products_run_in_order(make_tensor: MakeTensor) -> None:
    layout = "(3,(40,50)):(2000,(50,1))"
    entries = np.random.default_rng(1).normal(1, 0.05, 6000).astype(np.float32)
    tensor = make_tensor(entries, layout)
    fibers = np.asarray(tensor).transpose(0, 2, 1).reshape(3, 2000)  # the first leaf is fastest
    running = sw.cumsum(tensor, 1)
    expected = np.add.accumulate(fibers, 1)
    assert np.array_equal(np.array(values(running), np.float32), expected.T.ravel())
    products = sw.reduce_prod(tensor, "a b -> a")
    assert values(products) == np.multiply.accumulate(fibers, 1)[:, -1].tolist()
    assert sw.reduce_prod(tensor, "a b -> 1")[0] == math.prod(
        np.float32(tensor[at]) for at in range(tensor.size())
    )


@pytest.mark.rule("MT-32", "MT-18", "F-43")
def test_repeated_indices_add_up_in_order() -> None:
    source = np.random.default_rng(2)
    indices = source.integers(0, 7, 5000).astype(np.int32)
    updates = source.normal(0, 1, (2, 5000)).astype(np.float32)
    base = source.normal(0, 1, (2, 7)).astype(np.float32)
    result = sw.scatter_add(
        Tensor(Metal(0).new_like(base.ravel()), 0, Layout.parse("(2,7):(7,1)")),
        Tensor(Metal(0, dtype=INT).new_like(indices), 0, Layout.parse("5000:1")),
        Tensor(Metal(0).new_like(updates.ravel()), 0, Layout.parse("(2,5000):(5000,1)")),
        1,
    )
    for row in range(2):
        np.add.at(base[row], indices, updates[row])
    assert np.array_equal(np.asarray(result), base)


@pytest.mark.rule("MT-16", "MT-33", "F-41", "F-42", "F-43", "F-44")
@pytest.mark.parametrize("wrong", [-1, 4, 2**31 - 1, -(2**31)])
def test_an_index_out_of_range_is_refused_before_any_work(
    wrong: int, make_tensor: MakeTensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, updates = make_tensor([1.0, 2.0, 3.0, 4.0]), make_tensor([5.0, 6.0])
    indices = make_tensor([0, wrong], dtype=INT)
    made = results_of(monkeypatch)
    calls: list[Callable[[], Tensor]] = [
        lambda: sw.gather(source, indices, 0),
        lambda: sw.scatter(source, indices, updates, 0),
        lambda: sw.scatter_add(source, indices, updates, 0),
    ]
    for call in calls:
        with pytest.raises(IndexError, match=f"hold {wrong} at ordinal 1.*out of range"):
            call()
    assert made == [] and values(source) == [1.0, 2.0, 3.0, 4.0]
    assert [entry.carrier.version for entry in (source, updates, indices)] == [0, 0, 0]


@pytest.mark.rule("MT-33", "F-42", "F-44")
def test_scatter_is_all_or_nothing(
    make_tensor: MakeTensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, updates = make_tensor([1.0, 2.0, 3.0, 4.0]), make_tensor([5.0, 6.0, 7.0])
    repeated = make_tensor([2, 0, 2], dtype=INT)
    made = results_of(monkeypatch)
    with pytest.raises(ValueError, match=r"distinct.*2 occurs again at ordinal 2"):
        sw.scatter(source, repeated, updates, 0)
    assert made == [] and values(source) == [1.0, 2.0, 3.0, 4.0]
    done = sw.scatter(source, make_tensor([2, 0, 3], dtype=INT), updates, 0)
    assert values(done) == [6.0, 2.0, 5.0, 7.0] and values(source) == [1.0, 2.0, 3.0, 4.0]


def results_of(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Note every carrier that a kernel makes for a result."""
    module: Any = importlib.import_module("strideweave.carriers.metal.carrier")
    made: list[object] = []
    adopted = module.adopted

    def noting(*arguments: Any) -> Any:
        made.append(arguments)
        return adopted(*arguments)

    monkeypatch.setattr(module, "adopted", noting)
    return made


@pytest.mark.rule("MT-16", "C-13", "T-5")
def test_no_tensor_reaches_beyond_its_carrier() -> None:
    carrier = Metal(4)
    with pytest.raises(ValueError, match="slots"):
        Tensor(carrier, 1, Layout.parse("(2,2):(1,2)"))
    for slot in (-1, 4, 2**31):
        with pytest.raises(IndexError, match="out of range"):
            carrier[slot]


@pytest.mark.rule("MT-30", "MT-31", "O-43")
def test_plans_outside_the_set_are_refused_before_any_work(
    make_tensor: MakeTensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    integers = make_tensor([2**31 - 1, 1], dtype=INT)
    matrix = make_tensor([1, 2, 3, 4], "(2,2):(1,2)", INT)
    floats = make_tensor([1.5, 2.5], "(1,2):(1,1)")
    made = results_of(monkeypatch)
    refused: list[Callable[[], object]] = [
        lambda: sw.add(integers, integers),
        lambda: sw.mul(integers, 3),
        lambda: sw.pow(integers, 2),
        lambda: sw.relu(integers),
        lambda: sw.eq(integers, integers),
        lambda: sw.matmul(matrix, matrix),
        lambda: sw.reduce_sum(matrix, "a b -> a"),
        lambda: sw.cast(floats, INT),
        lambda: sw.reduce_sum(floats, "a b -> a", accumulator_dtype=DType.Float64),
        lambda: sw.matmul(floats, floats, accumulator_dtype=DType.Float64),
    ]
    for call in refused:
        with pytest.raises(UnsupportedOperationPlan, match=r"^Metal executes"):
            call()
    assert made == []


@pytest.mark.rule("MT-30", "MT-22", "O-44", "C-79")
def test_every_operation_and_view_is_dispatched_anew() -> None:
    carrier = Metal(1)
    kernels: Any = importlib.import_module("strideweave.carriers.metal.kernels")
    names = [definition.name for definition in operation_definitions()]
    assert {*kernels.KERNELS} <= {*names}
    views = "as_strided broadcast_to permute rearrange reshape squeeze unsqueeze view".split()
    for name in (*kernels.KERNELS, *views):
        first, second = carrier.dispatch_op(name), carrier.dispatch_op(name)
        assert first is not second
    with pytest.raises(NotImplementedError, match="Metal does not execute 'softmax'"):
        carrier.dispatch_op("softmax")


@pytest.mark.rule("MT-22", "F-3", "F-8")
def test_results_have_their_own_storage_and_views_have_none(
    make_tensor: MakeTensor, completions: Any
) -> None:
    tensor = make_tensor([float(slot) for slot in range(12)], "(2,3):(1,4)", offset=1)
    result = sw.neg(tensor)
    assert (str(result.layout), result.offset, result.carrier.size()) == ("(2,3):(1,2)", 0, 6)
    permuted = make_tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "(2,3):(3,1)")
    kept = sw.cast(permuted, DType.Float32)
    assert kept.layout == permuted.layout and kept.carrier is not permuted.carrier
    before = completions.count
    for view in (
        sw.permute(tensor, 1, 0),
        sw.broadcast_to(sw.unsqueeze(tensor, 0), sw.Shape(4, 2, 3)),
        sw.as_strided(tensor, sw.Shape(2), sw.Stride(1)),
    ):
        assert view.carrier is tensor.carrier
    assert completions.count == before


@pytest.mark.rule("MT-22", "F-3")
def test_no_result_keeps_the_memory_of_an_operand(make_tensor: MakeTensor) -> None:
    """MLX hands an array on where a mode of extent one leaves nothing to do."""
    tensor = make_tensor([float(slot) for slot in range(50)], "(1,4):(1,1)", offset=3)
    operand: Any = tensor.carrier
    results = [
        *(sw.flip(tensor, 0), sw.cumsum(tensor, 0), sw.pad(tensor, ((0, 0), (0, 0)))),
        *(function(tensor, "a b -> b") for function in REDUCTIONS),
        *(*sw.sort(tensor, 0), *sw.topk(tensor, 1, 0), sw.cast(tensor, DType.Float32)),
        *(sw.gather(tensor, make_tensor([0], dtype=INT), 0), sw.stack([tensor])),
        *(sw.clamp(tensor, 0.0, 99.0), sw.select(sw.eq(tensor, tensor), tensor, tensor)),
    ]
    for result in results:
        carrier: Any = result.carrier
        mine, others = np.asarray(carrier._slots), np.asarray(operand._slots)
        assert carrier is not operand and not np.shares_memory(mine, others)


@pytest.mark.rule("MT-15", "F-11")
def test_scalars_take_the_dtype_of_the_plan(make_tensor: MakeTensor) -> None:
    integers = make_tensor([16777217, -3], dtype=INT)
    product = sw.mul(integers, 0.5)
    assert product.dtype() is DType.Float32 and values(product) == [8388608.0, -1.5]
    assert values(sw.pow(2, make_tensor([3.0, -1.0]))) == [8.0, 0.5]
    assert values(sw.pow(make_tensor([2, 0], dtype=INT), -1.0)) == [0.5, INF]
    assert values(sw.mul(make_tensor([3e38]), 1e300)) == [INF]
    assert values(sw.clamp(make_tensor([-2.0, 0.5, 3.0]), 0, True)) == [0.0, 0.5, 1.0]


@pytest.mark.rule("MT-32", "F-39")
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dilation", [1, 2])
def test_padding_and_holes_meet_an_infinite_weight(groups: int, dilation: int) -> None:
    lhs = Layout.parse(f"(1,{groups},2):(1,1,{groups})")
    kernel = Layout.parse(f"({groups},1,2):(1,1,{groups})")
    found = []
    for made in (Metal(0), CPU(0)):
        result = sw.conv_general(
            Tensor(made.new_like([1.0] * 2 * groups), 0, lhs),
            Tensor(made.new_like([1.0] * groups + [INF] * groups), 0, kernel),
            (1,),
            ((0, 1),),
            lhs_dilation=(dilation,),
            feature_groups=groups,
        )
        found.append(bits(values(result)))
    assert found[0] == found[1] and "nan" in found[0]


@st.composite
def geometries(draw: Any) -> tuple[list[int], list[int], dict[str, Any]]:
    """Modes of lhs and kernel, and parameters that fit."""
    rank, groups = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    small = st.integers(1, 2)
    channels, features = draw(st.integers(1, 3)), draw(small)
    extents = draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank))
    taps = draw(st.lists(small, min_size=rank, max_size=rank))
    parameters: dict[str, Any] = {
        name: draw(st.lists(small, min_size=rank, max_size=rank))
        for name in ("strides", "lhs_dilation", "kernel_dilation")
    }
    before = draw(st.lists(st.integers(0, 2), min_size=rank, max_size=rank))
    spans = [
        (tap - 1) * step + 1 for tap, step in zip(taps, parameters["kernel_dilation"], strict=True)
    ]
    parameters["padding"] = [(first, span) for first, span in zip(before, spans, strict=True)]
    parameters["feature_groups"] = groups
    lhs = [draw(small), channels * groups, *extents]
    return lhs, [features * groups, channels, *taps], parameters


@pytest.mark.rule("MT-32", "F-39", "G-13")
@given(geometries(), st.integers(0, 2**32 - 1))
def test_convolutions_of_every_geometry(
    geometry: tuple[list[int], list[int], dict[str, Any]], seed: int
) -> None:
    lhs, kernel, parameters = geometry
    numbers = np.random.default_rng(seed)
    operands = [numbers.integers(-4, 5, shape).astype(np.float32) for shape in (lhs, kernel)]
    found = []
    for made in (Metal, CPU):
        first, second = (sw.copy(sw.from_numpy(array), made(array.size)) for array in operands)
        result = sw.conv_general(first, second, **parameters)
        found.append((result.layout, values(result)))
    assert found[0] == found[1]  # sums of small integers are exact in any order


@pytest.mark.rule("MT-32", "F-39", "F-12")
@pytest.mark.parametrize("groups", [1, 4])
def test_many_channels_stay_in_their_accuracy_class(groups: int) -> None:
    channels = 1200 // groups
    lhs = Tensor(Metal(0).new_like([0.7]), 0, Layout.parse("(1,1200,5):(0,0,0)"))
    kernel = Tensor(Metal(0).new_like([1.0]), 0, Layout.parse(f"(4,{channels},3):(0,0,0)"))
    exact = 3 * channels * float(np.float32(0.7))
    result = sw.conv_general(lhs, kernel, (1,), ((0, 0),), feature_groups=groups)
    assert result.size() == 12
    assert all(abs(value - exact) <= 1e-6 + 1e-5 * exact for value in values(result))
