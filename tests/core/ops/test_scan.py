"""``cumsum`` and ``flip``."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw

unchecked: Any = sw  # for calls that the signatures forbid
Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Same = Callable[[Any, Any], bool]
Vjp = Callable[..., list[Any]]


@pytest.mark.rule("F-32", "F-8", "F-12", "F-34", "X-41", "X-47")
def test_cumsum(f: Make, values: Values, same: Same, vjp: Vjp) -> None:
    x = f([1, 2, 3, 4, 5, 6], 2, 3)
    assert values(sw.cumsum(x, 1)) == [1, 2, 4, 6, 9, 12]
    assert values(sw.cumsum(x, -2)) == [1, 3, 3, 7, 5, 11]
    assert vjp(sw.cumsum, f([1, 2, 3]), 0, g=[1, 10, 100]) == [[111, 110, 100]]
    assert same(values(sw.cumsum(f([-0.0, -0.0]), 0)), [0.0, 0.0])
    assert values(sw.cumsum(f([16777216, 1, 1]), 0)) == [16777216.0] * 3
    assert vjp(sw.cumsum, f([1, 1, 1]), 0, g=[1, 1, 16777216]) == [[16777216.0] * 3]
    transposed = f([1, 2, 3, 4, 5, 6], layout="(2,3):(3,1)")
    assert str(sw.cumsum(transposed, 0).layout) == "(2,3):(1,2)"


@pytest.mark.rule("F-32")
def test_a_nested_mode_is_scanned_by_its_ordinals(f: Make, values: Values, vjp: Vjp) -> None:
    x = f([1, 2, 3, 4, 5, 6, 7, 8], 2, (2, 2))
    assert values(sw.cumsum(x, 1)) == [1, 2, 4, 6, 9, 12, 16, 20]
    assert vjp(sw.cumsum, x, 1, g=[1] * 8) == [[4, 4, 3, 3, 2, 2, 1, 1]]


@pytest.mark.rule("F-32", "F-4", "F-5")
def test_cumsum_errors(f: Make, i: Make, b: Make) -> None:
    x = f([1.0, 2.0])
    for wrong in (True, 0.0, None, "0"):
        with pytest.raises(TypeError, match="cumsum: dimension must be an integer"):
            unchecked.cumsum(x, wrong)
    for dimension in (1, -2):
        with pytest.raises(ValueError, match=f"dimension out of range: {dimension}"):
            sw.cumsum(x, dimension)
    with pytest.raises(TypeError, match="tensor must be a Tensor"):
        unchecked.cumsum(1.0, True)
    with pytest.raises(TypeError, match="dimension must be an integer"):
        unchecked.cumsum(i([1]), None)
    with pytest.raises(TypeError, match="Int32"):
        sw.cumsum(i([1]), 0)


@pytest.mark.rule("F-8", "F-4")
def test_flip(f: Make, i: Make, b: Make, values: Values, vjp: Vjp) -> None:
    x = f([1, 2, 3, 4, 5, 6], 2, 3)
    assert values(sw.flip(x, 1)) == [5, 6, 3, 4, 1, 2]
    assert values(sw.flip(x, 0)) == [2, 1, 4, 3, 6, 5]
    assert vjp(sw.flip, x, 1, g=[1, 2, 3, 4, 5, 6]) == [[5, 6, 3, 4, 1, 2]]
    assert values(sw.flip(i([1, 2, 3]), -1)) == [3, 2, 1]
    assert values(sw.flip(b([True, False]), 0)) == [False, True]
    with pytest.raises(TypeError, match="flip: axis must be an integer, got bool True"):
        sw.flip(x, True)
    with pytest.raises(ValueError, match="axis out of range: 2"):
        sw.flip(x, 2)
