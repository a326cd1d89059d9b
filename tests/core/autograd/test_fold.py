"""Gradients folded back through alignment, with NumPy and without."""

import math
from array import array
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw
import strideweave.host as host
from strideweave import DType, Layout, Shape, Stride, Tensor
from strideweave.autograd.buffers import gradient_layout, summed_storage
from strideweave.autograd.fold import fold_gradient
from strideweave.testing import ArrayCarrier


@pytest.fixture(params=["numpy", "plain"], autouse=True)
def arithmetic(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test as installed, and as if NumPy were not."""
    if request.param == "plain":
        monkeypatch.setattr(host, "numpy_module", lambda: None)


@pytest.mark.rule("F-14", "O-67", "X-48")
def test_sums_of_widened_coordinates_are_binary64_rounded_once(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    one, many = f([5.0]), f([1.0, 1.0, 1.0])
    (one + many).backward(f([16777216.0, 1.0, 1.0]))
    assert values(one.grad) == [16777218.0]
    assert values(many.grad) == [16777216.0, 1.0, 1.0]


@pytest.mark.rule("F-14", "O-67")
def test_terms_meet_in_ascending_logical_order(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    one = f([0.0])
    terms = [2.0**60, 1.0, -(2.0**60)]
    (one + f([0.0] * 3)).backward(f(terms))
    assert values(one.grad) == [0.0]
    one.grad = None
    (one + f([0.0] * 3)).backward(f([terms[0], terms[2], terms[1]]))
    assert values(one.grad) == [1.0]


@pytest.mark.rule("F-14")
@pytest.mark.parametrize(
    ("terms", "total"),
    [
        ([3e38, 3e38], math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([-0.0, -0.0], 0.0),
    ],
)
def test_special_values_raise_nothing(
    f: Callable[..., Any], values: Callable[..., list[float]], terms: list[float], total: float
) -> None:
    one = f([0.0])
    (one + f([0.0, 0.0])).backward(f(terms))
    assert values(one.grad) == pytest.approx([total], nan_ok=True)


@pytest.mark.rule("F-14")
def test_gradient_of_a_widened_operand_keeps_its_layout_with_zero_holes(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    column = f([1.0, 2.0, 3.0], "(3,1):(4,7)")
    result = column + f([0.0] * 6, "(3,2):(1,3)")
    result.backward(f([1.0, 2.0, 3.0, 10.0, 20.0, 30.0], result.layout))
    assert column.grad.layout == column.layout
    assert [column.grad.carrier[slot] for slot in range(9)] == [11, 0, 0, 0, 22, 0, 0, 0, 33]


@pytest.mark.rule("F-14")
def test_gradient_that_fits_is_passed_on(f: Callable[..., Any]) -> None:
    x = f([1.0, 2.0])
    gradient = f([3.0, 4.0])
    assert fold_gradient(gradient, x) is gradient
    permuted = Layout.parse("(2,3):(3,1)")
    source = f([0.0] * 6, "(3,2):(1,3)")
    aligned = Tensor(source.carrier, 0, permuted)
    given_ = f([float(k) for k in range(6)], aligned.layout)
    folded = fold_gradient(given_, source, aligned.layout, aligned.layout)
    assert folded.layout == source.layout and folded.carrier is given_.carrier


@st.composite
def broadcasts(draw: st.DrawFn) -> tuple[Layout, list[int]]:
    """A source layout that may be permuted, have holes or repeat slots, and a wider shape."""
    extents = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    widened = [draw(st.integers(1, 4)) if extent == 1 else extent for extent in extents]
    order = draw(st.permutations(range(len(extents))))
    strides, step = [0] * len(extents), 1
    for mode in order:
        strides[mode] = 0 if draw(st.booleans()) and extents[mode] > 1 else step
        step = step * extents[mode] + draw(st.integers(0, 2))
    return Layout(Shape(extents), Stride(strides)), widened


@pytest.mark.rule("F-14", "T-39", "A-19", "O-67")
@given(broadcasts(), st.randoms(use_true_random=False))
def test_folding_equals_summing_coordinate_by_coordinate(
    case: tuple[Layout, list[int]], random: Random
) -> None:
    source_layout, extents = case
    wide = Shape(extents)
    prototype = ArrayCarrier(0, dtype=DType.Float32)
    source: Any = Tensor(prototype.new_like([1.0] * source_layout.cosize), 0, source_layout)
    cotangent = [float(random.randint(-9, 9)) for _ in range(wide.size)]

    other = sw.friendly.zeros(*extents, carrier=ArrayCarrier)
    result = source + other
    placed = [0.0] * result.layout.cosize
    for ordinal, value in enumerate(cotangent):
        placed[result.layout.index(ordinal)] = value
    result.backward(Tensor(prototype.new_like(placed), 0, result.layout))

    by_slot = dict.fromkeys(range(source_layout.cosize), 0.0)
    for ordinal, value in enumerate(cotangent):
        coordinate = wide.decode(ordinal)
        narrow = tuple(
            0 if extent == 1 else component
            for component, extent in zip(coordinate, source_layout.leaf_extents, strict=True)
        )
        by_slot[source_layout.index(narrow)] += value
    assert source.grad.layout == gradient_layout(source_layout)
    for ordinal in range(source.size()):
        assert source.grad[ordinal] == by_slot[source_layout.index(ordinal)]


@pytest.mark.rule("F-14")
def test_summed_storage_has_one_slot_per_index(f: Callable[..., Any]) -> None:
    carrier = summed_storage(
        f([1.0, 2.0, 3.0, 4.0], "(2,2):(1,2)"), f([0.0]).carrier, Layout.parse("(2,2):(3,0)")
    )
    assert type(carrier) is ArrayCarrier
    assert array("f", [carrier[slot] for slot in range(carrier.size())]) == array(
        "f", [4.0, 0.0, 0.0, 6.0]
    )
