"""``gather``, ``scatter`` and ``scatter_add``."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw

unchecked: Any = sw  # for calls that the signatures forbid
Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Vjp = Callable[..., list[Any]]


@pytest.mark.rule("F-41", "F-8", "X-61")
def test_gather(f: Make, i: Make, values: Values) -> None:
    t = f([1, 2, 3, 4, 5, 6], 2, 3)
    assert values(sw.gather(t, i([2, 0]), 1)) == [5, 6, 1, 2]
    square = sw.gather(t, i([1, 0, 1, 1], 2, 2), 1)
    assert str(square.layout) == "(2,2,2):(1,2,4)"
    assert values(square) == [3, 4, 1, 2, 3, 4, 3, 4]
    assert str(sw.gather(t, i([1], (1, 1)), -2).layout) == "((1,1),3):((1,1),1)"
    nested = f(range(12), 2, (3, 2))
    assert values(sw.gather(nested, i([5]), 1)) == [10, 11]
    assert str(sw.gather(nested, i([1]), 0).layout) == "(1,(3,2)):(1,(1,3))"


@pytest.mark.rule("F-41")
def test_rank_zero_indices_remove_the_mode(f: Make, i: Make, values: Values) -> None:
    index = i([1], layout="():()")
    assert values(sw.gather(f([1, 2, 3, 4], 2, 2), index, 1)) == [3, 4]
    single = sw.gather(f([1, 2]), index, 0)
    assert len(single.layout) == 0 and values(single) == [2]


@pytest.mark.rule("F-41", "F-44", "X-62")
@pytest.mark.parametrize(("indices", "ordinal"), [([0, 3, 9], 1), ([-1], 0)])
def test_indices_are_not_wrapped(indices: list[int], ordinal: int, f: Make, i: Make) -> None:
    t = f([1, 2, 3, 4, 5, 6], 2, 3)
    message = f"indices hold {indices[ordinal]} at ordinal {ordinal}, which is out of range"
    with pytest.raises(IndexError, match=message):
        sw.gather(t, i(indices), 1)
    updates = f([1.0] * 2 * len(indices), 2, len(indices))
    for name in ("scatter", "scatter_add"):
        with pytest.raises(IndexError, match=f"{name}: {message}"):
            getattr(sw, name)(t, i(indices), updates, 1)
    assert t.version == 0


@pytest.mark.rule("F-42", "F-43", "X-63")
def test_scatter(f: Make, i: Make, values: Values) -> None:
    t, updates = f([1, 2, 3, 4, 5, 6], 2, 3), f([10, 20, 30, 40], 2, 2)
    assert values(sw.scatter(t, i([2, 0]), updates, 1)) == [30, 40, 3, 4, 10, 20]
    assert values(sw.scatter_add(t, i([0, 0]), updates, 1)) == [41, 62, 3, 4, 5, 6]
    assert values(t) == [1, 2, 3, 4, 5, 6] and t.version == 0
    transposed = f([10, 20, 30, 40], layout="(2,2):(2,1)")
    assert values(sw.scatter(t, i([2, 0]), transposed, 1)) == [30, 40, 3, 4, 10, 20]
    sums = sw.scatter_add(f([16777216.0]), i([0, 0]), f([1, 1]), 0)
    assert values(sums) == [16777216.0]


@pytest.mark.rule("F-41", "F-14", "X-49")
def test_gather_gradient_is_sequential(f: Make, i: Make, vjp: Vjp) -> None:
    gather = vjp(sw.gather, f([0.0]), i([0, 0, 0]), 0, g=[16777216, 1, 1])
    assert gather == [[16777216.0], None]
    t = f([1, 2, 3, 4, 5, 6], 2, 3)
    assert vjp(sw.gather, t, i([2, 0]), 1, g=[1, 2, 3, 4]) == [[3, 4, 0, 0, 1, 2], None]


@pytest.mark.rule("F-42", "F-43", "F-14", "X-64")
def test_scatter_gradients(f: Make, i: Make, vjp: Vjp) -> None:
    base, updates, g = f([1, 2, 3]), f([10, 20]), [1, 10, 100]
    assert vjp(sw.scatter, base, i([2, 0]), updates, 0, g=g) == [[0, 10, 0], None, [100, 1]]
    assert vjp(sw.scatter_add, base, i([0, 0]), updates, 0, g=g) == [[1, 10, 100], None, [1, 1]]


@pytest.mark.rule("F-44", "F-42")
def test_scatter_wants_distinct_indices(f: Make, i: Make) -> None:
    base, updates = f([1, 2, 3]), f([1, 1, 1])
    with pytest.raises(ValueError, match="distinct, but 2 occurs again at ordinal 2"):
        sw.scatter(base, i([2, 0, 2]), updates, 0)
    with pytest.raises(IndexError):
        sw.scatter(base, i([2, 2, 7]), updates, 0)


@pytest.mark.rule("F-44", "F-4", "F-5", "O-66", "X-62")
def test_errors_in_order(f: Make, i: Make, b: Make) -> None:
    t, index = f([1.0, 2.0]), i([0])
    with pytest.raises(TypeError, match="tensor must be a Tensor"):
        unchecked.gather(1, 2, True)
    with pytest.raises(TypeError, match="indices must be a Tensor"):
        unchecked.gather(t, [0], True)
    for axis in (True, 0.0, None):
        with pytest.raises(TypeError, match="gather: axis must be an integer"):
            unchecked.gather(i([1]), index, axis)
    with pytest.raises(ValueError, match="axis out of range: 1"):
        sw.gather(i([1]), index, 1)
    with pytest.raises(TypeError, match=r"tensor must have dtype DType.Float32, got DType.Int32"):
        sw.gather(i([1]), i([9]), 0)
    with pytest.raises(TypeError, match=r"indices must have dtype DType.Int32, got DType.Float32"):
        sw.gather(t, t, 0)
    for name in ("scatter", "scatter_add"):
        scatter = getattr(sw, name)
        with pytest.raises(TypeError, match="updates must be a Tensor"):
            scatter(t, index, 1.0, 0)
        with pytest.raises(TypeError, match=r"base must have dtype DType.Float32"):
            scatter(b([True]), index, t, 0)
        with pytest.raises(TypeError, match=r"updates must have dtype DType.Float32"):
            scatter(t, index, index, 0)
        with pytest.raises(ValueError, match=r"updates must have the shape .*\(1\)|1"):
            scatter(t, i([9]), t, 0)


@pytest.mark.rule("A-7", "F-41")
def test_gather_reads_no_source_values_in_its_gradient(f: Make, i: Make) -> None:
    source, index = f([1.0, 2.0]), i([1])
    result = sw.gather(source, index, 0)
    result.carrier.release()
    source.carrier.release()
    gradients: list[Any] = list(sw.grad(result, [source], f([3.0])))
    assert gradients[0].tolist() == [0.0, 3.0]
