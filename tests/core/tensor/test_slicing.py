"""Slicing: one integer or slice per top-level mode."""

from collections.abc import Callable

import pytest

from strideweave import DType, Tensor
from strideweave.testing import ArrayCarrier

Ramp = Callable[..., Tensor]


class Two:
    """An integer by way of ``__index__`` only."""

    def __index__(self) -> int:
        return 2


@pytest.mark.rule("T-29", "T-22")
@pytest.mark.parametrize(
    ("key", "layout", "offset"),
    [
        ((2, slice(2, 5)), "3:5", 15),
        ((2, slice(1, 9, 2)), "4:10", 10),
        ((slice(1, 3), slice(-3, None)), "(2,3):(1,5)", 39),
        ((slice(None), 4), "5:1", 23),
        ((slice(None, None, 5), slice(None)), "(1,10):(5,5)", 3),
        ((slice(4, 99), slice(-99, 2)), "(1,2):(1,5)", 7),
        ((Two(), slice(Two(), 4, Two())), "1:10", 15),
    ],
)
def test_leaf_modes(ramp: Ramp, key: object, layout: str, offset: int) -> None:
    view = ramp("(5,10):(1,5)", 3)[key]
    assert (str(view.layout), view.offset) == (layout, offset)


@pytest.mark.rule("T-27", "T-29")
@pytest.mark.parametrize(
    ("key", "layout", "offset"),
    [
        ((0, slice(None)), "((2,3)):((10,20))", 0),
        ((slice(None), 4), "10:1", 40),
        ((slice(2, 8, 3), slice(None, None, 1)), "(2,(2,3)):(3,(10,20))", 2),
        ((slice(None), slice(None)), "(10,(2,3)):(1,(10,20))", 0),
    ],
)
def test_nested_modes_travel_whole(ramp: Ramp, key: object, layout: str, offset: int) -> None:
    view = ramp("(10,(2,3)):(1,(10,20))")[key]
    assert (str(view.layout), view.offset) == (layout, offset)


@pytest.mark.rule("T-27", "T-29")
def test_a_one_leaf_mode_is_sliced_and_comes_out_as_a_leaf(ramp: Ramp) -> None:
    tensor = ramp("((4),2):((1),4)")
    assert str(tensor[1:3, :].layout) == "(2,2):(1,4)"
    assert str(tensor[:, 1].layout) == "4:1"
    assert str(tensor[3, :].layout) == "2:4"


@pytest.mark.rule("T-29")
def test_a_nested_integer_is_an_ordinal_inside_its_mode(ramp: Ramp) -> None:
    tensor = ramp("(2,(3,4)):(1,(10,100))", 7)
    assert [tensor[:, ordinal].offset - 7 for ordinal in (0, 1, 3, 11)] == [0, 10, 100, 320]


@pytest.mark.rule("T-20", "T-22", "T-25", "T-29")
def test_a_view_shares_the_carrier_and_is_a_new_tensor(ramp: Ramp) -> None:
    tensor = ramp("4:1")
    view = tensor[:]
    assert view is not tensor and type(view) is Tensor
    assert view.carrier is tensor.carrier and view.layout == tensor.layout
    assert view.autograd_ctx is not None
    assert view.autograd_ctx._operation_name == "view"
    assert view.autograd_ctx.inputs() == (tensor,)
    assert view.autograd_ctx.input_versions() == (tensor._version_token(),)
    view[1] = 9.0
    assert tensor[1] == 9.0 and tensor.version == view.version == 1


@pytest.mark.rule("T-10", "T-29")
def test_a_slice_at_any_nesting_selects_the_view_path(ramp: Ramp) -> None:
    with pytest.raises(TypeError, match="key 1 must be an integer or slice, got tuple"):
        ramp("(2,(3,4)):(1,(2,6))")[0, (slice(None), 1)]
    with pytest.raises(ValueError, match="exactly one key per top-level mode"):
        ramp("(2,3):(1,2)")[[slice(None), 1]]
    with pytest.raises(TypeError, match="key 0 must be an integer or slice, got list"):
        ramp("2:1")[[slice(None)]]


@pytest.mark.rule("T-29", "T-21")
@pytest.mark.parametrize(
    ("layout", "key", "error", "text"),
    [
        ("(5,10):(1,5)", slice(2, 5), ValueError, "exactly one key per top-level mode"),
        ("(5,10):(1,5)", (0, 0, slice(1)), ValueError, "exactly one key per top-level mode"),
        ("():()", slice(None), ValueError, "exactly one key per top-level mode"),
        ("(5,10):(1,5)", (slice(None), None), TypeError, "must be an integer or slice"),
        ("(5,10):(1,5)", (1.0, slice(None)), TypeError, "must be an integer or slice"),
        ("(5,10):(1,5)", (True, slice(None)), TypeError, "must be an integer or slice"),
        ("(2,(2,3)):(1,(2,4))", (0, slice(0, 6)), ValueError, "whole slices are supported for non"),
        ("(2,(2,3)):(1,(2,4))", (0, slice(None, None, 2)), ValueError, "whole slices are supp"),
        ("(5,10):(1,5)", (0, slice(None, None, "2")), TypeError, "step must be an integer"),
        ("(5,10):(1,5)", (0, slice(None, None, True)), TypeError, "step must be an integer"),
        ("(5,10):(1,5)", (0, slice(None, None, 0)), ValueError, "positive step"),
        ("(5,10):(1,5)", (0, slice(None, None, -1)), ValueError, "positive step"),
        ("(5,10):(1,5)", (0, slice("a", None)), TypeError, "bound must be an integer"),
        ("(5,10):(1,5)", (0, slice(None, 2.0)), TypeError, "bound must be an integer"),
        ("(5,10):(1,5)", (0, slice(True, None)), TypeError, "bound must be an integer"),
        ("(5,10):(1,5)", (0, slice(3, 3)), ValueError, "must be non-empty"),
        ("(5,10):(1,5)", (0, slice(99, 100)), ValueError, "must be non-empty"),
        ("(5,10):(1,5)", (slice(None), slice(1, 6, 2)), ValueError, "divisible by its step"),
        ("(5,10):(1,5)", (5, slice(None)), ValueError, "View integer key is out of domain"),
        ("(5,10):(1,5)", (-1, slice(None)), ValueError, "View integer key is out of domain"),
        ("(2,(2,3)):(1,(2,4))", (slice(None), 6), ValueError, "View integer key is out of domain"),
    ],
)
def test_keys_that_make_no_view(
    ramp: Ramp, layout: str, key: object, error: type[Exception], text: str
) -> None:
    tensor = ramp(layout)
    with pytest.raises(error, match=text):
        tensor[key]
    assert tensor.version == 0 and tensor.autograd_ctx is None


@pytest.mark.rule("T-29")
def test_entries_are_checked_left_to_right(ramp: Ramp) -> None:
    tensor = ramp("(5,10):(1,5)")
    with pytest.raises(ValueError, match="key 0"):
        tensor[9, slice(None, None, "x")]
    with pytest.raises(TypeError, match="key 0"):
        tensor["x", slice(None, None, 0)]


@pytest.mark.rule("T-25", "A-4", "A-5")
def test_views_of_integers_record_nothing(ramp: Ramp) -> None:
    assert ramp("4:1", dtype=DType.Int32)[1:3].autograd_ctx is None


@pytest.mark.rule("T-26")
def test_a_released_carrier_refuses_the_dispatch(ramp: Ramp) -> None:
    tensor = ramp("4:1")
    tensor.carrier.release()
    with pytest.raises(RuntimeError, match="ArrayCarrier is released"):
        tensor[1:3]


@pytest.mark.rule("T-20")
def test_an_operation_over_the_same_carrier_class(ramp: Ramp) -> None:
    operation = ramp("4:1").carrier.dispatch_op("view")
    view = operation.forward(ramp("(2,2):(1,2)"), (1, 1))
    assert view.carrier_type() is ArrayCarrier and view.item() == 3.0
