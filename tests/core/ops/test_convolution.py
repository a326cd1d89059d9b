"""``conv_general``."""

from collections.abc import Callable
from math import inf, isnan, nan
from typing import Any

import pytest

import strideweave as sw
from strideweave.testing import ArrayCarrier

unchecked: Any = sw  # for calls that the signatures forbid
Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Vjp = Callable[..., list[Any]]
Same = Callable[[Any, Any], bool]

NONE = ((0, 0),)


@pytest.mark.rule("F-39", "X-57")
def test_strides_padding_and_dilations(f: Make, values: Values) -> None:
    x, k = f([1, 2, 3, 4, 5], 1, 1, 5), f([1, 10, 100], 1, 1, 3)
    assert values(sw.conv_general(x, k, (1,), NONE)) == [321, 432, 543]
    assert values(sw.conv_general(x, k, [2], [(1, 1)])) == [210, 432, 54]
    assert values(sw.conv_general(x, k, (1,), NONE, kernel_dilation=(2,))) == [531]
    dilated = sw.conv_general(x, k, (1,), NONE, lhs_dilation=(2,))
    assert values(dilated) == [201, 20, 302, 30, 403, 40, 504]
    assert values(sw.conv_general(x, k, (9,), ((2, 7),))) == [100, 0]
    assert values(sw.conv_general(x, k, (4,), ((5, 0),))) == [0, 210]


@pytest.mark.rule("F-39", "F-14", "X-58")
def test_gradients(f: Make, vjp: Vjp) -> None:
    x, k = f([1, 2, 3, 4, 5], 1, 1, 5), f([1, 10, 100], 1, 1, 3)
    lhs, kernel = vjp(lambda x, k: sw.conv_general(x, k, (1,), NONE), x, k, g=[1, 10, 100])
    assert lhs == [1, 20, 300, 2000, 10000]
    assert kernel == [321, 432, 543]
    # A padding that exceeds the kernel, and elements that no tap meets.
    lhs, kernel = vjp(lambda x, k: sw.conv_general(x, k, (4,), ((5, 0),)), x, k, g=[1, 10])
    assert lhs == [100, 1000, 0, 0, 0]
    assert kernel == [0, 10, 20]
    lhs, kernel = vjp(lambda x, k: sw.conv_general(x, k, (9,), ((2, 7),)), x, k, g=[3])
    assert lhs == [300, 0, 0, 0, 0]
    assert kernel == [0, 0, 3]


@pytest.mark.rule("F-39", "F-12", "X-59")
def test_the_reference_adds_the_channel_fastest() -> None:
    layout = sw.Layout.parse("(1,2,2):(1,1,2)")
    x, ones = (
        sw.Tensor(ArrayCarrier(0, dtype=sw.DType.Float32).new_like(numbers), 0, layout)
        for numbers in ([16777216, 1, -16777216, 1], [1, 1, 1, 1])
    )
    assert sw.conv_general(x, ones, (1,), NONE).tolist() == [[[1.0]]]


@pytest.mark.rule("F-39", "F-12", "X-60")
def test_special_values(f: Make, values: Values, same: Same) -> None:
    padded = sw.conv_general(f([1], 1, 1, 1), f([1, inf], 1, 1, 2), (1,), ((0, 1),))
    assert same(values(padded), [nan])
    holes = sw.conv_general(f([1, 2], 1, 1, 2), f([inf, 1], 1, 1, 2), (1,), NONE, lhs_dilation=(2,))
    assert same(values(holes), [inf, nan])
    assert same(values(sw.conv_general(f([-0.0], 1, 1, 1), f([1], 1, 1, 1), (1,), NONE)), [0.0])


@pytest.mark.rule("F-39", "F-14")
def test_gradients_at_special_values(f: Make, vjp: Vjp) -> None:
    def padded(x: sw.Tensor, k: sw.Tensor) -> sw.Tensor:
        return sw.conv_general(x, k, (1,), ((0, 1),))

    # Where a tap meets padding, its weight still collects the cotangent times zero ...
    lhs, kernel = vjp(padded, f([1, 2], 1, 1, 2), f([3, 4], 1, 1, 2), g=[1, inf])
    assert lhs == [3, inf]
    assert kernel[0] == inf and isnan(kernel[1])
    # ... but lhs collects from the taps that meet it only.
    lhs, _ = vjp(padded, f([1, 2], 1, 1, 2), f([inf, 4], 1, 1, 2), g=[1, 1])
    assert lhs == [inf, inf]
    lhs, _ = vjp(padded, f([1, 2], 1, 1, 2), f([3, inf], 1, 1, 2), g=[1, -1])
    assert lhs == [3, inf]
    lhs, _ = vjp(padded, f([1, 2], 1, 1, 2), f([3, nan], 1, 1, 2), g=[1, 1])
    assert lhs[0] == 3 and isnan(lhs[1])
    grouped = vjp(
        lambda x, k: sw.conv_general(x, k, (1,), NONE, feature_groups=2),
        f([1, 2, 3, 4, 5, 6], 1, 2, 3),
        f([inf, 10, 1, 100], 2, 1, 2),
        g=[1, 2, 3, 4],
    )
    assert grouped[0] == [inf, 20, inf, 240, 3, 400]


@pytest.mark.rule("F-39", "F-8")
def test_groups_and_nested_features(f: Make, values: Values) -> None:
    x = f([1, 2, 3, 4, 5, 6, 7, 8], 1, 4, 2)  # channels 1..4, then 5..8
    k = f([1, 10, 100, 1000], 4, 1, 1)
    depthwise = sw.conv_general(x, k, (1,), NONE, feature_groups=4)
    assert values(depthwise) == [1, 20, 300, 4000, 5, 60, 700, 8000]
    pairs = sw.conv_general(x, f([1, 10, 100, 1000], 2, 2, 1), (1,), NONE, feature_groups=2)
    assert values(pairs) == [1 + 200, 30 + 4000, 5 + 600, 70 + 8000]
    nested = f([1, 2, 3, 4, 5, 6, 7, 8], 1, (2, 2), 2)
    result = sw.conv_general(nested, f([1] * 16, (2, 1, 2), 4, 1), (1,), NONE)
    assert str(result.layout) == "(1,(2,1,2),2):(1,(1,2,2),4)"
    assert values(result) == [10] * 4 + [26] * 4
    batches = sw.conv_general(f(range(4), (2, 2), 1, 1), f([2, 3], 2, 1, 1), (1,), NONE)
    assert str(batches.layout) == "((2,2),2,1):((1,2),4,8)"
    assert values(batches) == [0, 2, 4, 6, 0, 3, 6, 9]


@pytest.mark.rule("F-39", "F-8", "O-67", "A-8")
def test_dims_are_views(f: Make, values: Values, vjp: Vjp) -> None:
    x, k = f(range(12), 1, 2, 3, 2), f(range(16), 2, 2, 2, 2)
    plain = sw.conv_general(x, k, (1, 1), NONE * 2)
    channels_last = sw.permute(x, 0, 2, 3, 1)
    taps_first = sw.permute(k, 2, 3, 1, 0)
    result = sw.conv_general(
        channels_last,
        taps_first,
        (1, 1),
        NONE * 2,
        lhs_dims=(0, 3, 1, 2),
        kernel_dims=[3, 2, 0, 1],
        output_dims=(0, 2, 3, 1),
    )
    assert str(plain.layout) == "(1,2,2,1):(1,1,2,4)"
    assert str(result.layout) == "(1,2,1,2):(1,2,4,1)"
    assert values(sw.permute(result, 0, 3, 1, 2)) == values(plain)
    node: Any = result.autograd_ctx
    assert node._operation_name == "conv_general"
    assert node.inputs() == (channels_last, taps_first)

    def by_dims(x: sw.Tensor, k: sw.Tensor) -> sw.Tensor:
        dims: Any = {"lhs_dims": (0, 3, 1, 2), "kernel_dims": (3, 2, 0, 1)}
        return sw.conv_general(x, k, (1, 1), NONE * 2, output_dims=(0, 2, 3, 1), **dims)

    inner = [x.detach(), k.detach()]
    expected = vjp(lambda x, k: sw.conv_general(x, k, (1, 1), NONE * 2), *inner, g=[1, 2, 3, 4])
    leaves = [channels_last.detach(), taps_first.detach()]
    found = vjp(by_dims, *leaves, g=[1, 3, 2, 4])  # the same cotangent, in the order of the view
    for gradient, wanted, leaf, order in zip(
        found, expected, leaves, ((0, 3, 1, 2), (3, 2, 0, 1)), strict=True
    ):
        carried = sw.Tensor(leaf.carrier.new_like(gradient), 0, f(gradient, *leaf.shape).layout)
        assert values(sw.permute(carried, *order)) == wanted


@pytest.mark.rule("F-39", "O-57")
def test_hand_driven(f: Make, values: Values) -> None:
    x, k = f([1, 2, 3, 4, 5], 1, 1, 5), f([1, 10, 100], 1, 1, 3)

    def forward(*parameters: Any) -> list[Any]:
        return values(x.carrier.dispatch_op("conv_general").forward(x, k, *parameters))

    assert forward((1,), NONE) == [321, 432, 543]
    assert forward((1,), NONE, None, (2,)) == [531]
    assert forward((1,), NONE, (2,), None, 1) == [201, 20, 302, 30, 403, 40, 504]
    assert sw.explain(sw.conv_general, x, k, (1,), NONE).definition.name == "conv_general"


FITTING: dict[str, Any] = {"strides": (1,), "padding": NONE}


@pytest.mark.rule("F-40", "F-4")
def test_kinds_of_parameters_in_order(f: Make, i: Make) -> None:
    x, k = i([1], 1, 1, 1), f([1.0], 1, 1, 1)

    def refused(error: type[Exception], message: str, lhs: Any = x, **changes: Any) -> None:
        with pytest.raises(error, match=f"conv_general: {message}"):
            unchecked.conv_general(lhs, k, **{**FITTING, **changes})

    refused(TypeError, "lhs must be a Tensor", lhs=1, strides=0, lhs_dims=3)
    with pytest.raises(TypeError, match="kernel must be a Tensor"):
        unchecked.conv_general(x, 1, 0, 0, output_dims=3)
    for name in ("lhs_dims", "kernel_dims", "output_dims"):
        for wrong in (3, "012", b"012"):
            refused(TypeError, f"{name} must be an iterable of integers", **{name: wrong})
        refused(TypeError, rf"{name}\[1\] must be an integer", **{name: (0, 1.0, 2)}, strides=0)
        for order in ((0, 1), (0, 1, 1), (0, 1, -1), (0, 1, 3)):
            message = f"{name} must be a permutation of the modes 0 to 2"
            refused(ValueError, message, **{name: order}, strides=0)
    for name in ("strides", "lhs_dilation", "kernel_dilation"):
        for given in (3, "1", 1.0):
            refused(TypeError, f"{name} must be an iterable of integers", **{name: given})
        for entry in (True, 1.0, "1", None):
            refused(TypeError, rf"{name}\[0\] must be an integer", **{name: (entry,)}, padding=0)
        refused(ValueError, rf"{name}\[0\] must be positive, got 0", **{name: (0,)}, padding=0)
    refused(TypeError, "strides", strides=None, padding=None)
    for padding in (0, "same", None):
        refused(TypeError, "padding must be an iterable", padding=padding, feature_groups=0)
    for pair in (1, (1,), (1, 2, 3), "ab"):
        refused(TypeError, r"padding\[0\] must be a \(before, after\) pair", padding=[pair])
    refused(TypeError, r"padding\[0\] must be an integer", padding=[(0, True)])
    refused(ValueError, r"padding\[0\] must not be negative", padding=[(0, -1)], feature_groups=0)
    for groups in (True, 1.0, None):
        refused(TypeError, "feature_groups must be an integer", feature_groups=groups)
    refused(ValueError, "feature_groups must be positive, got 0", feature_groups=0)
    refused(TypeError, "lhs must have dtype DType.Float32, got DType.Int32")


@pytest.mark.rule("F-40", "F-5", "O-66")
def test_carriers_dtypes_and_shapes_in_order(f: Make, b: Make, workshop: Any) -> None:
    x, k = f([1.0, 2.0], 1, 1, 2), f([1.0], 1, 1, 1)
    other = workshop.tensor(workshop.defined(()), 1.0)
    with pytest.raises(TypeError, match="carriers must match"):
        sw.conv_general(b([True]), other, (1,), NONE)
    with pytest.raises(TypeError, match=r"kernel must have dtype DType.Float32, got DType.Bool"):
        sw.conv_general(f([1.0]), b([True]), (1,), NONE)

    def refused(message: str, lhs: Any = x, kernel: Any = k, **changes: Any) -> None:
        with pytest.raises(ValueError, match=f"conv_general: {message}"):
            unchecked.conv_general(lhs, kernel, **{**FITTING, **changes})

    ranks = "lhs and kernel must have two modes and equally many spatial modes"
    refused(ranks, lhs=f([1.0], 1, 1, 1, (1, 1)), strides=())
    refused(ranks, lhs=f([1.0], 1, 1), kernel=f([1.0], 1, 1), strides=(), padding=())
    nested = f([1.0, 2.0], 1, 1, (2, 1))
    refused("spatial modes must be leaves, but mode 2 of lhs", lhs=nested, strides=())
    refused("spatial modes must be leaves, but mode 2 of kernel", kernel=nested, strides=())
    for name in ("strides", "lhs_dilation", "kernel_dilation"):
        refused(f"{name} must have one entry per spatial mode, 1, got 2", **{name: (1, 1)})
    refused("padding must have one entry per spatial mode, 1, got 0", padding=(), feature_groups=2)
    refused("the in-features of lhs must be divisible by feature_groups=2", feature_groups=2)
    pair = f([1.0, 2.0], 1, 2, 1)
    refused("the out-features must be divisible by feature_groups=2", lhs=pair, feature_groups=2)
    refused("kernel must have 2 in-features", lhs=pair)
    refused("kernel must have 1 in-features", kernel=f([1.0] * 9, 1, 3, 3))
    refused("the result would have no element in spatial mode 0", kernel=f([1.0] * 3, 1, 1, 3))
    x.carrier.release()
    refused("the result would have no element", kernel=f([1.0] * 3, 1, 1, 3))
    with pytest.raises(RuntimeError, match="released"):
        sw.conv_general(x, k, (1,), NONE)
