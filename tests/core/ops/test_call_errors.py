"""The order of checks in a public call, and that a failure changes nothing."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw

unchecked: Any = sw  # for calls that the signatures forbid
Make = Callable[..., Any]


@pytest.mark.rule("F-4", "O-50", "O-66")
def test_stages_in_order(f: Make, i: Make, b: Make, workshop: Any) -> None:
    released = f([1.0, 2.0])
    released.carrier.release()
    other = workshop.tensor(workshop.defined(()), 1.0)
    with pytest.raises(TypeError, match="rhs must be a Tensor"):  # kinds before classes
        unchecked.add(other, 1)
    with pytest.raises(TypeError, match="axis must be an integer"):  # parameters before classes
        unchecked.gather(other, i([0]), None)
    with pytest.raises(TypeError, match="carriers must match"):  # classes before roles
        sw.lt(b([True]), other)
    with pytest.raises(TypeError, match="rhs must have dtype"):  # roles before alignment
        sw.lt(f([1.0]), b([True, False, True], 1, 3))
    with pytest.raises(ValueError, match="not congruent"):  # alignment before the plan
        sw.add(b([True]), f([1.0], 1, 1))
    with pytest.raises(NotImplementedError, match="Bool"):  # the plan before sizes
        sw.matmul(b([True]), f([1.0]))
    with pytest.raises(ValueError, match="leaf 0"):  # sizes before released carriers
        sw.add(released, f([1.0, 2.0, 3.0]))
    with pytest.raises(RuntimeError, match="released"):  # then the release
        sw.add(f([1.0, 2.0]), released)
    with pytest.raises(RuntimeError, match="released"):  # before the values
        sw.gather(released, i([9]), 0)


@pytest.mark.rule("F-4", "O-64")
def test_capabilities_follow_the_release(workshop: Any) -> None:
    x = workshop.tensor(workshop.defined(()), 1.0)
    with pytest.raises(sw.UnsupportedOperationPlan, match="exp"):
        sw.exp(x)
    x.carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        sw.exp(x)


@pytest.mark.rule("F-4", "F-3", "G-3")
def test_a_failure_changes_no_operand(f: Make, i: Make, values: Any) -> None:
    base, index, updates = f([1.0, 2.0]), i([1, 1]), f([5.0, 6.0])
    with pytest.raises(ValueError, match="distinct"):
        sw.scatter(base, index, updates, 0)
    assert (values(base), values(index), values(updates)) == ([1, 2], [1, 1], [5, 6])
    assert base.version == index.version == updates.version == 0


@pytest.mark.rule("F-3", "F-1")
def test_results_are_fresh_mutable_and_of_the_same_class(f: Make) -> None:
    x = f([1.0, 2.0], layout="(1,2):(1,3)")
    for result in (sw.exp(x), sw.add(x, x), sw.reduce_sum(x, "a b -> b"), sw.cumsum(x, 1)):
        assert type(result.carrier) is type(x.carrier) and result.carrier is not x.carrier
        assert result.offset == 0 and result.carrier.size() == result.layout.cosize
        assert result.is_mutable() and result.version == 0


@pytest.mark.rule("F-2", "T-8")
def test_operators_are_the_functions(f: Make, values: Any) -> None:
    x, y = f([4.0, 9.0]), f([2.0, 3.0])
    pairs = [
        (x + y, sw.add(x, y)),
        (x - y, sw.sub(x, y)),
        (x * y, sw.mul(x, y)),
        (x / y, sw.div(x, y)),
        (x**y, sw.pow(x, y)),
        (-x, sw.neg(x)),
        (x < y, sw.lt(x, y)),
        (x >= y, sw.ge(x, y)),
    ]
    for by_operator, by_name in pairs:
        assert values(by_operator) == values(by_name)


@pytest.mark.rule("F-1")
def test_public_names() -> None:
    names = (
        "neg abs sign recip sqrt rsqrt exp exp2 log log2 sin cos erf floor ceil round relu "
        "sigmoid tanh gelu silu softplus elu leaky_relu add sub mul elementwise_mul div pow "
        "maximum minimum rem eq ne lt le gt ge logical_not logical_and logical_or logical_xor "
        "select clamp cast reduce_sum reduce_prod reduce_max reduce_min argmax argmin cumsum "
        "matmul einsum conv_general gather scatter scatter_add flip concat stack pad sort topk "
        "mean logsumexp softmax log_softmax"
    ).split()
    for name in names:
        assert getattr(sw, name) is getattr(sw.functional, name)
        assert getattr(sw, name).__doc__
    assert not hasattr(sw.functional, "reduce")


@pytest.mark.rule("F-47")
def test_views_copy_nothing_whatever_the_dtype(f: Make, i: Make, b: Make) -> None:
    for x in (f([1.0, 2.0], 2, 1), i([1, 2], 2, 1), b([True, False], 2, 1)):
        for view in (
            sw.permute(x, 1, 0),
            sw.squeeze(x, 1),
            sw.rearrange(x, "a b -> b a"),
            x[1:2, :],
        ):
            assert view.carrier is x.carrier and view.dtype() is x.dtype()
