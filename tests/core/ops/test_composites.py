"""``mean``, ``logsumexp``, ``softmax`` and ``log_softmax``."""

from collections.abc import Callable
from math import exp, inf, log
from typing import Any

import pytest

import strideweave as sw

Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Vjp = Callable[..., list[Any]]

pytestmark = pytest.mark.rule("F-50")
NAMES = ["mean", "logsumexp", "softmax", "log_softmax"]


@pytest.mark.rule("X-72")
def test_values(f: Make, i: Make, values: Values) -> None:
    expected = [0.0900306, 0.2447285, 0.6652410]
    assert values(sw.softmax(f([1, 2, 3]))) == pytest.approx(expected, rel=1e-5)
    assert values(sw.logsumexp(f([-inf, -inf]))) == [-inf]
    t = f([1, 2, 3, 4, 5, 6], 2, 3)
    assert values(sw.mean(t, 0)) == [1.5, 3.5, 5.5]
    assert values(sw.mean(i([1, 2]))) == [1.5]
    logs = values(sw.log_softmax(f([1, 2, 3])))
    assert logs == pytest.approx([log(p) for p in expected], rel=1e-5)


def test_large_values_do_not_overflow(f: Make, values: Values) -> None:
    assert values(sw.logsumexp(f([1000.0, -1000.0]))) == [1000.0]
    assert values(sw.softmax(f([1000.0, -1000.0]))) == [1.0, 0.0]
    assert values(sw.logsumexp(f([inf, 0.0]))) == [inf]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_shapes(axis: int, f: Make) -> None:
    t = f(range(12), 2, (3, 2))
    dropped = "((3,2)):((1,3))" if axis == 0 else "2:1"
    assert str(sw.mean(t, axis).layout) == dropped
    assert str(sw.logsumexp(t, axis).layout) == dropped
    assert sw.softmax(t, axis).shape == sw.log_softmax(t, axis).shape == t.shape
    assert str(sw.mean(f([1, 2])).layout) == "1:1"


def test_gradients(f: Make, vjp: Vjp) -> None:
    x, g = [0.5, -1.0, 2.0], [1.0, 10.0, 100.0]
    total = sum(map(exp, x))
    p = [exp(value) / total for value in x]
    mixed = sum(weight * share for weight, share in zip(g, p, strict=True))
    assert vjp(sw.mean, f(x))[0] == pytest.approx([1 / 3] * 3)
    assert vjp(sw.logsumexp, f(x))[0] == pytest.approx(p, rel=1e-5)
    expected = [share * (weight - mixed) for share, weight in zip(p, g, strict=True)]
    assert vjp(sw.softmax, f(x), g=g)[0] == pytest.approx(expected, rel=1e-4)
    expected = [weight - share * sum(g) for share, weight in zip(p, g, strict=True)]
    assert vjp(sw.log_softmax, f(x), g=g)[0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.rule("A-8")
def test_the_graph_shows_the_parts(f: Make) -> None:
    last: list[Any] = [sw.softmax(f([1.0, 2.0])), sw.mean(f([1.0, 2.0]))]
    assert [result.autograd_ctx._operation_name for result in last] == ["div", "mul"]


@pytest.mark.parametrize("name", NAMES)
def test_errors(name: str, f: Make, i: Make, b: Make) -> None:
    composite = getattr(sw, name)
    with pytest.raises(TypeError, match=f"{name}: tensor must be a Tensor"):
        composite(1.0, True)
    with pytest.raises(TypeError, match=f"{name}: axis must be an integer"):
        composite(f([1.0]), True)
    with pytest.raises(ValueError, match=f"{name}: axis out of range: 1"):
        composite(f([1.0]), 1)
    with pytest.raises(NotImplementedError, match="Bool"):
        composite(b([True]))
    if name != "mean":
        with pytest.raises(TypeError, match="Int32"):
            composite(i([1]))
