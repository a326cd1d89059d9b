"""``concat``, ``stack`` and ``pad``."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

import strideweave as sw

unchecked: Any = sw  # for calls that the signatures forbid
Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Same = Callable[[Any, Any], bool]
Vjp = Callable[..., list[Any]]

pytestmark = pytest.mark.rule("F-49")


@pytest.mark.rule("X-71", "F-8", "F-3", "F-12")
def test_concat(f: Make, i: Make, b: Make, values: Values, same: Same) -> None:
    t = f([1, 2, 3, 4, 5, 6], 2, 3)
    doubled = sw.concat((t, t), 1)
    assert str(doubled.layout) == "(2,6):(1,2)"
    assert values(doubled) == [1, 2, 3, 4, 5, 6] * 2
    assert values(sw.concat([t, f([7, 8, 9], 1, 3)])) == [1, 2, 7, 3, 4, 8, 5, 6, 9]
    nested = sw.concat((f(range(6), (3, 2), 1), f(range(6, 12), (3, 2), 1)), -1)
    assert str(nested.layout) == "((3,2),2):((1,3),6)"
    assert values(sw.concat((i([1, 2]), i([3])))) == [1, 2, 3]
    assert values(sw.concat((b([True]), b([False])))) == [True, False]
    special = sw.concat((f([-0.0, nan]), f([inf, 1e-40])))
    assert same(values(special), [-0.0, nan, inf, values(f([1e-40]))[0]])


@pytest.mark.rule("F-3")
def test_a_single_tensor_is_copied(f: Make, values: Values, vjp: Vjp) -> None:
    t = f([1, 2, 3, 4], layout="(2,2):(2,1)")
    (copied, stacked) = (sw.concat([t]), sw.stack([t]))
    assert copied.carrier is not t.carrier and stacked.carrier is not t.carrier
    assert str(copied.layout) == "(2,2):(1,2)" and str(stacked.layout) == "(1,2,2):(1,1,2)"
    assert values(copied) == values(stacked) == [1, 2, 3, 4]
    assert vjp(lambda x: sw.concat([x]), t, g=[1, 2, 3, 4]) == [[1, 2, 3, 4]]


@pytest.mark.rule("A-8")
def test_many_are_joined_in_a_balanced_tree(f: Make, values: Values, vjp: Vjp) -> None:
    tensors = [f([float(position)]) for position in range(7)]
    result = sw.concat(iter(tensors))
    assert values(result) == [0, 1, 2, 3, 4, 5, 6]

    def depth(tensor: sw.Tensor) -> int:
        node: Any = tensor.autograd_ctx
        if node is None:
            return 0
        assert node._operation_name == "concat"
        return 1 + max(map(depth, node.inputs()))

    assert depth(result) == 3
    gradients = vjp(lambda *parts: sw.concat(parts), *tensors, g=[1, 2, 3, 4, 5, 6, 7])
    assert gradients == [[1], [2], [3], [4], [5], [6], [7]]


@pytest.mark.rule("F-14")
def test_gradients_are_slices(f: Make, vjp: Vjp) -> None:
    lhs, rhs = f([1, 2], 2, 1), f([1, 2, 3, 4], layout="(2,2):(2,1)")
    g = [1, 2, 3, 4, 5, 6]
    assert vjp(lambda x, y: sw.concat((x, y), 1), lhs, rhs, g=g) == [[1, 2], [3, 4, 5, 6]]
    repeated = f([1, 2], layout="(2,2):(1,0)")  # coordinates of one slot share its gradient
    assert vjp(lambda x, y: sw.concat((x, y), 1), lhs, repeated, g=g) == [[1, 2], [8, 10, 8, 10]]
    both = vjp(lambda x: sw.concat((x, x), 1), lhs, g=[1, 2, 10, 20])
    assert both == [[11, 22]]


@pytest.mark.rule("F-49", "T-37")
def test_stack(f: Make, i: Make, values: Values, vjp: Vjp) -> None:
    rows = [f([1, 2, 3]), f([4, 5, 6]), f([7, 8, 9])]
    first = sw.stack(rows)
    assert str(first.layout) == "(3,3):(1,3)"
    assert values(first) == [1, 4, 7, 2, 5, 8, 3, 6, 9]
    for axis in (1, -1):
        assert values(sw.stack(rows, axis)) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    nested = sw.stack((f(range(6), (3, 2)), f(range(6), (3, 2))), -2)
    assert str(nested.layout) == "(2,(3,2)):(1,(2,6))"
    assert values(sw.stack([i([1], layout="():()"), i([2], layout="():()")])) == [1, 2]
    gradients = vjp(lambda *parts: sw.stack(parts), *rows, g=[1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert gradients == [[1, 4, 7], [2, 5, 8], [3, 6, 9]]


@pytest.mark.rule("X-71", "F-8", "C-21")
def test_pad(f: Make, i: Make, b: Make, values: Values, same: Same) -> None:
    t = f([1, 2, 3, 4, 5, 6], 2, 3)
    padded = sw.pad(t, ((0, 0), (1, 0)))
    assert str(padded.layout) == "(2,4):(1,2)"
    assert values(padded) == [0, 0, 1, 2, 3, 4, 5, 6]
    assert values(sw.pad(f([7], 1, 1), [(1, 1), (0, 1)], 0.1)) == [
        *(0.10000000149011612, 7.0, 0.10000000149011612),
        *(0.10000000149011612,) * 3,
    ]
    assert same(values(sw.pad(f([1.0]), [(1, 1)], -0.0)), [-0.0, 1.0, -0.0])
    assert same(values(sw.pad(f([1.0]), [(1, 1)], 1e39)), [inf, 1.0, inf])
    assert values(sw.pad(i([5]), [(1, 0)], -3)) == [-3, 5]
    assert values(sw.pad(b([False]), [(1, 0)], True)) == [True, False]
    assert values(sw.pad(b([True]), [(1, 1)])) == [False, True, False]
    nested = sw.pad(f(range(6), 1, (3, 2)), [(0, 1), (0, 0)], 9)
    assert str(nested.layout) == "(2,(3,2)):(1,(2,6))"
    assert values(nested) == [0, 9, 1, 9, 2, 9, 3, 9, 4, 9, 5, 9]
    assert values(sw.pad(f([3.0], layout="():()"), ())) == [3.0]


def test_pad_gradient_is_the_interior(f: Make, vjp: Vjp) -> None:
    t = f([1, 2, 3, 4], layout="(2,2):(2,1)")
    g = range(12)
    assert vjp(lambda x: sw.pad(x, [(1, 0), (1, 1)]), t, g=g) == [[4, 5, 7, 8]]
    row = f([5.0], layout="2:0")
    assert vjp(lambda x: sw.pad(x, [(0, 1)]), row, g=[1, 2, 4]) == [[3, 3]]


@pytest.mark.rule("F-4", "F-5", "F-44", "O-66")
@pytest.mark.parametrize("name", ["concat", "stack"])
def test_errors_in_order(name: str, f: Make, i: Make, b: Make, workshop: Any) -> None:
    join, x = getattr(unchecked, name), f([1.0, 2.0])
    other = workshop.tensor(workshop.defined(()), 1.0)
    for wrong in (x, 3, None):
        with pytest.raises(TypeError, match=f"{name}: tensors must be an iterable of Tensors"):
            join(wrong, True)
    with pytest.raises(TypeError, match=f"{name}: tensors must hold at least one Tensor"):
        join((), True)
    with pytest.raises(TypeError, match=rf"{name}: tensors\[1\] must be a Tensor, got float"):
        join((other, 1.0), True)
    for wrong in (True, 0.0, None):
        with pytest.raises(TypeError, match=f"{name}: axis must be an integer"):
            join((x, other), wrong)
    with pytest.raises(ValueError, match=f"{name}: axis out of range: 2"):
        join((x, other), 2)
    with pytest.raises(TypeError, match=rf"{name}: carriers must match: tensors\[2\] lives on"):
        join((x, i([1], 1, 1), other), 0)
    message = rf"{name}: tensors\[2\] must have dtype DType.Float32 like tensors\[0\], got DType.I"
    with pytest.raises(TypeError, match=message):
        join((x, f([1.0], 1, 1), i([1])), 0)
    with pytest.raises(ValueError, match=rf"{name}: tensors\[1\] must have the shape"):
        join((x, f([1.0], 1, 1)), 0)
    released = f([1.0, 2.0])
    released.carrier.release()
    with pytest.raises(ValueError, match=r"tensors\[1\] must have the shape"):
        join((released, f([1.0, 2.0], 1, 2)), 0)
    with pytest.raises(RuntimeError, match="released"):
        join((x, released), 0)


@pytest.mark.rule("F-4", "O-66")
def test_concat_wants_shapes_that_differ_in_one_leaf_mode(f: Make, i: Make) -> None:
    matrix = f(range(6), 2, 3)
    for shape in ((2, 2), (3, 2), (2, 3, 1), (6,), (2, (3, 1)), ((2, 1), 3)):
        other = f(range(6), *shape)
        if shape == (3, 2):
            assert sw.concat((matrix, f(range(9), 3, 3)), 0).size() == 15
        with pytest.raises(ValueError, match="except for the extent of leaf mode 0"):
            sw.concat((matrix, other), 0)
    nested = f(range(6), (3, 2), 1)
    with pytest.raises(ValueError, match=r"mode 0 of tensors\[0\] is nested in \(\(3,2\),1\)"):
        sw.concat((nested, nested), 0)
    forward = matrix.carrier.dispatch_op("concat").forward
    with pytest.raises(TypeError, match=r"rhs must have dtype DType.Float32 like lhs"):
        forward(matrix, i([1]), 0)
    with pytest.raises(ValueError, match="concat: rhs must have the shape"):
        matrix.carrier.dispatch_op("concat").forward(matrix, f([1.0]), 0)


@pytest.mark.rule("F-4", "F-5")
def test_pad_errors_in_order(f: Make, i: Make, b: Make) -> None:
    x = f([1.0, 2.0])
    with pytest.raises(TypeError, match="pad: tensor must be a Tensor"):
        unchecked.pad(1.0, 3, "x")
    for wrong in (3, None, "ab"):
        with pytest.raises(TypeError, match=r"padding must be an iterable of \(before, after\)"):
            unchecked.pad(x, wrong, "x")
    for pair in (1, "ab", (1,), (1, 2, 3)):
        with pytest.raises(TypeError, match=r"padding\[0\] must be a \(before, after\) pair"):
            unchecked.pad(x, [pair], "x")
    for count in (True, 1.0, None):
        with pytest.raises(TypeError, match=r"pad: padding\[0\] must be an integer"):
            unchecked.pad(x, [(0, count)], "x")
    with pytest.raises(ValueError, match=r"padding\[0\] must not be negative, got \(0, -1\)"):
        unchecked.pad(x, [(0, -1)], "x")
    with pytest.raises(ValueError, match="one pair per top-level mode, 1 for layout"):
        unchecked.pad(x, [(0, 1), (0, 1)], "x")
    with pytest.raises(ValueError, match=r"padding\[0\] must be \(0, 0\), because mode 0"):
        unchecked.pad(f(range(6), (3, 2)), [(0, 1)], "x")
    for value in ("x", None, 1j):
        with pytest.raises(TypeError, match="value must be a real Python number"):
            unchecked.pad(x, [(0, 1)], value)
    with pytest.raises(TypeError, match="pad: value does not fit the tensor: an Int32 slot"):
        sw.pad(i([1]), [(0, 1)], 0.5)
    with pytest.raises(OverflowError, match="pad: value does not fit the tensor"):
        sw.pad(i([1]), [(0, 1)], 2**31)
    with pytest.raises(TypeError, match="a Bool slot takes True or False"):
        sw.pad(b([True]), [(0, 1)], 1)
    x.carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        sw.pad(x, [(0, 1)])
